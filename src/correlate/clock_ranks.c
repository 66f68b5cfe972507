#include "correlate/clock_ranks.h"

#include "base/for_each.h"

#define MAX_NAMED_RANKS 8

gchar *clock_ranks(const TachoTimeline *timeline, guint32 clock, guint *ret_n)
{
	GString *text = g_string_new(NULL);
	guint n_ranks = 0;

	FOR_EACH(const TachoRank, rank, timeline->ranks) {
		if (tacho_timeline_process(timeline, rank->main_process)->clock != clock)
			continue;
		if (n_ranks < MAX_NAMED_RANKS)
			g_string_append_printf(text, n_ranks ? ", %d" : "%d", rank->rank);
		n_ranks++;
	}
	if (n_ranks > MAX_NAMED_RANKS)
		g_string_append_printf(text, " and %u more", n_ranks - MAX_NAMED_RANKS);
	*ret_n = n_ranks;
	return g_string_free(text, FALSE);
}
