#include "import/tensorflow/graph_link.h"

#include "base/order.h"

/* Arrows that are made at most: a graph may name the same node as an input many times. */
enum { MAX_LINKS = 1 << 24 };

struct linking {
	TachoTimeline *timeline;
	const struct tf_ops *ops;
	GHashTable *last_runs; /* node + 1 -> slice + 1; of the process at work */
	guint n_linked;
	guint64 n_inputs; /* that were looked at */
};

static guint32 process_of(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_timeline_track(timeline, timeline->slices.track[slice])->process;
}

static gint compare_runs(gconstpointer first, gconstpointer second, gpointer data)
{
	const TachoTimeline *timeline = data;
	guint32 a = *(const guint32 *)first, b = *(const guint32 *)second;
	guint32 of_a = process_of(timeline, a), of_b = process_of(timeline, b);

	return ORDER(of_a, of_b) ?:
	       ORDER(timeline->slices.start_ns[a], timeline->slices.start_ns[b]) ?: ORDER(a, b);
}

/* The node of that name, plus 1; 0: there is none. */
static guint32 node_of(const struct linking *linking, guint32 slice)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(
		linking->ops->by_name, GUINT_TO_POINTER(linking->timeline->slices.name[slice])));
}

static void link_inputs(struct linking *linking, guint32 slice, struct tf_rows inputs,
			TachoFlowKind kind)
{
	if (linking->n_inputs > MAX_LINKS)
		return;
	linking->n_inputs += inputs.n;
	for (guint32 i = inputs.first; i < inputs.first + inputs.n; i++) {
		const struct tf_input *input =
			&g_array_index(linking->ops->inputs, struct tf_input, i);
		guint32 run = GPOINTER_TO_UINT(
			g_hash_table_lookup(linking->last_runs, GUINT_TO_POINTER(input->node + 1)));
		TachoFlow flow = {
			.from = run - 1, .to = slice, .kind = (guint8)kind, .is_exact = TRUE
		};

		if (run && run - 1 != slice)
			g_array_append_val(linking->timeline->flows, flow);
	}
}

static GArray *collect_runs(const TachoTimeline *timeline)
{
	GArray *runs = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_OP)
			g_array_append_val(runs, i);
	g_array_sort_with_data(runs, compare_runs, (gpointer)timeline);
	return runs;
}

void graph_link(struct import *import, const struct tf_ops *ops, const gchar *path)
{
	g_autoptr(GArray) runs = collect_runs(import->timeline);
	g_autoptr(GHashTable) last_runs = g_hash_table_new(NULL, NULL);
	struct linking linking = { .timeline = import->timeline,
				   .ops = ops,
				   .last_runs = last_runs };

	for (guint i = 0; i < runs->len; i++) {
		guint32 slice = g_array_index(runs, guint32, i), node = node_of(&linking, slice);
		const struct tf_node *at;

		if (i && process_of(linking.timeline, slice) !=
				 process_of(linking.timeline, g_array_index(runs, guint32, i - 1)))
			g_hash_table_remove_all(last_runs);
		if (!node)
			continue;
		at = tf_ops_node(ops, node - 1);
		link_inputs(&linking, slice, at->inputs, TACHO_FLOW_DATA);
		link_inputs(&linking, slice, at->controls, TACHO_FLOW_CONTROL);
		g_hash_table_insert(last_runs, GUINT_TO_POINTER(node), GUINT_TO_POINTER(slice + 1));
		linking.n_linked++;
	}
	if (linking.n_inputs > MAX_LINKS)
		tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_LEFT_OUT, 1,
					   "%s: the operations read more than %u inputs; those of "
					   "the last operations are left out",
					   path, MAX_LINKS);
	if (runs->len && !linking.n_linked)
		tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_LEFT_OUT, 1,
					   "%s: no operation of the trace is a node of this graph",
					   path);
}
