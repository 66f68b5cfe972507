/* rank_activity: what a rank did with its time; docs/views.md defines it for users.
 *
 * compute    some thread of the rank's main process runs an op or kernel. The innermost of OP,
 *            KERNEL and WAIT counts, and an op counts as waiting when it only queues communication
 *            (its name says so), or when it holds no work and waiting fills more than half of it.
 *            If a rank has device queues, the work of its devices counts instead: kernels, copies
 *            and fills. Its threads only queue that work.
 * transfer   a collective is under way: from when its last rank has queued it to its end here.
 * exposed    transfer without compute.
 * wait       a collective is queued here but not yet by its last rank; without compute, transfer.
 * data_wait  in a WAIT for the data loader, or the region in which PyTorch takes a batch from it, and none
 *            of the above.
 *
 * Compute, exposed, wait and the rest of a step (idle) are disjoint by construction, so they add up
 * to it in whole nanoseconds. */
#include "analyze/rank_activity.h"

#include "base/for_each.h"
#include "trace/data_loading.h"
#include "trace/region_kind.h"

/* What happens inside a slice, itself included. */
struct content {
	gdouble waiting_ns;
	gboolean has_work;
	gboolean is_work; /* the slice's own time is work */
};

/* A slice on the way down a track. */
struct open_slice {
	gint64 end_ns;
	gboolean is_work;
};

/* Complete `content`, which holds what the children said. */
static void classify(const TachoTimeline *timeline, guint32 slice, struct content *content)
{
	gint64 duration_ns = timeline->slices.duration_ns[slice];
	TachoSliceKind kind = timeline->slices.kind[slice];
	gboolean runs = kind == TACHO_SLICE_OP || kind == TACHO_SLICE_KERNEL ||
			kind == TACHO_SLICE_MEMCPY || kind == TACHO_SLICE_MEMSET;

	if (kind == TACHO_SLICE_WAIT || (runs && slice_communicates(timeline, slice))) {
		content->waiting_ns = (gdouble)duration_ns;
	} else if (runs) {
		content->is_work =
			content->has_work || content->waiting_ns <= (gdouble)duration_ns / 2;
		content->has_work |= content->is_work;
	}
}

/* One a slice of the track. Children stand behind their parents, so backwards is bottom up. */
static struct content *find_contents(const TachoTimeline *timeline, const TachoTrack *track)
{
	struct content *contents = g_new0(struct content, track->n_slices);

	for (guint32 i = track->n_slices; i-- > 0;) {
		guint32 parent = timeline->slices.parent[track->first_slice + i];

		classify(timeline, track->first_slice + i, &contents[i]);
		if (parent == TACHO_NONE)
			continue;
		contents[parent - track->first_slice].waiting_ns += contents[i].waiting_ns;
		contents[parent - track->first_slice].has_work |= contents[i].has_work;
	}
	return contents;
}

static gboolean takes_part(TachoSliceKind kind)
{
	return kind == TACHO_SLICE_OP || kind == TACHO_SLICE_KERNEL || kind == TACHO_SLICE_WAIT ||
	       kind == TACHO_SLICE_MEMCPY || kind == TACHO_SLICE_MEMSET;
}

/* Close the slices that end by `time_ns`; `at_ns` is how far the track has been accounted for. */
static gint64 close_until(GArray *open, gint64 time_ns, gint64 at_ns, struct interval_set *work)
{
	while (open->len) {
		struct open_slice top = g_array_index(open, struct open_slice, open->len - 1);

		if (top.end_ns > time_ns)
			break;
		if (top.is_work)
			interval_set_add(work, at_ns, top.end_ns);
		at_ns = MAX(at_ns, top.end_ns);
		g_array_set_size(open, open->len - 1);
	}
	return at_ns;
}

static void add_work(const TachoTimeline *timeline, const TachoTrack *track,
		     struct interval_set *work)
{
	g_autofree struct content *contents = find_contents(timeline, track);
	g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(struct open_slice));
	gint64 at_ns = G_MININT64;

	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 slice = track->first_slice + i;
		gint64 start_ns = timeline->slices.start_ns[slice];
		struct open_slice next = { tacho_slice_end_ns(timeline, slice),
					   contents[i].is_work };

		if (!takes_part(timeline->slices.kind[slice]))
			continue;
		at_ns = close_until(open, start_ns, at_ns, work);
		if (open->len && g_array_index(open, struct open_slice, open->len - 1).is_work)
			interval_set_add(work, at_ns, start_ns);
		at_ns = MAX(at_ns, start_ns);
		g_array_append_val(open, next);
	}
	close_until(open, G_MAXINT64, at_ns, work);
}

