/* cmd_replay: what the step time would be, were something different. */
#include <string.h>

#include <tacho/export.h>
#include <tacho/replay.h>

#include "cli.h"
#include "cost_file.h"
#include "new_file.h"
#include "peer_processes.h"
#include "recording_list.h"

#define MAX_PATH_ROWS	     12
#define MAX_SENSITIVITY_ROWS 20
#define DEFAULT_SAMPLES	     100
#define MAX_SAMPLES	     1000000

static const gchar usage[] = "RUN... [--what-if CHANGE]...";
static const gchar description[] =
	"Replays the recorded steps and prints how long a step would take with each CHANGE. "
	"Several\n"
	"changes are made in an order of their own (docs/what-if.md).\n"
	"\n"
	"Changes:\n"
	"  bandwidth=10x, bandwidth=10gbit    all links\n"
	"  latency=+1ms, latency=2x           all links, one way\n"
	"  bucket_mb=8                        DistributedDataParallel's bucket_cap_mb\n"
	"  scale:op~aten::mm=0.5              operations whose name matches, and what they call\n"
	"  drop:op~aten::dropout              such operations take no time\n"
	"  straggler:0=1.5, straggler:4-7=2   these ranks take 1.5 or 2 times as long for their "
	"work\n"
	"  drop:loader, scale:loader=0.5      data loading takes no time, or half as long\n"
	"  workers=4                          the data loader has four worker processes\n"
	"  batch=2x                           twice as many samples in a step\n"
	"  drop:wait                          no rank waits for a late one\n"
	"  cores=2                            each host has two cores for its ranks\n"
	"  ranks=64                           64 ranks like those recorded\n"
	"  algorithm=tree                     or ring, hierarchical, ps, ps:4\n"
	"  fusion=10,20                       buckets of 10, 20 and all other gradients\n"
	"  compress=bf16                      or fp16: gradients are sent in 16 bits\n"
	"  partition_mb=4                     large all-reduces in parts of 4 MiB\n"
	"  accumulate=4                       four forward and backward passes a step\n"
	"  recompute:module~layer             computed again in the backward pass\n"
	"  device=H100, device:4-7=T4         another device, by classes of kernels; or for these "
	"ranks\n"
	"  precision:op~mm|conv=fp16          numbers of another width\n"
	"  precision:4-7:op~mm=fp16           the same for these ranks only\n"
	"  jobs=other.tacho                   another job on the same links\n"
	"docs/what-if.md describes all changes.\n"
	"\n"
	"Examples:\n"
	"  tacho replay base.tacho\n"
	"  tacho replay base.tacho --what-if bandwidth=10x --what-if bucket_mb=8\n"
	"  tacho replay base.tacho --topology cluster.ini --what-if ranks=64\n"
	"  tacho replay base.tacho --what-if bandwidth=0.5x --export slower.pftrace\n"
	"  tacho replay base1.tacho --also base2.tacho --also base3.tacho --what-if ranks=8\n"
	"  tacho replay base1.tacho,base2.tacho,base3.tacho --what-if ranks=8\n";

struct options {
	gchar **also;
	gchar **what_ifs;
	gchar **what_if_files;
	gchar *cost;
	gchar *topology_path;
	gint step, samples;
	gint64 seed;
	gchar *durations;
	gchar *export_path;
	gboolean is_forced, with_json, with_all, with_sensitivity, is_unfolded, is_explained;
};

static gdouble change_pct(gdouble from_ms, gdouble to_ms)
{
	return from_ms > 0 ? 100 * (to_ms / from_ms - 1) : 0;
}

/* The peak of the steps, as recorded and with the change. */
static void print_changed_peak(const TachoPrediction *prediction)
{
	g_autofree gchar *before = g_format_size((guint64)prediction->baseline_peak_memory_bytes);
	g_autofree gchar *after = g_format_size((guint64)prediction->predicted_peak_memory_bytes);

	printf("  of the steps  %s, with the change %s (rank %d, %s)\n", before, after,
	       prediction->peak_rank, prediction->peak_memory ? prediction->peak_memory : "none");
}

