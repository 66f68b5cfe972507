/* job_precision: in which numbers the job's matrix operations are to compute (tacho record --precision): python/tacho_hook/precision.py does it,
 * in the job. */
#ifndef TACHO_JOB_PRECISION_H
#define TACHO_JOB_PRECISION_H

#include <glib.h>

/* What is asked for. */
struct job_precision {
	gchar *name;		 /* "bf16"; NULL: the job's own */
	gboolean has_statistics; /* of tensors, too; then name is set, by job_precision_check() */
	gint n_probes;		 /* of the Hessian's trace, for statistics; 0: none */
	gint n_direct; /* steps in which the model is called again for each operation and format; 0: none */
};

/* Whether there is such a precision, and the Python that `command` runs can compute in it on this machine; said as tacho record where not.
 * Where the command tells no Python, the job finds out itself. */
gboolean job_precision_check(struct job_precision *precision, gchar **command);
/* The environment of a job that does it: taken and given back. */
gchar **job_precision_set(const struct job_precision *precision, gchar **environment);

#endif
