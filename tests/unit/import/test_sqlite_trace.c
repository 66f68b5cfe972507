/* SQLite files of others are read, whatever their authors put into them. */
#include "import/read/sqlite_trace.h"

#include <string.h>

#include "foreign_traces.h"
#include "sqlite_text.h"

static const gchar *const columns[] = { "number", "text", "missing", "computed" };
enum { NUMBER, TEXT, MISSING, COMPUTED };

static struct sqlite_trace *open_path(const gchar *path)
{
	g_autoptr(GError) error = NULL;
	struct sqlite_trace *trace = sqlite_trace_open(path, &error);

	g_assert_no_error(error);
	return trace;
}

static void test_rows(void)
{
	gchar *path = sqlite_text_write(
		"rows ?#%.db",
		"CREATE TABLE t (number INTEGER, text TEXT, computed AS (hex(number)));"
		"INSERT INTO t VALUES (7, 'seven'), ('8', 8.5), (NULL, x'ff00'),"
		" (9, CAST(x'80' AS TEXT));"
		"CREATE VIEW v AS SELECT 1 AS number;");
	g_autoptr(sqlite_trace) trace = open_path(path);
	g_autofree gchar *failure = NULL;
	struct sqlite_rows rows;
	gint64 value = -1;

	g_assert_true(sqlite_trace_has_table(trace, "t"));
	g_assert_true(sqlite_trace_has_column(trace, "t", "NUMBER"));
	g_assert_false(sqlite_trace_has_column(trace, "t", "computed"));
	g_assert_false(sqlite_trace_has_table(trace, "v"));
	g_assert_cmpuint(sqlite_trace_missing_bytes(trace), ==, 0);
	sqlite_rows_init(&rows, trace, "t", columns, G_N_ELEMENTS(columns));
	g_assert_true(sqlite_rows_next(&rows, &failure));
	g_assert_cmpint(rows.row, ==, 1);
	g_assert_true(sqlite_rows_integer(&rows, NUMBER, &value));
	g_assert_cmpint(value, ==, 7);
	g_assert_cmpstr(sqlite_rows_text(&rows, TEXT), ==, "seven");
	g_assert_false(sqlite_rows_integer(&rows, MISSING, &value));
	g_assert_null(sqlite_rows_text(&rows, COMPUTED));
	g_assert_true(sqlite_rows_next(&rows, &failure));
	g_assert_cmpint(sqlite_rows_integer_or(&rows, NUMBER, 3), ==, 8); /* by its affinity */
	g_assert_cmpstr(sqlite_rows_text(&rows, TEXT), ==, "8.5");
	g_assert_true(sqlite_rows_next(&rows, &failure));
	g_assert_cmpint(sqlite_rows_integer_or(&rows, NUMBER, 3), ==, 3);
	g_assert_null(sqlite_rows_text(&rows, TEXT));
	g_assert_true(sqlite_rows_next(&rows, &failure));
	g_assert_null(sqlite_rows_text(&rows, TEXT)); /* not UTF-8 */
	g_assert_false(sqlite_rows_next(&rows, &failure));
	g_assert_null(failure);
	sqlite_rows_release(&rows);
	sqlite_rows_init(&rows, trace, "v", columns, G_N_ELEMENTS(columns));
	g_assert_false(sqlite_rows_next(&rows, &failure));
	sqlite_rows_release(&rows);
	foreign_remove(path);
}

/* A table whose rows have no numbers, and one that is called like SQL. */
static void test_names(void)
{
	gchar *path = sqlite_text_write(
		"names.db",
		"CREATE TABLE \"t\"\" DROP\" (\"number\" INTEGER PRIMARY KEY, text TEXT)"
		" WITHOUT ROWID;"
		"INSERT INTO \"t\"\" DROP\" VALUES (1, 'a'), (2, 'b');");
	g_autoptr(sqlite_trace) trace = open_path(path);
	g_auto(GStrv) names = sqlite_trace_tables(trace, "t\"");
	g_autofree gchar *failure = NULL;
	struct sqlite_rows rows;

	g_assert_cmpuint(g_strv_length(names), ==, 1);
	sqlite_rows_init(&rows, trace, names[0], columns, G_N_ELEMENTS(columns));
	g_assert_true(sqlite_rows_next(&rows, &failure));
	g_assert_cmpint(rows.row, ==, 0);
	g_assert_cmpstr(sqlite_rows_text(&rows, TEXT), ==, "a");
	g_assert_true(sqlite_rows_next(&rows, &failure));
	g_assert_cmpint(sqlite_rows_integer_or(&rows, NUMBER, 0), ==, 2);
	g_assert_false(sqlite_rows_next(&rows, &failure));
	sqlite_rows_release(&rows);
	foreign_remove(path);
}

/* What is cut off is missed at once, and told where rows end. */
static void test_truncated(void)
{
	gchar *path = sqlite_text_write(
		"cut.db",
		"PRAGMA page_size = 512; CREATE TABLE t (number INTEGER, text TEXT);"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 999)"
		" INSERT INTO t SELECT i, 'some text of ' || i FROM n;");
	g_autofree gchar *bytes = NULL, *failure = NULL;
	g_autoptr(sqlite_trace) trace = NULL;
	struct sqlite_rows rows;
	gsize n;

	g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
	g_assert_true(g_file_set_contents(path, bytes, (gssize)n / 2, NULL));
	trace = open_path(path);
	g_assert_cmpuint(sqlite_trace_missing_bytes(trace), ==, n - n / 2);
	sqlite_rows_init(&rows, trace, "t", columns, G_N_ELEMENTS(columns));
	while (sqlite_rows_next(&rows, &failure))
		g_assert_cmpint(sqlite_rows_integer_or(&rows, NUMBER, 0), ==, rows.n);
	g_assert_nonnull(failure);
	g_assert_cmpint(rows.n, >, 0);
	g_assert_cmpint(rows.n, <, 999);
	sqlite_rows_release(&rows);
	foreign_remove(path);
}

static void test_not_sqlite(void)
{
	gchar *path = foreign_write("no.db", "SQLite format 3, it says, but", 29);
	struct sniff_input input = { .path = path, .name = "no.db", .head = "SQLite format 3" };

	input.n_head = strlen(input.head) + 1;
	g_assert_true(sqlite_trace_sniff(&input));
	g_assert_false(sqlite_trace_sniff_table(&input, "table"));
	input.n_head = 3;
	g_assert_false(sqlite_trace_sniff(&input));
	foreign_remove(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sqlite_trace/rows", test_rows);
	g_test_add_func("/sqlite_trace/names", test_names);
	g_test_add_func("/sqlite_trace/truncated", test_truncated);
	g_test_add_func("/sqlite_trace/not-sqlite", test_not_sqlite);
	return g_test_run();
}