static void print_what(const TachoPrediction *prediction)
{
	guint n_between = prediction->last_step - prediction->first_step + 1 - prediction->n_steps;

	if (prediction->recordings)
		printf("%u recordings of ", tacho_table_n_rows(prediction->recordings));
	printf("%u %s, steps %u to %u", prediction->n_ranks,
	       prediction->n_ranks == 1 ? "rank" : "ranks", prediction->first_step,
	       prediction->last_step);
	if (n_between > 0)
		printf(" without %u control steps", n_between);
	printf("%s\n\n", prediction->recordings ? "; medians over the recordings:" : "");
}

/* How far recordings lie apart, and what that is worth. */
static void print_recordings(const TachoPrediction *prediction)
{
	guint n_left_out = prediction->recordings_rank - 1;

	printf("recordings ");
	if (n_left_out > 0)
		printf("without %u at each end ", n_left_out);
	printf("%.3f to %.3f ms: if recordings are independent, the next one lies within with a "
	       "probability of %.0f %%, and the median of all with %.0f %%\n",
	       prediction->recordings_interval_ms[0], prediction->recordings_interval_ms[1],
	       prediction->recordings_next_pct, prediction->recordings_median_pct);
}

static void print_intervals(const TachoPrediction *prediction)
{
	if (!prediction->has_interval) {
		printf("one step alone does not show how far others differ, so there is no "
		       "interval\n");
		return;
	}
	printf("nine in ten steps take %.3f to %.3f ms\n", prediction->steps_interval_ms[0],
	       prediction->steps_interval_ms[1]);
	printf("nine in ten runs have their median step between %.3f and %.3f ms%s\n",
	       prediction->interval_ms[0], prediction->interval_ms[1],
	       prediction->is_error_measured
		       ? ""
		       : ", if such changes are predicted as well as those that were measured");
}

static void print_times(const TachoPrediction *prediction, gboolean is_changed)
{
	print_what(prediction);
	printf("measured step   %10.3f ms\n", prediction->measured_step_ms);
	printf("replayed as is  %10.3f ms  (%+.2f %%)\n", prediction->baseline_step_ms,
	       prediction->error_pct);
	if (prediction->recording_share > 0)
		printf("unrecorded      %10.3f ms  (%+.2f %%)\n", prediction->unrecorded_step_ms,
		       change_pct(prediction->baseline_step_ms, prediction->unrecorded_step_ms));
	if (prediction->n_samples >
	    0) /* of which the unchanged step would have to be, too, to be compared */
		printf("in the samples  %10.3f ms\n", prediction->predicted_step_ms);
	else if (is_changed)
		printf("with the change %10.3f ms  (%+.1f %%)\n", prediction->predicted_step_ms,
		       change_pct(prediction->unrecorded_step_ms, prediction->predicted_step_ms));
	if (prediction->unfolded_ranks > 0)
		printf("each by itself  %10.3f ms  (%u ranks, %u pieces)\n",
		       prediction->unfolded_step_ms, prediction->unfolded_ranks,
		       prediction->unfolded_pieces);
	print_intervals(prediction);
	if (prediction->recordings)
		print_recordings(prediction);
	if (prediction->n_device_bound_steps > 0)
		printf("in %u of %u steps the devices end after their hosts\n",
		       prediction->n_device_bound_steps, prediction->n_steps);
	if (prediction->n_samples > 0)
		printf("in nine of ten samples the median step is %.3f to %.3f ms (%u samples)\n",
		       prediction->median_interval_ms[0], prediction->median_interval_ms[1],
		       prediction->n_samples);
	if (prediction->peak_memory_bytes >= 0) {
		g_autofree gchar *size = g_format_size((guint64)prediction->peak_memory_bytes);

		printf("peak memory     %s", size);
		if (prediction->recordings)
			printf("  (%s)", prediction->shown_recording);
		printf("\n");
	}
	if (prediction->predicted_peak_memory_bytes != prediction->baseline_peak_memory_bytes)
		print_changed_peak(prediction);
}

static void print_notes(const GPtrArray *notes, guint width)
{
	for (guint i = 0; i < notes->len; i++) {
		g_autofree gchar *item =
			g_strdup_printf("- %s", (const gchar *)g_ptr_array_index(notes, i));

		if (i == 0)
			fputc('\n', stdout);
		tacho_print_prose(item, stdout, width);
	}
}

