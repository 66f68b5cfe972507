/* cli: what the subcommands share: exit codes, errors, the terminal. Only cli/ prints. */
#ifndef TACHO_CLI_H
#define TACHO_CLI_H

#include <glib.h>
#include <stdio.h>
#include <tacho/table.h>
#include <tacho/timeline.h>

/* Exit codes, for every command. */
enum cli_exit {
	CLI_DONE = 0,
	CLI_NO = 1,  /* the answer is "no" */
	CLI_BAD = 2, /* usage or bad input; one message on stderr */
};

#define COMMAND(name, description) int cmd_##name(int argc, char **argv);
#include "commands.def"
#undef COMMAND

/* Parse the options of `command` from argv, leaving the arguments. `usage` follows "tacho COMMAND",
 * `description` is the help's last part. On a wrong option: prints the error, returns false. */
gboolean cli_parse(const gchar *command, const gchar *usage, const gchar *description,
		   const GOptionEntry *entries, int *argc, char ***argv);

/* Print "tacho COMMAND: message" on stderr; returns CLI_BAD. */
int cli_fail(const gchar *command, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
/* The same with an error's message, which is freed. */
int cli_fail_error(const gchar *command, GError *error);

/* Open and correlate the runs named in argv[1..]; prints why not and returns NULL. */
TachoTimeline *cli_open_runs(const gchar *command, int argc, char **argv);
/* The same by this process alone, of several (peer_processes.h). */
TachoTimeline *cli_open_runs_alone(const gchar *command, int argc, char **argv);

/* Whether `stream` is a terminal that takes colours (NO_COLOR is honoured). */
gboolean cli_has_colour(FILE *stream);
/* --width and --wide, for the options of commands that print tables: cli_width() and cli_print_table() go by what the
 * last cli_parse() found. `letter` is --wide's short form, 0: none. */
#define CLI_WIDTH_OPTIONS(letter)                                                                  \
	{ "width",                                                                                 \
	  0,                                                                                       \
	  0,                                                                                       \
	  G_OPTION_ARG_CALLBACK,                                                                   \
	  (gpointer)cli_take_width,                                                                \
	  "fit the text to N columns (0: cut nothing)",                                            \
	  "N" },                                                                                   \
	{                                                                                          \
		"wide", letter, G_OPTION_FLAG_NO_ARG, G_OPTION_ARG_CALLBACK,                       \
			(gpointer)cli_take_width,                                                  \
			"names of kernels as they are, and no column cut", NULL                    \
	}
gboolean cli_take_width(const gchar *option, const gchar *value, gpointer data, GError **error);

/* How many columns text may have: as asked for, else those of the terminal behind `stream`; where it is none, what
 * COLUMNS says. 0: any number. */
guint cli_width(FILE *stream);
/* Print a table to stdout, in that width, with colours where it takes them. */
void cli_print_table(TachoTable *table);
/* Print sentences to stdout, broken into lines of that width. */
void cli_print_prose(const gchar *format, ...) G_GNUC_PRINTF(1, 2);
/* A TachoProgress that draws a bar on stderr, only on a terminal; `data` is the label. */
void cli_progress(gdouble done, gpointer data);

/* The folder of tacho's own parts, found from the running program: PREFIX of PREFIX/bin/tacho.
 * Owned by the library. */
const gchar *cli_prefix(void);

/* From here on, writes into a closed pipe fail with EPIPE, which cli_finish() takes for the end; and
 * what a child does before it executes a program, to which SIGPIPE shall be what it was to us. */
void cli_ignore_write_signals(void);
void cli_restore_write_signals(void);

/* End stdout: flush and see whether everything was written. Returns `status`, or CLI_BAD with a
 * message when it was not (disk full). A closed pipe is not an error. */
int cli_finish(const gchar *command, int status);

#endif
