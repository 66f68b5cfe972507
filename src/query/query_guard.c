/* query_guard: three fences, each enough for most: SQLite asks for leave while it compiles a statement
 * (query_guard_allow()), its own settings for SQL that is not trusted are on, and query.c runs no statement that
 * sqlite3_stmt_readonly() does not call so. */
#include "query/query_guard.h"

#include <glib.h>

/* The largest text or blob. SQLite makes one in one step, in which nothing stops it: of its own limit of 1 GB, that takes seconds. */
#define MAX_VALUE_BYTES (128 << 20)

/* Pragmas that tell something and change nothing. */
static gboolean is_harmless_pragma(const char *name)
{
	static const char *const harmless[] = {
		"table_info",	   "table_xinfo", "table_list",	     "function_list",
		"database_list",   "index_list",  "module_list",     "pragma_list",
		"compile_options", "encoding",	  "collation_list",  "index_info",
		"index_xinfo",	   "quick_check", "foreign_key_list"
	};

	for (guint i = 0; i < G_N_ELEMENTS(harmless); i++)
		if (g_ascii_strcasecmp(name, harmless[i]) == 0)
			return TRUE;
	return FALSE;
}

int query_guard_allow(void *data, int action, const char *first, const char *second,
		      const char *database, const char *inner)
{
	(void)data, (void)database, (void)inner;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return g_ascii_strcasecmp(second, "load_extension") == 0 ||
				       g_ascii_strcasecmp(second, "fts3_tokenizer") == 0
			       ? SQLITE_DENY
			       : SQLITE_OK;
	case SQLITE_UPDATE:
		/* SQLite asks this while it sets up a table-valued function, json_tree() say. Who writes
		 * to the schema meets the other two fences. */
		return g_strcmp0(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA:
		return is_harmless_pragma(first) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

int query_guard_set(sqlite3 *db)
{
	int status = sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);

	if (status == SQLITE_OK)
		status = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	if (status == SQLITE_OK)
		status = sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
	return status == SQLITE_OK ? sqlite3_set_authorizer(db, query_guard_allow, NULL) : status;
}
