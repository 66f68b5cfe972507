/* step_finder: where the training steps of each rank begin and end.
 *
 * A step is sought on the rank's main process, in the first of these sources that has any:
 *
 * annotated  "ProfilerStep#N" annotations are steps, if any work begins in them: a profiler that is
 *            stepped once more, after the work, leaves one that holds nothing. Where the main process has
 *            none, those of the rank's other processes are taken. Else marks named "step": each
 *            begins a step that lasts to the next one, or, where its text is "whole", for `second` ns.
 * optimizer  "Optimizer.step#..." annotations. Those without an autograd node between their ends
 *            are one update (a sparse and a dense optimizer). Updates that come in a fixed cycle
 *            (the D, D, G of a GAN, told apart by name, by the ops in them, and by the memory that
 *            they change) are one step a cycle. Step k is [end of step k - 1, end of its last update).
 * period     the sequence of the main thread's outermost ops repeats (op_sequence), and what it repeats holds at
 *            least half of what the process and its devices did (step_coverage); not of a device's calls alone.
 *
 * A rank with none of these has the steps of the rank whose counted steps began first, or that has marked ones, unless steps are
 * regions of a profiler. Where another rank has annotated steps, or optimizers' and no more than half as many, a period alone makes
 * none: what serves those that train repeats itself for each of them.
 *
 * The start of an optimizer's step 0 is nobody's end: it is taken to be where the thread begins the
 * same sequence of ops as at the start of step 1, as long before its end as that is, or nearest to
 * it; or else the same as a little behind the start of step 1, which may begin with what the job only does
 * behind a step (it logs the loss). If there is no step 1, it is the first wait (data loader), module or op, and the step counts
 * as incomplete. What follows the last update is an incomplete step if the process did not end in
 * an orderly way or had begun another backward pass, else it is what the job did after training.
 *
 * An update of which nothing is left but a mark "control_step" at its end was not recorded on purpose.
 * A step of such updates alone is a control step; one that also has others is incomplete.
 *
 * Numbers: annotated steps bring theirs, less the least of the run. The others count from 0, except
 * on a rank whose recording began when other ranks had already ended steps: it goes on from the
 * step of theirs that ends next to its own first one. */
#include "base/for_each.h"
#include "base/hash_mix.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "correlate/correlate_internal.h"

#include <stdlib.h>
#include <string.h>

#include "correlate/op_sequence.h"
#include "correlate/shared_steps.h"
#include "correlate/step_coverage.h"
#include "correlate/step_update.h"
#include "correlate/step_window.h"
#include "trace/clock_map.h"
#include "trace/mark_kind.h"
#include "trace/op_trait.h"
#include "trace/region_kind.h"

enum {
	MAX_CYCLE = 64,		/* updates a step */
	MIN_CYCLE_PERCENT = 95, /* of the updates equal to the one a cycle later */
	MIN_WARM_UP = 2,	/* updates that may differ from all others */
	MAX_PROLOGUE = 8,	/* ops compared to find where step 0 begins */
	MAX_EPILOGUE = 64,	/* ops behind the end of a step that belong to it */
	/* of a run that is being written: */
	MIN_PERIODS = 10, /* before what repeats itself is believed to be steps */
	MAX_AHEAD = 16,	  /* steps of the others for which a rank without steps is waited for */
	SILENT_S = 5, /* a rank that has ended, and of which nothing comes for so long, is gone */
	OPEN_S = 3,   /* for which the end of a collective may be on its way */
	MIN_PERIOD_S = 15, /* of the run, before what repeats itself ... */
};

/* What is known of a rank in a window of a run that is being written. */
struct rank_window {
	const struct rank_history *before; /* never NULL */
	gboolean is_over;		   /* nothing more will be written */
	guint n_least;			   /* StepWindow's */
	guint8 source; /* TachoStepSource: the best that tells steps of any rank */
	gint64 before_ns; /* when the last step ended that was found before; G_MININT64: there is none */
	GArray *updates; /* struct update of this window, settled, by the finder */
	guint cycle;
	gboolean has_updates, is_changed;
};

/* The steps of one rank, as found. */
struct rank_steps {
	TachoStepSource source;
	guint32 rank_index;
	guint32 process;
	guint32 main_track;
	GArray *steps;		    /* TachoStep */
	GArray *control_steps;	    /* TachoStep */
	gboolean is_marked;	    /* by marks "step" */
	gint64 shift;		    /* added to their numbers */
	struct rank_window *window; /* NULL: all of the run is there */
	guint64 n_outside; /* work that should be in steps and is not, more than is; 0: it is not */
};

static void add_step(struct rank_steps *found, gint64 number, gint64 start_ns, gint64 end_ns,
		     gboolean is_complete)
{
	TachoStep step = {
		.rank_index = found->rank_index,
		.number = (guint32)CLAMP(number, 0, G_MAXUINT32 - 1),
		.start_ns = start_ns,
		.end_ns = MAX(start_ns, end_ns),
		.is_complete = is_complete,
	};

	g_array_append_val(found->steps, step);
}

/* Call `visit` for each slice of the process's threads, and of what stands beside them. */
static void visit_slices(const TachoTimeline *timeline, guint32 process,
			 void (*visit)(const TachoTimeline *timeline, guint32 slice, gpointer data),
			 gpointer data)
{
	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		if (track->process != process ||
		    (track->kind != TACHO_TRACK_THREAD && track->kind != TACHO_TRACK_ASYNC))
			continue;
		for (guint32 k = 0; k < track->n_slices; k++)
			visit(timeline, track->first_slice + k, data);
	}
}

/* --- annotated ------------------------------------------------------------------------------- */

static gint compare_steps_by_time(gconstpointer a, gconstpointer b)
{
	const TachoStep *left = a, *right = b;

	return ORDER(left->start_ns, right->start_ns) ?: ORDER(left->number, right->number);
}

static void add_profiler_step(const TachoTimeline *timeline, guint32 slice, gpointer data)
{
	const TachoSlices *slices = &timeline->slices;
	guint8 kind = slices->kind[slice];

	/* profilers of PyTorch before 1.10 took regions for ops */
	if ((kind == TACHO_SLICE_ANNOTATION || kind == TACHO_SLICE_OP) &&
	    region_kind_of(timeline, slice) == REGION_STEP)
		add_step(data, region_step_number(timeline, slices->name[slice]),
			 slices->start_ns[slice], tacho_slice_end_ns(timeline, slice),
			 !(slices->flags[slice] & TACHO_SLICE_OPEN));
}

