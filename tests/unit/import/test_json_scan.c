/* Values are read exactly, or refused; and no byte behind the text is believed. */
#include <string.h>

#include "import/read/json_scan.h"

/* A scan of `text`, in room of just the size that is promised; to be freed. */
static gchar *begin_scan(struct json_scan *scan, const gchar *text)
{
	gsize n = strlen(text);
	gchar *room = g_malloc(n + JSON_PADDING);

	memcpy(room, text, n);
	memset(room + n, '"', JSON_PADDING);
	*scan = (struct json_scan){ .at = room, .end = room + n };
	return room;
}

static void test_fixed(void)
{
	static const struct {
		const gchar *text;
		guint decimals;
		gboolean is_number;
		gint64 value;
	} cases[] = {
		{ "1712195495519689.047,", 3, TRUE, 1712195495519689047 },
		{ "1712195495519689,", 3, TRUE, 1712195495519689000 },
		{ "\"1712195495519689.0475\",", 3, TRUE, 1712195495519689048 },
		{ "0.0004,", 3, TRUE, 0 },
		{ "0.0005,", 3, TRUE, 1 },
		{ "-1.5,", 0, TRUE, -2 },
		{ "1.7e15,", 3, TRUE, 1700000000000000000 },
		{ "17E-1 ", 0, TRUE, 2 },
		{ "0e999999999}", 3, TRUE, 0 },
		{ "9223372036854775807]", 0, TRUE, G_MAXINT64 },
		{ "9223372036854775808]", 0, FALSE, 0 },
		{ "1e30,", 0, FALSE, 0 },
		{ "123456789012345678901234567890e-20,", 0, TRUE, 1234567890 },
		{ "null,", 0, FALSE, 0 },
		{ "nan,", 0, FALSE, 0 },
		{ "-,", 0, FALSE, 0 },
		{ "\"12x\",", 0, FALSE, 0 },
		{ "[1],", 0, FALSE, 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct json_scan scan;
		G_GNUC_UNUSED g_autofree gchar *room = begin_scan(&scan, cases[i].text);
		gint64 value = 0;

		g_assert_cmpint(json_fixed(&scan, cases[i].decimals, &value), ==,
				cases[i].is_number);
		g_assert_cmpint(value, ==, cases[i].value);
		g_assert_cmpint(scan.status, ==, JSON_OK);
		g_assert_true(scan.end - scan.at == 1); /* passed over in any case */
	}
}

static void test_strings(void)
{
	static const struct {
		const gchar *text, *plain;
	} cases[] = {
		{ "\"aten::mm\"", "aten::mm" },
		{ "\"a \\\"quoted\\\" \\\\ \\/ \\n\\t\"", "a \"quoted\" \\ / \n\t" },
		{ "\"\\u00e9\\ud83d\\ude00\\ud83d\"", "\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd" },
		{ "\"\\u12\"", "12" },
		{ "\"0123456789abcdef0123456789abcdef\"", "0123456789abcdef0123456789abcdef" },
	};
	g_autoptr(GString) storage = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct json_scan scan;
		G_GNUC_UNUSED g_autofree gchar *room = begin_scan(&scan, cases[i].text);
		struct json_text text, plain;
		g_autofree gchar *got = NULL;

		g_assert_true(json_string(&scan, &text));
		g_assert_true(scan.at == scan.end);
		plain = json_text_plain(&text, storage);
		got = g_strndup(plain.bytes, plain.n);
		g_assert_cmpstr(got, ==, cases[i].plain);
	}
}

/* Every way to cut a text off is seen as that. */
static void test_cut_off(void)
{
	static const gchar text[] = "{\"name\": \"a\\\"b\", \"args\": {\"x\": [1, [2.5], \"]\"], "
				    "\"y\": nan}, \"t\": true}";

	for (gsize n = 0; n < strlen(text); n++) {
		struct json_scan scan;
		g_autofree gchar *cut = g_strndup(text, n);
		G_GNUC_UNUSED g_autofree gchar *room = begin_scan(&scan, cut);

		json_skip(&scan);
		g_assert_cmpint(scan.status, ==, JSON_ENDS_EARLY);
	}
	for (guint i = 0; i < 1; i++) {
		struct json_scan scan;
		G_GNUC_UNUSED g_autofree gchar *room = begin_scan(&scan, text);

		json_skip(&scan);
		g_assert_cmpint(scan.status, ==, JSON_OK);
		g_assert_true(scan.at == scan.end);
	}
}

static void test_members(void)
{
	struct json_scan scan;
	G_GNUC_UNUSED g_autofree gchar *room =
		begin_scan(&scan, " { \"a\" : 1 ,, \"b\": [ ], \"c\": {} } ,");
	g_autoptr(GString) keys = g_string_new(NULL);
	struct json_text key;

	g_assert_true(json_take(&scan, '{'));
	while (json_member(&scan, &key)) {
		g_string_append_len(keys, key.bytes, (gssize)key.n);
		json_skip(&scan);
	}
	g_assert_cmpstr(keys->str, ==, "abc");
	g_assert_cmpint(scan.status, ==, JSON_OK);
	g_assert_cmpint(json_peek(&scan), ==, ',');
}

static void test_broken(void)
{
	static const gchar *const texts[] = { "{\"a\" 1}", "{\"a\": }", "{1: 2}",
					      "{\"a\": 1 \"b\"}x", "{\"a\": 1]" };

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		struct json_scan scan;
		G_GNUC_UNUSED g_autofree gchar *room = begin_scan(&scan, texts[i]);
		struct json_text key;

		json_take(&scan, '{');
		while (json_member(&scan, &key))
			json_skip(&scan);
		g_assert_cmpint(scan.status, ==, i == 3 ? JSON_ENDS_EARLY + 1 : JSON_BROKEN);
	}
}

/* (3): quotes that nobody escaped. */
static void test_tolerant(void)
{
	struct json_scan scan;
	G_GNUC_UNUSED g_autofree gchar *room =
		begin_scan(&scan, "{\"name\": \"say \"hi\" to\", \"cat\": \"cpu_op\"}");
	struct json_text key, text;

	scan.is_tolerant = TRUE;
	json_take(&scan, '{');
	g_assert_true(json_member(&scan, &key) && json_string(&scan, &text));
	g_assert_true(JSON_TEXT_IS(&text, "say \"hi\" to"));
	g_assert_true(json_member(&scan, &key) && json_string(&scan, &text));
	g_assert_true(JSON_TEXT_IS(&text, "cpu_op"));
	g_assert_false(json_member(&scan, &key));
	g_assert_cmpint(scan.status, ==, JSON_OK);
	g_assert_cmpuint(scan.n_repaired, ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/json_scan/fixed", test_fixed);
	g_test_add_func("/json_scan/strings", test_strings);
	g_test_add_func("/json_scan/cut-off", test_cut_off);
	g_test_add_func("/json_scan/members", test_members);
	g_test_add_func("/json_scan/broken", test_broken);
	g_test_add_func("/json_scan/tolerant", test_tolerant);
	return g_test_run();
}
