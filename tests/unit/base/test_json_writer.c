#include "base/json_writer.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* A writer into memory. */
struct sink {
	FILE *file;
	char *text;
	size_t size;
	JsonWriter *writer;
};

static void sink_init(struct sink *sink)
{
	sink->file = open_memstream(&sink->text, &sink->size);
	sink->writer = json_writer_new(sink->file);
}

static void sink_expect(struct sink *sink, const char *expected)
{
	g_assert_true(json_writer_finish(sink->writer));
	fclose(sink->file);
	g_assert_cmpstr(sink->text, ==, expected);
	json_writer_free(sink->writer);
	free(sink->text);
}

static void test_nesting(void)
{
	struct sink sink;

	sink_init(&sink);
	json_writer_begin_object(sink.writer);
	json_writer_key(sink.writer, "a");
	json_writer_begin_array(sink.writer);
	json_writer_integer(sink.writer, 1);
	json_writer_null(sink.writer);
	json_writer_begin_object(sink.writer);
	json_writer_end_object(sink.writer);
	json_writer_end_array(sink.writer);
	json_writer_key(sink.writer, "b");
	json_writer_boolean(sink.writer, TRUE);
	json_writer_key(sink.writer, "c");
	json_writer_string(sink.writer, NULL);
	json_writer_end_object(sink.writer);
	sink_expect(&sink, "{\"a\":[1,null,{}],\"b\":true,\"c\":null}\n");
}

static void test_lines(void)
{
	struct sink sink;

	sink_init(&sink);
	json_writer_begin_array(sink.writer);
	for (gint i = 0; i < 2; i++) {
		json_writer_line(sink.writer);
		json_writer_integer(sink.writer, i);
	}
	json_writer_line(sink.writer);
	json_writer_end_array(sink.writer);
	sink_expect(&sink, "[\n\t0,\n\t1\n]\n");
}

