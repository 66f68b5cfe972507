#include "sqlite_text.h"

#include <glib/gstdio.h>
#include <sqlite3.h>

#include "foreign_traces.h"

gchar *sqlite_text_write(const gchar *name, const gchar *sql)
{
	gchar *path = foreign_write(name, "", 0);
	char *message = NULL;
	sqlite3 *db;

	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;", NULL, NULL, NULL);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		g_error("%s", message);
	sqlite3_close(db);
	return path;
}
