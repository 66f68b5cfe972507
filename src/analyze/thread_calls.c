#include "analyze/thread_calls.h"

#include "base/order.h"
#include "base/partition_point.h"
#include "trace/call_kind.h"

struct thread_calls {
	const TachoTimeline *timeline;
	ThreadCallsTake take;
	gconstpointer data;
	GHashTable *ends; /* track + 1 -> GArray of gint64, in order */
};

struct thread_calls *thread_calls_new(const TachoTimeline *timeline, ThreadCallsTake take,
				      gconstpointer data)
{
	struct thread_calls *calls = g_new0(struct thread_calls, 1);

	*calls = (struct thread_calls){ .timeline = timeline, .take = take, .data = data };
	calls->ends = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
	return calls;
}

void thread_calls_free(struct thread_calls *calls)
{
	if (!calls)
		return;
	g_hash_table_unref(calls->ends);
	g_free(calls);
}

static const GArray *ends_of(struct thread_calls *calls, guint32 track_index)
{
	const TachoTrack *track = tacho_timeline_track(calls->timeline, track_index);
	gpointer key = GSIZE_TO_POINTER((gsize)track_index + 1);
	GArray *ends = g_hash_table_lookup(calls->ends, key);

	if (ends)
		return ends;
	ends = g_array_new(FALSE, FALSE, sizeof(gint64));
	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		gint64 end_ns = tacho_slice_end_ns(calls->timeline, i);

		if (calls->take(calls->timeline, i, calls->data))
			g_array_append_val(ends, end_ns);
	}
	g_array_sort(ends, order_int64);
	g_hash_table_insert(calls->ends, key, ends);
	return ends;
}

gint64 thread_calls_next_end(struct thread_calls *calls, guint32 track, gint64 from_ns)
{
	const GArray *ends = ends_of(calls, track);
	guint next = PARTITION_POINT(i, 0, ends->len, g_array_index(ends, gint64, i) < from_ns);

	return next < ends->len ? g_array_index(ends, gint64, next) : G_MAXINT64;
}

gint64 thread_calls_last_end(struct thread_calls *calls, guint32 track, gint64 until_ns)
{
	const GArray *ends = ends_of(calls, track);
	guint next = PARTITION_POINT(i, 0, ends->len, g_array_index(ends, gint64, i) <= until_ns);

	return next ? g_array_index(ends, gint64, next - 1) : G_MININT64;
}

gboolean is_device_wait(const TachoTimeline *timeline, guint32 slice,
			gconstpointer unused G_GNUC_UNUSED)
{
	return timeline->slices.kind[slice] == TACHO_SLICE_RUNTIME &&
	       call_kind_waits(call_kind_of(timeline, slice));
}
