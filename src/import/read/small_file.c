#include "import/read/small_file.h"

#include "base/byte_stream.h"

enum {
	MAX_FILE_BYTES = 512 * 1024 * 1024,
	BLOCK_BYTES = 256 * 1024,
};

GByteArray *small_file_read(const gchar *path)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, NULL);
	GByteArray *bytes;
	guint8 padding[JSON_PADDING];
	gssize n = 1;

	if (!stream)
		return NULL;
	bytes = g_byte_array_new();
	while (n > 0 && bytes->len < MAX_FILE_BYTES) {
		guint before = bytes->len;

		g_byte_array_set_size(bytes, before + BLOCK_BYTES);
		n = byte_stream_read(stream, bytes->data + before, BLOCK_BYTES, NULL);
		g_byte_array_set_size(bytes, before + (guint)MAX(n, 0));
	}
	memset(padding, '"', sizeof(padding));
	g_byte_array_append(bytes, padding, sizeof(padding));
	return bytes;
}

struct json_scan small_file_scan(const GByteArray *bytes)
{
	const gchar *at = (const gchar *)bytes->data;

	return (struct json_scan){ .at = at, .end = at + bytes->len - JSON_PADDING };
}
