/* diff_run: a run summed up for comparison.
 *
 * The values that are compared are those of steps. Ranks wait for each other in every step, so that
 * theirs are not independent of each other: a step is one value, the mean over its ranks.
 * (1) What a name has in a step, over all ranks, is a cell (diff_cells.h).
 * (2) A slice counts in the step in which it begins; a run without steps is a single step.
 * (3) Names are filtered last: an operation left out still takes its time from the one around it.
 * (4) Of several processes each sums up its own ranks (trace/run_share.h), and the cells are exchanged; collectives all have. */
#include <tacho/correlate.h>

#include <string.h>

#include "analyze/device_work.h"
#include "analyze/diff_cells.h"
#include "analyze/diff_internal.h"
#include "analyze/selection.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "base/time_units.h"
#include "trace/own_time.h"
#include "trace/run_share.h"

G_DEFINE_QUARK(tacho - diff - error - quark, tacho_diff_error)

struct collector {
	struct selection selection;
	guint views;
	GArray *numbers;     /* gint64, of the chosen steps, each once, ascending */
	guint32 *steps;	     /* place in `numbers` of each of selection.chosen */
	guint32 *n_ranks;    /* that have the step, by place */
	guint32 n_steps;     /* places: at least 1 */
	GHashTable *counted; /* beginning of a name that ends in a number -> string id seen first */
	struct diff_cells cells[TACHO_N_DIFF_VIEWS];
};

/* --- steps ------------------------------------------------------------------------------------ */

/* The place of a step's number, or TACHO_NONE. */
static guint32 place_of_number(const struct collector *collector, gint64 number)
{
	guint place;

	if (!g_array_binary_search(collector->numbers, &number, order_int64, &place))
		return TACHO_NONE;
	return place;
}

static void collect_numbers(struct collector *collector)
{
	const GArray *chosen = collector->selection.chosen;
	GArray *numbers = collector->numbers;
	guint n = 0;

	for (guint i = 0; i < chosen->len; i++) {
		gint64 number = g_array_index(chosen, TachoStep, i).number;

		g_array_append_val(numbers, number);
	}
	g_array_sort(numbers, order_int64);
	for (guint i = 0; i < numbers->len; i++) {
		gint64 number = g_array_index(numbers, gint64, i);

		if (n == 0 || g_array_index(numbers, gint64, n - 1) != number)
			g_array_index(numbers, gint64, n++) = number;
	}
	g_array_set_size(numbers, n);
}

static void collector_init(struct collector *collector, const TachoTimeline *timeline,
			   const TachoFilter *filter, guint views)
{
	const GArray *chosen;

	selection_init(&collector->selection, timeline, filter);
	chosen = collector->selection.chosen;
	collector->views = views;
	collector->numbers = g_array_new(FALSE, FALSE, sizeof(gint64));
	collect_numbers(collector);
	collector->n_steps = MAX(collector->numbers->len, 1u);
	collector->steps = g_new(guint32, chosen->len);
	collector->n_ranks = g_new0(guint32, collector->n_steps);
	for (guint i = 0; i < chosen->len; i++) {
		collector->steps[i] =
			place_of_number(collector, g_array_index(chosen, TachoStep, i).number);
		collector->n_ranks[collector->steps[i]]++;
	}
	if (collector->selection.is_whole)
		collector->n_ranks[0] = collector->selection.n_ranks;
	collector->counted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < TACHO_N_DIFF_VIEWS; i++)
		diff_cells_init(&collector->cells[i]);
}

static void collector_release(struct collector *collector)
{
	for (guint i = 0; i < TACHO_N_DIFF_VIEWS; i++)
		diff_cells_release(&collector->cells[i]);
	g_hash_table_unref(collector->counted);
	g_free(collector->steps);
	g_free(collector->n_ranks);
	g_array_unref(collector->numbers);
	selection_release(&collector->selection);
}

/* The place of the chosen step of the rank that holds the moment, or TACHO_NONE. */
static guint32 step_at(const struct collector *collector, guint rank_index, gint64 time_ns)
{
	const struct selection *selection = &collector->selection;
	guint end = selection->first_of_rank[rank_index + 1];
	guint step;

	if (selection->is_whole)
		return 0;
	step = PARTITION_POINT(i, selection->first_of_rank[rank_index], end,
			       g_array_index(selection->chosen, TachoStep, i).end_ns <= time_ns);
	if (step == end || g_array_index(selection->chosen, TachoStep, step).start_ns > time_ns)
		return TACHO_NONE;
	return collector->steps[step];
}

