/* Fields of CSV: quoted where they must be, and only there; whole numbers of any size. */
#include <string.h>

#include "base/csv_append.h"
#include "base/decimal.h"

static void test_text(void)
{
	static const struct {
		const gchar *text, *field;
	} cases[] = {
		{ "plain", "plain" },
		{ "", "\"\"" },
		{ " spaces; and 'others'", " spaces; and 'others'" },
		{ "a,b", "\"a,b\"" },
		{ "\"", "\"\"\"\"" },
		{ "say \"yes\" twice", "\"say \"\"yes\"\" twice\"" },
		{ "two\nlines\r\n", "\"two\nlines\r\n\"" },
		{ "\xff\xfe", "\xff\xfe" },
		{ "=1+1", "'=1+1" },
		{ "@sum(a)", "'@sum(a)" },
		{ "-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0" },
		{ "+a,b", "\"'+a,b\"" },
		{ "\t=1", "'\t=1" },
		{ "\r", "\"'\r\"" },
		{ "-", "'-" },
		{ "-12.5", "-12.5" },
		{ "a=b", "a=b" },
		{ "\x1b[31mred\x7f\x07", "?[31mred??" },
		{ "\xc2\x9b\xc3\xa9", "?\xc3\xa9" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) line = g_string_new("x,");

		csv_append_text(line, cases[i].text, strlen(cases[i].text));
		g_assert_true(g_str_has_prefix(line->str, "x,"));
		g_assert_cmpstr(line->str + 2, ==, cases[i].field);
	}
}

/* A NUL is a control character like others. */
static void test_bytes(void)
{
	g_autoptr(GString) line = g_string_new(NULL);

	csv_append_text(line, "a\0,\"", 4);
	g_assert_cmpmem(line->str, line->len, "\"a?,\"\"\"", 7);
}

static void test_decimal(void)
{
	static const gint64 values[] = { 0, 7, -1, 10, -100, 1234567890, G_MAXINT64, G_MININT64 };

	for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
		g_autoptr(GString) text = g_string_new("=");
		g_autofree gchar *expected = g_strdup_printf("=%" G_GINT64_FORMAT, values[i]);

		decimal_append(text, values[i]);
		g_assert_cmpstr(text->str, ==, expected);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/csv_append/text", test_text);
	g_test_add_func("/csv_append/bytes", test_bytes);
	g_test_add_func("/csv_append/decimal", test_decimal);
	return g_test_run();
}