/* Work of a process, and how much of it begins in one of `steps`, which are sorted. */
struct work_count {
	const GArray *steps;
	guint64 n, n_inside;
	guint64 n_behind; /* the begin of the first step, in none */
	gint64 last_ns;	  /* when the last one inside begins */
};

static void count_work(const TachoTimeline *timeline, guint32 slice, gpointer data)
{
	struct work_count *count = data;
	guint8 kind = timeline->slices.kind[slice];

	if ((kind != TACHO_SLICE_OP && kind != TACHO_SLICE_KERNEL && kind != TACHO_SLICE_RUNTIME &&
	     kind != TACHO_SLICE_COLLECTIVE) ||
	    region_kind_of(timeline, slice) == REGION_STEP)
		return;
	count->n++;
	if (!step_coverage_holds(count->steps, timeline->slices.start_ns[slice])) {
		count->n_behind += timeline->slices.start_ns[slice] >=
				   g_array_index(count->steps, TachoStep, 0).start_ns;
		return;
	}
	count->n_inside++;
	count->last_ns = MAX(count->last_ns, timeline->slices.start_ns[slice]);
}

/* The loop was left after the work: steps behind all of it, which ended with nothing in them, are none. */
static void drop_empty_end(GArray *steps, gint64 last_work_ns)
{
	guint n = steps->len;

	while (n > 0 && g_array_index(steps, TachoStep, n - 1).is_complete &&
	       g_array_index(steps, TachoStep, n - 1).start_ns > last_work_ns)
		n--;
	g_array_set_size(steps, n);
}

/* Other threads may tell of the step that a thread is in: of those of one number that overlap, the one that
 * began first is the step. `steps` are sorted by time. */
static void drop_echoes(GArray *steps)
{
	guint n_kept = 0;

	for (guint i = 0; i < steps->len; i++) {
		TachoStep step = g_array_index(steps, TachoStep, i);
		TachoStep *last = n_kept ? &g_array_index(steps, TachoStep, n_kept - 1) : NULL;

		if (last && last->number == step.number && step.start_ns < last->end_ns)
			continue;
		g_array_index(steps, TachoStep, n_kept++) = step;
	}
	g_array_set_size(steps, n_kept);
}

/* Who steps the profiler may be another process than the one that works. */
static void visit_other_processes(const TachoTimeline *timeline, struct rank_steps *found)
{
	gint32 rank = tacho_timeline_process(timeline, found->process)->rank;

	for (guint32 i = 0; i < timeline->processes->len; i++)
		if (i != found->process && tacho_timeline_process(timeline, i)->rank == rank)
			visit_slices(timeline, i, add_profiler_step, found);
}

static void find_profiler_steps(const TachoTimeline *timeline, struct rank_steps *found)
{
	struct work_count count = { .steps = found->steps, .last_ns = G_MININT64 };

	visit_slices(timeline, found->process, add_profiler_step, found);
	if (found->steps->len == 0)
		visit_other_processes(timeline, found);
	if (found->steps->len == 0)
		return;
	g_array_sort(found->steps, compare_steps_by_time);
	drop_echoes(found->steps);
	visit_slices(timeline, found->process, count_work, &count);
	if (count.n && !count.n_inside) /* stepped after the work, or cut before it */
		g_array_set_size(found->steps, 0);
	if (count.n_inside)
		drop_empty_end(found->steps, count.last_ns);
	/* a profiler's step ends where the next begins, or the recording ends */
	if (count.n_behind > count.n_inside)
		found->n_outside = count.n_behind;
}

static gboolean mark_is_of(const TachoTimeline *timeline, const TachoMark *mark, guint32 process,
			   enum mark_kind kind)
{
	return mark->track < timeline->tracks->len &&
	       tacho_timeline_track(timeline, mark->track)->process == process &&
	       mark_kind_of(timeline, mark) == kind;
}

static void find_marked_steps(const TachoTimeline *timeline, struct rank_steps *found)
{
	const TachoProcess *process = tacho_timeline_process(timeline, found->process);

	FOR_EACH(const TachoMark, mark, timeline->marks) {
		if (!mark_is_of(timeline, mark, found->process, MARK_STEP))
			continue;
		if (mark_step_is_whole(timeline, mark))
			add_step(found, mark->first, mark->time_ns,
				 clock_map_add(mark->time_ns, mark->second), TRUE);
		else
			add_step(found, mark->first, mark->time_ns, process->end_ns, FALSE);
	}
	g_array_sort(found->steps, compare_steps_by_time);
	for (guint i = 0; i + 1 < found->steps->len; i++) {
		TachoStep *step = &g_array_index(found->steps, TachoStep, i);

		if (!step->is_complete)
			step->end_ns = (step + 1)->start_ns;
		step->is_complete = TRUE;
	}
}

/* --- optimizer ------------------------------------------------------------------------------- */

static gboolean is_optimizer_step(const TachoTimeline *timeline, guint32 slice)
{
	guint8 kind = timeline->slices.kind[slice];

	return (kind == TACHO_SLICE_ANNOTATION || kind == TACHO_SLICE_OP) &&
	       !(timeline->slices.flags[slice] & TACHO_SLICE_OPEN) &&
	       region_kind_of(timeline, slice) == REGION_OPTIMIZER_STEP;
}

/* An optimizer that wraps another has both in its steps. */
static gboolean is_inside_optimizer_step(const TachoTimeline *timeline, guint32 slice)
{
	while ((slice = timeline->slices.parent[slice]) != TACHO_NONE)
		if (is_optimizer_step(timeline, slice))
			return TRUE;
	return FALSE;
}

static guint64 hash_work(const TachoTimeline *timeline, guint32 slice)
{
	const TachoSlices *slices = &timeline->slices;
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[slice]);
	guint64 hash = hash_mix(HASH_MIX_START, slices->name[slice]);

	for (guint32 i = slice + 1; i < track->first_slice + track->n_slices; i++) {
		if (slices->start_ns[i] >= tacho_slice_end_ns(timeline, slice))
			break;
		if (slices->kind[i] == TACHO_SLICE_OP)
			hash = hash_mix(hash, slices->name[i]);
	}
	return hash;
}

/* What an operation changes in another one is memory of its own: a new tensor, DDP's copy of a gradient. */
static gboolean is_in_operation(const TachoTimeline *timeline, guint32 slice)
{
	guint32 parent = timeline->slices.parent[slice];

	return parent != TACHO_NONE && timeline->slices.kind[parent] == TACHO_SLICE_OP &&
	       !is_optimizer_step(timeline, parent);
}

