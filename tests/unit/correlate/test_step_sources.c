/* Steps, source by source: what counts as one and what does not, and which number it has. Times are milliseconds. */
#include <tacho/correlate.h>

#include "timeline_text.h"

/* "0:100-200 1:200-300?" of a rank: number, begin and end in ms, `?` where it is not complete. */
static gchar *steps_text(const TachoTimeline *timeline, const GArray *steps, gint32 rank)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < steps->len; i++) {
		const TachoStep *step = &g_array_index(steps, TachoStep, i);

		if (tacho_timeline_rank(timeline, step->rank_index)->rank != rank)
			continue;
		g_string_append_printf(text, "%s%u:%g-%g%s", text->len ? " " : "", step->number,
				       (gdouble)step->start_ns / 1e6, (gdouble)step->end_ns / 1e6,
				       step->is_complete ? "" : "?");
	}
	return g_string_free(text, FALSE);
}

static void check_rank(const TachoTimeline *timeline, gint32 rank, const gchar *expected)
{
	g_autofree gchar *steps = steps_text(timeline, timeline->steps, rank);

	g_assert_cmpstr(steps, ==, expected);
}

static void check_text(const gchar *text, TachoStepSource source, const gchar *expected)
{
	g_autoptr(TachoTimeline) timeline = correlated(text);

	check_rank(timeline, 0, expected);
	g_assert_cmpint(tacho_step_source(timeline), ==, source);
}

/* Its problems are too many operations outside of steps. */
static void check_outside(const gchar *text, guint n_outside, const gchar *expected)
{
	g_autoptr(TachoTimeline) timeline = correlated(text);

	check_rank(timeline, 0, expected);
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_CUT_STEP), ==, n_outside);
}

#define MAIN "rank 0 end=exited:0 thread 1 main\n"

/* --- annotated ---------------------------------------------------------------------------------- */

/* Old profilers took regions for operations. Other threads tell of the step that the first is in; a number that comes again
 * later is another step. */
static void test_regions(void)
{
	check_text(MAIN "op ProfilerStep#3 100..200\nop aten::mm 110..120\n"
			"op ProfilerStep#4 200..300\nop aten::mm 210..220\n",
		   TACHO_STEPS_ANNOTATED, "0:100-200 1:200-300");
	check_text(MAIN "annotation ProfilerStep#3 100..200\nop aten::mm 110..120\n"
			"annotation ProfilerStep#4 200..300\nop aten::mm 210..220\n"
			"thread 2\n"
			"annotation ProfilerStep#3 101..150\nannotation ProfilerStep#3 160..190\n"
			"annotation ProfilerStep#4 201..310\n",
		   TACHO_STEPS_ANNOTATED, "0:100-200 1:200-300");
	check_text(MAIN "annotation ProfilerStep#3 100..200\nop aten::mm 110..120\n"
			"annotation ProfilerStep#3 200..300\nop aten::mm 210..220\n",
		   TACHO_STEPS_ANNOTATED, "0:100-200 0:200-300");
}

/* Of the rank's other processes those are taken, if the main one has none; another rank's never are. */
static void test_other_processes(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated(MAIN "op aten::mm 110..120\n"
				"process 77 thread 77\nannotation ProfilerStep#5 100..200\n"
				"rank 1 thread 2 main\n"
				"annotation ProfilerStep#3 90..205\nop aten::mm 110..120\n"
				"process 88 thread 88\nannotation ProfilerStep#9 400..500\n"
				"rank 2 thread 3 main\nop aten::mm 110..120\n");

	check_rank(timeline, 0, "2:100-200");
	check_rank(timeline, 1, "0:90-205");
	check_rank(timeline, 2, ""); /* annotated steps are lent to nobody */
}

/* Operations, calls and collectives of the main process that begin behind the first step and in none, if they are more than
 * those in steps; regions and waits are not work, and what was before the first step is not missing. */
static void test_outside(void)
{
	static const gchar before[] = MAIN "op a 0..1\nop a 2..3\nop a 4..5\nop a 6..7\n"
					   "annotation ProfilerStep#3 100..110\n"
					   "op a 100..101\n";
	static const gchar behind[] = "annotation region 110..111\n"
				      "wait DataLoader 112..113\n"
				      "op a 110..111\n"
				      "runtime cudaLaunchKernel 116..117\n"
				      "collective gloo:barrier 118..119\n";
	g_autofree gchar *few = g_strconcat(before, behind, NULL);
	g_autofree gchar *more =
		g_strconcat(before, "op a 102..103\nop a 104..105\n", behind, NULL);
	g_autofree gchar *other = g_strconcat(before, "process 77 thread 77\n", behind, NULL);

	check_outside(before, 0, "0:100-110");
	check_outside(few, 3, "0:100-110");
	check_outside(more, 0, "0:100-110");
	check_outside(other, 0, "0:100-110");
}

