#include "import/execution/execution_link.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "import/execution/execution_args.h"
#include "import/function_ids.h"
#include "trace/mark_kind.h"

enum {
	GRAM = 4,	  /* names in a row that are looked for */
	MAX_PLACES = 128, /* where the same names in a row stand that are considered */
};

/* A name at a position: a number of an operation, or its place among its thread's. */
struct named {
	gint64 position;
	guint32 name, index; /* index: of the node, or of the function */
};

/* What one process has that may be linked. */
struct candidate {
	guint32 process;
	GArray *functions; /* struct function_id, by external id */
};

struct linking {
	struct import *import;
	struct execution_trace *trace;
	GArray *functions; /* struct function_id of the process, host's only, by time */
	guint32 *linked;   /* of each node: index into functions, or TACHO_NONE */
	guint32 n_linked, n_operations;
	guint32 n_met; /* nodes that have a function in their place, of whatever name */
};

/* --- shifts --------------------------------------------------------------------------------- */

static gint compare_named(gconstpointer first, gconstpointer second)
{
	const struct named *a = first, *b = second;

	return ORDER(a->position, b->position);
}

static const struct named *named_at(const GArray *list, guint index)
{
	return &g_array_index(list, struct named, index);
}

/* The names from `index` on, as a number. */
static guint64 gram_at(const GArray *list, guint index)
{
	guint64 hash = 0;

	for (guint i = 0; i < GRAM; i++)
		hash = (hash ^ named_at(list, index + i)->name) *
		       G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Where each row of names stands: chains of indexes, plus 1. */
struct gram_table {
	GHashTable *first; /* gram -> index + 1 */
	guint32 *next;
};

static void gram_table_init(struct gram_table *table, const GArray *list)
{
	table->first = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	table->next = g_new0(guint32, list->len + 1);
	for (guint i = list->len >= GRAM ? list->len - GRAM + 1 : 0; i-- > 0;) {
		gint64 gram = (gint64)gram_at(list, i);

		table->next[i] = GPOINTER_TO_UINT(g_hash_table_lookup(table->first, &gram));
		g_hash_table_insert(table->first, g_memdup2(&gram, sizeof(gram)),
				    GUINT_TO_POINTER(i + 1));
	}
}

static void gram_table_release(struct gram_table *table)
{
	g_hash_table_unref(table->first);
	g_free(table->next);
}

/* The shift from positions in `nodes` to those in `functions` that most rows of names agree on, and how many;
 * of several the least. */
static guint find_shift(const GArray *nodes, const GArray *functions, gint64 *ret_shift)
{
	g_autoptr(GHashTable) votes =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	struct gram_table table;
	guint best = 0;

	gram_table_init(&table, functions);
	for (guint i = 0; i + GRAM <= nodes->len; i++) {
		gint64 gram = (gint64)gram_at(nodes, i);
		guint32 at = GPOINTER_TO_UINT(g_hash_table_lookup(table.first, &gram));

		for (guint k = 0; at && k < MAX_PLACES; k++, at = table.next[at - 1]) {
			gint64 shift = named_at(functions, at - 1)->position -
				       named_at(nodes, i)->position;
			guint n = GPOINTER_TO_UINT(g_hash_table_lookup(votes, &shift)) + 1;

			g_hash_table_insert(votes, g_memdup2(&shift, sizeof(shift)),
					    GUINT_TO_POINTER(n));
			if (n > best || (n == best && shift < *ret_shift)) {
				best = n;
				*ret_shift = shift;
			}
		}
	}
	gram_table_release(&table);
	return best;
}

/* The function at `position`, or NULL. */
static const struct named *find_position(const GArray *functions, gint64 position)
{
	guint n = ROWS_BEFORE(functions, struct named, row, row->position < position);

	return n < functions->len && named_at(functions, n)->position == position
		       ? named_at(functions, n)
		       : NULL;
}

/* Link the nodes to the functions that stand `shift` further and have the same name; how many did. */
static guint link_shifted(struct linking *linking, const GArray *nodes, const GArray *functions,
			  gint64 shift)
{
	guint n = 0;

	FOR_EACH(const struct named, node, nodes) {
		const struct named *function = find_position(functions, node->position + shift);

		linking->n_met += function != NULL;
		if (!function || function->name != node->name)
			continue;
		linking->linked[node->index] = function->index;
		n++;
	}
	return n;
}

/* --- by numbers ----------------------------------------------------------------------------- */

static gboolean is_operation(const struct execution_node *node)
{
	return node->role == EXECUTION_HOST;
}

static GArray *list_nodes(const struct linking *linking)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct named));

	FOR_EACH_AT(const struct execution_node, node, i, linking->trace->nodes) {
		struct named named = { node->record_function, node->name, i };

		if (is_operation(node) && node->record_function > 0)
			g_array_append_val(list, named);
	}
	g_array_sort(list, compare_named);
	return list;
}

