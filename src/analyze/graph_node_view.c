/* graph_node_view: the nodes of CUDA's and HIP's graphs: what each runs, how often, and which operation made it.
 *
 * A graph is told from others by its process and its nodes (correlate/graph_capture.c). Its nodes are in the
 * order in which they were made, or, where nothing tells that, in which they ran. A row is about the launches
 * that begin in the chosen steps. */
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "analyze/device_work.h"
#include "analyze/graph_replay.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/time_units.h"

static const TachoColumn columns[] = {
	IDENTIFIER_COLUMN("graph", "graph"),
	IDENTIFIER_COLUMN("number", "node"),
	NAME_COLUMN("name", "work"),
	TEXT_COLUMN("op", "captured by", .is_flexible = TRUE),
	SHARE_COLUMN("share_pct", "% step", 1),
	NUMBER_COLUMN("total_ms", "total ms", 3),
	INTEGER_COLUMN("count", "count"),
	NUMBER_COLUMN("mean_us", "mean us", 1),
	IDENTIFIER_COLUMN("rank", "rank"),
	JSON_INTEGER("node_id"),
	JSON_TEXT("launched_by"),
	JSON_BOOLEAN("is_exact"),
};

struct node_group {
	const TachoGraphWork *first;
	guint64 count;
	gdouble total_ns;
};

static gint compare_rows(gconstpointer a, gconstpointer b)
{
	const TachoGraphWork *x = *(const TachoGraphWork *const *)a;
	const TachoGraphWork *y = *(const TachoGraphWork *const *)b;

	return ORDER(x->graph, y->graph) ?: ORDER(x->number, y->number) ?:
	       ORDER(x->slice, y->slice);
}

/* Where the walk is: launches mostly come in the order of time. */
struct walk {
	const struct selection *selection;
	guint rank_index;
	gint64 last_ns;
	guint cursor;
};

static gboolean is_chosen(struct walk *walk, guint32 slice)
{
	const TachoTimeline *timeline = walk->selection->timeline;
	guint32 launch = timeline->slices.launch[slice];
	gint64 time_ns = timeline->slices.start_ns[launch == TACHO_NONE ? slice : launch];
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[slice]);
	guint rank_index = tacho_track_process(timeline, track)->rank_index;

	if (!takes_stream(walk->selection, track))
		return FALSE;
	if (rank_index != walk->rank_index || time_ns < walk->last_ns)
		walk->cursor = 0;
	walk->rank_index = rank_index;
	walk->last_ns = time_ns;
	return selection_takes_time(walk->selection, rank_index, time_ns, &walk->cursor);
}

/* Rows that are chosen, by graph and node. Borrowed. */
static GPtrArray *chosen_rows(const struct selection *selection)
{
	const GArray *all = selection->timeline->graph_work;
	struct walk walk = { .selection = selection };
	GPtrArray *rows = g_ptr_array_new();

	FOR_EACH(const TachoGraphWork, work, all)
		if (selection_takes_name(selection,
					 tacho_slice_name(selection->timeline, work->slice)) &&
		    is_chosen(&walk, work->slice))
			g_ptr_array_add(rows, (gpointer)work);
	g_ptr_array_sort(rows, compare_rows);
	return rows;
}

/* What captured it: the operation, or what else was open on the thread. NULL: not recorded. */
static const gchar *captured_by(const TachoTimeline *timeline, const TachoGraphWork *work)
{
	guint32 op = innermost_op(timeline, work->capture);

	if (work->capture == TACHO_NONE)
		return NULL;
	return tacho_slice_name(timeline, op == TACHO_NONE ? work->capture : op);
}

static void add_row(TachoTable *table, const struct selection *selection,
		    const struct node_group *group)
{
	const TachoTimeline *timeline = selection->timeline;
	const TachoGraphWork *work = group->first;
	const TachoTrack *track =
		tacho_timeline_track(timeline, timeline->slices.track[work->slice]);
	guint32 launch = timeline->slices.launch[work->slice];

	tacho_table_row(table);
	tacho_table_integer(table, work->graph);
	tacho_table_integer(table, work->number);
	tacho_table_text(table, tacho_slice_name(timeline, work->slice));
	tacho_table_text(table, captured_by(timeline, work));
	tacho_table_number(table, 100.0 * group->total_ns / selection->total_ns);
	tacho_table_number(table, MS(group->total_ns));
	tacho_table_integer(table, (gint64)group->count);
	tacho_table_number(table, US(group->total_ns) / (gdouble)group->count);
	tacho_table_integer(table, rank_of_track(timeline, track));
	table_integer_if(table, work->node, work->node);
	tacho_table_text(table, launch == TACHO_NONE ? NULL : tacho_slice_name(timeline, launch));
	table_boolean_if(table, work->capture != TACHO_NONE, work->is_exact);
}

static void add_rows(TachoTable *table, const struct selection *selection)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autoptr(GPtrArray) rows = chosen_rows(selection);

	for (guint i = 0; i < rows->len;) {
		struct node_group group = { .first = g_ptr_array_index(rows, i) };

		for (; i < rows->len; i++) {
			const TachoGraphWork *work = g_ptr_array_index(rows, i);

			if (work->graph != group.first->graph ||
			    work->number != group.first->number)
				break;
			group.count++;
			group.total_ns += (gdouble)timeline->slices.duration_ns[work->slice];
		}
		add_row(table, selection, &group);
	}
}

static void note_captures(TachoTable *table, const TachoTimeline *timeline)
{
	guint64 n_uncaptured, n = count_graph_work(timeline, &n_uncaptured);

	if (n == 0)
		tacho_table_note(table, "No work of a graph (CUDA's or HIP's) was recorded.");
	else if (n_uncaptured)
		tacho_table_note(table,
				 "The capture of %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
				 " pieces of work was not recorded: no operation is known for "
				 "them.",
				 n_uncaptured, n);
}

TachoTable *tacho_view_graph_node(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("graph_node", columns, G_N_ELEMENTS(columns));
	struct selection selection;

	selection_init(&selection, timeline, filter);
	add_rows(table, &selection);
	note_captures(table, timeline);
	if (tacho_table_n_rows(table) == 0 && timeline->graph_work->len)
		selection_note_empty(&selection, table, "work of graphs");
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