/* Where the update itself begins: some call the whole pass in it (a closure). */
static guint32 behind_closure(const TachoTimeline *timeline, guint32 slice, guint32 end)
{
	guint32 begin = slice + 1;

	for (guint32 i = begin; i < end; i++) {
		if (timeline->slices.start_ns[i] >= tacho_slice_end_ns(timeline, slice))
			break;
		if (timeline->slices.flags[i] & TACHO_SLICE_BACKWARD)
			begin = i + 1;
	}
	return begin;
}

/* The memory that the update's first operation in place changes, a parameter or a state of the optimizer; 0: it is not
 * known. `ret_is_unasked`: since it was not recorded; what the operation has of its twin may be another optimizer's. */
static guint32 hash_changed(const TachoTimeline *timeline, guint32 slice, gboolean *ret_is_unasked)
{
	const TachoSlices *slices = &timeline->slices;
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[slice]);
	guint32 end = track->first_slice + track->n_slices;

	for (guint32 i = behind_closure(timeline, slice, end); i < end; i++) {
		TachoTensor tensor;

		if (slices->start_ns[i] >= tacho_slice_end_ns(timeline, slice))
			break;
		if (slices->kind[i] != TACHO_SLICE_OP || op_trait_of(timeline, i) != OP_IN_PLACE ||
		    is_in_operation(timeline, i))
			continue;
		*ret_is_unasked = (slices->flags[i] & TACHO_SLICE_UNASKED) != 0;
		if (*ret_is_unasked)
			return 0;
		if (tacho_slice_input(timeline, i, 0, &tensor) && tensor.storage)
			return (guint32)(tensor.storage >> 4) ^ (guint32)tensor.offset_bytes;
	}
	return 0;
}

static gint compare_updates(gconstpointer a, gconstpointer b)
{
	const struct update *left = a, *right = b;

	return ORDER(left->end_ns, right->end_ns);
}

static void add_backward_time(const TachoTimeline *timeline, guint32 slice, gpointer times)
{
	if (timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD)
		g_array_append_val((GArray *)times, timeline->slices.start_ns[slice]);
}

/* The begins of the process's autograd nodes, in order. */
static GArray *collect_backward_times(const TachoTimeline *timeline, guint32 process)
{
	GArray *times = g_array_new(FALSE, FALSE, sizeof(gint64));

	visit_slices(timeline, process, add_backward_time, times);
	g_array_sort(times, order_int64);
	return times;
}

static guint count_up_to(GArray *times, gint64 time_ns)
{
	return ROWS_BEFORE(times, gint64, row, *row <= time_ns);
}

/* Make one update of those that no backward pass parts. Where nobody recorded autograd, each call
 * is one. */
static void merge_updates(GArray *updates, GArray *backward_times)
{
	guint n = 0;

	for (guint i = 0; i < updates->len && backward_times->len > 0; i++) {
		struct update update = g_array_index(updates, struct update, i);
		struct update *last = n > 0 ? &g_array_index(updates, struct update, n - 1) : NULL;

		if (last && !last->is_control && !update.is_control &&
		    count_up_to(backward_times, last->end_ns) ==
			    count_up_to(backward_times, update.end_ns)) {
			last->end_ns = update.end_ns;
			for (guint trait = 0; trait < N_UPDATE_TRAITS; trait++)
				last->hash[trait] =
					hash_mix(hash_mix(HASH_MIX_START, last->hash[trait]),
						 update.hash[trait]);
			last->is_unasked |= update.is_unasked;
		} else {
			g_array_index(updates, struct update, n++) = update;
		}
	}
	if (backward_times->len > 0)
		g_array_set_size(updates, n);
}

static void add_update(const TachoTimeline *timeline, guint32 slice, gpointer updates)
{
	struct update update = { .is_control = FALSE };

	if (!is_optimizer_step(timeline, slice) || is_inside_optimizer_step(timeline, slice))
		return;
	update.end_ns = tacho_slice_end_ns(timeline, slice);
	update.hash[BY_NAME] = timeline->slices.name[slice];
	update.hash[BY_WORK] = hash_work(timeline, slice);
	update.hash[BY_TENSOR] =
		hash_mix(update.hash[BY_WORK], hash_changed(timeline, slice, &update.is_unasked));
	g_array_append_val((GArray *)updates, update);
}

static void add_control_updates(const TachoTimeline *timeline, guint32 process, GArray *updates)
{
	FOR_EACH(const TachoMark, mark, timeline->marks) {
		struct update update = { .end_ns = mark->time_ns, .is_control = TRUE };

		if (mark_is_of(timeline, mark, process, MARK_CONTROL_STEP))
			g_array_append_val(updates, update);
	}
}

static GArray *collect_updates(const TachoTimeline *timeline, guint32 process,
			       GArray *backward_times)
{
	GArray *updates = g_array_new(FALSE, FALSE, sizeof(struct update));

	visit_slices(timeline, process, add_update, updates);
	add_control_updates(timeline, process, updates);
	g_array_sort(updates, compare_updates);
	merge_updates(updates, backward_times);
	return updates;
}

/* Pairs of updates, and how many of them are alike. */
struct comparison {
	guint n, n_equal;
};

static void compare(struct comparison *comparison, gboolean is_equal)
{
	comparison->n++;
	comparison->n_equal += is_equal;
}

static gboolean is_alike(const struct comparison *comparison)
{
	return comparison->n > 0 && comparison->n_equal * 100 >= comparison->n * MIN_CYCLE_PERCENT;
}

/* Compare updates whose tensors were recorded with the next such at the same place in a cycle. In the middle of a run they are far
 * apart: only every 17th may have been asked for. */
static gboolean are_tensors_alike(GArray *updates, guint first, guint length)
{
	const struct update *last[MAX_CYCLE] = { NULL }; /* by the place in the cycle */
	struct comparison asked = { 0 };

	for (guint i = first; i < updates->len; i++) {
		const struct update *one = &g_array_index(updates, struct update, i);
		const struct update **before = &last[i % length];

		if (one->is_unasked || one->is_control)
			continue;
		if (*before)
			compare(&asked, (*before)->hash[BY_TENSOR] == one->hash[BY_TENSOR]);
		*before = one;
	}
	return is_alike(&asked);
}

