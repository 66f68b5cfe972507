/* process_reader: the trace of one process: its stream files found and checked, then read as rows.
 *
 * (1) The files are looked at before the metadata is read, so that every class they use is in it.
 * (2) A file that is wrong is left out and becomes a problem; a trace without usable metadata is an
 *     error.
 * (3) How much of a file counts is settled when it is opened; what is written later is not read. */
#ifndef TACHO_PROCESS_READER_H
#define TACHO_PROCESS_READER_H

#include <tacho/timeline.h>

#include "trace/stream_reader.h"
#include "trace/trace_metadata.h"

/* A slice of a thread whose other records another process has read (run_share.h). */
struct lent_slice {
	gint64 start_ns, duration_ns;
	guint64 source;
	guint32 name, parent;
	guint32 kind;
	guint16 flags, depth;
};

struct stream_input {
	guint32 number, tid;
	GArray *files; /* struct stream_file_place, by index */
	guint64 n_dropped;
	guint64 n_bytes;
	struct stream_count count; /* what there is room for in the timeline */
	struct stream_rows rows;
	/* Where the rows go in the timeline; TACHO_NONE: there is no such track. */
	guint32 track, queued_track;
	guint32 first_row, first_queued_row, first_memory;
	/* Where several processes make one report, guint32: rows of the slices that all have; NULL: it is another's. */
	GArray *kept, *kept_queued;
	/* struct lent_slice: of another's stream, until they have their place in the timeline; NULL: it is this process's. */
	GArray *lent, *lent_queued;
	gboolean has_more, has_more_queued; /* its owner has slices, or memory events */
};

struct process_input {
	gchar *path;
	guint run;	       /* index into the runs, see run_paths.h */
	guint clock;	       /* see clock_table.h */
	guint owner;	       /* of tacho's processes, the one that reads its streams */
	gboolean is_elsewhere; /* that is another one than this */
	struct trace_metadata metadata;
	GArray *streams;  /* struct stream_input, by number */
	gboolean is_part; /* not all of its files are read */
};

/* What of a trace is read where it is not all of it. */
struct process_window {
	GHashTable *parts; /* name of a file -> struct file_part */
	const struct trace_metadata
		*metadata; /* as it was read before, with the strings of the timeline */
};

/* Open the trace at `path`, of it only what is in `window` where that is not NULL, whose files outlive the timeline: its files go
 * into the timeline's source, their names, by the source's index, into `file_paths`, and what is wrong with them into the
 * timeline's problems. */
gboolean process_input_open(struct process_input *input, const gchar *path,
			    const struct process_window *window, TachoTimeline *timeline,
			    GPtrArray *file_paths, GError **error);
void process_input_release(struct process_input *input);

static inline struct stream_input *process_input_stream(const struct process_input *input, guint i)
{
	return &g_array_index(input->streams, struct stream_input, i);
}

#endif
