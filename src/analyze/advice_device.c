/* advice_device: what makes a device do more, or its host less, than need be. */
#include "analyze/advice.h"

#include "analyze/device_work.h"
#include "analyze/thread_calls.h"
#include "base/time_units.h"
#include "trace/function_kind.h"
#include "trace/kernel_trait.h"

/* --- calls that wait for the device ------------------------------------------------------------ */

/* Calls of one rank that wait until its device is done, and what that costs: a host that had not waited would have
 * launched the next work earlier by as much as the call took, and no earlier than the device was free.
 *
 *     host    ... launch | call that waits     | ......... launch ...
 *     device  ... work ..................... | idle         | work
 *                                            <-- min(call, idle) -->  */
struct blocking {
	guint64 n;
	gdouble call_ns, cost_ns; /* sums over the chosen steps */
	guint32 costliest;	  /* slice, or TACHO_NONE */
	gint64 costliest_ns;
};

/* How long the device does nothing from `time_ns` on; 0 where it works then, or never again. */
static gint64 idle_after_ns(const struct interval_set *busy, gint64 time_ns)
{
	guint low = 0, high = busy->intervals->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(busy->intervals, struct interval, middle).end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == busy->intervals->len)
		return 0;
	return MAX(g_array_index(busy->intervals, struct interval, low).begin_ns - time_ns, 0);
}

static void count_calls(const struct advice_input *input, const TachoTrack *track, guint rank_index,
			const struct interval_set *busy, struct blocking *blocking)
{
	const TachoSlices *slices = &input->timeline->slices;
	guint cursor = 0;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		gint64 cost_ns;

		if (!is_device_wait(input->timeline, i, NULL) ||
		    !selection_takes_time(&input->selection, rank_index, slices->start_ns[i],
					  &cursor))
			continue;
		cost_ns = MIN(slices->duration_ns[i],
			      idle_after_ns(busy, tacho_slice_end_ns(input->timeline, i)));
		blocking->n++;
		blocking->call_ns += (gdouble)slices->duration_ns[i];
		blocking->cost_ns += (gdouble)cost_ns;
		if (cost_ns > blocking->costliest_ns) {
			blocking->costliest_ns = cost_ns;
			blocking->costliest = i;
		}
	}
}

static gboolean is_of_rank(const struct advice_input *input, const TachoTrack *track,
			   guint rank_index)
{
	return selection_takes_track(&input->selection, track) &&
	       g_array_index(input->timeline->processes, TachoProcess, track->process).rank_index ==
		       rank_index;
}

/* When any stream of the rank works. */
static void find_busy(const struct advice_input *input, guint rank_index, struct interval_set *busy)
{
	const TachoTimeline *timeline = input->timeline;

	for (guint i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->kind != TACHO_TRACK_STREAM || !is_of_rank(input, track, rank_index))
			continue;
		for (guint32 k = track->first_slice; k < track->first_slice + track->n_slices; k++)
			if (is_device_work(timeline, k))
				interval_set_add(busy, timeline->slices.start_ns[k],
						 tacho_slice_end_ns(timeline, k));
	}
	interval_set_normalize(busy);
}

static struct blocking find_blocking(const struct advice_input *input, guint rank_index)
{
	struct blocking blocking = { .costliest = TACHO_NONE };
	struct interval_set busy;

	interval_set_init(&busy);
	find_busy(input, rank_index, &busy);
	for (guint i = 0; i < input->timeline->tracks->len && busy.intervals->len; i++) {
		const TachoTrack *track = tacho_timeline_track(input->timeline, i);

		if (track->kind == TACHO_TRACK_THREAD && is_of_rank(input, track, rank_index))
			count_calls(input, track, rank_index, &busy, &blocking);
	}
	interval_set_release(&busy);
	return blocking;
}

/* The function of the program's own that made the call, as "train.py(12): main"; NULL: not recorded. */
static const gchar *function_around(const TachoTimeline *timeline, guint32 slice)
{
	for (; slice != TACHO_NONE; slice = timeline->slices.parent[slice])
		if (function_is_own(timeline, slice))
			return tacho_slice_name(timeline, slice);
	return NULL;
}

