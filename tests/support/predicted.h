/* predicted: what-ifs on timelines written as text, held against what they give by hand. */
#ifndef TACHO_TEST_PREDICTED_H
#define TACHO_TEST_PREDICTED_H

#include <tacho/replay.h>

/* Correlate the timeline and predict it with `what_ifs`: between ";", "" is none. */
TachoPrediction *predict(TachoTimeline *timeline, const gchar *what_ifs, GError **error);

/* The timeline's step with the what-ifs takes so long, to 0.01 us; and replayed as it is, as it was measured. */
void assert_predicted(const gchar *text, const gchar *what_ifs, gdouble expected_us);

/* A what-if is refused, for a reason with these words in it. */
void assert_refused(const gchar *text, const gchar *what_ifs, const gchar *reason);

/* Some note of the prediction has these words in it. */
gboolean has_note(const TachoPrediction *prediction, const gchar *words);

#endif
