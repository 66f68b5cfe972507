/* report_prompt: a dialogue about one run, as tfprof had it: a line is a view with options; what `set` was given holds for
 * all lines after it. Options may be written as tfprof wrote them ("-max_depth 4"). */
#ifndef TACHO_REPORT_PROMPT_H
#define TACHO_REPORT_PROMPT_H

#include <glib.h>

/* Prints a report of what the words say, which are those of a command line: the program's name, then options. Returns the
 * exit code. It may move the pointers of argv, as g_option_context_parse() does. */
typedef int (*ReportLine)(int argc, char **argv, gpointer data);

/* Until "quit" or the end of the input. `views` are the words that begin a line, `options` the names of what may follow,
 * NULL behind the last of each. Returns an exit code: CLI_BAD where a line that did not come from a terminal failed. */
int report_prompt_run(const gchar *const *views, const gchar *const *options, ReportLine report,
		      gpointer data);

#endif