/* That predictions are off comes before them. */
static void print_warning(const TachoPrediction *prediction)
{
	g_autofree gchar *warning = g_strdup_printf("Warning: %s.", prediction->baseline_warning);
	g_autofree gchar *advice =
		g_strdup_printf("What to do next: %s.", prediction->baseline_advice);

	tacho_print_prose(warning, stdout, cli_width(stdout));
	tacho_print_prose(advice, stdout, cli_width(stdout));
	fputc('\n', stdout);
}

/* Where the step comes from. The row of the whole stands first. */
static void print_explanation(const TachoPrediction *prediction, gboolean with_all)
{
	printf("\nWhere step %u comes from: its critical path, which ends on rank %.0f\n",
	       prediction->path_step, tacho_table_cell_number(prediction->explanation, 0, "rank"));
	if (!with_all)
		tacho_table_limit(prediction->explanation, MAX_PATH_ROWS + 1);
	cli_print_table(prediction->explanation);
}

static void print_text(const TachoPrediction *prediction, const struct options *options)
{
	if (prediction->baseline_warning)
		print_warning(prediction);
	print_times(prediction, options->what_ifs || options->what_if_files ||
					options->topology_path ||
					(options->durations && options->samples == 0));
	if (prediction->recordings) {
		printf("\nRecordings\n");
		cli_print_table(prediction->recordings);
		printf("All figures below are for %s; its prediction is nearest to the median.\n",
		       prediction->shown_recording);
	}
	if (prediction->jobs) {
		printf("\n"
		       "Jobs beside it\n");
		cli_print_table(prediction->jobs);
	}
	if (prediction->explanation)
		print_explanation(prediction, options->with_all);
	printf("\nCritical path of step %u%s\n", prediction->path_step,
	       prediction->path_ends_on_device ? ", up to the end of its work on a device" : "");
	if (!options->with_all)
		tacho_table_limit(prediction->path_summary, MAX_PATH_ROWS);
	cli_print_table(prediction->path_summary);
	if (prediction->peak_owners &&
	    (options->with_all ||
	     prediction->predicted_peak_memory_bytes != prediction->baseline_peak_memory_bytes)) {
		printf("\nMemory held at the peak\n");
		if (!options->with_all)
			tacho_table_limit(prediction->peak_owners, MAX_PATH_ROWS);
		cli_print_table(prediction->peak_owners);
	}
	printf("\n"
	       "How busy each resource is\n");
	cli_print_table(prediction->utilisation);
	if (prediction->sensitivity) {
		printf("\n"
		       "What each gives when it is 1 %% faster\n");
		if (!options->with_all)
			tacho_table_limit(prediction->sensitivity, MAX_SENSITIVITY_ROWS);
		cli_print_table(prediction->sensitivity);
	}
	print_notes(prediction->notes, cli_width(stdout));
}

/* The export whose files end as `path` does, of those that this build has. */
static const TachoExportTarget *find_target(const gchar *path)
{
	guint n_targets;
	const TachoExportTarget *targets = tacho_export_targets(&n_targets);
	const gchar *ending = strrchr(path, '.');

	for (guint i = 0; ending && i < n_targets; i++)
		if (targets[i].write && strcmp(ending + 1, targets[i].ending) == 0)
			return &targets[i];
	return NULL;
}

static gboolean export_replay(const TachoPrediction *prediction, const TachoExportTarget *target,
			      const struct options *options, GError **error)
{
	const TachoExportTable explanation = {
		"explanation",
		"where the predicted step comes from: its critical path, by resource and by what "
		"is "
		"measured, scaled, modelled and guessed",
		prediction->explanation,
	};
	TachoExportOptions all = TACHO_EXPORT_OPTIONS_INIT;
	g_autoptr(TachoTimeline) timeline = tacho_replay_timeline(prediction->replay);
	g_autoptr(NewFile) file = new_file_open(options->export_path, options->is_forced, error);

	if (!file)
		return FALSE;
	if (prediction->explanation) {
		all.tables = &explanation;
		all.n_tables = 1;
	}
	if (!target->write(timeline, &all, new_file_stream(file), error)) {
		g_prefix_error(error, "cannot write '%s': ", options->export_path);
		return FALSE;
	}
	return new_file_finish(g_steal_pointer(&file), error);
}

