/* track_book: the processes, tracks and slices of one file, by the ids that the file gives them.
 *
 * For importers that read one event after the other: they name a process by its pid, a thread by its
 * tid, a queue by device and number, and each exists from the first event on that needs it.
 *
 * (1) What a device did is tied to the call with the same correlation id, in the same process, at the
 *     end: in which order a file tells of the two does not matter.
 * (2) Times are as the file has them, in nanoseconds, until track_book_finish() mends those that cannot
 *     be and adds the file's base to all. An importer keeps no time of its own across that.
 * (3) What cannot be used is counted with the place of the first, and told as one problem a kind.
 * (4) Numbers that a file gives threads and queues are 64 bits wide; of the timeline's 32 bits remain, and
 *     a name tells the rest. */
#ifndef TACHO_TRACK_BOOK_H
#define TACHO_TRACK_BOOK_H

#include "import/import_format.h"
#include "import/launch_ranks.h"

typedef struct track_book track_book;

/* For the file at `path`. */
struct track_book *track_book_new(struct import *import, const gchar *path);
/* Mend the times and add `base_ns`, make the launches, tell the problems. Nothing is added after it. */
void track_book_finish(struct track_book *book, gint64 base_ns);
void track_book_free(struct track_book *book);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(track_book, track_book_free)

TachoTimeline *track_book_timeline(const struct track_book *book);
const gchar *track_book_borrow_path(const struct track_book *book);

/* The host of all processes, from now on and before. */
void track_book_set_host(struct track_book *book, const gchar *host);
/* The process `pid`; the first time it is made, without a rank. `space` tells processes of one pid apart
 * (files of several machines), and is else 0. */
guint32 track_book_process(struct track_book *book, gint64 space, gint64 pid);
TachoProcess *track_book_borrow_process(struct track_book *book, guint32 process);
/* Whether it has done something already, and its row. */
gboolean track_book_has_process(const struct track_book *book, gint64 space, gint64 pid,
				guint32 *ret_process);
/* Give all processes what a launcher said. */
void track_book_set_ranks(struct track_book *book, const struct launch_ranks *ranks);

/* Tracks of a process. Names may be NULL where they are not known (yet): it can be given later. */
guint32 track_book_thread(struct track_book *book, guint32 process, gint64 tid);
gboolean track_book_has_thread(const struct track_book *book, guint32 process, gint64 tid,
			       guint32 *ret_track);
guint32 track_book_stream(struct track_book *book, guint32 process, gint64 device, gint64 queue);
/* A track whose slices may overlap, that belongs to no thread (tid -1) or beside one. */
guint32 track_book_aside(struct track_book *book, guint32 process, gint64 tid, const gchar *name);
guint32 track_book_counter(struct track_book *book, guint32 process, const gchar *name);
void track_book_name_track(struct track_book *book, guint32 track, const gchar *name);

struct book_slice {
	TachoSliceKind kind;
	guint32 track;
	guint32 name; /* string id */
	gint64 start_ns, end_ns;
	gint64 correlation; /* (1); 0 or less: none */
	guint64 source;	    /* a handle; 0: nothing more is known */
	guint8 flags;	    /* OPEN: it lasts to the end of the file's last event */
};

/* Add it; a RUNTIME slice is what others may be launched by. Returns its row, TACHO_NONE where there is
 * no memory or room for more. */
guint32 track_book_add(struct track_book *book, const struct book_slice *slice);
/* Give the slice in `row`, one that was added OPEN, its end. */
void track_book_end(struct track_book *book, guint32 row, gint64 end_ns);
void track_book_add_sample(struct track_book *book, guint32 track, gint64 time_ns, gdouble value);
void track_book_add_mark(struct track_book *book, guint32 track, gint64 time_ns, const gchar *name,
			 const gchar *text, gint64 first, gint64 second);
void track_book_add_memory(struct track_book *book, const TachoMemoryEvent *event);
/* The call with that correlation id in the process, known so far: a row, or TACHO_NONE. */
guint32 track_book_find_call(const struct track_book *book, guint32 process, gint64 correlation,
			     gint64 time_ns);

/* (3): an event without what it must have; one of a kind that nothing here knows. `where` as in printf, what
 * follows the file's path and ": ". */
void track_book_count_broken(struct track_book *book, const gchar *where, ...) G_GNUC_PRINTF(2, 3);
void track_book_count_unknown(struct track_book *book, const gchar *where, ...) G_GNUC_PRINTF(2, 3);
/* A row of a database's table that is broken; a table of which no more than `n` rows can be read. */
void track_book_count_broken_row(struct track_book *book, const gchar *table, gint64 row,
				 const gchar *what);
void track_book_count_broken_table(struct track_book *book, const gchar *table, gint64 n,
				   const gchar *why);

/* COLLECTIVE for the kernels of NCCL and RCCL, else KERNEL. */
TachoSliceKind track_book_kernel_kind(const gchar *name);
/* A range of the user's that began on `track`: where its name is that of a training step ("step 12",
 * "iteration_3"), the step is marked. If one process has several sorts of steps (steps in epochs, say), the sort
 * that comes first counts. */
void track_book_note_range(struct track_book *book, guint32 track, const gchar *name,
			   gint64 start_ns);

#endif
