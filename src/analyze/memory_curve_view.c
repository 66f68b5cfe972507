/* memory_curve_view: how much memory is held over time, in a bounded number of points.
 *
 * (1) The time of each memory, from its first to its last change, is cut into POINTS stretches of the same
 *     length. A row is the moment in its stretch at which most is held, so that no peak is lost; a stretch
 *     in which nothing changes has no row.
 * (2) Where the recording tells memory by category (counters of PyTorch's memory timeline), the rows have what each category holds at that moment, and held_bytes is their sum. */
#include <tacho/analyze.h>

#include <math.h>
#include <string.h>

#include "analyze/allocator_totals.h"
#include "analyze/memory_blocks.h"
#include "analyze/selection.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/number.h"
#include "base/partition_point.h"
#include "base/time_units.h"

enum { POINTS = 200, N_CATEGORIES = N_COUNTER_CATEGORIES };

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("memory", "memory"),
	TEXT_COLUMN("layer", "by"),
	NUMBER_COLUMN("at_ms", "at ms", 3),
	NUMBER_COLUMN("held_bytes", "held B", 0),
	INTEGER_COLUMN("reserved_bytes", "reserved B"),
	JSON_INTEGER("parameter_bytes"),
	JSON_INTEGER("optimizer_state_bytes"),
	JSON_INTEGER("input_bytes"),
	JSON_INTEGER("temporary_bytes"),
	JSON_INTEGER("activation_bytes"),
	JSON_INTEGER("gradient_bytes"),
	JSON_INTEGER("autograd_detail_bytes"),
	JSON_INTEGER("unknown_bytes"),
};

/* Something about a memory becomes `value`: how much of a category is held, or, of blocks, more or less. */
struct change {
	gint64 time_ns, value;
	guint what; /* a category; 0 of blocks */
};

struct curve {
	TachoTable *table;
	const TachoTimeline *timeline;
	gint32 rank;
	gchar *label;
	const gchar *layer;
	gboolean is_by_category;
	guint32 reserved_track; /* TACHO_NONE: not counted */
};

/* --- points --------------------------------------------------------------------------------- */

/* The counter's value at that time: of its last sample up to it. */
static gboolean value_at(const TachoTimeline *timeline, guint32 track, gint64 time_ns,
			 gint64 *ret_value)
{
	guint first, n = tacho_track_samples(timeline, track, &first);
	guint next = PARTITION_POINT(i, first, first + n,
				     g_array_index(timeline->samples, TachoSample, i).time_ns <=
					     time_ns);

	if (next == first)
		return FALSE;
	*ret_value = number_round(g_array_index(timeline->samples, TachoSample, next - 1).value);
	return TRUE;
}

static void add_point(const struct curve *curve, gint64 time_ns, gdouble held,
		      const gint64 *categories)
{
	TachoTable *table = curve->table;
	gint64 reserved;

	tacho_table_row(table);
	tacho_table_integer(table, curve->rank);
	tacho_table_text(table, curve->label);
	tacho_table_text(table, curve->layer);
	tacho_table_number(table, MS(time_ns));
	tacho_table_number(table, held);
	if (curve->reserved_track != TACHO_NONE &&
	    value_at(curve->timeline, curve->reserved_track, time_ns, &reserved))
		tacho_table_integer(table, reserved);
	else
		tacho_table_null(table);
	for (guint i = 0; curve->is_by_category && i < N_CATEGORIES; i++)
		tacho_table_integer(table, categories[i]);
}

/* Which stretch of [first_ns, last_ns] the time is in. */
static guint stretch_of(gint64 time_ns, gint64 first_ns, gint64 last_ns)
{
	gdouble share = (gdouble)(time_ns - first_ns) / ((gdouble)(last_ns - first_ns) + 1);

	return MIN((guint)(share * POINTS), POINTS - 1);
}