/* The topology, how long things take, those in files, the others. NULL: a file cannot be read. */
static GPtrArray *collect_what_ifs(const struct options *options, GError **error)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);

	if (options->topology_path)
		g_ptr_array_add(all, g_strconcat("topology=", options->topology_path, NULL));
	if (options->durations && options->samples == 0)
		g_ptr_array_add(all, g_strconcat("durations=", options->durations, NULL));
	for (gchar **path = options->what_if_files; path && *path; path++) {
		g_auto(GStrv) what_ifs = tacho_what_ifs_read(*path, error);

		if (!what_ifs)
			return NULL;
		for (gchar **what_if = what_ifs; *what_if; what_if++)
			g_ptr_array_add(all, g_strdup(*what_if));
	}
	for (gchar **what_if = options->what_ifs; what_if && *what_if; what_if++)
		g_ptr_array_add(all, g_strdup(*what_if));
	return g_steal_pointer(&all);
}

static TachoPrediction *predict(const struct options *options, const RecordingList *list,
				const GPtrArray *what_ifs, const TachoCostModel *costs,
				GError **error)
{
	g_autoptr(GArray) recordings = recording_list_recordings(list);
	TachoPredictOptions how = { .what_ifs = (const gchar *const *)what_ifs->pdata,
				    .n_what_ifs = what_ifs->len,
				    .first_step = options->step,
				    .last_step = options->step,
				    .n_samples = (guint32)options->samples,
				    .seed = (guint64)options->seed,
				    .is_explained = options->is_explained,
				    .costs = costs };

	return tacho_predict_together((const TachoRecording *)recordings->data, recordings->len,
				      &how, error);
}

/* Where there are several processes: whether they can do what was asked for. */
static gboolean check_shared(const struct options *options, const RecordingList *list)
{
	const gchar *what = list->paths->len > 1   ? "replay several recordings"
			    : options->export_path ? "export a replay"
						   : NULL;

	if (!what || !peer_processes_borrow())
		return TRUE;
	cli_fail("replay",
		 "several processes cannot %s; run it as one process, without the launcher", what);
	return FALSE;
}

static int replay(const struct options *options, const TachoExportTarget *target, int argc,
		  char **argv)
{
	GError *error = NULL;
	g_autoptr(GPtrArray) what_ifs = collect_what_ifs(options, &error);
	g_auto(RecordingList) list = { .paths = NULL };
	g_autoptr(TachoPrediction) prediction = NULL;
	g_autoptr(TachoCostModel) costs = NULL;

	if (!what_ifs)
		return cli_fail_error("replay", error);
	if (!recording_list_init(&list, "replay", argc, argv, options->also) ||
	    !check_shared(options, &list) || !recording_list_open(&list, "replay"))
		return CLI_BAD;
	if (options->cost) {
		costs = tacho_cost_model_open(options->cost, &error);
		if (!costs)
			return cli_fail_error("replay", error);
	}
	prediction = predict(options, &list, what_ifs, costs, &error);
	if (error)
		return cli_fail_error("replay", error);
	if (!prediction) { /* the first of several processes plays, and prints: that may need the memory */
		recording_list_release(&list);
		return peer_processes_agree() ? CLI_DONE : CLI_BAD;
	}
	if (options->is_unfolded && !tacho_prediction_unfold(prediction, &error))
		return cli_fail_error("replay", error);
	if (options->with_sensitivity) {
		prediction->sensitivity = tacho_replay_sensitivity(prediction->graph, &error);
		if (!prediction->sensitivity)
			return cli_fail_error("replay", error);
	}
	if (target && !export_replay(prediction, target, options, &error))
		return cli_fail_error("replay", error);
	if (!peer_processes_agree())
		return CLI_BAD;
	if (options->with_json)
		tacho_prediction_print_json(prediction, stdout);
	else
		print_text(prediction, options);
	return CLI_DONE;
}

