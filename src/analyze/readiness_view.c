/* readiness_view: how long operations wait after all that they read is there.
 *
 * (1) An operation is ready when the last of those ended whose results it reads: as arrows of the trace or of a graph
 *     tell, else by the memory of tensors: who wrote it last before the operation began.
 * (2) Its latency is from there to its begin; 0 where it began before (results that are passed on early).
 * (3) Operations inside others are their concern: only the outermost count, as who reads and as whose results are
 *     read.
 *
 * A row is the operations of a name on a rank. */
#include <tacho/analyze.h>

#include <string.h>

#include "analyze/outermost_op.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/quantile.h"
#include "base/time_units.h"
#include "trace/slice_columns.h"

/* Tensors to look at before it is believed that the trace does not tell where any is: each look may read a file. */
#define MAX_PLACELESS 4096

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("name", "op", .is_flexible = TRUE),
	INTEGER_COLUMN("count", "count"),
	NUMBER_COLUMN("inputs", "inputs", 1),
	NUMBER_COLUMN("mean_us", "mean us", 1),
	NUMBER_COLUMN("median_us", "median", 1),
	NUMBER_COLUMN("p90_us", "90 %", 1),
	NUMBER_COLUMN("max_us", "most", 1),
	INTEGER_COLUMN("max_step", "step"),
	NUMBER_COLUMN("total_ms", "total ms", 3),
	TEXT_COLUMN("last_input", "last ready", .is_flexible = TRUE),
};

/* When an operation is ready, as far as is known. */
struct ready {
	gint64 time_ns;
	guint32 last; /* whose results came last */
	guint32 n_inputs;
};

/* The operations of a name. */
struct group {
	guint32 name;
	GArray *latencies; /* gint64 ns */
	guint64 n_inputs;
	gint64 max_ns;
	gint64 max_step;  /* -1: in none */
	guint32 max_last; /* what the longest was waiting for */
};

struct readiness {
	const TachoTimeline *timeline;
	const struct selection *selection;
	TachoTable *table;
	struct ready *told;  /* of each slice, by arrows */
	GHashTable *writers; /* storage -> guint32 slice that wrote it last; of the rank at work */
	GHashTable *groups;  /* name -> struct group; of the rank at work */
	guint64 n_unknown;   /* operations of which no input is known */
	guint n_placeless;   /* tensors without memory so far */
	gboolean has_places;
};

static void free_group(gpointer data)
{
	struct group *group = data;

	g_array_unref(group->latencies);
	g_free(group);
}

/* --- which operations ------------------------------------------------------------------------- */

/* The outermost operations of the rank's main process, by their begins. */
static GArray *collect_ops(const struct readiness *readiness, guint32 rank_index)
{
	const TachoTimeline *timeline = readiness->timeline;
	GArray *ops = g_array_new(FALSE, FALSE, sizeof(guint32));

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		const TachoProcess *process = tacho_track_process(timeline, track);

		if (process->rank_index != rank_index ||
		    !selection_takes_track(readiness->selection, track))
			continue;
		for (guint32 k = track->first_slice; k < track->first_slice + track->n_slices; k++)
			if (is_outermost_op(timeline, k))
				g_array_append_val(ops, k);
	}
	g_array_sort_with_data(ops, slice_columns_order, (gpointer)&timeline->slices);
	return ops;
}

/* --- when they are ready: (1) ------------------------------------------------------------------ */

static void see_input(const TachoTimeline *timeline, struct ready *ready, guint32 producer)
{
	gint64 end_ns = tacho_slice_end_ns(timeline, producer);

	if (ready->n_inputs++ && end_ns <= ready->time_ns)
		return;
	ready->time_ns = end_ns;
	ready->last = producer;
}

static struct ready *read_arrows(const TachoTimeline *timeline)
{
	struct ready *told = g_new0(struct ready, timeline->slices.n);

	FOR_EACH(const TachoFlow, flow, timeline->flows)
		if ((flow->kind == TACHO_FLOW_DATA || flow->kind == TACHO_FLOW_CONTROL) &&
		    flow->from < timeline->slices.n && flow->to < timeline->slices.n &&
		    timeline->slices.kind[flow->from] == TACHO_SLICE_OP)
			see_input(timeline, &told[flow->to], flow->from);
	return told;
}

/* Whether it is worth to ask for tensors. */
static gboolean may_have_places(const struct readiness *readiness)
{
	return readiness->has_places || readiness->n_placeless < MAX_PLACELESS;
}

static gboolean has_place(struct readiness *readiness, const TachoTensor *tensor)
{
	if (tensor->storage)
		readiness->has_places = TRUE;
	else if (readiness->n_placeless < MAX_PLACELESS)
		readiness->n_placeless++;
	return tensor->storage != 0;
}

static void read_tensors(struct readiness *readiness, guint32 op, struct ready *ready)
{
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_input(readiness->timeline, op, i, &tensor); i++) {
		gpointer writer = g_hash_table_lookup(readiness->writers,
						      GSIZE_TO_POINTER((gsize)tensor.storage));

		if (has_place(readiness, &tensor) && writer)
			see_input(readiness->timeline, ready, GPOINTER_TO_UINT(writer) - 1);
	}
}

static void note_results(struct readiness *readiness, guint32 op)
{
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_output(readiness->timeline, op, i, &tensor); i++)
		if (has_place(readiness, &tensor) && op < G_MAXUINT32 - 1)
			g_hash_table_insert(readiness->writers,
					    GSIZE_TO_POINTER((gsize)tensor.storage),
					    GUINT_TO_POINTER(op + 1));
}

