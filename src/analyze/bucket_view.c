/* bucket_view: the buckets in which gradients were reduced, and what their time went to.
 *
 *     last gradient ready -> queued -> taken up -> all ranks have it -> done
 *                     queue      pickup        wait             transfer
 *
 * A row is a bucket of a rank: buckets of one place in the backward pass and of one size, over the
 * chosen steps. Moments are since the step began; all are means. */
#include <tacho/analyze.h>

#include <math.h>

#include "analyze/bucket_steps.h"
#include "analyze/keyed_rows.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/time_units.h"
#include "correlate/member_index.h"

struct bucket_group {
	guint32 rank_index, index;
	guint64 bytes;
	guint64 count, n_whole, n_in_step;
	gdouble n_gradients;
	gdouble ready_ns, done_ns; /* sums, of those in a step */
	gdouble queue_ns, pickup_ns, wait_ns, transfer_ns;
};

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	INTEGER_COLUMN("bucket", "bucket"),
	INTEGER_COLUMN("bytes", "bytes"),
	NUMBER_COLUMN("gradients", "gradients", 0),
	INTEGER_COLUMN("count", "count"),
	NUMBER_COLUMN("ready_ms", "ready ms", 2),
	NUMBER_COLUMN("queue_ms", "+queue", 2),
	NUMBER_COLUMN("pickup_ms", "+pickup", 2),
	NUMBER_COLUMN("wait_ms", "+wait", 2),
	NUMBER_COLUMN("transfer_ms", "+transfer", 2),
	NUMBER_COLUMN("done_ms", "= done ms", 2),
	JSON_NUMBER("whole_pct"),
	JSON_NUMBER("calls_per_step"),
};

static struct bucket_group *find_group(struct keyed_rows *groups, const TachoBucket *bucket)
{
	struct bucket_group group = { .rank_index = bucket->rank_index,
				      .index = bucket->index,
				      .bytes = bucket->bytes };

	return keyed_rows_find(groups, &group, "%u %u %" G_GUINT64_FORMAT, bucket->rank_index,
			       bucket->index, bucket->bytes);
}

/* When the last rank had taken the bucket's collective up; where no other is known, when this one had. */
static gint64 begun_by_all_ns(const TachoTimeline *timeline, const struct member_index *members,
			      const TachoBucket *bucket)
{
	gint64 begin_ns = timeline->slices.start_ns[bucket->slice];
	guint32 row = member_index_row(members, bucket->slice);

	if (row == TACHO_NONE)
		return begin_ns;
	return CLAMP(g_array_index(timeline->collectives, TachoCollective, row).last_begin_ns,
		     begin_ns, tacho_slice_end_ns(timeline, bucket->slice));
}

static void count_bucket(const TachoTimeline *timeline, const struct member_index *members,
			 struct bucket_group *group, const TachoBucket *bucket)
{
	gint64 begin_ns = timeline->slices.start_ns[bucket->slice];
	gint64 end_ns = tacho_slice_end_ns(timeline, bucket->slice);
	gint64 all_ns = begun_by_all_ns(timeline, members, bucket);
	gint64 step_ns;

	group->count++;
	group->n_whole += bucket->is_whole;
	group->n_gradients += bucket->n_gradients;
	group->queue_ns += (gdouble)(bucket->queued_ns - bucket->ready_ns);
	group->pickup_ns += (gdouble)(begin_ns - bucket->queued_ns);
	group->wait_ns += (gdouble)(all_ns - begin_ns);
	group->transfer_ns += (gdouble)(end_ns - all_ns);
	if (!bucket_step_begin(timeline, bucket, &step_ns))
		return;
	group->n_in_step++;
	group->ready_ns += (gdouble)(bucket->ready_ns - step_ns);
	group->done_ns += (gdouble)(end_ns - step_ns);
}

static void add_row(TachoTable *table, const struct selection *selection,
		    const struct bucket_group *group)
{
	gdouble count = (gdouble)group->count;
	gdouble in_step = group->n_in_step ? (gdouble)group->n_in_step : (gdouble)NAN;

	tacho_table_row(table);
	table_rank(table, selection->timeline, group->rank_index);
	tacho_table_integer(table, group->index);
	tacho_table_integer(table, (gint64)MIN(group->bytes, G_MAXINT64));
	tacho_table_number(table, group->n_gradients / count);
	tacho_table_integer(table, (gint64)group->count);
	tacho_table_number(table, MS(group->ready_ns) / in_step);
	tacho_table_number(table, MS(group->queue_ns) / count);
	tacho_table_number(table, MS(group->pickup_ns) / count);
	tacho_table_number(table, MS(group->wait_ns) / count);
	tacho_table_number(table, MS(group->transfer_ns) / count);
	tacho_table_number(table, MS(group->done_ns) / in_step);
	tacho_table_number(table, 100.0 * (gdouble)group->n_whole / count);
	tacho_table_number(table, count * selection->n_ranks / selection_n_steps(selection));
}

static void note_missing(TachoTable *table, const GArray *groups)
{
	guint64 n_partial = 0;

	FOR_EACH(const struct bucket_group, group, groups)
		n_partial += group->count - group->n_whole;
	if (n_partial)
		tacho_table_note(table,
				 "The recording does not show all gradients of %" G_GUINT64_FORMAT
				 " buckets.",
				 n_partial);
}

static gint compare_groups(gconstpointer a, gconstpointer b)
{
	const struct bucket_group *left = a, *right = b;

	return ORDER(left->rank_index, right->rank_index) ?: ORDER(left->index, right->index) ?:
	       ORDER(left->bytes, right->bytes);
}

TachoTable *tacho_view_bucket(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("bucket", columns, G_N_ELEMENTS(columns));
	g_autoptr(member_index) members = member_index_new(timeline);
	struct selection selection;
	struct keyed_rows groups;
	guint cursor = 0;

	keyed_rows_init(&groups, sizeof(struct bucket_group));
	selection_init(&selection, timeline, filter);
	FOR_EACH(const TachoBucket, bucket, timeline->buckets)
		if (bucket_is_chosen(&selection, bucket, &cursor) &&
		    selection_takes_name(&selection, tacho_slice_name(timeline, bucket->slice)))
			count_bucket(timeline, members, find_group(&groups, bucket), bucket);
	g_array_sort(groups.rows, compare_groups);
	for (guint i = 0; i < groups.rows->len; i++)
		add_row(table, &selection, &g_array_index(groups.rows, struct bucket_group, i));
	selection_note_empty(&selection, table, "buckets of gradients");
	note_missing(table, groups.rows);
	selection_note(&selection, table);
	selection_release(&selection);
	keyed_rows_release(&groups);
	return table;
}
