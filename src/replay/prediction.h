/* prediction: tacho_predict() in its three parts, for who does something between them. */
#ifndef TACHO_PREDICTION_H
#define TACHO_PREDICTION_H

#include "replay/replay_internal.h"

/* The graph of the steps, not played yet. The caller's, to end with tacho_prediction_free(). */
TachoPrediction *prediction_new(TachoTimeline *timeline, gint64 first_step, gint64 last_step,
				GError **error);

/* All figures but those of the explanation; only once. On an error the prediction is good for nothing but
 * to be freed. */
gboolean prediction_play(TachoPrediction *prediction, const gchar *const *what_ifs,
			 guint n_what_ifs, GError **error);

/* The critical path, who is busy, who holds memory; only once, when it has been played. */
void prediction_explain(TachoPrediction *prediction);

/* Whether one of the what-ifs puts another job beside. */
gboolean prediction_has_jobs(const gchar *const *what_ifs, guint n_what_ifs);

/* The baseline against what was measured. */
void prediction_set_error(TachoPrediction *prediction);

/* The 5 % and 95 % quantiles of times (gint64, ns), in milliseconds; sorts them. */
void prediction_set_interval(gdouble interval_ms[2], GArray *values);

#endif
