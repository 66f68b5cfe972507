/* critical_path: what a step's time is made of, across ranks (step_path.h), and how busy each resource is. */
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "predict/prediction.h"
#include "predict/resource_name.h"
#include "predict/step_path.h"

static const TachoColumn path_columns[] = {
	NUMBER_COLUMN("start_ms", "start ms", 3),
	NUMBER_COLUMN("duration_ms", "ms", 3),
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("what", "what"),
	NAME_COLUMN("name", "name"),
};

static const TachoColumn summary_columns[] = { PATH_PART_COLUMNS };

static const TachoColumn utilisation_columns[] = {
	TEXT_COLUMN("resource", "resource", .is_flexible = TRUE),
	NUMBER_COLUMN("busy_ms", "busy ms", 3),
	SHARE_COLUMN("busy_pct", "%", 1),
};

/* Consecutive nodes of the path that are one thing. */
struct stretch {
	gint64 begin_ns, end_ns;
	guint32 node; /* one of them */
};

static const gchar *what_is(const TachoGraph *graph, guint32 node)
{
	return tacho_node_kind_category(graph_node_at(graph, node)->kind);
}

static gboolean is_same(const TachoGraph *graph, guint32 a, guint32 b)
{
	return graph_node_at(graph, a)->lane == graph_node_at(graph, b)->lane &&
	       graph_node_at(graph, a)->name == graph_node_at(graph, b)->name &&
	       what_is(graph, a) == what_is(graph, b);
}

/* The stretches of a path, last first. */
struct stretches {
	const TachoGraph *graph;
	GArray *rows; /* struct stretch */
};

static void add_stretch(guint32 node, gint64 begin_ns, gint64 end_ns, gpointer data)
{
	struct stretches *stretches = data;
	GArray *rows = stretches->rows;
	struct stretch stretch = { begin_ns, end_ns, node };
	struct stretch *last =
		rows->len ? &g_array_index(rows, struct stretch, rows->len - 1) : NULL;

	if (last && is_same(stretches->graph, last->node, node))
		last->begin_ns = begin_ns;
	else if (end_ns > begin_ns)
		g_array_append_val(rows, stretch);
}

/* The step of the rank that ends it last. */
static struct step_span last_of_step(const TachoReplay *replay, guint32 step)
{
	g_autofree struct step_span *last = replay_last_spans(replay);

	return last[graph_step_index(replay->graph, step)];
}

static const gchar *name_of(const TachoGraph *graph, guint32 node)
{
	const gchar *name =
		tacho_timeline_string(graph->timeline, graph_node_at(graph, node)->name);

	return *name ? name : "between operations";
}

static TachoTable *path_table(const TachoReplay *replay, const GArray *stretches, gint64 begin_ns)
{
	TachoTable *table =
		tacho_table_new("critical_path", path_columns, G_N_ELEMENTS(path_columns));

	for (guint i = stretches->len; i-- > 0;) {
		const struct stretch *stretch = &g_array_index(stretches, struct stretch, i);
		gint32 rank = graph_node_rank(replay->graph, stretch->node);

		tacho_table_row(table);
		tacho_table_number(table, (gdouble)(stretch->begin_ns - begin_ns) / 1e6);
		tacho_table_number(table, (gdouble)(stretch->end_ns - stretch->begin_ns) / 1e6);
		table_integer_if(table, rank >= 0, rank);
		tacho_table_text(table, what_is(replay->graph, stretch->node));
		tacho_table_text(table, name_of(replay->graph, stretch->node));
	}
	return table;
}

struct part {
	guint32 node; /* one of it */
	guint32 n;
	gint64 duration_ns;
};

static GHashTable *sum_parts(const TachoGraph *graph, const GArray *stretches)
{
	GHashTable *parts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

	FOR_EACH(const struct stretch, stretch, stretches) {
		g_autofree gchar *key = g_strdup_printf("%s %s", what_is(graph, stretch->node),
							name_of(graph, stretch->node));
		struct part *part = g_hash_table_lookup(parts, key);

		if (!part) {
			part = g_new0(struct part, 1);
			part->node = stretch->node;
			g_hash_table_insert(parts, g_steal_pointer(&key), part);
		}
		part->n++;
		part->duration_ns += stretch->end_ns - stretch->begin_ns;
	}
	return parts;
}

static TachoTable *summary_table(const TachoGraph *graph, const GArray *stretches)
{
	TachoTable *table =
		tacho_table_new("path_summary", summary_columns, G_N_ELEMENTS(summary_columns));
	g_autoptr(GHashTable) parts = sum_parts(graph, stretches);
	g_autoptr(GList) keys = g_list_sort(g_hash_table_get_keys(parts), (GCompareFunc)g_strcmp0);
	gint64 total_ns = 0;

	for (GList *key = keys; key; key = key->next)
		total_ns += ((struct part *)g_hash_table_lookup(parts, key->data))->duration_ns;
	for (GList *key = keys; key; key = key->next) {
		const struct part *part = g_hash_table_lookup(parts, key->data);

		tacho_table_row(table);
		tacho_table_text(table, what_is(graph, part->node));
		tacho_table_text(table, name_of(graph, part->node));
		tacho_table_integer(table, part->n);
		tacho_table_number(table, (gdouble)part->duration_ns / 1e6);
		tacho_table_number(table,
				   100.0 * (gdouble)part->duration_ns / (gdouble)MAX(total_ns, 1));
	}
	tacho_table_sort(table, "duration_ms", TRUE);
	return table;
}