/* --- slices ----------------------------------------------------------------------------------- */

/* Which view a slice of a thread or stream is part of, or TACHO_N_DIFF_VIEWS. */
static TachoDiffView view_of(TachoSliceKind kind)
{
	switch (kind) {
	case TACHO_SLICE_OP:
		return TACHO_DIFF_op;
	case TACHO_SLICE_KERNEL:
	case TACHO_SLICE_MEMCPY:
	case TACHO_SLICE_MEMSET:
		return TACHO_DIFF_kernel;
	case TACHO_SLICE_RUNTIME:
		return TACHO_DIFF_runtime;
	case TACHO_SLICE_ANNOTATION:
	case TACHO_SLICE_MODULE:
		return TACHO_DIFF_region;
	default:
		return TACHO_N_DIFF_VIEWS;
	}
}

/* How long "ProfilerStep#" is in "ProfilerStep#12"; the whole name where no such number ends it. */
static gsize counted_length(const gchar *name)
{
	gsize length = strlen(name), end = length;

	while (end > 0 && g_ascii_isdigit(name[end - 1]))
		end--;
	return end > 0 && end < length && name[end - 1] == '#' ? end : length;
}

/* What counts up from step to step is one name: that seen first stands for all. */
static guint32 region_name(gpointer collector_pointer, guint32 name)
{
	struct collector *collector = collector_pointer;
	const gchar *text = tacho_timeline_string(collector->selection.timeline, name);
	gsize length = counted_length(text);
	g_autofree gchar *prefix = NULL;
	gpointer first;

	if (length == 0 || text[length - 1] != '#') /* "x#" itself is that name, too */
		return name;
	prefix = g_strndup(text, length);
	if (g_hash_table_lookup_extended(collector->counted, prefix, NULL, &first))
		return GPOINTER_TO_UINT(first);
	g_hash_table_insert(collector->counted, g_steal_pointer(&prefix), GUINT_TO_POINTER(name));
	return name;
}

/* The time of an operation in a chosen step is not that of the one around it. */
static gint64 *own_times_of_ops(struct collector *collector, const TachoTrack *track,
				guint rank_index)
{
	const TachoSlices *slices = &collector->selection.timeline->slices;
	g_autofree guint8 *is_chosen = g_new(guint8, MAX(track->n_slices, 1u));

	for (guint32 i = 0; i < track->n_slices; i++)
		is_chosen[i] = slices->kind[track->first_slice + i] == TACHO_SLICE_OP &&
			       step_at(collector, rank_index,
				       slices->start_ns[track->first_slice + i]) != TACHO_NONE;
	return own_times(slices, track->first_slice, track->n_slices, is_chosen);
}

static void collect_track(struct collector *collector, const TachoTrack *track)
{
	const TachoTimeline *timeline = collector->selection.timeline;
	guint rank_index = tacho_track_process(timeline, track)->rank_index;
	g_autofree gint64 *own_ns = own_times_of_ops(collector, track, rank_index);

	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 slice = track->first_slice + i;
		TachoDiffView view = view_of(timeline->slices.kind[slice]);
		guint32 step, name;

		if (view == TACHO_N_DIFF_VIEWS || !(collector->views >> view & 1))
			continue;
		step = step_at(collector, rank_index, timeline->slices.start_ns[slice]);
		if (step == TACHO_NONE)
			continue;
		name = timeline->slices.name[slice];
		if (view == TACHO_DIFF_region)
			name = region_name(collector, name);
		diff_cells_add(&collector->cells[view], name, step,
			       (gdouble)(view == TACHO_DIFF_op
						 ? own_ns[i]
						 : timeline->slices.duration_ns[slice]));
	}
}

/* Kernels have other names on another device; the operations they work for do not. What no operation
 * launched has its own name. */
static void collect_stream(struct collector *collector, const TachoTrack *track)
{
	const TachoTimeline *timeline = collector->selection.timeline;
	const TachoSlices *slices = &timeline->slices;
	guint rank_index = tacho_track_process(timeline, track)->rank_index;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		guint32 op, step;

		if (!is_device_work(timeline, i))
			continue;
		step = step_at(collector, rank_index, slices->start_ns[i]);
		if (step == TACHO_NONE)
			continue;
		op = tacho_kernel_op(timeline, i);
		diff_cells_add(&collector->cells[TACHO_DIFF_device],
			       slices->name[op == TACHO_NONE ? i : op], step,
			       (gdouble)slices->duration_ns[i]);
	}
}

