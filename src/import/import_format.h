/* import_format: what a format of other tools is to the importer, and what an importer gets to work with.
 *
 * To add a format: a line in formats.def, and <family>/<name>_import.c with `const struct
 * import_format import_<name>`. An importer
 *
 * (1) adds its processes with import_add_process(), then tracks, slices, samples, memory events, marks and
 *     flows to `import->timeline` as timeline.h says, in any order; import.c finishes the timeline, makes
 *     the ranks and takes the origin off all times. It may add slices in the columns directly.
 * (2) gives times in nanoseconds since 1970, or in a clock of its own where the trace does not know
 *     better: import.c takes the earliest time of all for the origin.
 * (3) names rows, in flows and tacho_timeline_set_launch(), as tacho_timeline_add_slice() returned them;
 *     import.c follows them to where sorting puts them.
 * (4) never drops what it does not understand: an unknown event is a slice of kind EVENT, or counted in a
 *     problem "unknown_record"; fields beyond the columns are read by a foreign_reader (trace/source.h).
 * (5) is not stopped by what is broken: what came before stays, a problem says file and byte offset. */
#ifndef TACHO_IMPORT_FORMAT_H
#define TACHO_IMPORT_FORMAT_H

#include <tacho/import.h>
#include <tacho/timeline.h>

#include "import/read/sniff_input.h"

struct import {
	TachoTimeline *timeline;
	TachoImportProgress progress; /* may be NULL */
	gpointer progress_data;
	/* struct function_id (function_ids.h), for execution traces; NULL: nobody will ask. */
	GArray *functions;
	gboolean is_alone; /* nothing but the one trace at work will be read */
	gboolean is_added; /* it lies in a run of ours, whose launcher knows the ranks better */
	TachoTimeline
		*restored; /* that it was an export of (restored_run.h); NULL: `timeline` it is */
	/* For import.c: */
	GArray *files; /* guint: of each process, the number of the file it came from */
	guint n_files; /* given out so far */
	guint n_done, n_paths;
};

struct import_format {
	const gchar *name;  /* "kineto" */
	const gchar *title; /* what it is, for people: "PyTorch profiler trace (Kineto)" */
	const gchar *files; /* how such files are called: "*.pt.trace.json" */
	/* Whether this is one. Folders are offered first; those that nobody wants are looked into. */
	gboolean (*sniff)(const struct sniff_input *input);
	/* Whether it is an export of our own in this format, which all formats are asked before any sniffs: the names in it
	 * may look like those of any other. NULL: sniffing tells. */
	gboolean (*is_export)(const struct sniff_input *input);
	/* Whether a file beside the one that it wants has the same, and better. Then this one is not read, unless the
	 * user named it. NULL: none ever has. */
	gboolean (*is_redundant)(const struct sniff_input *input);
	/* Read the trace at `path`, for formats whose files are read each by itself, as import_each_path() does; `data` is
	 * the format's. */
	gboolean (*read_file)(struct import *import, const gchar *path, gpointer data,
			      GError **error);
	gconstpointer data;
	/* For others: read the traces at `paths`, in the order of their names. An error: nothing of any of them could
	 * be read. */
	gboolean (*read)(struct import *import, const gchar *const *paths, guint n_paths,
			 GError **error);
};

#define IMPORT_FORMAT(name) extern const struct import_format import_##name;
#include "import/formats.def"
#undef IMPORT_FORMAT

/* A number for the file that processes came from: those of one file belong together. */
guint import_new_file(struct import *import);
/* A process of file number `file`, as in timeline.h: its rank may be -1, its strings are the timeline's,
 * `path` is copied. end_ns 0 and start_ns 0 are filled in from its tracks. Returns its row. */
guint32 import_add_process(struct import *import, const TachoProcess *process, guint file);
/* A track of a process, with all else zero. Returns its row. */
guint32 import_add_track(struct import *import, TachoTrackKind kind, guint32 process, guint32 tid,
			 const gchar *name);

/* For importers that read one file after the other: the file at work is number `n_done` of `n_paths`, and has
 * been read as far as `done`, 0 to 1. */
void import_begin_path(struct import *import, guint n_done, guint n_paths);
void import_tell_progress(const struct import *import, gdouble done);
/* The earliest time of what was read so far, for traces that have none of their own; 0: nothing was. */
gint64 import_base_time(const struct import *import);

/* Read the files one after the other with `read`, progress told. One that fails becomes a problem
 * "unreadable_file"; the error is for when all do, and is that of the first. No memory
 * (TACHO_IMPORT_ERROR_MEMORY) is an error at once. `data` is handed on. */
gboolean import_each_path(struct import *import, const gchar *const *paths, guint n_paths,
			  gboolean (*read)(struct import *import, const gchar *path, gpointer data,
					   GError **error),
			  gpointer data, GError **error);

/* The rank that a file's name tells ("rank-3.json", "rank_12.pt.trace.json.gz", "trace_rank0.et"), or -1. */
gint32 import_rank_of_name(const gchar *path);

/* A timeline of what `read` reads: for tests of what comes from no file. */
TachoTimeline *import_by(gboolean (*read)(struct import *import, gpointer data, GError **error),
			 gpointer data, GError **error);

/* Whether the folder is a CTF trace, whoever wrote it: it has CTF's metadata. */
gboolean ctf_is_trace(const gchar *folder);

#endif
