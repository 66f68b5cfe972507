/* what_if_work: changes of how long work takes, and on how many cores. */
#include <math.h>
#include <string.h>

#include <tacho/words.h>

#include "base/for_each.h"
#include "base/time_units.h"
#include "edit/rank_choice.h"
#include "edit/change_internal.h"

/* The cores of a host, at most.
 * Source: a rule: more than hosts have. If wrong, more cores are refused; leaving the change out says the same. */
#define MAX_CORES 65536

static gboolean kind_matches(const TachoGraph *graph, const gchar *kind, guint32 slice)
{
	TachoSliceKind slice_kind = graph->timeline->slices.kind[slice];

	return strcmp(kind, tacho_slice_kind_name(slice_kind)) == 0;
}

gboolean change_slice_matches(const TachoGraph *graph, const gchar *kind, const GRegex *regex,
			      guint32 slice)
{
	const TachoSlices *slices = &graph->timeline->slices;
	guint32 launch = slices->launch[slice];

	for (; slice != TACHO_NONE; slice = slices->parent[slice])
		if (kind_matches(graph, kind, slice) &&
		    g_regex_match(regex, tacho_slice_name(graph->timeline, slice), 0, NULL))
			return TRUE;
	return launch != TACHO_NONE && strcmp(kind, "runtime") != 0 &&
	       change_slice_matches(graph, kind, regex, launch);
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
	return node->slice != TACHO_NONE && change_slice_matches(graph, kind, regex, node->slice);
}

static void scale_node(TachoGraph *graph, guint32 index, gdouble factor)
{
	struct graph_node *node = graph_node_at(graph, index);

	if (node->kind == TACHO_NODE_TRANSFER) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, node->transfer);

		graph_change_transfer(graph, node->transfer, transfer->fixed_ns * factor,
				      transfer->work_ns * factor, ORIGIN_SCALED);
	} else {
		graph_change_duration(node, rounded_ns((gdouble)node->duration_ns * factor),
				      ORIGIN_SCALED);
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
	FOR_EACH(struct graph_block, block, graph->blocks)
		if (block->slice != TACHO_NONE && block->begin.node != TACHO_NONE &&
		    rank_choice_has(ranks, block->rank_index) &&
		    change_slice_matches(graph, kind, regex, block->slice))
			block->bytes = 0;
}

gboolean change_parse_regex(struct change *change, const gchar *text, GError **error)
{
	g_autoptr(GError) cause = NULL;

	if (!*text)
		return change_refuse(error, change, "REGEX is empty; use '.' to match all names");
	change->regex = g_regex_new(text, G_REGEX_OPTIMIZE, 0, &cause);
	return change->regex || change_refuse(error, change, "%s", cause->message);
}

gboolean change_parse_target(struct change *change, const gchar *target, GError **error)
{
	const gchar *tilde = strchr(target, '~');
	g_autofree gchar *there = NULL;

	if (!tilde)
		return change_refuse(error, change,
				     "write the work as KIND~REGEX, as in op~mm or kernel~gemm");
	change->kind = g_strndup(target, (gsize)(tilde - target));
	if (!is_target(change->kind)) {
		there = tacho_did_you_mean(change->kind, target_kinds);
		return change_refuse(error, change, "'%s' is not a kind of work%s", change->kind,
				     there);
	}
	return change_parse_regex(change, tilde + 1, error);
}

/* A word that is neither "loader" nor "wait", and no KIND~REGEX: the nearest that could be meant. */
static gboolean refuse_plain(const struct change *change, const gchar *word, GError **error)
{
	const gchar *words[G_N_ELEMENTS(target_kinds) + 1] = { "loader" };
	const gchar *nearest;

	memcpy(words + 1, target_kinds, sizeof(target_kinds)); /* with "wait", and the end */
	nearest = tacho_nearest_word(word, words);
	return change_refuse(error, change,
			     "what it is about is loader, wait, or KIND~REGEX, as in op~mm or "
			     "kernel~gemm%s%s%s%s",
			     nearest ? "; did you mean '" : "", nearest ? nearest : "",
			     nearest && strcmp(nearest, "loader") && strcmp(nearest, "wait") ? "~."
											     : "",
			     nearest ? "'?" : "");
}

/* [RANKS:]KIND~REGEX, or what has a name of its own. */
static gboolean parse_scaled(struct change *change, const gchar *target, gboolean is_dropped,
			     GError **error)
{
	if (!change_parse_ranks(change, &target, ":", error))
		return FALSE;
	if (strcmp(target, "loader") == 0 || strcmp(target, "wait") == 0)
		change->name = g_strdup(target);
	if (strcmp(target, "wait") == 0 && (!is_dropped || change->ranks))
		return change_refuse(error, change,
				     "how long ranks wait for each other follows from their "
				     "work and cannot be scaled by itself; drop:wait takes all "
				     "waits of all ranks away, straggler:RANKS=F changes the "
				     "work of some ranks, and scale:wait~REGEX=F changes "
				     "the waits of threads, by name");
	if (change->name)
		return TRUE;
	if (!strchr(target, '~'))
		return refuse_plain(change, target, error);
	if (!change_parse_target(change, target, error))
		return FALSE;
	if (change->ranks && strcmp(change->kind, "collective") == 0)
		return change_refuse(error, change,
				     "a collective belongs to all its ranks, so it cannot be "
				     "changed for some of them");
	return TRUE;
}

