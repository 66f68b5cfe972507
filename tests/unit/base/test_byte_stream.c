/* Files are read to the same bytes however they are compressed, from any place; broken ones up to where
 * they are broken. */
#include <errno.h>
#include <glib/gstdio.h>
#include <isa-l/igzip_lib.h>
#include <string.h>
#include <zstd.h>

#include "base/byte_stream.h"

#define PLAIN_BYTES (3 * 1024 * 1024 + 17)

struct coded {
	guint8 *bytes;
	gsize n;
};

static guint8 *make_plain(void)
{
	guint8 *plain = g_malloc(PLAIN_BYTES);
	GRand *random = g_rand_new_with_seed(1);

	for (gsize i = 0; i < PLAIN_BYTES; i++)
		plain[i] = (guint8)("{\"ph\": 0123}\n"[g_rand_int_range(random, 0, 13)]);
	g_rand_free(random);
	return plain;
}

static struct coded encode_gzip(const guint8 *plain, gsize n)
{
	struct coded coded = { g_malloc(n + 1024), 0 };
	struct isal_zstream stream;

	isal_deflate_stateless_init(&stream);
	stream.gzip_flag = IGZIP_GZIP;
	stream.end_of_stream = 1;
	stream.next_in = (guint8 *)plain;
	stream.avail_in = (guint32)n;
	stream.next_out = coded.bytes;
	stream.avail_out = (guint32)n + 1024;
	g_assert_cmpint(isal_deflate_stateless(&stream), ==, COMP_OK);
	coded.n = stream.total_out;
	return coded;
}

static struct coded encode_zstd(const guint8 *plain, gsize n)
{
	struct coded coded = { g_malloc(ZSTD_compressBound(n)), 0 };
	ZSTD_CCtx *encoder = ZSTD_createCCtx();

	/* with a checksum, as the zstd command writes: without, not all damage can be seen */
	ZSTD_CCtx_setParameter(encoder, ZSTD_c_checksumFlag, 1);
	coded.n = ZSTD_compress2(encoder, coded.bytes, ZSTD_compressBound(n), plain, n);
	g_assert_false(ZSTD_isError(coded.n));
	ZSTD_freeCCtx(encoder);
	return coded;
}

static gchar *write_file(gconstpointer bytes, gsize n)
{
	gchar *path = g_build_filename(g_get_tmp_dir(), "tacho-stream-XXXXXX", NULL);
	gint fd = g_mkstemp(path);
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(fd, >=, 0);
	g_close(fd, NULL);
	g_file_set_contents(path, bytes, (gssize)n, &error);
	g_assert_no_error(error);
	return path;
}

static void assert_reads(const gchar *path, ByteCoding coding, const guint8 *plain, gsize n)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(ByteStream) stream = byte_stream_open(path, &error);
	g_autofree guint8 *read = g_malloc(n + 1);
	gsize done = 0;
	gssize part;

	g_assert_no_error(error);
	g_assert_cmpint(byte_stream_coding(stream), ==, coding);
	while ((part = byte_stream_read(stream, read + done, MIN(100000, n + 1 - done), &error)) >
	       0)
		done += (gsize)part;
	g_assert_no_error(error);
	g_assert_cmpuint(done, ==, n);
	g_assert_cmpuint(byte_stream_offset(stream), ==, n);
	g_assert_cmpmem(read, done, plain, n);
	for (gsize at = n; at > 100; at = at * 2 / 3) { /* back, and a little forward */
		g_assert_true(byte_stream_seek(stream, at - 100, &error));
		g_assert_cmpint(byte_stream_read(stream, read, 50, &error), ==, 50);
		g_assert_cmpmem(read, 50, plain + at - 100, 50);
		g_assert_true(byte_stream_seek(stream, at - 20, &error));
		g_assert_cmpint(byte_stream_read(stream, read, 20, &error), ==, 20);
		g_assert_cmpmem(read, 20, plain + at - 20, 20);
	}
	g_unlink(path);
}

static void test_codings(void)
{
	g_autofree guint8 *plain = make_plain();
	struct coded gzip = encode_gzip(plain, PLAIN_BYTES);
	struct coded zstd = encode_zstd(plain, PLAIN_BYTES);
	g_autofree gchar *plain_path = write_file(plain, PLAIN_BYTES);
	g_autofree gchar *gzip_path = write_file(gzip.bytes, gzip.n);
	g_autofree gchar *zstd_path = write_file(zstd.bytes, zstd.n);

	assert_reads(plain_path, BYTE_CODING_NONE, plain, PLAIN_BYTES);
	assert_reads(gzip_path, BYTE_CODING_GZIP, plain, PLAIN_BYTES);
	assert_reads(zstd_path, BYTE_CODING_ZSTD, plain, PLAIN_BYTES);
	g_free(gzip.bytes);
	g_free(zstd.bytes);
}

