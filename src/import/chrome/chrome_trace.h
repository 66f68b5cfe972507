/* chrome_trace: a Chrome trace as part of the timeline: for formats that are Chrome traces with meanings of their own.
 *
 *     file --chrome_events--> rows, names, flows --judge--> slices on tracks
 *
 * The whole file is read before anything is judged, since names of processes and threads, which tell what their
 * slices are, may stand behind them.
 *
 * (1) A pid is a process, a pid and tid are a thread; a dialect may say that slices of a thread stand on a device's
 *     queue, or may overlap.
 * (2) A thread whose slices overlap without being nested, more than now and then, is none: its slices stand aside.
 * (3) Samples, marks, objects and flows need no dialect; docs/formats.md, chrome, says what becomes of them. */
#ifndef TACHO_CHROME_TRACE_H
#define TACHO_CHROME_TRACE_H

#include "base/row_buffer.h"
#include "import/chrome/chrome_events.h"

struct chrome_row {
	gint64 start_ns, duration_ns; /* as the file has them; a duration < 0: none */
	guint64 args_offset;	      /* 0: none */
	guint32 name, category;	      /* string ids */
	guint32 thread;		      /* of chrome_trace.threads */
	guint8 phase;		      /* 'X', 'B', 'b' (or 'S'), 'N' */
	gboolean is_open;	      /* ended with the file */
	guint32 slice;		      /* of the timeline, once it is there */
};

struct chrome_thread {
	gint64 pid, tid;
	guint32 process; /* of chrome_trace.processes */
	guint32 name;	 /* string id, 0: not told */
	/* For chrome_trace: tracks by chrome_place, TACHO_NONE: not made. */
	guint32 tracks[3];
};

struct chrome_process {
	gint64 pid;
	guint32 name;	 /* string id, 0: not told */
	guint32 process; /* of the timeline, TACHO_NONE: not made */
};

struct chrome_trace {
	struct import *import;
	TachoTimeline *timeline;
	const struct chrome_dialect *dialect;
	gconstpointer context; /* as given to chrome_trace_read() */
	gpointer data;	       /* the dialect's */
	struct chrome_file file;
	struct row_buffer rows; /* struct chrome_row, in the order of the file's begins */
	GArray *threads;	/* struct chrome_thread */
	GArray *processes;	/* struct chrome_process */
	guint64 n_unknown;
	guint32 host;	      /* string id */
	guint32 only_process; /* of the timeline, that all pids are; TACHO_NONE: each is one */
	gint32 rank;	      /* as file or name say; -1: neither does */
	gint64 base_ns;	      /* added to all times */
	/* For chrome_trace: */
	struct row_buffer moments;
	struct chrome_arrows *arrows;
	GHashTable *thread_index, *process_index;
	guint number;
	guint32 foreign, aside;
	gboolean is_out_of_memory;
};

enum chrome_place {
	CHROME_ON_THREAD, /* (2) */
	CHROME_ON_STREAM,
	CHROME_ASIDE,
	CHROME_NOWHERE, /* no slice is made of it: its row's `slice` stays TACHO_NONE */
};

/* What a slice becomes. */
struct chrome_verdict {
	TachoSliceKind kind;
	enum chrome_place place;
	gint32 device; /* ON_STREAM: number of the device */
	gint64 stream; /* ON_STREAM: of the queue; as the tid, if that is a number */
	guint8 flags;
};

struct chrome_dialect {
	/* Told before and after all others: to make and free `trace->data`. May be NULL. */
	void (*begin)(struct chrome_trace *trace);
	void (*end)(struct chrome_trace *trace);
	/* Told each event before anything is made of it; TRUE: nothing more shall be. May be NULL. */
	gboolean (*take)(struct chrome_trace *trace, struct chrome_event *event);
	/* Told when the file has been read and nothing is in the timeline yet: base_ns, rank, host and
	 * only_process may be set. May be NULL. */
	void (*settle)(struct chrome_trace *trace);
	/* What the slice is; `verdict` says EVENT on its thread, or aside where `phase` is not that of a thread. */
	void (*judge)(struct chrome_trace *trace, const struct chrome_row *row,
		      struct chrome_verdict *verdict);
	/* Told when all is in the timeline: flows may be added by the rows' `slice`. May be NULL. */
	void (*finish)(struct chrome_trace *trace);
};

/* Read the file at `path` into the timeline, as a rank of its own if the dialect does not say otherwise; `context`
 * is handed on to it. False: nothing of it can be read. */
gboolean chrome_trace_read(struct import *import, const gchar *path,
			   const struct chrome_dialect *dialect, gconstpointer context,
			   GError **error);
/* The same, for formats that are a dialect (struct import_format). */
gboolean chrome_trace_read_file(struct import *import, const gchar *path, gpointer dialect,
				GError **error);

/* For qsort() of pointers to rows: by thread and begin, of those that begin at once the longest first, as they
 * nest. */
gint chrome_rows_compare(gconstpointer first, gconstpointer second);

static inline struct chrome_row *chrome_trace_row(const struct chrome_trace *trace, gsize i)
{
	return (struct chrome_row *)trace->rows.rows + i;
}
static inline const struct chrome_thread *chrome_trace_thread(const struct chrome_trace *trace,
							      guint32 thread)
{
	return &g_array_index(trace->threads, struct chrome_thread, thread);
}
/* The name of the process of a thread, "" if not told. */
const gchar *chrome_trace_process_name(const struct chrome_trace *trace, guint32 thread);
/* The same as a string id. */
guint32 chrome_trace_process_name_id(const struct chrome_trace *trace, guint32 thread);
/* The thread of those ids, made where there is none. */
guint32 chrome_trace_find_thread(struct chrome_trace *trace, gint64 pid, gint64 tid);
/* The track of the timeline beside a thread, made where there is none: for marks. */
guint32 chrome_trace_aside(struct chrome_trace *trace, guint32 thread);
/* The timeline's process of a thread, made where there is none. */
guint32 chrome_trace_process(struct chrome_trace *trace, guint32 thread);

/* For sniff functions: whether the head is that of a Chrome trace in any of its forms. */
gboolean chrome_trace_sniff(const struct sniff_input *input);

#endif