static GArray *list_functions(const struct linking *linking, gboolean by_record_function)
{
	const TachoSlices *slices = &linking->import->timeline->slices;
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct named));

	FOR_EACH_AT(const struct function_id, id, i, linking->functions) {
		gint64 number = by_record_function ? id->record_function : id->external;
		struct named named = { number, slices->name[id->slice], i };

		if (number > 0)
			g_array_append_val(list, named);
	}
	g_array_sort(list, compare_named);
	return list;
}

/* (1), (2): the names must agree where both have something. A profiler may have begun later, or ended before. */
static gboolean link_by_numbers(struct linking *linking, gboolean by_record_function)
{
	g_autoptr(GArray) nodes = list_nodes(linking);
	g_autoptr(GArray) functions = list_functions(linking, by_record_function);
	gint64 shift = 0;

	memset(linking->linked, 0xff, linking->trace->nodes->len * sizeof(guint32));
	linking->n_linked = linking->n_met = 0;
	if (by_record_function || find_shift(nodes, functions, &shift))
		linking->n_linked = link_shifted(linking, nodes, functions, shift);
	return linking->n_linked && linking->n_linked * 10ull >= linking->n_met * 9ull &&
	       linking->n_linked * 4ull >= linking->n_operations;
}

/* --- by likeness ---------------------------------------------------------------------------- */

/* The lists of each thread: by tid, or track. */
static void add_to_thread(GHashTable *threads, guint32 thread, guint32 name, guint32 index)
{
	GArray *list = g_hash_table_lookup(threads, GUINT_TO_POINTER(thread));
	struct named named = { 0, name, index };

	if (!list) {
		list = g_array_new(FALSE, FALSE, sizeof(struct named));
		g_hash_table_insert(threads, GUINT_TO_POINTER(thread), list);
	}
	named.position = list->len;
	g_array_append_val(list, named);
}

static void free_list(gpointer list)
{
	g_array_unref(list);
}

static GHashTable *new_threads(void)
{
	return g_hash_table_new_full(NULL, NULL, NULL, free_list);
}

static void link_thread(struct linking *linking, const GArray *nodes, GHashTable *measured)
{
	g_autoptr(GList) tracks = g_list_sort(g_hash_table_get_keys(measured), order_pointer);
	const GArray *best_list = NULL;
	gint64 best_shift = 0, shift = 0;
	guint best = 0;

	for (GList *track = tracks; track; track = track->next) {
		const GArray *list = g_hash_table_lookup(measured, track->data);
		guint n = find_shift(nodes, list, &shift);

		if (n <= best)
			continue;
		best = n;
		best_list = list;
		best_shift = shift;
	}
	if (best * 2 >= nodes->len && best_list)
		linking->n_linked += link_shifted(linking, nodes, best_list, best_shift);
}

/* (3) */
static gboolean link_by_likeness(struct linking *linking)
{
	g_autoptr(GHashTable) threads = new_threads();
	g_autoptr(GHashTable) measured = new_threads();
	const TachoSlices *slices = &linking->import->timeline->slices;
	g_autoptr(GList) keys = NULL;

	memset(linking->linked, 0xff, linking->trace->nodes->len * sizeof(guint32));
	linking->n_linked = 0;
	FOR_EACH_AT(const struct execution_node, node, i, linking->trace->nodes)
		if (is_operation(node))
			add_to_thread(threads, node->tid, node->name, i);
	for (guint i = 0; i < linking->functions->len; i++) {
		guint32 slice = g_array_index(linking->functions, struct function_id, i).slice;

		add_to_thread(measured, slices->track[slice], slices->name[slice], i);
	}
	keys = g_list_sort(g_hash_table_get_keys(threads), order_pointer);
	for (GList *key = keys; key; key = key->next)
		link_thread(linking, g_hash_table_lookup(threads, key->data), measured);
	return linking->n_linked > 0;
}

