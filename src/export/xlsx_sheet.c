#include "export/xlsx_sheet.h"

#include <math.h>

#include "analyze/table_internal.h"
#include "export/column_label.h"

#define MAX_TEXT      32767 /* characters of a cell */
#define MAX_WIDTH     60    /* of a column, in characters */
#define WIDTH_ROWS    1000  /* that a column's width is made from */
#define JSON_DECIMALS 3	    /* of columns that the terminal does not show */

void xlsx_formats_init(struct xlsx_formats *formats, lxw_workbook *workbook)
{
	static const gchar *const numbers[] = { "#,##0",       "#,##0.0",    "#,##0.00",
						"#,##0.000",   "#,##0.0000", "#,##0.00000",
						"#,##0.000000" };

	formats->heading = workbook_add_format(workbook);
	format_set_bold(formats->heading);
	format_set_bg_color(formats->heading, 0xe8edf2);
	format_set_bottom(formats->heading, LXW_BORDER_THIN);
	format_set_align(formats->heading, LXW_ALIGN_VERTICAL_TOP);
	format_set_text_wrap(formats->heading);
	formats->text = workbook_add_format(workbook);
	format_set_num_format(formats->text, "@");
	formats->identifier = workbook_add_format(workbook);
	format_set_num_format(formats->identifier, "0");
	formats->integer = workbook_add_format(workbook);
	format_set_num_format(formats->integer, "#,##0");
	for (guint i = 0; i < G_N_ELEMENTS(formats->number); i++) {
		formats->number[i] = workbook_add_format(workbook);
		format_set_num_format(formats->number[i], numbers[i]);
	}
}

static lxw_format *format_of(const struct xlsx_formats *formats, const TachoColumn *column)
{
	guint decimals = column->is_json_only ? JSON_DECIMALS : column->decimals;

	switch (column->type) {
	case TACHO_COLUMN_TEXT:
		return formats->text;
	case TACHO_COLUMN_INTEGER:
		return column->is_identifier ? formats->identifier : formats->integer;
	case TACHO_COLUMN_NUMBER:
		if (column->is_any_size)
			return NULL;
		return formats->number[MIN(decimals, G_N_ELEMENTS(formats->number) - 1)];
	default:
		return NULL;
	}
}

/* Control characters are replaced, and what is too long for a cell is cut. */
static gchar *cell_text(const gchar *text)
{
	g_autofree gchar *clean = table_text_clean(text);

	return g_utf8_strlen(clean, -1) > MAX_TEXT ? g_utf8_substring(clean, 0, MAX_TEXT)
						   : g_steal_pointer(&clean);
}

/* Text is written as text: a name such as "=1+1" is no formula. */
static lxw_error write_cell(lxw_worksheet *sheet, guint row, guint16 index, lxw_format *format,
			    const TachoTable *table, const TachoColumn *column)
{
	gdouble number;

	if (column->type == TACHO_COLUMN_TEXT) {
		const gchar *text = tacho_table_cell_text(table, row, column->key);
		g_autofree gchar *fit = text ? cell_text(text) : NULL;

		return fit && *fit ? worksheet_write_string(sheet, row + 1, index, fit, format)
				   : LXW_NO_ERROR;
	}
	number = tacho_table_cell_number(table, row, column->key);
	if (isnan(number))
		return LXW_NO_ERROR;
	if (column->type == TACHO_COLUMN_BOOLEAN)
		return worksheet_write_boolean(sheet, row + 1, index, number != 0, NULL);
	return worksheet_write_number(sheet, row + 1, index, number, format);
}

static guint cell_width(const TachoTable *table, guint row, const TachoColumn *column)
{
	const gchar *text;
	gdouble number;

	if (column->type == TACHO_COLUMN_TEXT) {
		text = tacho_table_cell_text(table, row, column->key);
		return text ? (guint)MIN(g_utf8_strlen(text, MAX_WIDTH * 4), MAX_WIDTH) : 0;
	}
	number = fabs(tacho_table_cell_number(table, row, column->key));
	return number >= 1 ? (guint)(log10(number) * 4 / 3) + column->decimals + 4 : 0;
}

/* The heading may take several lines, but not break a word. */
static guint heading_width(const gchar *label)
{
	g_auto(GStrv) words = g_strsplit(label, " ", -1);
	guint width = 0;

	for (guint i = 0; words[i]; i++)
		width = MAX(width, (guint)g_utf8_strlen(words[i], -1));
	return width + 3; /* the filter's button */
}

static void write_heading(lxw_worksheet *sheet, const struct xlsx_formats *formats,
			  const TachoTable *table, guint n_rows, guint16 n_columns)
{
	for (guint16 i = 0; i < n_columns; i++) {
		const TachoColumn *column =
			tacho_table_borrow_column(table, tacho_table_key(table, i));
		g_autofree gchar *label = column_label(column);
		guint width = heading_width(label);

		for (guint row = 0; row < MIN(n_rows, WIDTH_ROWS); row++)
			width = MAX(width, cell_width(table, row, column));
		worksheet_set_column(sheet, i, i, MIN(width, MAX_WIDTH) + 1, NULL);
		worksheet_write_string(sheet, 0, i, label, formats->heading);
	}
	worksheet_freeze_panes(sheet, 1, 0);
	if (n_rows)
		worksheet_autofilter(sheet, 0, 0, n_rows, n_columns - 1);
}

/* What the library does not say: rows go through a temporary file, which may be on a full disk. */
static gboolean is_whole(const lxw_worksheet *sheet)
{
	return fflush(sheet->optimize_tmpfile) == 0 && !ferror(sheet->optimize_tmpfile);
}

gint64 xlsx_sheet_write(lxw_workbook *workbook, const struct xlsx_formats *formats,
			const gchar *name, const TachoTable *table, guint max_rows)
{
	lxw_worksheet *sheet = workbook_add_worksheet(workbook, name);
	guint n_rows = MIN(tacho_table_n_rows(table), max_rows);
	guint16 n_columns = 0;
	lxw_error failed = LXW_NO_ERROR;

	if (!sheet)
		return -1;
	while (tacho_table_key(table, n_columns))
		n_columns++;
	write_heading(sheet, formats, table, n_rows, n_columns);
	for (guint row = 0; row < n_rows && !failed; row++)
		for (guint16 i = 0; i < n_columns && !failed; i++) {
			const TachoColumn *column =
				tacho_table_borrow_column(table, tacho_table_key(table, i));

			failed = write_cell(sheet, row, i, format_of(formats, column), table,
					    column);
		}
	return failed || !is_whole(sheet) ? -1 : (gint64)tacho_table_n_rows(table) - n_rows;
}
