/* Where steps begin and end, for each source of them. Times are milliseconds. */
#include <tacho/correlate.h>

#include "timeline_text.h"

#define MS(n) ((gint64)(n)*1000000)

static void assert_step(const TachoTimeline *timeline, guint index, guint32 rank_index,
			guint32 number, gint64 start_ms, gint64 end_ms, gboolean is_complete)
{
	const TachoStep *step;

	g_assert_cmpuint(index, <, timeline->steps->len);
	step = &g_array_index(timeline->steps, TachoStep, index);
	g_assert_cmpuint(step->rank_index, ==, rank_index);
	g_assert_cmpuint(step->number, ==, number);
	g_assert_cmpint(step->start_ns, ==, MS(start_ms));
	g_assert_cmpint(step->end_ns, ==, MS(end_ms));
	g_assert_cmpint(step->is_complete, ==, is_complete);
}

/* One turn of a training loop, 100 ms from `at`. */
static void append_turn(GString *text, gint at, const gchar *optimizer)
{
	g_string_append_printf(text,
			       "wait DataLoader %d..%d\n"
			       "op aten::linear %d..%d seq=1\n"
			       "op aten::mse_loss %d..%d seq=2\n"
			       "op MseLossBackward0 %d..%d backward seq=2 fwd=1\n"
			       "op AddmmBackward0 %d..%d backward seq=1 fwd=1\n",
			       at, at + 10, at + 10, at + 40, at + 40, at + 50, at + 50, at + 60,
			       at + 60, at + 80);
	if (optimizer)
		g_string_append_printf(text, "annotation %s %d..%d\n  op aten::add_ %d..%d\n",
				       optimizer, at + 80, at + 95, at + 81, at + 94);
}

/* A profiler stepped once, after all work: its annotation is no step; the optimizer's are. */
static void test_empty_annotation(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 3; i++)
		append_turn(text, 100 + 100 * i, "Optimizer.step#SGD.step");
	g_string_append(text, "annotation ProfilerStep#6 500..501\n");
	timeline = correlated(text->str);

	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_OPTIMIZER);
	g_assert_cmpuint(timeline->steps->len, ==, 3);
}

/* A step may hold nothing but collectives; and another process than the one that works may tell it. */
static void test_little_in_steps(void)
{
	g_autoptr(TachoTimeline) collectives = correlated("rank 0 thread 1 main\n"
							  "annotation ProfilerStep#5 100..200\n"
							  "collective gloo:all_reduce 110..300\n"
							  "op aten::empty 500..501\n");
	g_autoptr(TachoTimeline) other = correlated("rank 0 thread 1 main\n"
						    "op aten::mm 110..190\n"
						    "op aten::mm 200..210\n"
						    "process 77 thread 77 main\n"
						    "annotation ProfilerStep#5 100..300\n");

	g_assert_cmpuint(collectives->steps->len, ==, 1);
	assert_step(collectives, 0, 0, 0, 100, 200, TRUE);
	g_assert_cmpuint(other->steps->len, ==, 1);
	assert_step(other, 0, 0, 0, 100, 300, TRUE);
}

/* Stepped once more after the last turn: that one holds nothing, but one before that does not, either, is a step. */
static void test_left_loop(void)
{
	g_autoptr(TachoTimeline) timeline = correlated("rank 0 thread 1 main\n"
						       "annotation ProfilerStep#5 100..200\n"
						       "op aten::mm 110..190\n"
						       "annotation ProfilerStep#6 200..300\n"
						       "annotation ProfilerStep#7 300..400\n"
						       "op aten::mm 310..390\n"
						       "annotation ProfilerStep#8 400..405\n"
						       "op aten::save 500..600\n");

	g_assert_cmpuint(timeline->steps->len, ==, 3);
	assert_step(timeline, 2, 0, 2, 300, 400, TRUE);
}

static void test_optimizer(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n"
					       "op aten::uniform_ 0..50\n"
					       "op aten::uniform_ 50..90\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 4; i++)
		append_turn(text, 100 + 100 * i, "Optimizer.step#SGD.step");
	g_string_append(text, "op aten::save 500..900\n");
	timeline = correlated(text->str);

	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_OPTIMIZER);
	g_assert_cmpuint(timeline->steps->len, ==, 4); /* saving is no step */
	assert_step(timeline, 0, 0, 0, 100, 195, TRUE);
	assert_step(timeline, 1, 0, 1, 195, 295, TRUE);
	assert_step(timeline, 3, 0, 3, 395, 495, TRUE);
}