/* --- what the links give -------------------------------------------------------------------- */

static void add_link(struct linking *linking, GArray *links, GArray *rows, guint32 node,
		     guint32 slice, gboolean is_device)
{
	const TachoTimeline *timeline = linking->import->timeline;
	struct execution_link link = { .node = node, .is_device = is_device };

	link.measured = tacho_source_borrow_foreign(timeline->source,
						    timeline->slices.source[slice], &link.place);
	g_array_append_val(links, link);
	g_array_append_val(rows, slice);
}

/* Collectives on a device are what the operation with their external id asked for. */
static void link_collectives(struct linking *linking, guint32 process, GArray *links, GArray *rows)
{
	const TachoTimeline *timeline = linking->import->timeline;
	const GArray *all = linking->import->functions;
	g_autoptr(GHashTable) by_external =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

	for (guint32 i = 0; i < linking->trace->nodes->len; i++) {
		gint64 external;

		if (linking->linked[i] == TACHO_NONE)
			continue;
		external = g_array_index(linking->functions, struct function_id, linking->linked[i])
				   .external;
		g_hash_table_insert(by_external, g_memdup2(&external, sizeof(external)),
				    GUINT_TO_POINTER(i + 1));
	}
	FOR_EACH(const struct function_id, id, all) {
		guint32 track = timeline->slices.track[id->slice], node;

		if (timeline->slices.kind[id->slice] != TACHO_SLICE_COLLECTIVE ||
		    tacho_timeline_track(timeline, track)->process != process)
			continue;
		node = GPOINTER_TO_UINT(g_hash_table_lookup(by_external, &id->external)) - 1;
		if (node != TACHO_NONE)
			node = execution_trace_find_collective(linking->trace, node);
		if (node != TACHO_NONE)
			add_link(linking, links, rows, node, id->slice, TRUE);
	}
}

static void link_slices(struct linking *linking, guint32 process)
{
	TachoTimeline *timeline = linking->import->timeline;
	GArray *links = g_array_new(FALSE, FALSE, sizeof(struct execution_link));
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint32 foreign;

	for (guint32 i = 0; i < linking->trace->nodes->len; i++)
		if (linking->linked[i] != TACHO_NONE)
			add_link(linking, links, rows, i,
				 g_array_index(linking->functions, struct function_id,
					       linking->linked[i])
					 .slice,
				 FALSE);
	link_collectives(linking, process, links, rows);
	foreign = tacho_source_take_foreign(timeline->source,
					    execution_args_new(linking->trace, links));
	if (foreign == SOURCE_MAX_FOREIGN) /* freed, with the links: the slices stay as they were */
		return;
	for (guint i = 0; i < rows->len; i++) {
		guint64 handle = tacho_source_foreign_handle(foreign, EXECUTION_PLACE_LINK | i);

		timeline->slices.source[g_array_index(rows, guint32, i)] = handle;
	}
}

static void link_edges(const struct linking *linking, gboolean is_exact)
{
	g_autoptr(GArray) edges = execution_trace_edges(linking->trace);

	FOR_EACH(const struct execution_edge, edge, edges) {
		guint32 from = linking->linked[edge->from], to = linking->linked[edge->to];
		TachoFlow flow = { .kind = edge->kind, .is_exact = (guint8)is_exact };

		if (from == TACHO_NONE || to == TACHO_NONE)
			continue;
		flow.from = g_array_index(linking->functions, struct function_id, from).slice;
		flow.to = g_array_index(linking->functions, struct function_id, to).slice;
		g_array_append_val(linking->import->timeline->flows, flow);
	}
}

/* Whether the process's own trace tells of process groups. */
static gboolean has_groups(const TachoTimeline *timeline, guint32 process)
{
	FOR_EACH(const TachoMark, mark, timeline->marks)
		if (tacho_timeline_track(timeline, mark->track)->process == process &&
		    mark_kind_of(timeline, mark) == MARK_PROCESS_GROUP)
			return TRUE;
	return FALSE;
}

