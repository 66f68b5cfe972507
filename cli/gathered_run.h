/* gathered_run: a folder with the parts of a run that was recorded on several hosts, each a run of its own:
 *
 *     source --part_copy--> .incoming/KEY --one job? not here yet?--> NAME
 *
 * (1) The folder is private (0700), and one process at a time adds to it.
 * (2) A part appears under its name when it is whole and has been found to be of the same job as all that are here; else the folder
 *     stays as it was.
 * (3) Which part is which, its run.ini says: host, and when the recording began. A part that is here is never replaced, but by a
 *     later state of the same recording where that had not come to its end. */
#ifndef TACHO_GATHERED_RUN_H
#define TACHO_GATHERED_RUN_H

#include <glib.h>

#include "trace/job_parts.h"

typedef struct _GatheredRun GatheredRun;

/* The folder at `path`: a new one, or one that was gathered into before. */
GatheredRun *gathered_run_open(const gchar *path, GError **error);
void gathered_run_free(GatheredRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GatheredRun, gathered_run_free)

/* Bring the part, or the parts, that `source` holds: a folder, or what rsync calls one. How many came, and how many were here
 * already. On failure nothing has come; what was brought over a network stays, for the next time, unless it is of another job. */
gboolean gathered_run_take(GatheredRun *run, const gchar *source, guint *ret_n_new,
			   guint *ret_n_known, GError **error);
/* What all parts that are here come to. */
gboolean gathered_run_look(GatheredRun *run, JobParts *ret, GError **error);

#endif
