/* sensitivity: by how much a step would be shorter if one thing were 1 % faster.
 *
 * A thing is all work of one kind and name, all work of a rank, the bandwidth or the latency of all links.
 * Each is a trial of its own (replay_trial.h). Times are whole nanoseconds, of which 1 % of a short piece
 * is no part: what rounding leaves is carried to the thing's next piece. */
#include <math.h>

#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "graph/rank_copies.h"
#include "replay/replay_trial.h"

/* Times are divided by it.
 * Source: a rule: "1 % faster" is what the table says; little enough for a slope, more than rounding. If wrong, gains are of larger
 * or smaller changes. */
#define FASTER 1.01

static const gdouble to_ms = 1e-6;

static const TachoColumn columns[] = {
	TEXT_COLUMN("what", "what"),
	NAME_COLUMN("name", "name"),
	INTEGER_COLUMN("pieces", "pieces"),
	NUMBER_COLUMN("busy_ms", "busy ms", 3),
	NUMBER_COLUMN("gain_ms", "gain ms", 4),
	NUMBER_COLUMN("gain_pct", "gain %", 3),
	SHARE_COLUMN("felt_pct", "felt %", 1),
};

enum thing_kind {
	THING_WORK,
	THING_RANK,
	THING_BANDWIDTH,
	THING_LATENCY,
};

struct thing {
	enum thing_kind kind;
	TachoNodeKind node_kind; /* WORK */
	guint32 id;		 /* WORK: string of the name; RANK: index */
	GArray *edits;		 /* struct trial_edit */
	gdouble busy_ns;	 /* of all ranks that those played stand for; of a RANK, its own */
	gdouble rest_ns;
};

struct things {
	const TachoGraph *graph;
	const guint32 *weights; /* how many ranks each that is played stands for */
	GPtrArray *list;	/* struct thing */
	GHashTable *of_key;
};

static void thing_free(gpointer pointer)
{
	struct thing *thing = pointer;

	g_array_unref(thing->edits);
	g_free(thing);
}

/* The thing, made when new. */
static struct thing *take_thing(struct things *things, enum thing_kind kind,
				TachoNodeKind node_kind, guint32 id)
{
	gint64 key = (gint64)((guint64)kind << 40 | (guint64)node_kind << 32 | id);
	struct thing *thing = g_hash_table_lookup(things->of_key, &key);

	if (thing)
		return thing;
	thing = g_new0(struct thing, 1);
	*thing = (struct thing){ .kind = kind, .node_kind = node_kind, .id = id };
	thing->edits = g_array_new(FALSE, FALSE, sizeof(struct trial_edit));
	g_ptr_array_add(things->list, thing);
	g_hash_table_insert(things->of_key, g_memdup2(&key, sizeof(key)), thing);
	return thing;
}

static void add_work(const TachoGraph *graph, struct thing *thing, guint32 index, guint32 n_times)
{
	gdouble now_ns = (gdouble)graph->duration_ns[index];
	gdouble faster_ns = now_ns / FASTER + thing->rest_ns;
	struct trial_edit edit = { .node = index };

	edit.duration_ns = MAX(llround(faster_ns), 0);
	thing->rest_ns = faster_ns - (gdouble)edit.duration_ns;
	thing->busy_ns += now_ns * n_times;
	g_array_append_val(thing->edits, edit);
}

/* Links are faster for all jobs on them. */
static void add_transfer(struct things *things, guint32 index)
{
	const struct graph_transfer *transfer =
		graph_transfer_at(things->graph, graph_node_at(things->graph, index)->transfer);
	gboolean is_ours = graph_group_at(things->graph, transfer->group)->job == 0;
	struct thing *bandwidth = take_thing(things, THING_BANDWIDTH, TACHO_NODE_TRANSFER, 0);
	struct thing *latency = take_thing(things, THING_LATENCY, TACHO_NODE_TRANSFER, 0);
	struct trial_edit edit = { .node = index,
				   .fixed_ns = transfer->fixed_ns,
				   .work_ns = transfer->work_ns / FASTER };

	g_array_append_val(bandwidth->edits, edit);
	bandwidth->busy_ns += is_ours ? transfer->work_ns : 0;
	edit.fixed_ns = transfer->fixed_ns / FASTER;
	edit.work_ns = transfer->work_ns;
	g_array_append_val(latency->edits, edit);
	latency->busy_ns += is_ours ? transfer->fixed_ns : 0;
}

