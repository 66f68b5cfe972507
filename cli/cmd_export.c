/* cmd_export: a run as a file for another tool. */
#include <string.h>
#include <unistd.h>

#include <tacho/event_path.h>
#include <tacho/export.h>
#include <tacho/optimize.h>

#include "cli.h"
#include "new_file.h"
#include "new_folder.h"
#include "option_values.h"

static const gchar usage[] = "RUN... --to FORMAT";
static const gchar description[] =
	"Several RUNs are exported as one. 'tacho export --to list' lists the formats.\n"
	"\n"
	"Examples:\n"
	"  tacho export base.tacho --to perfetto             writes base.pftrace\n"
	"  tacho export base.tacho --to html                 writes base.html, a page for a "
	"browser\n"
	"  tacho export base.tacho --to chrome --steps 3:5   only those training steps\n"
	"  tacho export base.tacho --to chrome -o - | gzip > base.json.gz\n"
	"  tacho export base.tacho --to ctf -o base.ctf      a folder for babeltrace2 and Trace "
	"Compass\n";

struct options {
	gchar *target;
	gchar *output;
	gchar *steps;
	gchar *critical;
	gint rank, instance;
	gboolean is_forced;
};

static void print_targets(void)
{
	guint n_targets;
	const TachoExportTarget *targets = tacho_export_targets(&n_targets);

	for (guint i = 0; i < n_targets; i++)
		printf("%-10s %s (.%s)\n", targets[i].name, targets[i].description,
		       targets[i].ending);
}

/* "runs/base.tacho/" gives "base.pftrace", in the current folder. */
static gchar *default_output(const gchar *run, const TachoExportTarget *target)
{
	g_autofree gchar *path = g_canonicalize_filename(run, NULL);
	g_autofree gchar *name = g_path_get_basename(path);

	if (g_str_has_suffix(name, ".tacho"))
		name[strlen(name) - strlen(".tacho")] = '\0';
	return g_strdup_printf("%s.%s", *name && *name != '/' ? name : "run", target->ending);
}

static void say_how_to_open(const TachoExportTarget *target, const gchar *path)
{
	static const struct {
		const gchar *target, *how;
		gboolean is_used; /* by a program, rather than seen */
	} ways[] = {
		{ "perfetto",
		  "open https://ui.perfetto.dev and choose \"Open trace file\" (the "
		  "file stays on your machine)",
		  FALSE },
		{ "chrome",
		  "open chrome://tracing and choose \"Load\", or https://ui.perfetto.dev "
		  "and \"Open trace file\" (the file stays on your machine)",
		  FALSE },
		{ "html", "open it in a browser", FALSE },
		{ "sqlite", "sqlite3 FILE", FALSE },
		{ "folded", "flamegraph.pl FILE > flames.svg, or https://www.speedscope.app",
		  FALSE },
		{ "dot", "dot -Tsvg FILE > graph.svg", FALSE },
		{ "pprof", "go tool pprof -http : FILE, or https://www.speedscope.app", FALSE },
		{ "inductor",
		  "torch._inductor.config.aten_distributed_optimizations."
		  "profile_guided_estimations_profile_path = 'FILE'",
		  TRUE },
		{ "pgle", "XLA_FLAGS=--xla_gpu_pgle_profile_file_or_directory_path=FILE", TRUE },
		{ "ctf", "babeltrace2 FILE, or open its file metadata in Trace Compass", FALSE },
	};

	fprintf(stderr, "Wrote %s.", path);
	for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
		g_auto(GStrv) parts = g_strsplit(ways[i].how, "FILE", -1);
		g_autofree gchar *how = g_strjoinv(path, parts);

		if (strcmp(ways[i].target, target->name) == 0)
			fprintf(stderr, " To %s it: %s.", ways[i].is_used ? "use" : "see", how);
	}
	fputc('\n', stderr);
}

