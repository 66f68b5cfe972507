#include "import/tensorflow/tensor_bundle.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/read/sorted_table.h"
#include "import/tensorflow/tf_ops.h"

enum {
	MAX_INDEX_BYTES = 256 * 1024 * 1024,
	MAX_VALUE_BYTES = 64 * 1024 * 1024, /* read at once */
	MAX_ENTRIES = 1 << 20,
	MAX_SHARDS = 1 << 16,
	MAX_KEPT = 128, /* values of a variable of the first format */
};

#define SUFFIX "/.ATTRIBUTES/VARIABLE_VALUE"

struct entry {
	gint32 dtype, shard;
	guint64 offset, size;
	guint64 n_elements;
	guint32 crc;
	gboolean has_crc, is_sliced;
	/* For the first format, where values stand in the table: the first ones, owned, and how many there are. */
	gdouble *kept;
	guint n_kept;
	guint64 n_told;
};

struct tensor_bundle {
	gchar *prefix;
	GHashTable *entries; /* name -> struct entry */
	guint32 n_shards;
	gboolean is_first_format;
};

static guint64 little64(const guint8 *bytes)
{
	guint64 value;

	memcpy(&value, bytes, sizeof(value));
	return GUINT64_FROM_LE(value);
}

static gboolean fail(GError **error, const gchar *path, guint64 offset, const gchar *reason)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: byte %" G_GUINT64_FORMAT ": %s",
		    path, offset, reason);
	return FALSE;
}

static void entry_free(gpointer data)
{
	struct entry *entry = data;

	g_free(entry->kept);
	g_free(entry);
}

static void add_entry(tensor_bundle *bundle, const guint8 *name, gsize n, struct entry entry)
{
	if (g_utf8_validate((const gchar *)name, (gssize)n, NULL) &&
	    g_hash_table_size(bundle->entries) < MAX_ENTRIES)
		g_hash_table_insert(bundle->entries, g_strndup((const gchar *)name, n),
				    g_memdup2(&entry, sizeof(entry)));
}

/* --- numbers -------------------------------------------------------------------------------- */

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
static gboolean read_header(tensor_bundle *bundle, struct wire_cursor value, guint64 offset,
			    GError **error)
{
	struct wire_field field;

	while (wire_cursor_next(&value, &field) == WIRE_FIELD) {
		if (field.number == 1)
			bundle->n_shards = (guint32)MIN(field.value, MAX_SHARDS);
		else if (field.number == 2 && field.value)
			return fail(
				error, bundle->prefix, offset,
				"the values are big-endian, and tacho does not read such values");
	}
	return TRUE;
}

static gboolean visit_entry(const GByteArray *key, struct wire_cursor value, guint64 offset,
			    gpointer data, GError **error)
{
	struct entry entry;

	if (!key->len)
		return read_header(data, value, offset, error);
	if (read_entry(value, &entry))
		add_entry(data, key->data, key->len, entry);
	return TRUE;
}

/* --- the first format ----------------------------------------------------------------------- */

/* TensorSliceProto: extent 1 { start 1, length 2 }; without lengths it is the whole tensor. */
static gboolean is_whole(const struct wire_field *slice)
{
	struct wire_cursor cursor = wire_cursor_of(slice->bytes, slice->n_bytes);
	struct wire_field extent, field;

	while (wire_cursor_next(&cursor, &extent) == WIRE_FIELD) {
		struct wire_cursor inner;

		if (extent.number != 1 || extent.type != WIRE_BYTES)
			continue;
		inner = wire_cursor_of(extent.bytes, extent.n_bytes);
		while (wire_cursor_next(&inner, &field) == WIRE_FIELD)
			if (field.number == 2)
				return FALSE;
	}
	return TRUE;
}

/* SavedSliceMeta: name 1, shape 2, type 3, slice 4. */
static void read_slice_meta(tensor_bundle *bundle, struct wire_cursor cursor)
{
	struct entry entry = { .n_elements = 1 };
	struct wire_field field, name = { 0 };
	gboolean is_known = TRUE;
	guint n_slices = 0;

	while (wire_cursor_next(&cursor, &field) == WIRE_FIELD) {
		if (field.number == 3 && field.type == WIRE_VARINT)
			entry.dtype = (gint32)MIN(field.value, 1000);
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == 1)
			name = field;
		else if (field.number == 2)
			is_known &= read_shape(&field, &entry.n_elements);
		else if (field.number == 4)
			entry.is_sliced |= n_slices++ > 0 || !is_whole(&field);
	}
	if (is_known && name.bytes)
		add_entry(bundle, name.bytes, name.n_bytes, entry);
}