static void describe_blocking(const struct advice_input *input, const struct blocking *blocking,
			      guint n_stretches, struct advice *advice)
{
	const TachoTimeline *timeline = input->timeline;
	guint32 call = blocking->costliest, op = innermost_op(timeline, call);

	advice->where = g_strdup(tacho_slice_name(timeline, op == TACHO_NONE ? call : op));
	advice->file = g_strdup(function_around(timeline, call));
	advice->evidence = g_strdup_printf(
		"In %.1f calls %s rank %d waits %.2f ms for its device, which then has nothing to "
		"do. Without these waits %.2f ms would not be lost. The most expensive call is "
		"%s%s%s.",
		(gdouble)blocking->n / n_stretches, input->each, advice->rank,
		MS(blocking->call_ns) / n_stretches, MS(advice->gain_ns),
		tacho_slice_name(timeline, call), advice->file ? ", called by " : "",
		advice->file ? advice->file : "");
	advice->action = g_strdup(
		"Do not read values from the device in each step (item(), print, a test on a "
		"tensor, cpu()). Copy to it from pinned memory with non_blocking=True.");
}

const gchar *check_blocking_calls(const struct advice_input *input, GArray *advices)
{
	struct advice advice = { .checker = "blocking_calls",
				 .metric = "blocking_cost_pct",
				 .threshold = ADVICE_WORTH_PCT };
	struct blocking worst = { .costliest = TACHO_NONE };
	guint worst_rank = 0;

	for (guint i = 0; i < input->timeline->ranks->len; i++) {
		struct blocking blocking;

		if (!advice_takes_rank(input, i))
			continue;
		blocking = find_blocking(input, i);
		if (blocking.cost_ns / input->times[i].n_stretches <= advice.gain_ns)
			continue;
		worst = blocking;
		worst_rank = i;
		advice.gain_ns = blocking.cost_ns / input->times[i].n_stretches;
	}
	advice.value = advice_share(input, advice.gain_ns);
	if (worst.costliest == TACHO_NONE || advice.value < advice.threshold)
		return NULL;
	advice.rank = advice_rank(input, worst_rank);
	describe_blocking(input, &worst, input->times[worst_rank].n_stretches, &advice);
	g_array_append_val(advices, advice);
	return NULL;
}

/* --- layouts that are converted ----------------------------------------------------------------- */

static gdouble conversions_ns(const struct advice_input *input, guint rank_index, guint64 *ret_n)
{
	const TachoTimeline *timeline = input->timeline;
	gdouble sum_ns = 0;

	*ret_n = 0;
	for (guint i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);
		guint cursor = 0;

		if (track->kind != TACHO_TRACK_STREAM || !is_of_rank(input, track, rank_index))
			continue;
		for (guint32 k = track->first_slice; k < track->first_slice + track->n_slices; k++)
			if (is_device_work(timeline, k) &&
			    kernel_trait_of_name(timeline, timeline->slices.name[k]) ==
				    KERNEL_CONVERTS_LAYOUT &&
			    selection_takes_time(&input->selection, rank_index,
						 timeline->slices.start_ns[k], &cursor)) {
				sum_ns += (gdouble)timeline->slices.duration_ns[k];
				(*ret_n)++;
			}
	}
	return sum_ns / input->times[rank_index].n_stretches;
}

/* tfprof's OperationChecker sees the attribute data_format; this sees what the wrong one costs. */
const gchar *check_layout(const struct advice_input *input, GArray *advices)
{
	struct advice advice = { .checker = "layout",
				 .metric = "layout_conversion_pct",
				 .threshold = ADVICE_WORTH_PCT };
	guint64 n_worst = 0, n = 0;
	guint worst = TACHO_NONE;

	for (guint i = 0; i < input->timeline->ranks->len; i++) {
		gdouble ns = advice_takes_rank(input, i) ? conversions_ns(input, i, &n) : 0;

		if (ns <= advice.gain_ns)
			continue;
		advice.gain_ns = ns;
		n_worst = n;
		worst = i;
	}
	advice.value = advice_share(input, advice.gain_ns);
	if (worst == TACHO_NONE || advice.value < advice.threshold)
		return NULL;
	advice.rank = advice_rank(input, worst);
	advice.where = g_strdup("convolutions");
	advice.evidence = g_strdup_printf(
		"The device of rank %d converts tensors between NCHW and NHWC for %.2f ms %s, in "
		"%.1f kernels.",
		advice.rank, MS(advice.gain_ns), input->each,
		(gdouble)n_worst / input->times[worst].n_stretches);
	advice.action = g_strdup("Keep the model and its input in the layout that the kernels use: "
				 ".to(memory_format=torch.channels_last).");
	g_array_append_val(advices, advice);
	return NULL;
}
