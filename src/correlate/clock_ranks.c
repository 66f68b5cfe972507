#include "correlate/clock_ranks.h"

#define MAX_NAMED_RANKS 8

gchar *clock_ranks(const TachoTimeline *timeline, guint32 clock, guint *ret_n)
{
	GString *text = g_string_new(NULL);
	guint n_ranks = 0;

	for (guint i = 0; i < timeline->ranks->len; i++) {
		const TachoRank *rank = &g_array_index(timeline->ranks, TachoRank, i);

		if (g_array_index(timeline->processes, TachoProcess, rank->main_process).clock !=
		    clock)
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
