/* prediction: one recording, a change, and what the step time would be, with all that is needed to
 * judge it: the step as measured, as replayed unchanged, and how far the steps differ. */
#include "predict/prediction.h"

#include <stdarg.h>
#include <string.h>

#include "analyze/memory_blocks.h"
#include "base/for_each.h"
#include "base/quantile.h"
#include "graph/graph_unfold.h"
#include "graph/rank_copies.h"
#include "edit/edit_state.h"
#include "edit/graph_memory.h"
#include "predict/baseline_error.h"
#include "predict/explanation.h"
#include "predict/held_memory.h"
#include "predict/prediction_interval.h"
#include "predict/what_if_apply.h"
#include "trace/partial_ranks.h"

/* As many times what seemed enough. Source: a rule: nodes run out before. If wrong, a job beside this one ends too soon. */
#define MAX_ROUNDS (1u << 30)

/* The share of the predicted steps below the interval, and not above it.
 * Source: derived from what the interval is said to hold, nine in ten (docs/replay.md). */
#define LOW_SHARE  0.05
#define HIGH_SHARE 0.95

/* What is worth a note.
 * Source: a rule: what rounds to nothing in the figures beside it is not. If wrong, notes are many, or one is missing; no time
 * depends on it. */
#define MIN_NOTED_SHARE	      0.001 /* of computing, that recording took */
#define MIN_NOTED_LAG	      0.01  /* of a step */
#define MIN_NOTED_OVERLAP_PCT 1.0

static const gdouble to_ms = 1e-6;

/* The mean over ranks of each step as recorded (gint64, ns). */
static GArray *measured_steps(const TachoGraph *graph)
{
	GArray *steps = g_array_new(FALSE, TRUE, sizeof(gint64));
	const GArray *rows = graph->timeline->steps;

	g_array_set_size(steps, graph->steps->len);
	FOR_EACH(const TachoStep, step, rows) {
		guint32 index = graph_step_index(graph, step->number);

		if (step->is_complete && index != TACHO_NONE)
			g_array_index(steps, gint64, index) += step->end_ns - step->start_ns;
	}
	for (guint i = 0; i < steps->len; i++)
		g_array_index(steps, gint64, i) /= MAX(graph->timeline->ranks->len, 1u);
	if (graph->whole_ns > 0)
		g_array_index(steps, gint64, 0) = graph->whole_ns;
	return steps;
}

/* The step whose time is nearest to the median's. */
static guint32 typical_step(const TachoReplay *replay)
{
	g_autoptr(GArray) steps = replay_step_times(replay);
	g_autoptr(GArray) sorted = g_array_copy(steps);
	gdouble median_ns = quantile(sorted, 0.5);
	guint best = 0;

	for (guint i = 1; i < steps->len; i++)
		if (ABS((gdouble)g_array_index(steps, gint64, i) - median_ns) <
		    ABS((gdouble)g_array_index(steps, gint64, best) - median_ns))
			best = i;
	return g_array_index(replay->graph->steps, guint32, best);
}

static gdouble median_step_ms(const TachoReplay *replay)
{
	return replay_median_step_ns(replay) * to_ms;
}

void prediction_set_interval(gdouble interval_ms[2], GArray *values)
{
	interval_ms[0] = quantile(values, LOW_SHARE) * to_ms;
	interval_ms[1] = quantile(values, HIGH_SHARE) * to_ms;
}

void prediction_set_error(TachoPrediction *prediction)
{
	if (prediction->measured_step_ms > 0)
		prediction->error_pct =
			100 * (prediction->baseline_step_ms / prediction->measured_step_ms - 1);
}

