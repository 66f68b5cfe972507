/* query_session: text with SQL statements and dot commands (.tables, .schema ...), as it comes from the
 * command line, a file, a pipe or the prompt. */
#ifndef TACHO_QUERY_SESSION_H
#define TACHO_QUERY_SESSION_H

#include <tacho/query.h>

struct query_session {
	TachoQuery *query;
	TachoResultWriter *writer;
	gboolean has_quit; /* .quit was met */
};

/* Run a text up to its first error. The message of an error tells the line in the text. */
gboolean query_session_run(struct query_session *session, const gchar *text, GError **error);
/* Whether the line is a dot command; whether what was typed up to now can be run. */
gboolean query_session_is_command(const gchar *line);
/* One dot command, without its newline. */
gboolean query_session_command(struct query_session *session, const gchar *line, GError **error);

/* Names of the dot commands, NULL behind the last. */
extern const gchar *const query_session_commands[];

#endif