static void test_strings(void)
{
	static const struct {
		const char *bytes;
		gsize length;
		const char *expected;
	} cases[] = {
		{ "", 0, "\"\"\n" },
		{ "a\"b\\c/", 6, "\"a\\\"b\\\\c/\"\n" },
		{ "\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"\n" },
		{ "\x1b[31m\x7f", 6, "\"\\u001b[31m\\u007f\"\n" },
		{ "nul\0in", 6, "\"nul\\u0000in\"\n" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"\n" },
		{ "a\xff"
		  "b",
		  3,
		  "\"a\xef\xbf\xbd"
		  "b\"\n" },					     /* never a lead byte */
		{ "a\xc3", 2, "\"a\xef\xbf\xbd\"\n" },		     /* cut short */
		{ "\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"\n" }, /* overlong NUL */
		{ "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n" }, /* surrogate */
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct sink sink;

		sink_init(&sink);
		json_writer_string_length(sink.writer, cases[i].bytes, cases[i].length);
		sink_expect(&sink, cases[i].expected);
	}
}

/* Every byte string comes out as valid UTF-8 without control characters. */
static void test_random_strings(void)
{
	for (gint round = 0; round < 2000; round++) {
		gchar bytes[40];
		gsize length = (gsize)g_test_rand_int_range(0, sizeof(bytes));
		struct sink sink;

		for (gsize i = 0; i < length; i++)
			bytes[i] = (gchar)g_test_rand_int_range(0, 256);
		sink_init(&sink);
		json_writer_string_length(sink.writer, bytes, length);
		g_assert_true(json_writer_finish(sink.writer));
		fclose(sink.file);
		g_assert_true(g_utf8_validate(sink.text, (gssize)sink.size, NULL));
		for (gsize i = 0; i + 1 < sink.size; i++)
			g_assert_cmpint((guchar)sink.text[i], >=, 0x20);
		json_writer_free(sink.writer);
		free(sink.text);
	}
}

static void test_integers(void)
{
	struct sink sink;

	sink_init(&sink);
	json_writer_begin_array(sink.writer);
	json_writer_integer(sink.writer, 0);
	json_writer_integer(sink.writer, G_MININT64);
	json_writer_integer(sink.writer, G_MAXINT64);
	json_writer_unsigned(sink.writer, G_MAXUINT64);
	json_writer_end_array(sink.writer);
	sink_expect(&sink, "[0,-9223372036854775808,9223372036854775807,18446744073709551615]\n");
}

static void test_fixed(void)
{
	struct sink sink;

	sink_init(&sink);
	json_writer_begin_array(sink.writer);
	json_writer_fixed(sink.writer, 1234567, 3);
	json_writer_fixed(sink.writer, 1200000, 3);
	json_writer_fixed(sink.writer, 1000, 3);
	json_writer_fixed(sink.writer, -5, 3);
	json_writer_fixed(sink.writer, 7, 0);
	json_writer_fixed(sink.writer, G_MININT64, 6);
	json_writer_end_array(sink.writer);
	sink_expect(&sink, "[1234.567,1200,1,-0.005,7,-9223372036854.775808]\n");
}

static void test_numbers(void)
{
	static const gdouble values[] = { 0,
					  0.1,
					  1.0 / 3,
					  1e300,
					  DBL_MIN,
					  DBL_MAX,
					  -2.5,
					  1e-320,
					  12345.678,
					  1e15,
					  123456789.123456789 };

	for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
		struct sink sink;

		sink_init(&sink);
		json_writer_number(sink.writer, values[i]);
		g_assert_true(json_writer_finish(sink.writer));
		fclose(sink.file);
		g_assert_true(g_ascii_strtod(sink.text, NULL) == values[i]);
		json_writer_free(sink.writer);
		free(sink.text);
	}
}

static void test_not_finite(void)
{
	struct sink sink;

	sink_init(&sink);
	json_writer_begin_array(sink.writer);
	json_writer_number(sink.writer, (gdouble)NAN);
	json_writer_number(sink.writer, -(gdouble)INFINITY);
	json_writer_number(sink.writer, 0.1);
	json_writer_end_array(sink.writer);
	sink_expect(&sink, "[null,null,0.1]\n");
}

/* More than the buffer, in small and in large pieces. */
static void test_long_text(void)
{
	g_autofree gchar *large = g_strnfill(200000, 'x');
	struct sink sink;
	gsize expected = 3 + 200000 + 2; /* [ " x... " ] newline */

	sink_init(&sink);
	json_writer_begin_array(sink.writer);
	json_writer_string(sink.writer, large);
	for (gint i = 0; i < 30000; i++) {
		json_writer_string(sink.writer, "abc");
		expected += 6;
	}
	json_writer_end_array(sink.writer);
	g_assert_true(json_writer_finish(sink.writer));
	fclose(sink.file);
	g_assert_cmpuint(sink.size, ==, expected);
	g_assert_true(g_str_has_suffix(sink.text, ",\"abc\",\"abc\"]\n"));
	json_writer_free(sink.writer);
	free(sink.text);
}

static void test_disk_full(void)
{
	FILE *full = fopen("/dev/full", "w");
	g_autoptr(JsonWriter) writer = NULL;

	if (!full) {
		g_test_skip("no /dev/full");
		return;
	}
	writer = json_writer_new(full);
	json_writer_begin_array(writer);
	for (gint i = 0; i < 100000; i++)
		json_writer_integer(writer, i);
	json_writer_end_array(writer);
	g_assert_true(json_writer_failed(writer));
	g_assert_false(json_writer_finish(writer));
	g_assert_cmpint(errno, ==, ENOSPC);
	fclose(full);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/json_writer/nesting", test_nesting);
	g_test_add_func("/json_writer/lines", test_lines);
	g_test_add_func("/json_writer/strings", test_strings);
	g_test_add_func("/json_writer/random_strings", test_random_strings);
	g_test_add_func("/json_writer/integers", test_integers);
	g_test_add_func("/json_writer/fixed", test_fixed);
	g_test_add_func("/json_writer/numbers", test_numbers);
	g_test_add_func("/json_writer/not_finite", test_not_finite);
	g_test_add_func("/json_writer/long_text", test_long_text);
	g_test_add_func("/json_writer/disk_full", test_disk_full);
	return g_test_run();
}
