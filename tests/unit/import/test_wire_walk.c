/* Protocol buffers are walked as they were written; what is broken is told with its place. */
#include <glib/gstdio.h>
#include <string.h>

#include "import/read/wire_walk.h"

/* --- writing -------------------------------------------------------------------------------- */

static void put_varint(GByteArray *to, guint64 value)
{
	for (;;) {
		guint8 byte = value & 0x7f;

		value >>= 7;
		byte |= value ? 0x80 : 0;
		g_byte_array_append(to, &byte, 1);
		if (!value)
			return;
	}
}

static void put_number(GByteArray *to, guint field, guint64 value)
{
	put_varint(to, field << 3 | WIRE_VARINT);
	put_varint(to, value);
}

static void put_bytes(GByteArray *to, guint field, const void *bytes, gsize n)
{
	put_varint(to, field << 3 | WIRE_BYTES);
	put_varint(to, n);
	g_byte_array_append(to, bytes, (guint)n);
}

static gchar *write_file(const GByteArray *bytes)
{
	gchar *path = NULL;
	gint fd = g_file_open_tmp("tacho-wire-XXXXXX", &path, NULL);

	g_assert_cmpint(fd, >=, 0);
	g_close(fd, NULL);
	g_assert_true(g_file_set_contents_full(path, (const gchar *)bytes->data, bytes->len,
					       G_FILE_SET_CONTENTS_NONE, 0600, NULL));
	return path;
}

static wire_walk *open_walk(const GByteArray *bytes)
{
	g_autofree gchar *path = write_file(bytes);
	wire_walk *walk = wire_walk_open(path, NULL);

	g_assert_nonnull(walk);
	g_unlink(path);
	return walk;
}

/* --- tests ---------------------------------------------------------------------------------- */

static void test_cursor(void)
{
	static const guint8 bytes[] = {
		0x08, 0x96, 0x01,						  /* 1: 150 */
		0x12, 0x03, 'a',  'b',	'c',					  /* 2: "abc" */
		0x1d, 0x04, 0x03, 0x02, 0x01,					  /* 3: fixed 32 */
		0x21, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf8, 0x3f,		  /* 4: 1.5 */
		0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, /* 5: -1 */
	};
	struct wire_cursor cursor = wire_cursor_of(bytes, sizeof(bytes));
	struct wire_field field;

	g_assert_cmpint(wire_cursor_next(&cursor, &field), ==, WIRE_FIELD);
	g_assert_cmpuint(field.number, ==, 1);
	g_assert_cmpuint(field.value, ==, 150);
	g_assert_cmpint(wire_cursor_next(&cursor, &field), ==, WIRE_FIELD);
	g_assert_cmpuint(field.offset, ==, 3);
	g_assert_cmpmem(field.bytes, field.n_bytes, "abc", 3);
	g_assert_cmpint(wire_cursor_next(&cursor, &field), ==, WIRE_FIELD);
	g_assert_cmphex(field.value, ==, 0x01020304);
	g_assert_cmpint(wire_cursor_next(&cursor, &field), ==, WIRE_FIELD);
	g_assert_cmpfloat(wire_double(&field), ==, 1.5);
	g_assert_cmpint(wire_cursor_next(&cursor, &field), ==, WIRE_FIELD);
	g_assert_cmpint(wire_signed(&field), ==, -1);
	g_assert_cmpint(wire_cursor_next(&cursor, &field), ==, WIRE_END);
	for (gsize n = 1; n < sizeof(bytes); n++)
		g_assert_true(wire_looks_like_message(bytes, n, 5) || n < 2);
	g_assert_false(wire_looks_like_message(bytes, sizeof(bytes), 4));
	g_assert_false(wire_looks_like_message("{\"a\": 1}", 8, 100));
	g_assert_false(wire_looks_like_message("", 0, 100));
}

