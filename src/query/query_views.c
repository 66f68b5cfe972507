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
	/* as src/trace/kernel_event.h names them */
	{ "kernel_event", "what the operating system's kernel did with threads",
	  "SELECT slice.id, slice.ts, slice.dur, slice.track_id, slice.name, slice.arg_set_id,\n"
	  "    slice.rank, slice.step, track.utid, track.upid,\n"
	  "    CASE WHEN slice.name LIKE 'preempted%' THEN 'preempted'\n"
	  "      WHEN slice.name LIKE 'run queue%' THEN 'run queue'\n"
	  "      WHEN slice.name LIKE 'blocked%' THEN 'blocked'\n"
	  "      WHEN slice.name LIKE 'memory reclaim%' THEN 'reclaim'\n"
	  "      WHEN slice.name LIKE 'block %' THEN 'block I/O'\n"
	  "      WHEN slice.name LIKE 'retransmit%' THEN 'retransmit'\n"
	  "      ELSE 'page fault' END AS kind\n"
	  "  FROM slice JOIN track ON track.id = slice.track_id\n"
	  "  WHERE track.type = 'process_track' AND track.name LIKE 'kernel, %'" },
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
