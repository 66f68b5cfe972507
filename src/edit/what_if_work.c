/* what_if_work: changes of how long work takes, and on how many cores. */
#include <math.h>
#include <string.h>

#include <tacho/words.h>

#include "edit/rank_choice.h"
#include "edit/what_if_internal.h"

static gboolean kind_matches(const TachoGraph *graph, const gchar *kind, guint32 slice)
{
	TachoSliceKind slice_kind = graph->timeline->slices.kind[slice];

	return strcmp(kind, tacho_slice_kind_name(slice_kind)) == 0;
}

gboolean what_if_slice_matches(const TachoGraph *graph, const gchar *kind, const GRegex *regex,
			       guint32 slice)
{
	const TachoSlices *slices = &graph->timeline->slices;
	guint32 launch = slices->launch[slice];

	for (; slice != TACHO_NONE; slice = slices->parent[slice])
		if (kind_matches(graph, kind, slice) &&
		    g_regex_match(regex, tacho_slice_name(graph->timeline, slice), 0, NULL))
			return TRUE;
	return launch != TACHO_NONE && strcmp(kind, "runtime") != 0 &&
	       what_if_slice_matches(graph, kind, regex, launch);
}

/* A hop is called by the collective that it is part of, too. */
static gboolean transfer_matches(const TachoGraph *graph, const GRegex *regex,
				 const struct graph_node *node)
{
	const struct graph_transfer *transfer = graph_transfer_at(graph, node->transfer);

	if (g_regex_match(regex, tacho_timeline_string(graph->timeline, node->name), 0, NULL))
		return TRUE;
	return transfer->is_hop &&
	       g_regex_match(regex,
			     tacho_timeline_string(graph->timeline,
						   graph_transfer_at(graph, transfer->whole)->name),
			     0, NULL);
}

static gboolean node_matches(const TachoGraph *graph, const gchar *kind, const GRegex *regex,
			     const struct graph_node *node)
{
	const gchar *name = tacho_timeline_string(graph->timeline, node->name);

	if (graph_is_guest_node(graph, node))
		return FALSE;
	switch ((TachoNodeKind)node->kind) {
	case TACHO_NODE_LAUNCH:
		return strcmp(kind, "launch") == 0 && g_regex_match(regex, name, 0, NULL);
	case TACHO_NODE_REMOVED:
	case TACHO_NODE_START:
	case TACHO_NODE_GAP:
	case TACHO_NODE_QUEUE:
	case TACHO_NODE_COMPLETE:
		return FALSE;
	case TACHO_NODE_TRANSFER:
		return strcmp(kind, "collective") == 0 && transfer_matches(graph, regex, node);
	case TACHO_NODE_HOST:
		if (strcmp(kind, "host") == 0)
			return g_regex_match(regex, name, 0, NULL);
		break;
	default:
		break;
	}
	return node->slice != TACHO_NONE && what_if_slice_matches(graph, kind, regex, node->slice);
}

static void scale_node(TachoGraph *graph, guint32 index, gdouble factor)
{
	struct graph_node *node = graph_node_at(graph, index);

	if (node->kind == TACHO_NODE_TRANSFER) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, node->transfer);

		graph_set_transfer(graph, node->transfer, transfer->fixed_ns * factor,
				   transfer->work_ns * factor);
	} else {
		node->duration_ns = llround((gdouble)node->duration_ns * factor);
	}
}

static const gchar *const target_kinds[] = { "op",	   "kernel", "module", "annotation",
					     "collective", "host",   "launch", "runtime",
					     "wait",	   "memcpy", "memset", NULL };

static gboolean is_target(const gchar *kind)
{
	return g_strv_contains(target_kinds, kind);
}

/* What was handed out in what matches is not. */
static void drop_memory(TachoGraph *graph, const struct rank_choice *ranks, const gchar *kind,
			const GRegex *regex)
{
	for (guint32 i = 0; i < graph->blocks->len; i++) {
		struct graph_block *block = &g_array_index(graph->blocks, struct graph_block, i);

		if (block->slice != TACHO_NONE && block->begin.node != TACHO_NONE &&
		    rank_choice_has(ranks, block->rank_index) &&
		    what_if_slice_matches(graph, kind, regex, block->slice))
			block->bytes = 0;
	}
}

GRegex *what_if_parse_regex(const gchar *what_if, const gchar *text, GError **error)
{
	g_autoptr(GError) cause = NULL;
	GRegex *regex;

	if (!*text) {
		what_if_refuse(error, what_if, "REGEX is empty; '.' is of all names");
		return NULL;
	}
	regex = g_regex_new(text, G_REGEX_OPTIMIZE, 0, &cause);
	if (!regex)
		what_if_refuse(error, what_if, "%s", cause->message);
	return regex;
}

gboolean what_if_parse_target(const gchar *what_if, const gchar *target, gchar **ret_kind,
			      GRegex **ret_regex, GError **error)
{
	const gchar *tilde = strchr(target, '~');
	g_autofree gchar *kind = g_strndup(target, tilde ? (gsize)(tilde - target) : 0);
	g_autofree gchar *there = NULL;

	if (!tilde)
		return what_if_refuse(error, what_if,
				      "what it is about is KIND~REGEX, as in op~mm or kernel~gemm");
	if (!is_target(kind)) {
		there = tacho_did_you_mean(kind, target_kinds);
		return what_if_refuse(error, what_if, "'%s' is no kind of work%s", kind, there);
	}
	*ret_regex = what_if_parse_regex(what_if, tilde + 1, error);
	if (!*ret_regex)
		return FALSE;
	*ret_kind = g_steal_pointer(&kind);
	return TRUE;
}

