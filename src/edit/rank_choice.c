#include "edit/rank_choice.h"

#include <string.h>

#include "graph/graph_split.h"
#include "graph/rank_copies.h"
#include "edit/change_internal.h"

/* --- which ------------------------------------------------------------------------------------ */

/* Ranks that were taken away are not there. */
static guint8 *find_present(const TachoGraph *graph, guint32 n_asked)
{
	guint8 *is_present = g_new0(guint8, MAX(n_asked, 1u));
	guint8 *is_played = g_new0(guint8, MAX(graph_n_own_ranks(graph), 1u));

	for (guint32 i = 0; i < graph->nodes->len; i++) {
		guint32 rank_index =
			graph_lane_at(graph, graph_node_at(graph, i)->lane)->rank_index;

		if (rank_index < graph_n_own_ranks(graph) &&
		    graph_node_at(graph, i)->kind != TACHO_NODE_REMOVED)
			is_played[rank_index] = 1;
	}
	for (guint32 i = 0; i < n_asked; i++)
		is_present[i] = is_played[rank_copies_played(graph, i)];
	g_free(is_played);
	return is_present;
}

/* The place of a rank among those asked for: as the launcher numbers them, or where there are copies counted from 0.
 * TACHO_NONE: there is none. */
static guint32 find_rank(const TachoGraph *graph, guint32 n_asked, guint64 number)
{
	const GArray *ranks = graph->timeline->ranks;

	if (n_asked > ranks->len)
		return number < n_asked ? (guint32)number : TACHO_NONE;
	for (guint32 i = 0; i < ranks->len; i++)
		if ((gint64)number == g_array_index(ranks, TachoRank, i).rank)
			return i;
	return TACHO_NONE;
}

/* RANK or FIRST-LAST; `text` goes behind it. */
static gboolean parse_range(const gchar **text, struct rank_range *ret_range)
{
	gchar *end;

	if (!g_ascii_isdigit(**text))
		return FALSE;
	ret_range->first = ret_range->last = g_ascii_strtoull(*text, &end, 10);
	if (*end == '-') {
		if (!g_ascii_isdigit(end[1]))
			return FALSE;
		ret_range->last = g_ascii_strtoull(end + 1, &end, 10);
	}
	*text = end;
	return ret_range->first <= ret_range->last;
}

gboolean change_parse_ranks(struct change *change, const gchar **text, const gchar *ends,
			    GError **error)
{
	const gchar *at = *text;

	if (!g_ascii_isdigit(*at))
		return TRUE;
	change->ranks = g_array_new(FALSE, FALSE, sizeof(struct rank_range));
	for (;; at++) {
		struct rank_range range;

		if (!parse_range(&at, &range))
			return change_refuse(error, change, "write ranks as 4, 4-7 or 0,4-7");
		if (!*at || (*at != ',' && !strchr(ends, *at)))
			return change_refuse(
				error, change,
				"write a '%c' after the ranks, and ranks as 4, 4-7 or 0,4-7",
				ends[strlen(ends) - 1]);
		g_array_append_val(change->ranks, range);
		if (*at != ',')
			break;
	}
	*text = at + 1;
	return TRUE;
}

static gboolean mean_range(const TachoGraph *graph, const struct change *change,
			   const guint8 *is_present, const struct rank_range *range,
			   guint8 *is_meant, GError **error)
{
	guint32 n_asked = rank_copies_n_asked(graph);

	for (guint64 number = range->first; number <= range->last; number++) {
		guint32 rank = find_rank(graph, n_asked, number);

		if (rank == TACHO_NONE || !is_present[rank])
			return change_refuse(error, change,
					     "the run has no rank %" G_GUINT64_FORMAT, number);
		is_meant[rank] = 1;
	}
	return TRUE;
}

gboolean rank_choice_init(struct rank_choice *choice, const TachoGraph *graph,
			  const struct change *change, GError **error)
{
	guint32 n_asked = rank_copies_n_asked(graph);
	g_autofree guint8 *is_present = NULL;

	*choice = (struct rank_choice){ NULL, NULL, 0 };
	if (!change->ranks)
		return TRUE;
	is_present = find_present(graph, n_asked);
	choice->is_meant = g_new0(guint8, MAX(n_asked, 1u));
	for (guint i = 0; i < change->ranks->len; i++)
		if (!mean_range(graph, change, is_present,
				&g_array_index(change->ranks, struct rank_range, i),
				choice->is_meant, error))
			return FALSE;
	return TRUE;
}

void rank_choice_release(struct rank_choice *choice)
{
	g_clear_pointer(&choice->is_meant, g_free);
	g_clear_pointer(&choice->flags, g_free);
}

/* --- what is of them -------------------------------------------------------------------------- */

gboolean rank_choice_split(struct rank_choice *choice, TachoGraph *graph,
			   const struct change *change, GError **error)
{
	if (!choice->is_meant)
		return TRUE;
	choice->flags = graph_split(graph, choice->is_meant, error);
	choice->n_flags = graph_n_own_ranks(graph);
	if (!choice->flags)
		g_prefix_error(error, "what-if '%s': ", change->text);
	return choice->flags != NULL;
}

gboolean rank_choice_has(const struct rank_choice *choice, guint32 rank_index)
{
	return !choice->flags || (rank_index < choice->n_flags && choice->flags[rank_index]);
}

gboolean rank_choice_has_node(const struct rank_choice *choice, const TachoGraph *graph,
			      const struct graph_node *node)
{
	guint32 rank_index = graph_lane_at(graph, node->lane)->rank_index;

	return !choice->flags || (rank_index != TACHO_NONE && rank_choice_has(choice, rank_index));
}
