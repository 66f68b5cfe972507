/* unseen: what a recording could not see, told in one line at its end: what the probes have noted in the run's file
 * `unseen` (docs/trace-format.md), and processes that the agent did not come into. */
#ifndef TACHO_UNSEEN_H
#define TACHO_UNSEEN_H

#include <glib.h>

typedef struct _UnseenWatch UnseenWatch;

/* Look from time to time at the processes below this one, in a thread of its own, and note those without the agent in the run at `path`:
 * those that live for a second or so. `own` (0: none) is no part of the job. NULL: there is no thread for it. */
UnseenWatch *unseen_watch_start(const gchar *path, gint64 own);
/* Takes NULL. */
void unseen_watch_stop(UnseenWatch *watch);

/* Note that `program`, which `why` ("is statically linked"), is not recorded in the run at `path`, as process `pid`. */
void unseen_note_process(const gchar *path, gint64 pid, const gchar *program, const gchar *why);

typedef struct {
	gchar *what, *why;
	guint n_processes; /* of which it was noted */
} Unseen;

/* What was noted in the run at `path`, each thing once, in the order noted: Unseen. To be freed with g_array_unref(). */
GArray *unseen_read(const gchar *path);

/* "Python stacks (2 processes), process train (is statically linked)"; NULL: everything was seen. */
gchar *unseen_summary(const gchar *path);

#endif
