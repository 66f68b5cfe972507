#include "import/inner_collectives.h"

#include <string.h>

#include "base/partition_point.h"
#include "trace/operation.h"

struct inner {
	guint32 process, slice;
	enum collective_operation operation;
	gint64 middle_ns;
	gboolean is_taken;
};

static gint order(gconstpointer first, gconstpointer second)
{
	const struct inner *one = first, *other = second;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	return one->middle_ns < other->middle_ns ? -1 : one->middle_ns > other->middle_ns;
}

/* A collective on the host: (3). */
static gboolean is_on_host(const TachoTimeline *timeline, guint32 slice)
{
	guint32 track = timeline->slices.track[slice];

	return timeline->slices.kind[slice] == TACHO_SLICE_COLLECTIVE &&
	       tacho_timeline_track(timeline, track)->kind != TACHO_TRACK_STREAM;
}

static enum collective_operation operation_of(const TachoTimeline *timeline, guint32 slice)
{
	const gchar *name = tacho_slice_name(timeline, slice);

	return operation_of_word(name, strlen(name));
}

static gboolean may_be_same(enum collective_operation one, enum collective_operation other)
{
	return one == OPERATION_UNTOLD || other == OPERATION_UNTOLD || one == other;
}

/* The run's own, by process and time. */
static GArray *collect(const struct timeline_join *join, guint32 n_own)
{
	const TachoSlices *slices = &join->to->slices;
	GArray *inners = g_array_new(FALSE, FALSE, sizeof(struct inner));

	for (guint32 i = 0; i < n_own; i++) {
		struct inner inner = { .slice = i };

		if (!is_on_host(join->to, i))
			continue;
		inner.operation = operation_of(join->to, i);
		inner.process = tacho_timeline_track(join->to, slices->track[i])->process;
		inner.middle_ns = slices->start_ns[i] + slices->duration_ns[i] / 2;
		g_array_append_val(inners, inner);
	}
	g_array_sort(inners, order);
	return inners;
}

/* Those that something was said of already, as by same_records. */
static void take_paired(GArray *inners, const struct timeline_join *join, guint32 n_own)
{
	g_autofree gboolean *is_paired = g_new0(gboolean, n_own + 1);

	for (guint32 i = 0; i < join->from->slices.n; i++)
		if (join->slices[i] < n_own)
			is_paired[join->slices[i]] = TRUE;
	for (guint i = 0; i < inners->len; i++) {
		struct inner *inner = &g_array_index(inners, struct inner, i);

		inner->is_taken = is_paired[inner->slice];
	}
}

/* The longest that is free, or NULL. */
static struct inner *find_longest(GArray *inners, const TachoSlices *slices, guint32 process,
				  enum collective_operation operation, gint64 begin_ns,
				  gint64 end_ns)
{
	guint first = ROWS_BEFORE(inners, struct inner, row,
				  row->process < process ||
					  (row->process == process && row->middle_ns < begin_ns));
	struct inner *longest = NULL;

	for (guint i = first; i < inners->len; i++) {
		struct inner *inner = &g_array_index(inners, struct inner, i);

		if (inner->process != process || inner->middle_ns > end_ns)
			break;
		if (!inner->is_taken && may_be_same(inner->operation, operation) &&
		    (!longest ||
		     slices->duration_ns[inner->slice] > slices->duration_ns[longest->slice]))
			longest = inner;
	}
	return longest;
}

guint64 inner_collectives_find(struct timeline_join *join, guint32 n_own)
{
	const TachoSlices *slices = &join->from->slices;
	g_autoptr(GArray) inners = collect(join, n_own);
	guint64 n_found = 0;

	if (inners->len == 0)
		return 0;
	take_paired(inners, join, n_own);
	for (guint32 i = 0; i < slices->n; i++) {
		guint32 process = tacho_timeline_track(join->from, slices->track[i])->process;
		struct inner *inner;

		if (!is_on_host(join->from, i) || join->slices[i] != TACHO_NONE ||
		    join->processes[process] == TACHO_NONE)
			continue;
		inner = find_longest(inners, &join->to->slices, join->processes[process],
				     operation_of(join->from, i),
				     join->move(join, process, slices->start_ns[i]),
				     join->move(join, process, tacho_slice_end_ns(join->from, i)));
		if (!inner)
			continue;
		inner->is_taken = TRUE;
		join->slices[i] = inner->slice;
		n_found++;
	}
	return n_found;
}