/* Steps behind all work are none, but one that was still open when the recording ended may be. */
static void test_empty_end(void)
{
	check_text(MAIN "annotation ProfilerStep#3 100..200\nop a 200..210\n"
			"annotation ProfilerStep#4 200..300\n"
			"annotation ProfilerStep#5 300..400\nannotation ProfilerStep#6 400..500\n",
		   TACHO_STEPS_ANNOTATED, "0:100-200 1:200-300");
	check_text(MAIN "annotation ProfilerStep#3 100..200\nop a 110..120\n"
			"annotation ProfilerStep#4 200..300\nannotation ProfilerStep#5 300..\n"
			"annotation region 300..350\n",
		   TACHO_STEPS_ANNOTATED, "0:100-200 1:200-300 2:300-350?");
}

/* Marks of the main process; the last step lasts as long as the process, unless marks say how long. */
static void test_marks(void)
{
	check_text(MAIN "op a 0..500\nmark step 300 first=9\nmark step 100 first=7\n"
			"process 77 thread 77\nop a 0..900\nmark step 200 first=8\n",
		   TACHO_STEPS_ANNOTATED, "0:100-300 2:300-500?");
	check_text(MAIN "op a 0..500\nmark step 100 first=7 second=50000000 text=whole\n"
			"mark step 300 first=8 second=50000000\n"
			"mark step 400 first=9 second=70000000 text=whole\n",
		   TACHO_STEPS_ANNOTATED, "0:100-150 1:300-400 2:400-470");
}

/* All ranks count from the least number that any has. */
static void test_numbers(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated(MAIN "annotation ProfilerStep#9 100..200\nop a 110..120\n"
				"rank 1 thread 2 main\n"
				"annotation ProfilerStep#7 0..100\nop a 10..20\n"
				"annotation ProfilerStep#8 100..200\nop a 110..120\n");

	check_rank(timeline, 0, "2:100-200");
	check_rank(timeline, 1, "0:0-100 1:100-200");
}

/* --- optimizer ---------------------------------------------------------------------------------- */

#define TURN(at, op)                                                                               \
	"wait DataLoader " #at "0.." #at "1\nop forward " #at "1.." #at "5\n"                      \
	"op Backward " #at "5.." #at "8 backward\n" op

#define SGD(at) "annotation Optimizer.step#SGD.step " #at "8.." #at "9\n"

/* Where nobody recorded autograd, each call is an update, but one that another makes is not; nor is one that never ended. */
static void test_calls(void)
{
	check_text(MAIN "op a 10..12\nop a 20..22\nannotation Optimizer.step#SGD.step 30..32\n"
			"op a 40..42\nop a 50..52\nannotation Optimizer.step#Wrapper.step 60..64\n"
			"  annotation region 60..64\n"
			"    annotation Optimizer.step#SGD.step 61..63\n"
			"op a 70..72\nop a 80..82\nop Optimizer.step#SGD.step 90..92\n"
			"op a 93..94\nannotation Optimizer.step#SGD.step 95..\n",
		   TACHO_STEPS_OPTIMIZER, "0:10-32 1:32-64 2:64-92");
}

