/* message_view: messages on TCP connections, by what they carried out, between whom, and which way.
 *
 * A row is a rank, a peer, a direction and the name of the collective; messages of no collective
 * (the rendezvous store, say) are rows without a name. What a row's rate is over: the time from the
 * begin of the first of its messages of a collective to the end of the last one, summed over the
 * collectives. Not over the time in the calls: a send is over when the kernel has its bytes. */
#include <tacho/analyze.h>

#include <math.h>

#include "analyze/selection.h"

#define MS(ns) ((ns) / 1e6)

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
	GArray *groups;		  /* struct message_group */
	GHashTable *known;	  /* text key -> its row + 1 */
	GArray *bursts;		  /* struct message_burst */
	GHashTable *known_bursts; /* group << 32 | collective -> its row + 1 */
	guint64 n_without, n_inferred;
};

static const TachoColumn columns[] = {
	{ .key = "name", .title = "collective", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "rank", .title = "rank", .type = TACHO_COLUMN_INTEGER },
	{ .key = "direction", .title = "direction", .type = TACHO_COLUMN_TEXT },
	{ .key = "peer_rank", .title = "peer", .type = TACHO_COLUMN_INTEGER },
	{ .key = "count", .title = "count", .type = TACHO_COLUMN_INTEGER },
	{ .key = "bytes", .title = "bytes", .type = TACHO_COLUMN_INTEGER },
	{ .key = "gb_per_s", .title = "GB/s", .type = TACHO_COLUMN_NUMBER, .decimals = 3 },
	{ .key = "call_ms", .title = "in calls ms", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "ring_steps", .title = "ring steps", .type = TACHO_COLUMN_INTEGER },
	{ .key = "mean_bytes", .type = TACHO_COLUMN_NUMBER, .is_json_only = TRUE },
	{ .key = "paired_pct", .type = TACHO_COLUMN_NUMBER, .is_json_only = TRUE },
	{ .key = "inferred_pct", .type = TACHO_COLUMN_NUMBER, .is_json_only = TRUE },
	{ .key = "calls_per_step", .type = TACHO_COLUMN_NUMBER, .is_json_only = TRUE },
};

static guint find_group(struct message_sums *sums, const TachoMessage *message, guint32 rank_index)
{
	const TachoTimeline *timeline = sums->selection->timeline;
	struct message_group group = {
		.rank_index = rank_index,
		.peer = message->peer_process,
		.has_collective = message->collective != TACHO_NONE,
		.is_receive = message->is_receive,
	};
	g_autofree gchar *key = NULL;
	gpointer found;

	if (group.has_collective)
		group.name = timeline->slices.name[message->collective];
	key = g_strdup_printf("%d %u %u %u %d", group.has_collective, group.name, rank_index,
			      group.peer, group.is_receive);
	found = g_hash_table_lookup(sums->known, key);
	if (!found) {
		g_array_append_val(sums->groups, group);
		found = GUINT_TO_POINTER(sums->groups->len);
		g_hash_table_insert(sums->known, g_steal_pointer(&key), found);
	}
	return GPOINTER_TO_UINT(found) - 1;
}

static void count_burst(struct message_sums *sums, const TachoMessage *message, guint group)
{
	const TachoTimeline *timeline = sums->selection->timeline;
	gpointer key = GSIZE_TO_POINTER((gsize)group << 32 | message->collective);
	gpointer found = g_hash_table_lookup(sums->known_bursts, key);
	struct message_burst *burst, first = { group, 0, G_MAXINT64, G_MININT64 };

	if (!found) {
		g_array_append_val(sums->bursts, first);
		found = GUINT_TO_POINTER(sums->bursts->len);
		g_hash_table_insert(sums->known_bursts, key, found);
	}
	burst = &g_array_index(sums->bursts, struct message_burst, GPOINTER_TO_UINT(found) - 1);
	burst->bytes += message->bytes;
	burst->begin_ns = MIN(burst->begin_ns, timeline->slices.start_ns[message->slice]);
	burst->end_ns = MAX(burst->end_ns, tacho_slice_end_ns(timeline, message->slice));
}

static void count_message(struct message_sums *sums, const TachoMessage *message,
			  guint32 rank_index)
{
	guint row = find_group(sums, message, rank_index);
	struct message_group *group = &g_array_index(sums->groups, struct message_group, row);

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
	count_burst(sums, message, row);
}

static void count_all(struct message_sums *sums)
{
	const struct selection *selection = sums->selection;
	const TachoTimeline *timeline = selection->timeline;
	guint32 track = TACHO_NONE;
	guint cursor = 0;

	for (guint i = 0; i < timeline->messages->len; i++) {
		const TachoMessage *message = &g_array_index(timeline->messages, TachoMessage, i);
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
	for (guint i = 0; i < sums->bursts->len; i++) {
		const struct message_burst *burst =
			&g_array_index(sums->bursts, struct message_burst, i);
		struct message_group *group =
			&g_array_index(sums->groups, struct message_group, burst->group);

		group->timed_bytes += burst->bytes;
		group->timed_ns += (gdouble)(burst->end_ns - burst->begin_ns);
	}
}

static void add_peer(TachoTable *table, const TachoTimeline *timeline, guint32 process)
{
	gint32 rank = process < timeline->processes->len
			      ? g_array_index(timeline->processes, TachoProcess, process).rank
			      : -1;

	if (rank < 0)
		tacho_table_null(table);
	else
		tacho_table_integer(table, rank);
}

static void add_row(TachoTable *table, const struct selection *selection,
		    const struct message_group *group)
{
	const TachoTimeline *timeline = selection->timeline;
	gdouble count = (gdouble)group->count;

	tacho_table_row(table);
	tacho_table_text(table, group->has_collective ? tacho_timeline_string(timeline, group->name)
						      : NULL);
	tacho_table_integer(table,
			    g_array_index(timeline->ranks, TachoRank, group->rank_index).rank);
	tacho_table_text(table, group->is_receive ? "receive" : "send");
	add_peer(table, timeline, group->peer);
	tacho_table_integer(table, (gint64)group->count);
	tacho_table_integer(table, (gint64)MIN(group->bytes, G_MAXINT64));
	tacho_table_number(table, group->timed_ns > 0
					  ? (gdouble)group->timed_bytes / group->timed_ns
					  : (gdouble)NAN);
	tacho_table_number(table, MS(group->call_ns));
	if (group->n_steps)
		tacho_table_integer(table, group->n_steps);
	else
		tacho_table_null(table);
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
	g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(struct message_group));
	g_autoptr(GArray) bursts = g_array_new(FALSE, FALSE, sizeof(struct message_burst));
	g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GHashTable) known_bursts = g_hash_table_new(NULL, NULL);
	struct selection selection;
	struct message_sums sums = {
		&selection, groups, known, bursts, known_bursts, 0, 0,
	};

	selection_init(&selection, timeline, filter);
	count_all(&sums);
	for (guint i = 0; i < groups->len; i++)
		add_row(table, &selection, &g_array_index(groups, struct message_group, i));
	tacho_table_sort(table, "bytes", TRUE);
	selection_note_empty(&selection, table, "messages");
	add_notes(table, &sums);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
