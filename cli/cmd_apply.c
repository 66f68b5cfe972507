/* cmd_apply: run a job with a plan carried out in it. The job gets its own stdout, exit code and signals; tacho's few words go to stderr,
 * before it and after it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "launch.h"
#include "plan_check.h"
#include "planned_job.h"

static const gchar usage[] = "PLAN -- COMMAND [ARGUMENT...]";
static const gchar description[] =
	"The plan is a file of 'tacho optimize -o'. It is carried out in the job by tacho's Python "
	"hook, without a\n"
	"change to the job's code. A plan that is not for this job is an error before its first "
	"step.\n"
	"\n"
	"Examples:\n"
	"  tacho apply plan.json -- torchrun --nproc-per-node 2 train.py\n"
	"  tacho apply -n 2 plan.json -- python3 train.py          two ranks on this host\n"
	"  tacho apply plan.json -- tacho record -- python3 train.py\n";

struct options {
	gint n_ranks;
	gboolean is_quiet;
};

static int run(const struct options *options, const gchar *path, gchar **command)
{
	GError *error = NULL;
	PlannedJob *job = planned_job_new(path, &error);
	Launch launch = { .command = command,
			  .n_ranks = (guint)options->n_ranks,
			  .began = planned_job_ignore_began,
			  .ended = planned_job_ignore_ended };
	int wait_status, cause;

	if (!job)
		return cli_fail_error("apply", error);
	if (!plan_check_ask(command, path, &error)) {
		planned_job_free(job);
		return cli_fail_error("apply", error);
	}
	launch.environment = planned_job_borrow_environment(job);
	fflush(NULL);
	if (!launch_run(&launch, &wait_status, &error)) {
		cause = error->code;
		cli_fail_error("apply", error);
		planned_job_free(job);
		return cause == ENOENT ? 127 : 126; /* as a shell says it */
	}
	planned_job_tell(job, options->is_quiet);
	planned_job_free(job);
	launch_end_like(wait_status);
}

int cmd_apply(int argc, char **argv)
{
	struct options options = { 0 };
	const GOptionEntry entries[] = {
		{ "ranks", 'n', 0, G_OPTION_ARG_INT, &options.n_ranks,
		  "start N ranks on this host, with RANK, WORLD_SIZE, MASTER_ADDR ... set", "N" },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &options.is_quiet, "print only errors",
		  NULL },
		G_OPTION_ENTRY_NULL,
	};
	int n_own = planned_job_command_at(argc, argv);
	g_autofree char **own = g_memdup2(argv, sizeof(*argv) * ((gsize)n_own + 1));
	char **own_cursor = own;
	int n_left = n_own;

	own[n_own] = NULL;
	if (!cli_parse("apply", usage, description, entries, &n_left, &own_cursor))
		return CLI_BAD;
	if (n_left != 2)
		return cli_fail("apply", "name one plan, and the command behind -- (see 'tacho "
					 "apply --help')");
	if (n_own + 1 >= argc)
		return cli_fail("apply", "name the command to run behind -- (see 'tacho apply "
					 "--help')");
	if (options.n_ranks < 0 || options.n_ranks > PLANNED_JOB_MAX_RANKS)
		return cli_fail("apply", "--ranks must be from 1 to %d, not %d",
				PLANNED_JOB_MAX_RANKS, options.n_ranks);
	return run(&options, own_cursor[1], argv + n_own + 1);
}
