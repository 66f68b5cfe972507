/* fuzz_checkpoint: whatever bytes as a block of a checkpoint's table (TensorFlow's), and what it says of values. The first
 * byte says of which format the checkpoint is and whether Snappy compressed the block; checksums, which bytes at random
 * never have, are put right around it. */
#include <string.h>

#include "foreign_traces.h"
#include "fuzz_input.h"
#include "import/read/sorted_table.h"
#include "import/tensorflow/tensor_bundle.h"

enum { IS_COMPRESSED = 1, IS_FIRST_FORMAT = 2, FOOTER_BYTES = 48 };

#define MAGIC G_GUINT64_CONSTANT(0xdb4775248b80fb57)

static void append_varint(GByteArray *to, guint64 value)
{
	guint8 byte;

	do {
		byte = (guint8)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		g_byte_array_append(to, &byte, 1);
		value >>= 7;
	} while (value);
}

/* The block with what stands behind it; `handle` gets its place. */
static void append_block(GByteArray *table, const guint8 *bytes, gsize n, guint8 compression,
			 GByteArray *handle)
{
	gsize begin = table->len;
	guint32 checksum;

	append_varint(handle, begin);
	append_varint(handle, n);
	g_byte_array_append(table, bytes, (guint)n);
	g_byte_array_append(table, &compression, 1);
	checksum = GUINT32_TO_LE(sorted_table_checksum(table->data + begin, n + 1));
	g_byte_array_append(table, (const guint8 *)&checksum, sizeof(checksum));
}

static GByteArray *make_table(const guint8 *block, gsize n, guint8 compression)
{
	static const guint8 no_restarts[4];
	g_autoptr(GByteArray) handle = g_byte_array_new(), index = g_byte_array_new();
	g_autoptr(GByteArray) footer = g_byte_array_new();
	GByteArray *table = g_byte_array_new();
	guint64 magic = GUINT64_TO_LE(MAGIC);

	append_block(table, block, n, compression, handle);
	append_varint(index, 0); /* shared, own, size */
	append_varint(index, 0);
	append_varint(index, handle->len);
	g_byte_array_append(index, handle->data, handle->len);
	g_byte_array_append(index, no_restarts, sizeof(no_restarts));
	append_varint(footer, 0); /* of what is said about the table: nobody reads it */
	append_varint(footer, 0);
	append_block(table, index->data, index->len, 0, footer);
	g_byte_array_set_size(footer, FOOTER_BYTES - 8);
	g_byte_array_append(footer, (const guint8 *)&magic, sizeof(magic));
	g_byte_array_append(table, footer->data, footer->len);
	return table;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const gchar *const names[] = { "w", "step", "half", "flag", "part", "" };
	g_autoptr(GByteArray) table = NULL;
	tensor_bundle *bundle;
	gchar *path;

	if (size == 0)
		return 0;
	table = make_table(data + 1, size - 1, data[0] & IS_COMPRESSED);
	path = foreign_write(data[0] & IS_FIRST_FORMAT ? "x" : "x.index",
			     (const gchar *)table->data, table->len);
	bundle = tensor_bundle_open(path, NULL);
	for (guint i = 0; bundle && i < G_N_ELEMENTS(names); i++)
		g_free(tensor_bundle_values(bundle, names[i], 100));
	tensor_bundle_close(bundle);
	foreign_remove(path);
	return 0;
}