/* Where step 0 begins: as step 1 does; without a second step at the first wait, or module, or whatever is first. */
static void test_first_start(void)
{
	/* the same was done before, in an evaluation and at once: as long before the end as step 1 is long */
	check_text(MAIN "op warm 1..2\n" TURN(1, "op add 18..19\n") TURN(2, "op add 28..29\n")
			   TURN(3, SGD(3)) TURN(4, SGD(4)) TURN(5, SGD(5)),
		   TACHO_STEPS_OPTIMIZER, "0:30-39 1:39-49 2:49-59");
	/* of the eight operations that step 1 begins with the first four are those of step 0, which has more */
	check_text(MAIN
		   "op load 1..2\nop a 10..11\nop b 11..12\nop c 12..13\nop d 13..14\nop first "
		   "14..15\n"
		   "op e 15..16\nannotation Optimizer.step#SGD.step 20..21\n"
		   "op a 30..31\nop b 31..32\nop c 32..33\nop d 33..34\nop e 34..35\nop f 35..36\n"
		   "op g 36..37\nop h 37..38\nannotation Optimizer.step#SGD.step 40..41\n",
		   TACHO_STEPS_OPTIMIZER, "0:10-21 1:21-41");
	check_text(MAIN
		   "op init 1..2\nmodule Model 5..6\nwait DataLoader 8..9\nop a 10..12\n" SGD(2),
		   TACHO_STEPS_OPTIMIZER, "0:8-29?");
	check_text(MAIN "op init 1..2\nmodule Model 5..6\nop a 10..12\n" SGD(2),
		   TACHO_STEPS_OPTIMIZER, "0:5-29?");
	check_text(MAIN "op init 1..2\nop a 10..12\n" SGD(2), TACHO_STEPS_OPTIMIZER, "0:1-29?");
	/* on a thread that had begun nothing yet */
	check_text(MAIN "op a 40..41\nop a 42..43\nop a 44..45\nop a 46..47\n"
			"thread 2\n" SGD(2) "thread 3\n" SGD(4),
		   TACHO_STEPS_OPTIMIZER, "0:29-29? 1:29-49");
}

/* Behind the last update: what a job did after training is no step, but a backward pass that nobody used is the begin of
 * one, and so is whatever a job did that did not end by itself. */
static void test_rest(void)
{
	static const gchar turns[] = TURN(1, SGD(1)) TURN(2, SGD(2)) TURN(3, SGD(3));
	g_autofree gchar *saves = g_strconcat(MAIN, turns, "op save 50..60\n", NULL);
	g_autofree gchar *cut = g_strconcat(MAIN, turns, "op Backward 45..46 backward\n", NULL);
	g_autofree gchar *killed =
		g_strconcat("rank 0 end=killed:9 thread 1 main\n", turns, "op save 50..60\n", NULL);
	g_autofree gchar *at_once = g_strconcat("rank 0 end=killed:9 thread 1 main\n", turns, NULL);

	check_text(saves, TACHO_STEPS_OPTIMIZER, "0:10-19 1:19-29 2:29-39");
	check_text(cut, TACHO_STEPS_OPTIMIZER, "0:10-19 1:19-29 2:29-39 3:39-46?");
	check_text(killed, TACHO_STEPS_OPTIMIZER, "0:10-19 1:19-29 2:29-39 3:39-60?");
	check_text(at_once, TACHO_STEPS_OPTIMIZER, "0:10-19 1:19-29 2:29-39");
}

/* Updates of one class: `pattern` says for each how many operations it does; the steps that come of them. */
static guint n_steps_of(const gchar *pattern, gboolean has_names)
{
	g_autoptr(GString) text = g_string_new(MAIN);
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; pattern[i]; i++) {
		g_string_append_printf(text, "op a %u..%u\n", 10 * i, 10 * i + 1);
		g_string_append_printf(text, "annotation Optimizer.step#Adam%c.step %u..%u\n",
				       has_names ? pattern[i] : 'W', 10 * i + 2, 10 * i + 9);
		for (gint k = '0'; k < pattern[i]; k++)
			g_string_append_printf(text, "  op aten::mul %u.%d..%u.%d\n", 10 * i + 3,
					       2 * (k - '0'), 10 * i + 3, 2 * (k - '0') + 1);
	}
	timeline = correlated(text->str);
	return timeline->steps->len;
}

static gchar *repeated(const gchar *word, guint n)
{
	GString *text = g_string_new(NULL);

	while (n--)
		g_string_append(text, word);
	return g_string_free(text, FALSE);
}

