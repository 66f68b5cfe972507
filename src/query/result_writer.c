/* result_writer: the rows of a query as text. All but the table are written row by row; a table waits
 * for the first SAMPLE_ROWS rows, or SAMPLE_BYTES of text, which decide how wide its columns are, so that
 * memory stays bounded.
 * (1) What is not UTF-8 becomes U+FFFD in JSON and in tables; CSV and TSV have the bytes as they are.
 * (2) Nothing but printable characters goes into a table: a trace cannot steer the terminal. */
#include <tacho/query.h>

#include <math.h>
#include <string.h>

#include <tacho/words.h>

#include "analyze/table_internal.h"
#include "base/csv_append.h"
#include "base/decimal.h"
#include "base/json_writer.h"
#include "base/number.h"

#define SAMPLE_ROWS  10000
#define SAMPLE_BYTES (64 << 20)
#define GAP	     2 /* between columns of a table */
#define MIN_WIDTH    8 /* a column is not cut below this */

struct _TachoResultWriter {
	TachoQueryFormat format;
	FILE *out;
	guint width;
	guint64 limit;

	guint64 n_rows;
	guint n_columns;
	GString *line;	       /* of a separated result, being made */
	GPtrArray *names;      /* gchar *, unique */
	JsonWriter *json;      /* of a JSON result that is being written */
	gboolean is_cut_short; /* the limit was met */
	gsize n_sample_bytes;
	GPtrArray *sample;	 /* gchar *, cells of the table's first rows */
	GByteArray *are_numbers; /* of the sample's cells */
	guint *widths;
	gboolean is_laid_out;
};

gboolean tacho_query_format_find(const gchar *name, TachoQueryFormat *ret_format, GError **error)
{
	static const gchar *const names[] = {
#define QUERY_FORMAT_NAME(enumerator, name) #name,
		TACHO_QUERY_FORMATS(QUERY_FORMAT_NAME)
#undef QUERY_FORMAT_NAME
			NULL
	};
	g_autofree gchar *there = NULL;

	for (guint i = 0; names[i]; i++) {
		if (strcmp(names[i], name) == 0) {
			*ret_format = (TachoQueryFormat)i;
			return TRUE;
		}
	}
	there = tacho_did_you_mean(name, names);
	g_set_error(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_NO_FORMAT, "'%s' is not a format%s",
		    name, there);
	return FALSE;
}

TachoResultWriter *tacho_result_writer_new(TachoQueryFormat format, FILE *out, guint width,
					   guint64 limit)
{
	TachoResultWriter *writer = g_new0(TachoResultWriter, 1);

	writer->format = format;
	writer->out = out;
	writer->width = width;
	writer->limit = limit;
	writer->line = g_string_new(NULL);
	writer->names = g_ptr_array_new_with_free_func(g_free);
	writer->sample = g_ptr_array_new_with_free_func(g_free);
	writer->are_numbers = g_byte_array_new();
	return writer;
}

void tacho_result_writer_free(TachoResultWriter *writer)
{
	if (!writer)
		return;
	g_clear_pointer(&writer->json, json_writer_free);
	g_string_free(writer->line, TRUE);
	g_ptr_array_unref(writer->names);
	g_ptr_array_unref(writer->sample);
	g_byte_array_unref(writer->are_numbers);
	g_free(writer->widths);
	g_free(writer);
}

void tacho_result_writer_set_format(TachoResultWriter *writer, TachoQueryFormat format)
{
	writer->format = format;
}

/* --- cells as text ---------------------------------------------------------------------------- */

static void append_hex(GString *text, const TachoCell *cell)
{
	g_string_append(text, "x'");
	for (gsize i = 0; i < cell->n_bytes; i++)
		g_string_append_printf(text, "%02x", (guint8)cell->text[i]);
	g_string_append_c(text, '\'');
}