gboolean parse_scale(struct change *change, const gchar *text, GError **error)
{
	const gchar *equals = strrchr(text, '=');
	g_autofree gchar *target = NULL;

	if (!equals || !quantity_parse_factor(equals + 1, &change->value.factor))
		return change_refuse(error, change,
				     "write scale:KIND~REGEX=F, scale:RANKS:KIND~REGEX=F or "
				     "scale:loader=F, with F as 0.5 or 2x, up to 1000000x");
	target = g_strndup(text, (gsize)(equals - text));
	return parse_scaled(change, target, FALSE, error);
}

gboolean parse_drop(struct change *change, const gchar *text, GError **error)
{
	change->value.factor = 0;
	return parse_scaled(change, text, TRUE, error);
}

/* What matches, of these ranks; FALSE: nothing does. */
static gboolean scale_matching(TachoGraph *graph, const struct change *change,
			       const struct rank_choice *ranks)
{
	gboolean is_any = FALSE;

	for (guint32 i = 0; i < graph->nodes->len; i++)
		if (rank_choice_has_node(ranks, graph, graph_node_at(graph, i)) &&
		    node_matches(graph, change->kind, change->regex, graph_node_at(graph, i))) {
			scale_node(graph, i, change->value.factor);
			is_any = TRUE;
		}
	return is_any;
}

static gboolean scale_ranks(TachoGraph *graph, const struct change *change,
			    const struct rank_choice *ranks, gboolean is_dropped, GError **error)
{
	if (change->name && strcmp(change->name, "loader") == 0)
		return change_scale_loader(graph, change, ranks, change->value.factor, error);
	if (!scale_matching(graph, change, ranks))
		return change_refuse(error, change, "the steps have no %s with that name",
				     change->kind);
	if (is_dropped)
		drop_memory(graph, ranks, change->kind, change->regex);
	return TRUE;
}

static gboolean scale(TachoGraph *graph, const struct change *change, gboolean is_dropped,
		      GError **error)
{
	struct rank_choice ranks;
	gboolean is_done;

	if (change->name && strcmp(change->name, "wait") == 0)
		return change_drop_wait(graph, change, error);
	is_done = rank_choice_init(&ranks, graph, change, error) &&
		  rank_choice_split(&ranks, graph, change, error) &&
		  scale_ranks(graph, change, &ranks, is_dropped, error);
	rank_choice_release(&ranks);
	return is_done;
}

gboolean apply_scale(TachoGraph *graph, const struct change *change, GError **error)
{
	return scale(graph, change, FALSE, error);
}

gboolean apply_drop(TachoGraph *graph, const struct change *change, GError **error)
{
	return scale(graph, change, TRUE, error);
}

gboolean parse_straggler(struct change *change, const gchar *text, GError **error)
{
	const gchar *equals = strchr(text, '=');

	if (!g_ascii_isdigit(*text) || !equals ||
	    !quantity_parse_factor(equals + 1, &change->value.factor))
		return change_refuse(
			error, change,
			"write straggler:RANKS=F, with F as 1.5 or 2x, up to 1000000x");
	return change_parse_ranks(change, &text, "=", error);
}

gboolean apply_straggler(TachoGraph *graph, const struct change *change, GError **error)
{
	struct rank_choice ranks;
	gboolean is_done = rank_choice_init(&ranks, graph, change, error) &&
			   rank_choice_split(&ranks, graph, change, error);

	for (guint32 i = 0; is_done && i < graph->nodes->len; i++) {
		TachoNodeKind kind = graph_node_at(graph, i)->kind;

		if (rank_choice_has_node(&ranks, graph, graph_node_at(graph, i)) &&
		    (kind == TACHO_NODE_OP || kind == TACHO_NODE_KERNEL ||
		     kind == TACHO_NODE_HOST || kind == TACHO_NODE_DEVICE ||
		     kind == TACHO_NODE_COPY || kind == TACHO_NODE_CAST))
			scale_node(graph, i, change->value.factor);
	}
	rank_choice_release(&ranks);
	return is_done;
}

gboolean parse_cores(struct change *change, const gchar *text, GError **error)
{
	return quantity_parse_count(text, 1, MAX_CORES, &change->value.count) ||
	       change_refuse(error, change, "write cores=N, with N from 1 to %u", MAX_CORES);
}

gboolean apply_cores(TachoGraph *graph, const struct change *change, GError **error)
{
	(void)error;
	graph->n_cores = change->value.count;
	return TRUE;
}