static void keep_value(struct entry *entry, gdouble value)
{
	if (entry->n_told++ >= MAX_KEPT)
		return;
	if (!entry->kept)
		entry->kept = g_new(gdouble, MAX_KEPT);
	entry->kept[entry->n_kept++] = value;
}

static void keep_integer(struct entry *entry, guint32 number, guint64 bits)
{
	const guint8 half[sizeof(guint64)] = { (guint8)bits, (guint8)(bits >> 8) };

	switch (number) {
	case 13: /* half_val: of both kinds of 16 bits; a broken file may have it in wider types */
		keep_value(entry, element(entry->dtype, half));
		break;
	case 7: /* int_val, of all that fits */
		keep_value(entry, (gint32)bits);
		break;
	case 10: /* int64_val */
		keep_value(entry, (gdouble)(gint64)bits);
		break;
	default: /* bool_val 11, uint32_val 16, uint64_val 17 */
		keep_value(entry, (gdouble)bits);
	}
}

/* The values of a field of a TensorProto, one by one or packed: float_val 5 and double_val 6 as they are, the others as
 * varints. */
static void keep_values(struct entry *entry, const struct wire_field *field)
{
	guint width = field->number == 5 ? 4 : 8;
	struct wire_cursor packed;
	guint64 bits;

	if (field->number != 5 && field->number != 6) {
		if (field->type == WIRE_VARINT)
			keep_integer(entry, field->number, field->value);
		if (field->type != WIRE_BYTES)
			return;
		packed = wire_cursor_of(field->bytes, field->n_bytes);
		while (wire_cursor_varint(&packed, &bits))
			keep_integer(entry, field->number, bits);
		return;
	}
	if (field->type == WIRE_BYTES)
		for (gsize at = 0; at + width <= field->n_bytes; at += width)
			keep_value(entry, element(field->number - 4, field->bytes + at));
	else if (field->type == WIRE_FIXED32 || field->type == WIRE_FIXED64)
		keep_value(entry, element(field->number - 4, (const guint8 *)&field->value));
}

/* A TensorProto: tensor_content 4, or a field for values of its type. */
static void read_tensor(struct entry *entry, struct wire_cursor cursor)
{
	static const guint32 typed[] = { 5, 6, 7, 10, 11, 13, 16, 17 };
	guint8 width = element_bytes(entry->dtype);
	struct wire_field field;

	while (width && wire_cursor_next(&cursor, &field) == WIRE_FIELD) {
		for (guint i = 0; i < G_N_ELEMENTS(typed); i++)
			if (typed[i] == field.number)
				keep_values(entry, &field);
		if (field.number == 4 && field.type == WIRE_BYTES)
			for (gsize at = 0; at + width <= field.n_bytes; at += width)
				keep_value(entry, element(entry->dtype, field.bytes + at));
	}
}

/* SavedSlice: name 1, slice 2, data 3. */
static void read_slice(tensor_bundle *bundle, struct wire_cursor cursor)
{
	struct wire_field field;
	struct entry *entry = NULL;

	while (wire_cursor_next(&cursor, &field) == WIRE_FIELD) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == 1) {
			g_autofree gchar *name =
				g_strndup((const gchar *)field.bytes, field.n_bytes);

			entry = g_hash_table_lookup(bundle->entries, name);
		} else if (field.number == 3 && entry && !entry->is_sliced && !entry->n_told) {
			read_tensor(entry, wire_cursor_of(field.bytes, field.n_bytes));
		}
	}
}

/* SavedTensorSlices: meta 1 { tensor 1 }, under the empty key, which comes first; data 2. */
static gboolean visit_slices(const GByteArray *key, struct wire_cursor value, guint64 offset,
			     gpointer data, GError **error)
{
	struct wire_field field, tensor;

	(void)key;
	(void)offset;
	(void)error;
	while (wire_cursor_next(&value, &field) == WIRE_FIELD) {
		struct wire_cursor inner;

		if (field.type != WIRE_BYTES)
			continue;
		inner = wire_cursor_of(field.bytes, field.n_bytes);
		if (field.number == 2)
			read_slice(data, inner);
		while (field.number == 1 && wire_cursor_next(&inner, &tensor) == WIRE_FIELD)
			if (tensor.number == 1 && tensor.type == WIRE_BYTES)
				read_slice_meta(data, wire_cursor_of(tensor.bytes, tensor.n_bytes));
	}
	return TRUE;
}

/* --- opening -------------------------------------------------------------------------------- */

