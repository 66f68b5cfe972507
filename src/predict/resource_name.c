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

/* "link a out, link b in" */
static gchar *join_links(const TachoGraph *graph, const struct graph_group *group)
{
	GString *names = g_string_new(NULL);

	for (guint32 i = 0; i < group->n_links; i++) {
		guint32 link = g_array_index(graph->group_links, guint32, group->first_link + i);
		g_autofree gchar *name = resource_name_of_link(
			graph, &g_array_index(graph->links, struct graph_link, link));

		g_string_append_printf(names, "%s%s", i ? ", " : "", name);
	}
	return g_string_free(names, FALSE);
}

/* "links between a and b"; NULL: they are not of two hosts. */
static gchar *name_two_hosts(const TachoGraph *graph, const struct graph_group *group)
{
	guint32 hosts[2];
	guint n_hosts = 0;

	for (guint32 i = 0; i < group->n_links; i++) {
		const struct graph_link *link = &g_array_index(
			graph->links, struct graph_link,
			g_array_index(graph->group_links, guint32, group->first_link + i));

		if (link->set > 0)
			return NULL;
		if ((n_hosts > 0 && link->host == hosts[0]) ||
		    (n_hosts > 1 && link->host == hosts[1]))
			continue;
		if (n_hosts == G_N_ELEMENTS(hosts))
			return NULL;
		hosts[n_hosts++] = link->host;
	}
	return n_hosts < G_N_ELEMENTS(hosts)
		       ? NULL
		       : g_strdup_printf("links between %s and %s",
					 tacho_timeline_string(graph->timeline, hosts[0]),
					 tacho_timeline_string(graph->timeline, hosts[1]));
}

gchar *resource_name_of_group(const TachoGraph *graph, guint32 index)
{
	const struct graph_group *group = graph_group_at(graph, index);
	gchar *name = NULL;

	if (group->n_links > 0 && group->n_links <= 2)
		name = join_links(graph, group);
	else if (group->n_links > 0)
		name = name_two_hosts(graph, group);
	return name ? name
		    : g_strdup_printf("links of group %u, of %u ranks", index, group->n_ranks);
}