/* The shortest digits that read back as the same number, and look like no integer. */
static void append_real(GString *text, gdouble value)
{
	gchar digits[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append(text, number_digits(digits, 15, value));
	if (isfinite(value) && !strpbrk(digits, ".e"))
		g_string_append(text, ".0");
}

/* NULL: `null`. */
static void append_cell(GString *text, const TachoCell *cell, const gchar *null)
{
	switch (cell->type) {
	case TACHO_CELL_NULL:
		g_string_append(text, null);
		break;
	case TACHO_CELL_INTEGER:
		decimal_append(text, cell->integer);
		break;
	case TACHO_CELL_REAL:
		append_real(text, cell->real);
		break;
	case TACHO_CELL_TEXT:
		g_string_append_len(text, cell->text, (gssize)cell->n_bytes);
		break;
	case TACHO_CELL_BLOB:
		append_hex(text, cell);
		break;
	}
}

/* --- CSV and TSV ------------------------------------------------------------------------------ */

static void append_tsv(GString *line, const gchar *text, gsize length)
{
	for (gsize i = 0; i < length; i++) {
		switch (text[i]) {
		case '\t':
			g_string_append(line, "\\t");
			break;
		case '\n':
			g_string_append(line, "\\n");
			break;
		case '\r':
			g_string_append(line, "\\r");
			break;
		case '\\':
			g_string_append(line, "\\\\");
			break;
		default:
			g_string_append_c(line, text[i]);
		}
	}
}

static void append_separated(const TachoResultWriter *writer, const gchar *text, gsize length)
{
	g_autoptr(GString) plain = NULL;

	if (writer->format == TACHO_QUERY_FORMAT_CSV) {
		csv_append_text(writer->line, text, length);
		return;
	}
	plain = g_string_sized_new(length);
	csv_append_plain(plain, text, length);
	append_tsv(writer->line, plain->str, plain->len);
}

static gchar separator(const TachoResultWriter *writer)
{
	return writer->format == TACHO_QUERY_FORMAT_CSV ? ',' : '\t';
}

static void write_line(const TachoResultWriter *writer)
{
	g_string_append_c(writer->line, '\n');
	fwrite(writer->line->str, 1, writer->line->len, writer->out);
	g_string_truncate(writer->line, 0);
}

static void write_separated_names(const TachoResultWriter *writer)
{
	for (guint i = 0; i < writer->n_columns; i++) {
		const gchar *name = g_ptr_array_index(writer->names, i);

		if (i)
			g_string_append_c(writer->line, separator(writer));
		append_separated(writer, name, strlen(name));
	}
	write_line(writer);
}

/* What is no text has nothing in it that would have to be escaped. */
static void write_separated(const TachoResultWriter *writer, const TachoCell *cells)
{
	const gchar *null = writer->format == TACHO_QUERY_FORMAT_CSV ? "" : "\\N";

	for (guint i = 0; i < writer->n_columns; i++) {
		if (i)
			g_string_append_c(writer->line, separator(writer));
		if (cells[i].type == TACHO_CELL_TEXT)
			append_separated(writer, cells[i].text, cells[i].n_bytes);
		else
			append_cell(writer->line, &cells[i], null);
	}
	write_line(writer);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_json_cell(JsonWriter *json, const TachoCell *cell)
{
	g_autoptr(GString) text = NULL;

	switch (cell->type) {
	case TACHO_CELL_NULL:
		json_writer_null(json);
		break;
	case TACHO_CELL_INTEGER:
		json_writer_integer(json, cell->integer);
		break;
	case TACHO_CELL_REAL:
		json_writer_number(json, cell->real);
		break;
	case TACHO_CELL_TEXT:
		json_writer_string_length(json, cell->text, cell->n_bytes);
		break;
	case TACHO_CELL_BLOB:
		text = g_string_new(NULL);
		append_hex(text, cell);
		json_writer_string(json, text->str);
		break;
	}
}

static void write_json_row(TachoResultWriter *writer, const TachoCell *cells)
{
	if (writer->format == TACHO_QUERY_FORMAT_JSON)
		json_writer_line(writer->json);
	json_writer_begin_object(writer->json);
	for (guint i = 0; i < writer->n_columns; i++) {
		json_writer_key(writer->json, g_ptr_array_index(writer->names, i));
		write_json_cell(writer->json, &cells[i]);
	}
	json_writer_end_object(writer->json);
}

static gboolean finish_json(TachoResultWriter *writer)
{
	gboolean is_written = json_writer_finish(writer->json);

	g_clear_pointer(&writer->json, json_writer_free);
	return is_written;
}

/* --- tables ----------------------------------------------------------------------------------- */

static gchar *table_text(const TachoCell *cell)
{
	g_autoptr(GString) text = g_string_new(NULL);

	append_cell(text, cell, "NULL");
	return table_text_clean(text->str);
}

static guint total_width(const TachoResultWriter *writer)
{
	guint total = 0;

	for (guint i = 0; i < writer->n_columns; i++)
		total += writer->widths[i] + (i ? GAP : 0);
	return total;
}

/* Take from the widest column until the table fits, or nothing is left to take. */
static void fit(TachoResultWriter *writer)
{
	while (writer->width && total_width(writer) > writer->width) {
		guint widest = 0;

		for (guint i = 1; i < writer->n_columns; i++)
			if (writer->widths[i] > writer->widths[widest])
				widest = i;
		if (writer->widths[widest] <= MIN_WIDTH)
			return;
		writer->widths[widest]--;
	}
}

static void print_cell(const TachoResultWriter *writer, guint column, const gchar *text,
		       gboolean is_number)
{
	g_autofree gchar *cut =
		writer->width ? table_text_cut(text, writer->widths[column]) : g_strdup(text);
	guint width = table_text_width(cut);
	guint pad = width < writer->widths[column] ? writer->widths[column] - width : 0;
	gboolean is_last = column + 1 == writer->n_columns;

	if (column)
		fprintf(writer->out, "%*s", GAP, "");
	if (is_number)
		fprintf(writer->out, "%*s%s", (int)pad, "", cut);
	else
		fprintf(writer->out, "%s%*s", cut, is_last ? 0 : (int)pad, "");
}

static void print_rule(const TachoResultWriter *writer)
{
	for (guint i = 0; i < writer->n_columns; i++) {
		if (i)
			fprintf(writer->out, "%*s", GAP, "");
		for (guint n = 0; n < writer->widths[i]; n++)
			fputc('-', writer->out);
	}
	fputc('\n', writer->out);
}

/* Numbers stand at the right, and so do the names of columns that begin with one. */
static gboolean is_number_at(const TachoResultWriter *writer, guint cell)
{
	return cell < writer->are_numbers->len && writer->are_numbers->data[cell];
}

static void lay_out(TachoResultWriter *writer)
{
	if (writer->is_laid_out)
		return;
	writer->is_laid_out = TRUE;
	for (guint i = 0; i < writer->n_columns; i++)
		writer->widths[i] = MAX(table_text_width(g_ptr_array_index(writer->names, i)), 1);
	for (guint i = 0; i < writer->sample->len; i++) {
		guint *width = &writer->widths[i % writer->n_columns];

		*width = MAX(*width, table_text_width(g_ptr_array_index(writer->sample, i)));
	}
	fit(writer);
	for (guint i = 0; i < writer->n_columns; i++)
		print_cell(writer, i, g_ptr_array_index(writer->names, i), is_number_at(writer, i));
	fputc('\n', writer->out);
	print_rule(writer);
	for (guint i = 0; i < writer->sample->len; i++) {
		guint column = i % writer->n_columns;

		print_cell(writer, column, g_ptr_array_index(writer->sample, i),
			   is_number_at(writer, i));
		if (column + 1 == writer->n_columns)
			fputc('\n', writer->out);
	}
	g_ptr_array_set_size(writer->sample, 0);
	writer->n_sample_bytes = 0;
}

static gboolean is_number(const TachoCell *cell)
{
	return cell->type == TACHO_CELL_INTEGER || cell->type == TACHO_CELL_REAL;
}

static void table_row(TachoResultWriter *writer, const TachoCell *cells)
{
	for (guint i = 0; i < writer->n_columns; i++) {
		guint8 number = (guint8)is_number(&cells[i]);

		if (writer->is_laid_out) {
			g_autofree gchar *text = table_text(&cells[i]);

			print_cell(writer, i, text, number);
			continue;
		}
		g_ptr_array_add(writer->sample, table_text(&cells[i]));
		writer->n_sample_bytes +=
			strlen(g_ptr_array_index(writer->sample, writer->sample->len - 1));
		g_byte_array_append(writer->are_numbers, &number, 1);
	}
	if (writer->is_laid_out)
		fputc('\n', writer->out);
	else if (writer->n_rows >= SAMPLE_ROWS || writer->n_sample_bytes > SAMPLE_BYTES)
		lay_out(writer);
}

static void end_table(TachoResultWriter *writer)
{
	lay_out(writer);
	if (writer->is_cut_short)
		fprintf(writer->out,
			"These are the first %" G_GUINT64_FORMAT
			" rows; there are more (--limit shows more).\n",
			writer->n_rows);
}

/* --- the handler ------------------------------------------------------------------------------ */

/* A name that was there already gets a number: "dur", "dur_2". */
static void add_name(TachoResultWriter *writer, const gchar *name)
{
	g_autofree gchar *clean = table_text_clean(name);
	gchar *unique = g_strdup(clean);

	for (guint n = 2;
	     g_ptr_array_find_with_equal_func(writer->names, unique, g_str_equal, NULL); n++) {
		g_free(unique);
		unique = g_strdup_printf("%s_%u", clean, n);
	}
	g_ptr_array_add(writer->names, unique);
}

static void begin(const gchar *const *names, guint n_columns, gpointer data)
{
	TachoResultWriter *writer = data;

	writer->n_rows = 0;
	writer->n_columns = n_columns;
	writer->is_cut_short = FALSE;
	g_ptr_array_set_size(writer->names, 0);
	for (guint i = 0; i < n_columns; i++)
		add_name(writer, names[i]);
	switch (writer->format) {
	case TACHO_QUERY_FORMAT_CSV:
	case TACHO_QUERY_FORMAT_TSV:
		write_separated_names(writer);
		break;
	case TACHO_QUERY_FORMAT_JSON:
		writer->json = json_writer_new(writer->out);
		json_writer_begin_array(writer->json);
		break;
	case TACHO_QUERY_FORMAT_JSONL:
	case TACHO_N_QUERY_FORMATS:
		break;
	case TACHO_QUERY_FORMAT_TABLE:
		g_ptr_array_set_size(writer->sample, 0);
		g_byte_array_set_size(writer->are_numbers, 0);
		g_free(writer->widths);
		writer->widths = g_new0(guint, n_columns);
		writer->is_laid_out = FALSE;
	}
}

static gboolean row(const TachoCell *cells, gpointer data)
{
	TachoResultWriter *writer = data;

	if (writer->limit && writer->n_rows == writer->limit) {
		writer->is_cut_short = TRUE;
		return FALSE;
	}
	writer->n_rows++;
	switch (writer->format) {
	case TACHO_QUERY_FORMAT_CSV:
	case TACHO_QUERY_FORMAT_TSV:
		write_separated(writer, cells);
		return !ferror(writer->out);
	case TACHO_QUERY_FORMAT_JSON:
		write_json_row(writer, cells);
		return !json_writer_failed(writer->json);
	case TACHO_QUERY_FORMAT_JSONL:
		writer->json = json_writer_new(writer->out);
		write_json_row(writer, cells);
		return finish_json(writer);
	default:
		table_row(writer, cells);
		return !ferror(writer->out);
	}
}

static void end(gpointer data)
{
	TachoResultWriter *writer = data;

	if (writer->format == TACHO_QUERY_FORMAT_TABLE)
		end_table(writer);
	if (writer->format != TACHO_QUERY_FORMAT_JSON)
		return;
	if (writer->n_rows)
		json_writer_line(writer->json);
	json_writer_end_array(writer->json);
	finish_json(writer);
}

const TachoQueryHandler *tacho_result_writer_handler(void)
{
	static const TachoQueryHandler handler = { begin, row, end };

	return &handler;
}
