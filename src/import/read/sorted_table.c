#include "import/read/sorted_table.h"

#include "base/snappy_block.h"

enum {
	FOOTER_BYTES = 48,
	TRAILER_BYTES = 5,		    /* of a block: how it is compressed, and its checksum */
	MAX_BLOCK_BYTES = 64 * 1024 * 1024, /* uncompressed */
};

enum compression { COMPRESSION_NONE = 0, COMPRESSION_SNAPPY = 1 };

#define MAGIC	   G_GUINT64_CONSTANT(0xdb4775248b80fb57)
#define CRC_POLY   0x82f63b78u /* CRC-32C, its bits turned round */
#define MASK_DELTA 0xa282ead8u

struct table_file {
	const gchar *path;
	const guint8 *bytes;
	gsize n;
	SortedTableVisit visit;
	gpointer data;
};

/* A block of the table; its entries are read from `begin` on. */
struct block {
	const guint8 *begin, *end;
	guint64 offset;	      /* in the file */
	guint8 *uncompressed; /* owned; NULL: it is in the file as it is */
};

static guint32 crc32c(const guint8 *bytes, gsize n)
{
	static guint32 table[256];
	static gsize is_made;
	guint32 crc = ~0u;

	if (g_once_init_enter(&is_made)) {
		for (guint32 i = 0; i < 256; i++) {
			guint32 row = i;

			for (guint bit = 0; bit < 8; bit++)
				row = row & 1 ? row >> 1 ^ CRC_POLY : row >> 1;
			table[i] = row;
		}
		g_once_init_leave(&is_made, 1);
	}
	for (gsize i = 0; i < n; i++)
		crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
	return ~crc;
}

guint32 sorted_table_checksum(const guint8 *bytes, gsize n)
{
	guint32 crc = crc32c(bytes, n);

	return (crc >> 15 | crc << 17) + MASK_DELTA;
}

static guint32 little32(const guint8 *bytes)
{
	return (guint32)bytes[0] | (guint32)bytes[1] << 8 | (guint32)bytes[2] << 16 |
	       (guint32)bytes[3] << 24;
}

static guint64 little64(const guint8 *bytes)
{
	return little32(bytes) | (guint64)little32(bytes + 4) << 32;
}

static gboolean fail(GError **error, const gchar *path, guint64 offset, const gchar *reason)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: byte %" G_GUINT64_FORMAT ": %s",
		    path, offset, reason);
	return FALSE;
}

/* --- blocks --------------------------------------------------------------------------------- */

static gboolean uncompress(const struct table_file *file, struct block *block, guint64 *size,
			   GError **error)
{
	gsize n;

	block->uncompressed = snappy_block_read(block->begin, *size, MAX_BLOCK_BYTES, &n);
	if (!block->uncompressed)
		return fail(error, file->path, block->offset,
			    "a block that Snappy did not compress, or a larger one than is read");
	block->begin = block->uncompressed;
	*size = n;
	return TRUE;
}

/* `handle` says where the block is. What it takes is the caller's, to be freed by g_free(block->uncompressed). */
static gboolean find_block(const struct table_file *file, struct wire_cursor *handle,
			   struct block *block, GError **error)
{
	guint64 offset, size;
	guint32 n_restarts;
	guint8 compression;

	*block = (struct block){ .uncompressed = NULL };
	if (!wire_cursor_varint(handle, &offset) || !wire_cursor_varint(handle, &size))
		return fail(error, file->path, file->n, "the place of a block cannot be read");
	if (file->n < TRAILER_BYTES || size > file->n - TRAILER_BYTES ||
	    offset > file->n - TRAILER_BYTES - size)
		return fail(error, file->path, offset, "a block lies outside the file");
	block->begin = file->bytes + offset;
	block->offset = offset;
	compression = block->begin[size];
	if (sorted_table_checksum(block->begin, size + 1) != little32(block->begin + size + 1))
		return fail(error, file->path, offset, "a block does not match its checksum");
	if (compression > COMPRESSION_SNAPPY)
		return fail(error, file->path, offset,
			    "a block that is compressed in a way that nobody knows here; write "
			    "the checkpoint again without compression");
	if (compression == COMPRESSION_SNAPPY && !uncompress(file, block, &size, error))
		return FALSE;
	n_restarts = size >= 4 ? little32(block->begin + size - 4) : 0;
	if (size < 4 || n_restarts > (size - 4) / 4)
		return fail(error, file->path, offset, "a block is too short for its restarts");
	block->end = block->begin + size - 4 - 4 * (gsize)n_restarts;
	return TRUE;
}

/* The next entry of a block: `key` becomes its key. FALSE without an error: there is none. */
static gboolean next_entry(const struct table_file *file, struct block *block, GByteArray *key,
			   struct wire_cursor *ret_value, GError **error)
{
	struct wire_cursor cursor = { block->begin, block->begin, block->end };
	guint64 shared, own, size;

	if (block->begin >= block->end)
		return FALSE;
	if (!wire_cursor_varint(&cursor, &shared) || !wire_cursor_varint(&cursor, &own) ||
	    !wire_cursor_varint(&cursor, &size) || shared > key->len ||
	    own > (guint64)(cursor.end - cursor.at) ||
	    size > (guint64)(cursor.end - cursor.at) - own)
		return fail(error, file->path, block->offset, "an entry is longer than its block");
	g_byte_array_set_size(key, (guint)shared);
	g_byte_array_append(key, cursor.at, (guint)own);
	*ret_value = wire_cursor_of(cursor.at + own, size);
	block->begin = cursor.at + own + size;
	return TRUE;
}

static gboolean visit_block(const struct table_file *file, struct wire_cursor handle,
			    GError **error)
{
	g_autoptr(GByteArray) key = g_byte_array_new();
	struct wire_cursor value;
	struct block block;
	GError *failure = NULL;

	if (find_block(file, &handle, &block, &failure))
		while (next_entry(file, &block, key, &value, &failure))
			if (!file->visit(key, value, block.offset, file->data, &failure))
				break;
	g_free(block.uncompressed);
	if (!failure)
		return TRUE;
	g_propagate_error(error, failure);
	return FALSE;
}

/* --- the table ------------------------------------------------------------------------------ */

gboolean sorted_table_is_one(const guint8 *bytes, gsize n)
{
	return n >= FOOTER_BYTES && little64(bytes + n - 8) == MAGIC;
}

gboolean sorted_table_read(const gchar *path, const guint8 *bytes, gsize n, SortedTableVisit visit,
			   gpointer data, GError **error)
{
	struct table_file file = { path, bytes, n, visit, data };
	g_autoptr(GByteArray) key = g_byte_array_new();
	struct wire_cursor footer, value;
	guint64 ignored;
	struct block index;
	GError *failure = NULL;

	if (!sorted_table_is_one(bytes, n))
		return fail(error, path, n, "no checkpoint of TensorFlow ends so");
	footer = wire_cursor_of(bytes + n - FOOTER_BYTES, FOOTER_BYTES - 8);
	if (!wire_cursor_varint(&footer, &ignored) || !wire_cursor_varint(&footer, &ignored))
		return fail(error, path, n - FOOTER_BYTES, "the footer is broken");
	if (find_block(&file, &footer, &index, &failure))
		while (next_entry(&file, &index, key, &value, &failure))
			if (!visit_block(&file, value, &failure))
				break;
	g_free(index.uncompressed);
	if (!failure)
		return TRUE;
	g_propagate_error(error, failure);
	return FALSE;
}
