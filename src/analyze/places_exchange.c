/* places_exchange: one tree of the places that several processes have found.
 *
 * One process makes nodes stage by stage (enum place_stage), in each for one rank after the other. So the nodes of one stage
 * are exchanged before those of the next, and owners have their ranks in order; what was counted comes last:
 *
 *     owner 0   sampled | first pass | second pass | counted |  figures
 *     owner 1   sampled | first pass | second pass | counted |  figures
 *               ------>   --------->   ---------->   ------>    ------>
 *
 * (1) An owner's nodes have numbers in the order in which it made them, the root 0. It names a node by the number of the
 *     node above and the label.
 * (2) A node's type is that of its first operation that is not autograd's engine around another; samples give one only to
 *     nodes without operations, as they are counted last. */
#include "analyze/places_exchange.h"

#include "analyze/group_exchange.h"
#include "analyze/op_devices.h"
#include "base/for_each.h"

static const struct group_field node_fields[] = {
	GROUP_FIELD(struct profile_node, self, GROUP_SUM),
	GROUP_FIELD(struct profile_node, is_unknown, GROUP_ANY),
};

struct exchange {
	struct scope_places *places;
	struct group_kind kind;
	GPtrArray *nodes; /* by owner: GArray of guint32, the nodes that its are here */
};

/* --- nodes ------------------------------------------------------------------------------------ */

static guint n_nodes(const struct scope_places *places)
{
	return places->tree->nodes->len;
}

static GByteArray *pack_stage(const struct scope_places *places, enum place_stage stage)
{
	GByteArray *bytes = g_byte_array_new();

	for (guint i = 1; i < n_nodes(places); i++) {
		const struct profile_node *node = profile_node_at(places->tree, i);

		if (places->stages->data[i] != stage)
			continue;
		pack_uint32(bytes, node->above);
		pack_text(bytes, node->label);
	}
	return bytes;
}

static gboolean take_node(guint from, struct packed_bytes *packed, gpointer exchange_pointer)
{
	const struct exchange *exchange = exchange_pointer;
	GArray *nodes = g_ptr_array_index(exchange->nodes, from);
	g_autofree gchar *label = NULL;
	guint32 above, node;

	if (!unpack_bytes(packed, &above, sizeof(above)) || above >= nodes->len)
		return FALSE;
	label = unpack_text(packed);
	if (!label)
		return FALSE;
	node = scope_places_child(exchange->places, g_array_index(nodes, guint32, above), label);
	g_array_append_val(nodes, node);
	return TRUE;
}

/* --- figures ---------------------------------------------------------------------------------- */

/* Steps of one owner's ranks stand together: only the bytes between the first and the last that are set are sent. */
static void pack_present(GByteArray *bytes, const struct profile_tree *tree,
			 const struct profile_node *node)
{
	guint32 first = 0, end = node->present ? (tree->n_present_bits + 7) / 8 : 0;

	while (first < end && !node->present[first])
		first++;
	while (end > first && !node->present[end - 1])
		end--;
	pack_uint32(bytes, first);
	pack_uint32(bytes, end - first);
	if (end > first)
		pack_bytes(bytes, node->present + first, end - first);
}

static gboolean take_present(struct packed_bytes *packed, const struct profile_tree *tree,
			     struct profile_node *node)
{
	gsize n_all = (tree->n_present_bits + 7) / 8;
	guint32 first, n;

	if (!unpack_bytes(packed, &first, sizeof(first)) || !unpack_count(packed, &n, 1) ||
	    (gsize)first + n > n_all)
		return FALSE;
	if (n && !node->present)
		node->present = g_malloc0(n_all);
	for (guint32 i = 0; i < n; i++)
		node->present[first + i] |= packed->at[i];
	packed->at += n;
	packed->n_left -= n;
	return TRUE;
}

/* Where a node has its type from, the stronger the later. */
enum type_source { TYPE_NONE, TYPE_SAMPLES, TYPE_WRAPPER, TYPE_OPERATION };

static enum type_source source_of_type(const struct profile_node *node)
{
	if (!node->type)
		return TYPE_NONE;
	if (node->is_wrapper)
		return TYPE_WRAPPER;
	return node->self[TACHO_METRIC_RUNS] > 0 ? TYPE_OPERATION : TYPE_SAMPLES;
}