/* A job killed in its third step. */
static void test_killed(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=killed:9 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	append_turn(text, 100, "Optimizer.step#SGD.step");
	append_turn(text, 200, "Optimizer.step#SGD.step");
	g_string_append(text, "wait DataLoader 300..310\nop aten::linear 310..350\n");
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 3);
	assert_step(timeline, 2, 0, 2, 295, 350, FALSE);
}

/* A single step has no second one to compare its start with. */
static void test_single(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n"
					       "op aten::uniform_ 0..50\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	append_turn(text, 100, "Optimizer.step#SGD.step");
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 1);
	assert_step(timeline, 0, 0, 0, 100, 195, FALSE);
}

/* What the job does behind a step, such as logging its loss, stands before step 1 and not before step 0. */
static void test_logged_steps(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n"
					       "op aten::normal_ 10..20\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 4; i++) {
		gint at = 100 + 100 * i;

		if (i > 0)
			g_string_append_printf(text, "op aten::item %d..%d\nop aten::sub_ %d..%d\n",
					       at - 4, at - 3, at - 3, at - 2);
		g_string_append_printf(text, "wait DataLoader %d..%d\nop aten::to %d..%d\n", at,
				       at + 2, at + 2, at + 4);
		for (gint k = 0; k < 6; k++)
			g_string_append_printf(text, "op layer%d %d..%d\n", k, at + 4 + k,
					       at + 5 + k);
		g_string_append_printf(text, "annotation Optimizer.step#AdamW.step %d..%d\n",
				       at + 80, at + 95);
	}
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 4);
	assert_step(timeline, 0, 0, 0, 100, 195, TRUE);
	assert_step(timeline, 1, 0, 1, 195, 295, TRUE);
}

/* A sparse and a dense optimizer, one after the other: one update. */
static void test_two_optimizers(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 3; i++) {
		append_turn(text, 100 * i, "Optimizer.step#SGD.step");
		g_string_append_printf(text, "annotation Optimizer.step#SparseAdam.step %d..%d\n",
				       100 * i + 96, 100 * i + 99);
	}
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 3);
	assert_step(timeline, 1, 0, 1, 99, 199, TRUE);
}

/* A GAN: discriminator twice, then generator; all of one class, told apart by their work. */
static void test_gan(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 12; i++) {
		append_turn(text, 100 * i, "Optimizer.step#Adam.step");
		if (i % 3 == 2)
			g_string_append_printf(text, "op aten::mul_ %d.5..%d\n", 100 * i + 94,
					       100 * i + 95);
	}
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 4);
	assert_step(timeline, 0, 0, 0, 0, 295, TRUE);
	assert_step(timeline, 1, 0, 1, 295, 595, TRUE);
	assert_step(timeline, 3, 0, 3, 895, 1195, TRUE);
}

/* Two equal models, each with an optimizer of its own, told apart by the parameters that they change. */
static void test_equal_models(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 12; i++) {
		append_turn(text, 100 * i, "Optimizer.step#Adam.step");
		g_string_append_printf(text, "op aten::add_ %d.5..%d in=float32[8]@0x%d000\n",
				       100 * i + 94, 100 * i + 95, 1 + i % 2);
	}
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 6);
	assert_step(timeline, 1, 0, 1, 195, 395, TRUE);
}

/* Memory of the moment that comes back every other time is no second optimizer: what the pass in a closure changes, and what
 * operations change within themselves. */
