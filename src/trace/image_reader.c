#include "trace/image_reader.h"

#include <string.h>
#include <zstd.h>

#define MAX_TABLES	   256 /* of a head, and columns of one of them */
#define MAX_ROWS_BYTES	   (G_GUINT64_CONSTANT(64) << 20) /* of all rows: so many ... */
#define MAX_BYTES_A_PACKED 1000 /* ... and so many for each byte that was handed in */

/* What a table of the head is here. */
struct known_table {
	gint table; /* enum image_table, -1: not known here */
	guint64 n_rows;
	GArray *columns; /* const struct image_column *, NULL: not known here */
};

struct _ImageReader {
	TachoTimeline *timeline;
	ImageRows rows;
	gpointer data;
	GArray *tables;	 /* struct known_table, as the head numbers them */
	GArray *strings; /* guint32 string ids, by number - 1 */
	guint64 n_rows[N_IMAGE_TABLES], n_promised[N_IMAGE_TABLES];
	GByteArray *buffer; /* rows */
	guint64 n_blocks, n_packed, n_row_bytes;
	gboolean is_begun, is_ended, has_failed;
};

G_DEFINE_QUARK(tacho - image - reader - error - quark, image_reader_error)

/* --- bytes ---------------------------------------------------------------------------------- */

struct cursor {
	const guint8 *at, *end;
};

static gboolean get_varint(struct cursor *cursor, guint64 *ret_value)
{
	guint64 value = 0;

	for (guint shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
		guint8 byte = *cursor->at++;

		value |= (guint64)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_value = value;
			return TRUE;
		}
	}
	return FALSE;
}

static guint64 unfold(guint64 value)
{
	return value >> 1 ^ -(value & 1);
}

static gboolean get_bytes(struct cursor *cursor, struct cursor *ret_bytes)
{
	guint64 n;

	if (!get_varint(cursor, &n) || n > (guint64)(cursor->end - cursor->at))
		return FALSE;
	*ret_bytes = (struct cursor){ cursor->at, cursor->at + n };
	cursor->at += n;
	return TRUE;
}

GByteArray *image_block_unpack(const guint8 *block, gsize n_bytes)
{
	unsigned long long n = ZSTD_getFrameContentSize(block, n_bytes);
	GByteArray *bytes;

	if (n == ZSTD_CONTENTSIZE_ERROR || n == ZSTD_CONTENTSIZE_UNKNOWN || n == 0 ||
	    n > RUN_IMAGE_MAX_BLOCK_BYTES)
		return NULL;
	bytes = g_byte_array_sized_new((guint)n);
	g_byte_array_set_size(bytes, (guint)n);
	if (ZSTD_decompress(bytes->data, n, block, n_bytes) == n)
		return bytes;
	g_byte_array_unref(bytes);
	return NULL;
}

/* (2) */
static gboolean may_grow(ImageReader *reader, guint64 n_bytes)
{
	reader->n_row_bytes += n_bytes;
	return reader->n_row_bytes <= MAX_ROWS_BYTES + MAX_BYTES_A_PACKED * reader->n_packed;
}

/* --- the head ------------------------------------------------------------------------------- */

static gint find_table(const struct cursor *name)
{
	const struct image_table_form *forms = run_image_forms();
	gsize n = (gsize)(name->end - name->at);

	for (gint i = 0; i < N_IMAGE_TABLES; i++)
		if (strlen(forms[i].name) == n && memcmp(forms[i].name, name->at, n) == 0)
			return i;
	return -1;
}

static const struct image_column *find_column(gint table, const struct cursor *name)
{
	const struct image_table_form *form;
	gsize n = (gsize)(name->end - name->at);

	if (table < 0)
		return NULL;
	form = &run_image_forms()[table];
	for (guint i = 0; i < form->n_columns; i++)
		if (strlen(form->columns[i].name) == n &&
		    memcmp(form->columns[i].name, name->at, n) == 0)
			return &form->columns[i];
	return NULL;
}

