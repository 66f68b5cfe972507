/* prediction_interval: between what bounds the step of a run is that was not recorded. */
#ifndef TACHO_PREDICTION_INTERVAL_H
#define TACHO_PREDICTION_INTERVAL_H

#include "predict/prediction.h"

/* How far predictions with these changes (struct change) are off, as the logarithm of measured to predicted: nine in ten are nearer.
 * Where that was not measured of such changes together, it is the largest of what was, and *ret_is_measured is FALSE. */
gdouble model_error_of(const GArray *changes, gboolean *ret_is_measured);

/* Set the interval, of what the prediction has by now: its steps, samples and recordings, and its model error. */
void prediction_bound(TachoPrediction *prediction);

#endif
