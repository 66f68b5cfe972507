#include "predicted.h"

#include <string.h>

#include <tacho/correlate.h>

#include "timeline_text.h"

TachoPrediction *predict(TachoTimeline *timeline, const gchar *what_ifs, GError **error)
{
	g_auto(GStrv) list = g_strsplit(what_ifs, ";", -1);

	tacho_correlate(timeline);
	return tacho_predict(timeline, (const gchar *const *)list, g_strv_length(list), -1, -1,
			     error);
}

/* The critical path is at least as long as the step. */
static void check_path(const TachoPrediction *prediction)
{
	guint n_rows = tacho_table_n_rows(prediction->critical_path);
	gdouble path_ms = 0;

	for (guint i = 0; i < n_rows; i++)
		path_ms += tacho_table_cell_number(prediction->critical_path, i, "duration_ms");
	g_assert_cmpfloat(path_ms, >=, prediction->predicted_step_ms - 1e-9);
}

void assert_predicted(const gchar *text, const gchar *what_ifs, gdouble expected_us)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_ifs, &error);

	g_assert_no_error(error);
	/* what was recorded comes out again */
	g_assert_cmpfloat_with_epsilon(prediction->baseline_step_ms, prediction->measured_step_ms,
				       1e-9);
	check_path(prediction);
	g_test_message("%s: %.3f us", what_ifs, prediction->predicted_step_ms * 1000);
	/* events fall between nanoseconds, nodes end on them */
	g_assert_cmpfloat_with_epsilon(prediction->predicted_step_ms * 1000, expected_us, 0.01);
}

void assert_refused(const gchar *text, const gchar *what_ifs, const gchar *reason)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_ifs, &error);

	g_assert_null(prediction);
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF);
	g_test_message("%s", error->message);
	g_assert_nonnull(strstr(error->message, reason));
}

gboolean has_note(const TachoPrediction *prediction, const gchar *words)
{
	for (guint i = 0; i < prediction->notes->len; i++)
		if (strstr(g_ptr_array_index(prediction->notes, i), words))
			return TRUE;
	return FALSE;
}
