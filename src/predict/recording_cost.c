/* recording_cost: the job without what recording it took.
 *
 * A run states what its events cost the job, measured in the job itself; as `tacho info` does, that is
 * shared out evenly to the slices. The event of a slice is begun when the slice begins, and finished
 * when it ends; a piece of work lies between two such moments, and half of what happens at each is
 * before it, half after. So a piece holds half of an event's cost; what a short one cannot hold is in
 * the next of its thread.
 *
 * That is what the probes do; what else they bring about (caches, the interpreter) is not in it. Where the
 * run has control steps, what these took is what a step takes, with an error; so is what recorded ones take
 * less the stated cost, which is taken to be wrong by four times itself: measured in a loop of
 * nothing else, it is a third to a seventh of what control steps showed. The two are weighed by
 * their variances. Then as many times the stated cost is taken out of each piece as makes the replayed step
 * as short as that; recording makes none shorter. */
#include <math.h>

#include <tacho/correlate.h>

#include "base/for_each.h"
#include "base/quantile.h"
#include "replay/replay_internal.h"
#include "predict/prediction.h"

/* Source: a rule: bounds the search. The kit's recordings showed up to 175 times the stated cost, give or take 93, but
 * their control steps are shorter for other reasons, too (STATED_ERROR). If wrong, a recording that is slowed by more is predicted too long. */
#define MAX_SCALE 32.0 /* times the stated cost; 0 is the least */
/* Tries of the search for how many times the stated cost fits.
 * Source: a rule: the search is about as quick as secants are, which double the digits within a few tries. If wrong, a step is off by
 * what is left, of what recording took. */
#define MAX_TRIES    8
#define ENOUGH_SHARE 1e-4 /* of a step */
/* What a stated cost may be wrong by at least, of a step.
 * Source: a rule: the clock of the job and its neighbours change steps by as much. If wrong, a stated cost near 0 outweighs
 * control steps, or counts for nothing. */
#define LEAST_SHARE 1e-3
/* What a stated cost is wrong by, of itself.
 * Source: a rule: the jobs of docs/validation.md, of very many small operations, showed 2.5 to 7 times what was stated, so 1.5 to 6
 * times more. In the kit the stated cost is below 0.12 % of a step, and control steps show 0.4 +- 0.5 % more on either half
 * (validate/stated_cost.py). But with that in the place of both constants, predictions of the same configuration were further off on
 * both halves (1.17 for 1.11 % on the tuned half, 1.11 for 0.94 % on the one set aside): control steps are shorter for other reasons,
 * too. If wrong, control steps count too little beside the stated cost, or too much. */
#define STATED_ERROR 4.0
/* The variance of control steps, relative to them, at least.
 * Source: derived from doubles: a weight that is finite, and beside which no other counts. */
#define LEAST_VARIANCE 1e-12

/* What recording a slice of the rank's main process costs. */
static gdouble slice_cost_ns(const TachoGraph *graph, guint32 rank_index)
{
	guint32 main = tacho_timeline_rank(graph->timeline, rank_index)->main_process;

	return (gdouble)tacho_timeline_process(graph->timeline, main)->cost_ns /
	       (gdouble)MAX(graph_slices_of_rank(graph, rank_index), 1u);
}

static gboolean is_work(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL ||
	       node->kind == TACHO_NODE_HOST;
}

/* Take it out of a piece, with what the pieces before it on its lane could not hold. */
static gint64 take_out(struct graph_node *node, gdouble cost_ns, gdouble *rest_ns)
{
	gint64 taken_ns = MIN(llround(cost_ns + *rest_ns), node->duration_ns);

	*rest_ns += cost_ns - (gdouble)taken_ns;
	node->duration_ns -= taken_ns;
	return taken_ns;
}

/* As many times the stated cost; of what share of the work that was. */
static gboolean take_out_all(TachoGraph *graph, gdouble scale, gdouble *ret_share, GError **error)
{
	guint32 n_ranks = graph->timeline->ranks->len;
	g_autofree gdouble *piece_ns = g_new(gdouble, MAX(n_ranks, 1u));
	g_autofree gdouble *rest_ns = g_new0(gdouble, MAX(graph->lanes->len, 1u));
	gdouble taken_ns = 0, all_ns = 0;

	for (guint32 rank = 0; rank < n_ranks; rank++)
		piece_ns[rank] = scale * slice_cost_ns(graph, rank) / 2;
	FOR_EACH(struct graph_node, node, graph->nodes) {
		if (!is_work(node))
			continue;
		all_ns += (gdouble)node->duration_ns;
		taken_ns += (gdouble)take_out(
			node, piece_ns[graph_lane_at(graph, node->lane)->rank_index],
			&rest_ns[node->lane]);
	}
	*ret_share = all_ns > 0 ? taken_ns / all_ns : 0;
	return taken_ns == 0 || graph_freeze(graph, error);
}

/* --- as much as control steps say ------------------------------------------------------------ */

struct search {
	TachoGraph *graph;
	gint64 *recorded_ns; /* of each node */
	gdouble share;	     /* of the work, taken out last */
};

static void search_init(struct search *search, TachoGraph *graph)
{
	search->graph = graph;
	search->recorded_ns = g_new(gint64, MAX(graph->nodes->len, 1u));
	for (guint32 i = 0; i < graph->nodes->len; i++)
		search->recorded_ns[i] = graph_node_at(graph, i)->duration_ns;
}

