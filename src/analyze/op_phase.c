/* op_phase: which part of a step an operation is in.
 *
 * Backward is what autograd's engine runs: nodes and hooks, and what follows them on the thread for as
 * long as it makes no autograd node (hooks at backward's end), if the trace has autograd's numbers, which tell
 * what makes one. Optimizer is what runs in the region "Optimizer.step...", and what importers say applies gradients. Comm
 * is what queues communication, and forward is the rest. The operations of TensorFlow's graphs have types and scopes: what
 * is in a scope "gradients" is backward, and what applies gradients to a variable is optimizer. */
#include "analyze/op_phase.h"

#include "trace/op_trait.h"
#include "trace/region_kind.h"

const gchar *op_phase_name(OpPhase phase)
{
	static const gchar *const names[] = { "forward", "backward", "optimizer", "comm",
					      "replay" };

	return names[phase];
}

/* Whether autograd gave it a number: then it is forward, and makes a node. */
static gboolean makes_node(const TachoTimeline *timeline, guint32 slice)
{
	TachoOpArgs args = { .sequence = -1 };

	tacho_slice_op(timeline, slice, &args);
	return args.sequence >= 0;
}

/* Whether a forward operation of the track has a number. */
static gboolean has_number(const TachoTimeline *timeline, const TachoTrack *track)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++)
		if (slices->kind[i] == TACHO_SLICE_OP &&
		    !(slices->flags[i] & TACHO_SLICE_BACKWARD) && makes_node(timeline, i))
			return TRUE;
	return FALSE;
}

/* A track that is looked at, and what is found out on the way: looked up when first needed. */
struct phases {
	const TachoTimeline *timeline;
	const TachoTrack *track;
	enum { NUMBERS_UNKNOWN, NUMBERS_NONE, NUMBERS_THERE } numbers;
};

/* Whether the process's operations have numbers: else that one has none says nothing. */
static gboolean has_numbers(struct phases *phases)
{
	const TachoTimeline *timeline = phases->timeline;

	if (phases->numbers != NUMBERS_UNKNOWN)
		return phases->numbers == NUMBERS_THERE;
	phases->numbers = NUMBERS_NONE;
	for (guint i = 0; i < timeline->tracks->len && phases->numbers == NUMBERS_NONE; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->process == phases->track->process && track->kind == TACHO_TRACK_THREAD &&
		    has_number(timeline, track))
			phases->numbers = NUMBERS_THERE;
	}
	return phases->numbers == NUMBERS_THERE;
}

/* Autograd's nodes, its engine around a node and its hooks, and DDP's reducer, which is a hook. */
static gboolean is_backward(const TachoTimeline *timeline, guint32 slice)
{
	enum region_kind kind = region_kind_of(timeline, slice);

	return (timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD) ||
	       region_kind_evaluates(kind) || kind == REGION_ENGINE || kind == REGION_REDUCER ||
	       kind == REGION_COPY_GRADIENT;
}

/* The phase of an operation of a graph; FALSE: it is none. */
static gboolean phase_in_graph(const TachoTimeline *timeline, guint32 slice, OpPhase *ret_phase)
{
	TachoToldOp told;

	if (timeline->slices.kind[slice] != TACHO_SLICE_OP ||
	    !tacho_slice_told(timeline, slice, &told))
		return FALSE;
	*ret_phase = PHASE_FORWARD;
	if (op_trait_of_name(timeline, told.type) == OP_APPLIES_GRADIENTS)
		*ret_phase = PHASE_OPTIMIZER;
	else if (op_trait_of(timeline, slice) == OP_IN_GRADIENTS)
		*ret_phase = PHASE_BACKWARD;
	return TRUE;
}

/* `outside` is the phase around it; of a slice with none around, that of the one before. */
static OpPhase phase_of(struct phases *phases, guint32 slice, OpPhase outside)
{
	const TachoTimeline *timeline = phases->timeline;
	gboolean is_op = timeline->slices.kind[slice] == TACHO_SLICE_OP;
	OpPhase phase;

	if (timeline->slices.flags[slice] & TACHO_SLICE_UPDATE)
		return PHASE_OPTIMIZER;
	if (!(timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD) &&
	    phase_in_graph(timeline, slice, &phase))
		return phase;
	if (is_backward(timeline, slice))
		return PHASE_BACKWARD;
	if (timeline->slices.kind[slice] == TACHO_SLICE_ANNOTATION &&
	    region_kind_of(timeline, slice) == REGION_OPTIMIZER_STEP)
		return PHASE_OPTIMIZER;
	if (timeline->slices.parent[slice] != TACHO_NONE ||
	    timeline->slices.kind[slice] == TACHO_SLICE_MESSAGE)
		return outside;
	if (outside == PHASE_BACKWARD && is_op && has_numbers(phases) &&
	    !makes_node(timeline, slice))
		return PHASE_BACKWARD;
	return PHASE_FORWARD;
}

guint8 *op_phases_of_track(const TachoTimeline *timeline, const TachoTrack *track)
{
	guint8 *phases = g_new0(guint8, MAX(track->n_slices, 1u));
	struct phases state = { .timeline = timeline, .track = track };
	OpPhase before = PHASE_FORWARD;

	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 slice = track->first_slice + i;
		guint32 parent = timeline->slices.parent[slice];
		OpPhase outside =
			parent == TACHO_NONE ? before : phases[parent - track->first_slice];

		phases[i] = (guint8)phase_of(&state, slice, outside);
		if (parent == TACHO_NONE)
			before = phases[i];
	}
	for (guint32 i = 0; i < track->n_slices; i++)
		if (timeline->slices.kind[track->first_slice + i] == TACHO_SLICE_OP &&
		    slice_communicates(timeline, track->first_slice + i))
			phases[i] = PHASE_COMM;
	return phases;
}