/* Where tensors decide, updates whose tensors were not recorded are compared by their work; but some must have been, and
 * those that were must be alike by themselves. */
static gboolean is_cycle(GArray *updates, guint length, enum update_trait trait)
{
	/* the first updates make the optimizer's state, and DDP rebuilds its buckets behind the first */
	guint first = MIN(MAX(length, MIN_WARM_UP), updates->len / 4);
	struct comparison all = { 0 };

	for (guint i = first; i + length < updates->len; i++) {
		const struct update *one = &g_array_index(updates, struct update, i);
		const struct update *next = one + length;
		gboolean is_unasked = one->is_unasked || next->is_unasked;
		enum update_trait by = trait == BY_TENSOR && is_unasked ? BY_WORK : trait;
		gboolean is_control = one->is_control || next->is_control; /* may be anything */
		gboolean is_equal = is_control || one->hash[by] == next->hash[by];

		compare(&all, is_equal);
	}
	return is_alike(&all) && (trait != BY_TENSOR || are_tensors_alike(updates, first, length));
}

/* How many updates make a step. Memory may be another one in each step, and work that differs from call to call for other
 * reasons (parameters without gradient) has no cycle; then names must do. */
static guint find_cycle(GArray *updates)
{
	guint limit = MIN(MAX_CYCLE, updates->len / 2);

	for (gint trait = BY_TENSOR; trait <= BY_NAME; trait++)
		for (guint length = 1; length <= limit; length++)
			if (is_cycle(updates, length, (enum update_trait)trait))
				return length;
	return 1;
}

static guint32 first_loop_like_slice(const TachoTimeline *timeline, const OpSequence *sequence)
{
	static const TachoSliceKind KINDS[] = { TACHO_SLICE_WAIT, TACHO_SLICE_MODULE };

	for (guint k = 0; k < G_N_ELEMENTS(KINDS); k++)
		for (guint32 i = 0; i < sequence->n; i++)
			if (timeline->slices.kind[sequence->slice[i]] == KINDS[k])
				return sequence->slice[i];
	return sequence->slice[0];
}

static gboolean is_same_run(const OpSequence *sequence, guint32 a, guint32 b, guint32 length)
{
	return memcmp(sequence->token + a, sequence->token + b,
		      length * sizeof(*sequence->token)) == 0;
}

/* The position before `first_end` where the `n` ops from `position` on are found once more, nearest to `expected`; TACHO_NONE:
 * nowhere. */
static guint32 find_nearest(const OpSequence *sequence, guint32 first_end, guint32 position,
			    guint32 n, guint32 expected)
{
	guint32 best = TACHO_NONE;

	for (guint32 i = 0; i + n <= first_end; i++)
		if (is_same_run(sequence, i, position, n) &&
		    (best == TACHO_NONE ||
		     ABS((gint64)i - expected) < ABS((gint64)best - expected)))
			best = i;
	return best;
}

/* Where step 0, which ends at position `first_end`, begins, if step 1 is [first_end, second_end):
 * a position, or TACHO_NONE if nothing in it resembles the start of step 1. */
static guint32 find_first_start(const OpSequence *sequence, guint32 first_end, guint32 second_end)
{
	guint32 length = second_end - first_end;
	guint32 expected = first_end > length ? first_end - length : 0;
	guint32 best = TACHO_NONE;

	for (guint32 n = MIN(MAX_PROLOGUE, length); n > 0 && best == TACHO_NONE; n /= 2)
		best = find_nearest(sequence, first_end, first_end, n, expected);
	for (guint32 skipped = 1;
	     best == TACHO_NONE && skipped <= MAX_EPILOGUE && skipped + MAX_PROLOGUE <= length;
	     skipped++)
		best = find_nearest(sequence, first_end, first_end + skipped, MAX_PROLOGUE,
				    expected + skipped);
	return best;
}

static void add_first_step(const TachoTimeline *timeline, struct rank_steps *found,
			   const gint64 *ends_ns, guint n_ends)
{
	g_autoptr(OpSequence) sequence = op_sequence_new(timeline, found->main_track);
	guint32 first_end = op_sequence_count_before(sequence, timeline, ends_ns[0]);
	guint32 start = TACHO_NONE, slice;

	if (n_ends > 1)
		start = find_first_start(sequence, first_end,
					 op_sequence_count_before(sequence, timeline, ends_ns[1]));
	if (first_end == 0)
		add_step(found, 0, ends_ns[0], ends_ns[0], FALSE);
	else if (start != TACHO_NONE)
		add_step(found, 0, timeline->slices.start_ns[sequence->slice[start]], ends_ns[0],
			 TRUE);
	else {
		slice = first_loop_like_slice(timeline, sequence);
		add_step(found, 0, MIN(timeline->slices.start_ns[slice], ends_ns[0]), ends_ns[0],
			 FALSE);
	}
}

static guint count_controls(GArray *updates, guint first, guint n)
{
	guint n_controls = 0;

	for (guint i = first; i < first + n; i++)
		n_controls += g_array_index(updates, struct update, i).is_control;
	return n_controls;
}

static void add_optimizer_step(struct rank_steps *found, guint number, gint64 start_ns,
			       gint64 end_ns, guint n_controls, guint n_updates)
{
	TachoStep step;

	add_step(found, number, start_ns, end_ns, n_controls == 0);
	if (n_controls < n_updates)
		return;
	step = g_array_index(found->steps, TachoStep, found->steps->len - 1);
	step.is_complete = TRUE;
	g_array_append_val(found->control_steps, step);
	g_array_set_size(found->steps, found->steps->len - 1);
}

/* The updates that are over for sure come first: as long as no backward pass has begun behind it, the last may go on. */
static void drop_unsettled(GArray *updates, GArray *backward_times)
{
	guint n = updates->len;

	while (n > 0 && backward_times->len > 0 &&
	       count_up_to(backward_times, g_array_index(updates, struct update, n - 1).end_ns) ==
		       backward_times->len)
		n--;
	g_array_set_size(updates, n);
}

/* A control step ends with a record, which is behind the cut that it makes. */
static void drop_done(GArray *updates, gint64 before_ns)
{
	guint n = 0;

	while (n < updates->len && g_array_index(updates, struct update, n).end_ns <= before_ns)
		n++;
	if (n)
		g_array_remove_range(updates, 0, n);
}

