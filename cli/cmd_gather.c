/* cmd_gather: the parts of a run that was recorded on several hosts become one. */
#include "cli.h"
#include "gathered_run.h"

static const gchar usage[] = "-o DIR SOURCE...";
static const gchar description[] =
	"A SOURCE is a run that was recorded on one host, or a folder with the runs of several "
	"ranks:\n"
	"a folder here (copied, or on a file system that hosts share), or one that rsync can "
	"reach, "
	"as\n"
	"HOST:PATH or rsync://HOST/MODULE/PATH. All must be of one job; what is of another is "
	"refused.\n"
	"The same command again brings what was missing.\n"
	"\n"
	"Examples:\n"
	"  tacho gather -o job node1:/scratch/job.tacho node2:/scratch/job.tacho\n"
	"  tacho gather -o job parts/*.tacho && tacho report job\n";

/* Whether all ranks are here. */
static gboolean say_what_is_here(const gchar *output, GatheredRun *run, guint n_new, guint n_known,
				 gboolean is_quiet, GError **error)
{
	g_auto(JobParts) all = { 0 };

	if (!gathered_run_look(run, &all, error))
		return FALSE;
	if (!is_quiet && (n_new || n_known))
		fprintf(stderr,
			"tacho: %s has %u process%s of %u rank%s on %u host%s; %u part%s came, %u "
			"%s here before\n",
			output, all.n_processes, all.n_processes == 1 ? "" : "es", all.n_ranks,
			all.n_ranks == 1 ? "" : "s", all.n_hosts, all.n_hosts == 1 ? "" : "s",
			n_new, n_new == 1 ? "" : "s", n_known, n_known == 1 ? "was" : "were");
	if (all.missing) {
		fprintf(stderr,
			"tacho: rank %s of %" G_GINT64_FORMAT
			" is in no part; gather those that hold it\n",
			all.missing, all.world_size);
		return FALSE;
	}
	if (!is_quiet && all.n_processes)
		fprintf(stderr, "tacho: next: tacho report %s\n", output);
	return TRUE;
}

int cmd_gather(int argc, char **argv)
{
	g_autofree gchar *output = NULL;
	g_autoptr(GatheredRun) run = NULL;
	gboolean is_quiet = FALSE, is_failed = FALSE;
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
		  "folder to gather into: a new one, or one gathered into before", "DIR" },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &is_quiet,
		  "print only errors and missing ranks", NULL },
		G_OPTION_ENTRY_NULL,
	};
	guint n_new = 0, n_known = 0;
	GError *error = NULL;

	if (!cli_parse("gather", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	if (!output || argc < 2)
		return cli_fail("gather",
				"name a folder with -o, and the parts to gather (see 'tacho "
				"gather --help')");
	run = gathered_run_open(output, &error);
	if (!run)
		return cli_fail_error("gather", error);
	for (int i = 1; i < argc; i++) {
		guint n_come = 0, n_here = 0;

		if (!gathered_run_take(run, argv[i], &n_come, &n_here, &error)) {
			cli_fail_error("gather", g_steal_pointer(&error));
			is_failed = TRUE;
			continue;
		}
		n_new += n_come;
		n_known += n_here;
	}
	if (!say_what_is_here(output, run, n_new, n_known, is_quiet, &error)) {
		if (error)
			return cli_fail_error("gather", error);
		return is_failed ? CLI_BAD : CLI_NO;
	}
	return is_failed ? CLI_BAD : CLI_DONE;
}
