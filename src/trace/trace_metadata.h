/* trace_metadata: what the text file `metadata` of a process's trace says: who the process was, its
 * clock, and its classes. docs/trace-format.md has the grammar, which is a narrow, line by line
 * form of CTF's TSDL.
 *
 * (1) The file may still grow: a last line without its end is not there yet.
 * (2) A class line that cannot be read costs that class; anything else that is wrong, the trace. */
#ifndef TACHO_TRACE_METADATA_H
#define TACHO_TRACE_METADATA_H

#include <glib.h>

#include "trace/trace_clock.h"

struct tacho_string_table;

#define TRACE_CLASS_UNDECLARED	  0xff
#define TRACE_CLASS_OF_LATER_KIND 0xfe
#define TRACE_MAX_CLASS_ID	  ((1u << 20) - 1)

struct trace_class {
	guint32 name; /* string id */
	guint8 kind;  /* enum trace_kind, or one of the two above */
};

struct trace_metadata {
	guint64 format; /* 0: not said */
	guint8 uuid[16];
	guint64 pid, ppid;
	gint64 rank, local_rank, world_size;
	guint64 start_mono_ns;
	guint64 age_ns;		   /* how long the process had been there then; 0: not told */
	gint64 monotonic_ahead_ns; /* set by its time namespace */
	guint32 host, boot_id, job, command, clock_source; /* string ids */
	guint32 whole_ranks;				   /* string id: rank_list.h; "": all */
	guint64 frequency_hz, offset_s, offset_ticks;
	struct trace_clock clock;
	guint64 least_ticks;	     /* the process was not there before; set by process_reader.c */
	struct trace_class *classes; /* by id */
	guint32 n_classes;	     /* largest id + 1 */
	guint64 n_bad_lines;	     /* class lines that could not be read ... */
	gsize first_bad_line;	     /* ... and the byte offset of the first */
	gsize size_bytes;	     /* of the file, when it was read */
};

/* Read the file at `path`; names go into `strings`. False, with an error that names the file and a
 * byte offset in it, where it cannot be used. Release `metadata` in either case. */
gboolean trace_metadata_read(struct trace_metadata *metadata, const gchar *path,
			     struct tacho_string_table *strings, GError **error);
/* Whether the file at `path`, which only grows, says what it did when `metadata` was read. */
gboolean trace_metadata_is_current(const struct trace_metadata *metadata, const gchar *path);
/* The copy is to be released, too. */
void trace_metadata_copy(struct trace_metadata *copy, const struct trace_metadata *metadata);
void trace_metadata_release(struct trace_metadata *metadata);

#endif