static void add_data_waits(const TachoTimeline *timeline, const TachoTrack *track,
			   struct interval_set *data_wait)
{
	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++)
		if (data_loading_of(timeline, i) != DATA_LOADING_NONE)
			interval_set_add(data_wait, timeline->slices.start_ns[i],
					 tacho_slice_end_ns(timeline, i));
}

static void add_collective(const TachoTimeline *timeline, guint32 slice, gint64 last_begin_ns,
			   struct rank_activity *activity)
{
	gint64 start_ns = timeline->slices.start_ns[slice];
	gint64 end_ns = tacho_slice_end_ns(timeline, slice);
	gint64 transfer_ns = CLAMP(last_begin_ns, start_ns, MAX(start_ns, end_ns));

	interval_set_add(&activity->wait, start_ns, transfer_ns);
	interval_set_add(&activity->transfer, transfer_ns, end_ns);
}

/* A kernel of several sends and receives is in several, and waits for the last of all. */
static void index_member(GHashTable *by_slice, guint32 slice, TachoCollective *collective)
{
	const TachoCollective *known = g_hash_table_lookup(by_slice, GUINT_TO_POINTER(slice));

	if (!known || known->last_begin_ns < collective->last_begin_ns)
		g_hash_table_insert(by_slice, GUINT_TO_POINTER(slice), collective);
}

GHashTable *index_collectives(const TachoTimeline *timeline)
{
	GHashTable *by_slice = g_hash_table_new(NULL, NULL);

	FOR_EACH(TachoCollective, collective, timeline->collectives)
		for (guint32 j = 0; j < collective->n_members; j++)
			index_member(by_slice,
				     g_array_index(timeline->members, guint32,
						   collective->first_member + j),
				     collective);
	return by_slice;
}

/* A collective in which no other rank was recorded does not tell for whom it waited: all of it is transfer. */
static void add_collectives(const TachoTimeline *timeline, const TachoTrack *track,
			    GHashTable *by_slice, struct rank_activity *activity)
{
	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		const TachoCollective *collective;

		if (timeline->slices.kind[i] != TACHO_SLICE_COLLECTIVE)
			continue;
		collective = g_hash_table_lookup(by_slice, GUINT_TO_POINTER(i));
		add_collective(timeline, i, collective ? collective->last_begin_ns : G_MININT64,
			       activity);
	}
}

/* From all of each kind to the disjoint sets. */
static void separate(struct rank_activity *activity)
{
	interval_set_normalize(&activity->compute);
	interval_set_normalize(&activity->transfer);
	interval_set_normalize(&activity->wait);
	interval_set_normalize(&activity->data_wait);
	interval_set_add_all(&activity->exposed, &activity->transfer);
	interval_set_subtract(&activity->exposed, &activity->compute);
	interval_set_subtract(&activity->wait, &activity->compute);
	interval_set_subtract(&activity->wait, &activity->transfer);
	interval_set_subtract(&activity->data_wait, &activity->compute);
	interval_set_subtract(&activity->data_wait, &activity->exposed);
	interval_set_subtract(&activity->data_wait, &activity->wait);
}

static gboolean is_of_rank(const TachoTimeline *timeline, const TachoTrack *track, guint rank_index)
{
	const TachoProcess *process = tacho_track_process(timeline, track);

	return process->is_main && process->rank_index == rank_index;
}

static gboolean has_device(const TachoTimeline *timeline, guint rank_index)
{
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (track->kind == TACHO_TRACK_STREAM && track->n_slices &&
		    is_of_rank(timeline, track, rank_index))
			return TRUE;
	return FALSE;
}

void rank_activity_init(struct rank_activity *activity, const TachoTimeline *timeline,
			guint rank_index, GHashTable *collectives)
{
	gboolean is_device_rank = has_device(timeline, rank_index);

	interval_set_init(&activity->compute);
	interval_set_init(&activity->transfer);
	interval_set_init(&activity->exposed);
	interval_set_init(&activity->wait);
	interval_set_init(&activity->data_wait);
	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		if (!is_of_rank(timeline, track, rank_index))
			continue;
		if (track->kind == TACHO_TRACK_STREAM ||
		    (track->kind == TACHO_TRACK_THREAD && !is_device_rank))
			add_work(timeline, track, &activity->compute);
		if (track->kind == TACHO_TRACK_THREAD)
			add_data_waits(timeline, track, &activity->data_wait);
		add_collectives(timeline, track, collectives, activity);
	}
	separate(activity);
}

void rank_activity_release(struct rank_activity *activity)
{
	interval_set_release(&activity->compute);
	interval_set_release(&activity->transfer);
	interval_set_release(&activity->exposed);
	interval_set_release(&activity->wait);
	interval_set_release(&activity->data_wait);
}
