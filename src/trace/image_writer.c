#include "trace/image_writer.h"

#include <string.h>
#include <zstd.h>

#include "trace/string_table.h"

#define ROWS_A_BLOCK	 8192
#define TEXTS_A_BLOCK	 (1u << 18) /* bytes */
#define STRINGS_A_BLOCK	 (1u << 20) /* bytes */
#define MAX_STRING_BYTES (1u << 20) /* of one; what is longer is cut */
#define MAX_VARINT_BYTES 10
#define LEVEL		 1 /* of zstd's */

struct _ImageWriter {
	const TachoTimeline *timeline;
	ImageSink sink;
	gpointer data;
	GByteArray *rows[N_IMAGE_TABLES]; /* that wait for a block */
	GByteArray *texts;		  /* of the rows of `json` among them */
	guint32 *string_ids;  /* by string id of the timeline: number here, 0: none yet */
	GHashTable *text_ids; /* const gchar * -> number here */
	guint32 n_strings;
	GByteArray *strings; /* those that are in no block yet */
	guint32 n_waiting_strings;
	GByteArray *block, *column, *packed;
	ZSTD_CCtx *packer;
	guint64 n_blocks;
};

/* --- bytes ---------------------------------------------------------------------------------- */

static guint8 *put_varint(guint8 *at, guint64 value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (guint8)(value | 0x80);
	*at++ = (guint8)value;
	return at;
}

static guint64 fold(guint64 value)
{
	return value << 1 ^ -(value >> 63);
}

static void add_varint(GByteArray *bytes, guint64 value)
{
	guint8 text[MAX_VARINT_BYTES];

	g_byte_array_append(bytes, text, (guint)(put_varint(text, value) - text));
}

static void add_text(GByteArray *bytes, const gchar *text)
{
	gsize n = MIN(strlen(text), MAX_STRING_BYTES);

	add_varint(bytes, n);
	g_byte_array_append(bytes, (const guint8 *)text, (guint)n);
}

/* --- blocks --------------------------------------------------------------------------------- */

static void put_block(ImageWriter *writer, const GByteArray *block)
{
	gsize n;

	g_byte_array_set_size(writer->packed, (guint)ZSTD_compressBound(block->len));
	n = ZSTD_compress2(writer->packer, writer->packed->data, writer->packed->len, block->data,
			   block->len);
	g_assert(!ZSTD_isError(n));
	writer->n_blocks++;
	writer->sink(writer->packed->data, n, writer->data);
}

static void begin_block(ImageWriter *writer, guint64 what)
{
	g_byte_array_set_size(writer->block, 0);
	add_varint(writer->block, what);
}

/* Before the block that uses them, which may be under way. */
static void flush_strings(ImageWriter *writer)
{
	g_autoptr(GByteArray) block = g_byte_array_new();

	if (!writer->n_waiting_strings)
		return;
	add_varint(block, BLOCK_STRINGS);
	add_varint(block, writer->n_waiting_strings);
	g_byte_array_append(block, writer->strings->data, writer->strings->len);
	put_block(writer, block);
	writer->n_waiting_strings = 0;
	g_byte_array_set_size(writer->strings, 0);
}

static guint32 add_string(ImageWriter *writer, const gchar *text)
{
	add_text(writer->strings, text);
	writer->n_waiting_strings++;
	writer->n_strings++;
	if (writer->strings->len > STRINGS_A_BLOCK)
		flush_strings(writer);
	return writer->n_strings;
}

static guint32 number_string(ImageWriter *writer, guint32 id)
{
	if (!id)
		return 0;
	if (!writer->string_ids[id])
		writer->string_ids[id] =
			add_string(writer, tacho_timeline_string(writer->timeline, id));
	return writer->string_ids[id];
}