static void clear_table(gpointer table)
{
	g_array_unref(((struct known_table *)table)->columns);
}

static gboolean read_table(ImageReader *reader, struct cursor *at)
{
	struct known_table table = { 0 };
	struct cursor name;
	guint64 n_columns;

	if (!get_bytes(at, &name) || !get_varint(at, &table.n_rows) ||
	    !get_varint(at, &n_columns) || n_columns > MAX_TABLES || table.n_rows > TACHO_NONE)
		return FALSE;
	table.table = find_table(&name);
	table.columns = g_array_new(FALSE, FALSE, sizeof(const struct image_column *));
	g_array_append_val(reader->tables, table);
	for (guint64 i = 0; i < n_columns; i++) {
		const struct image_column *column;

		if (!get_bytes(at, &name))
			return FALSE;
		column = find_column(table.table, &name);
		g_array_append_val(table.columns, column);
	}
	if (table.table >= 0)
		reader->n_promised[table.table] = table.n_rows;
	return TRUE;
}

static const gchar *read_head(ImageReader *reader, struct cursor *at)
{
	guint64 n_tables;

	if (!get_varint(at, &n_tables) || n_tables > MAX_TABLES)
		return "its head is damaged";
	for (guint64 i = 0; i < n_tables; i++)
		if (!read_table(reader, at))
			return "its head is damaged";
	reader->is_begun = TRUE;
	return NULL;
}

static const gchar *read_strings(ImageReader *reader, struct cursor *at)
{
	struct cursor text;
	guint64 n;

	if (!get_varint(at, &n) || !may_grow(reader, (guint64)(at->end - at->at)))
		return "its strings are damaged";
	for (guint64 i = 0; i < n; i++) {
		guint32 id;

		if (!get_bytes(at, &text))
			return "its strings are damaged";
		id = tacho_timeline_intern(reader->timeline, (const gchar *)text.at,
					   text.end - text.at);
		g_array_append_val(reader->strings, id);
	}
	return NULL;
}

/* --- rows ----------------------------------------------------------------------------------- */

static gboolean is_within(guint64 value, const struct image_column *column)
{
	guint n_bits = column->n_bytes * 8;

	if (column->limit)
		return value < column->limit;
	if (n_bits == 64)
		return TRUE;
	if (column->is_signed)
		return (gint64)value >= -(G_GINT64_CONSTANT(1) << (n_bits - 1)) &&
		       (gint64)value < G_GINT64_CONSTANT(1) << (n_bits - 1);
	return value >> n_bits == 0;
}

/* The string id of a number; FALSE: there is no such string. */
static gboolean find_string(const ImageReader *reader, guint64 number, guint32 *ret_id)
{
	if (number > reader->strings->len)
		return FALSE;
	*ret_id = number ? g_array_index(reader->strings, guint32, number - 1) : 0;
	return TRUE;
}

static gboolean set_field(const ImageReader *reader, guint8 *field,
			  const struct image_column *column, guint64 value)
{
	const gchar *text;
	guint32 id;

	switch (column->kind) {
	case IMAGE_STRING:
		if (!find_string(reader, value, &id))
			return FALSE;
		value = id;
		break;
	case IMAGE_TEXT:
		if (!find_string(reader, value, &id))
			return FALSE;
		text = tacho_timeline_string(reader->timeline, id);
		memcpy(field, &text, sizeof(text));
		return TRUE;
	case IMAGE_ROW_OR_NONE:
	case IMAGE_ROW_IF_ANY:
		value = value ? value - 1 : TACHO_NONE;
		if (value != TACHO_NONE && value >= reader->n_promised[column->target])
			return FALSE;
		break;
	case IMAGE_ROW:
		if (value >= reader->n_promised[column->target])
			return FALSE;
		break;
	case IMAGE_TIME:
		if ((gint64)value < -TACHO_MAX_TIME_NS || (gint64)value > TACHO_MAX_TIME_NS)
			return FALSE;
		break;
	default:
		if (!is_within(value, column))
			return FALSE;
	}
	memcpy(field, &value, column->n_bytes);
	return TRUE;
}

