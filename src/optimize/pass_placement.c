/* pass_placement: ranks on other hosts, so that groups that send much are together. What the step takes then is not predicted: a recording tells what
 * links took between these ranks, and not between others. So it is noted, and not ranked. */
#include "optimize/optimizing.h"

#include <math.h>

#include "base/for_each.h"
#include "optimize/rank_placement.h"
#include "trace/operation.h"

/* Source: a rule: all pairs are exchanged again and again, each time over all groups; some thousand pairs take milliseconds. If wrong, larger
 * jobs are told nothing. */
#define MAX_RANKS 128
/* Of the bytes between hosts. Source: a rule: less is not worth another start of the job. If wrong, it is told too seldom. */
#define WORTH_SHARE 0.05

static void group_free(gpointer data)
{
	g_array_unref(((struct placed_group *)data)->ranks);
}

static gint compare_ranks(gconstpointer a, gconstpointer b)
{
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;

	return x < y ? -1 : x > y;
}

/* What goes round the ring of its ranks. */
static gdouble ring_bytes(const TachoTimeline *timeline, const TachoCollective *collective)
{
	guint32 first = g_array_index(timeline->members, guint32, collective->first_member);
	gdouble n = collective->n_members;

	return (gdouble)collective->bytes *
	       (operation_is_all_reduce(collective_operation_of(timeline, first)) ? 2 : 1) *
	       (n - 1) / n;
}

static GArray *ranks_of(const TachoTimeline *timeline, const TachoCollective *collective)
{
	GArray *ranks = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 rank =
			tacho_slice_process(timeline, g_array_index(timeline->members, guint32,
								    collective->first_member + i))
				->rank_index;

		g_array_append_val(ranks, rank);
	}
	g_array_sort(ranks, compare_ranks);
	return ranks;
}

/* Each set of ranks once. */
static GArray *find_groups(const TachoTimeline *timeline)
{
	GArray *groups = g_array_new(FALSE, FALSE, sizeof(struct placed_group));
	g_autoptr(GHashTable) row_of = g_hash_table_new_full(g_bytes_hash, g_bytes_equal,
							     (GDestroyNotify)g_bytes_unref, NULL);

	g_array_set_clear_func(groups, group_free);
	FOR_EACH(const TachoCollective, collective, timeline->collectives) {
		struct placed_group group = { .ranks = ranks_of(timeline, collective) };
		GBytes *key = g_bytes_new(group.ranks->data, group.ranks->len * sizeof(guint32));
		guint row = GPOINTER_TO_UINT(g_hash_table_lookup(row_of, key));

		if (row == 0) {
			g_array_append_val(groups, group);
			row = groups->len;
			g_hash_table_insert(row_of, key, GUINT_TO_POINTER(row));
		} else {
			g_array_unref(group.ranks);
			g_bytes_unref(key);
		}
		g_array_index(groups, struct placed_group, row - 1).bytes +=
			ring_bytes(timeline, collective);
	}
	return groups;
}

/* "0 2 | 1 3": the ranks of each host, as the launcher numbers them. */
static gchar *describe(const TachoTimeline *timeline, const guint32 *host_of)
{
	g_autoptr(GString) text = g_string_new(NULL);
	guint32 n_ranks = timeline->ranks->len, n_hosts = 0;

	for (guint32 i = 0; i < n_ranks; i++)
		n_hosts = MAX(n_hosts, host_of[i] + 1);
	for (guint32 host = 0; host < n_hosts; host++) {
		g_string_append(text, host ? " |" : "");
		for (guint32 i = 0; i < n_ranks; i++)
			if (host_of[i] == host)
				g_string_append_printf(text, "%s%d", text->len ? " " : "",
						       tacho_timeline_rank(timeline, i)->rank);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Hosts by number, in the order in which ranks are on them; returns how many. */
static guint32 find_hosts(const TachoTimeline *timeline, guint32 *host_of)
{
	g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < timeline->ranks->len; i++) {
		gpointer name = GUINT_TO_POINTER(tacho_timeline_rank(timeline, i)->host + 1);

		if (!g_hash_table_contains(numbers, name))
			g_hash_table_insert(numbers, name,
					    GUINT_TO_POINTER(g_hash_table_size(numbers)));
		host_of[i] = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, name));
	}
	return g_hash_table_size(numbers);
}

void pass_placement(struct optimizing *optimizing)
{
	const TachoTimeline *timeline = optimizing->base->graph->timeline;
	guint32 n_ranks = timeline->ranks->len;
	g_autofree guint32 *host_of = g_new(guint32, MAX(n_ranks, 1u));
	g_autoptr(GArray) groups = NULL;
	g_autofree gchar *text = NULL;
	gdouble now, best;

	if (n_ranks < 2 || n_ranks > MAX_RANKS || find_hosts(timeline, host_of) < 2)
		return;
	groups = find_groups(timeline);
	now = rank_placement_bytes(groups, host_of);
	best = rank_placement_improve(groups, n_ranks, host_of);
	if (best >= now * (1 - WORTH_SHARE))
		return;
	text = describe(timeline, host_of);
	optimizing_note(
		optimizing,
		"with the ranks placed as %s (hosts between |), collectives send %.0f %% fewer "
		"bytes from host to host; how much shorter the step is then is not predicted",
		text, 100 * (1 - best / now));
}