/* As recorded; the caller's. */
static TachoReplay *play_baseline(TachoPrediction *prediction, GError **error)
{
	g_autoptr(TachoReplay) baseline = tacho_replay_run(prediction->graph, error);
	g_autoptr(GArray) measured = measured_steps(prediction->graph);

	if (!baseline) {
		g_prefix_error(error, "cannot replay the recording: ");
		return NULL;
	}
	replay_measure_lags(prediction->graph, baseline);
	prediction->baseline_kernel_overlap_pct = 100 * replay_kernel_overlap(baseline);
	prediction->measured_step_ms = quantile(measured, 0.5) * to_ms;
	prediction->baseline_step_ms = median_step_ms(baseline);
	prediction->baseline_peak_memory_bytes = replay_memory_peak(baseline, FALSE).bytes;
	prediction_set_error(prediction);
	baseline_error_find(prediction, baseline);
	return g_steal_pointer(&baseline);
}

/* What is to be changed. */
static void see_unrecorded(TachoPrediction *prediction, const TachoReplay *unrecorded)
{
	prediction->unrecorded_step_ms = median_step_ms(unrecorded);
	if (prediction->is_explained)
		prediction->paths_before = path_shares_new(unrecorded);
}

/* The rest is without what recording took. */
static gboolean play_unrecorded(TachoPrediction *prediction, const TachoReplay *baseline,
				GError **error)
{
	g_autoptr(TachoReplay) unrecorded = NULL;

	if (!replay_take_out_recording(prediction->graph, baseline, &prediction->recording_share,
				       error))
		return FALSE;
	if (prediction->recording_share > 0) {
		unrecorded = tacho_replay_run(prediction->graph, error);
		if (!unrecorded)
			return FALSE;
	}
	see_unrecorded(prediction, unrecorded ? unrecorded : baseline);
	return TRUE;
}

static void see_doubt(TachoPrediction *prediction)
{
	const struct edit_state *state = edit_state_read(prediction->graph);

	prediction->kernel_doubt_ms[0] =
		(state->batch_doubt.less_ns + state->precision_doubt.less_ns) * to_ms;
	prediction->kernel_doubt_ms[1] =
		(state->batch_doubt.more_ns + state->precision_doubt.more_ns) * to_ms;
}

/* Change the prediction's graph and play it. All passes of a step are as the changes make them. */
static gboolean change_and_play(TachoPrediction *prediction, const GArray *changes, GError **error)
{
	if (!changes_apply(prediction->graph, changes, error))
		return FALSE;
	see_doubt(prediction);
	prediction->replay = tacho_replay_run(prediction->graph, error);
	return prediction->replay != NULL;
}

/* The same with other jobs beside, which are to go on for as long as this one does. */
static gboolean change_beside_jobs(TachoPrediction *prediction, const GArray *changes,
				   GError **error)
{
	g_autoptr(TachoGraph) alone = prediction->graph;
	guint64 rounds = 1, need = 1;

	prediction->graph = NULL;
	do {
		rounds = MIN(rounds * need, MAX_ROUNDS);
		g_clear_pointer(&prediction->replay, tacho_replay_free);
		g_clear_pointer(&prediction->graph, tacho_graph_free);
		prediction->graph = graph_copy(alone);
		edit_state_of(prediction->graph)->guest_rounds = (guint32)rounds;
		if (!change_and_play(prediction, changes, error))
			return FALSE;
		need = replay_guests_need(prediction->replay);
	} while (need > 1 && rounds < MAX_ROUNDS);
	prediction->jobs = replay_guest_steps(prediction->replay);
	return TRUE;
}

static gboolean play_changed(TachoPrediction *prediction, const GArray *changes, GError **error)
{
	if (!(changes_need(changes, CHANGE_NEEDS_JOB) ? change_beside_jobs : change_and_play)(
		    prediction, changes, error))
		return FALSE;
	prediction->predicted_steps = replay_step_times(prediction->replay);
	prediction->predicted_step_ms = quantile(prediction->predicted_steps, 0.5) * to_ms;
	prediction_set_interval(prediction->steps_interval_ms, prediction->predicted_steps);
	prediction_bound(prediction);
	return TRUE;
}

