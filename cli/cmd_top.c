/* cmd_top: the jobs that are being recorded on this host, as they go. */
#include <stdlib.h>
#include <tacho/live.h>
#include <unistd.h>

#include "cli.h"
#include "follow_report.h"
#ifdef TACHO_HAVE_CURSES
#include "live/top_screen.h"
#include "top_action.h"
#endif

#define DEFAULT_INTERVAL_S 1.0

static const gchar usage[] = "[RUN...]";
static const gchar description[] =
	"Shows all jobs that you are recording on this host, or the runs named: the time of a\n"
	"step and how it changes, where it goes, memory, and the rank that others wait for. Enter\n"
	"shows a job's ranks, operations and findings; s stops its recording, a begins "
	"another.\n"
	"Where stdout is no terminal, it prints the table of jobs once, or as often as --count "
	"says.\n"
	"\n"
	"Examples:\n"
	"  tacho top                     all jobs\n"
	"  tacho top --count 1 --json    for programs\n";

struct options {
	gboolean is_json;
	gint count;
	gdouble interval_s;
};

static void print_table(const struct options *options, const TachoJobs *jobs)
{
	g_autoptr(TachoTable) table = tacho_jobs_table(jobs);

	if (options->is_json)
		tacho_table_print_json(table, stdout);
	else
		cli_print_table(table);
	fflush(stdout);
}

/* A first look finds the jobs, and what they have recorded so far may need more. */
static void catch_up(TachoJobs *jobs)
{
	gboolean is_behind = TRUE;

	for (guint i = 0; is_behind && !follow_is_interrupted(); i++) {
		const GPtrArray *all;

		tacho_jobs_look(jobs);
		is_behind = i == 0;
		all = tacho_jobs_borrow(jobs);
		for (guint k = 0; k < all->len; k++) {
			const TachoJob *job = g_ptr_array_index(all, k);

			is_behind |=
				!job->is_over && !job->error && tacho_follow_is_behind(job->follow);
		}
		if (i == 0)
			follow_pause(
				300); /* what has come by the first look is whole by the second */
	}
}

static int print_lines(const struct options *options, TachoJobs *jobs)
{
	catch_up(jobs);
	for (gint i = 0; !follow_is_interrupted() && !ferror(stdout); i++) {
		if (i)
			tacho_jobs_look(jobs);
		print_table(options, jobs);
		if (i + 1 >= MAX(options->count, 1))
			break;
		follow_pause((guint)(options->interval_s * 1000));
	}
	return cli_finish("top", CLI_DONE);
}

static gboolean has_screen(const struct options *options)
{
	const gchar *terminal = g_getenv("TERM");

	return !options->is_json && !options->count && isatty(STDOUT_FILENO) &&
	       isatty(STDIN_FILENO) && terminal && *terminal && g_strcmp0(terminal, "dumb") != 0;
}

int cmd_top(int argc, char **argv)
{
	struct options options = { .interval_s = DEFAULT_INTERVAL_S };
	const GOptionEntry entries[] = {
		{ "interval", 'i', 0, G_OPTION_ARG_DOUBLE, &options.interval_s,
		  "look every S seconds (default: 1)", "S" },
		{ "count", 'c', 0, G_OPTION_ARG_INT, &options.count,
		  "print the table N times, without a screen", "N" },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.is_json, "print JSON, for programs",
		  NULL },
		CLI_WIDTH_OPTIONS('w'),
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(TachoJobs) jobs = NULL;

	if (!cli_parse("top", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	if (!(options.interval_s >= 0.1 && options.interval_s <= 3600))
		return cli_fail("top", "--interval takes 0.1 to 3600 seconds, not %g",
				options.interval_s);
	if (options.count < 0)
		return cli_fail("top", "--count takes a number of tables, not %d", options.count);
	follow_begin();
	jobs = tacho_jobs_new((const gchar *const *)argv + 1, (guint)argc - 1);
#ifdef TACHO_HAVE_CURSES
	if (has_screen(&options)) {
		if (tacho_top_run(jobs, (guint)(options.interval_s * 1000), follow_is_interrupted,
				  top_action))
			return CLI_DONE;
		return cli_fail("top",
				"the terminal '%s' is not known; tacho top --count 1 needs none",
				g_getenv("TERM"));
	}
#else
	if (has_screen(&options))
		fputs("tacho top: this tacho was built without ncurses, so it prints lines\n",
		      stderr);
#endif
	return print_lines(&options, jobs);
}
