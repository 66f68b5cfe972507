/* What is read here is what SQLite's json_tree() says, in the same order; what is not read here is refused. */
#include <sqlite3.h>
#include <string.h>

#include "query/json_leaves.h"

static void add_line(GString *lines, const gchar *path, const gchar *type, const gchar *value)
{
	g_string_append_printf(lines, "%s %s %s\n", path, type, value);
}

static void told(const struct json_leaf *leaf, gpointer lines)
{
	g_autofree gchar *value = leaf->type == JSON_LEAF_STRING
					  ? g_strndup(leaf->string, leaf->n)
					  : g_strdup_printf("%" G_GINT64_FORMAT, leaf->integer);
	const gchar *type = leaf->type == JSON_LEAF_STRING    ? "text"
			    : leaf->type == JSON_LEAF_INTEGER ? "integer"
							      : "truth";

	add_line(lines, leaf->path, type, value);
}

/* $.a."b c"[2] as a.b c[2]. */
static gchar *plain_path(const gchar *path)
{
	GString *plain = g_string_new(NULL);

	for (path += strspn(path, "$."); *path; path++)
		if (*path != '"')
			g_string_append_c(plain, *path);
	return g_string_free(plain, FALSE);
}

/* What SQLite says; NULL: the text is no JSON. */
static gchar *ask_sqlite(sqlite3 *db, const gchar *json)
{
	g_autoptr(GString) lines = g_string_new(NULL);
	sqlite3_stmt *statement;
	int status;

	g_assert_cmpint(sqlite3_prepare_v2(db,
					   "SELECT fullkey, type, atom FROM json_tree(?1)"
					   " WHERE atom IS NOT NULL",
					   -1, &statement, NULL),
			==, SQLITE_OK);
	sqlite3_bind_text(statement, 1, json, -1, SQLITE_STATIC);
	while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
		const gchar *type = (const gchar *)sqlite3_column_text(statement, 1);
		g_autofree gchar *path =
			plain_path((const gchar *)sqlite3_column_text(statement, 0));

		if (strcmp(type, "true") == 0 || strcmp(type, "false") == 0)
			type = "truth";
		add_line(lines, path, type, (const gchar *)sqlite3_column_text(statement, 2));
	}
	sqlite3_finalize(statement);
	return status == SQLITE_DONE ? g_strdup(lines->str) : NULL;
}

/* Whether the text is read here; if so, as SQLite reads it. */
static gboolean check(sqlite3 *db, const gchar *json)
{
	g_autoptr(GString) lines = g_string_new(NULL), path = g_string_new("left over");
	g_autofree gchar *expected = NULL;

	if (!json_leaves_read(json, path, told, lines))
		return FALSE;
	expected = ask_sqlite(db, json);
	if (g_strcmp0(lines->str, expected) != 0)
		g_error("%s: %s instead of %s", json, lines->str, expected);
	return TRUE;
}

static sqlite3 *open_db(void)
{
	sqlite3 *db;

	g_assert_cmpint(sqlite3_open(":memory:", &db), ==, SQLITE_OK);
	return db;
}

static void test_read(void)
{
	static const gchar *const texts[] = {
		"{}",
		" [ ] ",
		"7",
		"\"seven\"",
		"{\"a\":1,\"b c\":-20,\"_\":{\"x\":[[true,false,null],[],{}],\"\":\"\"}}",
		"[{\"a\":0},[[\"b\"]],\r\n\t999999999999999999,-999999999999999999 ]",
		"{\"a\":1,\"a\":2,\"$.x\":3,\".\":4,\"a.b\":{\"[0]\":5}}",
		"{\"\":{\"a\":\"\xc3\xa4\"},\"\xff\":\"\x7f\"}",
		"{\"Input Dims\":[[64,3],[]],\"Call stack\":\"\",\"External id\":-0}",
	};
	sqlite3 *db = open_db();

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
		g_assert_true(check(db, texts[i]));
	sqlite3_close(db);
}

static void test_refused(void)
{
	static const gchar *const texts[] = {
		"",	    "{",	"[1,]",
		"{\"a\"}",  "{\"a\":}", "{a:1}",
		"01",	    "1.5",	"1e3",
		"-",	    "+1",	"tru",
		"nullx",    "1 2",	"1000000000000000000",
		"\"a\\n\"", "\"a\nb\"", "{\"a\":1,}",
		"[1 2]",    "\"",	"{\"\\u0041\":1}",
	};
	g_autoptr(GString) deep = g_string_new(NULL);
	sqlite3 *db = open_db();

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
		g_assert_false(check(db, texts[i]));
	for (guint i = 0; i < 100000; i++)
		g_string_append_c(deep, '[');
	g_assert_false(check(db, deep->str));
	sqlite3_close(db);
}

/* Pieces of JSON in any order: most are none, and whatever is read is what SQLite reads. */
static void test_random(void)
{
	static const gchar *const pieces[] = { "{",	  "}", "[",  "]",    ",",    ":", "\"a\"",
					       "\"b c\"", "1", "-2", "true", "null", " ", "0" };
	g_autoptr(GRand) random = g_rand_new_with_seed(1);
	sqlite3 *db = open_db();
	guint n_read = 0;

	for (guint i = 0; i < 100000; i++) {
		g_autoptr(GString) text = g_string_new(i % 2 ? "[" : "{\"k\":");

		for (gint n = g_rand_int_range(random, 0, 7); n >= 0; n--)
			g_string_append(text,
					pieces[g_rand_int_range(random, 0, G_N_ELEMENTS(pieces))]);
		g_string_append_c(text, i % 2 ? ']' : '}');
		n_read += (guint)check(db, text->str);
	}
	g_assert_cmpuint(n_read, >, 1000);
	sqlite3_close(db);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/json_leaves/read", test_read);
	g_test_add_func("/json_leaves/refused", test_refused);
	g_test_add_func("/json_leaves/random", test_random);
	return g_test_run();
}
