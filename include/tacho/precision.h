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

/* What was measured of operations' tensors (docs/precision-statistics.md). */
typedef struct _TachoPrecisionStatistics TachoPrecisionStatistics;

/* The statistics in a file; the caller's. TACHO_PRECISION_ERROR, G_FILE_ERROR: the message names the file. */
TachoPrecisionStatistics *tacho_precision_statistics_read(const gchar *path, GError **error);
void tacho_precision_statistics_free(TachoPrecisionStatistics *statistics);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoPrecisionStatistics, tacho_precision_statistics_free)

/* Indicators by number from 0: the name; NULL: there are no more. */
const gchar *tacho_precision_indicator(guint index, const gchar **ret_description);
/* A row for each operation and each narrower format: "operation", "module", "kind", "ordinal", "format", "harm" (null: the format overflows, or
 * nothing is known), "share_pct" (of all operations in that format), "is_derived", "why". `indicators` as in "loss" or "loss,gradient:0.5"; the
 * problem, which gives the graph, may be NULL. TACHO_PRECISION_ERROR_MATCH: there is no such indicator. */
TachoTable *tacho_precision_indicator_table(const TachoPrecisionStatistics *statistics,
					    const TachoPrecisionProblem *problem, const gchar *indicators,
					    GError **error);

G_END_DECLS

#endif
