#include "import/byteprofile/gml_graph.h"

#include <string.h>

#include "import/read/text_lines.h"

enum {
	MAX_NODES = 1 << 22,
	MAX_EDGES = 1 << 24,
};

/* The list at work: its keys come one after the other, each with a value. */
struct reading {
	struct gml_graph *graph;
	GHashTable *by_id;	/* id of the file -> index into labels + 1 */
	gint depth, list_depth; /* of brackets: now, and within the node or edge */
	enum { IN_NOTHING, IN_NODE, IN_EDGE } list, next_list;
	gchar key[16];
	gboolean has_key;
	/* The node or edge that is being read: */
	gint64 id, source, target;
	gchar *label;
};

static void add_node(struct reading *reading)
{
	gint64 *id;

	if (reading->id < 0 || !reading->label || reading->graph->labels->len >= MAX_NODES)
		return;
	id = g_memdup2(&reading->id, sizeof(*id));
	g_ptr_array_add(reading->graph->labels, g_steal_pointer(&reading->label));
	g_hash_table_insert(reading->by_id, id, GUINT_TO_POINTER(reading->graph->labels->len));
}

static void add_edge(struct reading *reading)
{
	gpointer from = g_hash_table_lookup(reading->by_id, &reading->source);
	gpointer to = g_hash_table_lookup(reading->by_id, &reading->target);
	struct gml_edge edge = { GPOINTER_TO_UINT(from) - 1, GPOINTER_TO_UINT(to) - 1 };

	if (from && to && reading->graph->edges->len < MAX_EDGES)
		g_array_append_val(reading->graph->edges, edge);
}

static void open_list(struct reading *reading)
{
	reading->depth++;
	reading->has_key = FALSE;
	if (reading->list != IN_NOTHING || reading->next_list == IN_NOTHING)
		return;
	reading->list = reading->next_list;
	reading->next_list = IN_NOTHING;
	reading->list_depth = reading->depth;
	reading->id = reading->source = reading->target = -1;
	g_clear_pointer(&reading->label, g_free);
}

static void close_list(struct reading *reading)
{
	if (reading->list != IN_NOTHING && reading->depth == reading->list_depth) {
		if (reading->list == IN_NODE)
			add_node(reading);
		else
			add_edge(reading);
		reading->list = IN_NOTHING;
	}
	reading->depth -= reading->depth > 0;
	reading->has_key = FALSE;
}

static void take_value(struct reading *reading, const gchar *text, gsize n)
{
	gint64 number = g_ascii_strtoll(text, NULL, 10);

	reading->has_key = FALSE;
	if (reading->list == IN_NOTHING || reading->depth != reading->list_depth)
		return;
	if (strcmp(reading->key, "id") == 0) {
		reading->id = number;
	} else if (strcmp(reading->key, "source") == 0) {
		reading->source = number;
	} else if (strcmp(reading->key, "target") == 0) {
		reading->target = number;
	} else if (strcmp(reading->key, "label") == 0) {
		g_free(reading->label);
		reading->label = g_strndup(text, n);
	}
}

static void take_key(struct reading *reading, const gchar *text, gsize n)
{
	g_strlcpy(reading->key, text, MIN(n + 1, sizeof(reading->key)));
	reading->has_key = TRUE;
	reading->next_list = strcmp(reading->key, "node") == 0	 ? IN_NODE
			     : strcmp(reading->key, "edge") == 0 ? IN_EDGE
								 : IN_NOTHING;
}

static void read_line(struct reading *reading, const gchar *at)
{
	while (*(at += strspn(at, " \t\r\n"))) {
		gsize n;

		if (*at == '[' || *at == ']') {
			if (*at++ == '[')
				open_list(reading);
			else
				close_list(reading);
			continue;
		}
		if (*at == '"') {
			n = strcspn(++at, "\"");
			take_value(reading, at, n);
			at += n + (at[n] == '"');
			continue;
		}
		n = strcspn(at, " \t\r\n[]");
		if (reading->has_key)
			take_value(reading, at, n);
		else
			take_key(reading, at, n);
		at += n;
	}
}

struct gml_graph *gml_graph_read(const gchar *path)
{
	g_autoptr(TextLines) lines = text_lines_open(path, NULL);
	struct reading reading = { 0 };
	guint64 offset;
	gchar *line;
	gsize n;

	if (!lines)
		return NULL;
	reading.graph = g_new0(struct gml_graph, 1);
	reading.graph->labels = g_ptr_array_new_with_free_func(g_free);
	reading.graph->edges = g_array_new(FALSE, FALSE, sizeof(struct gml_edge));
	reading.by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	while ((line = text_lines_next(lines, &n, &offset, NULL)))
		read_line(&reading, line);
	g_hash_table_unref(reading.by_id);
	g_free(reading.label);
	if (reading.graph->edges->len)
		return reading.graph;
	gml_graph_free(reading.graph);
	return NULL;
}

void gml_graph_free(struct gml_graph *graph)
{
	if (!graph)
		return;
	g_ptr_array_unref(graph->labels);
	g_array_unref(graph->edges);
	g_free(graph);
}
