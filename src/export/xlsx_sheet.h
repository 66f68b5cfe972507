/* xlsx_sheet: a table as a sheet of a workbook: a heading that stays in sight and filters, formats by the
 * type of each column, widths by what is in it. */
#ifndef TACHO_XLSX_SHEET_H
#define TACHO_XLSX_SHEET_H

#include <tacho/table.h>
#include <xlsxwriter.h>

#define XLSX_MAX_ROWS (LXW_ROW_MAX - 1) /* of a sheet, below the heading */

/* The formats of a workbook, by what a column holds; the workbook owns them. */
struct xlsx_formats {
	lxw_format *heading, *text, *integer, *identifier;
	lxw_format *number[7]; /* by decimals */
};

void xlsx_formats_init(struct xlsx_formats *formats, lxw_workbook *workbook);

/* Write `table` as the sheet `name`, at most `max_rows` rows of it. Returns how many rows were left out, or -1:
 * it could not be written. */
gint64 xlsx_sheet_write(lxw_workbook *workbook, const struct xlsx_formats *formats,
			const gchar *name, const TachoTable *table, guint max_rows);

#endif