/* Mark the path that is asked for, of the rank asked for or the only one. */
static gboolean mark_critical(const struct options *options, TachoTimeline *timeline)
{
	g_autoptr(TachoEventPath) path = NULL;
	gint32 rank = MAX(options->rank, -1);
	GError *error = NULL;

	if (!options->critical)
		return TRUE;
	if (rank < 0 && timeline->ranks->len == 1)
		rank = g_array_index(timeline->ranks, TachoRank, 0).rank;
	if (rank < 0) {
		cli_fail("export",
			 "--critical marks the path of one rank; choose the rank with --rank");
		return FALSE;
	}
	if (options->instance < 0) {
		cli_fail("export", "--instance counts from 0 and cannot be negative");
		return FALSE;
	}
	path = tacho_event_path_find(timeline, rank, options->critical, (guint)options->instance,
				     &error);
	if (!path) {
		cli_fail_error("export", error);
		return FALSE;
	}
	tacho_event_path_mark(path, timeline);
	return TRUE;
}

/* NULL: why not has been said. */
static TachoTimeline *open_marked(const struct options *asked, const TachoExportOptions *options,
				  int argc, char **argv)
{
	g_autoptr(TachoTimeline) timeline = cli_open_runs("export", argc, argv);

	if (!timeline || !option_rank_in("export", "the run", timeline, options->rank) ||
	    !option_steps_in("export", "the run", timeline, options->first_step,
			     options->last_step) ||
	    !mark_critical(asked, timeline))
		return NULL;
	return g_steal_pointer(&timeline);
}

static int export_to_stdout(const struct options *asked, const TachoExportTarget *target,
			    const TachoExportOptions *options, int argc, char **argv)
{
	g_autoptr(TachoTimeline) timeline = open_marked(asked, options, argc, argv);
	GError *error = NULL;

	if (!timeline)
		return CLI_BAD;
	if (target->write(timeline, options, stdout, &error))
		return CLI_DONE;
	if (g_error_matches(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO))
		g_prefix_error(&error, "cannot write the output: ");
	return cli_fail_error("export", error);
}

/* The file is begun before the run is read, which may take long: one that cannot be written is told
 * at once. */
/* The plan that gains most stands on the page; NULL: there is none, or it is another format. */
static TachoTable *find_plan(const TachoExportTarget *target, const TachoExportOptions *options,
			     TachoTimeline *timeline)
{
	if (strcmp(target->name, "html") != 0 || options->rank >= 0 || options->is_whole)
		return NULL;
	return tacho_optimize_finding(timeline, options->first_step, options->last_step);
}

static int export_to_file(const struct options *asked, const TachoExportTarget *target,
			  const TachoExportOptions *options, NewFile *file, const gchar *path,
			  int argc, char **argv)
{
	g_autoptr(NewFile) owned = file;
	g_autoptr(TachoTimeline) timeline = open_marked(asked, options, argc, argv);
	g_autoptr(TachoTable) plan = timeline ? find_plan(target, options, timeline) : NULL;
	const TachoExportTable table = { "plan", "the change that shortens the step most", plan };
	TachoExportOptions all = *options;
	GError *error = NULL;

	if (!timeline)
		return CLI_BAD;
	if (plan) {
		all.tables = &table;
		all.n_tables = 1;
	}
	if (!target->write(timeline, &all, new_file_stream(owned), &error)) {
		if (g_error_matches(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO))
			g_prefix_error(&error, "cannot write '%s': ", path);
		return cli_fail_error("export", error);
	}
	if (!new_file_finish(g_steal_pointer(&owned), &error))
		return cli_fail_error("export", error);
	say_how_to_open(target, path);
	return CLI_DONE;
}

