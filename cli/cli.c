#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <tacho/correlate.h>
#include <tacho/import.h>
#include <tacho/words.h>

#include "peer_processes.h"

/* What --width and --wide say, of the command line that was parsed last. */
static struct {
	gboolean is_asked, is_wide;
	guint width;
} asked;

/* Which option is not known, that GLib's error does not tell apart: the first "--word" that no entry has. */
static const gchar *find_unknown(const GOptionEntry *entries, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		gsize n = strcspn(argv[i], "=");
		gboolean is_known = FALSE;

		if (!g_str_has_prefix(argv[i], "--"))
			continue;
		for (const GOptionEntry *entry = entries; entry->long_name; entry++)
			is_known |= strlen(entry->long_name) == n - 2 &&
				    strncmp(entry->long_name, argv[i] + 2, n - 2) == 0;
		if (!is_known)
			return argv[i];
	}
	return NULL;
}

static void refuse_option(const gchar *command, const GOptionEntry *entries, const gchar *argument)
{
	g_autofree gchar *word = g_strndup(argument, strcspn(argument, "="));
	g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
	g_autofree gchar *there = NULL;

	for (const GOptionEntry *entry = entries; entry->long_name; entry++)
		if (!(entry->flags & G_OPTION_FLAG_HIDDEN))
			g_ptr_array_add(words, g_strdup_printf("--%s", entry->long_name));
	g_ptr_array_add(words, g_strdup("--help"));
	g_ptr_array_add(words, NULL);
	there = tacho_did_you_mean(word, (const gchar *const *)words->pdata);
	cli_fail(command, "there is no option %s%s", word, there);
}

gboolean cli_parse(const gchar *command, const gchar *usage, const gchar *description,
		   const GOptionEntry *entries, int *argc, char ***argv)
{
	g_autoptr(GOptionContext) context = g_option_context_new(usage);
	g_autofree gchar *program = g_strdup_printf("tacho %s", command);
	g_autofree char **given = g_memdup2(*argv, sizeof(**argv) * (gsize)*argc);
	int n_given = *argc; /* GLib takes options away as it reads them */
	const gchar *unknown;
	g_autoptr(GError) error = NULL;

	memset(&asked, 0, sizeof(asked));
	g_set_prgname(program);
	g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_set_description(context, description);
	if (g_option_context_parse(context, argc, argv, &error))
		return TRUE;
	unknown = g_error_matches(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION)
			  ? find_unknown(entries, n_given, given)
			  : NULL;
	if (unknown)
		refuse_option(command, entries, unknown);
	else
		cli_fail(command, "%s (see 'tacho %s --help')", error->message, command);
	return FALSE;
}

/* Names come from traces: none of them shall tell the terminal anything. */
static void clean(gchar *message)
{
	for (; *message; message++)
		if ((guchar)*message < 0x20 && *message != '\n' && *message != '\t')
			*message = '?';
}

int cli_fail(const gchar *command, const gchar *format, ...)
{
	g_autofree gchar *message = NULL;
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
	va_end(args);
	clean(message);
	if (peer_processes_borrow()) { /* printed once, in the end */
		tacho_peers_fail(peer_processes_borrow(), message);
		return CLI_BAD;
	}
	fflush(stdout);
	fprintf(stderr, "tacho %s: %s\n", command, message);
	return CLI_BAD;
}

int cli_fail_error(const gchar *command, GError *error)
{
	cli_fail(command, "%s", error->message);
	g_error_free(error);
	return CLI_BAD;
}

static TachoTimeline *open_runs(const gchar *command, int argc, char **argv, TachoPeers *peers)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	GError *error = NULL;

	if (argc < 2) {
		cli_fail(command, "name the run to read (see 'tacho %s --help')", command);
		return NULL;
	}
	timeline = tacho_run_open_share((const gchar *const *)argv + 1, (guint)argc - 1, peers,
					cli_progress, (gpointer) "reading", &error);
	cli_progress(1, (gpointer) "reading");
	if (!timeline) {
		cli_fail_error(command, error);
		return NULL;
	}
	tacho_correlate(timeline);
	return g_steal_pointer(&timeline);
}

