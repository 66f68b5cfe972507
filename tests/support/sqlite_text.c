#include "sqlite_text.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

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

/* --- fuzzing -------------------------------------------------------------------------------- */

enum { MOST_STEPS = 100000, MOST_VALUE_BYTES = 1 << 20 };

static int is_enough(void *n_steps)
{
	return ++*(guint *)n_steps > MOST_STEPS / 1000;
}

/* The SQL is anybody's: it gets little time and room, and no file. What it made before it failed is there. */
static guint8 *make_database(const gchar *sql, gsize *ret_n)
{
	sqlite3_int64 n = 0;
	guint n_steps = 0;
	guint8 *bytes;
	sqlite3 *db;

	g_assert_cmpint(sqlite3_open(":memory:", &db), ==, SQLITE_OK);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_exec(db, "PRAGMA page_size = 512; PRAGMA max_page_count = 4096", NULL, NULL, NULL);
	sqlite3_progress_handler(db, 1000, is_enough, &n_steps);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_progress_handler(db, 0, NULL, NULL);
	bytes = sqlite3_serialize(db, "main", &n, 0);
	sqlite3_close_v2(db);
	*ret_n = (gsize)n;
	return bytes;
}

int sqlite_text_fuzz(const gchar *name, const guint8 *bytes, gsize n)
{
	static const gchar magic[] = "SQLite format 3";
	g_autofree gchar *sql = NULL;
	guint8 *database;
	gsize n_database;

	if (n >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0)
		return foreign_fuzz(name, bytes, n);
	sql = g_strndup((const gchar *)bytes, n);
	database = make_database(sql, &n_database);
	if (database)
		foreign_fuzz(name, database, n_database);
	sqlite3_free(database);
	return 0;
}
