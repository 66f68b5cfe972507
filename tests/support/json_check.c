#include "json_check.h"

#include <math.h>

/* libFuzzer does not see what g_error() raises. */
#define FAIL(...)                                                                                  \
	do {                                                                                       \
		g_autofree gchar *message = g_strdup_printf(__VA_ARGS__);                          \
		g_assertion_message(G_LOG_DOMAIN, __FILE__, __LINE__, G_STRFUNC, message);         \
	} while (0)

struct json_object json_check_text(const gchar *text, gchar **storage)
{
	struct json_object object = { 0 };
	struct json_scan scan;

	g_assert_true(g_utf8_validate(text, -1, NULL));
	*storage = json_scan_copy(&scan, text);
	g_assert_cmpint(json_peek(&scan), ==, '{');
	object.at = scan.at;
	json_skip(&scan);
	object.end = scan.at;
	g_assert_cmpint(json_peek(&scan), ==, 0);
	g_assert_cmpint(scan.status, ==, JSON_OK);
	return object;
}

/* As far as the digits go that a double is read back from. */
static gboolean is_near(gdouble found, gdouble expected)
{
	return fabs(found - expected) <= 1e-12 * fabs(expected);
}

static void check_number(struct json_scan *value, const gchar *key, gdouble expected)
{
	gdouble found = NAN;

	if (json_peek(value) == 'n')
		json_skip(value);
	else
		g_assert_true(json_number(value, &found));
	if (isfinite(expected) ? !is_near(found, expected) : !isnan(found))
		FAIL("%s is %.17g in JSON, and %.17g", key, found, expected);
}

void json_check_number(const struct json_object *object, const gchar *key, gdouble number)
{
	struct json_scan value;

	if (!json_object_find(object, key, &value))
		FAIL("there is no %s", key);
	check_number(&value, key, number);
}

static void check_text(struct json_scan *value, const gchar *key, const gchar *expected)
{
	g_autofree gchar *valid = g_utf8_make_valid(expected, -1), *found = NULL;
	struct json_text text;

	if (!json_string(value, &text))
		FAIL("%s is no text", key);
	found = json_text_dup(&text);
	g_assert_cmpstr(found, ==, valid);
}

static void check_cell(struct json_scan *value, const gchar *key, const TachoTable *table,
		       guint row)
{
	const gchar *text = tacho_table_cell_text(table, row, key);
	const TachoColumn *column = tacho_table_borrow_column(table, key);
	gchar first = json_peek(value);

	if (!column)
		FAIL("%s has no column %s", tacho_table_name(table), key);
	if (text) {
		check_text(value, key, text);
	} else if (column->type == TACHO_COLUMN_BOOLEAN && first != 'n') {
		g_assert_true(first == 't' || first == 'f');
		g_assert_cmpint(first == 't', ==, tacho_table_cell_number(table, row, key) != 0);
		json_skip(value);
	} else {
		check_number(value, key, tacho_table_cell_number(table, row, key));
	}
}

void json_check_rows(const struct json_object *object, const gchar *key, const TachoTable *table,
		     guint n_rows, guint n_columns)
{
	struct json_scan rows;
	struct json_text member;
	guint row = 0;

	if (!json_object_find(object, key, &rows) || !json_enter(&rows, '['))
		FAIL("there is no list %s", key);
	for (; json_element(&rows); row++) {
		guint column = 0;

		g_assert_cmpuint(row, <, n_rows);
		g_assert_true(json_enter(&rows, '{'));
		for (; json_member(&rows, &member); column++) {
			g_autofree gchar *name = json_text_dup(&member);

			check_cell(&rows, name, table, row);
		}
		g_assert_cmpuint(column, ==, n_columns);
	}
	g_assert_cmpint(rows.status, ==, JSON_OK);
	g_assert_cmpuint(row, ==, n_rows);
}