/* Within one host there may be no wire at all. */
static gboolean is_local(const TachoGraph *graph, const struct graph_group *group)
{
	guint32 link;

	if (group->n_ranks < 2 || group->n_links != 1)
		return FALSE;
	link = g_array_index(graph->group_links, guint32, group->first_link);
	return strcmp(g_array_index(graph->links, struct graph_link, link).direction, "local") == 0;
}

static void note(TachoPrediction *prediction, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static void note(TachoPrediction *prediction, const gchar *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_ptr_array_add(prediction->notes, g_strdup_vprintf(format, arguments));
	va_end(arguments);
}

static void note_group(TachoPrediction *prediction, guint32 index)
{
	const TachoGraph *graph = prediction->graph;
	const struct graph_group *group = graph_group_at(graph, index);

	if (group->job > 0 || group->is_hops)
		return;
	if (group->cost.n_sizes == 1 && group->wire_ns_per_byte <= 0)
		note(prediction,
		     "all collectives of group %u have about the same size, so their latency "
		     "counts as bandwidth",
		     index);
	if (is_local(graph, group) && graph->taken_share == 0)
		note(prediction,
		     "the ranks of group %u are on one host, where transfers use the same cores as "
		     "computation; this is not modelled, unless a link limits them",
		     index);
}

/* The mean over ranks of how far devices were behind when the step was over. */
static gdouble mean_lag_ms(const TachoGraph *graph, guint32 step)
{
	guint32 n_ranks = graph->lags->len / graph->steps->len;
	gdouble sum_ns = 0;

	for (guint32 rank = 0; rank < n_ranks; rank++)
		sum_ns += (gdouble)g_array_index(graph->lags, gint64,
						 rank * graph->steps->len + step);
	return sum_ns / n_ranks * to_ms;
}

/* Devices that fall further and further behind: few steps do not show what a step takes in the long run. */
static void note_lag(TachoPrediction *prediction)
{
	const TachoGraph *graph = prediction->graph;
	guint32 last = graph->steps->len - 1;
	gdouble least_ms = MIN_NOTED_LAG * prediction->measured_step_ms, first_ms, growth_ms;

	if (graph->lags->len == 0)
		return;
	first_ms = mean_lag_ms(graph, 0);
	if (last == 0 && first_ms > least_ms)
		note(prediction,
		     "at the end of a step a device was %.3f ms behind its host; each replayed "
		     "step is assumed to end like that",
		     first_ms);
	for (guint32 step = 1; step <= last; step++)
		if (mean_lag_ms(graph, step) < mean_lag_ms(graph, step - 1))
			return;
	growth_ms = (mean_lag_ms(graph, last) - first_ms) / MAX(last, 1u);
	if (last > 1 && growth_ms > least_ms)
		note(prediction,
		     "the devices fell %.3f ms further behind their hosts with each recorded step; "
		     "in the long run a step would take as long as on the devices, %.3f ms",
		     growth_ms, prediction->measured_step_ms + growth_ms);
}

static void note_overlap(TachoPrediction *prediction)
{
	if (prediction->predicted_kernel_overlap_pct <
	    prediction->baseline_kernel_overlap_pct + MIN_NOTED_OVERLAP_PCT)
		return;
	note(prediction,
	     "devices run several kernels at once for %.1f %% of their busy time (recorded: %.1f "
	     "%%); the prediction does not model how these slow each other down, so the predicted "
	     "step is too short",
	     prediction->predicted_kernel_overlap_pct, prediction->baseline_kernel_overlap_pct);
}

/* With what is taken from the classes of kernels that show it by themselves. */
static void note_device_taken(TachoPrediction *prediction)
{
	const TachoGraph *graph = prediction->graph;
	g_autoptr(GString) classes = g_string_new(NULL);

	for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
		if (graph->class_more_taken[class] != 0)
			g_string_append_printf(
				classes, "%s%s: %.1f %%", classes->len > 0 ? ", " : " (",
				kernel_class_name(class), 100 * graph_class_taken(graph, class));
	if (classes->len > 0)
		g_string_append_c(classes, ')');
	if (graph->device_taken_share > 0 || classes->len > 0)
		note(prediction,
		     "moving bytes between devices takes %.1f %% of a device's computing power "
		     "meanwhile%s",
		     100 * graph->device_taken_share, classes->str);
}

/* The longest of all groups. */
static void note_core_waits(TachoPrediction *prediction)
{
	gdouble longest_ns = 0;

	FOR_EACH(const struct graph_group, group, prediction->graph->groups)
		longest_ns = MAX(longest_ns, group->core_wait_ns);
	if (longest_ns > 0)
		note(prediction,
		     "each segment of a collective waits %.3f ms longer while a rank computes on "
		     "the core that moves its bytes",
		     longest_ns / 1e6);
}

static void note_all(TachoPrediction *prediction)
{
	const TachoGraph *graph = prediction->graph;

	if (prediction->recording_share >= MIN_NOTED_SHARE)
		note(prediction,
		     "recording took %.1f %% of the ranks' computing time; predictions leave it "
		     "out",
		     100 * prediction->recording_share);
	if (graph->taken_share > 0)
		note(prediction, "moving bytes takes %.1f %% of a rank's computing power meanwhile",
		     100 * graph_taken_share(graph, 0));
	note_core_waits(prediction);
	note_device_taken(prediction);
	note_lag(prediction);
	note_overlap(prediction);
	for (guint i = 0; i < tacho_graph_n_notes(graph); i++)
		note(prediction, "%s", tacho_graph_borrow_note(graph, i));
	for (guint32 i = 0; i < graph->groups->len; i++)
		note_group(prediction, i);
}

TachoGraph *replay_build_graph(TachoTimeline *timeline, gint64 first_step, gint64 last_step,
			       GError **error)
{
	g_autoptr(TachoGraph) graph = NULL;

	if (first_step >= 0 || last_step >= 0)
		return tacho_graph_build(timeline, first_step, last_step, error);
	graph = tacho_graph_build(timeline, 1, -1, NULL);
	if (graph)
		return g_steal_pointer(&graph);
	return tacho_graph_build(timeline, -1, -1, error);
}

TachoPrediction *prediction_new(TachoTimeline *timeline, gint64 first_step, gint64 last_step,
				GError **error)
{
	g_autoptr(TachoPrediction) prediction = g_new0(TachoPrediction, 1);
	const GArray *steps;

	prediction->notes = g_ptr_array_new_with_free_func(g_free);
	prediction->graph = replay_build_graph(timeline, first_step, last_step, error);
	if (!prediction->graph)
		return NULL;
	steps = prediction->graph->steps;
	prediction->n_ranks = timeline->ranks->len;
	prediction->n_steps = steps->len;
	prediction->first_step = g_array_index(steps, guint32, 0);
	prediction->last_step = g_array_index(steps, guint32, steps->len - 1);
	return g_steal_pointer(&prediction);
}

static void note_partial_ranks(TachoGraph *graph)
{
	g_autofree gchar *sentence = partial_ranks_sentence(graph->timeline);

	if (sentence)
		graph_note(graph,
			   "%s Their time between collectives is played as it was, and changes of "
			   "operations do not change it",
			   sentence);
}

gboolean prediction_play(TachoPrediction *prediction, const GArray *changes, GError **error)
{
	g_autoptr(TachoReplay) baseline = NULL;

	prediction->is_changed = changes->len > 0;
	prediction->model_error = model_error_of(changes, &prediction->is_error_measured);
	prediction->peak_memory_bytes = peak_memory_bytes(prediction->graph);
	graph_find_memory(prediction->graph);
	note_partial_ranks(prediction->graph);
	baseline = play_baseline(prediction, error);
	if (!baseline || !play_unrecorded(prediction, baseline, error))
		return FALSE;
	g_clear_pointer(&baseline, tacho_replay_free);
	if (!play_changed(prediction, changes, error))
		return FALSE;
	prediction->predicted_kernel_overlap_pct = 100 * replay_kernel_overlap(prediction->replay);
	note_all(prediction);
	return TRUE;
}

static TachoTable *explain_step(const TachoPrediction *prediction)
{
	struct path_shares *after = path_shares_new(prediction->replay);
	TachoTable *table = explanation_table(
		prediction->paths_before, after,
		graph_step_index(prediction->graph, prediction->path_step), prediction->is_changed);

	path_shares_free(after);
	return table;
}

void prediction_explain(TachoPrediction *prediction)
{
	struct memory_peak peak;

	baseline_error_tell(prediction);
	prediction->path_step = typical_step(prediction->replay);
	replay_critical_path(prediction->replay, prediction->path_step, &prediction->critical_path,
			     &prediction->path_summary, &prediction->path_ends_on_device);
	if (prediction->is_explained)
		prediction->explanation = explain_step(prediction);
	prediction->n_device_bound_steps = replay_n_device_bound_steps(prediction->replay);
	prediction->utilisation = replay_utilisation(prediction->replay);
	peak = replay_memory_peak(prediction->replay, TRUE);
	prediction->predicted_peak_memory_bytes = peak.bytes;
	prediction->peak_rank = rank_copies_number(prediction->graph, peak.rank_index);
	prediction->peak_owners = peak.owners;
	prediction->memory_curve = peak.curve;
	prediction->memory_peaks = peak.peaks;
	if (peak.owners)
		prediction->peak_memory = memory_label(peak.device);
}

TachoPrediction *tacho_predict(TachoTimeline *timeline, const gchar *const *what_ifs,
			       guint n_what_ifs, gint64 first_step, gint64 last_step,
			       GError **error)
{
	g_autoptr(GArray) changes = changes_read(what_ifs, n_what_ifs, error);
	g_autoptr(TachoPrediction) prediction =
		changes ? prediction_new(timeline, first_step, last_step, error) : NULL;

	if (!prediction || !prediction_play(prediction, changes, error))
		return NULL;
	prediction_explain(prediction);
	return g_steal_pointer(&prediction);
}

gboolean tacho_prediction_unfold(TachoPrediction *prediction, GError **error)
{
	g_autoptr(TachoGraph) unfolded = graph_unfold(prediction->graph, error);
	g_autoptr(TachoReplay) replay = NULL;

	if (!unfolded)
		return FALSE;
	replay = tacho_replay_run(unfolded, error);
	if (!replay)
		return FALSE;
	prediction->unfolded_ranks = graph_n_ranks(unfolded);
	prediction->unfolded_pieces = tacho_graph_n_nodes(unfolded);
	prediction->unfolded_step_ms = median_step_ms(replay);
	return TRUE;
}

void tacho_prediction_free(TachoPrediction *prediction)
{
	if (!prediction)
		return;
	g_clear_pointer(&prediction->baseline_errors, tacho_table_free);
	g_free(prediction->baseline_warning);
	g_free(prediction->baseline_advice);
	g_clear_pointer(&prediction->explanation, tacho_table_free);
	path_shares_free(prediction->paths_before);
	g_clear_pointer(&prediction->critical_path, tacho_table_free);
	g_clear_pointer(&prediction->path_summary, tacho_table_free);
	g_clear_pointer(&prediction->utilisation, tacho_table_free);
	g_clear_pointer(&prediction->sensitivity, tacho_table_free);
	g_clear_pointer(&prediction->jobs, tacho_table_free);
	g_clear_pointer(&prediction->peak_owners, tacho_table_free);
	g_clear_pointer(&prediction->memory_curve, tacho_table_free);
	g_clear_pointer(&prediction->memory_peaks, tacho_table_free);
	g_free(prediction->peak_memory);
	g_clear_pointer(&prediction->recordings, tacho_table_free);
	g_clear_pointer(&prediction->notes, g_ptr_array_unref);
	g_clear_pointer(&prediction->predicted_steps, g_array_unref);
	g_clear_pointer(&prediction->sample_medians, g_array_unref);
	g_free(prediction->shown_recording);
	tacho_replay_free(prediction->replay);
	tacho_graph_free(prediction->graph);
	g_free(prediction);
}
