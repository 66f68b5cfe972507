/* Several recordings of one job in one prediction. Times are microseconds. */
#include <sched.h>
#include <string.h>

#include <tacho/correlate.h>

#include "predicted.h"
#include "timeline_text.h"

#define MAX_RECORDINGS 9

/* After the first step, op a takes `a_us`, then so much longer a step, the host 5 and op b 10; of two ranks. */
static gchar *job(guint n_ranks, guint a_us, guint more_us, const gchar *shape)
{
	GString *text = g_string_new("unit us\n");

	for (guint rank = 0; rank < n_ranks; rank++) {
		guint at = 100;

		g_string_append_printf(text,
				       "rank %u thread %u main\n"
				       "  annotation ProfilerStep#0 0..100\n    op a 0..100\n",
				       rank, 1000 + rank);
		for (guint step = 1; step <= 3; step++) {
			guint a_end = at + a_us + (step - 1) * more_us, end = a_end + 15;

			g_string_append_printf(text,
					       "  annotation ProfilerStep#%u %u..%u\n"
					       "    op a %u..%u in=float32[%s]@0x1000\n"
					       "    op b %u..%u\n",
					       step, at, end, at, a_end, shape, a_end + 5, end);
			at = end;
		}
	}
	return g_string_free(text, FALSE);
}

struct job_set {
	TachoTimeline *timelines[MAX_RECORDINGS];
	TachoRecording recordings[MAX_RECORDINGS];
	guint n;
};

static void add_text(struct job_set *set, const gchar *text)
{
	static const gchar *const names[] = {
		"r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"
	};
	TachoTimeline *timeline = correlated(text);

	set->timelines[set->n] = timeline;
	set->recordings[set->n] = (TachoRecording){ names[set->n], timeline };
	set->n++;
}

static void add_job(struct job_set *set, guint a_us, guint more_us)
{
	g_autofree gchar *text = job(2, a_us, more_us, "8,8");

	add_text(set, text);
}

static void job_set_clear(struct job_set *set)
{
	while (set->n)
		tacho_timeline_free(set->timelines[--set->n]);
}

static TachoPrediction *predict_set(const struct job_set *set, const gchar *what_if,
				    guint32 n_samples, GError **error)
{
	TachoPredictOptions options = { .what_ifs = &what_if,
					.n_what_ifs = what_if ? 1 : 0,
					.first_step = -1,
					.last_step = -1,
					.n_samples = n_samples,
					.seed = 3 };

	return tacho_predict_together(set->recordings, set->n, &options, error);
}

static TachoPrediction *predicted(const struct job_set *set, const gchar *what_if,
				  guint32 n_samples)
{
	g_autoptr(GError) error = NULL;
	TachoPrediction *prediction = predict_set(set, what_if, n_samples, &error);

	g_assert_no_error(error);
	return prediction;
}

static void assert_us(gdouble value_ms, gdouble expected_us)
{
	g_assert_cmpfloat_with_epsilon(value_ms * 1000, expected_us, 1e-6);
}

static gdouble cell(const TachoPrediction *prediction, guint row, const gchar *key)
{
	return tacho_table_cell_number(prediction->recordings, row, key);
}

/* Steps of 35, 65 and 45 us; with a in half the time, of 25, 40 and 30. */
static void test_median(void)
{
	struct job_set set = { .n = 0 };
	g_autoptr(TachoPrediction) prediction = NULL;

	add_job(&set, 20, 0);
	add_job(&set, 50, 0);
	add_job(&set, 30, 0);
	prediction = predicted(&set, "scale:op~^a$=0.5", 0);
	assert_us(prediction->measured_step_ms, 45);
	assert_us(prediction->baseline_step_ms, 45);
	assert_us(prediction->unrecorded_step_ms, 45);
	assert_us(prediction->predicted_step_ms, 30);
	g_assert_cmpfloat(prediction->error_pct, ==, 0);
	/* nine steps: three of each */
	assert_us(prediction->steps_interval_ms[0], 25);
	assert_us(prediction->steps_interval_ms[1], 40);
	assert_us(prediction->recordings_interval_ms[0], 25);
	assert_us(prediction->recordings_interval_ms[1], 40);
	g_assert_cmpuint(prediction->recordings_rank, ==, 1);
	g_assert_cmpfloat(prediction->recordings_median_pct, ==, 75);
	g_assert_cmpfloat(prediction->recordings_next_pct, ==, 50);
	g_assert_cmpuint(tacho_table_n_rows(prediction->recordings), ==, 3);
	assert_us(cell(prediction, 1, "measured_step_ms"), 65);
	assert_us(cell(prediction, 1, "predicted_step_ms"), 40);
	g_assert_cmpfloat(cell(prediction, 1, "is_shown"), ==, 0);
	g_assert_cmpfloat(cell(prediction, 2, "is_shown"), ==, 1);
	g_assert_cmpstr(prediction->shown_recording, ==, "r3");
	assert_us(tacho_table_cell_number(prediction->path_summary, 0, "duration_ms"), 15);
	job_set_clear(&set);
}

