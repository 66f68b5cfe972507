/* step_times: when the steps of a replay begin and end.
 *
 * A step of a rank is the time of its main thread's nodes of that step; it begins when the node before the first
 * of them has ended. Which nodes these are depends on the graph alone, so who plays one many times finds
 * them once.
 *
 * Devices run behind their hosts, and a host that only launches does not feel how long its devices take. So a step
 * is not over when the host is, but when the devices are as near to being done as they were in the
 * recording:
 *
 *     L(j) = max(0, D(j) - H(j))      of the replay of what was recorded
 *     C(j) = max(C(j - 1), H(j), D(j) - L(j))
 *
 * where H(j) is when the host's step j ends, and D(j) when all is over that was launched in the steps up to it.
 * In the recording, C is H. For a host that waits for its devices in every step it is, too, whatever changes. Where
 * a change makes devices slower than the host, C(j) - C(j - 1) comes to what they take for a step, once the lag has
 * been used up.
 *
 * (1) Later ends of nodes never make any C earlier. (Single steps may be shorter: those after one that took longer.)
 * (2) D is a maximum over few nodes: those of device work that is followed by no other of the same rank and
 *     step. Work that was launched between steps has none; what follows it on its stream feels it. */
#include "base/quantile.h"
#include "graph/rank_copies.h"
#include "replay/replay_internal.h"
#include "trace/none_rows.h"

/* --- which nodes ------------------------------------------------------------------------------ */

gsize step_marks_cell(const struct step_marks *marks, guint32 rank, guint32 step)
{
	return (gsize)rank * marks->n_steps + step;
}

/* A graph's ranks from `first_rank` on; a guest's steps count from 0. */
struct marking {
	struct step_marks *marks;
	const TachoGraph *graph;
	guint32 first_rank;
	gboolean is_guest;
	GArray *ends; /* struct device_end */
};

/* Device work that is the last of its cell on a stream. */
struct device_end {
	guint32 cell, node;
};

static gsize cell_of(const struct marking *marking, guint32 rank, const struct graph_node *node)
{
	return step_marks_cell(marking->marks, rank,
			       marking->is_guest ? node->step
						 : graph_step_index(marking->graph, node->step));
}

static gboolean is_device_work(const TachoGraph *graph, const struct graph_node *node)
{
	switch ((TachoNodeKind)node->kind) {
	case TACHO_NODE_DEVICE:
	case TACHO_NODE_COPY:
	case TACHO_NODE_PART:
		return TRUE;
	case TACHO_NODE_CAST:
		return graph_lane_is_stream(graph, graph_lane_at(graph, node->lane));
	case TACHO_NODE_COMPLETE:
		return graph_transfer_at(graph, node->transfer)->is_device;
	default:
		return FALSE;
	}
}

/* The work cannot end before `node` does. A QUEUE node is followed by its COMPLETE node. */
static gboolean is_later_work(const TachoGraph *graph, guint32 next, const struct graph_node *node)
{
	const struct graph_node *after = graph_node_at(graph, next);

	return (is_device_work(graph, after) ||
		(after->kind == TACHO_NODE_QUEUE &&
		 graph_transfer_at(graph, after->transfer)->is_device)) &&
	       after->step != TACHO_NONE && after->step <= node->step &&
	       graph_lane_at(graph, after->lane)->rank_index ==
		       graph_lane_at(graph, node->lane)->rank_index;
}

/* Other work of the rank's devices and of the same step follows, with a gap or without. */
static gboolean is_followed(const TachoGraph *graph, guint32 index)
{
	const struct graph_node *node = graph_node_at(graph, index);

	for (guint32 i = graph->succ_first[index]; i < graph->succ_first[index + 1]; i++) {
		guint32 next = graph->succ[i];

		if (is_later_work(graph, next, node))
			return TRUE;
		if (graph_node_at(graph, next)->kind != TACHO_NODE_GAP)
			continue;
		for (guint32 j = graph->succ_first[next]; j < graph->succ_first[next + 1]; j++)
			if (is_later_work(graph, graph->succ[j], node))
				return TRUE;
	}
	return FALSE;
}

static void mark_device(struct marking *marking, guint32 index, guint32 rank)
{
	const struct graph_node *node = graph_node_at(marking->graph, index);
	struct device_end end = { .node = index };

	if (node->step == TACHO_NONE || !is_device_work(marking->graph, node) ||
	    is_followed(marking->graph, index))
		return;
	end.cell = (guint32)cell_of(marking, rank, node);
	g_array_append_val(marking->ends, end);
}

/* `previous` is the node before on the main lane. Nodes that an edit added among those of a lane have the last numbers, but when they
 * began tells where they are. */
static void mark_host(struct marking *marking, guint32 index, guint32 rank, guint32 previous)
{
	const struct graph_node *node = graph_node_at(marking->graph, index);
	struct step_marks *marks = marking->marks;
	gsize cell;

	if (node->step == TACHO_NONE)
		return;
	cell = cell_of(marking, rank, node);
	if (marks->last[cell] == TACHO_NONE) {
		marks->before[cell] = previous;
		marks->first[cell] = index;
	}
	if (marks->last[cell] == TACHO_NONE ||
	    node->begin_ns >= graph_node_at(marking->graph, marks->last[cell])->begin_ns)
		marks->last[cell] = index;
}

