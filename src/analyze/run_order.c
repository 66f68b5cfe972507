/* run_order: the names of what each rank did, in order, and where two runs part.
 *
 * (1) What has an order that a program gives it: the outermost operations of the main thread (of a rank whose main
 *     thread has none, those of the thread that has most), each stream's work by when it began, and collectives by
 *     when they were queued. What several threads or streams did at once has no order among them.
 * (2) If the runs have steps, only the chosen steps that both have are compared.
 * (3) Lanes (threads, streams) of two runs belong together by what they are called; of a rank's lanes that are left
 *     (numbers of queues that differ from run to run) the n-th belongs to the n-th. */
#include <tacho/run_order.h>

#include <string.h>

#include <tacho/diff.h>

#include "analyze/order_lanes.h"
#include "analyze/outermost_op.h"
#include "analyze/selection.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/json_writer.h"
#include "trace/run_share.h"

#define NO_STEP G_MAXUINT32

struct _TachoRunOrder {
	gchar *label;
	GStringChunk *names;
	GPtrArray *lanes; /* struct order_lane */
	GHashTable *
		steps; /* (rank, step) that were chosen, and (rank, NO_STEP) of their ranks: text */
	gboolean has_steps;
	guint64 n_items;
};

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("lane", "of", .is_flexible = TRUE), /* a thread or a stream */
	TEXT_COLUMN("difference", ""),
	INTEGER_COLUMN("base_count", "base count"),
	INTEGER_COLUMN("count", "count"),
	INTEGER_COLUMN("equal", "equal"),
	INTEGER_COLUMN("step", "step"),
	NAME_COLUMN("base_name", "then base"),
	NAME_COLUMN("name", "then it"),
};

void tacho_run_order_free(TachoRunOrder *order)
{
	if (!order)
		return;
	g_free(order->label);
	g_string_chunk_free(order->names);
	g_ptr_array_unref(order->lanes);
	g_hash_table_unref(order->steps);
	g_free(order);
}

const gchar *tacho_run_order_label(const TachoRunOrder *order)
{
	return order->label;
}

guint64 tacho_run_order_count(const TachoRunOrder *order)
{
	return order->n_items;
}

/* --- what a run did --------------------------------------------------------------------------- */

struct collector {
	TachoRunOrder *order;
	const TachoTimeline *timeline;
	struct selection selection;
	GHashTable *known; /* string id -> the name as the order keeps it */
};

static const gchar *keep_name(struct collector *collector, guint32 name)
{
	const gchar *kept = g_hash_table_lookup(collector->known, GUINT_TO_POINTER(name));

	if (kept)
		return kept;
	kept = g_string_chunk_insert(collector->order->names,
				     tacho_timeline_string(collector->timeline, name));
	g_hash_table_insert(collector->known, GUINT_TO_POINTER(name), (gpointer)kept);
	return kept;
}

static gboolean is_device_work(const TachoTimeline *timeline, guint32 slice)
{
	guint8 kind = timeline->slices.kind[slice];

	return kind == TACHO_SLICE_KERNEL || kind == TACHO_SLICE_MEMCPY ||
	       kind == TACHO_SLICE_MEMSET || kind == TACHO_SLICE_COLLECTIVE;
}

static gboolean is_collective(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.kind[slice] == TACHO_SLICE_COLLECTIVE;
}

typedef gboolean (*Takes)(const TachoTimeline *timeline, guint32 slice);

static gchar *lane_name(const struct collector *collector, const TachoTrack *track)
{
	const gchar *name = tacho_timeline_string(collector->timeline, track->name);

	if (track->kind == TACHO_TRACK_THREAD)
		return g_strdup("operations");
	if (track->kind == TACHO_TRACK_ASYNC)
		return g_strdup(name[0] ? name : "collectives");
	return name[0] ? g_strdup_printf("device %d %s", track->device, name)
		       : g_strdup_printf("device %d stream %u", track->device, track->tid);
}

static guint32 step_at(const struct collector *collector, guint cursor)
{
	if (!collector->order->has_steps)
		return NO_STEP;
	return g_array_index(collector->selection.chosen, TachoStep, cursor).number;
}