void replay_critical_path(const TachoReplay *replay, guint32 step, TachoTable **ret_path,
			  TachoTable **ret_summary, gboolean *ret_is_device)
{
	struct step_span last = last_of_step(replay, step);
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct stretch));
	struct stretches stretches = { replay->graph, rows };

	step_path_visit(replay, &last, add_stretch, &stretches);
	*ret_path = path_table(replay, rows, step_path_begin_ns(&last));
	*ret_summary = summary_table(replay->graph, rows);
	*ret_is_device = last.is_device;
}

/* --- utilisation ---------------------------------------------------------------------------- */

struct span {
	gint64 begin_ns, end_ns;
};

static gint compare_spans(gconstpointer a, gconstpointer b)
{
	const struct span *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* The time that some span covers; sorts them. */
static gint64 covered_ns(GArray *spans)
{
	gint64 sum_ns = 0, until_ns = G_MININT64;

	g_array_sort(spans, compare_spans);
	for (guint i = 0; i < spans->len; i++) {
		struct span span = g_array_index(spans, struct span, i);

		span.begin_ns = MAX(span.begin_ns, until_ns);
		if (span.end_ns > span.begin_ns) {
			sum_ns += span.end_ns - span.begin_ns;
			until_ns = span.end_ns;
		}
	}
	return sum_ns;
}

/* For each link, when transfers were on it, up to `until_ns`: arrays of struct span. */
static GPtrArray *collect_link_spans(const TachoReplay *replay, gint64 until_ns)
{
	const TachoGraph *graph = replay->graph;
	GPtrArray *spans = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);

	for (guint i = 0; i < graph->links->len; i++)
		g_ptr_array_add(spans, g_array_new(FALSE, FALSE, sizeof(struct span)));
	FOR_EACH(const struct graph_transfer, transfer, graph->transfers) {
		const struct graph_group *group = graph_group_at(graph, transfer->group);
		struct span span = { replay->begin_ns[transfer->node],
				     MIN(replay->end_ns[transfer->node], until_ns) };

		for (guint32 j = 0; !transfer->is_removed && j < group->n_links; j++)
			g_array_append_val((GArray *)g_ptr_array_index(
						   spans, g_array_index(graph->group_links, guint32,
									group->first_link + j)),
					   span);
	}
	return spans;
}

static void add_resource(TachoTable *table, const gchar *name, gdouble busy_ns, gint64 total_ns)
{
	tacho_table_row(table);
	tacho_table_text(table, name);
	tacho_table_number(table, busy_ns / 1e6);
	tacho_table_number(table, 100.0 * busy_ns / (gdouble)MAX(total_ns, 1));
}

/* Whether its thread or stream works meanwhile. */
static gboolean is_busy(const struct graph_node *node)
{
	switch ((TachoNodeKind)node->kind) {
	case TACHO_NODE_OP:
	case TACHO_NODE_KERNEL:
	case TACHO_NODE_HOST:
	case TACHO_NODE_DEVICE:
	case TACHO_NODE_COPY:
	case TACHO_NODE_CAST:
	case TACHO_NODE_PART:
	case TACHO_NODE_COMPLETE:
		return TRUE;
	default:
		return FALSE;
	}
}

/* On a stream, a collective counts from when its transfer begins; on a thread it takes no time. */
static void add_threads(TachoTable *table, const TachoReplay *replay, gint64 total_ns)
{
	const TachoGraph *graph = replay->graph;
	g_autofree gdouble *busy_ns = g_new0(gdouble, MAX(graph->lanes->len, 1u));

	for (guint32 i = 0; i < replay->n_nodes; i++) {
		const struct graph_node *node = graph_node_at(graph, i);

		if (is_busy(node))
			busy_ns[node->lane] += (gdouble)(replay->end_ns[i] - replay->begin_ns[i]);
		if (node->kind == TACHO_NODE_QUEUE && node->transfer != TACHO_NONE) {
			guint32 transfer = graph_transfer_at(graph, node->transfer)->node;

			busy_ns[node->lane] +=
				(gdouble)(replay->end_ns[transfer] - replay->begin_ns[transfer]);
		}
	}
	FOR_EACH_AT(const struct graph_lane, lane, i, graph->lanes) {
		g_autofree gchar *name = NULL;

		if (lane->track == TACHO_NONE || lane->rank_index == TACHO_NONE)
			continue;
		name = resource_name_of_lane(graph, lane);
		add_resource(table, name, busy_ns[i], total_ns);
	}
}

static void add_links(TachoTable *table, const TachoReplay *replay, gint64 total_ns)
{
	const TachoGraph *graph = replay->graph;
	g_autoptr(GPtrArray) spans = collect_link_spans(replay, total_ns);

	FOR_EACH_AT(const struct graph_link, link, i, graph->links) {
		g_autofree gchar *name = resource_name_of_link(graph, link);

		add_resource(table, name, (gdouble)covered_ns(g_ptr_array_index(spans, i)),
			     total_ns);
	}
}

TachoTable *replay_utilisation(const TachoReplay *replay)
{
	const TachoGraph *graph = replay->graph;
	TachoTable *table = tacho_table_new("utilisation", utilisation_columns,
					    G_N_ELEMENTS(utilisation_columns));
	gint64 total_ns = 0;

	for (guint32 i = 0; i < replay->n_nodes; i++)
		if (!graph_is_guest_node(graph, graph_node_at(graph, i)))
			total_ns = MAX(total_ns, replay->end_ns[i]);
	add_threads(table, replay, total_ns);
	add_links(table, replay, total_ns);
	return table;
}
