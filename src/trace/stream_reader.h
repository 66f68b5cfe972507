/* stream_reader: the records of one stream (one thread of one process) as rows.
 *
 * A stream's records come in the order in which they were begun, which is the order a timeline
 * wants: a stack of the slices that are open while the next record begins gives every slice its
 * parent in one pass, and no sorting.
 *
 * (1) Streams are read independently of each other, by as many threads as one likes; what needs
 *     the whole timeline (interning, problems) is left in `moments` and `faults` for later.
 * (2) A broken record ends the reading of its file; what was before it is kept, and the stream's
 *     next file is read.
 * (3) Rows are relative: slice numbers count from the stream's own first. Slices of the thread that were told late
 *     are put into their places at the end.
 * (4) Slices are written once, where the timeline will have them. So that their place is known, the
 *     records are counted first, by their heads alone; reading judges more strictly and may find fewer
 *     slices, never more: what a file has gained in between is not read. */
#ifndef TACHO_STREAM_READER_H
#define TACHO_STREAM_READER_H

#include <tacho/timeline.h>

#include "base/row_buffer.h"
#include "trace/slice_columns.h"
#include "trace/trace_layout.h"

struct tacho_source;
struct trace_metadata;

/* What of a file is read, where not all of it is: some records by themselves, then a stretch that ends where a record does. */
struct file_part {
	guint64 from, to;
	guint64 end;			  /* before which it is read now; at most `to` */
	GArray *kept;			  /* guint64: offsets of records before `from`, ascending */
	const struct mapped_file *mapped; /* the file, which outlives who reads it */
};

/* One file, by its place in the source. */
struct stream_file_place {
	guint32 file;
	guint32 index;		      /* packet_header.index */
	const struct file_part *part; /* NULL: all of it */
};

/* An OUTPUTS record and the row it belongs to. */
struct stream_outputs {
	guint32 row;
	guint64 handle;
};

/* A record that is no slice and no memory event: MARK, THREAD, EXIT, COST, CLOCK. */
struct stream_moment {
	gint64 time_ns;
	guint64 handle;
	guint32 name; /* string id */
	guint8 kind;  /* enum trace_kind */
};

/* A STACK record. */
struct stream_stack {
	gint64 time_ns;
	gint64 before_ns; /* when the stack before it was last seen; time_ns: it was not */
	guint64 handle;
};

/* What a device did, or is called, and the values of counters: told by whichever thread came to know of it. */
struct stream_late {
	gint64 start_ns, duration_ns; /* when it was, not when it was told */
	guint64 handle;
	guint32 name; /* string id */
	guint8 kind;  /* enum trace_kind */
};

/* A FLOW or GRAPH_NODE record, which says something of the slice it is in. */
struct stream_flow {
	gint64 time_ns;
	guint64 handle;
	guint32 name; /* string id */
	guint32 row;  /* the slice it is in, or TACHO_NONE */
};

struct stream_fault {
	const gchar *reason; /* static: "is shorter than its kind" ... */
	guint32 file;
	guint64 offset;
};

/* Slices that a stream has at most. */
struct stream_count {
	guint64 n_slices;
	guint64 n_queued; /* on the ASYNC track */
	guint64 first_late; /* ticks: the earliest time of what was told late; G_MAXUINT64: nothing was */
};

struct stream_rows {
	TachoSlices slices;	   /* of the thread: a view; the column `track` is not filled */
	TachoSlices queued;	   /* of the ASYNC track beside it, likewise */
	struct row_buffer outputs; /* struct stream_outputs */
	struct row_buffer memory;  /* TachoMemoryEvent, `track` not filled */
	struct row_buffer moments; /* struct stream_moment */
	struct row_buffer stacks;  /* struct stream_stack */
	struct row_buffer late;	   /* struct stream_late */
	struct row_buffer flows;   /* struct stream_flow: FLOW */
	struct row_buffer nodes;   /* struct stream_flow: GRAPH_NODE */
	struct row_buffer faults;  /* struct stream_fault */
	struct row_buffer open;	   /* guint32: rows of slices still open, outermost first */
	struct row_buffer open_queued;
	gint64 first_ns, last_ns; /* of all records and ends of slices; n_records > 0 */
	guint64 n_records, n_by_kind[TRACE_N_KINDS];
	guint64 n_unknown; /* records of no known class */
	struct nest_count nest;
	guint64 n_impossible; /* slices whose end cannot be */
	/* What a device did, and values of counters, at times that cannot be: left out ... */
	guint64 n_late_impossible;
	/* ... and what ended after it was told, by more than clocks differ: its device's clock is ahead. */
	guint64 n_ahead;
	gint64 most_ahead_ns;
	gboolean is_out_of_memory;
};

/* Count the slices in `n_files` files of one stream, and have the files ready in memory. */
struct stream_count stream_reader_count(const struct tacho_source *source,
					const struct trace_metadata *metadata,
					const struct stream_file_place *files, guint n_files);
/* Read `n_files` files of one stream, in their order. Times become nanoseconds since
 * `origin_unix_ns`. Zeroed `rows`, but for the views of the slices, which have room for what was counted,
 * are filled; release them in any case. */
void stream_reader_read(struct stream_rows *rows, const struct tacho_source *source,
			const struct trace_metadata *metadata,
			const struct stream_file_place *files, guint n_files,
			gint64 origin_unix_ns);
void stream_rows_release(struct stream_rows *rows);

/* Stamp of the first record that is read of the file, if there is a whole header of one. */
gboolean stream_reader_first_stamp(const struct tacho_source *source,
				   const struct stream_file_place *place, guint64 *ret_stamp);

/* Once the end of the process is known: let the open slices last until then. */
void stream_rows_end_open(struct stream_rows *rows, gint64 end_ns);

#endif