/* `seen`: slices that were counted; a kernel of several sends and receives is in several collectives. */
static void collect_members(struct collector *collector, const TachoCollective *collective,
			    GHashTable *seen)
{
	const TachoTimeline *timeline = collector->selection.timeline;

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice =
			g_array_index(timeline->members, guint32, collective->first_member + i);
		guint rank_index = tacho_slice_process(timeline, slice)->rank_index;
		guint32 step;

		if (!selection_takes_rank(&collector->selection, rank_index) ||
		    !g_hash_table_add(seen, GUINT_TO_POINTER(slice)))
			continue;
		step = step_at(collector, rank_index, timeline->slices.start_ns[slice]);
		if (step != TACHO_NONE)
			diff_cells_add(&collector->cells[TACHO_DIFF_comm], collective->name, step,
				       (gdouble)timeline->slices.duration_ns[slice]);
	}
}

/* Collectives are those that the comm view knows: of a GPU job the kernels, not their launches. */
static void collect_collectives(struct collector *collector)
{
	const TachoTimeline *timeline = collector->selection.timeline;
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < timeline->collectives->len; i++)
		collect_members(collector,
				&g_array_index(timeline->collectives, TachoCollective, i), seen);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void clear_row(gpointer data)
{
	g_free(((struct diff_row *)data)->name);
}

static GArray *new_rows(void)
{
	GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct diff_row));

	g_array_set_clear_func(rows, clear_row);
	return rows;
}

/* All names' values a step; where a step has no cell of a name, they are 0. */
static GArray *make_rows(const struct collector *collector, TachoDiffView view)
{
	const TachoTimeline *timeline = collector->selection.timeline;
	const struct diff_cells *cells = &collector->cells[view];
	GArray *rows = new_rows();

	g_array_set_size(rows, cells->rows->len);
	FOR_EACH(const struct diff_cell, cell, cells->cells) {
		struct diff_row *row = &g_array_index(rows, struct diff_row, cell->row);
		gdouble n_ranks = collector->n_ranks[cell->step];

		moments_add(&row->ms, MS(cell->ns) / n_ranks);
		moments_add(&row->count, (gdouble)cell->count / n_ranks);
	}
	FOR_EACH_AT(struct diff_row, row, i, rows) {
		const gchar *name = tacho_timeline_string(
			timeline, g_array_index(cells->rows, struct diff_name, i).name);

		row->name = view == TACHO_DIFF_region ? g_strndup(name, counted_length(name))
						      : g_strdup(name);
		moments_add_zeros(&row->ms, collector->n_steps - row->ms.n);
		moments_add_zeros(&row->count, collector->n_steps - row->count.n);
	}
	return rows;
}

static void drop_other_names(GArray *rows, const struct selection *selection)
{
	for (guint i = rows->len; i-- > 0;)
		if (!selection_takes_name(selection, g_array_index(rows, struct diff_row, i).name))
			g_array_remove_index_fast(rows, i);
}

/* --- the step --------------------------------------------------------------------------------- */

static const struct {
	const gchar *name, *key;
} step_parts[] = {
	{ "step", "duration_ms" },
	{ "compute", "compute_ms" },
	{ "exposed communication", "exposed_communication_ms" },
	{ "wait", "wait_ms" },
	{ "idle", "idle_ms" },
	{ "communication", "communication_ms" },
	{ "data wait", "data_wait_ms" },
};

/* A part's values, by place of the step; of a row of the step view that is not compared, none. */
static void add_part(const struct collector *collector, const TachoTable *table, guint part,
		     GArray *rows)
{
	g_autofree gdouble *sums_ms = g_new0(gdouble, collector->n_steps);
	struct diff_row row = { .name = g_strdup(step_parts[part].name) };
	gboolean is_by_number = collector->selection.filter->first_step >= 0 ||
				collector->selection.filter->last_step >= 0;

	for (guint i = 0; i < tacho_table_n_rows(table); i++) {
		const gchar *state = tacho_table_cell_text(table, i, "state");
		guint32 step = place_of_number(collector,
					       (gint64)tacho_table_cell_number(table, i, "step"));

		if (step != TACHO_NONE && strcmp(state, "incomplete") != 0 &&
		    (is_by_number || strcmp(state, "steady") == 0))
			sums_ms[step] += tacho_table_cell_number(table, i, step_parts[part].key);
	}
	for (guint i = 0; i < collector->numbers->len; i++) {
		moments_add(&row.ms, sums_ms[i] / collector->n_ranks[i]);
		moments_add(&row.count, 1);
	}
	g_array_append_val(rows, row);
}

