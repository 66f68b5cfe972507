/* fuzz_byte_stream: whatever bytes as a file, compressed by gzip, zstd or not at all. It is read from begin to end, then
 * again from several places: what stands at an offset is the same, however it was come to. The first bytes say how many
 * places there are and where; the file is behind them. */
#include <string.h>

#include "base/byte_stream.h"
#include "foreign_traces.h"
#include "fuzz_input.h"

enum { MOST_PLACES = 7, MOST_BYTES = 4 << 20 /* decoded: more only takes longer */ };

/* What can be read before the end or an error. */
static GByteArray *read_all(ByteStream *stream)
{
	GByteArray *all = g_byte_array_new();
	guint8 part[1000];
	gssize n;

	while (all->len < MOST_BYTES &&
	       (n = byte_stream_read(stream, part, sizeof(part), NULL)) > 0) {
		g_assert_cmpuint((gsize)n, <=, sizeof(part));
		g_byte_array_append(all, part, (guint)n);
		g_assert_cmpuint(byte_stream_offset(stream), ==, all->len);
	}
	return all;
}

static void read_at(ByteStream *stream, const GByteArray *all, guint64 offset)
{
	g_autoptr(GError) error = NULL;
	guint8 part[64];
	gssize n;

	if (!byte_stream_seek(stream, offset, &error)) {
		g_assert_nonnull(error);
		return;
	}
	g_assert_cmpuint(byte_stream_offset(stream), <=, offset);
	offset = byte_stream_offset(stream);
	n = byte_stream_read(stream, part, sizeof(part), NULL);
	if (n > 0 && offset + (gsize)n <= all->len)
		g_assert_cmpmem(part, n, all->data + offset, n);
}

static void read_file(const gchar *path, const uint8_t *places, guint n_places)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(ByteStream) stream = byte_stream_open(path, &error);
	g_autoptr(GByteArray) all = NULL;

	g_assert_true((stream == NULL) == (error != NULL));
	if (!stream)
		return;
	all = read_all(stream);
	g_assert_cmpfloat(byte_stream_done(stream), <=, 1);
	for (guint i = 0; i < n_places; i++)
		read_at(stream, all, (guint64)(places[2 * i] | places[2 * i + 1] << 8));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	guint n_places = size ? data[0] & MOST_PLACES : 0;
	size_t n_head = 1 + 2 * n_places;
	const gchar *path;

	if (size < n_head)
		return 0;
	path = foreign_fuzz_file("file", data + n_head, size - n_head);
	read_file(path, data + 1, n_places);
	return 0;
}