static GByteArray *pack_figures(const struct scope_places *places, const struct group_kind *kind)
{
	GByteArray *bytes = g_byte_array_new();

	for (guint32 i = 0; i < n_nodes(places); i++) {
		const struct profile_node *node = profile_node_at(places->tree, i);

		if (!node->type) /* nothing was counted there */
			continue;
		pack_uint32(bytes, i);
		pack_uint32(bytes, source_of_type(node));
		pack_text(bytes, node->type);
		pack_optional_text(bytes, node->phase);
		pack_optional_text(bytes, node->tags);
		pack_optional_text(bytes, node->shapes);
		pack_optional_text(bytes, node->devices ? node->devices->str : NULL);
		pack_present(bytes, places->tree, node);
		group_pack(bytes, places->timeline, kind, node);
	}
	return bytes;
}

/* (2); before figures are added, which tell where the node's own is from. */
static void take_type(struct profile_tree *tree, struct profile_node *node, const gchar *type,
		      enum type_source source)
{
	if (source <= source_of_type(node))
		return;
	node->type = g_string_chunk_insert_const(tree->strings, type);
	node->is_wrapper = source == TYPE_WRAPPER;
}

/* Devices are those of all its calls. */
static void add_devices(struct profile_node *node, const gchar *devices)
{
	g_auto(GStrv) names = g_strsplit(devices, ",", -1);

	if (!node->devices)
		node->devices = g_string_new(NULL);
	for (guint i = 0; names[i]; i++)
		if (*names[i])
			op_devices_add_name(node->devices, names[i]);
}

/* A text that each call overwrites. */
static void replace(struct profile_tree *tree, const gchar **text, const gchar *told)
{
	if (told)
		*text = g_string_chunk_insert_const(tree->strings, told);
}

static gboolean take_texts(struct packed_bytes *packed, struct profile_tree *tree,
			   struct profile_node *node)
{
	g_autofree gchar *phase = NULL, *tags = NULL, *shapes = NULL, *devices = NULL;

	if (!unpack_optional_text(packed, &phase) || !unpack_optional_text(packed, &tags) ||
	    !unpack_optional_text(packed, &shapes) || !unpack_optional_text(packed, &devices))
		return FALSE;
	replace(tree, &node->phase, phase);
	replace(tree, &node->tags, tags);
	if (!node->shapes)
		node->shapes = g_steal_pointer(&shapes);
	if (devices)
		add_devices(node, devices);
	return TRUE;
}

static gboolean take_figures(guint from, struct packed_bytes *packed, gpointer exchange_pointer)
{
	const struct exchange *exchange = exchange_pointer;
	const GArray *nodes = g_ptr_array_index(exchange->nodes, from);
	struct profile_tree *tree = exchange->places->tree;
	struct profile_node *node;
	g_autofree gchar *type = NULL;
	guint32 index, source;

	if (!unpack_bytes(packed, &index, sizeof(index)) || index >= nodes->len ||
	    !unpack_bytes(packed, &source, sizeof(source)) || source > TYPE_OPERATION)
		return FALSE;
	node = profile_node_at(tree, g_array_index(nodes, guint32, index));
	type = unpack_text(packed);
	if (!type || !take_texts(packed, tree, node) || !take_present(packed, tree, node))
		return FALSE;
	take_type(tree, node, type, (enum type_source)source);
	return group_unpack(packed, &exchange->kind, node);
}

/* --- as one ----------------------------------------------------------------------------------- */

static GPtrArray *new_numbers(guint n_owners)
{
	GPtrArray *nodes = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	guint32 root = 0;

	for (guint i = 0; i < n_owners; i++) {
		GArray *of_owner = g_array_new(FALSE, FALSE, sizeof(guint32));

		g_array_append_val(of_owner, root);
		g_ptr_array_add(nodes, of_owner);
	}
	return nodes;
}

void places_exchange(struct scope_places *places, const gchar *view)
{
	const TachoTimeline *timeline = places->timeline;
	struct exchange exchange = {
		.places = places,
		.kind = { view, "figures of places", node_fields, G_N_ELEMENTS(node_fields) },
	};
	g_autoptr(GByteArray) figures = NULL;
	GByteArray *stages[N_PLACE_STAGES];

	if (!timeline->share)
		return;
	for (guint stage = 0; stage < N_PLACE_STAGES; stage++)
		stages[stage] = pack_stage(places, stage);
	figures = pack_figures(places, &exchange.kind);
	scope_places_clear(places);
	exchange.nodes = new_numbers(tacho_peers_count(timeline->share->peers));
	for (guint stage = 0; stage < N_PLACE_STAGES; stage++) {
		group_exchange(timeline, "places", stages[stage], take_node, &exchange);
		g_byte_array_unref(stages[stage]);
	}
	group_exchange(timeline, exchange.kind.what, figures, take_figures, &exchange);
	g_ptr_array_unref(exchange.nodes);
}
