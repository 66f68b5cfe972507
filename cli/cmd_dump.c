/* cmd_dump: keep what a job's recording holds now, while the job goes on. */
#include <string.h>

#include "cli.h"
#include "run_copy.h"
#include "trace/trace_layout.h"

static const gchar usage[] = "RUN";
static const gchar description[] =
	"RUN is being recorded, or was. With 'tacho record --keep-last' or '--max-size' it holds "
	"the\n"
	"newest part only, as a flight recorder does; this keeps that part as it is now.\n"
	"\n"
	"Examples:\n"
	"  tacho record --keep-last 60s -o job.tacho -- torchrun --nproc-per-node 8 train.py\n"
	"  tacho dump job.tacho -o odd.tacho && tacho report odd.tacho\n"
	"  tacho watch job.tacho --dump kept     the same, wherever something is found\n";

int cmd_dump(int argc, char **argv)
{
	g_autofree gchar *output = NULL, *size = NULL;
	gboolean is_quiet = FALSE;
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
		  "folder to copy it to (default: RUN-DATE-TIME.tacho)", "DIR" },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &is_quiet, "print only errors", NULL },
		G_OPTION_ENTRY_NULL,
	};
	GError *error = NULL;
	guint64 bytes;

	if (!cli_parse("dump", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	if (argc != 2)
		return cli_fail("dump", "name one run (see 'tacho dump --help')");
	if (!output)
		output = run_copy_name(argv[1], NULL);
	if (!run_copy(argv[1], output, &bytes, &error))
		return cli_fail_error("dump", error);
	size = g_format_size(bytes);
	if (!is_quiet)
		fprintf(stderr, "tacho: kept %s in %s\ntacho: next: tacho report %s\n", size,
			output, output);
	return CLI_DONE;
}
