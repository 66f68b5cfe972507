#include "query_session.h"

#include <string.h>

#include "cli.h"

const gchar *const query_session_commands[] = { ".format", ".help",   ".quit",
						".schema", ".tables", NULL };

static const gchar help[] =
	"A statement ends with a semicolon and may have several lines. Times are in nanoseconds.\n"
	"  .tables            list the tables\n"
	"  .schema [TABLE]    list their columns, with the meaning of each\n"
	"  .format FORMAT     print results as table, csv, tsv, json or jsonl\n"
	"  .help              print this text\n"
	"  .quit              end; so does Ctrl-D. Ctrl-C ends a running statement\n"
	"For example:\n"
	"  SELECT name, count(*), sum(dur) FROM slice GROUP BY name ORDER BY 3 DESC LIMIT 10;\n";

static void print_tables(const struct query_session *session)
{
	g_auto(GStrv) names = tacho_query_tables(session->query);

	for (guint i = 0; names[i]; i++)
		printf("%-18s %s\n", names[i], tacho_query_describe(names[i]));
}

static gboolean print_schema(const struct query_session *session, const gchar *table,
			     GError **error)
{
	g_autofree gchar *schema = tacho_query_schema(session->query, table, error);

	if (!schema)
		return FALSE;
	fputs(schema, stdout);
	return TRUE;
}

static gboolean set_format(struct query_session *session, const gchar *name, GError **error)
{
	TachoQueryFormat format;

	if (!tacho_query_format_find(name ? name : "", &format, error))
		return FALSE;
	tacho_result_writer_set_format(session->writer, format);
	return TRUE;
}

gboolean query_session_is_command(const gchar *line)
{
	return g_str_has_prefix(line, ".");
}

gboolean query_session_command(struct query_session *session, const gchar *line, GError **error)
{
	g_autofree gchar *text = g_strstrip(g_strdup(line));
	gsize length = strcspn(text, " \t;");
	g_autofree gchar *name = g_strndup(text, length);
	g_autofree gchar *argument = g_strdelimit(g_strdup(text + length), ";", ' ');

	g_strstrip(argument);
	if (strcmp(name, ".tables") == 0)
		print_tables(session);
	else if (strcmp(name, ".schema") == 0)
		return print_schema(session, *argument ? argument : NULL, error);
	else if (strcmp(name, ".format") == 0)
		return set_format(session, argument, error);
	else if (strcmp(name, ".help") == 0)
		fputs(help, stdout);
	else if (strcmp(name, ".quit") == 0 || strcmp(name, ".exit") == 0)
		session->has_quit = TRUE;
	else {
		g_set_error(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_SQL,
			    "'%s' is not a command; .help lists the commands", name);
		return FALSE;
	}
	return TRUE;
}

static gboolean run_sql(struct query_session *session, const gchar *sql, GError **error)
{
	return tacho_query_run(session->query, sql, tacho_result_writer_handler(), session->writer,
			       error);
}

/* Statements are gathered line by line up to a dot command or the end; newlines in front of them stand
 * for the lines before, so that errors count lines from the beginning. */
gboolean query_session_run(struct query_session *session, const gchar *text, GError **error)
{
	g_autoptr(GString) sql = g_string_new(NULL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	gboolean is_complete = TRUE;

	for (guint i = 0; lines[i] && !session->has_quit; i++) {
		if (is_complete && query_session_is_command(lines[i])) {
			if (!run_sql(session, sql->str, error) ||
			    !query_session_command(session, lines[i], error))
				return FALSE;
			g_string_truncate(sql, 0);
			for (guint line = 0; line <= i; line++)
				g_string_append_c(sql, '\n');
			continue;
		}
		g_string_append(sql, lines[i]);
		if (lines[i + 1])
			g_string_append_c(sql, '\n');
		if (lines[i + 1] && query_session_is_command(lines[i + 1]))
			is_complete = tacho_query_is_complete(sql->str);
	}
	return session->has_quit || run_sql(session, sql->str, error);
}