/* The median of two is their middle, and the shorter one is shown. */
static void test_even(void)
{
	struct job_set set = { .n = 0 };
	g_autoptr(TachoPrediction) prediction = NULL;

	add_job(&set, 50, 0);
	add_job(&set, 20, 0);
	prediction = predicted(&set, NULL, 0);
	assert_us(prediction->predicted_step_ms, 50);
	g_assert_cmpfloat(prediction->recordings_median_pct, ==, 50);
	g_assert_cmpstr(prediction->shown_recording, ==, "r2");
	job_set_clear(&set);
}

/* With nine values, the interval from the second to the eighth holds the median with 95 %. */
static void test_nine(void)
{
	struct job_set set = { .n = 0 };
	g_autoptr(TachoPrediction) prediction = NULL;

	for (guint i = 0; i < 9; i++)
		add_job(&set, 90 - 10 * i, 0);
	prediction = predicted(&set, NULL, 0);
	g_assert_cmpuint(prediction->recordings_rank, ==, 2);
	assert_us(prediction->predicted_step_ms, 65);
	assert_us(prediction->recordings_interval_ms[0], 35);
	assert_us(prediction->recordings_interval_ms[1], 95);
	job_set_clear(&set);
}

/* One alone is what it always was. */
static void test_one(void)
{
	struct job_set set = { .n = 0 };
	g_autoptr(TachoPrediction) prediction = NULL, alone = NULL;

	add_job(&set, 20, 10);
	prediction = predicted(&set, NULL, 0);
	alone = tacho_predict(set.timelines[0], NULL, 0, -1, -1, NULL);
	g_assert_null(prediction->recordings);
	g_assert_null(prediction->shown_recording);
	g_assert_cmpfloat(prediction->predicted_step_ms, ==, alone->predicted_step_ms);
	g_assert_cmpfloat(prediction->steps_interval_ms[1], ==, alone->steps_interval_ms[1]);
	job_set_clear(&set);
}

static void assert_within(gdouble value_ms, gdouble least_us, gdouble most_us)
{
	g_assert_cmpfloat(value_ms * 1000, >=, least_us - 1e-6);
	g_assert_cmpfloat(value_ms * 1000, <=, most_us + 1e-6);
}

/* Steps of 35, 45 and 55 us, or of 65, 75 and 85: in samples each as likely, on each rank. */
static void test_samples(void)
{
	struct job_set set = { .n = 0 };
	g_autoptr(TachoPrediction) prediction = NULL, again = NULL;

	add_job(&set, 20, 10);
	add_job(&set, 50, 10);
	prediction = predicted(&set, NULL, 400);
	again = predicted(&set, NULL, 400);
	g_assert_cmpuint(prediction->n_samples, ==, 800);
	g_assert_cmpuint(prediction->sample_medians->len, ==, 800);
	assert_us(prediction->predicted_step_ms, 60);
	assert_us(cell(prediction, 0, "predicted_step_ms"), 45);
	/* some of each recording */
	assert_within(prediction->steps_interval_ms[0], 35, 40);
	assert_within(prediction->steps_interval_ms[1], 80, 85);
	assert_within(prediction->median_interval_ms[0], 35, 45);
	assert_within(prediction->median_interval_ms[1], 75, 85);
	g_assert_cmpfloat(prediction->predicted_step_ms, ==, again->predicted_step_ms);
	job_set_clear(&set);
}