static void test_closure(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 12; i++)
		g_string_append_printf(
			text,
			"wait DataLoader %d..%d\nannotation Optimizer.step#SGD.step %d..%d\n"
			"  op aten::relu_ %d..%d in=float32[8]@0x%d000\n"
			"  op ReluBackward0 %d..%d backward seq=1 fwd=1\n"
			"  op reducer::copy %d..%d\n    op aten::copy_ %d..%d "
			"in=float32[8]@0x%d000\n"
			"  op aten::add_ %d..%d in=float32[8]@0x9000\n",
			100 * i, 100 * i + 5, 100 * i + 5, 100 * i + 95, 100 * i + 10, 100 * i + 20,
			1 + i % 2, 100 * i + 20, 100 * i + 40, 100 * i + 40, 100 * i + 60,
			100 * i + 45, 100 * i + 55, 3 + i % 2, 100 * i + 60, 100 * i + 90);
	timeline = correlated(text->str);
	g_assert_cmpuint(timeline->steps->len, ==, 12);
	assert_step(timeline, 1, 0, 1, 95, 195, TRUE);
}

/* A rank that serves the others has no steps of its own: theirs, each until it next begins something. */
static void test_lent_steps(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 3; i++)
		append_turn(text, 100 * i, "Optimizer.step#SGD.step");
	g_string_append(text, "rank 1 end=exited:0 thread 2 main\n"
			      "op serve 10..90\nop answer 93..98\nop wait 150..190\n"
			      "op again 195..250\nop last 260..290\n");
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 6);
	assert_step(timeline, 3, 1, 0, 10, 150, TRUE);
	assert_step(timeline, 4, 1, 1, 150, 195, TRUE);
	assert_step(timeline, 5, 1, 2, 195, 295, TRUE);
}

/* A parameter server does the same for each worker, twice as often as who trains says that there are steps: it has the steps
 * that were told. */
static void test_lent_marks(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 6; i++)
		g_string_append_printf(text,
				       "mark step %d first=%d second=100000000 text=whole\n"
				       "op train %d..%d\n",
				       100 * i, 4 + i, 100 * i + 10, 100 * i + 90);
	g_string_append(text, "rank 1 end=exited:0 thread 2 main\n");
	for (gint i = 0; i < 12; i++)
		g_string_append_printf(text, "op pull %d..%d\nop push %d..%d\nop add %d..%d\n",
				       50 * i, 50 * i + 10, 50 * i + 10, 50 * i + 20, 50 * i + 20,
				       50 * i + 49);
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 12);
	assert_step(timeline, 5, 0, 5, 500, 600, TRUE);
	assert_step(timeline, 6, 1, 0, 0, 100, TRUE);
	assert_step(timeline, 11, 1, 5, 500, 600, TRUE);
}

/* What a rank without optimizer repeats `n` times while another one takes six steps; how many steps both have. */
static guint count_beside_optimizer(guint n)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 6; i++)
		append_turn(text, 120 * i, "Optimizer.step#SGD.step");
	g_string_append(text, "rank 1 end=exited:0 thread 2 main\n");
	for (guint i = 0; i < n; i++) {
		guint at = 720 * i / n;

		g_string_append_printf(text, "op pull %u..%u\nop push %u..%u\nop add %u..%u\n", at,
				       at + 10, at + 10, at + 20, at + 20, at + 720 / n - 1);
	}
	timeline = correlated(text->str);
	return timeline->steps->len;
}

/* It answers each of two workers once a step, and has their steps; or does something of its own, about as often. */
static void test_server_of_optimizers(void)
{
	g_assert_cmpuint(count_beside_optimizer(12), ==, 6 + 6);
	g_assert_cmpuint(count_beside_optimizer(18), ==, 6 + 6);
	g_assert_cmpuint(count_beside_optimizer(11), ==, 6 + 11);
}

/* Steps in which other parameters have gradients have no cycle: each call is a step. */
static void test_irregular_work(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	static const gint n_extra[] = { 0, 2, 1, 1, 3, 0, 0, 2, 1, 3 };

	for (gint i = 0; i < 10; i++) {
		append_turn(text, 100 * i, "Optimizer.step#Adam.step");
		for (gint k = 0; k < n_extra[i]; k++)
			g_string_append_printf(text, "op aten::mul_ %d.%d..%d.%d\n", 100 * i + 94,
					       2 * k + 1, 100 * i + 94, 2 * k + 2);
	}
	timeline = correlated(text->str);
	g_assert_cmpuint(timeline->steps->len, ==, 10);
}

