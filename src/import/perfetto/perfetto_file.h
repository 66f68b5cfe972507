/* perfetto_file: a Perfetto trace while it is read, and what the files of its importer share.
 *
 *     perfetto_import.c    a file, both times
 *     perfetto_packets.c   packets, and what their sequence says of them
 *     perfetto_tracks.c    descriptors, and the tracks of the timeline that they become
 *     perfetto_events.c    events of tracks, and arrows
 *     perfetto_ftrace.c    the kernel's: who had which core
 *     perfetto_gpu.c       stages and counters of GPUs
 *
 * (1) A begin and its end are of one track and one sequence, in the order of the file: a writer keeps it, while
 *     different writers' packets lie in the file as their buffers were written out.
 * (2) A track is a thread where its descriptor says so; a device's queue where kernels and copies are on it; a thread
 *     where operations and calls are; else it belongs to its process. The first event on it decides.
 * (3) An arrow goes from one event with its number to the next one in time. One from a thread to a device's queue says
 *     what launched what is there.
 * (4) docs/formats.md says what becomes of each field. */
#ifndef TACHO_PERFETTO_FILE_H
#define TACHO_PERFETTO_FILE_H

#include "import/perfetto/perfetto_args.h"
#include "import/perfetto/perfetto_state.h"
#include "import/track_book.h"

enum { PERFETTO_TRACE_PACKET = 1 }; /* field of a Trace */

/* A TrackDescriptor. */
struct perfetto_described {
	guint64 parent;
	guint32 name, command; /* string ids */
	gint64 pid, tid;
	gint64 unit; /* of a counter: what values are multiplied with */
	gdouble total;
	gboolean is_process, is_thread, is_counter, is_sum; /* is_sum: values say what came since */
	guint32 track; /* of the timeline; TACHO_NONE: none yet */
};

struct perfetto_sequence {
	guint32 id;
	guint32 generation;
	gboolean is_known; /* names of its generation are complete */
	gboolean is_begun; /* a packet of it was seen */
	guint64 default_track;
	gint64 default_clock; /* 0: the trace's */
};

struct perfetto_arrow {
	guint64 id;
	guint32 row;
	gint64 time_ns;
};

struct perfetto_file {
	struct track_book *book;
	TachoTimeline *timeline;
	struct perfetto_args *args;
	struct perfetto_clocks clocks;
	GHashTable *described; /* uuid -> struct perfetto_described */
	GHashTable *sequences; /* id -> struct perfetto_sequence */
	GHashTable *open;      /* track and sequence -> GArray of rows */
	GHashTable *counters;  /* id of a GPU's counter -> name */
	GHashTable *running;   /* cpu -> struct core */
	GHashTable *threads;   /* tid -> struct perfetto_described, of the process tree */
	GArray *arrows;	       /* struct perfetto_arrow */
	guint64 n_lost, n_unmatched;
	gboolean is_first_pass;
	/* The packet at work: */
	guint64 offset;
	guint32 inner;
};

/* Tables by number: file->described and so on. */
static inline gpointer perfetto_find_id(GHashTable *table, guint64 id)
{
	return g_hash_table_lookup(table, &id);
}

static inline void perfetto_keep_id(GHashTable *table, guint64 id, gpointer value)
{
	g_hash_table_insert(table, g_memdup2(&id, sizeof(id)), value);
}

/* The bytes of a field as a string id. */
guint32 perfetto_intern(struct perfetto_file *file, const struct wire_field *field);
/* Add what a field holds, one number or several, packed, to an array of guint64. */
void perfetto_add_numbers(GArray *numbers, const struct wire_field *field);
/* Count what is broken in the packet at work. */
void perfetto_count_broken(struct perfetto_file *file, const gchar *what);

/* --- perfetto_packets.c --- */

/* Read a TracePacket; in the first pass what it says of tracks, in the second the rest. */
void perfetto_read_packet(struct perfetto_file *file, struct wire_cursor bytes);
/* Whether it may be a packet; `ret_is_sure` is set where it has what only packets have. */
gboolean perfetto_is_packet(struct wire_cursor packet, gboolean *ret_is_sure);

/* --- perfetto_tracks.c --- */

/* Keep a TrackDescriptor. */
void perfetto_read_descriptor(struct perfetto_file *file, struct wire_cursor descriptor);
/* Keep what a ProcessTree says of threads. */
void perfetto_read_process_tree(struct perfetto_file *file, struct wire_cursor tree);
/* The track that an event names; one that nobody described has no name. */
struct perfetto_described *perfetto_find_described(struct perfetto_file *file, guint64 uuid);
/* The timeline's process of a track: its own, or that of the next one above that has one. */
guint32 perfetto_process_of(struct perfetto_file *file, const struct perfetto_described *track);
/* The timeline's track for it, made when the first event, of that kind, is on it. */
guint32 perfetto_track_of(struct perfetto_file *file, struct perfetto_described *track,
			  TachoSliceKind kind);

/* --- perfetto_events.c --- */

void perfetto_read_track_event(struct perfetto_file *file, struct perfetto_sequence *sequence,
			       struct wire_cursor bytes, gint64 time_ns);
/* Once all are read: arrows become launches and flows. */
void perfetto_tie_arrows(struct perfetto_file *file);

/* --- perfetto_ftrace.c --- */

/* FtraceEventBundle: what happened on a core. */
void perfetto_read_ftrace(struct perfetto_file *file, struct wire_cursor bundle);
/* Who is still on a core when the trace ends. */
void perfetto_end_cores(struct perfetto_file *file);

/* --- perfetto_gpu.c --- */

/* GpuRenderStageEvent: what ran on a GPU's queue. */
void perfetto_read_gpu_stage(struct perfetto_file *file, const struct perfetto_sequence *sequence,
			     struct wire_cursor bytes, gint64 time_ns);
/* GpuCounterEvent. */
void perfetto_read_gpu_counters(struct perfetto_file *file, struct wire_cursor event,
				gint64 time_ns);

#endif
