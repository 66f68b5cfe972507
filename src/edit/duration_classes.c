#include "edit/duration_classes.h"
#include "base/order.h"
#include "trace/none_rows.h"

/* What the nodes of one sort have in common; a class is a sort's nodes at one place in their steps. */
struct sort_key {
	guint32 lane, kind, name, group;
	guint64 bytes;
};

static struct sort_key key_of(const TachoGraph *graph, guint32 index)
{
	const struct graph_node *node = graph_node_at(graph, index);
	struct sort_key key = { node->lane, node->kind, node->name, TACHO_NONE, 0 };

	if (node->transfer != TACHO_NONE) {
		key.group = graph_transfer_at(graph, node->transfer)->group;
		key.bytes = graph_transfer_at(graph, node->transfer)->bytes;
	}
	return key;
}

static gint compare_keys(const struct sort_key *a, const struct sort_key *b)
{
	return ORDER(a->lane, b->lane) ?: ORDER(a->kind, b->kind) ?: ORDER(a->name, b->name) ?:
	       ORDER(a->group, b->group) ?: ORDER(a->bytes, b->bytes);
}

static gint compare_nodes(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoGraph *graph = data;
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
	struct sort_key key_x = key_of(graph, x), key_y = key_of(graph, y);
	guint32 step_x = graph_node_at(graph, x)->step, step_y = graph_node_at(graph, y)->step;
	gint order = compare_keys(&key_x, &key_y);

	if (order != 0)
		return order;
	return ORDER(step_x, step_y) ?: ORDER(x, y);
}

/* The nodes that are in a step, sorts together, and within a sort by step. */
static GArray *sort_nodes(const TachoGraph *graph)
{
	GArray *sorted = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = 0; i < graph->nodes->len; i++)
		if (graph_node_at(graph, i)->step != TACHO_NONE &&
		    graph_node_at(graph, i)->kind != TACHO_NODE_REMOVED)
			g_array_append_val(sorted, i);
	g_array_sort_with_data(sorted, compare_nodes, (gpointer)graph);
	return sorted;
}

/* Number the classes, a sort's after those of the sort before. */
static void find_classes(struct duration_classes *classes, const TachoGraph *graph,
			 const GArray *sorted)
{
	guint32 base = 0, place = 0;

	for (guint i = 0; i < sorted->len; i++) {
		guint32 node = g_array_index(sorted, guint32, i);
		struct sort_key key = key_of(graph, node);

		if (i > 0) {
			guint32 before = g_array_index(sorted, guint32, i - 1);
			struct sort_key key_before = key_of(graph, before);

			place++;
			if (compare_keys(&key, &key_before) != 0) {
				base = classes->n_classes;
				place = 0;
			} else if (graph_node_at(graph, node)->step !=
				   graph_node_at(graph, before)->step) {
				place = 0;
			}
		}
		classes->class_of[node] = base + place;
		classes->n_classes = MAX(classes->n_classes, base + place + 1);
	}
}

static void list_nodes(struct duration_classes *classes, guint32 n_nodes)
{
	classes->first = g_new0(guint32, (gsize)classes->n_classes + 2);
	classes->nodes = g_new(guint32, MAX(n_nodes, 1u));
	for (guint32 i = 0; i < n_nodes; i++)
		if (classes->class_of[i] != TACHO_NONE)
			classes->first[classes->class_of[i] + 2]++;
	for (guint32 i = 2; i < classes->n_classes + 2; i++)
		classes->first[i] += classes->first[i - 1];
	for (guint32 i = 0; i < n_nodes; i++)
		if (classes->class_of[i] != TACHO_NONE)
			classes->nodes[classes->first[classes->class_of[i] + 1]++] = i;
}

void duration_classes_init(struct duration_classes *classes, const TachoGraph *graph)
{
	g_autoptr(GArray) sorted = sort_nodes(graph);
	guint32 n_nodes = graph->nodes->len;

	*classes = (struct duration_classes){ .class_of = none_rows_new(n_nodes) };
	find_classes(classes, graph, sorted);
	list_nodes(classes, n_nodes);
}

void duration_classes_release(struct duration_classes *classes)
{
	g_clear_pointer(&classes->class_of, g_free);
	g_clear_pointer(&classes->first, g_free);
	g_clear_pointer(&classes->nodes, g_free);
}