static void test_profiler_steps(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "annotation ProfilerStep#5 100..200\n"
			   "annotation Optimizer.step#SGD.step 200..210\n"
			   "annotation ProfilerStep#6 210..310\n"
			   "rank 1 thread 2 main\n"
			   "annotation ProfilerStep#6 205..300\n"
			   "annotation ProfilerStep#7 305..\n"
			   "op aten::mm 306..400\n");

	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_ANNOTATED);
	g_assert_cmpuint(timeline->steps->len, ==, 4);
	assert_step(timeline, 0, 0, 0, 100, 200, TRUE);
	assert_step(timeline, 1, 0, 1, 210, 310, TRUE);
	assert_step(timeline, 2, 1, 1, 205, 300, TRUE);
	assert_step(timeline, 3, 1, 2, 305, 400, FALSE);
}

/* Marks that say how long their steps are. */
static void test_whole_marks(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "op aten::mm 0..500\n"
			   "mark step 100 first=3 second=50000000 text=whole\n"
			   "mark step 200 first=4 second=70000000 text=whole\n");

	g_assert_cmpuint(timeline->steps->len, ==, 2);
	assert_step(timeline, 0, 0, 0, 100, 150, TRUE);
	assert_step(timeline, 1, 0, 1, 200, 270, TRUE);
}

static void test_marks(void)
{
	g_autoptr(TachoTimeline) timeline = correlated("rank 0 thread 1 main\n"
						       "op aten::mm 0..500\n"
						       "mark step 100 first=3\n"
						       "mark step 200 first=4\n"
						       "mark other 250 first=9\n");

	g_assert_cmpuint(timeline->steps->len, ==, 2);
	assert_step(timeline, 0, 0, 0, 100, 200, TRUE);
	assert_step(timeline, 1, 0, 1, 200, 500, FALSE);
}

/* Recording of rank 1 began when rank 0 was in its third step. */
static void test_late_rank(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 5; i++)
		append_turn(text, 100 * i, "Optimizer.step#SGD.step");
	g_string_append(text, "rank 1 end=exited:0 thread 2 main\n");
	for (gint i = 3; i < 5; i++)
		append_turn(text, 100 * i, "Optimizer.step#SGD.step");
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 7);
	assert_step(timeline, 5, 1, 3, 300, 395, TRUE);
	assert_step(timeline, 6, 1, 4, 395, 495, TRUE);
}

/* Training without a hooked optimizer: an evaluation after every second step, a first step unlike
 * the others, layers that come again within a step. */
static void test_period_of_training(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n"
					       "op aten::uniform_ 0..5\nop aten::normal_ 5..9\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 8; i++) {
		gint at = 100 + 100 * i;

		g_string_append_printf(text, "wait DataLoader %d..%d\n", at, at + 5);
		if (i == 0)
			g_string_append_printf(text, "op c10d::broadcast_ %d..%d\n", at + 5,
					       at + 8);
		for (gint layer = 0; layer < 6; layer++)
			g_string_append_printf(text,
					       "op aten::linear %d..%d\nop aten::relu %d..%d\n",
					       at + 10 + 4 * layer, at + 12 + 4 * layer,
					       at + 12 + 4 * layer, at + 14 + 4 * layer);
		g_string_append_printf(text,
				       "op aten::cross_entropy %d..%d\n"
				       "op NllLossBackward0 %d..%d backward\n",
				       at + 40, at + 42, at + 42, at + 44);
		for (gint layer = 0; layer < 6; layer++)
			g_string_append_printf(text,
					       "op ReluBackward0 %d..%d backward\n"
					       "op AddmmBackward0 %d..%d backward\n",
					       at + 45 + 4 * layer, at + 47 + 4 * layer,
					       at + 47 + 4 * layer, at + 49 + 4 * layer);
		g_string_append_printf(text, "op aten::add_ %d..%d\n", at + 80, at + 85);
		if (i % 2 == 1)
			g_string_append_printf(text, "op aten::argmax %d..%d\n", at + 86, at + 90);
	}
	timeline = correlated(text->str);

	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_PERIOD);
	g_assert_cmpuint(timeline->steps->len, ==, 8);
	assert_step(timeline, 0, 0, 0, 100, 200, TRUE);
	assert_step(timeline, 1, 0, 1, 200, 300, TRUE);
	assert_step(timeline, 7, 0, 7, 800, 890, TRUE);
}

