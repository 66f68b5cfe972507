/* run_notes: what a run tells beyond its timeline, for who lays other traces beside it (import/mixed_run.h). */
#ifndef TACHO_RUN_NOTES_H
#define TACHO_RUN_NOTES_H

#include <tacho/timeline.h>

/* The system's clocks as a process read them at a time of the timeline. */
struct clock_reading {
	gint64 time_ns;
	gint64 mono_ns, unix_ns; /* CLOCK_MONOTONIC of its time namespace, CLOCK_REALTIME */
	guint32 process;
};

/* What pthread_self() was in the thread of a track. */
struct thread_handle {
	guint32 track;
	guint64 handle;
};

struct run_notes {
	GArray *readings; /* struct clock_reading, by process and time */
	GArray *threads;  /* struct thread_handle, by track */
	GArray *runs;	  /* guint: by process, which of the runs it is of */
	GPtrArray *paths; /* by run: its path */
};

typedef struct run_notes RunNotes;

static inline void run_notes_init(struct run_notes *notes)
{
	notes->readings = g_array_new(FALSE, FALSE, sizeof(struct clock_reading));
	notes->threads = g_array_new(FALSE, FALSE, sizeof(struct thread_handle));
	notes->runs = g_array_new(FALSE, FALSE, sizeof(guint));
	notes->paths = g_ptr_array_new_with_free_func(g_free);
}

static inline void run_notes_release(struct run_notes *notes)
{
	g_clear_pointer(&notes->readings, g_array_unref);
	g_clear_pointer(&notes->threads, g_array_unref);
	g_clear_pointer(&notes->runs, g_array_unref);
	g_clear_pointer(&notes->paths, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RunNotes, run_notes_release)

#endif
