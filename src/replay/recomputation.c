/* recomputation: parts of the forward pass that are not kept for the backward pass, but computed again.
 *
 * What matches is computed a second time in full, for as long as it took the first time, right before the
 * first of its backward pass. Which that is, correlate tells (forward_backward.c). What it had handed out and
 * only its backward pass needs is not held between (memory_edits.c). */
#include <string.h>

#include "replay/replay_memory.h"
#include "replay/what_if_internal.h"

/* What the matched slice takes, and the last node of it. */
struct forward_work {
	gint64 duration_ns;
	guint32 last_node;
};

struct recomputation {
	TachoGraph *graph;
	const gchar *kind;
	const GRegex *regex;
	GHashTable *works;    /* matched slice -> struct forward_work */
	GHashTable *backward; /* matched slice -> the slice its backward pass begins with */
	GHashTable *of_op;    /* the same of each op that has one */
};

static gboolean is_match(const struct recomputation *recomputation, guint32 slice)
{
	const TachoTimeline *timeline = recomputation->graph->timeline;

	return strcmp(recomputation->kind, tacho_slice_kind_name(timeline->slices.kind[slice])) ==
		       0 &&
	       g_regex_match(recomputation->regex, tacho_slice_name(timeline, slice), 0, NULL);
}

/* The outermost slice around this one, or itself, that matches. */
static guint32 matching(const struct recomputation *recomputation, guint32 slice)
{
	const TachoSlices *slices = &recomputation->graph->timeline->slices;
	guint32 match = TACHO_NONE;

	for (; slice != TACHO_NONE; slice = slices->parent[slice])
		if (is_match(recomputation, slice))
			match = slice;
	return match;
}

static void find_works(struct recomputation *recomputation)
{
	const TachoGraph *graph = recomputation->graph;

	for (guint32 i = 0; i < graph->nodes->len; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		guint32 match;
		struct forward_work *work;

		if (node->slice == TACHO_NONE ||
		    (node->kind != TACHO_NODE_OP && node->kind != TACHO_NODE_KERNEL &&
		     node->kind != TACHO_NODE_HOST))
			continue;
		match = matching(recomputation, node->slice);
		if (match == TACHO_NONE)
			continue;
		work = g_hash_table_lookup(recomputation->works, GUINT_TO_POINTER(match));
		if (!work) {
			work = g_new0(struct forward_work, 1);
			g_hash_table_insert(recomputation->works, GUINT_TO_POINTER(match), work);
		}
		work->duration_ns += node->duration_ns;
		work->last_node = i;
	}
}

/* Let the backward pass of `slice` begin with `backward`, if that is earlier than what is known. */
static void begin_with(const TachoTimeline *timeline, GHashTable *table, guint32 slice,
		       guint32 backward)
{
	gpointer known;

	if (g_hash_table_lookup_extended(table, GUINT_TO_POINTER(slice), NULL, &known) &&
	    timeline->slices.start_ns[GPOINTER_TO_UINT(known)] <=
		    timeline->slices.start_ns[backward])
		return;
	g_hash_table_insert(table, GUINT_TO_POINTER(slice), GUINT_TO_POINTER(backward));
}

static void find_backward(struct recomputation *recomputation)
{
	const TachoTimeline *timeline = recomputation->graph->timeline;

	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);
		guint32 match;

		if (flow->kind != TACHO_FLOW_FORWARD_BACKWARD)
			continue;
		match = matching(recomputation, flow->from);
		if (match != TACHO_NONE)
			begin_with(timeline, recomputation->backward, match, flow->to);
		begin_with(timeline, recomputation->of_op, flow->from, flow->to);
	}
}

/* Of what matches: that of the ops in it, or of the op that it is in. TACHO_NONE: it has none. */
static guint32 backward_of(const struct recomputation *recomputation, guint32 match)
{
	const TachoSlices *slices = &recomputation->graph->timeline->slices;
	gpointer backward;

	if (g_hash_table_lookup_extended(recomputation->backward, GUINT_TO_POINTER(match), NULL,
					 &backward))
		return GPOINTER_TO_UINT(backward);
	for (guint32 op = match; op != TACHO_NONE; op = slices->parent[op])
		if (g_hash_table_lookup_extended(recomputation->of_op, GUINT_TO_POINTER(op), NULL,
						 &backward))
			return GPOINTER_TO_UINT(backward);
	return TACHO_NONE;
}

/* By the slice that a backward pass begins with: what comes before it. */
static GHashTable *collect_insertions(struct recomputation *recomputation)
{
	const TachoTimeline *timeline = recomputation->graph->timeline;
	GHashTable *insertions = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	GHashTableIter iter;
	gpointer match, value;

	g_hash_table_iter_init(&iter, recomputation->works);
	while (g_hash_table_iter_next(&iter, &match, &value)) {
		const struct forward_work *work = value;
		guint32 name = timeline->slices.name[GPOINTER_TO_UINT(match)];
		guint32 backward = backward_of(recomputation, GPOINTER_TO_UINT(match));
		struct insertion *insertion;

		if (backward == TACHO_NONE)
			continue; /* of the backward pass itself, or of none */
		insertion = g_hash_table_lookup(insertions, GUINT_TO_POINTER(backward));
		if (!insertion) {
			insertion = g_new0(struct insertion, 1);
			*insertion =
				(struct insertion){ TACHO_NONE, 0, TACHO_NODE_OP, name, FALSE };
			g_hash_table_insert(insertions, GUINT_TO_POINTER(backward), insertion);
		}
		insertion->duration_ns += work->duration_ns;
		insertion->name = MIN(insertion->name, name); /* of several, always the same */
	}
	return insertions;
}