/* Of the ranks, what is named KIND~REGEX. */
static gboolean scale_of_ranks(TachoGraph *graph, const gchar *what_if, struct rank_choice *ranks,
			       const gchar *target, gdouble factor, gboolean is_dropped,
			       GError **error)
{
	g_autofree gchar *kind = NULL;
	g_autoptr(GRegex) regex = NULL;
	guint32 n_matches = 0;

	if (strcmp(target, "loader") == 0)
		return rank_choice_split(ranks, graph, what_if, error) &&
		       what_if_scale_loader(graph, what_if, ranks, factor, error);
	if (strcmp(target, "wait") == 0)
		return is_dropped && !ranks->is_meant
			       ? what_if_drop_wait(graph, what_if, error)
			       : what_if_refuse(error, what_if,
						"waits of ranks for each other are all dropped, by "
						"drop:wait, or none; scale:wait~REGEX is of what "
						"threads wait for by name");
	if (!what_if_parse_target(what_if, target, &kind, &regex, error))
		return FALSE;
	if (ranks->is_meant && strcmp(kind, "collective") == 0)
		return what_if_refuse(error, what_if, "a collective is of all its ranks");
	if (!rank_choice_split(ranks, graph, what_if, error))
		return FALSE;
	for (guint32 i = 0; i < graph->nodes->len; i++)
		if (rank_choice_has_node(ranks, graph, graph_node_at(graph, i)) &&
		    node_matches(graph, kind, regex, graph_node_at(graph, i))) {
			scale_node(graph, i, factor);
			n_matches++;
		}
	if (n_matches == 0)
		return what_if_refuse(error, what_if, "no %s of that name in the steps", kind);
	if (is_dropped)
		drop_memory(graph, ranks, kind, regex);
	return TRUE;
}

/* `target` is [RANKS:]KIND~REGEX. */
static gboolean scale_matching(TachoGraph *graph, const gchar *what_if, const gchar *target,
			       gdouble factor, gboolean is_dropped, GError **error)
{
	struct rank_choice ranks;
	gboolean is_done =
		rank_choice_parse(graph, what_if, &target, ":", &ranks, error) &&
		scale_of_ranks(graph, what_if, &ranks, target, factor, is_dropped, error);

	rank_choice_release(&ranks);
	return is_done;
}

gboolean what_if_scale(TachoGraph *graph, const gchar *what_if, const gchar *text, GError **error)
{
	const gchar *equals = strrchr(text, '=');
	g_autofree gchar *target = NULL;
	gdouble factor;

	if (!equals || !quantity_parse_factor(equals + 1, &factor))
		return what_if_refuse(error, what_if,
				      "it is scale:KIND~REGEX=F, scale:RANKS:KIND~REGEX=F or "
				      "scale:loader=F, F being 0.5 or 2x, up to 1000000x");
	target = g_strndup(text, (gsize)(equals - text));
	return scale_matching(graph, what_if, target, factor, FALSE, error);
}

gboolean what_if_drop(TachoGraph *graph, const gchar *what_if, const gchar *text, GError **error)
{
	return scale_matching(graph, what_if, text, 0, TRUE, error);
}

gboolean what_if_straggler(TachoGraph *graph, const gchar *what_if, const gchar *text,
			   GError **error)
{
	const gchar *equals = strchr(text, '=');
	struct rank_choice ranks;
	gboolean is_done;
	gdouble factor;

	if (!g_ascii_isdigit(*text) || !equals || !quantity_parse_factor(equals + 1, &factor))
		return what_if_refuse(error, what_if,
				      "it is straggler:RANKS=F, F being 1.5 or 2x, up to 1000000x");
	is_done = rank_choice_parse(graph, what_if, &text, "=", &ranks, error) &&
		  rank_choice_split(&ranks, graph, what_if, error);
	for (guint32 i = 0; is_done && i < graph->nodes->len; i++) {
		TachoNodeKind kind = graph_node_at(graph, i)->kind;

		if (rank_choice_has_node(&ranks, graph, graph_node_at(graph, i)) &&
		    (kind == TACHO_NODE_OP || kind == TACHO_NODE_KERNEL ||
		     kind == TACHO_NODE_HOST || kind == TACHO_NODE_DEVICE ||
		     kind == TACHO_NODE_COPY || kind == TACHO_NODE_CAST))
			scale_node(graph, i, factor);
	}
	rank_choice_release(&ranks);
	return is_done;
}

gboolean what_if_cores(TachoGraph *graph, const gchar *what_if, const gchar *text, GError **error)
{
	guint32 n_cores;

	if (!quantity_parse_count(text, 1, 65536, &n_cores))
		return what_if_refuse(error, what_if, "it is cores=N, N from 1 to 65536");
	graph->n_cores = n_cores;
	return TRUE;
}
