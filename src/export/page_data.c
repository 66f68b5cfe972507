#include "export/page_data.h"

#include <zlib.h>

#define LEVEL 6 /* half a second a million slices; level 9 takes thrice as long for 2 % less */

struct page_data {
	FILE *out;
	z_stream stream;
	gint base64_state, base64_save;
};

struct page_data *page_data_new(FILE *out)
{
	struct page_data *data = g_new0(struct page_data, 1);

	data->out = out;
	if (deflateInit(&data->stream, LEVEL) != Z_OK)
		g_error("there is not enough memory for zlib"); /* as GLib does where it has none */
	return data;
}

void page_data_free(struct page_data *data)
{
	if (!data)
		return;
	deflateEnd(&data->stream);
	g_free(data);
}

static void write_base64(struct page_data *data, const guint8 *bytes, gsize length)
{
	gchar text[65536 / 3 * 4 + 16];
	gsize n = g_base64_encode_step(bytes, length, FALSE, text, &data->base64_state,
				       &data->base64_save);

	fwrite(text, 1, n, data->out);
}

/* Deflate what the stream was given, and write what comes of it. */
static void deflate_all(struct page_data *data, int flush)
{
	guint8 room[65536];

	do {
		data->stream.next_out = room;
		data->stream.avail_out = sizeof(room);
		deflate(&data->stream, flush);
		write_base64(data, room, sizeof(room) - data->stream.avail_out);
	} while (data->stream.avail_out == 0);
}

void page_data_add_bytes(struct page_data *data, gconstpointer bytes, gsize length)
{
	const guint8 *next = bytes;

	while (length > 0) {
		gsize n = MIN(length, G_MAXINT32);

		data->stream.next_in = (guint8 *)next;
		data->stream.avail_in = (uInt)n;
		deflate_all(data, Z_NO_FLUSH);
		next += n;
		length -= n;
	}
}

void page_data_add_column(struct page_data *data, const struct page_column *column)
{
	for (guint i = 0; i < column->n_planes; i++)
		page_data_add_bytes(data, column->planes[i]->data, column->planes[i]->len);
}

void page_data_finish(struct page_data *data)
{
	gchar text[8];
	gsize n;

	deflate_all(data, Z_FINISH);
	n = g_base64_encode_close(FALSE, text, &data->base64_state, &data->base64_save);
	fwrite(text, 1, n, data->out);
}
