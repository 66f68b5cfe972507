/* precision: with which numbers each operation of a model is to compute, so that steps are short, memory suffices and the training is
 * harmed least (docs/precision.md). */
#ifndef TACHO_PRECISION_PLANS_H
#define TACHO_PRECISION_PLANS_H

#include <glib.h>
#include <stdio.h>

#include <tacho/plan.h>
#include <tacho/table.h>

G_BEGIN_DECLS

#define TACHO_PRECISION_ERROR tacho_precision_error_quark()
GQuark tacho_precision_error_quark(void);
typedef enum {
	TACHO_PRECISION_ERROR_FORMAT, /* a file is not what it should be; the message names the byte */
	TACHO_PRECISION_ERROR_VERSION, /* a file of a later version */
	TACHO_PRECISION_ERROR_PROBLEM, /* a problem that contradicts itself */
	TACHO_PRECISION_ERROR_MATCH,   /* files of different models */
	TACHO_PRECISION_ERROR_NO_PLAN, /* no plan keeps the bounds; the message says by how much */
} TachoPrecisionError;

/* Operations, what each takes in each format, and what casts between them take. */
typedef struct _TachoPrecisionProblem TachoPrecisionProblem;

/* Where a problem is read from. */
typedef struct {
	const gchar *const *
		runs; /* paths of recordings of one job in uniform precisions, or of ranks of several kinds; NULL-terminated */
	const gchar *
		casts; /* file of `tacho calibrate casts`; or NULL: casts are estimated, and the notes say so */
	const gchar
		*registry; /* file of kernels of one's own (docs/precision-registry.md); or NULL */
} TachoPrecisionInputs;

/* The problem of recorded runs; the caller's. Its prediction is by replay of them. */
TachoPrecisionProblem *tacho_precision_problem_of_runs(const TachoPrecisionInputs *inputs,
						       GError **error);
/* The problem in a file (docs/precision-problem.md); the caller's. TACHO_PRECISION_ERROR, G_FILE_ERROR: the message names the file. */
TachoPrecisionProblem *tacho_precision_problem_read(const gchar *path, GError **error);
/* Write it. FALSE: not everything could be written; errno says why. */
gboolean tacho_precision_problem_write(const TachoPrecisionProblem *problem, FILE *out);
void tacho_precision_problem_free(TachoPrecisionProblem *problem);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoPrecisionProblem, tacho_precision_problem_free)

G_END_DECLS

#endif