/* Inference, inside a region around everything, of a model of equal layers. */
static void test_period_of_inference(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n"
					       "annotation serve 10..2000\n"
					       "op aten::load 10..20\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 10; i++) {
		gint at = 100 + 100 * i;

		g_string_append_printf(text, "op aten::embedding %d..%d\n", at, at + 5);
		for (gint layer = 0; layer < 4; layer++)
			g_string_append_printf(text,
					       "annotation \"layer %d\" %d..%d\n"
					       "op aten::linear %d..%d\nop aten::gelu %d..%d\n",
					       layer, at + 5 + 10 * layer, at + 6 + 10 * layer,
					       at + 7 + 10 * layer, at + 9 + 10 * layer,
					       at + 10 + 10 * layer, at + 14 + 10 * layer);
		g_string_append_printf(text, "op aten::argmax %d..%d\n", at + 50, at + 60);
	}
	timeline = correlated(text->str);

	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_PERIOD);
	g_assert_cmpuint(timeline->steps->len, ==, 10);
	assert_step(timeline, 0, 0, 0, 100, 200, TRUE);
	assert_step(timeline, 9, 0, 9, 1000, 1060, TRUE);
}

/* Inference of known modules, with a log entry after every third. */
static void test_period_of_modules(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 12; i++) {
		gint at = 100 * i;

		g_string_append_printf(text, "op aten::randint %d..%d\nmodule Model %d..%d\n", at,
				       at + 5, at + 10, at + 80);
		if (i % 3 == 2)
			g_string_append_printf(text, "op aten::mean %d..%d\nop aten::item %d..%d\n",
					       at + 80, at + 82, at + 82, at + 83);
	}
	timeline = correlated(text->str);

	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_PERIOD);
	g_assert_cmpuint(timeline->steps->len, ==, 12);
	assert_step(timeline, 0, 0, 0, 0, 100, TRUE);
	assert_step(timeline, 11, 0, 11, 1100, 1180, TRUE);
}

/* Ten turns of a loop, from 100 ms on, each of which has a kernel that runs `late_ms` after. */
static GString *make_launches(gboolean has_op, gint late_ms)
{
	GString *text = g_string_new("rank 0 end=exited:0 thread 1 main\n");

	for (gint at = 100; at <= 1000; at += 100) {
		g_string_append_printf(text, "runtime cudaLaunchKernel %d..%d\n", at, at + 5);
		if (has_op)
			g_string_append_printf(text, "op aten::mm %d..%d\n", at + 6, at + 9);
		g_string_append_printf(text, "runtime cudaEventQuery %d..%d\n", at + 10, at + 12);
	}
	g_string_append(text, "stream 7\n");
	for (gint at = 100; at <= 1000; at += 100)
		g_string_append_printf(text, "kernel k %d..%d\n", at + late_ms, at + late_ms + 50);
	return text;
}

/* What a loop launches runs within it: else it is a part of something larger, such as layers. */
static void test_period_covers_devices(void)
{
	g_autoptr(GString) soon = make_launches(TRUE, 40);
	g_autoptr(GString) late = make_launches(TRUE, 2000);
	g_autoptr(TachoTimeline) covered = correlated(soon->str);
	g_autoptr(TachoTimeline) apart = correlated(late->str);

	g_assert_cmpint(tacho_step_source(covered), ==, TACHO_STEPS_PERIOD);
	g_assert_cmpint(tacho_step_source(apart), ==, TACHO_STEPS_NONE);
	g_assert_cmpuint(apart->steps->len, ==, 0);
}

/* A device's calls alone repeat in any way. */
static void test_period_of_calls(void)
{
	g_autoptr(GString) text = make_launches(FALSE, 40);
	g_autoptr(TachoTimeline) timeline = correlated(text->str);

	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_NONE);
}

/* A loop beside which the thread does much more. */
static void test_period_of_little(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 10; i++)
		g_string_append_printf(text, "op aten::mm %d..%d\nop aten::relu %d..%d\n", 10 * i,
				       10 * i + 2, 10 * i + 3, 10 * i + 5);
	for (gint i = 0; i < 30; i++)
		g_string_append_printf(text, "op aten::op%d %d..%d\n", i, 200 + i, 201 + i);
	timeline = correlated(text->str);

	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_NONE);
}

