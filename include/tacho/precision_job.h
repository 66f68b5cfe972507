/* precision_job: what a step takes and holds when each operation of a job computes in a format of its own, from recordings of the job in one
 * format each (docs/precision.md). */
#ifndef TACHO_PRECISION_FORECASTS_H
#define TACHO_PRECISION_FORECASTS_H

#include <tacho/precision.h>

G_BEGIN_DECLS

typedef struct precision_job TachoPrecisionJob;

/* The job of these recordings, of which one is in fp32, or else the widest counts: each a path of a run that says what it was recorded in, or
 * FORMAT=PATH. The caller's. TACHO_PRECISION_ERROR_MATCH: they are not of one job. */
TachoPrecisionJob *tacho_precision_job_open(const TachoPrecisionInputs *inputs, GError **error);
void tacho_precision_job_close(TachoPrecisionJob *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoPrecisionJob, tacho_precision_job_close)

/* Whether casts take no time (to see what they do), and whether those of one tensor to one format are made once, as compilers do. */
void tacho_precision_job_set_casts(TachoPrecisionJob *job, gboolean are_free, gboolean are_shared);

typedef struct {
	gchar *plan;		  /* what was predicted: the plan's name, or the format */
	gdouble recorded_step_ms; /* of the reference, as recorded */
	gdouble reference_step_ms; /* the same without what recording took: what the plan is held against */
	gdouble predicted_step_ms;
	gdouble interval_ms[2]; /* nine in ten medians of a step are in it */
	gdouble forward_cast_ms, backward_cast_ms;
	guint n_casts;
	gdouble coverage_pct; /* of the operations' time in the reference: measured in all formats that there are */
	gdouble measured_pct; /* of what operations and casts take: measured in just that format */
	gdouble saved_bytes;  /* kept for the backward pass, by formula */
	gdouble peak_bytes,
		reference_peak_bytes; /* of a rank's fullest memory; -1: no memory was recorded */
	/* A row an operation: "operation", "module", "kind", "ordinal", "rule", "precision", "reference_ms", "predicted_ms", "cast_ms",
	 * "is_estimated". */
	TachoTable *operations;
	/* A row a rank: "rank", "wait_ms" (at collectives until the last rank has come, of a step; moments in several count once), "precisions" (how many operations in each). */
	TachoTable *ranks;
	/* A row a recording: "run", "precision", "recorded_step_ms", "found_pct", "time_pct", "speed". */
	TachoTable *runs;
	TachoTable *casts; /* as measured, and how wrong the model of them is */
	GPtrArray *notes;  /* gchar */
} TachoPrecisionForecast;

/* Predict a plan (docs/plan.md: its change "precision"; what it does not name computes as in the reference), or, where `plan` is NULL, all
 * operations in the format `name`, where they can. `name` is what the forecast calls it. TACHO_PRECISION_ERROR_MATCH: it has an operation or a format that the job has not. */
TachoPrecisionForecast *tacho_precision_job_predict(const TachoPrecisionJob *job,
						    const TachoPlan *plan, const gchar *name,
						    GError **error);
void tacho_precision_forecast_free(TachoPrecisionForecast *forecast);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoPrecisionForecast, tacho_precision_forecast_free)
/* One JSON object: the members above under their names (docs/json.md). */
void tacho_precision_forecast_print_json(const TachoPrecisionForecast *forecast, FILE *out);
/* Of several plans of one job, TachoPrecisionForecast: an array of such objects. */
void tacho_precision_forecasts_print_json(const GPtrArray *forecasts, FILE *out);
/* A row a plan: "plan", "predicted_step_ms", "change_pct", "low_ms", "high_ms", "casts", "cast_ms", "saved_mb", "peak_mb". The caller's. */
TachoTable *tacho_precision_forecasts_table(const GPtrArray *forecasts);

/* Its operations and the tensors between them, with depths, as "dot" (Graphviz), "gml" or "json". FALSE: there is no such form. */
gboolean tacho_precision_job_print_graph(const TachoPrecisionJob *job, const gchar *form,
					 FILE *out);

G_END_DECLS

#endif
