/* run_builder: run directories byte by byte, as the agent would have written them, for tests of the
 * reader and for every test that wants a run without a job.
 *
 *     struct run_builder *run = run_builder_new(folder, &(struct run_builder_process)
 *                                               { .pid = 33, .rank = 0 });
 *     guint32 add = run_builder_class(run, TRACE_KIND_OP, "aten::add");
 *     run_builder_stream(run, 10);
 *     run_builder_op(run, add, 100, 140, 3);
 *     run_builder_end(run);
 *
 * Stamps are ticks of the process's clock: nanoseconds unless frequency_hz says otherwise. */
#ifndef TACHO_RUN_BUILDER_H
#define TACHO_RUN_BUILDER_H

#include <tacho/timeline.h>

#include "trace/trace_layout.h"

struct run_builder_process {
	const gchar *host, *boot_id, *job, *command; /* NULL: "h0", "boot of HOST", "", "train" */
	guint32 pid, ppid;			     /* ppid 0: 1 */
	gint rank, world_size;			     /* 0 is rank 0; world_size 0: -1 */
	guint64 frequency_hz;			     /* 0: 10^9 */
	guint64 offset_s, offset_ticks;
	guint64 start_mono_ns;
	const gchar *clock_source; /* NULL: not told */
	gint64 monotonic_ahead_ns;
	guint format; /* 0: TRACE_FORMAT_VERSION */
};

struct run_builder;

/* Begin the trace of one process in `run_folder` (made if need be), in a folder HOST-PID. */
struct run_builder *run_builder_new(const gchar *run_folder,
				    const struct run_builder_process *process);
/* The trace's folder. */
const gchar *run_builder_path(const struct run_builder *run);
/* A new class, declared in the metadata. */
guint32 run_builder_class(struct run_builder *run, enum trace_kind kind, const gchar *name);
/* Text as it is, at the end of the metadata. */
void run_builder_metadata(struct run_builder *run, const gchar *text);
/* The following records are of a new stream, of thread `tid`; and: of that stream's next file. */
void run_builder_stream(struct run_builder *run, guint32 tid);
void run_builder_next_file(struct run_builder *run);
/* The file being written has lost `n` records. */
void run_builder_dropped(struct run_builder *run, guint64 n);

/* When the file being written was made, the two clocks showed this; else 0 and 0. */
void run_builder_pair(struct run_builder *run, guint64 ticks, guint64 mono_ns);

/* A record of `size_bytes`, zero behind its header; good until the next call. */
void *run_builder_record(struct run_builder *run, guint32 class_id, guint64 stamp,
			 guint32 size_bytes);
/* Whole records; `end` G_MAXUINT64: open. */
void run_builder_slice(struct run_builder *run, guint32 class_id, guint64 begin, guint64 end,
		       guint64 id);
struct record_op *run_builder_op(struct run_builder *run, guint32 class_id, guint64 begin,
				 guint64 end, gint64 sequence);
void run_builder_memory(struct run_builder *run, guint32 class_id, guint64 stamp, guint64 address,
			guint64 bytes);
void run_builder_mark(struct run_builder *run, guint32 class_id, guint64 stamp, gint64 first,
		      gint64 second, const gchar *text);

/* Write everything and free the builder. */
void run_builder_end(struct run_builder *run);

/* Write a finished timeline as a run: processes, threads, slices with their arguments, memory
 * events and marks; and a run.ini where a process was killed. Tracks other than THREAD and ASYNC
 * are left out. Opening the folder gives the same timeline. */
void run_builder_write_timeline(const TachoTimeline *timeline, const gchar *run_folder);

/* Remove a folder and all in it. */
void run_builder_remove(const gchar *folder);

#endif