/* (1) */
static void add_points(const struct curve *curve, const GArray *changes)
{
	gint64 now[N_CATEGORIES] = { 0 }, most[N_CATEGORIES] = { 0 };
	gdouble held = 0, most_held = -INFINITY; /* so that no sum of a broken trace overflows */
	gint64 most_ns = 0;
	guint stretch = 0;

	FOR_EACH_AT(const struct change, change, i, changes) {
		const struct change *next = change + (i + 1 < changes->len);
		guint here = stretch_of(
			change->time_ns, g_array_index(changes, struct change, 0).time_ns,
			g_array_index(changes, struct change, changes->len - 1).time_ns);

		if (here != stretch && isfinite(most_held))
			add_point(curve, most_ns, most_held, most);
		if (here != stretch)
			most_held = -INFINITY;
		stretch = here;
		held += (gdouble)change->value;
		if (curve->is_by_category)
			held -= (gdouble)now[change->what];
		now[change->what] = change->value;
		/* of several changes at one time, only the last leaves what is held then */
		if ((next != change && next->time_ns == change->time_ns) || held <= most_held)
			continue;
		most_held = held;
		most_ns = change->time_ns;
		memcpy(most, now, sizeof(most));
	}
	if (isfinite(most_held))
		add_point(curve, most_ns, most_held, most);
}

/* --- memories ------------------------------------------------------------------------------- */

static gint compare_changes(gconstpointer first, gconstpointer second)
{
	const struct change *a = first, *b = second;

	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* What the categories' counters say, in order of time. */
static GArray *list_categories(const TachoTimeline *timeline, guint32 process)
{
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct change));

	for (guint i = 0; i < N_CATEGORIES; i++) {
		guint32 track = counter_track_find(timeline, process,
						   (enum counter_kind)(COUNTER_PARAMETER + i), 0);
		guint first = 0,
		      n = track != TACHO_NONE ? tacho_track_samples(timeline, track, &first) : 0;

		for (guint k = 0; k < n; k++) {
			const TachoSample *sample =
				&g_array_index(timeline->samples, TachoSample, first + k);
			struct change change = { sample->time_ns, number_round(sample->value), i };

			g_array_append_val(changes, change);
		}
	}
	g_array_sort(changes, compare_changes); /* stable: samples of one time stay in order */
	return changes;
}

static gboolean takes_label(const TachoFilter *filter, const gchar *label)
{
	return !filter->device || g_regex_match(filter->device, label, 0, NULL);
}

static void add_memory(struct curve *curve, const TachoFilter *filter, guint32 process,
		       const GArray *blocks, const struct memory_place *place)
{
	g_autoptr(GArray) own = memory_blocks_select(blocks, place->device, place->layer);
	g_autoptr(GArray) found = memory_changes(own, MEMORY_ALL_DEVICES);
	g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(struct change));
	g_autofree gchar *label = memory_label(place->device);

	if (!takes_label(filter, label))
		return;
	FOR_EACH(const struct memory_change, change, found) {
		struct change row = { change->time_ns, change->bytes, 0 };

		g_array_append_val(changes, row);
	}
	curve->label = label;
	curve->layer = tacho_memory_layer_name(place->layer);
	curve->reserved_track = place->layer == TACHO_MEMORY_OF_ALLOCATOR
					? counter_track_find(curve->timeline, process,
							     COUNTER_RESERVED, place->device)
					: TACHO_NONE;
	add_points(curve, changes);
}

static void add_rank(struct curve *curve, const TachoFilter *filter, guint32 process)
{
	g_autoptr(GArray) blocks = memory_blocks_of_layers(curve->timeline, process);
	g_autoptr(GArray) places = memory_places(blocks);
	g_autoptr(GArray) categories = list_categories(curve->timeline, process);
	gchar by_category[] = "by category";

	FOR_EACH(const struct memory_place, place, places)
		add_memory(curve, filter, process, blocks, place);
	if (!categories->len || !takes_label(filter, by_category))
		return;
	curve->label = by_category;
	curve->layer = tacho_memory_layer_name(TACHO_MEMORY_OF_ALLOCATOR);
	curve->reserved_track = TACHO_NONE;
	curve->is_by_category = TRUE;
	add_points(curve, categories);
	curve->is_by_category = FALSE;
}

TachoTable *tacho_view_memory_curve(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("memory_curve", columns, G_N_ELEMENTS(columns));
	struct selection selection;

	if (!has_driver_memory(timeline))
		table_hide_column(table, "layer");
	selection_init(&selection, timeline, filter);
	for (guint rank = 0; rank < timeline->ranks->len; rank++) {
		const TachoRank *row = tacho_timeline_rank(timeline, rank);
		struct curve curve = { .table = table, .timeline = timeline, .rank = row->rank };

		if (selection_takes_rank(&selection, rank))
			add_rank(&curve, selection.filter, row->main_process);
	}
	if (!tacho_table_n_rows(table))
		tacho_table_note(table, "No allocations were recorded.");
	selection_release(&selection);
	return table;
}
