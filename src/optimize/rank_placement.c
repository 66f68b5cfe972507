#include "optimize/rank_placement.h"

#include "base/for_each.h"

/* Hosts that the group is on. */
static guint32 count_hosts(const struct placed_group *group, const guint32 *host_of)
{
	guint32 n = 0;

	for (guint i = 0; i < group->ranks->len; i++) {
		guint32 host = host_of[g_array_index(group->ranks, guint32, i)];
		gboolean is_new = TRUE;

		for (guint j = 0; j < i && is_new; j++)
			is_new = host_of[g_array_index(group->ranks, guint32, j)] != host;
		n += is_new;
	}
	return n;
}

gdouble rank_placement_bytes(const GArray *groups, const guint32 *host_of)
{
	gdouble bytes = 0;

	FOR_EACH(const struct placed_group, group, groups) {
		guint32 n_hosts = count_hosts(group, host_of);

		if (n_hosts > 1)
			bytes += group->bytes * n_hosts;
	}
	return bytes;
}

static void swap(guint32 *host_of, guint32 a, guint32 b)
{
	guint32 host = host_of[a];

	host_of[a] = host_of[b];
	host_of[b] = host;
}

gdouble rank_placement_improve(const GArray *groups, guint32 n_ranks, guint32 *host_of)
{
	gdouble bytes = rank_placement_bytes(groups, host_of);
	gboolean is_better = TRUE;

	while (is_better) {
		is_better = FALSE;
		for (guint32 a = 0; a < n_ranks; a++)
			for (guint32 b = a + 1; b < n_ranks; b++) {
				gdouble other;

				if (host_of[a] == host_of[b])
					continue;
				swap(host_of, a, b);
				other = rank_placement_bytes(groups, host_of);
				if (other < bytes) {
					bytes = other;
					is_better = TRUE;
				} else {
					swap(host_of, a, b);
				}
			}
	}
	return bytes;
}