static guint32 number_text(ImageWriter *writer, const gchar *text)
{
	gpointer known;

	if (!text || !*text)
		return 0;
	known = g_hash_table_lookup(writer->text_ids, text);
	if (!known) {
		known = GUINT_TO_POINTER(add_string(writer, text));
		g_hash_table_insert(writer->text_ids, (gpointer)text, known);
	}
	return GPOINTER_TO_UINT(known);
}

/* --- columns -------------------------------------------------------------------------------- */

static guint64 load(const guint8 *field, const struct image_column *column)
{
	guint64 all;
	guint32 half;
	guint16 quarter;

	switch (column->n_bytes) {
	case sizeof(all):
		memcpy(&all, field, sizeof(all));
		return all;
	case sizeof(half):
		memcpy(&half, field, sizeof(half));
		return column->is_signed ? (guint64)(gint32)half : half;
	case sizeof(quarter):
		memcpy(&quarter, field, sizeof(quarter));
		return column->is_signed ? (guint64)(gint16)quarter : quarter;
	default:
		return column->is_signed ? (guint64)(gint8)*field : *field;
	}
}

static guint8 *put_dims(guint8 *at, const guint8 *row, const struct image_column *column)
{
	guint32 n;

	memcpy(&n, row + column->count_offset, sizeof(n));
	n = MIN(n, TACHO_MAX_DIMS);
	at = put_varint(at, n);
	for (guint32 i = 0; i < n; i++) {
		gint64 value;

		memcpy(&value, row + column->offset + i * sizeof(value), sizeof(value));
		at = put_varint(at, fold((guint64)value));
	}
	return at;
}

/* What the field is in the image; strings get their numbers. */
static guint64 number_of(ImageWriter *writer, const guint8 *field,
			 const struct image_column *column)
{
	const gchar *text;

	switch (column->kind) {
	case IMAGE_STRING:
		return number_string(writer, (guint32)load(field, column));
	case IMAGE_TEXT:
		memcpy(&text, field, sizeof(text));
		return number_text(writer, text);
	case IMAGE_ROW_OR_NONE:
	case IMAGE_ROW_IF_ANY:
		return (guint32)(load(field, column) + 1); /* TACHO_NONE: 0 */
	default:
		return load(field, column);
	}
}

static void add_column(ImageWriter *writer, const struct image_column *column, const guint8 *rows,
		       guint n_rows, guint row_bytes)
{
	guint64 before = 0;
	guint8 *at;

	g_byte_array_set_size(writer->column,
			      n_rows * MAX_VARINT_BYTES *
				      (column->kind == IMAGE_DIMS ? TACHO_MAX_DIMS + 1 : 1));
	at = writer->column->data;
	for (guint i = 0; i < n_rows; i++, rows += row_bytes) {
		guint64 value;

		if (column->kind == IMAGE_DIMS) {
			at = put_dims(at, rows, column);
		} else if (column->kind == IMAGE_REAL) {
			memcpy(at, rows + column->offset, sizeof(gdouble));
			at += sizeof(gdouble);
		} else {
			value = number_of(writer, rows + column->offset, column);
			at = put_varint(at, fold(value - before));
			before = value;
		}
	}
	add_varint(writer->block, (guint64)(at - writer->column->data));
	g_byte_array_append(writer->block, writer->column->data,
			    (guint)(at - writer->column->data));
}

static void flush_rows(ImageWriter *writer, enum image_table table)
{
	const struct image_table_form *form = &run_image_forms()[table];
	GByteArray *rows = writer->rows[table];
	guint n_rows = rows->len / form->n_bytes;

	if (!n_rows)
		return;
	begin_block(writer, N_BLOCK_KINDS + (guint64)table);
	add_varint(writer->block, n_rows);
	for (guint i = 0; i < form->n_columns; i++)
		add_column(writer, &form->columns[i], rows->data, n_rows, form->n_bytes);
	if (table == IMAGE_JSON) {
		g_byte_array_append(writer->block, writer->texts->data, writer->texts->len);
		g_byte_array_set_size(writer->texts, 0);
	}
	g_byte_array_set_size(rows, 0);
	flush_strings(writer);
	put_block(writer, writer->block);
}