/* However the recordings are shared out to threads. */
static void test_same_on_one_core(void)
{
	struct job_set set = { .n = 0 };
	g_autoptr(TachoPrediction) many = NULL, single = NULL;
	cpu_set_t all, one;
	int core = 0;

	for (guint i = 0; i < 6; i++)
		add_job(&set, 20 + 7 * i % 5, i);
	many = predicted(&set, "scale:op~^a$=0.7", 0);
	g_assert_cmpint(sched_getaffinity(0, sizeof(all), &all), ==, 0);
	while (!CPU_ISSET(core, &all))
		core++;
	CPU_ZERO(&one);
	CPU_SET(core, &one);
	g_assert_cmpint(sched_setaffinity(0, sizeof(one), &one), ==, 0);
	single = predicted(&set, "scale:op~^a$=0.7", 0);
	g_assert_cmpint(sched_setaffinity(0, sizeof(all), &all), ==, 0);
	g_assert_cmpfloat(many->predicted_step_ms, ==, single->predicted_step_ms);
	g_assert_cmpfloat(many->steps_interval_ms[0], ==, single->steps_interval_ms[0]);
	g_assert_cmpstr(many->shown_recording, ==, single->shown_recording);
	job_set_clear(&set);
}

/* --- other jobs ------------------------------------------------------------------------------- */