/* How many updates make a step, by those before the window, too; 0: it is too early to tell. */
static guint find_window_cycle(struct rank_window *window, GArray *updates)
{
	const struct rank_history *before = window->before;
	g_autoptr(GArray) all = g_array_copy(before->updates);
	guint cycle;

	if (!before->n_steps && updates->len < window->n_least && !window->is_over)
		return 0;
	g_array_append_vals(all, updates->data, updates->len);
	cycle = find_cycle(all);
	window->is_changed |= before->n_steps > 0 && cycle != before->cycle;
	return cycle;
}

/* Steps of `cycle` updates each; `first` is the number of the first, which begins at `start_ns` unless it is the rank's first
 * of all. Returns when the last ended. */
static gint64 add_optimizer_steps(const TachoTimeline *timeline, struct rank_steps *found,
				  GArray *updates, guint cycle, guint first, gint64 start_ns)
{
	g_autoptr(GArray) ends_ns = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint i = cycle; i <= updates->len; i += cycle)
		g_array_append_val(ends_ns, g_array_index(updates, struct update, i - 1).end_ns);
	for (guint i = 0; i < ends_ns->len; i++) {
		gint64 end_ns = g_array_index(ends_ns, gint64, i);

		if (first + i == 0)
			add_first_step(timeline, found, (const gint64 *)(gpointer)ends_ns->data,
				       ends_ns->len);
		else
			add_optimizer_step(found, first + i, start_ns, end_ns,
					   count_controls(updates, i * cycle, cycle), cycle);
		start_ns = end_ns;
	}
	return start_ns;
}

static void find_optimizer_steps(const TachoTimeline *timeline, struct rank_steps *found)
{
	const TachoProcess *process = tacho_timeline_process(timeline, found->process);
	g_autoptr(GArray) backward_times = collect_backward_times(timeline, found->process);
	GArray *updates = collect_updates(timeline, found->process, backward_times);
	struct rank_window *window = found->window;
	guint first = window ? window->before->n_steps : 0, cycle, n_steps;
	gint64 last_ns;

	if (window) {
		window->updates = updates; /* its, to end */
		drop_done(updates, window->before_ns);
		window->has_updates = updates->len > 0;
		if (!window->is_over)
			drop_unsettled(updates, backward_times);
		cycle = window->cycle = find_window_cycle(window, updates);
	} else {
		cycle = find_cycle(updates);
	}
	n_steps = cycle ? updates->len / cycle : 0;
	/* where the first begins, the second tells */
	if (first + n_steps > 0 && (n_steps > 1 || first || !window || window->is_over)) {
		last_ns = add_optimizer_steps(timeline, found, updates, cycle, first,
					      window ? window->before_ns : 0);
		if ((!window || window->is_over) && process->end_ns > last_ns &&
		    (count_up_to(backward_times, last_ns) < backward_times->len ||
		     process->end != TACHO_END_EXITED))
			add_step(found, first + n_steps, last_ns, process->end_ns, FALSE);
	}
	if (!window)
		g_array_unref(updates);
}

/* --- period ---------------------------------------------------------------------------------- */

/* Calls of a device's runtime repeat layer by layer: alone they do not tell steps. */
static gboolean has_only_calls(const TachoTimeline *timeline, const OpSequence *sequence)
{
	for (guint32 i = 0; i < sequence->n; i++)
		if (timeline->slices.kind[sequence->slice[i]] != TACHO_SLICE_RUNTIME)
			return FALSE;
	return TRUE;
}

static void find_periodic_steps(const TachoTimeline *timeline, struct rank_steps *found)
{
	g_autoptr(OpSequence) sequence = op_sequence_new(timeline, found->main_track);
	g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(guint32));
	gboolean is_last_whole;

	if (has_only_calls(timeline, sequence) ||
	    !op_sequence_find_loop(sequence, starts, &is_last_whole))
		return;
	for (guint i = 0; i + 1 < starts->len; i++) {
		gboolean is_last = i + 2 == starts->len;
		guint32 first = sequence->slice[g_array_index(starts, guint32, i)];
		guint32 next = g_array_index(starts, guint32, i + 1);

		add_step(found, i, timeline->slices.start_ns[first],
			 is_last ? tacho_slice_end_ns(timeline, sequence->slice[next - 1])
				 : timeline->slices.start_ns[sequence->slice[next]],
			 !is_last || is_last_whole);
	}
	if (!step_coverage_is_most(timeline, found->process, found->steps))
		g_array_set_size(found->steps, 0);
}

/* --- all ranks ------------------------------------------------------------------------------- */

/* The thread that runs the loop: the process's first thread if it has slices worth it, else the one
 * that has most. */
static guint32 find_main_track(const TachoTimeline *timeline, guint32 process)
{
	guint32 pid = tacho_timeline_process(timeline, process)->pid;
	guint32 best = TACHO_NONE;
	guint64 best_slices = 0;

	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks) {
		guint64 n = track->n_slices;

		if (track->kind != TACHO_TRACK_THREAD || track->process != process)
			continue;
		if (track->tid == pid)
			n *= 8;
		if (n > best_slices) {
			best_slices = n;
			best = i;
		}
	}
	return best;
}

static void find_told_steps(const TachoTimeline *timeline, struct rank_steps *found)
{
	find_marked_steps(timeline, found);
	found->is_marked = found->steps->len > 0;
}

/* Of what annotates steps, those that the window brings and that are over. */
static void keep_new_steps(struct rank_steps *found)
{
	const struct rank_window *window = found->window;
	guint n_kept = 0;

	FOR_EACH(const TachoStep, step, found->steps)
		if (step->start_ns >= window->before_ns && (step->is_complete || window->is_over))
			g_array_index(found->steps, TachoStep, n_kept++) = *step;
	g_array_set_size(found->steps, n_kept);
}

/* What repeats itself in a window may do so for as long as the window is, and the last of it may not be over. */
static void keep_sure_periods(struct rank_steps *found)
{
	const struct rank_window *window = found->window;
	guint n = found->steps->len;
	gboolean is_sure =
		n > MIN_PERIODS &&
		(window->before->n_steps || g_array_index(found->steps, TachoStep, n - 1).end_ns >
						    MIN_PERIOD_S * G_GINT64_CONSTANT(1000000000));

	if (!window->is_over)
		g_array_set_size(found->steps, is_sure ? n - 2 : 0);
	FOR_EACH(TachoStep, step, found->steps)
		step->number += window->before->n_steps;
}

/* Whether the rank's window is looked at for steps told by `source`: what has told them before does so on, and what goes
 * before it is looked for, too, for then all was wrong. */