/* A mark says what was linked with what, and how. */
static void tell(const struct linking *linking, guint32 process, const gchar *how)
{
	TachoTimeline *timeline = linking->import->timeline;
	const struct function_id *first = &g_array_index(linking->functions, struct function_id, 0);
	g_autofree gchar *text =
		g_strdup_printf("%s: %u of %u operations found by %s", linking->trace->path,
				linking->n_linked, linking->n_operations, how);
	TachoMark mark = { .time_ns = timeline->slices.start_ns[first->slice],
			   .first = linking->n_linked,
			   .second = linking->n_operations };

	mark.track =
		import_add_track(linking->import, TACHO_TRACK_ASYNC, process, 0, "execution trace");
	mark.name = tacho_timeline_intern(timeline, "execution_trace", -1);
	mark.text = tacho_timeline_intern(timeline, text, -1);
	g_array_append_val(timeline->marks, mark);
	if (!has_groups(timeline, process))
		execution_trace_mark_groups(linking->trace, mark.track, mark.time_ns);
}

/* --- which process -------------------------------------------------------------------------- */

static gint compare_times(gconstpointer first, gconstpointer second, gpointer data)
{
	const struct function_id *a = first, *b = second;
	const TachoSlices *slices = data;

	return ORDER(slices->start_ns[a->slice], slices->start_ns[b->slice]) ?:
	       ORDER(slices->duration_ns[b->slice], slices->duration_ns[a->slice]) ?:
	       ORDER(a->external, b->external) ?: ORDER(a->slice, b->slice);
}

static void gather_functions(struct linking *linking, guint32 process)
{
	TachoTimeline *timeline = linking->import->timeline;
	const GArray *all = linking->import->functions;

	g_array_set_size(linking->functions, 0);
	FOR_EACH(const struct function_id, id, all) {
		const TachoTrack *track =
			tacho_timeline_track(timeline, timeline->slices.track[id->slice]);

		if (track->process == process && track->kind == TACHO_TRACK_THREAD)
			g_array_append_val(linking->functions, *id);
	}
	g_array_sort_with_data(linking->functions, compare_times, &timeline->slices);
}

/* How the trace's operations were found among the process's; NULL: they were not. */
static const gchar *link_process(struct linking *linking, guint32 process, gboolean *ret_is_exact)
{
	gather_functions(linking, process);
	*ret_is_exact = TRUE;
	if (!linking->functions->len)
		return NULL;
	if (link_by_numbers(linking, TRUE))
		return "Record function id";
	if (link_by_numbers(linking, FALSE))
		return "External id";
	*ret_is_exact = FALSE;
	return link_by_likeness(linking) ? "the order of names" : NULL;
}

static gboolean is_wanted(const struct linking *linking, guint32 process, guint round)
{
	const TachoProcess *row = tacho_timeline_process(linking->import->timeline, process);
	gint32 rank = execution_trace_rank(linking->trace->path);

	if (linking->trace->pid > 0 && row->pid)
		return round == 0 ? row->pid == linking->trace->pid &&
					    (rank < 0 || row->rank < 0 || row->rank == rank)
				  : row->pid == linking->trace->pid;
	return round == 1 && (rank < 0 || row->rank < 0 || rank == row->rank);
}

static gboolean try_processes(struct linking *linking, guint n_processes, guint round)
{
	for (guint32 i = 0; i < n_processes; i++) {
		gboolean is_exact;
		const gchar *how =
			is_wanted(linking, i, round) ? link_process(linking, i, &is_exact) : NULL;

		if (!how)
			continue;
		link_edges(linking, is_exact);
		tell(linking, i, how);
		link_slices(linking, i);
		return TRUE;
	}
	return FALSE;
}

gboolean execution_link(struct import *import, struct execution_trace *trace)
{
	struct linking linking = { .import = import, .trace = trace };
	guint n_processes = import->timeline->processes->len;
	gboolean is_linked = FALSE;

	if (!import->functions || !import->functions->len)
		return FALSE;
	linking.functions = g_array_new(FALSE, FALSE, sizeof(struct function_id));
	linking.linked = g_new(guint32, trace->nodes->len + 1);
	for (guint32 i = 0; i < trace->nodes->len; i++)
		linking.n_operations += is_operation(execution_trace_node(trace, i));
	for (guint round = 0; round < 2 && !is_linked; round++)
		is_linked = try_processes(&linking, n_processes, round);
	g_array_unref(linking.functions);
	g_free(linking.linked);
	return is_linked;
}
