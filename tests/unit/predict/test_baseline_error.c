/* Where replays of what was recorded are not what was measured: who is off, and by how much. */
#include <math.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "predict/baseline_error.h"
#include "timeline_text.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* Three steps of 100 us; those of rank 1 go on for `more` us into the next one, which is measured twice and played once. */
#define JOB(more)                                                                                  \
	"unit us\n"                                                                                \
	"rank 0 thread 1000 main\n"                                                                \
	"  annotation ProfilerStep#0 0..100\n"                                                     \
	"    op a 10..90\n"                                                                        \
	"  annotation ProfilerStep#1 100..200\n"                                                   \
	"    op late 110..190\n"                                                                   \
	"  annotation ProfilerStep#2 200..300\n"                                                   \
	"    op a 210..290\n"                                                                      \
	"rank 1 thread 1001 main\n"                                                                \
	"  annotation ProfilerStep#0 0..1" more "\n"                                               \
	"    op a 15..90\n"                                                                        \
	"  annotation ProfilerStep#1 100..2" more "\n"                                             \
	"    op late 115..190\n"                                                                   \
	"  annotation ProfilerStep#2 200..3" more "\n"                                             \
	"    op a 215..290\n"

static const gchar overlapping[] = JOB("10");
static const gchar right[] = JOB("00");

static TachoPrediction *predict_all(TachoTimeline *const *timelines, guint n)
{
	TachoRecording recordings[] = { { "one", timelines[0] }, { "two", timelines[n - 1] } };
	TachoPredictOptions options = { .first_step = 0, .last_step = -1 };
	g_autoptr(GError) error = NULL;
	TachoPrediction *prediction = tacho_predict_together(recordings, n, &options, &error);

	g_assert_no_error(error);
	return prediction;
}

static void check_row(const TachoTable *table, guint row, const gchar *what, const gchar *name,
		      gdouble measured_ms, gdouble replayed_ms)
{
	g_assert_cmpstr(tacho_table_cell_text(table, row, "what"), ==, what);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "name"), ==, name);
	EXPECT(table, row, "measured_ms", measured_ms);
	EXPECT(table, row, "replayed_ms", replayed_ms);
	EXPECT(table, row, "error_pct", 100 * (replayed_ms / measured_ms - 1));
}

/* In the mean over ranks 105 us were measured and 100 are played, but in the first step: what is in two steps is the first one's. */
static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(overlapping);
	g_autoptr(TachoPrediction) prediction = predict_all(&timeline, 1);
	const TachoTable *off = prediction->baseline_errors;

	g_assert_cmpfloat_with_epsilon(prediction->measured_step_ms, 0.105, 1e-9);
	g_assert_cmpfloat_with_epsilon(prediction->baseline_step_ms, 0.1, 1e-9);
	g_assert_cmpuint(tacho_table_n_rows(off), ==, 3);
	check_row(off, 0, "rank", "1", 0.11, 0.1);
	check_row(off, 1, "step", "1", 0.105, 0.1);
	check_row(off, 2, "step", "2", 0.105, 0.1);
	g_assert_nonnull(strstr(prediction->baseline_warning, "0.100 ms a step, but 0.105 ms"));
	g_assert_nonnull(strstr(prediction->baseline_warning, "rank 1 (-9.1 %), step 1 (-4.8 %)"));
	g_assert_nonnull(strstr(prediction->baseline_advice, "overlap"));
}

static void test_none(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(right);
	g_autoptr(TachoPrediction) prediction = predict_all(&timeline, 1);

	g_assert_cmpfloat(prediction->error_pct, ==, 0);
	g_assert_null(prediction->baseline_errors);
	g_assert_null(prediction->baseline_warning);
	g_assert_null(prediction->baseline_advice);
}

/* A graph that takes longer than the recording did: the step of `late`, on rank 1 more. */
static void test_advice(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(right);
	g_autoptr(TachoPrediction) prediction = prediction_new(timeline, 0, -1, NULL);
	g_autoptr(TachoReplay) replay = NULL;

	g_assert_true(tacho_graph_what_if(prediction->graph, "scale:1:op~late=1.2", NULL));
	replay = tacho_replay_run(prediction->graph, NULL);
	prediction->measured_step_ms = 0.1;
	prediction->baseline_step_ms = 0.102;
	prediction_set_error(prediction);
	baseline_error_find(prediction, replay);
	g_assert_null(prediction->baseline_errors); /* 2 % are allowed */
	prediction->baseline_step_ms = 0.103;
	prediction_set_error(prediction);
	baseline_error_find(prediction, replay);
	baseline_error_tell(prediction);
	g_assert_cmpuint(tacho_table_n_rows(prediction->baseline_errors), ==, 1);
	check_row(prediction->baseline_errors, 0, "step", "1", 0.1, 0.1075);
	g_assert_cmpstr(prediction->baseline_advice, ==,
			"predict from a step that is not off, with --step 0; export both with "
			"--export FILE.pftrace, which shows them one below the other, and look "
			"where they part");
}

/* Of many, three are named: each step but the first begins in the one before it, on rank 1. */
static void test_many(void)
{
	g_autoptr(GString) text = g_string_new("unit us\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = NULL;

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text, "rank %u thread %u main\n", rank, 1000 + rank);
		for (guint i = 0; i < 6; i++)
			g_string_append_printf(
				text, "  annotation ProfilerStep#%u %u..%u\n    op a %u..%u\n", i,
				100 * i, 100 * i + 100 + 10 * rank, 100 * i + 15, 100 * i + 90);
	}
	timeline = correlated(text->str);
	prediction = predict_all(&timeline, 1);
	g_assert_cmpuint(tacho_table_n_rows(prediction->baseline_errors), ==, 6);
	g_test_message("%s", prediction->baseline_warning);
	g_assert_nonnull(strstr(prediction->baseline_warning,
				"most off: rank 1 (-9.1 %), step 1 (-4.8 %), step 2 (-4.8 %), "
				"step 3 (-4.8 %) and 2 more steps"));
}

/* One of two recordings is off; which of them is shown does not matter. */
static void test_recordings(void)
{
	TachoTimeline *timelines[] = { correlated(right), correlated(overlapping) };
	g_autoptr(TachoPrediction) prediction = predict_all(timelines, 2);
	const TachoTable *off = prediction->baseline_errors;
	guint last = tacho_table_n_rows(off) - 1;

	check_row(off, last, "recording", "two", 0.105, 0.1);
	g_assert_nonnull(strstr(prediction->baseline_warning, "recording two (-4.8 %)"));
	g_assert_nonnull(strstr(prediction->baseline_advice, "leave out"));
	g_clear_pointer(&prediction, tacho_prediction_free);
	tacho_timeline_free(timelines[0]);
	tacho_timeline_free(timelines[1]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/baseline_error/by_hand", test_by_hand);
	g_test_add_func("/baseline_error/none", test_none);
	g_test_add_func("/baseline_error/advice", test_advice);
	g_test_add_func("/baseline_error/many", test_many);
	g_test_add_func("/baseline_error/recordings", test_recordings);
	return g_test_run();
}
