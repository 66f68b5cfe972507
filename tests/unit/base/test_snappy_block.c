/* Pieces that Snappy compressed: the kinds of element by hand, and broken ones. What its own library wrote is in
 * test_tensor_bundle.c. */
#include <string.h>

#include "base/snappy_block.h"

static void assert_read(const gchar *bytes, gsize n, const gchar *expected)
{
	gsize n_read = 0;
	g_autofree guint8 *read = snappy_block_read((const guint8 *)bytes, n, 1000, &n_read);

	g_assert_nonnull(read);
	g_assert_cmpmem(read, n_read, expected, strlen(expected));
}

#define READ(bytes, expected) assert_read(bytes, sizeof(bytes) - 1, expected)

static void test_elements(void)
{
	READ("\x00", "");
	READ("\x03\x08"
	     "abc",
	     "abc");
	READ("\x03\xf0\x02"
	     "abc",
	     "abc"); /* a length of one byte */
	READ("\x07\x08"
	     "abc\x01\x03",
	     "abcabca"); /* a copy of 4, 3 back, over itself */
	READ("\x05\x00"
	     "x\x0e\x01\x00",
	     "xxxxx"); /* 4, 1 back, by two bytes */
	READ("\x05\x00"
	     "x\x0f\x01\x00\x00\x00",
	     "xxxxx"); /* by four */
}

static void assert_broken(const gchar *bytes, gsize n)
{
	gsize n_read;

	g_assert_null(snappy_block_read((const guint8 *)bytes, n, 1000, &n_read));
}

#define BROKEN(bytes) assert_broken(bytes, sizeof(bytes) - 1)

static void test_broken(void)
{
	BROKEN("");
	BROKEN("\x80");
	BROKEN("\xff\xff\xff\xff\xff\xff");
	BROKEN("\xe9\x07\x00x"); /* 1001 bytes: more than are wanted */
	BROKEN("\x7f\x00x");	 /* more than so few can be */
	BROKEN("\x03\x08"
	       "ab"); /* a literal that is cut */
	BROKEN("\x02\x08"
	       "abc"); /* longer than was said */
	BROKEN("\x04\x08"
	       "abc"); /* shorter */
	BROKEN("\x05\x00"
	       "x\x0e\x02\x00"); /* from before the begin */
	BROKEN("\x05\x00"
	       "x\x0e\x00\x00"); /* from nowhere */
	BROKEN("\x05\x00"
	       "x\x0e\x01");
	BROKEN("\x03\xfc\xff\xff\xff\xff"
	       "abc");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/snappy-block/elements", test_elements);
	g_test_add_func("/snappy-block/broken", test_broken);
	return g_test_run();
}
