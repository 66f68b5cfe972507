/* worker_pool: do many independent things on all cores.
 *
 * Threads are pthread's, not GLib's: ThreadSanitizer knows pthread, and Debian's GLib is not
 * instrumented. */
#ifndef TACHO_WORKER_POOL_H
#define TACHO_WORKER_POOL_H

#include <glib.h>

typedef void (*WorkerTask)(guint index, gpointer data);

/* Call task(i, data) once for every i below `n_tasks`, on as many threads as there are cores for
 * this process, and return when all are done. Tasks are begun in order: put the longest first.
 * Where no thread can be started, the caller does the work itself. */
void worker_pool_run(guint n_tasks, WorkerTask task, gpointer data);

/* How many threads that are: at least 1. */
guint worker_pool_n_workers(void);

#endif