/* --- the whole ------------------------------------------------------------------------------ */

static void put_head(ImageWriter *writer, const guint32 *n_rows)
{
	const struct image_table_form *forms = run_image_forms();

	begin_block(writer, BLOCK_HEAD);
	add_varint(writer->block, RUN_IMAGE_VERSION);
	add_varint(writer->block, N_IMAGE_TABLES);
	for (guint i = 0; i < N_IMAGE_TABLES; i++) {
		add_text(writer->block, forms[i].name);
		add_varint(writer->block, n_rows[i]);
		add_varint(writer->block, forms[i].n_columns);
		for (guint k = 0; k < forms[i].n_columns; k++)
			add_text(writer->block, forms[i].columns[k].name);
	}
	put_block(writer, writer->block);
}

ImageWriter *image_writer_new(const TachoTimeline *timeline, const guint32 *n_rows, ImageSink sink,
			      gpointer data)
{
	ImageWriter *writer = g_new0(ImageWriter, 1);

	writer->timeline = timeline;
	writer->sink = sink;
	writer->data = data;
	for (guint i = 0; i < N_IMAGE_TABLES; i++)
		writer->rows[i] = g_byte_array_new();
	writer->texts = g_byte_array_new();
	writer->string_ids = g_new0(guint32, string_table_size(timeline->strings) + 1);
	writer->text_ids = g_hash_table_new(g_str_hash, g_str_equal);
	writer->strings = g_byte_array_new();
	writer->block = g_byte_array_new();
	writer->column = g_byte_array_new();
	writer->packed = g_byte_array_new();
	writer->packer = ZSTD_createCCtx();
	g_assert(writer->packer);
	ZSTD_CCtx_setParameter(writer->packer, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(writer->packer, ZSTD_c_checksumFlag, 1);
	put_head(writer, n_rows);
	return writer;
}

void image_writer_free(ImageWriter *writer)
{
	if (!writer)
		return;
	for (guint i = 0; i < N_IMAGE_TABLES; i++)
		g_byte_array_unref(writer->rows[i]);
	g_byte_array_unref(writer->texts);
	g_free(writer->string_ids);
	g_hash_table_unref(writer->text_ids);
	g_byte_array_unref(writer->strings);
	g_byte_array_unref(writer->block);
	g_byte_array_unref(writer->column);
	g_byte_array_unref(writer->packed);
	ZSTD_freeCCtx(writer->packer);
	g_free(writer);
}

void image_writer_row(ImageWriter *writer, enum image_table table, const void *row)
{
	guint n_bytes = run_image_forms()[table].n_bytes;

	g_byte_array_append(writer->rows[table], row, n_bytes);
	if (writer->rows[table]->len >= ROWS_A_BLOCK * n_bytes)
		flush_rows(writer, table);
}

void image_writer_string(ImageWriter *writer, guint32 id)
{
	number_string(writer, id);
}

void image_writer_json(ImageWriter *writer, guint32 slice, const gchar *text)
{
	gsize n = strlen(text);
	struct image_json row = { .slice = slice, .n_bytes = (guint32)n };

	if (n > RUN_IMAGE_MAX_BLOCK_BYTES / 2) /* no block could hold it */
		return;
	if (writer->texts->len + n > TEXTS_A_BLOCK)
		flush_rows(writer, IMAGE_JSON);
	g_byte_array_append(writer->texts, (const guint8 *)text, (guint)n);
	image_writer_row(writer, IMAGE_JSON, &row);
}

void image_writer_flush(ImageWriter *writer)
{
	for (guint i = 0; i < N_IMAGE_TABLES; i++)
		flush_rows(writer, (enum image_table)i);
}

void image_writer_finish(ImageWriter *writer)
{
	image_writer_flush(writer);
	begin_block(writer, BLOCK_END);
	add_varint(writer->block, writer->n_blocks);
	put_block(writer, writer->block);
}
