/* restored_run: the timeline that a run image (trace/run_image.h) in an export of tacho's holds, as it was when it went out:
 * correlated, with all that was found out.
 *
 * (1) Times, order and nesting hold what timeline.h promises, whatever the image says: an image that does not is refused.
 * (2) What no later stage checks of what correlate makes is checked here: ranks in order, messages by slice, members and
 *     gradients shared out, clocks that lead to one that is its own reference. */
#ifndef TACHO_RESTORED_RUN_H
#define TACHO_RESTORED_RUN_H

#include "import/import_format.h"

typedef struct _RestoredRun RestoredRun;

/* The export at `path`, which each process is then said to come from. */
RestoredRun *restored_run_new(const gchar *path);
void restored_run_free(RestoredRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RestoredRun, restored_run_free)

/* Read the next block of the image. IMAGE_READER_ERROR, here and below. */
gboolean restored_run_block(RestoredRun *run, const guint8 *block, gsize n_bytes, GError **error);
/* The timeline; NULL: the image was not whole, or not right. */
TachoTimeline *restored_run_finish(RestoredRun *run, GError **error);

/* Let the import have the timeline, which is taken over: as its result, where there is nothing else to be read, else as one
 * of several, of which correlate has to find out again what belongs together. False: there is no room for it. */
gboolean restored_run_import(struct import *import, TachoTimeline *timeline, GError **error);

#endif
