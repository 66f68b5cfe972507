/* Large JSON is walked from the outside in, however it is cut into windows. */
#include "import/read/json_stream.h"

#include <string.h>

#include "foreign_traces.h"

enum { MAX_BYTES = 1 << 20 };

static struct json_stream *open_text(const gchar *text, gsize n, gchar **ret_path)
{
	g_autoptr(GError) error = NULL;
	struct json_stream *stream;

	*ret_path = foreign_write("x.json", text, n);
	stream = json_stream_open(*ret_path, &error);
	g_assert_no_error(error);
	return stream;
}

static void test_walk(void)
{
	static const gchar text[] = " {\"a\" : [1, {\"x\": \"}]\\\"\"}, true], \"skip\": {\"l\": "
				    "[[\"]\", 5.5e3], null]}, \"b\": -7.25}";
	gchar *path;
	g_autoptr(json_stream) stream = open_text(text, strlen(text), &path);
	g_autoptr(GString) key = g_string_new(NULL);
	struct json_scan scan;
	guint64 offset;
	gint64 number;
	guint n = 0;

	g_assert_false(json_stream_enter(stream, '['));
	g_assert_true(json_stream_enter(stream, '{'));
	g_assert_true(json_stream_member(stream, key));
	g_assert_cmpstr(key->str, ==, "a");
	g_assert_true(json_stream_enter(stream, '['));
	while (json_stream_element(stream)) {
		g_assert_true(json_stream_load(stream, MAX_BYTES, &scan, &offset));
		g_assert_true(text[offset] == *scan.at);
		n++;
	}
	g_assert_cmpuint(n, ==, 3);
	g_assert_true(json_stream_member(stream, key));
	json_stream_skip(stream);
	g_assert_true(json_stream_member(stream, key));
	g_assert_cmpstr(key->str, ==, "b");
	g_assert_true(json_stream_load(stream, MAX_BYTES, &scan, &offset));
	g_assert_true(json_fixed(&scan, 2, &number));
	g_assert_cmpint(number, ==, -725);
	g_assert_false(json_stream_member(stream, key));
	g_assert_null(json_stream_problem(stream));
	foreign_remove(path);
}

/* Values across the ends of windows, and one that is too long. */
static void test_windows(void)
{
	g_autoptr(GString) text = g_string_new("[");
	g_autoptr(json_stream) stream = NULL;
	struct json_scan scan;
	guint64 offset;
	guint n = 0, n_long = 0;
	gchar *path;

	for (guint i = 0; i < 40000; i++)
		g_string_append_printf(text, "{\"number\": %u, \"text\": \"%0*u\"},", i, i % 97, 0);
	g_string_append(text, "\"");
	for (guint i = 0; i < 3000000; i++)
		g_string_append_c(text, 'x');
	g_string_append(text, "\", {\"number\": 40000}]");
	stream = open_text(text->str, text->len, &path);
	g_assert_true(json_stream_enter(stream, '['));
	while (json_stream_element(stream)) {
		struct json_text key;
		gint64 number = -1;

		if (!json_stream_load(stream, MAX_BYTES, &scan, &offset)) {
			n_long++;
			continue;
		}
		g_assert_true(json_take(&scan, '{') && json_member(&scan, &key) &&
			      json_fixed(&scan, 0, &number));
		g_assert_cmpint(number, ==, n);
		g_assert_true(text->str[offset] == '{');
		n++;
	}
	g_assert_cmpuint(n, ==, 40001);
	g_assert_cmpuint(n_long, ==, 1);
	g_assert_null(json_stream_problem(stream));
	foreign_remove(path);
}

/* Wherever it ends, or is broken, it is told once, and nothing is found after it. */
static void test_broken(void)
{
	static const struct {
		const gchar *text, *problem;
	} cases[] = {
		{ "", "byte 0: the file ends too early" },
		{ "[1, 2", "byte 4: the file ends" },
		{ "[{\"a\": \"b", "byte 1: the file ends inside" },
		{ "[}", "byte 1: the JSON is not valid" },
		{ "[1 }", "byte 3: the JSON is not valid" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		gchar *path;
		g_autoptr(json_stream) stream =
			open_text(cases[i].text, strlen(cases[i].text), &path);
		struct json_scan scan;
		guint64 offset;

		json_stream_enter(stream, '[');
		while (json_stream_element(stream))
			json_stream_load(stream, MAX_BYTES, &scan, &offset);
		g_assert_nonnull(json_stream_problem(stream));
		g_assert_nonnull(strstr(json_stream_problem(stream), cases[i].problem));
		g_assert_false(json_stream_element(stream));
		json_stream_skip(stream);
		foreign_remove(path);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/json_stream/walk", test_walk);
	g_test_add_func("/json_stream/windows", test_windows);
	g_test_add_func("/json_stream/broken", test_broken);
	return g_test_run();
}
