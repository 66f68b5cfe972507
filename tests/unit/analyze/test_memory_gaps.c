/* What is held across control steps, in which nobody sees it go. Times are milliseconds. */
#include "analyze/memory_blocks.h"
#include "timeline_text.h"

/* Control steps from 10 to 20: the second block of aten::mm goes in them, and its address is of another block at 40. */
static const gchar text[] = "rank 0 thread 1 main\n"
			    "  op aten::mm 0..5\n"
			    "  alloc 1 address=4096 bytes=100\n"
			    "  op aten::clone 5..7\n"
			    "  alloc 6 address=8192 bytes=100\n"
			    "  free 8 address=4096 bytes=100\n"
			    "  op aten::mm 9..10\n"
			    "  alloc 9 address=4096 bytes=100\n"
			    "  op aten::mm 20..25\n"
			    "  alloc 21 address=16384 bytes=100\n"
			    "  free 28 address=16384 bytes=100\n"
			    "  free 40 address=4096 bytes=100\n"
			    "  op aten::add 41..42\n";

enum { FIRST, STATE, PARTED, LAST, N_BLOCKS };

static void assert_ends(const TachoTimeline *timeline, gint64 parted_ms)
{
	const gint64 ends_ms[N_BLOCKS] = { 8, -1, parted_ms, 28 };
	g_autoptr(GArray) blocks = memory_blocks_of_process(timeline, 0);

	g_assert_cmpuint(blocks->len, ==, N_BLOCKS);
	for (guint i = 0; i < N_BLOCKS; i++) {
		gint64 end_ns = g_array_index(blocks, struct memory_block, i).end_ns;

		g_assert_cmpint(end_ns, ==, ends_ms[i] < 0 ? G_MAXINT64 : ends_ms[i] * 1000000);
	}
}

static void test_control_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	TachoStep steps[] = { { .number = 2, .start_ns = 10000000, .end_ns = 15000000 },
			      { .number = 3, .start_ns = 15000000, .end_ns = 20000000 } };

	assert_ends(timeline, 40);
	g_array_append_vals(timeline->control_steps, steps, G_N_ELEMENTS(steps));
	assert_ends(timeline, 10);
}

/* It is no longer held than its like was. */
static void test_short_lived(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::mm 0..5\n"
							       "  alloc 1 address=4096 bytes=100\n"
							       "  free 90 address=4096 bytes=100\n"
							       "  op aten::mm 95..96\n"
							       "  alloc 95 address=8192 bytes=100\n"
							       "  op aten::add 120..122\n");
	TachoStep step = { .number = 2, .start_ns = 100000000, .end_ns = 110000000 };
	g_autoptr(GArray) blocks = NULL;

	g_array_append_val(timeline->control_steps, step);
	blocks = memory_blocks_of_process(timeline, 0);
	g_assert_cmpuint(blocks->len, ==, 2);
	g_assert_cmpint(g_array_index(blocks, struct memory_block, 1).end_ns, ==, G_MAXINT64);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/memory_gaps/control_steps", test_control_steps);
	g_test_add_func("/memory_gaps/short_lived", test_short_lived);
	return g_test_run();
}