static gboolean read_dims(struct cursor *at, guint8 *row, const struct image_column *column)
{
	guint64 n, value;
	guint32 count;

	if (!get_varint(at, &n) || n > TACHO_MAX_DIMS)
		return FALSE;
	count = (guint32)n;
	memcpy(row + column->count_offset, &count, sizeof(count));
	for (guint32 i = 0; i < count; i++) {
		if (!get_varint(at, &value))
			return FALSE;
		value = unfold(value);
		memcpy(row + column->offset + i * sizeof(value), &value, sizeof(value));
	}
	return TRUE;
}

static gboolean read_real(struct cursor *at, guint8 *field)
{
	if (at->end - at->at < (gssize)sizeof(gdouble))
		return FALSE;
	memcpy(field, at->at, sizeof(gdouble));
	at->at += sizeof(gdouble);
	return TRUE;
}

static gboolean read_column(const ImageReader *reader, struct cursor *at,
			    const struct image_column *column, guint8 *row, guint n_rows,
			    guint row_bytes)
{
	guint64 value = 0, delta;

	for (guint i = 0; i < n_rows; i++, row += row_bytes) {
		if (column->kind == IMAGE_DIMS) {
			if (!read_dims(at, row, column))
				return FALSE;
		} else if (column->kind == IMAGE_REAL) {
			if (!read_real(at, row + column->offset))
				return FALSE;
		} else {
			if (!get_varint(at, &delta))
				return FALSE;
			value += unfold(delta);
			if (!set_field(reader, row + column->offset, column, value))
				return FALSE;
		}
	}
	return at->at == at->end;
}

/* What the columns are that the image does not have: nothing, no row, "". */
static void set_defaults(const struct image_table_form *form, guint8 *row, guint n_rows)
{
	static const gchar *const no_text = "";
	static const guint32 no_row = TACHO_NONE;

	memset(row, 0, (gsize)n_rows * form->n_bytes);
	for (guint i = 0; i < form->n_columns; i++) {
		const struct image_column *column = &form->columns[i];
		gboolean is_text = column->kind == IMAGE_TEXT;

		if (!is_text && column->kind != IMAGE_ROW_OR_NONE &&
		    column->kind != IMAGE_ROW_IF_ANY)
			continue;
		for (guint k = 0; k < n_rows; k++)
			memcpy(row + (gsize)k * form->n_bytes + column->offset,
			       is_text ? (const void *)&no_text : &no_row, column->n_bytes);
	}
}

static const gchar *read_rows(ImageReader *reader, const struct known_table *table,
			      struct cursor *at)
{
	const struct image_table_form *form;
	guint64 n_rows;

	if (!get_varint(at, &n_rows) || n_rows == 0 || n_rows > (guint64)(at->end - at->at))
		return "it has a block of no rows, or of more than bytes";
	if (table->table < 0)
		return NULL;
	form = &run_image_forms()[table->table];
	if (!may_grow(reader, n_rows * form->n_bytes))
		return "it has more rows than fit its size";
	g_byte_array_set_size(reader->buffer, (guint)n_rows * form->n_bytes);
	set_defaults(form, reader->buffer->data, (guint)n_rows);
	for (guint i = 0; i < table->columns->len; i++) {
		const struct image_column *column =
			g_array_index(table->columns, const struct image_column *, i);
		struct cursor bytes;

		if (!get_bytes(at, &bytes) ||
		    (column && !read_column(reader, &bytes, column, reader->buffer->data,
					    (guint)n_rows, form->n_bytes)))
			return "it has a damaged column";
	}
	reader->n_rows[table->table] += n_rows;
	return reader->rows((enum image_table)table->table, reader->buffer->data, (guint)n_rows,
			    reader->data);
}

