/* viewer_ids: the process and thread numbers that a viewer is given. Viewers tell rows apart by them
 * alone, but a run has processes of several hosts, which may have the same pid, and tracks that are
 * no thread. */
#ifndef TACHO_VIEWER_IDS_H
#define TACHO_VIEWER_IDS_H

#include <tacho/timeline.h>

struct viewer_ids {
	gint32 *pids; /* by process */
	gint32 *tids; /* by track; 0: not a thread */
	gint32 next;  /* number that no process or thread has */
};

void viewer_ids_init(struct viewer_ids *ids, const TachoTimeline *timeline);
void viewer_ids_release(struct viewer_ids *ids);
/* A number for a row that is neither a process nor a thread of the run. */
gint32 viewer_ids_new(struct viewer_ids *ids);

/* "rank 0 (node7, pid 4711)"; to be freed with g_free(). */
gchar *viewer_process_name(const TachoTimeline *timeline, guint32 process);
/* Where the process stands among all: main processes by rank, each followed by its workers. */
gint32 viewer_process_order(const TachoTimeline *timeline, guint32 process);
/* "python3", "pt_main_thread", "thread 4712"; to be freed with g_free(). */
gchar *viewer_track_name(const TachoTimeline *timeline, guint32 track);
/* How the process ended, when that is worth a word: "killed by signal 9"; else NULL. */
gchar *viewer_process_end(const TachoTimeline *timeline, guint32 process);

#endif
