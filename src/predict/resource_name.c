#include "predict/resource_name.h"

#include "graph/rank_copies.h"

gchar *resource_name_of_lane(const TachoGraph *graph, const struct graph_lane *lane)
{
	gint32 rank = rank_copies_number(graph, lane->rank_index);
	const gchar *name = tacho_timeline_string(graph->timeline, lane->name);
	const TachoTrack *track;

	if (lane->track == TACHO_NONE)
		return g_strdup_printf("rank %d %s", rank, name);
	track = tacho_timeline_track(graph->timeline, lane->track);
	if (track->kind == TACHO_TRACK_STREAM)
		return g_strdup_printf("rank %d stream %u of device %d", rank, track->tid,
				       track->device);
	return g_strchomp(g_strdup_printf("rank %d thread %u %s", rank, track->tid, name));
}

gchar *resource_name_of_link(const TachoGraph *graph, const struct graph_link *link)
{
	const gchar *host = tacho_timeline_string(graph->timeline, link->host);

	if (link->set == 0)
		return g_strdup_printf("link %s %s", host, link->direction);
	return g_strdup_printf("link %s %s of ranks from %d on", host, link->direction,
			       rank_copies_number(graph, link->set * graph->timeline->ranks->len));
}