static void find_marks(struct marking *marking)
{
	const TachoGraph *graph = marking->graph;
	g_autofree guint32 *previous = none_rows_new(graph->lanes->len);

	for (guint32 i = 0; i < graph->n_frozen; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		const struct graph_lane *lane = graph_lane_at(graph, node->lane);
		guint32 rank = lane->rank_index - marking->first_rank;

		if (rank >= marking->marks->n_ranks || node->kind == TACHO_NODE_REMOVED)
			continue;
		if (!lane->is_main) {
			mark_device(marking, i, rank);
			continue;
		}
		mark_host(marking, i, rank, previous[node->lane]);
		previous[node->lane] = i;
	}
}

/* The device's nodes by cell; nodes of one cell keep their order. */
static void place_ends(struct marking *marking, gsize n_cells)
{
	struct step_marks *marks = marking->marks;
	guint n = marking->ends->len;

	if (n == 0)
		return;
	marks->device_first = g_new0(guint32, n_cells + 2);
	marks->device_nodes = g_new(guint32, n);
	for (guint i = 0; i < n; i++)
		marks->device_first[g_array_index(marking->ends, struct device_end, i).cell + 2]++;
	for (gsize cell = 2; cell <= n_cells; cell++)
		marks->device_first[cell] += marks->device_first[cell - 1];
	for (guint i = 0; i < n; i++) {
		const struct device_end *end = &g_array_index(marking->ends, struct device_end, i);

		marks->device_nodes[marks->device_first[end->cell + 1]++] = end->node;
	}
}

static void make_marks(struct marking *marking, guint32 n_ranks, guint32 n_steps)
{
	struct step_marks *marks = marking->marks;
	gsize n_cells = (gsize)n_ranks * n_steps;

	*marks = (struct step_marks){ .n_ranks = n_ranks, .n_steps = n_steps };
	marks->before = none_rows_new(n_cells);
	marks->first = none_rows_new(n_cells);
	marks->last = none_rows_new(n_cells);
	marking->ends = g_array_new(FALSE, FALSE, sizeof(struct device_end));
	find_marks(marking);
	place_ends(marking, n_cells);
	g_array_unref(marking->ends);
}

void step_marks_init(struct step_marks *marks, const TachoGraph *graph)
{
	struct marking marking = { .marks = marks, .graph = graph };

	make_marks(&marking, graph_n_own_ranks(graph), graph->steps->len);
	marks->weights = rank_copies_weights(graph);
	if (graph->lags->len == 0)
		return;
	marks->lag_ns = (const gint64 *)(void *)graph->lags->data;
	marks->n_lag_ranks = graph->lags->len / marks->n_steps;
}

void step_marks_init_guest(struct step_marks *marks, const TachoGraph *graph,
			   const struct graph_guest *guest)
{
	struct marking marking = {
		.marks = marks, .graph = graph, .first_rank = guest->first_rank, .is_guest = TRUE
	};

	make_marks(&marking, guest->n_ranks, guest->n_steps);
	marks->weights = g_new(guint32, MAX(guest->n_ranks, 1u));
	for (guint32 i = 0; i < guest->n_ranks; i++)
		marks->weights[i] = 1;
	if (guest->first_lag == TACHO_NONE)
		return;
	marks->lag_ns = &g_array_index(graph->guest_lags, gint64, guest->first_lag);
	marks->n_lag_ranks = guest->n_ranks;
}

void step_marks_release(struct step_marks *marks)
{
	g_clear_pointer(&marks->before, g_free);
	g_clear_pointer(&marks->first, g_free);
	g_clear_pointer(&marks->last, g_free);
	g_clear_pointer(&marks->weights, g_free);
	g_clear_pointer(&marks->device_first, g_free);
	g_clear_pointer(&marks->device_nodes, g_free);
}

/* --- when ------------------------------------------------------------------------------------- */

static gint64 end_of(const gint64 *end_ns, guint32 node)
{
	return node == TACHO_NONE ? 0 : end_ns[node];
}

/* The later of `latest` and what the devices do last in the cell; TACHO_NONE: nothing. */
static guint32 later_device_node(const struct step_marks *marks, const gint64 *end_ns, gsize cell,
				 guint32 latest)
{
	if (!marks->device_first)
		return latest;
	for (guint32 i = marks->device_first[cell]; i < marks->device_first[cell + 1]; i++) {
		guint32 node = marks->device_nodes[i];

		if (latest == TACHO_NONE || end_ns[node] > end_ns[latest])
			latest = node;
	}
	return latest;
}

void step_marks_spans(const struct step_marks *marks, const gint64 *end_ns, guint32 rank,
		      struct step_span *ret_spans)
{
	guint32 device = TACHO_NONE;
	gint64 end_before_ns = 0;

