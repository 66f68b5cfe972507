/* What does not fit a sheet is left out, and told. */
#include <tacho/table.h>

#ifdef TACHO_HAVE_XLSX
#include <glib/gstdio.h>

#include "export/xlsx_sheet.h"

static const TachoColumn columns[] = {
	{ .key = "name", .title = "name", .type = TACHO_COLUMN_TEXT },
	{ .key = "value", .title = "value", .type = TACHO_COLUMN_INTEGER },
};

static TachoTable *new_table(guint n_rows)
{
	TachoTable *table = tacho_table_new("rows", columns, G_N_ELEMENTS(columns));

	for (guint i = 0; i < n_rows; i++) {
		tacho_table_row(table);
		tacho_table_text(table, "x");
		tacho_table_integer(table, i);
	}
	return table;
}

static gint64 left_out(guint n_rows, guint max_rows)
{
	g_autoptr(TachoTable) table = new_table(n_rows);
	lxw_workbook_options how = { .constant_memory = LXW_TRUE };
	struct xlsx_formats formats;
	g_autofree gchar *path = NULL;
	int file = g_file_open_tmp("tacho-test-XXXXXX.xlsx", &path, NULL);
	lxw_workbook *workbook;
	gint64 n_left_out;

	g_assert_cmpint(file, >=, 0);
	g_close(file, NULL);
	workbook = workbook_new_opt(path, &how);
	xlsx_formats_init(&formats, workbook);
	n_left_out = xlsx_sheet_write(workbook, &formats, "rows", table, max_rows);
	g_assert_cmpint(workbook_close(workbook), ==, LXW_NO_ERROR);
	g_unlink(path);
	return n_left_out;
}

static void test_limit(void)
{
	g_assert_cmpint(left_out(10, 10), ==, 0);
	g_assert_cmpint(left_out(11, 10), ==, 1);
	g_assert_cmpint(left_out(0, 10), ==, 0);
}
#else
static void test_limit(void)
{
	g_test_skip("built without libxlsxwriter");
}
#endif

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/xlsx-sheet/limit", test_limit);
	return g_test_run();
}