/* Cycles of updates: nineteen of twenty must be as one cycle later, but for the first ones. */
static void test_cycles(void)
{
	g_autofree gchar *long_cycle = repeated("01020300", 4);
	g_autofree gchar *two = repeated("12", 42);
	g_autofree gchar *names = repeated("12", 10);

	g_assert_cmpuint(n_steps_of("1111111", FALSE), ==, 7);
	g_assert_cmpuint(n_steps_of("12121212", FALSE), ==, 4);
	g_assert_cmpuint(n_steps_of("112112112112", FALSE), ==, 4);
	g_assert_cmpuint(n_steps_of(long_cycle, FALSE), ==, 4);
	g_assert_cmpuint(n_steps_of("1212", FALSE), ==, 2);
	g_assert_cmpuint(n_steps_of("12", FALSE), ==, 2);
	g_assert_cmpuint(n_steps_of(names, TRUE), ==, 10);
	/* of 84 updates, 80 are held against the one a cycle later: two may be others, which are missed twice each */
	g_assert_cmpuint(n_steps_of(two, FALSE), ==, 42);
	two[30] = '4';
	two[35] = '5';
	g_assert_cmpuint(n_steps_of(two, FALSE), ==, 42);
	two[70] = '6';
	g_assert_cmpuint(n_steps_of(two, FALSE), ==, 84);
	two[70] = '1';
	two[0] = two[1] = '4'; /* they make the optimizer's state */
	g_assert_cmpuint(n_steps_of(two, FALSE), ==, 42);
}

/* Two equal models, whose optimizers take turns, told apart by the memory that they change; of the later updates nobody asked for
 * tensors, and what stands there is of any. */
static void test_unasked(void)
{
	g_autoptr(GString) text = g_string_new(MAIN);
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n_updates = 40, n_asked = 10, n_seen = 0;

	for (guint i = 0; i < n_updates; i++)
		g_string_append_printf(text,
				       "op a %u..%u\nannotation Optimizer.step#Adam.step %u..%u\n"
				       "  op aten::add_ %u..%u in=float32[8]@0x%u000\n",
				       10 * i, 10 * i + 1, 10 * i + 2, 10 * i + 9, 10 * i + 3,
				       10 * i + 4, 1 + (i < n_asked ? i % 2 : i % 3));
	timeline = timeline_from_text(text->str);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (g_strcmp0(tacho_slice_name(timeline, i), "aten::add_") == 0 &&
		    n_seen++ >= n_asked)
			timeline->slices.flags[i] |= TACHO_SLICE_UNASKED;
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, n_updates / 2);
	g_assert_cmpint(g_array_index(timeline->steps, TachoStep, 19).end_ns, ==, 399000000);
}

/* The middle of a run: of every 17th update alone somebody asked for tensors. `n_models` of them take turns. */
static void check_seldom_asked(guint n_models, guint n_updates)
{
	g_autoptr(GString) text = g_string_new(MAIN);
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n_seen = 0;

	for (guint i = 0; i < n_updates; i++)
		g_string_append_printf(text,
				       "op a %u..%u\nannotation Optimizer.step#Adam.step %u..%u\n"
				       "  op aten::add_ %u..%u in=float32[8]@0x%u000\n",
				       10 * i, 10 * i + 1, 10 * i + 2, 10 * i + 9, 10 * i + 3,
				       10 * i + 4, 1 + (i % 17 ? i % 5 : i % n_models));
	timeline = timeline_from_text(text->str);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (g_strcmp0(tacho_slice_name(timeline, i), "aten::add_") == 0 && n_seen++ % 17)
			timeline->slices.flags[i] |= TACHO_SLICE_UNASKED;
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, n_updates / n_models);
}

static void test_seldom_asked(void)
{
	check_seldom_asked(1, 60);
	check_seldom_asked(2, 120);
	check_seldom_asked(3, 300);
}

/* Control steps count among the updates, and may stand for any of a cycle. */
static void test_controls(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated(MAIN TURN(1, SGD(1)) TURN(2, SGD(2)) "mark control_step 39\n"
								"process 77 thread 77\n"
								"mark control_step 44\n");
	g_autofree gchar *controls = NULL;

	check_rank(timeline, 0, "0:10-19 1:19-29");
	controls = steps_text(timeline, timeline->control_steps, 0);
	g_assert_cmpstr(controls, ==, "2:29-39");
}

/* --- ranks beside each other -------------------------------------------------------------------- */

/* A rank whose recording began late counts on from the step of the first that ends next to its own; one that was there from
 * the first step on does not, and control steps have the same numbers. */