/* The slices of a track are in the order of their begins. */
static void add_lane(struct collector *collector, const TachoTrack *track, guint32 rank_index,
		     Takes takes)
{
	const TachoTimeline *timeline = collector->timeline;
	struct order_lane *lane = order_lane_new();
	guint cursor = 0;

	lane->rank = tacho_timeline_rank(timeline, rank_index)->rank;
	lane->name = lane_name(collector, track);
	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		struct order_item item;

		if (!takes(timeline, i) ||
		    !selection_takes_time(&collector->selection, rank_index,
					  timeline->slices.start_ns[i], &cursor) ||
		    !selection_takes_name(&collector->selection, tacho_slice_name(timeline, i)))
			continue;
		item.name = keep_name(collector, timeline->slices.name[i]);
		item.step = step_at(collector, cursor);
		g_array_append_val(lane->items, item);
	}
	if (lane->items->len)
		g_ptr_array_add(collector->order->lanes, lane);
	else
		order_lane_free(lane);
}

static guint64 count_ops(const struct collector *collector, const TachoTrack *track)
{
	guint64 n = 0;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++)
		n += is_outermost_op(collector->timeline, i);
	return n;
}

/* (1); NULL: the rank has no operations. */
static const TachoTrack *find_op_thread(const struct collector *collector, guint32 rank_index)
{
	const TachoTimeline *timeline = collector->timeline;
	const TachoTrack *best = NULL;
	guint64 most = 0;

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		const TachoProcess *process = tacho_track_process(timeline, track);
		guint64 n;

		if (track->kind != TACHO_TRACK_THREAD || process->rank_index != rank_index ||
		    !selection_takes_track(&collector->selection, track))
			continue;
		n = count_ops(collector, track);
		if (n && track->tid == process->pid)
			return track;
		if (n > most) {
			most = n;
			best = track;
		}
	}
	return best;
}

static void add_rank(struct collector *collector, guint32 rank_index)
{
	const TachoTimeline *timeline = collector->timeline;
	const TachoTrack *thread = find_op_thread(collector, rank_index);

	if (thread)
		add_lane(collector, thread, rank_index, is_outermost_op);
	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		if (tacho_track_process(timeline, track)->rank_index != rank_index ||
		    !selection_takes_track(&collector->selection, track))
			continue;
		if (track->kind == TACHO_TRACK_STREAM)
			add_lane(collector, track, rank_index, is_device_work);
		else if (track->kind == TACHO_TRACK_ASYNC)
			add_lane(collector, track, rank_index, is_collective);
	}
}

static gchar *step_key(gint32 rank, guint32 step)
{
	return g_strdup_printf("%d/%u", rank, step);
}

static void note_steps(struct collector *collector)
{
	const TachoTimeline *timeline = collector->timeline;

	FOR_EACH(const TachoStep, step, collector->selection.chosen) {
		gint32 rank = tacho_timeline_rank(timeline, step->rank_index)->rank;

		g_hash_table_add(collector->order->steps, step_key(rank, step->number));
		g_hash_table_add(collector->order->steps, step_key(rank, NO_STEP));
	}
}

static gboolean check(const struct collector *collector, GError **error)
{
	const struct selection *selection = &collector->selection;

	if (selection->n_ranks == 0)
		g_set_error(error, TACHO_DIFF_ERROR, TACHO_DIFF_ERROR_NO_RANK,
			    "the run has no rank %d", selection->filter->rank);
	else if (collector->order->has_steps && selection->chosen->len == 0)
		g_set_error(error, TACHO_DIFF_ERROR, TACHO_DIFF_ERROR_NO_STEP,
			    "the run has no complete step among those asked for; choose others "
			    "with --steps");
	else
		return TRUE;
	return FALSE;
}

