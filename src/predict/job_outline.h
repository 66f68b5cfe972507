/* job_outline: what the steps of a recording do, to tell recordings of one job from those of several. */
#ifndef TACHO_JOB_OUTLINE_H
#define TACHO_JOB_OUTLINE_H

#include "graph/graph_internal.h"

struct job_outline {
	GArray *ranks;	    /* gint32, ascending; as launched */
	GHashTable *ops;    /* gchar * -> gdouble *: how many a step, over all ranks */
	GHashTable *shaped; /* gint64 * -> gdouble *: the same by name and shapes of the inputs */
	GHashTable *collectives;  /* gchar * -> gdouble *: how many a step */
	gdouble collective_bytes; /* a step, of one rank's inputs */
};

/* Sum up the graph's steps, before what-ifs. */
void job_outline_init(struct job_outline *outline, const TachoGraph *graph);
/* Takes all zeros, too. */
void job_outline_release(struct job_outline *outline);

/* Whether `other` can be a recording of the same job as `first`. TACHO_GRAPH_ERROR_OTHER_JOB says why not; small
 * differences are appended to `notes` (gchar *), sentences that go on after the recordings' names. */
gboolean job_outline_check(const struct job_outline *first, const struct job_outline *other,
			   GPtrArray *notes, GError **error);

#endif