static gboolean read_table(tensor_bundle *bundle, const gchar *path, SortedTableVisit visit,
			   GError **error)
{
	g_autoptr(GMappedFile) mapped = g_mapped_file_new(path, FALSE, error);
	gsize n;

	if (!mapped)
		return FALSE;
	n = g_mapped_file_get_length(mapped);
	if (n > MAX_INDEX_BYTES)
		return fail(error, path, MAX_INDEX_BYTES, "a table of so many bytes is not read");
	return sorted_table_read(path, (const guint8 *)g_mapped_file_get_contents(mapped), n, visit,
				 bundle, error);
}

/* How many files PREFIX-00000-of-0000N ... there are; 0: none. */
static guint count_slice_files(const gchar *prefix)
{
	g_autofree gchar *folder = g_path_get_dirname(prefix), *name = g_path_get_basename(prefix);
	g_autofree gchar *first = g_strconcat(name, "-00000-of-", NULL);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	const gchar *found;
	guint64 n;

	while (dir && (found = g_dir_read_name(dir)))
		if (g_str_has_prefix(found, first) &&
		    g_ascii_string_to_unsigned(found + strlen(first), 10, 1, MAX_SHARDS, &n, NULL))
			return (guint)n;
	return 0;
}

static gboolean read_slice_files(tensor_bundle *bundle, guint n, GError **error)
{
	for (guint i = 0; i < n; i++) {
		g_autofree gchar *path = g_strdup_printf("%s-%05u-of-%05u", bundle->prefix, i, n);

		if (!read_table(bundle, path, visit_slices, error))
			return FALSE;
	}
	return TRUE;
}

static gboolean read_checkpoint(tensor_bundle *bundle, GError **error)
{
	g_autofree gchar *index = g_strdup_printf("%s.index", bundle->prefix);
	guint n;

	if (g_file_test(index, G_FILE_TEST_EXISTS))
		return read_table(bundle, index, visit_entry, error);
	bundle->is_first_format = TRUE;
	if (g_file_test(bundle->prefix, G_FILE_TEST_IS_REGULAR))
		return read_table(bundle, bundle->prefix, visit_slices, error);
	n = count_slice_files(bundle->prefix);
	if (n)
		return read_slice_files(bundle, n, error);
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
		    "%s: no checkpoint is there: neither %s nor a file of that name; name it "
		    "without the ending",
		    bundle->prefix, index);
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
	tensor_bundle *bundle = g_new0(tensor_bundle, 1);

	bundle->prefix = g_str_has_suffix(path, ".index")
				 ? g_strndup(path, strlen(path) - strlen(".index"))
				 : g_strdup(path);
	bundle->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, entry_free);
	bundle->n_shards = 1;
	if (read_checkpoint(bundle, error))
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

static gchar *print_values(const struct entry *entry, const guint8 *bytes, guint64 n, guint width)
{
	GString *text = g_string_new("[");

	for (guint64 i = 0; i < n; i++)
		g_string_append_printf(text, "%s%.2f", i ? " " : "",
				       bytes ? element(entry->dtype, bytes + i * width)
					     : entry->kept[i]);
	g_string_append(text, n < entry->n_elements ? " ...]" : "]");
	return g_string_free(text, FALSE);
}

static gchar *print_kept(const struct entry *entry, guint max_values)
{
	if (entry->n_told != entry->n_elements)
		return g_strdup("(as many values as the shape has not)");
	return print_values(entry, NULL, MIN(entry->n_kept, max_values), 0);
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
		return g_strdup("(values of a type that tacho does not print)");
	if (entry->is_sliced)
		return g_strdup("(values in slices, which tacho does not join)");
	if (bundle->is_first_format)
		return print_kept(entry, max_values);
	if (__builtin_mul_overflow(entry->n_elements, (guint64)width, &whole) ||
	    whole != entry->size)
		return g_strdup("(the number of bytes does not fit the shape)");
	n = MIN(entry->n_elements, max_values);
	n_bytes = whole <= MAX_VALUE_BYTES ? whole : n * width;
	path = g_strdup_printf("%s.data-%05d-of-%05u", bundle->prefix, entry->shard,
			       bundle->n_shards);
	bytes = read_bytes(path, entry->offset, (gsize)n_bytes);
	if (!bytes)
		return g_strdup_printf("(%s is too short or cannot be read)", path);
	if (n_bytes == whole && entry->has_crc &&
	    sorted_table_checksum(bytes, n_bytes) != entry->crc)
		return g_strdup("(the values do not match their checksum)");
	return print_values(entry, bytes, n, width);
}
