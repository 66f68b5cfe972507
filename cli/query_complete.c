#include "query_complete.h"

#include <string.h>

#include "query_session.h"

static const gchar *const words[] = {
	"AND",	 "AS",	  "ASC",       "AVG(",	    "BETWEEN",	 "BY",	   "CASE",    "COUNT(",
	"CROSS", "DESC",  "DISTINCT",  "ELSE",	    "END",	 "EXCEPT", "EXPLAIN", "FROM",
	"GLOB",	 "GROUP", "HAVING",    "IN",	    "INTERSECT", "IS",	   "JOIN",    "LEFT",
	"LIKE",	 "LIMIT", "MAX(",      "MIN(",	    "NOT",	 "NULL",   "ON",      "OR",
	"ORDER", "OVER",  "PARTITION", "RECURSIVE", "REGEXP",	 "SELECT", "SUM(",    "THEN",
	"UNION", "USING", "VALUES",    "WHEN",	    "WHERE",	 "WITH",   NULL,
};

static gboolean is_word_char(gchar c)
{
	return g_ascii_isalnum(c) || c == '_';
}

const gchar *query_complete_word(const gchar *line)
{
	const gchar *word = line + strlen(line);

	while (word > line && is_word_char(word[-1]))
		word--;
	/* .tables, at the beginning */
	return word == line + 1 && *line == '.' ? line : word;
}

static void add_matching(GHashTable *found, const gchar *const *names, const gchar *word)
{
	gsize length = strlen(word);

	for (guint i = 0; names[i]; i++)
		if (g_ascii_strncasecmp(names[i], word, length) == 0)
			g_hash_table_add(found, g_strdup(names[i]));
}

static void add_columns(GHashTable *found, TachoQuery *query, const gchar *table, const gchar *word)
{
	g_auto(GStrv) columns = tacho_query_columns(query, table);

	add_matching(found, (const gchar *const *)columns, word);
}

static void add_all_columns(GHashTable *found, TachoQuery *query, const gchar *word)
{
	g_auto(GStrv) tables = tacho_query_tables(query);

	for (guint i = 0; tables[i]; i++)
		add_columns(found, query, tables[i], word);
}

/* "slice." has the columns of slice; behind an alias any column may stand. */
static void add_behind_dot(GHashTable *found, TachoQuery *query, const gchar *line,
			   const gchar *word)
{
	g_autofree gchar *before = g_strndup(line, (gsize)(word - 1 - line));
	const gchar *table = query_complete_word(before);

	if (tacho_query_describe(table))
		add_columns(found, query, table, word);
	else
		add_all_columns(found, query, word);
}

static void add_anything(GHashTable *found, TachoQuery *query, const gchar *word)
{
	g_auto(GStrv) tables = tacho_query_tables(query);
	g_auto(GStrv) functions = tacho_query_functions();

	add_matching(found, (const gchar *const *)tables, word);
	add_matching(found, (const gchar *const *)functions, word);
	add_matching(found, words, word);
	add_all_columns(found, query, word);
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const gchar *const *)a, *(const gchar *const *)b);
}

static gchar **sorted_names(GHashTable *found)
{
	GPtrArray *names = g_ptr_array_new();
	GHashTableIter at;
	gpointer name;

	g_hash_table_iter_init(&at, found);
	while (g_hash_table_iter_next(&at, &name, NULL))
		g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, compare_names);
	g_ptr_array_add(names, NULL);
	return (gchar **)g_ptr_array_free(names, FALSE);
}

gchar **query_complete(TachoQuery *query, const gchar *line)
{
	g_autoptr(GHashTable) found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const gchar *word = query_complete_word(line);

	if (word == line && *line == '.')
		add_matching(found, query_session_commands, word);
	else if (word > line && word[-1] == '.')
		add_behind_dot(found, query, line, word);
	else
		add_anything(found, query, word);
	return sorted_names(found);
}
