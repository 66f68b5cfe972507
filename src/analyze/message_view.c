/* message_view: messages on TCP connections, by what they carried out, between whom, and which way.
 *
 * A row is a rank, a peer, a direction and the name of the collective; messages of no collective
 * (the rendezvous store, say) are rows without a name. What a row's rate is over: the time from the
 * begin of the first of its messages of a collective to the end of the last one, summed over the
 * collectives. Not over the time in the calls: a send is over when the kernel has its bytes. */
#include <tacho/analyze.h>

#include <math.h>

#include "analyze/keyed_rows.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"

struct message_group {
	guint32 name; /* string id */
	guint32 rank_index;
	guint32 peer; /* process, or TACHO_NONE */
	gboolean has_collective, is_receive;
	guint64 count, n_inferred;
	guint64 bytes, timed_bytes, paired_bytes;
	gdouble call_ns, timed_ns;
	guint32 n_steps; /* of a ring */
};

/* The messages of one row for one collective. */
struct message_burst {
	guint group;
	guint64 bytes;
	gint64 begin_ns, end_ns;
};

struct message_sums {
	const struct selection *selection;
	struct keyed_rows groups; /* struct message_group */
	struct keyed_rows bursts; /* struct message_burst, by group << 32 | collective */
	guint64 n_without, n_inferred;
};

static const TachoColumn columns[] = {
	TEXT_COLUMN("name", "collective", .is_flexible = TRUE),
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("direction", "direction"),
	INTEGER_COLUMN("peer_rank", "peer"),
	INTEGER_COLUMN("count", "count"),
	INTEGER_COLUMN("bytes", "bytes"),
	NUMBER_COLUMN("gb_per_s", "GB/s", 3),
	NUMBER_COLUMN("call_ms", "in calls ms", 2),
	INTEGER_COLUMN("ring_steps", "ring steps"),
	JSON_NUMBER("mean_bytes"),
	JSON_NUMBER("paired_pct"),
	JSON_NUMBER("inferred_pct"),
	JSON_NUMBER("calls_per_step"),
};

static struct message_group *find_group(struct message_sums *sums, const TachoMessage *message,
					guint32 rank_index)
{
	struct message_group group = {
		.rank_index = rank_index,
		.peer = message->peer_process,
		.has_collective = message->collective != TACHO_NONE,
		.is_receive = message->is_receive,
	};

	if (group.has_collective)
		group.name = sums->selection->timeline->slices.name[message->collective];
	return keyed_rows_find(&sums->groups, &group, "%d %u %u %u %d", group.has_collective,
			       group.name, rank_index, group.peer, group.is_receive);
}

static void count_burst(struct message_sums *sums, const TachoMessage *message, guint group)
{
	const TachoTimeline *timeline = sums->selection->timeline;
	struct message_burst first = { group, 0, G_MAXINT64, G_MININT64 };
	struct message_burst *burst = keyed_rows_find_number(
		&sums->bursts, &first, (gsize)group << 32 | message->collective);

	burst->bytes += message->bytes;
	burst->begin_ns = MIN(burst->begin_ns, timeline->slices.start_ns[message->slice]);
	burst->end_ns = MAX(burst->end_ns, tacho_slice_end_ns(timeline, message->slice));
}

static void count_message(struct message_sums *sums, const TachoMessage *message,
			  guint32 rank_index)
{
	struct message_group *group = find_group(sums, message, rank_index);

	group->count++;
	group->bytes += message->bytes;
	group->paired_bytes += message->paired_bytes;
	group->call_ns += (gdouble)sums->selection->timeline->slices.duration_ns[message->slice];
	if (message->ring_step != TACHO_NONE)
		group->n_steps = MAX(group->n_steps, message->ring_step + 1);
	if (!group->has_collective) {
		sums->n_without++;
		return;
	}
	group->n_inferred += !message->is_exact;
	sums->n_inferred += !message->is_exact;
	count_burst(sums, message,
		    (guint)(group - (struct message_group *)sums->groups.rows->data));
}