/* Durations are drawn where samples are asked for, and the other way round. */
static gboolean check_durations(struct options *options)
{
	gboolean is_sampled = options->durations && strcmp(options->durations, "sampled") == 0;

	if (options->samples < 0 || options->samples > MAX_SAMPLES) {
		cli_fail("replay", "--samples must be a number from 1 to %d", MAX_SAMPLES);
		return FALSE;
	}
	if (options->durations && !is_sampled && options->samples > 0) {
		cli_fail("replay",
			 "--samples draws durations at random, so it cannot be combined with "
			 "--durations %s",
			 options->durations);
		return FALSE;
	}
	if (is_sampled && options->samples == 0)
		options->samples = DEFAULT_SAMPLES;
	return TRUE;
}

static int replay_with(struct options *options, int argc, char **argv)
{
	const TachoExportTarget *target = NULL;

	if (!check_durations(options))
		return CLI_BAD;
	if (options->is_unfolded && options->samples > 0)
		return cli_fail(
			"replay",
			"--unfolded cannot be combined with --samples; leave one of them out");
	if (options->step < -1)
		return cli_fail("replay", "--step must be 0 or more");
	if (options->export_path) {
		target = find_target(options->export_path);
		if (!target)
			return cli_fail("replay",
					"--export writes a file that ends in .pftrace, .json or "
					".html, not '%s'",
					options->export_path);
	}
	return replay(options, target, argc, argv);
}

int cmd_replay(int argc, char **argv)
{
	struct options options = { .step = -1, .seed = 1 };
	const GOptionEntry entries[] = {
		{ "also", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.also,
		  "another recording of the same job (may be given several times)", "RUN" },
		{ "what-if", 'w', 0, G_OPTION_ARG_STRING_ARRAY, &options.what_ifs,
		  "make this change, see below (may be given several times)", "CHANGE" },
		{ "what-if-file", 'W', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.what_if_files,
		  "make the changes in FILE, one a line, before the others", "FILE" },
		{ "topology", 't', 0, G_OPTION_ARG_FILENAME, &options.topology_path,
		  "the network between the ranks; applied before all changes", "FILE" },
		{ "cost", 0, 0, G_OPTION_ARG_FILENAME, &options.cost,
		  "a cost model: what collectives take where the recording does not tell it",
		  "FILE" },
		{ "step", 's', 0, G_OPTION_ARG_INT, &options.step,
		  "replay only this step (default: all but the first)", "N" },
		{ "durations", 'D', 0, G_OPTION_ARG_STRING, &options.durations,
		  "durations of work: measured (default), mean, median or sampled", "WHAT" },
		{ "samples", 'n', 0, G_OPTION_ARG_INT, &options.samples,
		  "replay N times, with durations drawn from those measured", "N" },
		{ "seed", 0, 0, G_OPTION_ARG_INT64, &options.seed,
		  "seed of the random draws of --samples (default: 1)", "N" },
		{ "export", 'e', 0, G_OPTION_ARG_FILENAME, &options.export_path,
		  "write the replay beside the recording, as .pftrace, .json or .html", "FILE" },
		{ "force", 'f', 0, G_OPTION_ARG_NONE, &options.is_forced,
		  "replace FILE if it exists", NULL },
		{ "sensitivity", 'S', 0, G_OPTION_ARG_NONE, &options.with_sensitivity,
		  "print how much shorter a step is if each thing is 1 % faster", NULL },
		{ "explain", 'x', 0, G_OPTION_ARG_NONE, &options.is_explained,
		  "print where a step comes from: measured, scaled, modelled or guessed", NULL },
		{ "unfolded", 'u', 0, G_OPTION_ARG_NONE, &options.is_unfolded,
		  "with ranks=N: also play each copy of a rank by itself", NULL },
		{ "all", 'a', 0, G_OPTION_ARG_NONE, &options.with_all,
		  "print every row of the tables", NULL },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.with_json, "print JSON, for programs",
		  NULL },
		CLI_WIDTH_OPTIONS(0),
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_BAD;

	if (!peer_processes_begin("replay", argc, argv))
		return CLI_BAD;
	if (cli_parse("replay", usage, description, entries, &argc, &argv))
		status = cli_finish("replay", replay_with(&options, argc, argv));
	g_strfreev(options.also);
	g_strfreev(options.what_ifs);
	g_strfreev(options.what_if_files);
	g_free(options.topology_path);
	g_free(options.cost);
	g_free(options.durations);
	g_free(options.export_path);
	return peer_processes_end("replay", status);
}
