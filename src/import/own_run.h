/* own_run: whether a folder is a run that `tacho record` wrote, or the trace of one process of such a run. */
#ifndef TACHO_OWN_RUN_H
#define TACHO_OWN_RUN_H

#include <glib.h>

/* Whether a folder that the user named is a run. One that is broken is a run, too, so that the reader of runs says what
 * is wrong with it. */
gboolean own_run_is(const gchar *path);
/* Whether a folder found by searching is a run: its contents say that tacho wrote it. */
gboolean own_run_is_certain(const gchar *path);
/* The same, told by its run.ini alone: neither by the traces in it nor by being one. */
gboolean own_run_has_facts(const gchar *path);

#endif