/* More than there are states to go back to: some are given up on the way. */
static void test_long(void)
{
	enum { N_COPIES = 14 };
	g_autofree guint8 *plain = make_plain();
	struct coded gzip = encode_gzip(plain, PLAIN_BYTES);
	g_autoptr(GByteArray) plains = g_byte_array_new(), members = g_byte_array_new();
	g_autofree gchar *path = NULL;

	for (guint i = 0; i < N_COPIES; i++) {
		g_byte_array_append(plains, plain, PLAIN_BYTES);
		g_byte_array_append(members, gzip.bytes, (guint)gzip.n);
	}
	path = write_file(members->data, members->len);
	assert_reads(path, BYTE_CODING_GZIP, plains->data, plains->len);
	g_free(gzip.bytes);
}

/* Files that were put behind one another, and a gzip file padded with zeros. */
static void test_several_members(void)
{
	g_autofree guint8 *plain = make_plain();
	struct coded first = encode_gzip(plain, 1000), second = encode_gzip(plain + 1000, 5000);
	struct coded third = encode_zstd(plain, 1000), fourth = encode_zstd(plain + 1000, 5000);
	g_autoptr(GByteArray) gzip = g_byte_array_new(), zstd = g_byte_array_new();
	static const guint8 padding[512];
	g_autofree gchar *gzip_path = NULL, *zstd_path = NULL;

	g_byte_array_append(gzip, first.bytes, (guint)first.n);
	g_byte_array_append(gzip, second.bytes, (guint)second.n);
	g_byte_array_append(gzip, padding, sizeof(padding));
	g_byte_array_append(zstd, third.bytes, (guint)third.n);
	g_byte_array_append(zstd, fourth.bytes, (guint)fourth.n);
	gzip_path = write_file(gzip->data, gzip->len);
	zstd_path = write_file(zstd->data, zstd->len);
	assert_reads(gzip_path, BYTE_CODING_GZIP, plain, 6000);
	assert_reads(zstd_path, BYTE_CODING_ZSTD, plain, 6000);
	g_free(first.bytes);
	g_free(second.bytes);
	g_free(third.bytes);
	g_free(fourth.bytes);
}

/* What can be decoded comes first, then the error, again and again. */
static void assert_breaks(struct coded *coded, gsize n, gint code, const guint8 *plain)
{
	g_autofree gchar *path = write_file(coded->bytes, n);
	g_autoptr(ByteStream) stream = byte_stream_open(path, NULL);
	g_autofree guint8 *read = g_malloc(PLAIN_BYTES);
	gssize n_read = byte_stream_read(stream, read, PLAIN_BYTES, NULL);

	if (code == BYTE_STREAM_ERROR_TRUNCATED) {
		g_assert_cmpint(n_read, >, 0);
		g_assert_cmpint(n_read, <, PLAIN_BYTES);
		g_assert_cmpmem(read, n_read, plain, n_read);
	}
	while (byte_stream_read(stream, read, PLAIN_BYTES, NULL) >
	       0) /* what broken data decode to */
		;
	for (guint i = 0; i < 2; i++) {
		g_autoptr(GError) error = NULL;

		g_assert_cmpint(byte_stream_read(stream, read, 1, &error), ==, -1);
		g_assert_error(error, BYTE_STREAM_ERROR, code);
		g_assert_nonnull(strstr(error->message, path));
		g_assert_nonnull(strstr(error->message, ": byte "));
	}
	g_unlink(path);
}

static void test_broken(void)
{
	g_autofree guint8 *plain = make_plain();
	struct coded gzip = encode_gzip(plain, PLAIN_BYTES);
	struct coded zstd = encode_zstd(plain, PLAIN_BYTES);

	assert_breaks(&gzip, gzip.n / 2, BYTE_STREAM_ERROR_TRUNCATED, plain);
	assert_breaks(&zstd, zstd.n / 2, BYTE_STREAM_ERROR_TRUNCATED, plain);
	memset(gzip.bytes + gzip.n / 2, 0xff, 1000);
	memset(zstd.bytes + zstd.n / 2, 0xff, 1000);
	assert_breaks(&gzip, gzip.n, BYTE_STREAM_ERROR_CORRUPT, plain);
	assert_breaks(&zstd, zstd.n, BYTE_STREAM_ERROR_CORRUPT, plain);
	g_free(gzip.bytes);
	g_free(zstd.bytes);
}

static void test_no_file(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(byte_stream_open("/nowhere/at/all", &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	g_clear_error(&error);
	g_assert_null(byte_stream_open("/dev/null", &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/byte_stream/codings", test_codings);
	g_test_add_func("/byte_stream/several-members", test_several_members);
	g_test_add_func("/byte_stream/long", test_long);
	g_test_add_func("/byte_stream/broken", test_broken);
	g_test_add_func("/byte_stream/no-file", test_no_file);
	return g_test_run();
}
