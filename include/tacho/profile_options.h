/* profile_options: what the op, scope, graph and code views account and show.
 *
 * The options of TensorFlow's tfprof, with its names and meanings; docs/views.md says where they
 * differ on purpose. */
#ifndef TACHO_PROFILE_OPTIONS_H
#define TACHO_PROFILE_OPTIONS_H

#include <glib.h>

G_BEGIN_DECLS

/* METRIC(enumerator, tfprof's name, key in the JSON behind "self_" and "total_"). */
#define TACHO_METRICS(METRIC)                                                                      \
	METRIC(TIME, micros, ms) /* host and device */                                             \
	METRIC(DEVICE, accelerator_micros, device_ms)                                              \
	METRIC(HOST, cpu_micros, host_ms)                                                          \
	METRIC(ALLOCATED, bytes, allocated_bytes)                                                  \
	METRIC(PEAK, peak_bytes, peak_bytes)                                                       \
	METRIC(RESIDUAL, residual_bytes, residual_bytes)                                           \
	METRIC(OUTPUT, output_bytes, output_bytes)                                                 \
	METRIC(PARAMS, params, params)                                                             \
	METRIC(FLOPS, float_ops, flops)                                                            \
	METRIC(RUNS, occurrence, runs)

typedef enum {
#define TACHO_METRIC_ENUM(enumerator, name, key) TACHO_METRIC_##enumerator,
	TACHO_METRICS(TACHO_METRIC_ENUM)
#undef TACHO_METRIC_ENUM
		TACHO_N_METRICS
} TachoMetric;

/* Columns to select beyond the metrics, and orders beyond them. */
enum {
	TACHO_SELECT_TYPES = TACHO_N_METRICS,
	TACHO_SELECT_SHAPES,
	TACHO_SELECT_DEVICE,
	TACHO_SELECT_VALUE,
	TACHO_N_SELECTS,
	TACHO_ORDER_NAME = TACHO_N_METRICS,
	TACHO_ORDER_LEVELS, /* most levels below first */
};

/* What a figure of several steps is. */
typedef enum {
	TACHO_MEAN_ALL,	    /* the mean over all chosen steps and ranks */
	TACHO_MEAN_PRESENT, /* over those in which the node ran */
	TACHO_MEAN_NONE,    /* the sum */
} TachoMean;

/* Times in the metrics are nanoseconds. */
typedef struct {
	/* GRegex that match the whole name; NULL: everything (trim, hide: nothing). */
	GPtrArray *account, *start, *show, *trim, *hide;
	gdouble min_self[TACHO_N_METRICS], min_total[TACHO_N_METRICS];
	guint max_depth; /* 0: no limit */
	guint order;	 /* a TachoMetric or TACHO_ORDER_ */
	guint32 select;	 /* bits: a TachoMetric or TACHO_SELECT_ */
	gboolean is_displayed_only;
	gboolean has_order; /* asked for, not the default */
	TachoMean mean;
	struct tensor_bundle *checkpoint; /* values of variables; NULL: none was named */
} TachoProfileOptions;

/* Everything, by time. */
TachoProfileOptions *tacho_profile_options_new(void);
void tacho_profile_options_free(TachoProfileOptions *options);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoProfileOptions, tacho_profile_options_free)

#define TACHO_PROFILE_OPTIONS_ERROR tacho_profile_options_error_quark()
GQuark tacho_profile_options_error_quark(void);
typedef enum {
	TACHO_PROFILE_OPTIONS_ERROR_UNKNOWN, /* no such option, metric or column */
	TACHO_PROFILE_OPTIONS_ERROR_VALUE,   /* not a value for it */
} TachoProfileOptionsError;

/* Set one option: "account", "start", "show", "trim", "hide" take comma-separated expressions (".*"
 * alone: all), "min" METRIC=N or self_METRIC=N (times in microseconds), "max_depth" N, "order_by" a
 * metric, "name" or "depth", "select" a comma-separated list of metrics, "op_types", "input_shapes", "device", "tensor_value",
 * "displayed_only" yes or no, "mean" all, present or none, "checkpoint" the prefix of one of TensorFlow's. On an error nothing is changed. */
gboolean tacho_profile_options_set(TachoProfileOptions *options, const gchar *name,
				   const gchar *value, GError **error);

G_END_DECLS

#endif
