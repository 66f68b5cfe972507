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
/* Have operations compute with kernels of one's own where they are in the kernels' formats: what those give out, and what they cast by
 * themselves (docs/precision-registry.md). Notes of the problem say of how many. TACHO_PRECISION_ERROR, G_FILE_ERROR: the message names the file. */
gboolean tacho_precision_problem_register(TachoPrecisionProblem *problem, const gchar *path,
					  GError **error);
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
					    const TachoPrecisionProblem *problem,
					    const gchar *indicators, GError **error);

typedef struct {
	const TachoPrecisionStatistics
		*statistics; /* NULL: the problem tells the harm itself, or it is not known */
	const gchar
		*indicators; /* of statistics: as in "loss" or "loss,gradient:0.5"; NULL: "loss" */
	/* Bounds of the step, of which the smaller counts; without any it is 5 % above the fastest plan's. */
	gdouble within_pct;   /* above the fastest plan's; negative: none */
	gdouble no_slower_ms; /* 0: none */
	guint64 memory_bytes; /* that each worker's memory may hold, besides what the problem says; 0: any */
	gboolean with_front; /* look for plans at other bounds of time and memory, too */
	const gchar *
		bits_path; /* judge this bit plan of QSync's, on all workers, instead of looking for one; or NULL */
} TachoPrecisionOptions;

typedef struct {
	gdouble recorded_step_ms, fastest_step_ms, step_ms, interval_ms[2], bound_ms;
	gdouble margin_pct,
		error_pct;    /* what the bound leaves, and by how much predictions are wrong */
	gdouble coverage_pct; /* of the step's time, measured */
	gdouble recorded_harm, fastest_harm, harm;
	gdouble least_harm; /* no plan within the bounds harms less than this; 0: nothing is known of that */
	gboolean has_harm;	    /* FALSE: no harm is known: what is found is the fastest plan */
	gboolean is_fastest_proven; /* no plan is faster by the model of costs */
	gboolean is_least_proven;   /* no plan within the bounds harms less */
	gboolean is_by_replay;	    /* the step was confirmed by a replay */
	guint width; /* operations that stood together when the fastest plan was looked for */
	/* "worker" (where there are several), "operation", "module", "kind", "ordinal", "precision", "recorded", "saved_ms", "harm",
	 * "harm_pct" (of all), "is_estimated" (its cost was), "why". */
	TachoTable *operations;
	/* A row each: "worker", "ranks", "own_ms", "wait_ms", "peak_bytes", "max_bytes", "formats" (how many operations in each). */
	TachoTable *workers;
	/* "step_ms", "peak_bytes", "harm", "formats", "is_chosen": plans of which none is better than another in all three; NULL: not asked for. */
	TachoTable *front;
	GPtrArray *plans; /* TachoPlan, of each worker, that tacho apply carries out */
	TachoPlan *
		joint; /* of all workers, where there are several: ranks are numbered one worker after the other; or NULL */
	guint8 *formats;  /* the plan as the problem has it */
	GPtrArray *notes; /* gchar */
} TachoPrecisionPlan;

/* Look for the plan that harms least within the bounds. The problem's harms are filled in from the statistics. TACHO_PRECISION_ERROR_NO_PLAN:
 * none keeps them, and by how much the fastest misses. */
TachoPrecisionPlan *tacho_precision_plan(TachoPrecisionProblem *problem,
					 const TachoPrecisionOptions *options, GError **error);
void tacho_precision_plan_free(TachoPrecisionPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoPrecisionPlan, tacho_precision_plan_free)
/* One JSON object: the members above under their names (docs/json.md). */
void tacho_precision_plan_print_json(const TachoPrecisionPlan *plan, FILE *out);
/* The front as a picture, SVG; without one only the plan. */
void tacho_precision_plan_print_svg(const TachoPrecisionPlan *plan, FILE *out);
/* The number of the worker of that name; without a name the only one, or one whose plan all have. FALSE: it has to be named; the message has the
 * names. */
gboolean tacho_precision_plan_find_worker(const TachoPrecisionPlan *plan, const gchar *name,
					  guint *ret_worker, GError **error);
/* A worker's plan as bits of QSync's, an .npy file; the caller's. */
GBytes *tacho_precision_plan_bits(const TachoPrecisionPlan *plan,
				  const TachoPrecisionProblem *problem, guint worker);

G_END_DECLS

#endif