static GArray *make_step_rows(const struct collector *collector)
{
	g_autoptr(TachoTable) table =
		tacho_view_step(collector->selection.timeline, collector->selection.filter);
	GArray *rows = new_rows();

	if (collector->numbers->len)
		for (guint i = 0; i < G_N_ELEMENTS(step_parts); i++)
			add_part(collector, table, i, rows);
	return rows;
}

static void measure_steps(const struct collector *collector, struct moments *step_ms)
{
	const struct selection *selection = &collector->selection;
	g_autofree gdouble *sums_ns = g_new0(gdouble, collector->n_steps);

	FOR_EACH_AT(const TachoStep, step, i, selection->chosen)
		sums_ns[collector->steps[i]] += (gdouble)(step->end_ns - step->start_ns);
	if (selection->is_whole)
		sums_ns[0] = selection->total_ns;
	for (guint i = 0; i < collector->n_steps; i++)
		moments_add(step_ms, MS(sums_ns[i]) / collector->n_ranks[i]);
}

/* --- as one ----------------------------------------------------------------------------------- */

/* What is made of each rank's own slices. */
static void share_cells(struct collector *collector)
{
	static const TachoDiffView views[] = { TACHO_DIFF_op, TACHO_DIFF_kernel, TACHO_DIFF_device,
					       TACHO_DIFF_runtime, TACHO_DIFF_region };

	for (guint i = 0; i < G_N_ELEMENTS(views); i++)
		if (collector->views >> views[i] & 1)
			diff_cells_share(&collector->cells[views[i]], collector->selection.timeline,
					 collector->n_steps,
					 views[i] == TACHO_DIFF_region ? region_name : NULL,
					 collector);
}

static void collect(struct collector *collector)
{
	const TachoTimeline *timeline = collector->selection.timeline;

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		if (!selection_takes_track(&collector->selection, track) ||
		    !run_share_owns(timeline, track->process))
			continue;
		collect_track(collector, track);
		if (collector->views >> TACHO_DIFF_device & 1)
			collect_stream(collector, track);
	}
	share_cells(collector);
	if (collector->views >> TACHO_DIFF_comm & 1)
		collect_collectives(collector);
}

static void fill(TachoDiffRun *run, struct collector *collector)
{
	const TachoTimeline *timeline = collector->selection.timeline;

	run->n_ranks = collector->selection.n_ranks;
	run->n_steps = collector->numbers->len;
	run->trust_score = tacho_trust_score(timeline);
	measure_steps(collector, &run->step_ms);
	collect(collector);
	for (guint view = 0; view < TACHO_N_DIFF_VIEWS; view++) {
		if (!(collector->views >> view & 1))
			continue;
		if (view == TACHO_DIFF_step) {
			run->rows[view] = make_step_rows(collector);
			continue;
		}
		run->rows[view] = make_rows(collector, (TachoDiffView)view);
		drop_other_names(run->rows[view], &collector->selection);
	}
}

static gboolean check(const struct collector *collector, GError **error)
{
	const struct selection *selection = &collector->selection;

	if (selection->n_ranks == 0) {
		g_set_error(error, TACHO_DIFF_ERROR, TACHO_DIFF_ERROR_NO_RANK,
			    "the run has no rank %d", selection->filter->rank);
		return FALSE;
	}
	if (!selection->is_whole && selection->chosen->len == 0) {
		g_set_error(error, TACHO_DIFF_ERROR, TACHO_DIFF_ERROR_NO_STEP,
			    "the run has no complete step among those asked for; choose others "
			    "with --steps");
		return FALSE;
	}
	return TRUE;
}

TachoDiffRun *tacho_diff_run_new(const TachoTimeline *timeline, const TachoFilter *filter,
				 guint views, const gchar *label, GError **error)
{
	TachoDiffRun *run = NULL;
	struct collector collector = { 0 };

	collector_init(&collector, timeline, filter, views);
	if (check(&collector, error)) {
		run = g_new0(TachoDiffRun, 1);
		run->label = g_strdup(label);
		fill(run, &collector);
	}
	collector_release(&collector);
	return run;
}

void tacho_diff_run_free(TachoDiffRun *run)
{
	if (!run)
		return;
	for (guint view = 0; view < TACHO_N_DIFF_VIEWS; view++)
		g_clear_pointer(&run->rows[view], g_array_unref);
	g_free(run->label);
	g_free(run);
}

TachoDiffRunFacts tacho_diff_run_facts(const TachoDiffRun *run)
{
	return (TachoDiffRunFacts){ run->label, run->n_ranks, run->n_steps, run->trust_score,
				    run->step_ms.mean };
}
