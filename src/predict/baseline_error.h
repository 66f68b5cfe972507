/* baseline_error: where the replay of what was recorded is not what was measured, and what can be done about it.
 *
 * What a replay cannot say of the recording itself it cannot say of a change either. So where the median step is off by more
 * than BASELINE_MOST_PCT, whoever asks is told so before anything else. */
#ifndef TACHO_BASELINE_ERROR_H
#define TACHO_BASELINE_ERROR_H

#include "predict/prediction.h"

/* By so much a replay may be off its recording without a warning.
 * Source: a rule: what predictions of an unchanged job are held to in the mean (docs/validation.md). If wrong, a replay that is
 * off is believed, or one that is not is doubted; no time depends on it. */
#define BASELINE_MOST_PCT 2.0

/* Where the prediction's baseline is off, list ranks and steps that are, in prediction->baseline_errors. */
void baseline_error_find(TachoPrediction *prediction, const TachoReplay *baseline);

/* A recording of several, whose baseline is off: list it. */
void baseline_error_add_recording(TachoPrediction *prediction, const gchar *name,
				  gdouble measured_ms, gdouble replayed_ms);

/* Where anything is listed, say so in words: prediction->baseline_warning and baseline_advice. Once all figures of the
 * prediction are there. */
void baseline_error_tell(TachoPrediction *prediction);

#endif
