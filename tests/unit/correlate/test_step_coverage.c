/* step_coverage: at least half of what devices did, by time, and of what threads did, by count. */
#include "correlate/step_coverage.h"

#include "timeline_text.h"

/* Whether steps at 0..100 and 200..300 us hold most of what rank 0 did. */
static gboolean covers(const gchar *text)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(TachoStep));

	for (gint64 i = 0; i < 2; i++) {
		TachoStep step = { .start_ns = i * 200000, .end_ns = i * 200000 + 100000 };

		g_array_append_val(steps, step);
	}
	return step_coverage_is_most(timeline, 0, steps);
}

/* Of operations two lie in steps, and two do not. */
#define HALF                                                                                       \
	"unit us\nrank 0 thread 1 main\nop a 0..10\nop b 110..120\nop c 200..210\nop d 300..310\n"

static void test_half(void)
{
	g_assert_true(covers(HALF));
	g_assert_false(covers(HALF "op e 320..330\n"));
	g_assert_true(covers(HALF "op e 320..330\nthread 2 other\nop f 299..400\n"));
}

/* Regions, synchronisation and steps are no work, wherever they are. */
static void test_no_work(void)
{
	g_assert_true(covers(HALF "annotation around 320..330\n"));
	g_assert_true(covers(HALF "sync cudaDeviceSynchronize 320..330\n"));
}

/* A device's work counts by its time: 60 of 119 us, and 60 of 121. */
static void test_device(void)
{
	g_assert_true(covers(HALF "stream 7\nkernel k 30..90\nkernel k 110..169\n"));
	g_assert_false(covers(HALF "stream 7\nkernel k 30..90\nkernel k 110..171\n"));
}

/* What another process did is not asked. */
static void test_other_process(void)
{
	g_assert_true(covers(HALF "process 77\nthread 7 worker\nop e 320..330\nop f 340..350\n"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/step_coverage/half", test_half);
	g_test_add_func("/step_coverage/no_work", test_no_work);
	g_test_add_func("/step_coverage/device", test_device);
	g_test_add_func("/step_coverage/other_process", test_other_process);
	return g_test_run();
}