/* The first node of each backward pass, in order. */
static GArray *place_insertions(const TachoGraph *graph, GHashTable *by_slice)
{
	const TachoSlices *slices = &graph->timeline->slices;
	GArray *insertions = g_array_new(FALSE, FALSE, sizeof(struct insertion));

	for (guint32 i = 0; i < graph->nodes->len; i++) {
		const struct graph_node *node = graph_node_at(graph, i);

		if (node->kind == TACHO_NODE_REMOVED || node->transfer != TACHO_NONE)
			continue;
		for (guint32 slice = node->slice; slice != TACHO_NONE;
		     slice = slices->parent[slice]) {
			struct insertion *insertion =
				g_hash_table_lookup(by_slice, GUINT_TO_POINTER(slice));

			if (!insertion || insertion->next != TACHO_NONE)
				continue;
			insertion->next = i;
			g_array_append_val(insertions, *insertion);
			break; /* a node follows one insertion */
		}
	}
	return insertions;
}

/* What is not held between the forward pass and when it is computed again; before nodes are put in. */
static void free_memory(const struct recomputation *recomputation, GHashTable *by_slice)
{
	TachoGraph *graph = recomputation->graph;
	const TachoSlices *slices = &graph->timeline->slices;
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct memory_recomputation));
	GHashTableIter iter;
	gpointer key, value;

	g_hash_table_iter_init(&iter, recomputation->works);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		guint32 match = GPOINTER_TO_UINT(key);
		guint32 backward = backward_of(recomputation, match);
		const struct insertion *insertion =
			backward == TACHO_NONE
				? NULL
				: g_hash_table_lookup(by_slice, GUINT_TO_POINTER(backward));
		struct memory_recomputation part;

		if (!insertion || insertion->next == TACHO_NONE)
			continue;
		part = (struct memory_recomputation){
			.rank_index = tacho_slice_process(graph->timeline, match)->rank_index,
			.begin_ns = slices->start_ns[match],
			.end_ns = tacho_slice_end_ns(graph->timeline, match),
			.again_ns = slices->start_ns[backward],
			.last_node = ((const struct forward_work *)value)->last_node,
			.again_node = insertion->next,
		};
		g_array_append_val(parts, part);
	}
	memory_recompute(graph, parts);
}

static guint recompute(TachoGraph *graph, const gchar *kind, const GRegex *regex)
{
	struct recomputation recomputation = { .graph = graph, .kind = kind, .regex = regex };
	g_autoptr(GHashTable) by_slice = NULL;
	g_autoptr(GArray) insertions = NULL;

	recomputation.works = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	recomputation.backward = g_hash_table_new(NULL, NULL);
	recomputation.of_op = g_hash_table_new(NULL, NULL);
	find_works(&recomputation);
	find_backward(&recomputation);
	by_slice = collect_insertions(&recomputation);
	insertions = place_insertions(graph, by_slice);
	if (insertions->len > 0 && graph->blocks->len > 0)
		free_memory(&recomputation, by_slice);
	g_hash_table_unref(recomputation.works);
	g_hash_table_unref(recomputation.backward);
	g_hash_table_unref(recomputation.of_op);
	if (insertions->len > 0)
		what_if_insert(graph, insertions);
	return insertions->len;
}

gboolean what_if_recompute(TachoGraph *graph, const gchar *what_if, const gchar *text,
			   GError **error)
{
	const gchar *tilde = strchr(text, '~');
	g_autofree gchar *kind = g_strndup(text, tilde ? (gsize)(tilde - text) : strlen(text));
	g_autoptr(GRegex) regex = NULL;
	g_autoptr(GError) cause = NULL;

	if (!tilde || (strcmp(kind, "op") != 0 && strcmp(kind, "module") != 0 &&
		       strcmp(kind, "annotation") != 0))
		return what_if_refuse(error, what_if,
				      "it is recompute:KIND~REGEX, KIND being op, module or "
				      "annotation");
	regex = g_regex_new(tilde + 1, G_REGEX_OPTIMIZE, 0, &cause);
	if (!regex)
		return what_if_refuse(error, what_if, "%s", cause->message);
	if (replay_has_devices(graph))
		return what_if_refuse(error, what_if,
				      "what devices would do again is not modelled");
	if (recompute(graph, kind, regex) == 0)
		return what_if_refuse(error, what_if,
				      "no %s of that name has a backward pass in the steps", kind);
	return TRUE;
}
