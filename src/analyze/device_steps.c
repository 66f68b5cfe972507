/* device_steps: the steps of a rank as its devices live them.
 *
 * A host that runs ahead ends its step while devices still work on it; what they do then would count for the
 * step after. Here a step ends with the last of the work that was launched in it (by calls that begin and end
 * in the step), if that is after the host's end, and the next begins there. The first begins when what was
 * launched in no step, and was over before the first step's own work, has ended.
 *
 * These are the steps of the TensorBoard plug-in of PyTorch's profiler (pytorch/kineto, tb_plugin,
 * event_parser.py: _find_device_steps, _update_steps_duration), but that it then drops a last step with less
 * than 80 % as much work as the one before; here an incomplete step is told by its `is_complete`. */
#include "analyze/device_steps.h"

#include "analyze/device_work.h"
#include "base/for_each.h"
#include "base/partition_point.h"

/* When the work that was launched in a step begins and ends. */
struct span {
	gint64 begin_ns, end_ns; /* begin > end: there is none */
};

struct finder {
	const TachoTimeline *timeline;
	const TachoStep *steps; /* all of the rank */
	guint n;
	struct span *spans; /* one a step */
	GArray *outside;    /* guint32: work that was launched in no step */
};

/* The steps of a rank stand together, by rank. */
static const TachoStep *steps_of_rank(const TachoTimeline *timeline, guint rank_index, guint *ret_n)
{
	const TachoStep *steps = (const TachoStep *)(gpointer)timeline->steps->data;
	guint first = ROWS_BEFORE(timeline->steps, TachoStep, step, step->rank_index < rank_index);

	*ret_n = ROWS_BEFORE(timeline->steps, TachoStep, step, step->rank_index <= rank_index) -
		 first;
	return steps + first;
}

/* The step in which the call begins and ends, or `n`. */
static guint step_of_call(const struct finder *finder, guint32 call)
{
	gint64 begin_ns = finder->timeline->slices.start_ns[call];
	guint n_before = PARTITION_POINT(i, 0, finder->n, finder->steps[i].start_ns <= begin_ns);

	if (n_before == 0 ||
	    tacho_slice_end_ns(finder->timeline, call) > finder->steps[n_before - 1].end_ns)
		return finder->n;
	return n_before - 1;
}

static void add_work(struct finder *finder, guint32 work)
{
	guint32 call = finder->timeline->slices.launch[work];
	guint step = call == TACHO_NONE ? finder->n : step_of_call(finder, call);
	struct span *span;

	if (step == finder->n) {
		g_array_append_val(finder->outside, work);
		return;
	}
	span = &finder->spans[step];
	span->begin_ns = MIN(span->begin_ns, finder->timeline->slices.start_ns[work]);
	span->end_ns = MAX(span->end_ns, tacho_slice_end_ns(finder->timeline, work));
}

static void find_spans(struct finder *finder, const struct selection *selection, guint rank_index)
{
	const TachoTimeline *timeline = finder->timeline;

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint end = track->first_slice + track->n_slices;

		if (track->kind != TACHO_TRACK_STREAM || !selection_takes_track(selection, track) ||
		    tacho_track_process(timeline, track)->rank_index != rank_index)
			continue;
		for (guint32 slice = track->first_slice; slice < end; slice++)
			if (is_device_work(timeline, slice))
				add_work(finder, slice);
	}
}

/* Where the first step begins: when the work of before is over. */
static gint64 find_begin(const struct finder *finder)
{
	gint64 begin_ns = finder->steps[0].start_ns;

	for (guint i = 0; i < finder->outside->len; i++) {
		guint32 work = g_array_index(finder->outside, guint32, i);
		gint64 end_ns = tacho_slice_end_ns(finder->timeline, work);

		if (finder->spans[0].begin_ns <= finder->spans[0].end_ns &&
		    end_ns < finder->spans[0].begin_ns)
			begin_ns = MAX(begin_ns, end_ns);
	}
	return begin_ns;
}

static gboolean has_spans(const struct finder *finder)
{
	for (guint i = 0; i < finder->n; i++)
		if (finder->spans[i].begin_ns <= finder->spans[i].end_ns)
			return TRUE;
	return FALSE;
}

/* Add the chosen ones of the rank's steps; both are in order. */
static void add_steps(const struct finder *finder, const struct selection *selection, guint chosen,
		      guint end_of_chosen, GArray *steps)
{
	gboolean has_work = has_spans(finder);
	gint64 before_ns = has_work ? find_begin(finder) : G_MININT64;

	for (guint i = 0; i < finder->n; i++) {
		TachoStep step = finder->steps[i];

		if (has_work) {
			step.start_ns = MAX(before_ns, step.start_ns);
			step.end_ns = MAX(step.end_ns, step.start_ns);
			if (finder->spans[i].begin_ns <= finder->spans[i].end_ns)
				step.end_ns = MAX(step.end_ns, finder->spans[i].end_ns);
			before_ns = step.end_ns;
		}
		if (chosen == end_of_chosen ||
		    g_array_index(selection->chosen, TachoStep, chosen).number != step.number)
			continue;
		g_array_append_val(steps, step);
		chosen++;
	}
}

GArray *device_steps(const struct selection *selection, guint rank_index)
{
	GArray *steps = g_array_new(FALSE, FALSE, sizeof(TachoStep));
	struct finder finder = { .timeline = selection->timeline };
	g_autofree struct span *spans = NULL;
	g_autoptr(GArray) outside = g_array_new(FALSE, FALSE, sizeof(guint32));

	finder.steps = steps_of_rank(selection->timeline, rank_index, &finder.n);
	if (finder.n == 0)
		return steps;
	finder.spans = spans = g_new(struct span, finder.n);
	finder.outside = outside;
	for (guint i = 0; i < finder.n; i++)
		spans[i] = (struct span){ G_MAXINT64, G_MININT64 };
	find_spans(&finder, selection, rank_index);
	add_steps(&finder, selection, selection->first_of_rank[rank_index],
		  selection->first_of_rank[rank_index + 1], steps);
	return steps;
}