TachoRunOrder *tacho_run_order_new(const TachoTimeline *timeline, const TachoFilter *filter,
				   const gchar *label, GError **error)
{
	g_autoptr(TachoRunOrder) order = g_new0(TachoRunOrder, 1);
	g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
	struct collector collector = { .order = order, .timeline = timeline, .known = known };
	gboolean is_there;

	order->label = g_strdup(label);
	order->names = g_string_chunk_new(4096);
	order->lanes = g_ptr_array_new_with_free_func(order_lane_free);
	order->steps = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	selection_init(&collector.selection, timeline, filter);
	order->has_steps = !collector.selection.is_whole;
	is_there = check(&collector, error);
	note_steps(&collector);
	for (guint32 i = 0; is_there && i < timeline->ranks->len; i++)
		if (selection_takes_rank(&collector.selection, i) &&
		    run_share_owns_rank(timeline, i))
			add_rank(&collector, i);
	if (is_there)
		order_lanes_share(order->lanes, order->names, timeline);
	FOR_EACH_POINTER(const struct order_lane, lane, order->lanes)
		order->n_items += lane->items->len;
	selection_release(&collector.selection);
	return is_there ? g_steal_pointer(&order) : NULL;
}

/* --- comparing -------------------------------------------------------------------------------- */

static const struct order_lane *lane_at(const TachoRunOrder *order, guint i)
{
	return g_ptr_array_index(order->lanes, i);
}

/* Lanes that may belong together: by name, or, of those left, by rank and sort. The caller's. */
static gchar *lane_key(const struct order_lane *lane, gboolean by_name)
{
	return by_name ? g_strdup_printf("%d/%s", lane->rank, lane->name)
		       : g_strdup_printf("%d/%d", lane->rank,
					 g_str_has_prefix(lane->name, "device "));
}

static void free_queue(gpointer queue)
{
	g_queue_free(queue);
}

/* Pair what has no partner yet, in order. `is_taken` is of the lanes of `other`. */
static void pair_by(const TachoRunOrder *base, const TachoRunOrder *other, gboolean by_name,
		    const struct order_lane **partners, gboolean *is_taken)
{
	g_autoptr(GHashTable) left =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_queue);

	for (guint k = 0; k < other->lanes->len; k++) {
		g_autofree gchar *key = lane_key(lane_at(other, k), by_name);
		GQueue *queue = g_hash_table_lookup(left, key);

		if (is_taken[k])
			continue;
		if (!queue) {
			queue = g_queue_new();
			g_hash_table_insert(left, g_steal_pointer(&key), queue);
		}
		g_queue_push_tail(queue, GUINT_TO_POINTER(k + 1));
	}
	for (guint i = 0; i < base->lanes->len; i++) {
		g_autofree gchar *key = lane_key(lane_at(base, i), by_name);
		GQueue *queue = partners[i] ? NULL : g_hash_table_lookup(left, key);
		guint found = queue ? GPOINTER_TO_UINT(g_queue_pop_head(queue)) : 0;

		if (!found)
			continue;
		partners[i] = lane_at(other, found - 1);
		is_taken[found - 1] = TRUE;
	}
}

static gboolean has_step(const TachoRunOrder *order, gint32 rank, guint32 step)
{
	g_autofree gchar *key = step_key(rank, step);

	return g_hash_table_contains(order->steps, key);
}

/* The items of a lane in steps that `other` has, too: (2); all, where it lacks the rank. NULL lane: none. The caller's. */
static GArray *common_items(const struct order_lane *lane, const TachoRunOrder *order,
			    const TachoRunOrder *other)
{
	GArray *items = g_array_new(FALSE, FALSE, sizeof(struct order_item));
	gboolean by_step = lane && order->has_steps && other->has_steps &&
			   has_step(other, lane->rank, NO_STEP);
	guint32 step = NO_STEP;
	gboolean is_common = TRUE;

	for (guint i = 0; lane && i < lane->items->len; i++) {
		const struct order_item *item = &g_array_index(lane->items, struct order_item, i);

		if (by_step && item->step != step) {
			step = item->step;
			is_common = has_step(other, lane->rank, step);
		}
		if (is_common)
			g_array_append_val(items, *item);
	}
	return items;
}

static const struct order_item *item_at(const GArray *items, guint i)
{
	return i < items->len ? &g_array_index(items, struct order_item, i) : NULL;
}

static guint count_equal(const GArray *base, const GArray *other)
{
	guint n = 0;

	while (n < base->len && n < other->len &&
	       strcmp(item_at(base, n)->name, item_at(other, n)->name) == 0)
		n++;
	return n;
}