static void count_all(struct message_sums *sums)
{
	const struct selection *selection = sums->selection;
	const TachoTimeline *timeline = selection->timeline;
	guint32 track = TACHO_NONE;
	guint cursor = 0;

	FOR_EACH(const TachoMessage, message, timeline->messages) {
		guint32 slice = message->slice, rank_index;
		const gchar *name = message->collective == TACHO_NONE
					    ? ""
					    : tacho_slice_name(timeline, message->collective);

		if (timeline->slices.track[slice] != track)
			cursor = 0;
		track = timeline->slices.track[slice];
		if (!selection_takes_track(selection, tacho_timeline_track(timeline, track)))
			continue;
		rank_index = tacho_slice_process(timeline, slice)->rank_index;
		if (selection_takes_time(selection, rank_index, timeline->slices.start_ns[slice],
					 &cursor) &&
		    selection_takes_name(selection, name))
			count_message(sums, message, rank_index);
	}
	FOR_EACH(const struct message_burst, burst, sums->bursts.rows) {
		struct message_group *group =
			&g_array_index(sums->groups.rows, struct message_group, burst->group);

		group->timed_bytes += burst->bytes;
		group->timed_ns += (gdouble)(burst->end_ns - burst->begin_ns);
	}
}

static void add_peer(TachoTable *table, const TachoTimeline *timeline, guint32 process)
{
	gint32 rank = process < timeline->processes->len
			      ? tacho_timeline_process(timeline, process)->rank
			      : -1;

	table_integer_if(table, rank >= 0, rank);
}

static void add_row(TachoTable *table, const struct selection *selection,
		    const struct message_group *group)
{
	const TachoTimeline *timeline = selection->timeline;
	gdouble count = (gdouble)group->count;

	tacho_table_row(table);
	tacho_table_text(table, group->has_collective ? tacho_timeline_string(timeline, group->name)
						      : NULL);
	table_rank(table, timeline, group->rank_index);
	tacho_table_text(table, group->is_receive ? "receive" : "send");
	add_peer(table, timeline, group->peer);
	tacho_table_integer(table, (gint64)group->count);
	tacho_table_integer(table, (gint64)MIN(group->bytes, G_MAXINT64));
	tacho_table_number(table, group->timed_ns > 0
					  ? (gdouble)group->timed_bytes / group->timed_ns
					  : (gdouble)NAN);
	tacho_table_number(table, MS(group->call_ns));
	table_integer_if(table, group->n_steps, group->n_steps);
	tacho_table_number(table, (gdouble)group->bytes / count);
	tacho_table_number(table, 100.0 * (gdouble)group->paired_bytes / (gdouble)group->bytes);
	tacho_table_number(table, 100.0 * (gdouble)group->n_inferred / count);
	tacho_table_number(table, count * selection->n_ranks / selection_n_steps(selection));
}

static void add_notes(TachoTable *table, const struct message_sums *sums)
{
	if (tacho_table_n_rows(table))
		tacho_table_note(table, "A send ends when the kernel has its bytes, not when they "
					"are on the wire.");
	if (sums->n_without)
		tacho_table_note(table,
				 "%" G_GUINT64_FORMAT " messages belong to no known collective.",
				 sums->n_without);
	if (sums->n_inferred)
		tacho_table_note(table,
				 "The collective of %" G_GUINT64_FORMAT
				 " messages is inferred from their time.",
				 sums->n_inferred);
}

TachoTable *tacho_view_message(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("message", columns, G_N_ELEMENTS(columns));
	struct selection selection;
	struct message_sums sums = { .selection = &selection };

	keyed_rows_init(&sums.groups, sizeof(struct message_group));
	keyed_rows_init(&sums.bursts, sizeof(struct message_burst));
	selection_init(&selection, timeline, filter);
	count_all(&sums);
	for (guint i = 0; i < sums.groups.rows->len; i++)
		add_row(table, &selection,
			&g_array_index(sums.groups.rows, struct message_group, i));
	tacho_table_sort(table, "bytes", TRUE);
	selection_note_empty(&selection, table, "messages");
	add_notes(table, &sums);
	selection_note(&selection, table);
	selection_release(&selection);
	keyed_rows_release(&sums.groups);
	keyed_rows_release(&sums.bursts);
	return table;
}
