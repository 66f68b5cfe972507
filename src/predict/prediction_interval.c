/* prediction_interval: the interval of a prediction holds the median step of nine in ten runs that are not recorded.
 *
 * Let P be the predicted step. What is known of it has three parts:
 *
 * (1) The steps differ. The median of so few of them is known to the bounds of order statistics, or, with samples, to those of the
 *     samples' medians.
 * (2) Runs differ. The bounds reach from the least to the greatest of several recordings, as far as these tell.
 * (3) The model is off by E, which was measured of jobs that it was not tuned on, by the kind of change (model_errors.def).
 *
 * (4) Of kernels whose work changes, bounds are known (edit/kernel_changes.h): a step is no further off than all kernels of a rank's step
 *     together.
 *
 * The parts are independent, so the distances from P add up by their squares: of logarithms, because errors are shares. From one
 * step alone the first is not known, and there is no interval. */
#include "predict/prediction_interval.h"

#include <math.h>

#include "base/for_each.h"
#include "base/order_statistics.h"
#include "base/quantile.h"
#include "edit/change.h"

static const gdouble to_ms = 1e-6;
/* What is left of a step at least, however much of its kernels is in doubt.
 * Source: a rule: a logarithm needs some of it. If wrong, the lower bound of an interval is too high where nearly nothing is known. */
#define LEAST_LEFT 0.05

static const struct {
	guint of; /* enum change_accuracy */
	gdouble error;
} model_errors[] = {
#define MODEL_ERROR(of, error, n_kinds, n_cases) { of, error },
#include "predict/model_errors.def"
#undef MODEL_ERROR
};

/* Of changes of these kinds together; a negative number: it was not measured. */
static gdouble find_error(guint of)
{
	for (guint i = 0; i < G_N_ELEMENTS(model_errors); i++)
		if (model_errors[i].of == of)
			return model_errors[i].error;
	return -1;
}

/* The largest error that was measured; but with another job beside, what is off is mostly how the two share. */
static gdouble largest_error(void)
{
	gdouble error = 0;

	for (guint i = 0; i < G_N_ELEMENTS(model_errors); i++)
		if (!(model_errors[i].of & ACCURACY_JOBS))
			error = MAX(error, model_errors[i].error);
	return error;
}

gdouble model_error_of(const GArray *changes, gboolean *ret_is_measured)
{
	const guint beside = ACCURACY_JOBS | ACCURACY_BANDWIDTH | ACCURACY_LATENCY;
	guint of = ACCURACY_SAME;
	gdouble error;

	FOR_EACH(const struct change, change, changes)
		of |= change_accuracy(change);
	error = find_error(of & ACCURACY_JOBS && !(of & ~beside) ? ACCURACY_JOBS : of);
	*ret_is_measured = error >= 0;
	if (*ret_is_measured)
		return error;
	return of & ACCURACY_JOBS ? MAX(find_error(ACCURACY_JOBS), largest_error())
				  : largest_error();
}

/* Between what the median of the steps (gint64, ns) lies, which are sorted here: (1). */
static void bound_median(GArray *steps, gdouble bounds_ms[2])
{
	guint rank = median_bounds_of(steps->len).rank;

	quantile(steps, 0.5);
	bounds_ms[0] = (gdouble)g_array_index(steps, gint64, rank - 1) * to_ms;
	bounds_ms[1] = (gdouble)g_array_index(steps, gint64, steps->len - rank) * to_ms;
}

/* How far from `ms` a bound is that the spread alone puts at `bound_ms`, and doubt alone at `doubt_ms`, with the model's error; as a
 * factor. */
static gdouble distance(gdouble ms, gdouble bound_ms, gdouble doubt_ms, gdouble error)
{
	gdouble spread = bound_ms > 0 ? log(ms / bound_ms) : 0;
	gdouble doubt = log(ms / MAX(doubt_ms, ms * LEAST_LEFT));

	return exp(sqrt(spread * spread + doubt * doubt + error * error));
}

void prediction_bound(TachoPrediction *prediction)
{
	gdouble ms = prediction->predicted_step_ms, bounds_ms[2];

	prediction->has_interval = prediction->predicted_steps->len > 1;
	prediction->interval_ms[0] = prediction->interval_ms[1] = ms;
	if (!prediction->has_interval || ms <= 0)
		return;
	if (prediction->sample_medians)
		prediction_set_interval(bounds_ms, prediction->sample_medians);
	else
		bound_median(prediction->predicted_steps, bounds_ms);
	if (prediction->recordings) {
		bounds_ms[0] = MIN(bounds_ms[0], prediction->recordings_interval_ms[0]);
		bounds_ms[1] = MAX(bounds_ms[1], prediction->recordings_interval_ms[1]);
	}
	prediction->interval_ms[0] =
		ms / distance(ms, MIN(bounds_ms[0], ms), ms - prediction->kernel_doubt_ms[0],
			      prediction->model_error);
	prediction->interval_ms[1] =
		ms * distance(ms, MAX(bounds_ms[1], ms), ms + prediction->kernel_doubt_ms[1],
			      prediction->model_error);
}
