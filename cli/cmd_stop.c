/* cmd_stop: end the recording of processes that go on. */
#include <stdlib.h>
#include <string.h>

#include "attached_job.h"
#include "cli.h"
#include "run_folder.h"

static const gchar usage[] = "PID...";
static const gchar description[] =
	"The processes go on, unrecorded. It does not matter whether 'tacho attach' or 'tacho "
	"record' began\n"
	"the recording; 'tacho attach' may begin another.\n"
	"\n"
	"Examples:\n"
	"  tacho stop 4711           that process, and the children that it forked\n"
	"  tacho stop --job 4711     all ranks of its job on this host\n";

static gboolean stop(pid_t pid, gboolean is_quiet)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(Target) target = target_open(pid, &error);
	struct attach_state state;

	memset(&state, 0, sizeof(state));
	if (target)
		target_state(target, &state);
	if (!target || !attached_process_stop(target, &error)) {
		cli_fail("stop", "process %d %s", (int)pid, error->message);
		return FALSE;
	}
	state.run_dir[sizeof(state.run_dir) - 1] = '\0';
	run_folder_note_end(state.run_dir);
	if (!is_quiet)
		fprintf(stderr, "tacho: process %d goes on unrecorded; it was recorded into %s\n",
			(int)pid, state.run_dir);
	return TRUE;
}

int cmd_stop(int argc, char **argv)
{
	gboolean is_job = FALSE, is_quiet = FALSE;
	const GOptionEntry entries[] = {
		{ "job", 'j', 0, G_OPTION_ARG_NONE, &is_job,
		  "stop all ranks of the process's job on this host", NULL },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &is_quiet, "print only errors", NULL },
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_DONE;

	if (!cli_parse("stop", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	if (argc < 2)
		return cli_fail("stop", "name the process by its id (see 'tacho stop --help')");
	for (int i = 1; i < argc; i++) {
		gchar *end;
		guint64 number = g_ascii_strtoull(argv[i], &end, 10);

		if (!g_ascii_isdigit(*argv[i]) || *end || !number || number > G_MAXINT)
			return cli_fail("stop", "'%s' is no process id", argv[i]);
		if (is_job) {
			g_autoptr(GArray) job = target_job((pid_t)number);

			for (guint r = 0; r < job->len; r++)
				if (!stop(g_array_index(job, pid_t, r), is_quiet))
					status = CLI_NO;
		} else if (!stop((pid_t)number, is_quiet)) {
			status = CLI_NO;
		}
	}
	return status;
}
