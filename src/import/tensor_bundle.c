#include "import/tensor_bundle.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/tf_ops.h"
#include "import/wire_walk.h"

enum {
	MAX_INDEX_BYTES = 256 * 1024 * 1024,
	MAX_VALUE_BYTES = 64 * 1024 * 1024, /* read at once */
	MAX_ENTRIES = 1 << 20,
	MAX_SHARDS = 1 << 16,
	FOOTER_BYTES = 48,
	TRAILER_BYTES = 5, /* of a block: how it is compressed, and its checksum */
};

#define MAGIC	   G_GUINT64_CONSTANT(0xdb4775248b80fb57)
#define SUFFIX	   "/.ATTRIBUTES/VARIABLE_VALUE"
#define CRC_POLY   0x82f63b78u /* CRC-32C, its bits turned round */
#define MASK_DELTA 0xa282ead8u

struct entry {
	gint32 dtype, shard;
	guint64 offset, size;
	guint64 n_elements;
	guint32 crc;
	gboolean has_crc, is_sliced;
};

struct tensor_bundle {
	gchar *prefix;
	GHashTable *entries; /* name -> struct entry */
	guint32 n_shards;
};

/* --- bytes ---------------------------------------------------------------------------------- */

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

/* As LevelDB and TensorFlow store checksums of what holds checksums itself. */
static guint32 masked(guint32 crc)
{
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

/* --- the table ------------------------------------------------------------------------------ */

struct index_file {
	const gchar *path;
	const guint8 *bytes;
	gsize n;
};

struct block {
	const guint8 *begin, *end; /* its entries */
};

static gboolean find_block(const struct index_file *file, guint64 offset, guint64 size,
			   struct block *block, GError **error)
{
	const guint8 *begin;
	guint32 n_restarts;

	if (file->n < TRAILER_BYTES || size > file->n - TRAILER_BYTES ||
	    offset > file->n - TRAILER_BYTES - size || size < 4)
		return fail(error, file->path, offset, "a block that is not in the file");
	begin = file->bytes + offset;
	if (masked(crc32c(begin, size + 1)) != little32(begin + size + 1))
		return fail(error, file->path, offset,
			    "a block that is not what its checksum says");
	if (begin[size] != 0)
		return fail(error, file->path, offset, "a compressed block: these are not read");
	n_restarts = little32(begin + size - 4);
	if (n_restarts > (size - 4) / 4)
		return fail(error, file->path, offset,
			    "a block that is too short for its restarts");
	*block = (struct block){ begin, begin + size - 4 - 4 * (gsize)n_restarts };
	return TRUE;
}

/* The next entry of a block: `key` becomes its key. FALSE without an error: there is none. */
static gboolean next_entry(const struct index_file *file, struct block *block, GByteArray *key,
			   struct wire_cursor *ret_value, GError **error)
{
	struct wire_cursor cursor = { block->begin, block->begin, block->end };
	guint64 shared, own, size;
	guint64 offset = (guint64)(block->begin - file->bytes);

	if (block->begin >= block->end)
		return FALSE;
	if (!wire_cursor_varint(&cursor, &shared) || !wire_cursor_varint(&cursor, &own) ||
	    !wire_cursor_varint(&cursor, &size) || shared > key->len ||
	    own > (guint64)(cursor.end - cursor.at) ||
	    size > (guint64)(cursor.end - cursor.at) - own)
		return fail(error, file->path, offset, "an entry that is longer than its block");
	g_byte_array_set_size(key, (guint)shared);
	g_byte_array_append(key, cursor.at, (guint)own);
	*ret_value = wire_cursor_of(cursor.at + own, size);
	block->begin = cursor.at + own + size;
	return TRUE;
}

static gboolean take_handle(struct wire_cursor *cursor, guint64 *ret_offset, guint64 *ret_size)
{
	return wire_cursor_varint(cursor, ret_offset) && wire_cursor_varint(cursor, ret_size);
}

/* --- entries -------------------------------------------------------------------------------- */

/* TensorShapeProto: dim 2 { size 1 }, unknown_rank 3. FALSE: too many elements, or not known. */
static gboolean read_shape(const struct wire_field *shape, guint64 *ret_n)
{
	struct wire_cursor cursor = wire_cursor_of(shape->bytes, shape->n_bytes);
	struct wire_field field, size;

	*ret_n = 1;
	while (wire_cursor_next(&cursor, &field) == WIRE_FIELD) {
		guint64 n = 0;
		struct wire_cursor dim;

		if (field.number == 3 && field.value)
			return FALSE;
		if (field.number != 2 || field.type != WIRE_BYTES)
			continue;
		dim = wire_cursor_of(field.bytes, field.n_bytes);
		while (wire_cursor_next(&dim, &size) == WIRE_FIELD)
			if (size.number == 1 && size.type == WIRE_VARINT)
				n = size.value;
		if (__builtin_mul_overflow(*ret_n, n, ret_n))
			return FALSE;
	}
	return TRUE;
}

/* BundleEntryProto: dtype 1, shape 2, shard_id 3, offset 4, size 5, crc32c 6, slices 7. */
static gboolean read_entry(struct wire_cursor value, struct entry *entry)
{
	struct wire_field field;
	gboolean is_known = TRUE;
	enum wire_result result;

	*entry = (struct entry){ .n_elements = 1 };
	while ((result = wire_cursor_next(&value, &field)) == WIRE_FIELD) {
		switch (field.number) {
		case 1:
			entry->dtype = (gint32)MIN(field.value, 1000);
			break;
		case 2:
			is_known &=
				field.type == WIRE_BYTES && read_shape(&field, &entry->n_elements);
			break;
		case 3:
			entry->shard = (gint32)MIN(field.value, MAX_SHARDS);
			break;
		case 4:
			entry->offset = field.value;
			break;
		case 5:
			entry->size = field.value;
			break;
		case 6:
			entry->crc = (guint32)field.value;
			entry->has_crc = field.type == WIRE_FIXED32;
			break;
		case 7:
			entry->is_sliced = TRUE;
			break;
		default:
			break;
		}
	}
	return result == WIRE_END && is_known;
}

/* BundleHeaderProto, whose key is empty: num_shards 1, endianness 2 (1: big). */
static gboolean read_header(tensor_bundle *bundle, const struct index_file *file,
			    struct wire_cursor value, GError **error)
{
	guint64 offset = (guint64)(value.at - file->bytes);
	struct wire_field field;

	while (wire_cursor_next(&value, &field) == WIRE_FIELD) {
		if (field.number == 1)
			bundle->n_shards = (guint32)MIN(field.value, MAX_SHARDS);
		else if (field.number == 2 && field.value)
			return fail(error, file->path, offset,
				    "values of a machine with the large end first: these are not "
				    "read");
	}
	return TRUE;
}

static gboolean add_entry(tensor_bundle *bundle, const struct index_file *file,
			  const GByteArray *key, struct wire_cursor value, GError **error)
{
	struct entry entry;

	if (!key->len)
		return read_header(bundle, file, value, error);
	if (!read_entry(value, &entry) || !g_utf8_validate((gchar *)key->data, key->len, NULL) ||
	    g_hash_table_size(bundle->entries) >= MAX_ENTRIES)
		return TRUE;
	g_hash_table_insert(bundle->entries, g_strndup((gchar *)key->data, key->len),
			    g_memdup2(&entry, sizeof(entry)));
	return TRUE;
}

static gboolean read_block(tensor_bundle *bundle, const struct index_file *file,
			   struct wire_cursor handle, GError **error)
{
	g_autoptr(GByteArray) key = g_byte_array_new();
	guint64 offset = 0, size = 0;
	struct wire_cursor value;
	struct block block;
	GError *failure = NULL;

	if (!take_handle(&handle, &offset, &size))
		return fail(error, file->path, (guint64)(handle.at - file->bytes),
			    "a place of a block that cannot be read");
	if (!find_block(file, offset, size, &block, error))
		return FALSE;
	while (next_entry(file, &block, key, &value, &failure))
		if (!add_entry(bundle, file, key, value, error))
			return FALSE;
	if (!failure)
		return TRUE;
	g_propagate_error(error, failure);
	return FALSE;
}

static gboolean read_table(tensor_bundle *bundle, const struct index_file *file, GError **error)
{
	g_autoptr(GByteArray) key = g_byte_array_new();
	struct wire_cursor footer, value;
	guint64 offset = 0, size = 0;
	struct block index;
	GError *failure = NULL;

	if (file->n < FOOTER_BYTES || little64(file->bytes + file->n - 8) != MAGIC)
		return fail(error, file->path, file->n,
			    "no index of a checkpoint (of TensorFlow's second format, FILE.index "
			    "beside FILE.data-...) ends so");
	footer = wire_cursor_of(file->bytes + file->n - FOOTER_BYTES, FOOTER_BYTES - 8);
	if (!take_handle(&footer, &offset, &size) || !take_handle(&footer, &offset, &size))
		return fail(error, file->path, file->n - FOOTER_BYTES, "a broken footer");
	if (!find_block(file, offset, size, &index, error))
		return FALSE;
	while (next_entry(file, &index, key, &value, &failure))
		if (!read_block(bundle, file, value, error))
			return FALSE;
	if (!failure)
		return TRUE;
	g_propagate_error(error, failure);
	return FALSE;
}

/* At most `limit` bytes of a file from `offset` on; NULL, with errno: it has not so many, or cannot be read. */
static guint8 *read_bytes(const gchar *path, guint64 offset, gsize n)
{
	FILE *file = fopen(path, "rb");
	guint8 *bytes;
	gboolean is_read;

	if (!file)
		return NULL;
	bytes = g_try_malloc(MAX(n, 1));
	is_read = bytes && offset <= G_MAXINT64 && fseeko(file, (off_t)offset, SEEK_SET) == 0 &&
		  fread(bytes, 1, n, file) == n;
	fclose(file);
	if (!is_read) {
		g_free(bytes);
		errno = EIO;
		return NULL;
	}
	return bytes;
}

tensor_bundle *tensor_bundle_open(const gchar *path, GError **error)
{
	g_autofree gchar *prefix = g_str_has_suffix(path, ".index")
					   ? g_strndup(path, strlen(path) - strlen(".index"))
					   : g_strdup(path);
	g_autofree gchar *index = g_strdup_printf("%s.index", prefix);
	g_autoptr(GMappedFile) mapped = g_mapped_file_new(index, FALSE, error);
	struct index_file file = { .path = index };
	tensor_bundle *bundle;

	if (!mapped)
		return NULL;
	file.n = g_mapped_file_get_length(mapped);
	file.bytes = (const guint8 *)g_mapped_file_get_contents(mapped);
	if (file.n > MAX_INDEX_BYTES) {
		fail(error, index, MAX_INDEX_BYTES, "an index of so many bytes is not read");
		return NULL;
	}
	bundle = g_new0(tensor_bundle, 1);
	bundle->prefix = g_steal_pointer(&prefix);
	bundle->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	bundle->n_shards = 1;
	if (read_table(bundle, &file, error))
		return bundle;
	tensor_bundle_close(bundle);
	return NULL;
}

void tensor_bundle_close(tensor_bundle *bundle)
{
	if (!bundle)
		return;
	g_hash_table_unref(bundle->entries);
	g_free(bundle->prefix);
	g_free(bundle);
}

/* --- values --------------------------------------------------------------------------------- */

static const struct entry *find_entry(const tensor_bundle *bundle, const gchar *name)
{
	const struct entry *entry = g_hash_table_lookup(bundle->entries, name);
	g_autofree gchar *long_name = NULL;

	if (entry)
		return entry;
	long_name = g_strconcat(name, SUFFIX, NULL);
	return g_hash_table_lookup(bundle->entries, long_name);
}

gboolean tensor_bundle_has(const tensor_bundle *bundle, const gchar *name)
{
	return find_entry(bundle, name) != NULL;
}

/* A number of 16 bits with `exponent` bits of exponent. */
static gdouble narrow(guint32 bits, guint exponent)
{
	guint fraction = 15 - exponent, bias = (1u << (exponent - 1)) - 1;
	guint32 power = bits >> fraction & ((1u << exponent) - 1);
	guint32 part = bits & ((1u << fraction) - 1);
	gdouble value;

	if (power == (1u << exponent) - 1)
		value = part ? (gdouble)NAN : (gdouble)INFINITY;
	else if (power)
		value = ldexp(1 + ldexp(part, -(gint)fraction), (gint)power - (gint)bias);
	else
		value = ldexp(part, 1 - (gint)bias - (gint)fraction);
	return bits >> 15 ? -value : value;
}

#define VALUE(type)                                                                                \
	({                                                                                         \
		type value_;                                                                       \
		memcpy(&value_, bytes, sizeof(value_));                                            \
		(gdouble) value_;                                                                  \
	})

/* The element at `bytes`, of a type by TensorFlow's numbers (DataType). */
static gdouble element(gint32 dtype, const guint8 *bytes)
{
	switch (dtype) {
	case 1:
		return VALUE(gfloat);
	case 2:
		return VALUE(gdouble);
	case 3:
		return VALUE(gint32);
	case 4:
	case 10:
		return *bytes;
	case 5:
		return VALUE(gint16);
	case 6:
		return VALUE(gint8);
	case 9:
		return (gdouble)(gint64)little64(bytes);
	case 14:
		return narrow((guint32)bytes[0] | (guint32)bytes[1] << 8, 8);
	case 17:
		return VALUE(guint16);
	case 19:
		return narrow((guint32)bytes[0] | (guint32)bytes[1] << 8, 5);
	case 22:
		return VALUE(guint32);
	case 23:
		return (gdouble)little64(bytes);
	default:
		return (gdouble)NAN;
	}
}

/* Bytes of an element that element() knows; 0: it knows none such. */
static guint8 element_bytes(gint32 dtype)
{
	static const gint32 known[] = { 1, 2, 3, 4, 5, 6, 9, 10, 14, 17, 19, 22, 23 };
	guint8 bytes;

	tf_dtype_name(dtype, &bytes);
	for (guint i = 0; i < G_N_ELEMENTS(known); i++)
		if (known[i] == dtype)
			return bytes;
	return 0;
}

static gchar *print_values(const struct entry *entry, const guint8 *bytes, guint64 n, guint width)
{
	GString *text = g_string_new("[");

	for (guint64 i = 0; i < n; i++)
		g_string_append_printf(text, "%s%.2f", i ? " " : "",
				       element(entry->dtype, bytes + i * width));
	g_string_append(text, n < entry->n_elements ? " ...]" : "]");
	return g_string_free(text, FALSE);
}

gchar *tensor_bundle_values(const tensor_bundle *bundle, const gchar *name, guint max_values)
{
	const struct entry *entry = find_entry(bundle, name);
	g_autofree gchar *path = NULL;
	g_autofree guint8 *bytes = NULL;
	guint64 n, whole, n_bytes;
	guint8 width;

	if (!entry)
		return NULL;
	width = element_bytes(entry->dtype);
	if (!width)
		return g_strdup("(values of a type that is not printed)");
	if (entry->is_sliced)
		return g_strdup("(values in slices: these are not put together)");
	if (__builtin_mul_overflow(entry->n_elements, (guint64)width, &whole) ||
	    whole != entry->size)
		return g_strdup("(as many bytes as the shape has not)");
	n = MIN(entry->n_elements, max_values);
	n_bytes = whole <= MAX_VALUE_BYTES ? whole : n * width;
	path = g_strdup_printf("%s.data-%05d-of-%05u", bundle->prefix, entry->shard,
			       bundle->n_shards);
	bytes = read_bytes(path, entry->offset, (gsize)n_bytes);
	if (!bytes)
		return g_strdup_printf("(%s cannot be read as far as that)", path);
	if (n_bytes == whole && entry->has_crc && masked(crc32c(bytes, n_bytes)) != entry->crc)
		return g_strdup("(values that are not what their checksum says)");
	return print_values(entry, bytes, n, width);
}