static void test_late(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"rank 0 end=exited:0 thread 1 main\n" /* late */
		TURN(4, SGD(4)) "mark control_step 59\n" TURN(
			6, SGD(6)) "rank 1 end=exited:0 thread 2 main\n" TURN(1, SGD(1))
			TURN(2, SGD(2)) TURN(3, SGD(3)) TURN(4, SGD(4)) TURN(5, SGD(5))
				TURN(6, SGD(6)) "rank 2 end=exited:0 thread 3 "
						"main\n" /* there when the first step ended */
						"op early 19..20\n" TURN(2, SGD(2))
							TURN(3, SGD(3)));
	g_autofree gchar *controls = steps_text(timeline, timeline->control_steps, 0);

	check_rank(timeline, 1, "0:10-19 1:19-29 2:29-39 3:39-49 4:49-59 5:59-69");
	check_rank(timeline, 0, "3:40-49? 5:59-69");
	g_assert_cmpstr(controls, ==, "4:49-59");
	check_rank(timeline, 2, "0:20-29 1:29-39");
}

/* A rank that marks nothing has the steps of the one that began first; each begins with what the rank then does next, of
 * which parts do not count. */
static void test_lent(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"rank 0 end=exited:0 thread 1 main\n"
		"op serve 5..25\n  op inner 12..13\n  op inner 20..21\n"
		"op serve 26..30\nop serve 39..60\n  op inner 45..46\n"
		"rank 1 end=exited:0 thread 2 main\n" TURN(2, SGD(2)) TURN(3, SGD(3))
			TURN(4, SGD(4)) "rank 2 end=exited:0 thread 3 main\n" TURN(1, SGD(1))
				TURN(2, SGD(2)) TURN(3, SGD(3)) TURN(4, SGD(4)));

	check_rank(timeline, 2, "0:10-19 1:19-29 2:29-39 3:39-49");
	check_rank(timeline, 0, "0:26-26 1:26-39 2:39-39 3:39-49");
}

/* --- the main thread ---------------------------------------------------------------------------- */

/* Whose loop counts: a thread with the process's number is taken for eight others. */
static guint n_turns(guint n_main, guint n_other)
{
	g_autoptr(GString) text = g_string_new("rank 0 pid=1 end=exited:0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < n_main; i++)
		g_string_append_printf(text, "op a %u..%u\nop b %u..%u\nop c %u..%u\n", 800 * i,
				       800 * i + 100, 800 * i + 200, 800 * i + 300, 800 * i + 400,
				       800 * i + 700);
	g_string_append(text, "thread 2\n");
	for (guint i = 0; i < n_other; i++)
		g_string_append_printf(text, "op d %u..%u\nop e %u..%u\nop f %u..%u\n", 90 * i,
				       90 * i + 10, 90 * i + 20, 90 * i + 30, 90 * i + 40,
				       90 * i + 70);
	timeline = correlated(text->str);
	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_PERIOD);
	return timeline->steps->len;
}

static void test_main_thread(void)
{
	g_assert_cmpuint(n_turns(8, 8), ==, 8);
	g_assert_cmpuint(n_turns(8, 64), ==, 8);
	g_assert_cmpuint(n_turns(8, 72), ==, 72);
}

/* A loop whose last turn was cut. */
static void test_cut_loop(void)
{
	check_text(MAIN "op a 0..1\nop b 1..2\nop c 2..3\nop d 3..4\nop a 10..11\nop b 11..12\nop "
			"c 12..13\n"
			"op d 13..14\nop a 20..21\nop b 21..22\nop c 22..23\nop d 23..24\nop a "
			"30..31\nop b 31..32\n",
		   TACHO_STEPS_PERIOD, "0:0-10 1:10-20 2:20-30 3:30-32?");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/step_sources/regions", test_regions);
	g_test_add_func("/step_sources/other_processes", test_other_processes);
	g_test_add_func("/step_sources/outside", test_outside);
	g_test_add_func("/step_sources/empty_end", test_empty_end);
	g_test_add_func("/step_sources/marks", test_marks);
	g_test_add_func("/step_sources/numbers", test_numbers);
	g_test_add_func("/step_sources/calls", test_calls);
	g_test_add_func("/step_sources/first_start", test_first_start);
	g_test_add_func("/step_sources/rest", test_rest);
	g_test_add_func("/step_sources/cycles", test_cycles);
	g_test_add_func("/step_sources/unasked", test_unasked);
	g_test_add_func("/step_sources/seldom_asked", test_seldom_asked);
	g_test_add_func("/step_sources/controls", test_controls);
	g_test_add_func("/step_sources/late", test_late);
	g_test_add_func("/step_sources/lent", test_lent);
	g_test_add_func("/step_sources/main_thread", test_main_thread);
	g_test_add_func("/step_sources/cut_loop", test_cut_loop);
	return g_test_run();
}