/* The median step of a replay, and its standard error, of itself. */
static gdouble median_step(const TachoReplay *replay, gdouble *ret_error)
{
	g_autoptr(GArray) steps = replay_step_times(replay);
	guint n_steps = steps->len;
	gdouble deviation, step_ns = median_with_deviation(steps, &deviation);

	*ret_error = MEDIAN_ERROR * deviation / sqrt(MAX(n_steps, 1u));
	return step_ns;
}

/* The median step without `scale` times the stated cost; the graph is left so. < 0: error. */
static gdouble step_without(struct search *search, gdouble scale, GError **error)
{
	g_autoptr(TachoReplay) replay = NULL;

	for (guint32 i = 0; i < search->graph->nodes->len; i++)
		graph_node_at(search->graph, i)->duration_ns = search->recorded_ns[i];
	if (!take_out_all(search->graph, scale, &search->share, error))
		return -1;
	replay = tacho_replay_run(search->graph, error);
	if (!replay)
		return -1;
	return replay_median_step_ns(replay);
}

/* What control steps say a step takes unrecorded: those beside the steps of the graph, or else by how much
 * others are shorter. */
static void measured_unrecorded(const TachoGraph *graph, const TachoRecordingExcess *excess,
				gdouble recorded_ns, TachoControlTime *ret_time)
{
	const GArray *steps = graph->steps;

	if (tacho_control_time(graph->timeline, g_array_index(steps, guint32, 0),
			       g_array_index(steps, guint32, steps->len - 1), ret_time))
		return;
	ret_time->step_ns = recorded_ns / (1 + excess->share);
	ret_time->error = excess->error;
}

/* What a step takes unrecorded: what control steps and the stated cost say together. */
static gdouble weigh(const TachoControlTime *control, gdouble recorded_ns, gdouble recorded_error,
		     gdouble stated_ns)
{
	gdouble stated_error = MAX(STATED_ERROR * (recorded_ns / stated_ns - 1), LEAST_SHARE);
	gdouble weight = 1 / MAX(control->error * control->error, LEAST_VARIANCE);
	gdouble stated_weight = 1 / (stated_error * stated_error + recorded_error * recorded_error);

	return MIN((control->step_ns * weight + stated_ns * stated_weight) /
			   (weight + stated_weight),
		   recorded_ns);
}

/* Find the scale at which a step takes `wanted_ns`: secants within bounds that hold it. A bound that stays twice counts half, so
 * that the other one comes over to its side (the Illinois algorithm: Dowell and Jarratt, BIT 11, 1971). */
static gboolean find_scale(struct search *search, gdouble recorded_ns, gdouble stated_ns,
			   gdouble wanted_ns, GError **error)
{
	gdouble low = 0, over_ns = recorded_ns - wanted_ns, high = 1;
	gdouble under_ns = wanted_ns - stated_ns, scale, step_ns;
	gint side = 0; /* of the last try: 1 above what is wanted, -1 below */

	while (under_ns < 0 && high < MAX_SCALE) {
		low = high;
		over_ns = -under_ns;
		high *= 2;
		step_ns = step_without(search, high, error);
		if (step_ns < 0)
			return FALSE;
		under_ns = wanted_ns - step_ns;
	}
	for (guint i = 0; i < MAX_TRIES && over_ns + under_ns > 0; i++) {
		scale = low + (high - low) * CLAMP(over_ns / (over_ns + under_ns), 0, 1);
		step_ns = step_without(search, scale, error);
		if (step_ns < 0)
			return FALSE;
		if (ABS(step_ns - wanted_ns) <= ENOUGH_SHARE * wanted_ns)
			return TRUE;
		if (step_ns > wanted_ns) {
			low = scale;
			over_ns = step_ns - wanted_ns;
			under_ns /= side > 0 ? 2 : 1;
		} else {
			high = scale;
			under_ns = wanted_ns - step_ns;
			over_ns /= side < 0 ? 2 : 1;
		}
		side = step_ns > wanted_ns ? 1 : -1;
	}
	return TRUE;
}

static gboolean follow_control_steps(struct search *search, const TachoReplay *recorded,
				     const TachoRecordingExcess *excess, GError **error)
{
	gdouble recorded_error, recorded_ns = median_step(recorded, &recorded_error), stated_ns;
	TachoControlTime control;

	stated_ns = step_without(search, 1, error);
	if (stated_ns < 0)
		return FALSE;
	if (stated_ns <= 0 || stated_ns >= recorded_ns)
		return TRUE;
	measured_unrecorded(search->graph, excess, recorded_ns, &control);
	return find_scale(search, recorded_ns, stated_ns,
			  weigh(&control, recorded_ns, recorded_error, stated_ns), error);
}

gboolean replay_take_out_recording(TachoGraph *graph, const TachoReplay *recorded,
				   gdouble *ret_share, GError **error)
{
	g_autoptr(TachoReplay) played = NULL;
	TachoRecordingExcess excess;
	struct search search;
	gboolean is_done;

	if (!tacho_recording_excess(graph->timeline, &excess))
		return take_out_all(graph, 1, ret_share, error);
	if (!recorded) {
		played = tacho_replay_run(graph, error);
		if (!played)
			return FALSE;
	}
	search_init(&search, graph);
	is_done = follow_control_steps(&search, recorded ? recorded : played, &excess, error);
	*ret_share = search.share;
	g_free(search.recorded_ns);
	return is_done;
}
