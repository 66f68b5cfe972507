/* kineto_reader: pieces of "traceEvents" become rows, by one thread, in numbers of its own.
 *
 * A reader has its own strings and tracks, so that readers need not wait for each other; kineto_import
 * gives them their final numbers. A row of a track is 48 bytes. */
#ifndef TACHO_KINETO_READER_H
#define TACHO_KINETO_READER_H

#include <tacho/timeline.h>

#include "base/row_buffer.h"
#include "import/read/json_elements.h"
#include "import/kineto/kineto_args.h"
#include "import/kineto/kineto_event.h"

/* What a row stands on, before it is known which processes there are. */
enum kineto_role {
	KINETO_ON_THREAD,
	KINETO_ON_STREAM,
	KINETO_ASIDE,	/* may overlap: spans of the profiler itself, categories nobody knows */
	KINETO_COUNTED, /* a counter: `tid` is the string id of its name */
};

/* A pid or tid that is a text is its string id with this bit. */
#define KINETO_TEXT_ID ((gint64)1 << 62)

struct kineto_track {
	gint64 pid, tid;
	guint32 file;
	enum kineto_role role;
	guint32 n_slices;
};

struct kineto_row {
	gint64 start_ns, duration_ns; /* as the file has them; a duration < 0: none */
	guint64 place;	  /* as in kineto_args.h; an extra's index counts from the piece's first */
	gint64 link;	  /* runtime, device: correlation; op: external id; -1: none */
	guint32 external; /* device: external id; 0: none */
	guint32 name, track;
	guint8 kind, flags; /* TachoSliceKind, TachoSliceFlags */
};

/* A name of a process or thread. */
struct kineto_label {
	gint64 pid, tid;
	guint32 text;
	enum { KINETO_PROCESS_NAME, KINETO_THREAD_NAME } kind;
};

/* The ranks of a process group, as a collective told them. */
struct kineto_group_ranks {
	guint32 file, name, ranks; /* string ids */
};

/* What became of one piece. */
struct kineto_rows {
	guint32 file, chunk;
	struct kineto_reader *reader; /* whose numbers these are */
	struct row_buffer slices;     /* struct kineto_row */
	struct row_buffer extras;     /* struct kineto_extra; `group` is a string id */
	struct row_buffer memory;     /* TachoMemoryEvent */
	struct row_buffer samples;    /* TachoSample */
	struct row_buffer marks;      /* TachoMark */
	struct row_buffer labels;     /* struct kineto_label */
	struct row_buffer
		functions; /* struct function_id; its slice counts from the piece's first */
	struct row_buffer graph_nodes; /* TachoGraphWork; its slice counts from the piece's first */
	struct row_buffer
		ranges; /* guint32 slices in which CUPTI counted, from the piece's first */
	gboolean is_out_of_memory;
	guint64 n_events, n_unknown, n_flows;
	struct json_elements elements;
	gboolean has_fraction;		/* times finer than a microsecond */
	gboolean is_whole;		/* for kineto_import: all of the piece has been read */
	gint64 first_ns;		/* the least time of a slice that is above 0 */
	guint32 first_row, first_extra; /* for kineto_import */
};

struct kineto_reader;

struct kineto_reader *kineto_reader_new(void);
/* Fill kineto_rows.functions, too. */
void kineto_reader_want_functions(struct kineto_reader *reader);
void kineto_reader_free(struct kineto_reader *reader);

/* Read the piece, of file number `file`, into zeroed `rows`, to be released. Returns how many of its bytes
 * have been read: all, or up to the array's end, or, if `is_careful`, up to an element that is not
 * complete. If not `is_careful`, it stops where something is broken or not complete. */
gsize kineto_reader_read(struct kineto_reader *reader, const struct json_chunk *chunk, guint32 file,
			 gboolean is_careful, struct kineto_rows *rows);
void kineto_rows_release(struct kineto_rows *rows);

/* The reader's own numbers. */
const struct kineto_track *kineto_reader_tracks(const struct kineto_reader *reader, guint *ret_n);
const GArray *kineto_reader_groups(const struct kineto_reader *reader); /* kineto_group_ranks */
guint32 kineto_reader_n_strings(const struct kineto_reader *reader);
const gchar *kineto_reader_string(const struct kineto_reader *reader, guint32 id);

#endif
