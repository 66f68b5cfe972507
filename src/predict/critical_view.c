/* critical_view: what the time of a step is made of, across ranks: the critical path of the step nearest to
 * the median, summed up by rank and by what it is.
 *
 * The path goes back from the end of the rank that ends the step last, always to what let a piece of work
 * begin (replay/critical_path.c), so its times add up to the step. Which piece let which begin is known of the
 * graph, and the times are those of its replay with nothing changed; how far that is off what was measured
 * stands under the table. It needs a replay, so it stands here and not with the other views. */
#include <tacho/analyze.h>
#include <tacho/event_path.h>
#include <tacho/replay.h>

#include <math.h>

#include "analyze/keyed_rows.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "predict/prediction.h"

/* 104 days of all steps together: beyond, no time is to be believed, and the replay's sums might overflow.
 * Source: derived from the whole numbers that a double holds, 2^53. */
#define LONGEST_NS 9007199254740992.0

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	PATH_PART_COLUMNS,
	NUMBER_COLUMN("first_ms", "from ms", 3),
	JSON_INTEGER("step"),
};

/* What is the same on one rank; the texts are the path's. */
struct part {
	gint32 rank; /* -1: of none */
	const gchar *what, *name;
	guint pieces;
	gdouble duration_ns; /* whole, so that sums are exact */
	gdouble first_ms;
};

static struct part *find_part(struct keyed_rows *parts, gint32 rank, const gchar *what,
			      const gchar *name)
{
	struct part part = { .rank = rank, .what = what, .name = name };

	return keyed_rows_find(parts, &part, "%d %s %s", rank, what, name);
}

/* The path as parts, in order of when each is first on it. */
static GArray *sum_parts(const TachoTable *path)
{
	struct keyed_rows parts;

	keyed_rows_init(&parts, sizeof(struct part));
	for (guint row = 0; row < tacho_table_n_rows(path); row++) {
		gdouble rank = tacho_table_cell_number(path, row, "rank");
		struct part *part = find_part(&parts, isnan(rank) ? -1 : (gint32)rank,
					      tacho_table_cell_text(path, row, "what"),
					      tacho_table_cell_text(path, row, "name"));

		if (part->pieces++ == 0)
			part->first_ms = tacho_table_cell_number(path, row, "start_ms");
		part->duration_ns += round(tacho_table_cell_number(path, row, "duration_ms") * 1e6);
	}
	return keyed_rows_take(&parts);
}

static void add_part(TachoTable *table, const struct part *part, gdouble whole_ns, guint32 step)
{
	tacho_table_row(table);
	table_integer_if(table, part->rank >= 0, part->rank);
	tacho_table_text(table, part->what);
	tacho_table_text(table, part->name);
	tacho_table_integer(table, part->pieces);
	tacho_table_number(table, part->duration_ns / 1e6);
	tacho_table_number(table, whole_ns > 0 ? 100.0 * part->duration_ns / whole_ns : 0);
	tacho_table_number(table, part->first_ms);
	table_integer_if(table, step != TACHO_NONE, step);
}

/* The shares are of the whole path, whatever the filter leaves of it. */
static void add_parts(TachoTable *table, const struct selection *selection,
		      const TachoPrediction *prediction)
{
	g_autoptr(GArray) parts = sum_parts(prediction->critical_path);
	gint32 rank = selection->filter->rank;
	gdouble whole_ns = 0;

	for (guint i = 0; i < parts->len; i++)
		whole_ns += g_array_index(parts, struct part, i).duration_ns;
	FOR_EACH(const struct part, part, parts)
		if ((rank < 0 || part->rank == rank) && selection_takes_name(selection, part->name))
			add_part(table, part, whole_ns, prediction->path_step);
	tacho_table_sort(table, "duration_ms", TRUE);
	if (tacho_table_n_rows(table) == 0)
		tacho_table_note(table, "No part of the critical path matches what was asked for.");
	tacho_table_note(table,
			 "The critical path of step %u takes %.3f ms, as replayed. The median step "
			 "of the replay is %.1f %% off the measured one.",
			 prediction->path_step, whole_ns / 1e6, ABS(prediction->error_pct));
	for (guint i = 0; i < prediction->notes->len; i++)
		tacho_table_note(table, "In the replay, %s.",
				 (const gchar *)g_ptr_array_index(prediction->notes, i));
}

/* The steps to replay: those that other views are about, of all ranks. */
struct range {
	gint64 first, last; /* -1: none */
	gdouble total_ns;
};