/* --- blocks --------------------------------------------------------------------------------- */

static const gchar *read_end(ImageReader *reader, struct cursor *at)
{
	guint64 n_blocks;

	if (!get_varint(at, &n_blocks) || n_blocks != reader->n_blocks)
		return "blocks of it are missing";
	reader->is_ended = TRUE;
	return NULL;
}

static const gchar *read_block(ImageReader *reader, struct cursor *at, gsize *ret_texts)
{
	const guint8 *begin = at->at;
	const struct known_table *table;
	const gchar *failure;
	guint64 what, version;

	if (reader->has_failed || reader->is_ended || !get_varint(at, &what))
		return "it has a block that should not be there";
	if (!reader->is_begun)
		return what != BLOCK_HEAD || !get_varint(at, &version) ? "its head is damaged"
		       : version != RUN_IMAGE_VERSION		       ? ""
								       : read_head(reader, at);
	if (what == BLOCK_STRINGS)
		return read_strings(reader, at);
	if (what == BLOCK_END)
		return read_end(reader, at);
	if (what < N_BLOCK_KINDS || what - N_BLOCK_KINDS >= reader->tables->len)
		return "it has a block of no table";
	table = &g_array_index(reader->tables, struct known_table, what - N_BLOCK_KINDS);
	failure = read_rows(reader, table, at);
	if (table->table == IMAGE_JSON)
		*ret_texts = (gsize)(at->at - begin);
	return failure;
}

static gboolean fail(ImageReader *reader, const gchar *why, GError **error)
{
	reader->has_failed = TRUE;
	if (*why)
		g_set_error_literal(error, IMAGE_READER_ERROR, IMAGE_READER_ERROR_DAMAGED, why);
	else
		g_set_error_literal(error, IMAGE_READER_ERROR, IMAGE_READER_ERROR_VERSION,
				    "a later tacho wrote it");
	return FALSE;
}

gboolean image_reader_block(ImageReader *reader, const guint8 *block, gsize n_bytes,
			    gsize *ret_texts, GError **error)
{
	g_autoptr(GByteArray) bytes = image_block_unpack(block, n_bytes);
	struct cursor at;
	const gchar *failure;

	*ret_texts = 0;
	if (!bytes)
		return fail(reader, "it has a block that cannot be unpacked", error);
	at = (struct cursor){ bytes->data, bytes->data + bytes->len };
	reader->n_packed += n_bytes;
	failure = read_block(reader, &at, ret_texts);
	reader->n_blocks++;
	return !failure || fail(reader, failure, error);
}

gboolean image_reader_finish(ImageReader *reader, GError **error)
{
	if (reader->has_failed || !reader->is_ended)
		return fail(reader, "its end is missing", error);
	for (guint i = 0; i < N_IMAGE_TABLES; i++)
		if (reader->n_promised[i] && reader->n_promised[i] != reader->n_rows[i])
			return fail(reader, "rows of it are missing", error);
	return TRUE;
}

ImageReader *image_reader_new(TachoTimeline *timeline, ImageRows rows, gpointer data)
{
	ImageReader *reader = g_new0(ImageReader, 1);

	reader->timeline = timeline;
	reader->rows = rows;
	reader->data = data;
	reader->tables = g_array_new(FALSE, FALSE, sizeof(struct known_table));
	g_array_set_clear_func(reader->tables, clear_table);
	reader->strings = g_array_new(FALSE, FALSE, sizeof(guint32));
	reader->buffer = g_byte_array_new();
	return reader;
}

void image_reader_free(ImageReader *reader)
{
	if (!reader)
		return;
	g_array_unref(reader->tables);
	g_array_unref(reader->strings);
	g_byte_array_unref(reader->buffer);
	g_free(reader);
}
