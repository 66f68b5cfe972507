/* accumulation: N forward and backward passes for each optimizer step.
 *
 * What each of the first N - 1 takes is what a rank needs from the begin of its step to the last gradient
 * of its backward pass, with no collective of gradients there: that is played. Together they stand as one
 * piece of work at the begin of the step; the last pass, its collectives and the optimizer are as
 * recorded. Memory is that of the last pass, in which gradients of those before are held. */
#include "replay/replay_memory.h"
#include "replay/what_if_internal.h"

#define MAX_PASSES 65536

/* The graph without collectives of gradients; nodes keep their numbers. */
static TachoGraph *without_gradients(const TachoGraph *graph, GError **error)
{
	g_autoptr(TachoGraph) copy = graph_copy(graph);
	g_autofree guint8 *is_removed = g_new0(guint8, MAX(graph->nodes->len, 1u));

	for (guint32 i = 0; i < graph->nodes->len; i++) {
		guint32 transfer = graph_node_at(graph, i)->transfer;

		is_removed[i] = transfer != TACHO_NONE &&
				graph_transfer_at(graph, transfer)->pass != TACHO_NONE;
	}
	graph_remove_nodes(copy, is_removed);
	if (!graph_freeze(copy, error))
		return NULL;
	return g_steal_pointer(&copy);
}

/* When the pass has its last gradient. */
static gint64 pass_end_ns(const TachoReplay *replay, const struct graph_pass *pass)
{
	gint64 end_ns = 0;

	for (guint32 i = 0; i < pass->n_gradients; i++) {
		guint32 node = g_array_index(replay->graph->gradients, struct graph_gradient,
					     pass->first_gradient + i)
				       .ready_node;

		end_ns = MAX(end_ns, replay->end_ns[node]);
	}
	return end_ns;
}

/* What a rank's step takes up to its last gradient, and the node that it begins with. */
static gboolean measure_pass(const TachoReplay *replay, const struct step_marks *marks,
			     const struct graph_pass *pass, struct insertion *insertion)
{
	guint32 step = graph_step_index(replay->graph, pass->step);
	gint64 begin_ns;
	gsize cell;

	if (step == TACHO_NONE || pass->n_gradients == 0)
		return FALSE;
	cell = step_marks_cell(marks, pass->rank_index, step);
	if (marks->first[cell] == TACHO_NONE)
		return FALSE;
	begin_ns = marks->before[cell] == TACHO_NONE ? 0 : replay->end_ns[marks->before[cell]];
	insertion->next = marks->first[cell];
	insertion->duration_ns = MAX(pass_end_ns(replay, pass) - begin_ns, 0);
	return TRUE;
}

/* A step that has several passes already counts up to the end of the last. */
static void add_insertion(GArray *insertions, const struct insertion *insertion)
{
	for (guint i = insertions->len; i-- > 0;) {
		struct insertion *known = &g_array_index(insertions, struct insertion, i);

		if (known->next == insertion->next) {
			known->duration_ns = MAX(known->duration_ns, insertion->duration_ns);
			return;
		}
	}
	g_array_append_val(insertions, *insertion);
}

static GArray *measure_passes(const TachoGraph *graph, guint32 n_more, GError **error)
{
	g_autoptr(TachoGraph) bare = without_gradients(graph, error);
	g_autoptr(TachoReplay) replay = bare ? tacho_replay_run(bare, error) : NULL;
	GArray *insertions;
	struct step_marks marks;

	if (!replay)
		return NULL;
	insertions = g_array_new(FALSE, FALSE, sizeof(struct insertion));
	step_marks_init(&marks, bare);
	for (guint i = 0; i < graph->passes->len; i++) {
		struct insertion insertion = { .kind = TACHO_NODE_HOST };

		if (measure_pass(replay, &marks,
				 &g_array_index(graph->passes, struct graph_pass, i), &insertion))
			add_insertion(insertions, &insertion);
	}
	for (guint i = 0; i < insertions->len; i++)
		g_array_index(insertions, struct insertion, i).duration_ns *= n_more;
	step_marks_release(&marks);
	return insertions;
}

gboolean what_if_accumulate(TachoGraph *graph, const gchar *what_if, const gchar *text,
			    GError **error)
{
	g_autoptr(GArray) insertions = NULL;
	guint32 n_passes;

	if (!quantity_parse_count(text, 1, MAX_PASSES, &n_passes))
		return what_if_refuse(error, what_if, "it is accumulate=N, N from 1 to %u",
				      MAX_PASSES);
	insertions = measure_passes(graph, n_passes - 1, error);
	if (!insertions)
		return FALSE;
	if (insertions->len == 0)
		return what_if_refuse(error, what_if,
				      "no backward pass with gradients was seen in the steps "
				      "(torch::autograd::AccumulateGrad)");
	if (n_passes == 1)
		return TRUE;
	memory_accumulate(graph);
	what_if_insert(graph, insertions);
	graph_note(
		graph,
		"a step takes in %u times the samples; its first %u passes stand as one piece of "
		"the host's work at its begin",
		n_passes, n_passes - 1);
	return TRUE;
}
