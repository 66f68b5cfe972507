/* track_walk: a lane is a stack of the slices that are open in it. The next slice of the track goes
 * to the first lane that can take it: one where all that would be open around it contains it.
 * (1) On threads and streams, lane 0 nests as the timeline's parents do; it refuses only slices that
 *     overlap an earlier one without being contained.
 * (2) On asynchronous tracks nothing nests: two slices open at the same time are in different lanes.
 * (3) In a lane, ends and begins come in the order of time, an end before a begin of the same
 *     time. */
#include "export/track_walk.h"

struct walk {
	const struct export_scope *scope;
	const TachoTimeline *timeline;
	const struct track_walk_handlers *handlers;
	gpointer data;
	gboolean is_nesting;
	GPtrArray *lanes; /* GArray of guint32: open slices, the innermost last */
	const guint32 *marks, *marks_end;
};

static guint32 innermost(const GArray *lane)
{
	return g_array_index(lane, guint32, lane->len - 1);
}

static void close_innermost(struct walk *walk, guint lane_number)
{
	GArray *lane = g_ptr_array_index(walk->lanes, lane_number);
	guint32 slice = innermost(lane);

	g_array_set_size(lane, lane->len - 1);
	if (walk->handlers->end)
		walk->handlers->end(slice, lane_number, walk->data);
}

/* How many of the lane's slices stay open when `slice` begins there; -1: the lane cannot take it. */
static gint open_around(const struct walk *walk, const GArray *lane, guint32 slice)
{
	const TachoTimeline *timeline = walk->timeline;
	gint64 start_ns = timeline->slices.start_ns[slice];
	gint64 end_ns = tacho_slice_end_ns(timeline, slice);

	for (gint n = (gint)lane->len; n > 0; n--) {
		gint64 open_end_ns =
			tacho_slice_end_ns(timeline, g_array_index(lane, guint32, n - 1));

		if (open_end_ns > start_ns)
			return walk->is_nesting && open_end_ns >= end_ns ? n : -1;
	}
	return 0;
}

static guint find_lane(struct walk *walk, guint32 slice, gint *ret_n_open)
{
	for (guint i = 0; i < walk->lanes->len; i++) {
		*ret_n_open = open_around(walk, g_ptr_array_index(walk->lanes, i), slice);
		if (*ret_n_open >= 0)
			return i;
	}
	g_ptr_array_add(walk->lanes, g_array_new(FALSE, FALSE, sizeof(guint32)));
	*ret_n_open = 0;
	return walk->lanes->len - 1;
}

/* End what ended before `time_ns` in lane 0, where the marks are. */
static void close_before(struct walk *walk, gint64 time_ns)
{
	GArray *lane;

	if (walk->lanes->len == 0)
		return;
	lane = g_ptr_array_index(walk->lanes, 0);
	while (lane->len > 0 && tacho_slice_end_ns(walk->timeline, innermost(lane)) < time_ns)
		close_innermost(walk, 0);
}

static void emit_marks_before(struct walk *walk, gint64 time_ns)
{
	for (; walk->marks < walk->marks_end; walk->marks++) {
		const TachoMark *mark =
			&g_array_index(walk->timeline->marks, TachoMark, *walk->marks);

		if (mark->time_ns >= time_ns)
			return;
		if (!export_scope_has_moment(walk->scope, mark->track, mark->time_ns))
			continue;
		close_before(walk, mark->time_ns);
		walk->handlers->mark(*walk->marks, walk->data);
	}
}

static void begin_slice(struct walk *walk, guint32 slice)
{
	gint n_open;
	guint lane_number = find_lane(walk, slice, &n_open);
	GArray *lane = g_ptr_array_index(walk->lanes, lane_number);

	while ((gint)lane->len > n_open)
		close_innermost(walk, lane_number);
	g_array_append_val(lane, slice);
	walk->handlers->begin(slice, lane_number, walk->data);
}

void track_walk(const struct export_scope *scope, guint32 track, const guint32 *marks,
		guint32 n_marks, const struct track_walk_handlers *handlers, gpointer data)
{
	const TachoTrack *row = tacho_timeline_track(scope->timeline, track);
	struct walk walk = {
		.scope = scope,
		.timeline = scope->timeline,
		.handlers = handlers,
		.data = data,
		.is_nesting = row->kind != TACHO_TRACK_ASYNC,
		.lanes = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref),
		.marks = marks,
		.marks_end = n_marks ? marks + n_marks : marks, /* NULL: there are none */
	};

	for (guint32 slice = row->first_slice; slice < row->first_slice + row->n_slices; slice++) {
		if (!export_scope_has_slice(scope, slice))
			continue;
		emit_marks_before(&walk, scope->timeline->slices.start_ns[slice]);
		begin_slice(&walk, slice);
	}
	emit_marks_before(&walk, G_MAXINT64);
	for (guint i = 0; i < walk.lanes->len; i++)
		while (((GArray *)g_ptr_array_index(walk.lanes, i))->len > 0)
			close_innermost(&walk, i);
	g_ptr_array_unref(walk.lanes);
}
