#include "trace/partial_ranks.h"

gboolean rank_is_partial(const TachoTimeline *timeline, guint32 rank_index)
{
	const TachoRank *rank = tacho_timeline_rank(timeline, rank_index);

	return tacho_timeline_process(timeline, rank->main_process)->is_partial;
}

gchar *partial_ranks_sentence(const TachoTimeline *timeline)
{
	g_autoptr(GString) names = g_string_new(NULL);
	guint n = timeline->ranks->len;

	for (guint from = 0, to; from < n; from = to + 1) {
		for (to = from; to < n && rank_is_partial(timeline, to); to++)
			;
		if (to == from)
			continue;
		g_string_append_printf(names, "%s%d", names->len ? ", " : "",
				       tacho_timeline_rank(timeline, from)->rank);
		if (to - from > 1)
			g_string_append_printf(names, " to %d",
					       tacho_timeline_rank(timeline, to - 1)->rank);
	}
	if (!names->len)
		return NULL;
	return g_strdup_printf(
		"Of rank %s only steps, regions and collectives were recorded "
		"(--ranks): what they compute, and when they are idle, is not known.",
		names->str);
}