static void test_broken_cursor(void)
{
	static const guint8 group[] = { 0x0b }, zero[] = { 0x00, 0x01 },
			    cut[] = { 0x12, 0x05, 'a' };
	static const guint8 endless[] = { 0x08, 0xff, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct wire_cursor cursor = wire_cursor_of(group, sizeof(group));
	struct wire_field field;

	g_assert_cmpint(wire_cursor_next(&cursor, &field), ==, WIRE_BROKEN);
	cursor = wire_cursor_of(zero, sizeof(zero));
	g_assert_cmpint(wire_cursor_next(&cursor, &field), ==, WIRE_BROKEN);
	cursor = wire_cursor_of(endless, sizeof(endless));
	g_assert_cmpint(wire_cursor_next(&cursor, &field), ==, WIRE_BROKEN);
	cursor = wire_cursor_of(cut, sizeof(cut));
	g_assert_cmpint(wire_cursor_next(&cursor, &field), ==, WIRE_TRUNCATED);
	g_assert_true(cursor.at == cut);
}

static void test_packed(void)
{
	static const guint8 bytes[] = { 0x03, 0x8e, 0x02, 0x80 };
	struct wire_cursor cursor = wire_cursor_of(bytes, sizeof(bytes));
	guint64 value;

	g_assert_true(wire_cursor_varint(&cursor, &value));
	g_assert_cmpuint(value, ==, 3);
	g_assert_true(wire_cursor_varint(&cursor, &value));
	g_assert_cmpuint(value, ==, 270);
	g_assert_false(wire_cursor_varint(&cursor, &value));
}

/* A message with a number, a message with two texts, and more bytes than the window holds. */
static GByteArray *make_nested(gsize n_large)
{
	GByteArray *bytes = g_byte_array_new(), *inner = g_byte_array_new();
	g_autofree guint8 *large = g_malloc(n_large);

	memset(large, 7, n_large);
	put_bytes(inner, 1, "one", 3);
	put_bytes(inner, 2, large, n_large);
	put_bytes(inner, 1, "two", 3);
	put_number(bytes, 1, 42);
	put_bytes(bytes, 2, inner->data, inner->len);
	put_bytes(bytes, 3, large, n_large);
	put_number(bytes, 4, 43);
	g_byte_array_unref(inner);
	return bytes;
}

static void expect_number(wire_walk *walk, guint32 number, guint64 value)
{
	struct wire_field field;

	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_FIELD);
	g_assert_cmpuint(field.number, ==, number);
	g_assert_cmpuint(field.value, ==, value);
	g_assert_false(wire_walk_load(walk, &field, 100));
	g_assert_false(wire_walk_enter(walk));
}

static void expect_text(wire_walk *walk, const gchar *text)
{
	struct wire_field field;

	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_FIELD);
	g_assert_true(wire_walk_load(walk, &field, 100));
	g_assert_cmpmem(field.bytes, field.n_bytes, text, strlen(text));
}

static void walk_nested(wire_walk *walk, gsize n_large)
{
	struct wire_field field;

	expect_number(walk, 1, 42);
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_FIELD);
	g_assert_cmpuint(field.offset, ==, 2);
	g_assert_true(wire_walk_enter(walk));
	expect_text(walk, "one");
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_FIELD);
	g_assert_cmpuint(field.n_bytes, ==, n_large);
	g_assert_false(wire_walk_load(walk, &field, n_large - 1));
	expect_text(walk, "two");
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_END);
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_FIELD);
	g_assert_true(wire_walk_load(walk, &field, n_large));
	g_assert_cmpuint(field.bytes[0], ==, 7);
	g_assert_cmpuint(field.bytes[n_large - 1], ==, 7);
	expect_number(walk, 4, 43);
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_END);
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_END);
	g_assert_null(wire_walk_problem(walk));
}

static void test_walk(void)
{
	static const gsize sizes[] = { 1, 1000, 65536, 300000, 1000000 };

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(GByteArray) bytes = make_nested(sizes[i]);
		g_autoptr(wire_walk) walk = open_walk(bytes);

		walk_nested(walk, sizes[i]);
		g_assert_true(wire_walk_seek(walk, 0)); /* and once more */
		walk_nested(walk, sizes[i]);
	}
}