	for (guint32 step = 0; step < marks->n_steps; step++) {
		gsize cell = step_marks_cell(marks, rank, step);
		struct step_span span = { .node = marks->last[cell] };

		device = later_device_node(marks, end_ns, cell, device);
		if (span.node != TACHO_NONE) {
			span.begin_ns = MAX(end_of(end_ns, marks->before[cell]), end_before_ns);
			span.end_ns = MAX(end_ns[span.node], span.begin_ns);
			if (marks->lag_ns && device != TACHO_NONE)
				span.lag_ns = marks->lag_ns[step_marks_cell(
					marks, rank % marks->n_lag_ranks, step)];
			if (marks->lag_ns && device != TACHO_NONE &&
			    end_ns[device] - span.lag_ns > span.end_ns) {
				span.end_ns = end_ns[device] - span.lag_ns;
				span.node = device;
				span.is_device = TRUE;
			} else {
				span.lag_ns = 0;
			}
			end_before_ns = span.end_ns;
		}
		ret_spans[step] = span;
	}
}

void step_marks_mean_ns(const struct step_marks *marks, const gint64 *end_ns, gint64 *ret_mean_ns)
{
	g_autofree struct step_span *spans = g_new(struct step_span, MAX(marks->n_steps, 1u));
	/* a broken trace has steps of centuries, and their sum must fit */
	g_autofree __int128 *sum_ns = g_new0(__int128, MAX(marks->n_steps, 1u));
	g_autofree guint32 *n_ranks = g_new0(guint32, MAX(marks->n_steps, 1u));

	for (guint32 rank = 0; rank < marks->n_ranks; rank++) {
		step_marks_spans(marks, end_ns, rank, spans);
		for (guint32 step = 0; step < marks->n_steps; step++) {
			if (spans[step].node == TACHO_NONE)
				continue; /* an edit took the rank away */
			sum_ns[step] += (__int128)(spans[step].end_ns - spans[step].begin_ns) *
					marks->weights[rank];
			n_ranks[step] += marks->weights[rank];
		}
	}
	for (guint32 step = 0; step < marks->n_steps; step++)
		ret_mean_ns[step] = (gint64)(sum_ns[step] / MAX(n_ranks[step], 1u));
}

void step_marks_append_lags(const struct step_marks *marks, const gint64 *end_ns, GArray *lags)
{
	for (guint32 rank = 0; rank < marks->n_ranks && marks->device_first; rank++) {
		guint32 device = TACHO_NONE;

		for (guint32 step = 0; step < marks->n_steps; step++) {
			gsize cell = step_marks_cell(marks, rank, step);
			gint64 lag_ns = 0;

			device = later_device_node(marks, end_ns, cell, device);
			if (device != TACHO_NONE && marks->last[cell] != TACHO_NONE)
				lag_ns = MAX(end_ns[device] - end_ns[marks->last[cell]], 0);
			g_array_append_val(lags, lag_ns);
		}
	}
}

void replay_measure_lags(TachoGraph *graph, const TachoReplay *replay)
{
	struct step_marks marks;

	g_array_set_size(graph->lags, 0);
	step_marks_init(&marks, graph);
	step_marks_append_lags(&marks, replay->end_ns, graph->lags);
	step_marks_release(&marks);
}

GArray *replay_step_times(const TachoReplay *replay)
{
	GArray *steps = g_array_new(FALSE, FALSE, sizeof(gint64));
	struct step_marks marks;

	step_marks_init(&marks, replay->graph);
	g_array_set_size(steps, marks.n_steps);
	step_marks_mean_ns(&marks, replay->end_ns, (gint64 *)(void *)steps->data);
	step_marks_release(&marks);
	return steps;
}

struct step_span *replay_last_spans(const TachoReplay *replay)
{
	g_autofree struct step_span *spans = NULL;
	struct step_span *last;
	struct step_marks marks;

	step_marks_init(&marks, replay->graph);
	spans = g_new(struct step_span, MAX(marks.n_steps, 1u));
	last = g_new(struct step_span, MAX(marks.n_steps, 1u));
	for (guint32 step = 0; step < marks.n_steps; step++)
		last[step] = (struct step_span){ .node = TACHO_NONE };
	for (guint32 rank = 0; rank < marks.n_ranks; rank++) {
		step_marks_spans(&marks, replay->end_ns, rank, spans);
		for (guint32 step = 0; step < marks.n_steps; step++)
			if (spans[step].node != TACHO_NONE &&
			    (last[step].node == TACHO_NONE ||
			     spans[step].end_ns > last[step].end_ns))
				last[step] = spans[step];
	}
	step_marks_release(&marks);
	return last;
}

guint32 replay_n_device_bound_steps(const TachoReplay *replay)
{
	g_autofree struct step_span *last = replay_last_spans(replay);
	guint32 n = 0;

	for (guint32 step = 0; step < replay->graph->steps->len; step++)
		n += last[step].is_device;
	return n;
}

gdouble replay_median_step_ns(const TachoReplay *replay)
{
	g_autoptr(GArray) steps = replay_step_times(replay);

	return quantile(steps, 0.5);
}
