#include "trace/timeline_move.h"

#include "base/for_each.h"
#include "base/worker_pool.h"

struct move {
	TachoTimeline *timeline;
	struct clock_map *maps; /* by clock, the new origin included */
};

static const struct clock_map *map_of_track(const struct move *move, guint32 track)
{
	guint32 process = tacho_timeline_track(move->timeline, track)->process;

	return &move->maps[tacho_timeline_process(move->timeline, process)->clock];
}

/* Let the ancestors of a slice last at least as long as it does. */
static void widen_parents(TachoSlices *slices, guint32 row)
{
	gint64 end_ns = slices->start_ns[row] + slices->duration_ns[row];

	for (row = slices->parent[row];
	     row != TACHO_NONE && slices->start_ns[row] + slices->duration_ns[row] < end_ns;
	     row = slices->parent[row])
		slices->duration_ns[row] = end_ns - slices->start_ns[row];
}

static void move_track(guint index, gpointer move_pointer)
{
	const struct move *move = move_pointer;
	const struct clock_map *map = map_of_track(move, index);
	TachoTrack *track = &g_array_index(move->timeline->tracks, TachoTrack, index);
	TachoSlices *slices = &move->timeline->slices;
	gint64 before_ns = 0, after_ns = 0;

	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 row = track->first_slice + i;
		gint64 start_ns = slices->start_ns[row];
		gint64 end_ns = clock_map_apply(map, start_ns + slices->duration_ns[row]);
		gint64 moved_ns = clock_map_apply(map, start_ns);

		if (i > 0)
			moved_ns = start_ns == before_ns
					   ? after_ns
					   : MAX(moved_ns, clock_map_add(after_ns, 1));
		before_ns = start_ns;
		after_ns = moved_ns;
		slices->start_ns[row] = moved_ns;
		slices->duration_ns[row] = MAX(end_ns, moved_ns) - moved_ns;
		widen_parents(slices, row);
	}
	track->first_ns = clock_map_apply(map, track->first_ns);
	track->last_ns = clock_map_apply(map, track->last_ns);
}

/* An event stays within its slice, and behind the one before it on its track. */
static void move_memory(const struct move *move)
{
	const TachoTimeline *timeline = move->timeline;
	const TachoMemoryEvent *before = NULL;

	FOR_EACH(TachoMemoryEvent, event, timeline->memory) {
		event->time_ns = clock_map_apply(map_of_track(move, event->track), event->time_ns);
		if (event->slice != TACHO_NONE)
			event->time_ns =
				CLAMP(event->time_ns, timeline->slices.start_ns[event->slice],
				      tacho_slice_end_ns(timeline, event->slice));
		if (before && before->track == event->track)
			event->time_ns = MAX(event->time_ns, before->time_ns);
		before = event;
	}
}

static void move_moments(const struct move *move)
{
	TachoTimeline *timeline = move->timeline;

	FOR_EACH(TachoSample, sample, timeline->samples)
		sample->time_ns =
			clock_map_apply(map_of_track(move, sample->track), sample->time_ns);
	FOR_EACH(TachoMark, mark, timeline->marks)
		mark->time_ns = clock_map_apply(map_of_track(move, mark->track), mark->time_ns);
}

static void move_processes(const struct move *move)
{
	TachoTimeline *timeline = move->timeline;

	timeline->duration_ns = 0;
	FOR_EACH(TachoProcess, process, timeline->processes) {
		const struct clock_map *map = &move->maps[process->clock];

		process->start_ns = clock_map_apply(map, process->start_ns);
		process->whole_from_ns = clock_map_apply(map, process->whole_from_ns);
		process->end_ns = clock_map_apply(map, process->end_ns);
		timeline->duration_ns = MAX(timeline->duration_ns, process->end_ns);
	}
}

/* The first sign of life of any process, as the maps have it. */
static gint64 find_first(const TachoTimeline *timeline, const struct clock_map *maps)
{
	gint64 first_ns = TACHO_MAX_TIME_NS;

	FOR_EACH(const TachoProcess, process, timeline->processes)
		first_ns = MIN(first_ns, clock_map_apply(&maps[process->clock], process->start_ns));
	return timeline->processes->len ? first_ns : 0;
}

gint64 timeline_move(TachoTimeline *timeline, const struct clock_map *maps)
{
	g_autofree struct clock_map *shifted = g_new0(struct clock_map, timeline->clocks->len + 1);
	struct move move = { .timeline = timeline, .maps = shifted };
	gint64 first_ns = MAX(find_first(timeline, shifted), 0);
	gint64 origin_ns = clock_map_add(find_first(timeline, maps), -first_ns);

	for (guint i = 0; i < timeline->clocks->len; i++) {
		shifted[i] = maps[i];
		shifted[i].shift_ns = clock_map_add(maps[i].shift_ns, -origin_ns);
	}
	timeline->origin_unix_ns = clock_map_add(timeline->origin_unix_ns, origin_ns);
	worker_pool_run(timeline->tracks->len, move_track, &move);
	move_memory(&move);
	move_moments(&move);
	move_processes(&move);
	return origin_ns;
}