static void test_seek(void)
{
	g_autoptr(GByteArray) bytes = make_nested(1000000);
	g_autoptr(wire_walk) walk = open_walk(bytes);
	struct wire_field field;

	g_assert_true(wire_walk_seek(walk, bytes->len - 2));
	expect_number(walk, 4, 43);
	g_assert_true(wire_walk_seek(walk, 2));
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_FIELD);
	g_assert_cmpuint(field.number, ==, 2);
	g_assert_false(wire_walk_seek(walk, bytes->len + 1));
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_TRUNCATED);
	g_assert_true(wire_walk_seek(walk, 0));
	expect_number(walk, 1, 42);
}

/* Cut anywhere, it says so, and never at a place before what it has told. */
static void test_truncated(void)
{
	g_autoptr(GByteArray) whole = make_nested(70000);

	for (guint n = 1; n < whole->len; n += n < 40 ? 1 : 3001) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		g_autoptr(wire_walk) walk = NULL;
		struct wire_field field;
		enum wire_result result;
		guint depth = 0;

		g_byte_array_append(bytes, whole->data, n);
		walk = open_walk(bytes);
		while ((result = wire_walk_next(walk, &field)) == WIRE_FIELD ||
		       (result == WIRE_END && depth > 0)) {
			if (result == WIRE_END)
				depth--;
			else if (field.number == 2 && depth == 0)
				depth += wire_walk_enter(walk);
		}
		if (n != 2) /* a whole field */
			g_assert_cmpint(result, ==, WIRE_TRUNCATED);
		if (n != 2)
			g_assert_nonnull(strstr(wire_walk_problem(walk), ": byte "));
	}
}

static void test_broken(void)
{
	static const guint8 too_long[] = { 0x0a, 0x03, 0x12, 0x05, 'a', 0x08, 0x01 };
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(wire_walk) walk = NULL;
	struct wire_field field;

	g_byte_array_append(bytes, too_long, sizeof(too_long));
	walk = open_walk(bytes);
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_FIELD);
	g_assert_cmpuint(wire_walk_offset(walk), ==, 5);
	g_assert_true(wire_walk_enter(walk));
	g_assert_false(wire_walk_enter(walk));
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_BROKEN);
	g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_BROKEN);
	g_assert_nonnull(strstr(wire_walk_problem(walk), "byte 2: "));
	g_assert_true(wire_walk_seek(walk, 5)); /* behind it */
	expect_number(walk, 1, 1);
}

/* A claimed length is not allocated. */
static void test_huge_claim(void)
{
	static const guint64 claims[] = { G_MAXINT64 / 2, G_MAXINT64, G_MAXUINT64 - 100 };

	for (guint i = 0; i < G_N_ELEMENTS(claims); i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		g_autoptr(wire_walk) walk = NULL;
		struct wire_field field;

		put_varint(bytes, 1 << 3 | WIRE_BYTES);
		put_varint(bytes, claims[i]);
		g_byte_array_append(bytes, (const guint8 *)"abc", 3);
		walk = open_walk(bytes);
		g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_FIELD);
		g_assert_false(wire_walk_load(walk, &field, 1000));
		g_assert_false(wire_walk_load(walk, &field, G_MAXSIZE));
		g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_TRUNCATED);
		g_assert_true(wire_walk_seek(walk, 0));
		g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_FIELD);
		g_assert_cmpint(wire_walk_next(walk, &field), ==, WIRE_TRUNCATED);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/wire-walk/cursor", test_cursor);
	g_test_add_func("/wire-walk/broken-cursor", test_broken_cursor);
	g_test_add_func("/wire-walk/packed", test_packed);
	g_test_add_func("/wire-walk/walk", test_walk);
	g_test_add_func("/wire-walk/seek", test_seek);
	g_test_add_func("/wire-walk/truncated", test_truncated);
	g_test_add_func("/wire-walk/broken", test_broken);
	g_test_add_func("/wire-walk/huge-claim", test_huge_claim);
	return g_test_run();
}
