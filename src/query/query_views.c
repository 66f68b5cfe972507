#include "query/query_views.h"

static const struct query_view views[] = {
	{ "thread_track", "tracks of threads",
	  "SELECT id, name, type, parent_id, upid, utid, rank, host, stream\n"
	  "  FROM track WHERE type = 'thread_track'" },
	{ "gpu_track", "tracks of device queues",
	  "SELECT id, name, type, parent_id, upid, rank, host, device, stream\n"
	  "  FROM track WHERE type = 'gpu_track'" },
	{ "process_track", "tracks of work that one thread queues and another ends: collectives",
	  "SELECT id, name, type, parent_id, upid, utid, rank, host\n"
	  "  FROM track WHERE type = 'process_track'" },
	{ "counter_track", "counters",
	  "SELECT id, name, type, parent_id, upid, rank, host\n"
	  "  FROM track WHERE type = 'counter_track'" },
	{ "thread_slice", "slices on threads, with their thread and process",
	  "SELECT slice.id, slice.ts, slice.dur, slice.track_id, slice.category, slice.name,\n"
	  "    slice.depth, slice.parent_id, slice.arg_set_id, slice.rank, slice.step,\n"
	  "    thread.utid, thread.tid, thread.name AS thread_name,\n"
	  "    process.upid, process.pid, process.name AS process_name\n"
	  "  FROM slice JOIN thread USING (track_id) JOIN process USING (upid)" },
};

const struct query_view *query_views(guint *ret_n)
{
	*ret_n = G_N_ELEMENTS(views);
	return views;
}
