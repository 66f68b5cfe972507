/* own_run: whether a folder is a run that `tacho record` wrote, or the trace of one process of such a run. */
#ifndef TACHO_OWN_RUN_H
#define TACHO_OWN_RUN_H

#include <glib.h>

/* Of a folder that the user named: what looks like a run but is broken is one, for the reader of runs to say what
 * is wrong with it. */
gboolean own_run_is(const gchar *path);
/* Of a folder that was come across: what is in it says that tacho wrote it. */
gboolean own_run_is_certain(const gchar *path);
/* The same, told by its run.ini alone: neither by the traces in it nor by being one. */
gboolean own_run_has_facts(const gchar *path);

#endif