static void assert_other_job(const gchar *text, const gchar *reason)
{
	struct job_set set = { .n = 0 };
	g_autoptr(GError) error = NULL;

	add_job(&set, 20, 0);
	add_job(&set, 21, 0);
	add_text(&set, text);
	g_assert_null(predict_set(&set, NULL, 0, &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_OTHER_JOB);
	g_test_message("%s", error->message);
	g_assert_true(g_str_has_prefix(error->message, "r3 is not of the same job as r1: "));
	g_assert_nonnull(strstr(error->message, reason));
	job_set_clear(&set);
}

#define STEPS(more)                                                                                \
	"  annotation ProfilerStep#0 0..100\n    op a 0..100\n"                                    \
	"  annotation ProfilerStep#1 100..200\n    op a 100..120\n    op b 125..135\n" more

static void test_other_jobs(void)
{
	g_autofree gchar *alone = job(1, 20, 0, "8,8");

	assert_other_job(alone, "it has 1 rank instead of 2");
	assert_other_job("unit us\nrank 0 thread 1000 main\n" STEPS("") //
			 "rank 2 thread 1002 main\n" STEPS(""),
			 "it has rank 2 instead of 1");
	/* of each rank a, b and c instead of a and b: a third */
	assert_other_job("unit us\nrank 0 thread 1000 main\n" STEPS("    op c 140..150\n") //
			 "rank 1 thread 1001 main\n" STEPS("    op c 140..150\n"),
			 "33 % of its operations differ: 2 of c a step instead of 0");
	assert_other_job(
		"unit us\nrank 0 thread 1000 main\n" STEPS(
			"    collective gloo:all_reduce 140..150 bytes=1024 end_tid=9\n") //
		"rank 1 thread 1001 main\n" STEPS(
			"    collective gloo:all_reduce 140..150 bytes=1024 end_tid=9\n"),
		"100 % of its collectives differ: 1 of gloo:all_reduce a step instead of 0");
}

static void test_bytes(void)
{
	struct job_set set = { .n = 0 };
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < 2; i++) {
		g_autofree gchar *line = g_strdup_printf(
			STEPS("    collective gloo:all_reduce 140..150 bytes=%u end_tid=9\n"),
			1000000 * (i + 1));
		g_autofree gchar *text = g_strdup_printf("unit us\nrank 0 thread 1000 main\n%s"
							 "rank 1 thread 1001 main\n%s",
							 line, line);

		add_text(&set, text);
	}
	g_assert_null(predict_set(&set, NULL, 0, &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_OTHER_JOB);
	g_test_message("%s", error->message);
	g_assert_true(
		g_str_has_suffix(error->message, "its collectives move 2 MB a step instead of 1"));
	job_set_clear(&set);
}

/* Half of the operations have inputs, and of all operations a and a differ: a of (a, a, b). */
static void test_shapes(void)
{
	g_autofree gchar *other = job(2, 30, 0, "16,8");
	struct job_set set = { .n = 0 };
	g_autoptr(TachoPrediction) prediction = NULL;

	add_job(&set, 20, 0);
	add_text(&set, other);
	prediction = predicted(&set, NULL, 0);
	g_assert_true(has_note(
		prediction,
		"r2 differs a little from r1: 67 % of its operations have inputs of other shapes"));
	job_set_clear(&set);
}

/* A rank, whose steps of 100 us are two slices each, of which recording took `cost_us`: half of it is of the one piece. */
static void add_costly(struct job_set *set, guint step_us, guint cost_us)
{
	g_autofree gchar *text =
		g_strdup_printf("unit us\nrank 0 cost_ns=%u thread 1000 main\n"
				"  annotation ProfilerStep#0 0..%u\n    op a 0..%u\n",
				cost_us * 1000, step_us, step_us);

	add_text(set, text);
}

static guint count_notes(const TachoPrediction *prediction, const gchar *words)
{
	guint n = 0;

	for (guint i = 0; i < prediction->notes->len; i++)
		n += strstr(g_ptr_array_index(prediction->notes, i), words) != NULL;
	return n;
}

/* What is said of a recording that is not shown stands with its name. */
static void test_notes_of_others(void)
{
	struct job_set set = { .n = 0 };
	g_autoptr(TachoPrediction) prediction = NULL;

	add_costly(&set, 90, 0);
	add_costly(&set, 100, 0);
	add_costly(&set, 120, 12);
	prediction = predicted(&set, NULL, 0);
	g_assert_cmpstr(prediction->shown_recording, ==, "r2");
	g_assert_cmpuint(count_notes(prediction, "recording took"), ==, 1);
	g_assert_true(has_note(prediction, "r3: recording took 2.5 % of"));
	job_set_clear(&set);
}

/* What is said of several, with other figures, stands once, as it is of the recording shown. */
static void test_notes_of_all(void)
{
	struct job_set set = { .n = 0 };
	g_autoptr(TachoPrediction) prediction = NULL;

	add_costly(&set, 90, 9);
	add_costly(&set, 100, 8);
	add_costly(&set, 120, 12);
	prediction = predicted(&set, NULL, 0);
	g_assert_cmpstr(prediction->shown_recording, ==, "r2");
	g_assert_cmpuint(count_notes(prediction, "recording took"), ==, 1);
	g_assert_true(has_note(prediction, "recording took 2.0 % of"));
	g_assert_cmpuint(count_notes(prediction, "r2: "), ==, 0);
	job_set_clear(&set);
}

/* An error names the recording. */
static void test_names(void)
{
	struct job_set set = { .n = 0 };
	g_autoptr(GError) error = NULL;
	g_autofree gchar *whole = job(2, 30, 0, "8,8");

	add_job(&set, 20, 0);
	add_text(&set, whole);
	g_assert_null(predict_set(&set, "scale:op~^nobody$=2", 0, &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF);
	g_assert_true(g_str_has_prefix(error->message, "r1: what-if"));
	job_set_clear(&set);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/joint_prediction/median", test_median);
	g_test_add_func("/joint_prediction/even", test_even);
	g_test_add_func("/joint_prediction/nine", test_nine);
	g_test_add_func("/joint_prediction/one", test_one);
	g_test_add_func("/joint_prediction/samples", test_samples);
	g_test_add_func("/joint_prediction/same_on_one_core", test_same_on_one_core);
	g_test_add_func("/joint_prediction/other_jobs", test_other_jobs);
	g_test_add_func("/joint_prediction/bytes", test_bytes);
	g_test_add_func("/joint_prediction/shapes", test_shapes);
	g_test_add_func("/joint_prediction/notes_of_others", test_notes_of_others);
	g_test_add_func("/joint_prediction/notes_of_all", test_notes_of_all);
	g_test_add_func("/joint_prediction/names", test_names);
	return g_test_run();
}