/* --- counting ---------------------------------------------------------------------------------- */

static struct group *group_of(const struct readiness *readiness, guint32 name)
{
	struct group *group = g_hash_table_lookup(readiness->groups, GUINT_TO_POINTER(name));

	if (group)
		return group;
	group = g_new0(struct group, 1);
	group->name = name;
	group->latencies = g_array_new(FALSE, FALSE, sizeof(gint64));
	group->max_ns = -1;
	g_hash_table_insert(readiness->groups, GUINT_TO_POINTER(name), group);
	return group;
}

static void count_op(struct readiness *readiness, guint32 op, const struct ready *ready,
		     gint64 step)
{
	const TachoTimeline *timeline = readiness->timeline;
	struct group *group = group_of(readiness, timeline->slices.name[op]);
	gint64 latency_ns = MAX(timeline->slices.start_ns[op] - ready->time_ns, 0); /* (2) */

	g_array_append_val(group->latencies, latency_ns);
	group->n_inputs += ready->n_inputs;
	if (latency_ns <= group->max_ns)
		return;
	group->max_ns = latency_ns;
	group->max_step = step;
	group->max_last = ready->last;
}

/* The number of the chosen step that `cursor` stands at; -1: the run has none. */
static gint64 step_number(const struct readiness *readiness, guint cursor)
{
	const GArray *chosen = readiness->selection->chosen;

	return readiness->timeline->steps->len && cursor < chosen->len
		       ? (gint64)g_array_index(chosen, TachoStep, cursor).number
		       : -1;
}

static void count_rank(struct readiness *readiness, guint32 rank_index)
{
	const TachoTimeline *timeline = readiness->timeline;
	g_autoptr(GArray) ops = collect_ops(readiness, rank_index);
	guint cursor = 0;

	for (guint i = 0; i < ops->len; i++) {
		guint32 op = g_array_index(ops, guint32, i);
		struct ready ready = readiness->told[op];

		if (may_have_places(readiness)) {
			if (!ready.n_inputs)
				read_tensors(readiness, op, &ready);
			note_results(readiness, op);
		}
		if (!selection_takes_time(readiness->selection, rank_index,
					  timeline->slices.start_ns[op], &cursor) ||
		    !selection_takes_name(readiness->selection, tacho_slice_name(timeline, op)))
			continue;
		if (ready.n_inputs)
			count_op(readiness, op, &ready, step_number(readiness, cursor));
		else
			readiness->n_unknown++;
	}
}

/* --- the table --------------------------------------------------------------------------------- */

static void add_row(struct readiness *readiness, guint32 rank_index, const struct group *group)
{
	const TachoTimeline *timeline = readiness->timeline;
	TachoTable *table = readiness->table;
	guint n = group->latencies->len;
	gdouble sum_ns = 0;

	for (guint i = 0; i < n; i++)
		sum_ns += (gdouble)g_array_index(group->latencies, gint64, i);
	tacho_table_row(table);
	table_rank(table, timeline, rank_index);
	tacho_table_text(table, tacho_timeline_string(timeline, group->name));
	tacho_table_integer(table, n);
	tacho_table_number(table, (gdouble)group->n_inputs / n);
	tacho_table_number(table, US(sum_ns) / n);
	tacho_table_number(table, US(quantile(group->latencies, 0.5)));
	tacho_table_number(table, US(quantile(group->latencies, 0.9)));
	tacho_table_number(table, US(group->max_ns));
	table_integer_if(table, group->max_step >= 0, group->max_step);
	tacho_table_number(table, sum_ns / 1e6);
	tacho_table_text(table, tacho_slice_name(timeline, group->max_last));
}

static gint compare_groups(gconstpointer first, gconstpointer second, gpointer data)
{
	const struct group *a = *(const struct group *const *)first;
	const struct group *b = *(const struct group *const *)second;

	return strcmp(tacho_timeline_string(data, a->name), tacho_timeline_string(data, b->name));
}

static void add_rows(struct readiness *readiness, guint32 rank_index)
{
	g_autoptr(GPtrArray) groups = g_ptr_array_new();

	FOR_EACH_ENTRY(entry, readiness->groups)
		g_ptr_array_add(groups, entry.value);
	g_ptr_array_sort_with_data(groups, compare_groups, (gpointer)readiness->timeline);
	for (guint i = 0; i < groups->len; i++)
		add_row(readiness, rank_index, groups->pdata[i]);
}

TachoTable *tacho_view_readiness(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("readiness", columns, G_N_ELEMENTS(columns));
	g_autofree struct ready *told = read_arrows(timeline);
	struct selection selection;
	struct readiness readiness = {
		.timeline = timeline, .selection = &selection, .table = table, .told = told
	};

	selection_init(&selection, timeline, filter);
	for (guint32 i = 0; i < timeline->ranks->len; i++) {
		g_autoptr(GHashTable) writers = g_hash_table_new(NULL, NULL);
		g_autoptr(GHashTable) groups = g_hash_table_new_full(NULL, NULL, NULL, free_group);

		if (!selection_takes_rank(&selection, i))
			continue;
		readiness.writers = writers;
		readiness.groups = groups;
		count_rank(&readiness, i);
		add_rows(&readiness, i);
	}
	tacho_table_sort(table, "total_ms", TRUE);
	if (!tacho_table_n_rows(table))
		selection_note_empty(&selection, table, "operations whose inputs are known");
	if (readiness.n_unknown)
		tacho_table_note(table,
				 "%" G_GUINT64_FORMAT " operations are left out, because the "
				 "origin of none of their inputs is known.",
				 readiness.n_unknown);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