/* For steps 2 and 3, only their ends were recorded. */
static void test_control(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoStep *control;

	append_turn(text, 100, "Optimizer.step#SGD.step");
	append_turn(text, 200, "Optimizer.step#SGD.step");
	g_string_append(text, "mark control_step 395 first=2\nmark control_step 495 first=3\n");
	append_turn(text, 500, "Optimizer.step#SGD.step");
	append_turn(text, 600, "Optimizer.step#SGD.step");
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 4);
	assert_step(timeline, 1, 0, 1, 195, 295, TRUE);
	assert_step(timeline, 2, 0, 4, 495, 595, TRUE);
	assert_step(timeline, 3, 0, 5, 595, 695, TRUE);
	g_assert_cmpuint(timeline->control_steps->len, ==, 2);
	control = &g_array_index(timeline->control_steps, TachoStep, 1);
	g_assert_cmpuint(control->number, ==, 3);
	g_assert_cmpint(control->start_ns, ==, MS(395));
	g_assert_cmpint(control->end_ns, ==, MS(495));
	g_assert_true(control->is_complete);
}

/* A step of two optimizers of which the second was not recorded is neither. */
static void test_half_control(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint i = 0; i < 6; i++) {
		append_turn(text, 100 + 200 * i, "Optimizer.step#SGD.step");
		if (i == 3)
			g_string_append(text, "mark control_step 895\n");
		else
			append_turn(text, 200 + 200 * i, "Optimizer.step#Adam.step");
	}
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->steps->len, ==, 6);
	assert_step(timeline, 3, 0, 3, 695, 895, FALSE);
	assert_step(timeline, 4, 0, 4, 895, 1095, TRUE);
	g_assert_cmpuint(timeline->control_steps->len, ==, 0);
}

static void test_no_steps(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	guint32 random = 1;

	for (gint i = 0; i < 500; i++) {
		random = random * 1664525 + 1013904223;
		g_string_append_printf(text, "op op%u %d..%d\n", random >> 26, 2 * i, 2 * i + 1);
	}
	timeline = correlated(text->str);
	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_NONE);
	g_assert_cmpuint(timeline->steps->len, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/step_finder/empty-annotation", test_empty_annotation);
	g_test_add_func("/step_finder/left-loop", test_left_loop);
	g_test_add_func("/step_finder/little-in-steps", test_little_in_steps);
	g_test_add_func("/step_finder/optimizer", test_optimizer);
	g_test_add_func("/step_finder/killed", test_killed);
	g_test_add_func("/step_finder/single", test_single);
	g_test_add_func("/step_finder/logged_steps", test_logged_steps);
	g_test_add_func("/step_finder/two_optimizers", test_two_optimizers);
	g_test_add_func("/step_finder/gan", test_gan);
	g_test_add_func("/step_finder/equal-models", test_equal_models);
	g_test_add_func("/step_finder/closure", test_closure);
	g_test_add_func("/step_finder/lent-steps", test_lent_steps);
	g_test_add_func("/step_finder/lent_marks", test_lent_marks);
	g_test_add_func("/step_finder/server_of_optimizers", test_server_of_optimizers);
	g_test_add_func("/step_finder/irregular_work", test_irregular_work);
	g_test_add_func("/step_finder/profiler_steps", test_profiler_steps);
	g_test_add_func("/step_finder/marks", test_marks);
	g_test_add_func("/step_finder/whole_marks", test_whole_marks);
	g_test_add_func("/step_finder/late_rank", test_late_rank);
	g_test_add_func("/step_finder/period_of_training", test_period_of_training);
	g_test_add_func("/step_finder/period_of_inference", test_period_of_inference);
	g_test_add_func("/step_finder/period_of_modules", test_period_of_modules);
	g_test_add_func("/step_finder/period_covers_devices", test_period_covers_devices);
	g_test_add_func("/step_finder/period_of_calls", test_period_of_calls);
	g_test_add_func("/step_finder/period_of_little", test_period_of_little);
	g_test_add_func("/step_finder/control", test_control);
	g_test_add_func("/step_finder/half-control", test_half_control);
	g_test_add_func("/step_finder/no_steps", test_no_steps);
	return g_test_run();
}
