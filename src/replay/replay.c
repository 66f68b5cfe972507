/* replay: play a graph. Where no resource is shared, a node's time depends on its predecessors
 * alone, and one walk in topological order does; else see shared_replay.c. */
#include "base/huge_pages.h"
#include "base/time_units.h"
#include "replay/replay_internal.h"

static inline void play_node(const TachoGraph *graph, TachoReplay *replay, guint32 node)
{
	gint64 begin_ns = -1;
	guint32 cause = TACHO_NONE;

	for (guint32 j = graph->pred_first[node]; j < graph->pred_first[node + 1]; j++)
		if (replay->end_ns[graph->pred[j]] > begin_ns) {
			cause = graph->pred[j];
			begin_ns = replay->end_ns[cause];
		}
	begin_ns = MAX(begin_ns, 0);
	replay->begin_ns[node] = begin_ns;
	replay->end_ns[node] = end_ns_after(begin_ns, graph->duration_ns[node]);
	replay->cause[node] = cause;
}

void replay_play_node(TachoReplay *replay, guint32 node)
{
	play_node(replay->graph, replay, node);
}

static void play_ordered(TachoReplay *replay)
{
	const TachoGraph *graph = replay->graph;

	if (graph->order)
		for (guint32 i = 0; i < replay->n_nodes; i++)
			play_node(graph, replay, graph->order[i]);
	else
		for (guint32 i = 0; i < replay->n_nodes; i++)
			play_node(graph, replay, i);
}

TachoReplay *replay_new(const TachoGraph *graph)
{
	TachoReplay *replay = g_new0(TachoReplay, 1);
	gsize n = MAX(graph->n_frozen, 1u);

	replay->graph = graph;
	replay->n_nodes = graph->n_frozen;
	replay->begin_ns = HUGE_PAGES_NEW(gint64, n);
	replay->end_ns = HUGE_PAGES_NEW(gint64, n);
	replay->cause = HUGE_PAGES_NEW(guint32, n);
	return replay;
}

TachoReplay *tacho_replay_run(const TachoGraph *graph, GError **error)
{
	g_autoptr(TachoReplay) replay = replay_new(graph);

	if (!graph->is_shared)
		play_ordered(replay);
	else if (!replay_shared(replay, error))
		return NULL;
	return g_steal_pointer(&replay);
}

void tacho_replay_free(TachoReplay *replay)
{
	if (!replay)
		return;
	g_free(replay->begin_ns);
	g_free(replay->end_ns);
	g_free(replay->cause);
	g_free(replay);
}

gint64 tacho_replay_begin_ns(const TachoReplay *replay, guint32 node)
{
	return replay->begin_ns[node];
}

gint64 tacho_replay_end_ns(const TachoReplay *replay, guint32 node)
{
	return replay->end_ns[node];
}