static gboolean window_asks(const struct rank_window *window, TachoStepSource source)
{
	if (window->is_over && !window->before->n_steps)
		return TRUE; /* all of the run is in the window */
	if (source == TACHO_STEPS_PERIOD &&
	    (window->has_updates || (window->source && window->source < TACHO_STEPS_PERIOD)))
		return FALSE;
	return !window->before->told || source <= (TachoStepSource)window->before->told;
}

static void settle_source(struct rank_steps *found)
{
	struct rank_window *window = found->window;
	guint8 before = window->before->source;

	if (found->source == TACHO_STEPS_ANNOTATED)
		keep_new_steps(found);
	else if (found->source == TACHO_STEPS_PERIOD)
		keep_sure_periods(found);
	if (found->source == TACHO_STEPS_PERIOD && !found->steps->len)
		found->source = TACHO_STEPS_NONE;
	window->is_changed |= window->before->n_steps > 0 && found->source &&
			      found->source != (TachoStepSource)before;
	found->is_marked |= window->before->is_marked;
	if (!found->source)
		found->source = (TachoStepSource)before;
}

static struct rank_steps find_rank_steps(const TachoTimeline *timeline, guint32 rank_index,
					 struct rank_window *window)
{
	static const struct {
		TachoStepSource source;
		void (*find)(const TachoTimeline *timeline, struct rank_steps *found);
	} FINDERS[] = {
		{ TACHO_STEPS_ANNOTATED, find_profiler_steps },
		{ TACHO_STEPS_ANNOTATED, find_told_steps },
		{ TACHO_STEPS_OPTIMIZER, find_optimizer_steps },
		{ TACHO_STEPS_PERIOD, find_periodic_steps },
	};
	struct rank_steps found = { .rank_index = rank_index, .window = window };

	found.process = tacho_timeline_rank(timeline, rank_index)->main_process;
	found.steps = g_array_new(FALSE, FALSE, sizeof(TachoStep));
	found.control_steps = g_array_new(FALSE, FALSE, sizeof(TachoStep));
	if (found.process >= timeline->processes->len)
		return found;
	found.main_track = find_main_track(timeline, found.process);
	if (found.main_track == TACHO_NONE)
		return found;
	for (guint i = 0; i < G_N_ELEMENTS(FINDERS) && found.steps->len == 0; i++) {
		if (window && !window_asks(window, FINDERS[i].source))
			continue;
		FINDERS[i].find(timeline, &found);
		found.source = found.steps->len ? FINDERS[i].source : TACHO_STEPS_NONE;
	}
	if (window)
		settle_source(&found);
	return found;
}

static void shift_numbers(GArray *steps, gint64 by)
{
	FOR_EACH(TachoStep, step, steps)
		step->number = (guint32)CLAMP((gint64)step->number + by, 0, G_MAXUINT32 - 1);
}

static guint64 distance_ns(gint64 a, gint64 b)
{
	return a > b ? (guint64)a - (guint64)b : (guint64)b - (guint64)a;
}

/* When the rank's first step ended, which may have been before the window. */
static gint64 first_end_ns(const TachoTimeline *timeline, const struct rank_steps *found)
{
	if (found->window && found->window->before->n_steps)
		return found->window->before->first_end_unix_ns - timeline->origin_unix_ns;
	return g_array_index(found->steps, TachoStep, 0).end_ns;
}

/* By how much the numbers of a rank that came late must grow to be those of `reference`. */
static guint32 find_lateness(const TachoTimeline *timeline, const struct rank_steps *late,
			     const struct rank_steps *reference)
{
	gint64 begin_ns = tacho_timeline_process(timeline, late->process)->start_ns;
	gint64 end_ns = g_array_index(late->steps, TachoStep, 0).end_ns;
	guint best = 0;

	if (begin_ns <= first_end_ns(timeline, reference))
		return 0;
	FOR_EACH_AT(const TachoStep, step, i, reference->steps)
		if (step->end_ns > begin_ns &&
		    distance_ns(step->end_ns, end_ns) <
			    distance_ns(g_array_index(reference->steps, TachoStep, best).end_ns,
					end_ns))
			best = i;
	return best;
}

/* Whether steps that another rank has tell that those of `found`, which are so by their period alone, are none. */
static gboolean is_refuted(const struct rank_steps *found, const struct rank_steps *other)
{
	if (other->source == TACHO_STEPS_ANNOTATED)
		return TRUE;
	return other->source == TACHO_STEPS_OPTIMIZER && found->steps->len / 2 >= other->steps->len;
}

/* Steps by their period alone, where another rank's are told, or counted and fewer. */
static void drop_guesses(struct rank_steps *ranks, guint n)
{
	for (guint i = 0; i < n; i++) {
		gboolean is_none = FALSE;

		for (guint k = 0; k < n && ranks[i].source == TACHO_STEPS_PERIOD; k++)
			is_none |= is_refuted(&ranks[i], &ranks[k]);
		if (!is_none)
			continue;
		g_array_set_size(ranks[i].steps, 0);
		ranks[i].source = TACHO_STEPS_NONE;
	}
}

/* The rank whose counted steps began first. */
static const struct rank_steps *find_reference(const TachoTimeline *timeline,
					       const struct rank_steps *ranks, guint n)
{
	const struct rank_steps *reference = NULL;

	for (guint i = 0; i < n; i++)
		if (ranks[i].source > TACHO_STEPS_ANNOTATED && ranks[i].steps->len > 0 &&
		    (!reference ||
		     first_end_ns(timeline, &ranks[i]) < first_end_ns(timeline, reference)))
			reference = &ranks[i];
	return reference;
}

/* `least` of the numbers that annotated steps brought before, G_MAXINT64: there were none. Returns the least of all. */
static gint64 number_alike(const TachoTimeline *timeline, struct rank_steps *ranks, guint n,
			   gint64 least)
{
	const struct rank_steps *reference = find_reference(timeline, ranks, n);

	for (guint i = 0; i < n; i++)
		for (guint k = 0;
		     ranks[i].source == TACHO_STEPS_ANNOTATED && k < ranks[i].steps->len; k++)
			least = MIN(least, g_array_index(ranks[i].steps, TachoStep, k).number);
	for (guint i = 0; i < n; i++) {
		const struct rank_window *window = ranks[i].window;

		if (!ranks[i].steps->len && !ranks[i].control_steps->len)
			continue;
		if (ranks[i].source == TACHO_STEPS_ANNOTATED)
			ranks[i].shift = -least;
		else if (window && window->before->n_steps)
			ranks[i].shift = window->before->shift;
		else if (reference && ranks[i].steps->len && &ranks[i] != reference)
			ranks[i].shift = find_lateness(timeline, &ranks[i], reference);
		shift_numbers(ranks[i].steps, ranks[i].shift);
		shift_numbers(ranks[i].control_steps, ranks[i].shift);
	}
	return least;
}

