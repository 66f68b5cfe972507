/* thread_index: which slice was open on a thread at a moment.
 *
 * Threads are found by process and tid in a sorted table. Kernels use a tid again, so a tid may
 * stand there twice; the thread meant is the last one that had begun by then. */
#include "correlate/thread_index.h"

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "trace/slice_columns.h"

struct thread_key {
	guint32 process;
	guint32 tid;
	guint32 track;
	gint64 first_ns;
};

struct thread_index {
	const TachoTimeline *timeline;
	GArray *keys; /* struct thread_key, sorted; a tid may come twice, when it is used again */
};

static gint compare_keys(gconstpointer a, gconstpointer b)
{
	const struct thread_key *left = a, *right = b;

	return ORDER(left->process, right->process) ?: ORDER(left->tid, right->tid) ?:
	       ORDER(left->first_ns, right->first_ns) ?: ORDER(left->track, right->track);
}

struct thread_index *thread_index_new(const TachoTimeline *timeline)
{
	struct thread_index *index = g_new0(struct thread_index, 1);

	index->timeline = timeline;
	index->keys = g_array_new(FALSE, FALSE, sizeof(struct thread_key));
	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks) {
		struct thread_key key = { track->process, track->tid, i, track->first_ns };

		if (track->kind == TACHO_TRACK_THREAD)
			g_array_append_val(index->keys, key);
	}
	g_array_sort(index->keys, compare_keys);
	return index;
}

void thread_index_free(struct thread_index *index)
{
	if (!index)
		return;
	g_array_free(index->keys, TRUE);
	g_free(index);
}

guint32 thread_index_track(const struct thread_index *index, guint32 process, guint32 tid,
			   gint64 time_ns)
{
	const struct thread_key wanted = { process, tid, G_MAXUINT32, time_ns };
	guint n = ROWS_BEFORE(index->keys, struct thread_key, row, compare_keys(row, &wanted) <= 0);

	/* the last one that had begun by then, else the first one that began later */
	for (guint i = n > 0 ? n - 1 : 0; i <= n && i < index->keys->len; i++) {
		const struct thread_key *key = &g_array_index(index->keys, struct thread_key, i);

		if (key->process == process && key->tid == tid)
			return key->track;
	}
	return TACHO_NONE;
}

guint32 thread_index_open_slice(const struct thread_index *index, guint32 track, gint64 time_ns)
{
	const TachoTrack *row = tacho_timeline_track(index->timeline, track);

	return slice_columns_find_open(&index->timeline->slices, row->first_slice, row->n_slices,
				       time_ns);
}
