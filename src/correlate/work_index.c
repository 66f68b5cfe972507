/* work_index: which collectives a thread, or a process, sees through at a moment. */
#include "correlate/work_index.h"

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"

/* Whether the thread that took the collective up completes it, too. One that is still under way may
 * be such a one. */
static gboolean is_seen_through(const TachoTimeline *timeline, guint32 slice, guint32 tid)
{
	TachoCollectiveArgs args;

	if (!tacho_slice_collective(timeline, slice, &args))
		return FALSE;
	return args.end_tid == tid ||
	       (args.end_tid == 0 && (timeline->slices.flags[slice] & TACHO_SLICE_OPEN));
}

static gint compare_works(gconstpointer a, gconstpointer b)
{
	const struct work *left = a, *right = b;

	return ORDER(left->process, right->process) ?: ORDER(left->tid, right->tid) ?:
	       ORDER(left->start_ns, right->start_ns) ?: ORDER(left->slice, right->slice);
}

static gint compare_begins(gconstpointer a, gconstpointer b)
{
	const struct work *left = a, *right = b;

	return ORDER(left->process, right->process) ?: ORDER(left->start_ns, right->start_ns) ?:
	       ORDER(left->slice, right->slice);
}

static void add_works(struct work_index *index, const TachoTimeline *timeline,
		      const TachoTrack *track)
{
	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		struct work work = { track->process, track->tid, i, timeline->slices.start_ns[i],
				     tacho_slice_end_ns(timeline, i) };

		if (timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE &&
		    is_seen_through(timeline, i, track->tid))
			g_array_append_val(index->by_thread, work);
	}
}

void work_index_init(struct work_index *index, const TachoTimeline *timeline)
{
	index->by_thread = g_array_new(FALSE, FALSE, sizeof(struct work));
	index->by_begin = g_array_new(FALSE, FALSE, sizeof(struct work));
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (track->kind == TACHO_TRACK_ASYNC)
			add_works(index, timeline, track);
	if (index->by_thread->len)
		g_array_append_vals(index->by_begin, index->by_thread->data, index->by_thread->len);
	g_array_sort(index->by_thread, compare_works);
	g_array_sort(index->by_begin, compare_begins);
}

void work_index_release(struct work_index *index)
{
	g_clear_pointer(&index->by_thread, g_array_unref);
	g_clear_pointer(&index->by_begin, g_array_unref);
}

static guint count_to(const GArray *works, const struct work *wanted, GCompareFunc compare)
{
	return ROWS_BEFORE(works, struct work, row, compare(row, wanted) <= 0);
}

guint32 work_index_of_thread(const struct work_index *index, guint32 process, guint32 tid,
			     gint64 time_ns)
{
	struct work wanted = { process, tid, G_MAXUINT32, time_ns, 0 };
	guint at = count_to(index->by_thread, &wanted, compare_works);
	const struct work *work;

	if (at == 0)
		return TACHO_NONE;
	work = &g_array_index(index->by_thread, struct work, at - 1);
	return work->process == process && work->tid == tid && work->end_ns >= time_ns ? work->slice
										       : TACHO_NONE;
}

guint work_index_of_process(const struct work_index *index, guint32 process, gint64 time_ns,
			    guint32 ret_slices[MAX_WORKS_AT_ONCE])
{
	struct work wanted = { process, 0, G_MAXUINT32, time_ns, 0 };
	guint at = count_to(index->by_begin, &wanted, compare_begins), n = 0;

	for (guint i = at; i > 0 && at - i < MAX_WORKS_AT_ONCE; i--) {
		const struct work *work = &g_array_index(index->by_begin, struct work, i - 1);

		if (work->process != process)
			break;
		if (work->end_ns >= time_ns)
			ret_slices[n++] = work->slice;
	}
	return n;
}