TachoTimeline *cli_open_runs(const gchar *command, int argc, char **argv)
{
	return open_runs(command, argc, argv, peer_processes_borrow());
}

TachoTimeline *cli_open_runs_alone(const gchar *command, int argc, char **argv)
{
	return open_runs(command, argc, argv, NULL);
}

/* Open MPI gives its processes terminals of its own, whatever the launcher writes to. */
static gboolean is_terminal(FILE *stream)
{
	return !peer_processes_borrow() && isatty(fileno(stream));
}

gboolean cli_has_colour(FILE *stream)
{
	const char *term = getenv("TERM");
	const char *no_color = getenv("NO_COLOR");

	return is_terminal(stream) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

/* COLUMNS, where it is a number that one can print in; else 0. */
static guint columns_told(void)
{
	const gchar *columns = g_getenv("COLUMNS");
	guint64 width;

	if (!columns || !g_ascii_string_to_unsigned(columns, 10, 1, 100000, &width, NULL))
		return 0;
	return (guint)width;
}

gboolean cli_take_width(const gchar *option, const gchar *value, gpointer data, GError **error)
{
	guint64 width = 0;

	(void)data;
	if (!value) {
		asked.is_wide = TRUE;
		return TRUE;
	}
	if (!g_ascii_string_to_unsigned(value, 10, 0, G_MAXINT, &width, NULL)) {
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "%s must be a number of columns, 0 or more: %s", option, value);
		return FALSE;
	}
	asked.is_asked = TRUE;
	asked.width = (guint)width;
	return TRUE;
}

void cli_print_table(TachoTable *table)
{
	if (asked.is_wide)
		tacho_table_keep_names(table);
	tacho_table_print(table, stdout, cli_width(stdout), cli_has_colour(stdout));
}

void cli_print_prose(const gchar *format, ...)
{
	g_autofree gchar *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	tacho_print_prose(text, stdout, cli_width(stdout));
}

guint cli_width(FILE *stream)
{
	struct winsize size;

	if (asked.is_wide)
		return 0;
	if (asked.is_asked)
		return asked.width;
	if (!is_terminal(stream))
		return columns_told();
	if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

void cli_progress(gdouble done, gpointer data)
{
	static int last = -1;
	const int width = 30;
	int filled = (int)(CLAMP(done, 0.0, 1.0) * width);

	if (!is_terminal(stderr) || filled == last)
		return;
	if (last < 0 && done >= 1.0) /* nothing was drawn */
		return;
	last = filled;
	if (done >= 1.0) {
		last = -1;
		fprintf(stderr, "\r%*s\r", width + (int)strlen((const char *)data) + 4, "");
		return;
	}
	fprintf(stderr, "\r%s [%.*s%*s]", (const char *)data, filled,
		"##############################", width - filled, "");
}

const gchar *cli_prefix(void)
{
	static gchar *prefix;

	if (!prefix) {
		const gchar *started_as = (const gchar *)getauxval(AT_EXECFN);
		g_autofree gchar *self = g_file_read_link("/proc/self/exe", NULL);
		g_autofree gchar *folder = NULL;

		if (!self && started_as) /* there is no /proc */
			self = g_canonicalize_filename(started_as, NULL);
		folder = g_path_get_dirname(self ? self : "/usr/local/bin/tacho");

		prefix = g_path_get_dirname(folder);
	}
	return prefix;
}

static struct sigaction sigpipe_before, sigxfsz_before;

void cli_ignore_write_signals(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, &sigpipe_before);
	sigaction(SIGXFSZ, &ignore, &sigxfsz_before);
}

void cli_restore_write_signals(void)
{
	sigaction(SIGPIPE, &sigpipe_before, NULL);
	sigaction(SIGXFSZ, &sigxfsz_before, NULL);
}

int cli_finish(const gchar *command, int status)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
		return status;
	return cli_fail(command, "cannot write the output: %s", g_strerror(errno));
}