/* The same for one that is a folder. */
static int export_to_folder(const struct options *asked, const TachoExportTarget *target,
			    const TachoExportOptions *options, int argc, char **argv)
{
	g_autoptr(NewFolder) folder = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;
	GError *error = NULL;

	if (!asked->output || strcmp(asked->output, "-") == 0)
		return cli_fail("export",
				"this format is a folder of files; name the folder with -o FOLDER");
	folder = new_folder_open(asked->output, target->files, asked->is_forced, &error);
	if (!folder)
		return cli_fail_error("export", error);
	timeline = open_marked(asked, options, argc, argv);
	if (!timeline)
		return CLI_BAD;
	if (!target->write_folder(timeline, options, new_folder_path(folder), &error)) {
		if (g_error_matches(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO))
			g_prefix_error(&error, "cannot write '%s': ", asked->output);
		return cli_fail_error("export", error);
	}
	if (!new_folder_finish(g_steal_pointer(&folder), &error))
		return cli_fail_error("export", error);
	say_how_to_open(target, asked->output);
	return CLI_DONE;
}

static int export_runs(const struct options *options, const TachoExportTarget *target, int argc,
		       char **argv)
{
	TachoExportOptions scope = TACHO_EXPORT_OPTIONS_INIT;
	g_autofree gchar *path = NULL;
	GError *error = NULL;
	NewFile *file;

	scope.progress = cli_progress;
	scope.progress_data = (gpointer) "exporting";
	if (argc < 2)
		return cli_fail("export", "name the run to export (see 'tacho export --help')");
	if (!option_number("export", "--rank", options->rank, -1, &scope.rank) ||
	    !option_steps("export", options->steps, &scope.first_step, &scope.last_step,
			  &scope.is_whole))
		return CLI_BAD;
	if (target->write_folder)
		return export_to_folder(options, target, &scope, argc, argv);
	if (g_strcmp0(options->output, "-") == 0) {
		if (isatty(STDOUT_FILENO) && !target->is_text)
			return cli_fail("export", "a terminal cannot show this format; write it to "
						  "a file with -o FILE");
		return export_to_stdout(options, target, &scope, argc, argv);
	}
	path = options->output ? g_strdup(options->output) : default_output(argv[1], target);
	file = new_file_open(path, options->is_forced, &error);
	if (!file)
		return cli_fail_error("export", error);
	return export_to_file(options, target, &scope, file, path, argc, argv);
}

static int export_with(const struct options *options, int argc, char **argv)
{
	const TachoExportTarget *target;
	GError *error = NULL;

	if (!options->target)
		return cli_fail("export", "name the format with --to FORMAT; 'tacho export --to "
					  "list' lists the formats");
	if (strcmp(options->target, "list") == 0) {
		print_targets();
		return cli_finish("export", CLI_DONE);
	}
	target = tacho_export_find(options->target, &error);
	if (!target)
		return cli_fail_error("export", error);
	return export_runs(options, target, argc, argv);
}

int cmd_export(int argc, char **argv)
{
	struct options options = { .rank = OPTION_UNSET };
	const GOptionEntry entries[] = {
		{ "to", 't', 0, G_OPTION_ARG_STRING, &options.target,
		  "the format: perfetto, chrome, html, sqlite, csv, xlsx, folded, dot, pprof, "
		  "inductor, pgle, ctf, or list",
		  "FORMAT" },
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
		  "the file to write (default: RUN's name, in the current folder); -: standard "
		  "output; ctf needs the name of a folder",
		  "FILE" },
		{ "rank", 'r', 0, G_OPTION_ARG_INT, &options.rank, "only this rank", "N" },
		{ "steps", 's', 0, G_OPTION_ARG_STRING, &options.steps,
		  "only training steps A to B, counted from 0; all: everything recorded",
		  "A:B|all" },
		{ "critical", 0, 0, G_OPTION_ARG_STRING, &options.critical,
		  "mark the critical path of a rank in an annotation whose name contains TEXT",
		  "TEXT" },
		{ "instance", 0, 0, G_OPTION_ARG_INT, &options.instance,
		  "which of these annotations, counted from 0 (default: the first)", "N" },
		{ "force", 'f', 0, G_OPTION_ARG_NONE, &options.is_forced,
		  "replace the file or folder if it exists", NULL },
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_BAD;

	if (cli_parse("export", usage, description, entries, &argc, &argv))
		status = export_with(&options, argc, argv);
	g_free(options.target);
	g_free(options.output);
	g_free(options.steps);
	g_free(options.critical);
	return status;
}
