/* Which processes share a clock, and what becomes of their times. */
#include "trace/clock_table.h"

#include <tacho/timeline.h>

#include "run_builder.h"

/* One process with one op; all but pid and rank as given. */
static void add_process(const gchar *folder, struct run_builder_process process, guint64 begin)
{
	struct run_builder *run = run_builder_new(folder, &process);

	run_builder_stream(run, process.pid);
	run_builder_op(run, run_builder_class(run, TRACE_KIND_OP, "op"), begin, begin + 1000, -1);
	run_builder_end(run);
}

static TachoTimeline *open_pair(struct run_builder_process first, guint64 first_begin,
				struct run_builder_process second, guint64 second_begin)
{
	g_autoptr(GError) error = NULL;
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", &error);
	TachoTimeline *timeline;

	g_assert_no_error(error);
	first.pid = 10;
	second.pid = 11;
	second.rank = 1;
	add_process(folder, first, first_begin);
	add_process(folder, second, second_begin);
	timeline = tacho_timeline_open((const gchar *const *)&folder, 1, &error);
	g_assert_no_error(error);
	run_builder_remove(folder);
	return timeline;
}

static guint32 clock_of(const TachoTimeline *timeline, guint process)
{
	return g_array_index(timeline->processes, TachoProcess, process).clock;
}

/* Two calibrations of one counter, the second 2 ppm faster: a moment's ticks are one time. */
static void test_two_recordings(void)
{
	struct run_builder_process first = { .clock_source = "tsc",
					     .frequency_hz = 2000000000,
					     .offset_s = 1700000000 };
	struct run_builder_process second = first;
	g_autoptr(TachoTimeline) timeline = NULL;

	second.frequency_hz = 1999996000;
	second.boot_id = first.boot_id = "b";
	second.host = "a container";
	timeline = open_pair(first, 200000000000, second, 200000002000);
	g_assert_cmpuint(timeline->clocks->len, ==, 1);
	g_assert_cmpuint(clock_of(timeline, 1), ==, 0);
	g_assert_cmpint(timeline->slices.start_ns[1] - timeline->slices.start_ns[0], ==, 1000);
	g_assert_cmpint(timeline->slices.duration_ns[1], ==, 500);
}

/* A clock that a time namespace has set 100 s ahead. */
static void test_time_namespace(void)
{
	struct run_builder_process first = { .clock_source = "monotonic", .offset_s = 1700000000 };
	struct run_builder_process second = first;
	g_autoptr(TachoTimeline) timeline = NULL;

	second.monotonic_ahead_ns = 100000000000;
	second.offset_s -= 100;
	second.offset_ticks = 70000; /* read later, and with some haste */
	timeline = open_pair(first, 5000, second, 100000007000);
	g_assert_cmpuint(timeline->clocks->len, ==, 1);
	g_assert_cmpint(timeline->slices.start_ns[1] - timeline->slices.start_ns[0], ==, 2000);
}

static void assert_two_clocks(struct run_builder_process first, struct run_builder_process second)
{
	g_autoptr(TachoTimeline) timeline = open_pair(first, 2000, second, 2000);

	g_assert_cmpuint(timeline->clocks->len, ==, 2);
	g_assert_cmpuint(clock_of(timeline, 0), ==, 0);
	g_assert_cmpuint(clock_of(timeline, 1), ==, 1);
	g_assert_cmpuint(g_array_index(timeline->clocks, TachoClock, 1).reference, ==, 1);
	/* Times are as each calibration has it. */
	g_assert_cmpint(timeline->slices.start_ns[1] - timeline->slices.start_ns[0], ==,
			second.offset_ticks - first.offset_ticks);
}

static void test_different(void)
{
	struct run_builder_process first = { .clock_source = "monotonic",
					     .boot_id = "b",
					     .offset_s = 1700000000 };
	struct run_builder_process second = first;

	second.boot_id = "c"; /* another machine, whatever its name */
	assert_two_clocks(first, second);
	second = first;
	second.clock_source = "tsc";
	assert_two_clocks(first, second);
	second = first;
	second.offset_ticks = 1000000001; /* a copy of the machine: one boot, clocks apart */
	assert_two_clocks(first, second);
	first.clock_source = NULL; /* nobody knows what the ticks are */
	second = first;
	second.offset_ticks = 1;
	assert_two_clocks(first, second);
	first.boot_id = second.boot_id = "";
	second = first;
	second.host = "other";
	assert_two_clocks(first, second);
}

/* What no time can be made of does not make one. */
static void test_absurd(void)
{
	struct run_builder_process first = { .clock_source = "monotonic",
					     .boot_id = "b",
					     .offset_s = 1 };
	struct run_builder_process second = first;
	g_autoptr(TachoTimeline) timeline = NULL;

	first.monotonic_ahead_ns = -G_MAXINT64;
	second.monotonic_ahead_ns = G_MAXINT64;
	timeline = open_pair(first, 2000, second, 2000);
	g_assert_cmpuint(timeline->clocks->len, ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock-table/two-recordings", test_two_recordings);
	g_test_add_func("/clock-table/time-namespace", test_time_namespace);
	g_test_add_func("/clock-table/different", test_different);
	g_test_add_func("/clock-table/absurd", test_absurd);
	return g_test_run();
}