/* When the rank's main thread begins what it does next from `time_ns` on; `time_ns` where it does nothing more. */
static gint64 next_begin_ns(const TachoTimeline *timeline, guint32 main_track, gint64 time_ns)
{
	const TachoTrack *track = tacho_timeline_track(timeline, main_track);
	guint32 end = track->first_slice + track->n_slices;
	guint32 next =
		PARTITION_POINT(i, track->first_slice, end, timeline->slices.start_ns[i] < time_ns);

	while (next < end && timeline->slices.parent[next] != TACHO_NONE)
		next++;
	return next < end ? timeline->slices.start_ns[next] : time_ns;
}

static const struct rank_steps *find_marked(const struct rank_steps *ranks, guint n)
{
	for (guint i = 0; i < n; i++)
		if (ranks[i].is_marked)
			return &ranks[i];
	return NULL;
}

/* A rank in which nothing marks steps (one that serves the others, say) has those of the reference: each ends when it next
 * begins something. */
static void lend_steps(const TachoTimeline *timeline, struct rank_steps *ranks, guint n)
{
	const struct rank_steps *reference =
		find_reference(timeline, ranks, n) ?: find_marked(ranks, n);

	for (guint i = 0; i < n && reference; i++) {
		if (ranks[i].source != TACHO_STEPS_NONE || !run_share_owns_rank(timeline, i) ||
		    ranks[i].process >= timeline->processes->len ||
		    ranks[i].main_track == TACHO_NONE)
			continue;
		for (guint k = 0; k < reference->steps->len; k++) {
			TachoStep step = g_array_index(reference->steps, TachoStep, k);

			step.rank_index = i;
			step.start_ns = next_begin_ns(timeline, ranks[i].main_track, step.start_ns);
			step.end_ns = next_begin_ns(timeline, ranks[i].main_track, step.end_ns);
			g_array_append_val(ranks[i].steps, step);
		}
	}
}

/* The rank's steps, which end here, are the timeline's. */
static void hand_over(TachoTimeline *timeline, struct rank_steps *found)
{
	g_array_append_vals(timeline->steps, found->steps->data, found->steps->len);
	g_array_append_vals(timeline->control_steps, found->control_steps->data,
			    found->control_steps->len);
	if (timeline->step_source == TACHO_STEPS_NONE)
		timeline->step_source = found->source;
	g_array_free(found->steps, TRUE);
	g_array_free(found->control_steps, TRUE);
}

/* A rank whose owner tells its steps. */
static struct rank_steps of_other_owner(const TachoTimeline *timeline, guint32 rank_index)
{
	return (struct rank_steps){
		.rank_index = rank_index,
		.process = tacho_timeline_rank(timeline, rank_index)->main_process,
		.main_track = TACHO_NONE,
		.steps = g_array_new(FALSE, FALSE, sizeof(TachoStep)),
		.control_steps = g_array_new(FALSE, FALSE, sizeof(TachoStep)),
	};
}

/* What each owner has found of its ranks is known to all. */
static void share_found(TachoTimeline *timeline, struct rank_steps *ranks, guint n)
{
	g_autofree struct shared_steps *rows = NULL;

	if (!timeline->share)
		return;
	rows = g_new0(struct shared_steps, n + 1);
	for (guint i = 0; i < n; i++)
		rows[i] = (struct shared_steps){ .source = ranks[i].source,
						 .is_marked = ranks[i].is_marked,
						 .n_outside = ranks[i].n_outside,
						 .steps = ranks[i].steps,
						 .control_steps = ranks[i].control_steps };
	shared_steps_exchange(timeline, rows, n);
	for (guint i = 0; i < n; i++) {
		ranks[i].source = (TachoStepSource)rows[i].source;
		ranks[i].is_marked = rows[i].is_marked != 0;
		ranks[i].n_outside = rows[i].n_outside;
	}
}

void find_steps(TachoTimeline *timeline)
{
	guint n = timeline->ranks->len;
	g_autofree struct rank_steps *ranks = g_new0(struct rank_steps, n);

	for (guint i = 0; i < n; i++)
		ranks[i] = run_share_owns_rank(timeline, i) ? find_rank_steps(timeline, i, NULL)
							    : of_other_owner(timeline, i);
	share_found(timeline, ranks, n);
	drop_guesses(ranks, n);
	number_alike(timeline, ranks, n, G_MAXINT64);
	lend_steps(timeline, ranks, n);
	share_found(timeline, ranks, n); /* those that were lent, too */
	for (guint i = 0; i < n; i++) {
		if (ranks[i].n_outside)
			tacho_timeline_add_problem(
				timeline, TACHO_PROBLEM_CUT_STEP, ranks[i].n_outside,
				"rank %d: more operations and calls lie outside the marked steps "
				"than in them, so "
				"steps are cut short or missing",
				tacho_timeline_rank(timeline, i)->rank);
		hand_over(timeline, &ranks[i]);
	}
}

/* --- a window of a run ------------------------------------------------------------------------ */

static guint count_steps(const struct rank_steps *found)
{
	return found->steps->len + found->control_steps->len;
}

/* The largest number among the rank's steps; -1: it has none. */
static gint64 last_number(const struct rank_steps *found)
{
	gint64 last = -1;

	FOR_EACH(const TachoStep, step, found->steps)
		last = MAX(last, step->number);
	FOR_EACH(const TachoStep, step, found->control_steps)
		last = MAX(last, step->number);
	return last;
}

/* Whether more may come of the rank: where a run is read that is over, all processes are, but not all has been read. */
static gboolean may_go_on(const TachoTimeline *timeline, const struct rank_steps *found,
			  gint64 complete_ns)
{
	const TachoProcess *process;

	if (found->process >= timeline->processes->len)
		return FALSE;
	process = tacho_timeline_process(timeline, found->process);
	return process->end == TACHO_END_RUNNING ||
	       complete_ns - process->end_ns < SILENT_S * G_GINT64_CONSTANT(1000000000);
}

