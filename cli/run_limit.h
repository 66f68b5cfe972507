/* run_limit: how much a run may take of its disk while it is recorded. A thread of `tacho record` looks at it twice
 * a second, and removes the oldest full files of its streams, so that the oldest steps go first.
 *
 * (1) A file is removed only when its stream has two later ones: the job's threads write the last two.
 * (2) What was in it is counted, as lost, in the run's file `losses`, at the end.
 * (3) The job has no part in it. A mapping outlives its file's name, so slices that are open in one may end.
 * (4) Where steps are to be kept, the run is followed as `tacho watch` does, and until there are so many steps nothing is old. */
#ifndef TACHO_RUN_LIMIT_H
#define TACHO_RUN_LIMIT_H

#include <glib.h>

typedef struct _RunLimit RunLimit;

/* What a run may take; 0: it does not matter. */
struct run_bounds {
	guint64 max_bytes;
	guint64 free_bytes; /* of its disk */
	/* Of the last nanoseconds or steps everything is kept, and of what is older nothing that need not stay. */
	guint64 keep_ns;
	guint keep_steps;
};

/* Keep the run at `path` within these bounds. */
RunLimit *run_limit_start(const gchar *path, const struct run_bounds *bounds);
/* The job has ended: once more, and what was removed is noted. NULL is fine. */
void run_limit_stop(RunLimit *limit);

#endif