static gboolean is_work(TachoNodeKind kind)
{
	switch (kind) {
	case TACHO_NODE_OP:
	case TACHO_NODE_KERNEL:
	case TACHO_NODE_HOST:
	case TACHO_NODE_LAUNCH:
	case TACHO_NODE_DEVICE:
	case TACHO_NODE_COPY:
	case TACHO_NODE_CAST:
		return TRUE;
	default:
		return FALSE;
	}
}

static void find_things(struct things *things)
{
	const TachoGraph *graph = things->graph;

	for (guint32 i = 0; i < graph->n_frozen; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		guint32 rank = graph_lane_at(graph, node->lane)->rank_index;

		if (node->kind == TACHO_NODE_TRANSFER) {
			add_transfer(things, i);
		} else if (is_work(node->kind) && graph->duration_ns[i] > 0 &&
			   !graph_is_guest_node(graph, node)) {
			add_work(graph, take_thing(things, THING_WORK, node->kind, node->name), i,
				 rank == TACHO_NONE ? 1 : things->weights[rank]);
			if (rank != TACHO_NONE)
				add_work(graph, take_thing(things, THING_RANK, TACHO_NODE_OP, rank),
					 i, 1);
		}
	}
}

static const gchar *what_of(const struct thing *thing)
{
	switch (thing->kind) {
	case THING_RANK:
		return "rank";
	case THING_BANDWIDTH:
	case THING_LATENCY:
		return "links";
	default:
		return tacho_node_kind_name(thing->node_kind);
	}
}

static gchar *name_of(const TachoGraph *graph, const struct thing *thing)
{
	switch (thing->kind) {
	case THING_RANK:
		return g_strdup_printf("%d", rank_copies_number(graph, thing->id));
	case THING_BANDWIDTH:
		return g_strdup("bandwidth");
	case THING_LATENCY:
		return g_strdup("latency");
	default:
		break;
	}
	return thing->id == 0 ? g_strdup("between operations")
			      : g_strdup(tacho_timeline_string(graph->timeline, thing->id));
}

static void add_row(TachoTable *table, const TachoGraph *graph, const struct thing *thing,
		    gdouble step_ns, gdouble faster_ns)
{
	g_autofree gchar *name = name_of(graph, thing);
	guint32 n_steps = MAX(graph->steps->len, 1u);
	guint32 n_ranks = MAX(rank_copies_n_asked(graph), 1u);
	gdouble busy_ns = thing->busy_ns / n_steps, gain_ns = step_ns - faster_ns;

	/* each rank has its own work, so the mean over ranks is told; a rank's is its own, a link's is all ranks' */
	if (thing->kind == THING_WORK)
		busy_ns /= n_ranks;
	tacho_table_row(table);
	tacho_table_text(table, what_of(thing));
	tacho_table_text(table, name);
	tacho_table_integer(table, thing->edits->len);
	tacho_table_number(table, busy_ns * to_ms);
	tacho_table_number(table, gain_ns * to_ms);
	tacho_table_number(table, step_ns > 0 ? 100 * gain_ns / step_ns : NAN);
	tacho_table_number(table, busy_ns > 0 ? 100 * gain_ns / (busy_ns * (1 - 1 / FASTER)) : NAN);
}

static TachoTable *try_things(const TachoGraph *graph, const GPtrArray *list,
			      const struct trial_base *base)
{
	TachoTable *table = tacho_table_new("sensitivity", columns, G_N_ELEMENTS(columns));
	g_autofree struct trial_change *changes = g_new0(struct trial_change, list->len + 1);

	FOR_EACH_POINTER_AT(const struct thing, thing, i, list) {
		changes[i].edits = (const struct trial_edit *)(void *)thing->edits->data;
		changes[i].n_edits = thing->edits->len;
	}
	replay_trials_run(base, changes, list->len + 1); /* the last changes nothing */
	for (guint i = 0; i < list->len; i++)
		add_row(table, graph, g_ptr_array_index(list, i), changes[list->len].step_ns,
			changes[i].step_ns);
	tacho_table_sort(table, "gain_ms", TRUE);
	return table;
}

TachoTable *tacho_replay_sensitivity(const TachoGraph *graph, GError **error)
{
	g_autofree guint32 *weights = rank_copies_weights(graph);
	struct things things = { graph, weights, NULL, NULL };
	struct trial_base *base = trial_base_new(graph, error);
	TachoTable *table;

	if (!base)
		return NULL;
	things.list = g_ptr_array_new_with_free_func(thing_free);
	things.of_key = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	find_things(&things);
	table = try_things(graph, things.list, base);
	g_hash_table_unref(things.of_key);
	g_ptr_array_unref(things.list);
	trial_base_free(base);
	return table;
}
