#include "graph/rank_copies.h"

guint32 rank_copies_n_asked(const TachoGraph *graph)
{
	guint32 n_ranks = graph->timeline->ranks->len;

	for (guint32 i = 0; i < graph->groups->len; i++)
		if (graph_group_at(graph, i)->is_resized)
			n_ranks = MAX(n_ranks, graph_group_at(graph, i)->n_ranks);
	return n_ranks;
}

guint32 rank_copies_played(const TachoGraph *graph, guint32 rank)
{
	guint32 n_recorded = MAX(graph->timeline->ranks->len, 1u);
	guint32 set = rank / n_recorded;

	set = set < graph->sets->len ? g_array_index(graph->sets, guint32, set) : 0;
	return set * n_recorded + rank % n_recorded;
}

guint32 *rank_copies_weights(const TachoGraph *graph)
{
	guint32 n_asked = rank_copies_n_asked(graph);
	guint32 *weights = g_new0(guint32, MAX(graph_n_own_ranks(graph), 1u));

	for (guint32 i = 0; i < n_asked; i++)
		weights[rank_copies_played(graph, i)]++;
	return weights;
}

gint32 rank_copies_number(const TachoGraph *graph, guint32 rank_index)
{
	guint32 n_recorded = graph->timeline->ranks->len;
	guint32 set = rank_index / n_recorded;

	if (rank_copies_n_asked(graph) <= n_recorded)
		return tacho_timeline_rank(graph->timeline, rank_index)->rank;
	for (guint32 i = 0; i < graph->sets->len; i++)
		if (g_array_index(graph->sets, guint32, i) == set)
			return (gint32)(i * n_recorded + rank_index % n_recorded);
	return (gint32)rank_index;
}