static const gchar *name_difference(const GArray *base, const GArray *other, guint n_equal)
{
	if (n_equal == base->len && n_equal == other->len)
		return "same";
	if (!other->len)
		return "missing";
	if (!base->len)
		return "added";
	if (n_equal == other->len)
		return "shorter";
	return n_equal == base->len ? "longer" : "order";
}

static void add_row(TachoTable *table, const struct order_lane *lane, const GArray *base,
		    const GArray *other)
{
	guint n_equal = count_equal(base, other);
	const struct order_item *mine = item_at(base, n_equal), *their = item_at(other, n_equal);
	const struct order_item *first = mine ? mine : their;

	tacho_table_row(table);
	tacho_table_integer(table, lane->rank);
	tacho_table_text(table, lane->name);
	tacho_table_text(table, name_difference(base, other, n_equal));
	tacho_table_integer(table, base->len);
	tacho_table_integer(table, other->len);
	tacho_table_integer(table, n_equal);
	if (first && first->step != NO_STEP)
		tacho_table_integer(table, first->step);
	else
		tacho_table_null(table);
	tacho_table_text(table, mine ? mine->name : NULL);
	tacho_table_text(table, their ? their->name : NULL);
}

/* One pair of lanes, if what it says is of the rows wanted now. */
static void add_pair(TachoTable *table, const TachoRunOrder *base, const TachoRunOrder *other,
		     const struct order_lane *mine, const struct order_lane *their,
		     gboolean wants_same)
{
	g_autoptr(GArray) of_base = common_items(mine, base, other);
	g_autoptr(GArray) of_other = common_items(their, other, base);
	guint n_equal = count_equal(of_base, of_other);
	gboolean is_same = n_equal == of_base->len && n_equal == of_other->len;

	if (is_same == wants_same && (of_base->len || of_other->len))
		add_row(table, mine ? mine : their, of_base, of_other);
}

TachoTable *tacho_run_order_table(const TachoRunOrder *base, const TachoRunOrder *other)
{
	TachoTable *table = tacho_table_new("order", columns, G_N_ELEMENTS(columns));
	g_autofree gboolean *is_taken = g_new0(gboolean, other->lanes->len);
	g_autofree const struct order_lane **partners =
		g_new0(const struct order_lane *, base->lanes->len);

	pair_by(base, other, TRUE, partners, is_taken);
	pair_by(base, other, FALSE, partners, is_taken); /* (3) */
	for (guint wants_same = 0; wants_same < 2; wants_same++) {
		for (guint i = 0; i < base->lanes->len; i++)
			add_pair(table, base, other, lane_at(base, i), partners[i],
				 wants_same != 0);
		for (guint k = 0; k < other->lanes->len; k++)
			if (!is_taken[k])
				add_pair(table, base, other, NULL, lane_at(other, k),
					 wants_same != 0);
	}
	return table;
}

guint tacho_run_order_n_different(const TachoTable *table)
{
	guint n = 0;

	for (guint i = 0; i < tacho_table_n_rows(table); i++)
		n += strcmp(tacho_table_cell_text(table, i, "difference"), "same") != 0;
	return n;
}

void tacho_run_order_print_json(const TachoRunOrder *base, const TachoRunOrder *const *others,
				const TachoTable *const *tables, guint n, FILE *out)
{
	g_autoptr(JsonWriter) writer = json_writer_new(out);

	json_writer_begin_object(writer);
	json_writer_string(json_writer_key(writer, "base"), base->label);
	json_writer_begin_array(json_writer_key(writer, "comparisons"));
	for (guint i = 0; i < n; i++) {
		json_writer_line(writer);
		json_writer_begin_object(writer);
		json_writer_string(json_writer_key(writer, "run"), others[i]->label);
		json_writer_boolean(json_writer_key(writer, "is_same_order"),
				    tacho_run_order_n_different(tables[i]) == 0);
		table_write_json_members(&tables[i], 1, writer);
		json_writer_line(writer);
		json_writer_end_object(writer);
	}
	json_writer_line(writer);
	json_writer_end_array(writer);
	json_writer_line(writer);
	json_writer_end_object(writer);
	json_writer_finish(writer);
}