static struct range find_range(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoFilter all_ranks = TACHO_FILTER_INIT;
	struct range range = { -1, -1, 0 };
	struct selection selection;

	if (filter) {
		all_ranks.first_step = filter->is_whole ? 0 : filter->first_step;
		all_ranks.last_step = filter->last_step;
	}
	selection_init(&selection, timeline, &all_ranks);
	for (guint i = 0; i < selection.chosen->len; i++) {
		gint64 number = g_array_index(selection.chosen, TachoStep, i).number;

		range.first = range.first < 0 ? number : MIN(range.first, number);
		range.last = MAX(range.last, number);
	}
	range.total_ns = selection.total_ns;
	selection_release(&selection);
	return range;
}

/* The replay adds names to the timeline's strings, and changes nothing else of it. */
static void add_path(TachoTable *table, const struct selection *selection,
		     const struct range *range)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = tacho_predict(
		(TachoTimeline *)selection->timeline, NULL, 0, range->first, range->last, &error);

	if (prediction)
		add_parts(table, selection, prediction);
	else
		tacho_table_note(table, "There is no critical path: %s.", error->message);
}

/* --- in an annotation of one rank ------------------------------------------------------------- */

/* What an edge of the path is in, for people. */
static const gchar *edge_name(const TachoEventPath *path, const TachoEventEdge *edge)
{
	switch ((TachoEventEdgeKind)edge->kind) {
	case TACHO_EVENT_EDGE_WORK:
		return tacho_slice_name(path->timeline, edge->slice);
	case TACHO_EVENT_EDGE_LAUNCH:
		return tacho_slice_name(path->timeline, edge->from);
	default:
		return "";
	}
}

static GArray *sum_edges(const TachoEventPath *path)
{
	struct keyed_rows parts;
	gint64 at_ns = 0;

	keyed_rows_init(&parts, sizeof(struct part));
	for (guint i = 0; i < path->path->len; i++) {
		const TachoEventEdge *edge = &g_array_index(path->edges, TachoEventEdge,
							    g_array_index(path->path, guint32, i));
		struct part *part;

		if (edge->weight_ns == 0)
			continue;
		part = find_part(&parts, path->rank, tacho_event_edge_bound(path->timeline, edge),
				 edge_name(path, edge));
		if (part->pieces++ == 0)
			part->first_ms = (gdouble)at_ns / 1e6;
		part->duration_ns += (gdouble)edge->weight_ns;
		at_ns += edge->weight_ns;
	}
	return keyed_rows_take(&parts);
}

static void add_edges(TachoTable *table, const struct selection *selection,
		      const TachoEventPath *path)
{
	g_autoptr(GArray) parts = sum_edges(path);
	gdouble whole_ns = 0;

	for (guint i = 0; i < parts->len; i++)
		whole_ns += g_array_index(parts, struct part, i).duration_ns;
	FOR_EACH(const struct part, part, parts)
		if (selection_takes_name(selection, part->name))
			add_part(table, part, whole_ns, TACHO_NONE);
	tacho_table_sort(table, "duration_ms", TRUE);
	tacho_table_note(table,
			 "The critical path of rank %d takes %.3f ms, through %u events. Time "
			 "between the outermost operations of a thread does not count.",
			 path->rank, whole_ns / 1e6, tacho_event_path_n_slices(path));
}

/* The rank asked for, or the only one; -1: it has to be said. */
static gint32 choose_rank(const TachoTimeline *timeline, const TachoFilter *filter)
{
	if (filter->rank >= 0 || timeline->ranks->len != 1)
		return filter->rank;
	return tacho_timeline_rank(timeline, 0)->rank;
}

static void add_event_path(TachoTable *table, const TachoTimeline *timeline,
			   const TachoFilter *filter)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoEventPath) path = NULL;
	gint32 rank = choose_rank(timeline, filter);
	struct selection selection;

	if (rank < 0) {
		tacho_table_note(table, "The path in an annotation is the path of one rank; choose "
					"the rank with --rank.");
		return;
	}
	path = tacho_event_path_find(timeline, rank, filter->annotation, filter->instance, &error);
	if (!path) {
		tacho_table_note(table, "There is no critical path: %s.", error->message);
		return;
	}
	selection_init(&selection, timeline, filter);
	add_edges(table, &selection, path);
	selection_release(&selection);
}

/* --- of steps --------------------------------------------------------------------------------- */

static TachoTable *view_steps(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("critical", columns, G_N_ELEMENTS(columns));
	struct range range = find_range(timeline, filter);
	struct selection selection;

	selection_init(&selection, timeline, filter);
	if (range.last < 0)
		tacho_table_note(table, "There is no critical path, because no step is complete.");
	else if (range.total_ns > LONGEST_NS)
		tacho_table_note(
			table, "The steps are too long to be replayed; choose fewer with --steps.");
	else
		add_path(table, &selection, &range);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}

TachoTable *tacho_view_critical(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table;

	if (!filter || !filter->annotation)
		return view_steps(timeline, filter);
	table = tacho_table_new("critical", columns, G_N_ELEMENTS(columns));
	add_event_path(table, timeline, filter);
	return table;
}