/* Up to which number steps are over on all ranks that go on. */
static gint64 find_common(const TachoTimeline *timeline, const struct rank_steps *ranks, guint n,
			  gint64 complete_ns)
{
	gint64 common = G_MAXINT64;
	guint most = 0;

	for (guint i = 0; i < n; i++)
		most = MAX(most, count_steps(&ranks[i]));
	for (guint i = 0; i < n; i++) {
		if (!may_go_on(timeline, &ranks[i], complete_ns))
			continue;
		if (ranks[i].source != TACHO_STEPS_NONE)
			common = MIN(common, last_number(&ranks[i]));
		else if (!ranks[i].window->before->n_steps && most < MAX_AHEAD)
			common = -1; /* it may be late, or one that never has any */
	}
	return common;
}

/* When the last of what the rank's devices did ended that is known of; G_MAXINT64: it has none. */
static gint64 device_end_ns(const TachoTimeline *timeline, guint32 process)
{
	gint64 end_ns = G_MININT64;

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		if (track->process != process || track->kind != TACHO_TRACK_STREAM)
			continue;
		for (guint32 i = 0; i < track->n_slices; i++)
			end_ns = MAX(end_ns, tacho_slice_end_ns(timeline, track->first_slice + i));
	}
	return end_ns == G_MININT64 ? G_MAXINT64 : end_ns;
}

/* When the first collective of the process began that is open. Its end may be on its way: another thread than the one that
 * waits for it tells it. After a while it is one that lasts; G_MAXINT64: there is none. */
static gint64 first_open_ns(const TachoTimeline *timeline, guint32 process, gint64 complete_ns)
{
	gint64 first_ns = G_MAXINT64;

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		gint64 start_ns = timeline->slices.start_ns[i];

		if (timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE &&
		    (timeline->slices.flags[i] & TACHO_SLICE_OPEN) && start_ns < first_ns &&
		    complete_ns - start_ns < OPEN_S * G_GINT64_CONSTANT(1000000000) &&
		    process_of_slice(timeline, i) == process)
			first_ns = start_ns;
	}
	return first_ns;
}

static void keep_common(GArray *steps, gint64 common, gint64 complete_ns)
{
	guint n = 0;

	while (n < steps->len && g_array_index(steps, TachoStep, n).number <= common &&
	       g_array_index(steps, TachoStep, n).end_ns <= complete_ns)
		n++;
	g_array_set_size(steps, n);
}

/* Keep the steps of which all is known. */
static void keep_known(const TachoTimeline *timeline, struct rank_steps *found, gint64 complete_ns)
{
	gint64 known_ns = MIN(complete_ns, device_end_ns(timeline, found->process));

	known_ns = MIN(known_ns, first_open_ns(timeline, found->process, complete_ns));
	keep_common(found->steps, G_MAXINT64, known_ns);
	keep_common(found->control_steps, G_MAXINT64, known_ns);
}

static gint64 last_end_ns(const struct rank_steps *found, gint64 none_ns)
{
	gint64 end_ns = none_ns;

	FOR_EACH(const TachoStep, step, found->steps)
		end_ns = MAX(end_ns, step->end_ns);
	FOR_EACH(const TachoStep, step, found->control_steps)
		end_ns = MAX(end_ns, step->end_ns);
	return end_ns;
}

/* What will be known of the rank's steps, once these have been given out. */
static void note_found(const TachoTimeline *timeline, struct rank_steps *found, StepWindow *steps)
{
	struct rank_window *window = found->window;
	struct window_steps row = {
		.rank = tacho_timeline_rank(timeline, found->rank_index)->rank,
		.source = (guint8)found->source,
		.is_marked = found->is_marked,
		.n_steps = count_steps(found),
		.shift = found->shift,
		.cycle = window->cycle,
		.updates = window->updates,
		.last_end_ns = last_end_ns(found, window->before_ns),
	};
	gint64 to_ns = window->is_over ? G_MAXINT64 : row.last_end_ns;

	row.first_end_ns = row.last_end_ns;
	FOR_EACH(const TachoStep, step, found->steps)
		row.first_end_ns = MIN(row.first_end_ns, step->end_ns);
	g_array_append_val(steps->found, row);
	g_array_append_val(steps->from_ns, window->before_ns);
	g_array_append_val(steps->to_ns, to_ns);
}

static void init_window(struct rank_window *window, const TachoTimeline *timeline, guint rank_index,
			StepWindow *steps, gboolean is_over)
{
	*window = (struct rank_window){
		.before =
			step_window_history(steps, tacho_timeline_rank(timeline, rank_index)->rank),
		.is_over = is_over,
		.n_least = steps->n_least,
		.source = steps->source,
		.before_ns = G_MININT64,
	};
	if (window->before->n_steps)
		window->before_ns = window->before->last_end_unix_ns - timeline->origin_unix_ns;
}

void find_window_steps(TachoTimeline *timeline, StepWindow *steps, gint64 complete_ns,
		       gboolean is_forced)
{
	guint n = timeline->ranks->len;
	g_autofree struct rank_steps *ranks = g_new0(struct rank_steps, n);
	g_autofree struct rank_window *windows = g_new0(struct rank_window, n);
	gboolean is_over = complete_ns == G_MAXINT64;
	gint64 common, least;

	for (guint i = 0; i < n; i++) /* so that no history moves below */
		step_window_history(steps, tacho_timeline_rank(timeline, i)->rank);
	for (guint i = 0; i < n; i++) {
		init_window(&windows[i], timeline, i, steps, is_over);
		ranks[i] = find_rank_steps(timeline, i, &windows[i]);
		steps->is_changed |= windows[i].is_changed;
		step_window_tell(steps, tacho_timeline_rank(timeline, i)->rank, ranks[i].source);
	}
	drop_guesses(ranks, n);
	least = number_alike(timeline, ranks, n, steps->least);
	lend_steps(timeline, ranks, n);
	for (guint i = 0; i < n && !is_over; i++)
		keep_known(timeline, &ranks[i], complete_ns);
	common = is_over || is_forced ? G_MAXINT64 : find_common(timeline, ranks, n, complete_ns);
	for (guint i = 0; i < n; i++) {
		keep_common(ranks[i].steps, common, G_MAXINT64);
		keep_common(ranks[i].control_steps, common, G_MAXINT64);
		if (count_steps(&ranks[i]))
			steps->least = least;
		note_found(timeline, &ranks[i], steps);
		hand_over(timeline, &ranks[i]);
	}
}
