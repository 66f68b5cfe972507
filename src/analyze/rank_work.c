/* rank_work: how long each rank was in each operation or kernel.
 *
 * For a rank with recorded devices it is the work of their streams except collectives; for another, the
 * time of its operations without those inside. Communication is left out: who is late waits least. */
#include "analyze/rank_work.h"

#include "analyze/device_work.h"
#include "analyze/group_exchange.h"
#include "analyze/op_cost.h"
#include "base/for_each.h"
#include "trace/region_kind.h"

static gdouble *find_times(struct rank_work *work, guint32 name)
{
	gpointer key = GSIZE_TO_POINTER((gsize)name + 1);
	gdouble *times_ns = g_hash_table_lookup(work->by_name, key);

	if (!times_ns) {
		times_ns = g_new0(gdouble, work->n_ranks + 1);
		g_hash_table_insert(work->by_name, key, times_ns);
	}
	return times_ns;
}

static void add_slices(struct rank_work *work, const struct selection *selection,
		       const TachoTrack *track, guint rank_index, guint n_stretches)
{
	const TachoTimeline *timeline = selection->timeline;
	gboolean is_device = track->kind == TACHO_TRACK_STREAM;
	g_autofree struct op_cost *costs =
		is_device ? NULL : op_costs_of_track(timeline, track, FALSE);
	guint cursor = 0;

	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 slice = track->first_slice + i;
		guint8 kind = timeline->slices.kind[slice];
		gboolean is_work = is_device ? is_device_work(timeline, slice) &&
						       kind != TACHO_SLICE_COLLECTIVE
					     : kind == TACHO_SLICE_OP;

		if (!is_work || slice_communicates(timeline, slice) ||
		    !selection_takes_time(selection, rank_index, timeline->slices.start_ns[slice],
					  &cursor))
			continue;
		find_times(work, timeline->slices.name[slice])[rank_index] +=
			(is_device ? (gdouble)timeline->slices.duration_ns[slice]
				   : costs[i].self_ns) /
			n_stretches;
	}
}

static guint rank_of(const TachoTimeline *timeline, const TachoTrack *track)
{
	return tacho_track_process(timeline, track)->rank_index;
}

/* --- work of several processes --------------------------------------------------------------------- */

/* A name, and the time that one rank was in it. */
static void pack_work(GByteArray *bytes, const TachoTimeline *timeline,
		      const struct rank_work *work)
{
	FOR_EACH_ENTRY(entry, work->by_name) {
		const gdouble *times_ns = entry.value;

		for (guint32 rank = 0; rank < work->n_ranks; rank++) {
			if (times_ns[rank] == 0)
				continue;
			group_pack_string(bytes, timeline,
					  (guint32)(GPOINTER_TO_SIZE(entry.key) - 1));
			pack_uint32(bytes, rank);
			pack_bytes(bytes, &times_ns[rank], sizeof(times_ns[rank]));
		}
	}
}

struct work_exchange {
	const TachoTimeline *timeline;
	struct rank_work *work;
};

static gboolean take_work(guint from, struct packed_bytes *packed, gpointer exchange_pointer)
{
	const struct work_exchange *exchange = exchange_pointer;
	guint32 name, rank;
	gdouble time_ns;

	(void)from;
	if (!group_unpack_string(packed, exchange->timeline, &name) ||
	    !unpack_bytes(packed, &rank, sizeof(rank)) || rank >= exchange->work->n_ranks ||
	    !unpack_bytes(packed, &time_ns, sizeof(time_ns)))
		return FALSE;
	find_times(exchange->work, name)[rank] = time_ns;
	return TRUE;
}

/* Each has summed up its own ranks. */
static void share_work(struct rank_work *work, const TachoTimeline *timeline)
{
	struct work_exchange exchange = { timeline, work };
	g_autoptr(GByteArray) bytes = NULL;

	if (!timeline->share)
		return;
	bytes = g_byte_array_new();
	pack_work(bytes, timeline, work);
	group_exchange(timeline, "work of ranks", bytes, take_work, &exchange);
}

/* --- as one ------------------------------------------------------------------------------------------ */

static void find_least(struct rank_work *work, const guint *n_stretches)
{
	FOR_EACH_ENTRY(entry, work->by_name) {
		gdouble *times_ns = entry.value, least_ns = G_MAXDOUBLE;

		for (guint i = 0; i < work->n_ranks; i++)
			if (n_stretches[i])
				least_ns = MIN(least_ns, times_ns[i]);
		times_ns[work->n_ranks] = least_ns;
	}
}

void rank_work_init(struct rank_work *work, const struct selection *selection,
		    const guint *n_stretches)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autofree gboolean *has_device = g_new0(gboolean, MAX(timeline->ranks->len, 1u));

	work->n_ranks = timeline->ranks->len;
	work->by_name = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		has_device[rank_of(timeline, track)] |=
			track->kind == TACHO_TRACK_STREAM && track->n_slices > 0;
	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint rank = rank_of(timeline, track);
		TachoTrackKind kind = has_device[rank] ? TACHO_TRACK_STREAM : TACHO_TRACK_THREAD;

		if (track->kind == kind && n_stretches[rank] &&
		    selection_takes_track(selection, track) &&
		    run_share_owns(timeline, track->process))
			add_slices(work, selection, track, rank, n_stretches[rank]);
	}
	share_work(work, timeline);
	find_least(work, n_stretches);
}

void rank_work_release(struct rank_work *work)
{
	g_clear_pointer(&work->by_name, g_hash_table_unref);
}

const gchar *rank_work_longest(const struct rank_work *work, const TachoTimeline *timeline,
			       guint rank, gdouble *ret_longer_ns)
{
	guint32 longest = TACHO_NONE;

	*ret_longer_ns = 0;
	FOR_EACH_ENTRY(entry, work->by_name) {
		const gdouble *times_ns = entry.value;
		gdouble longer_ns = times_ns[rank] - times_ns[work->n_ranks];
		guint32 name = (guint32)(GPOINTER_TO_SIZE(entry.key) - 1);

		/* of equals the one named first, so that the answer is stable */
		if (longer_ns > *ret_longer_ns ||
		    (longer_ns > 0 && longer_ns == *ret_longer_ns && name < longest)) {
			*ret_longer_ns = longer_ns;
			longest = name;
		}
	}
	return longest == TACHO_NONE ? NULL : tacho_timeline_string(timeline, longest);
}
