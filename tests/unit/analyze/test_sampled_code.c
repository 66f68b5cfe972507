/* The code view where functions were sampled: operations are at the line that samples saw when they began, and what no
 * operation took is the line's own, or waiting, or data loading. */
#include <tacho/analyze.h>

#include "timeline_text.h"

static const gchar job[] = "rank 0 pid=10 thread 10 main\n"
			   "  annotation step 0..100 id=1\n"
			   "    wait 'DataLoader workers' 2..8\n"
			   "    op aten::mm 10..30\n"
			   "      op aten::inner 15..20\n"
			   "    op aten::relu 45..50\n"
			   "thread 12 helper\n"
			   "sampled 10 'main, sampled'\n"
			   "  function 'train.py(5): main' 0..100\n"
			   "    function 'loader.py(7): next' 0..10\n"
			   "      wait [waiting] 1..10\n"
			   "    function 'net.py(3): forward' 10..40\n"
			   "    function 'net.py(9): loss' 40..100\n"
			   "      wait [waiting] 60..90\n"
			   "sampled 12 'helper, sampled'\n"
			   "  function 'helper.py(1): run' 0..100\n"
			   "    wait [waiting] 0..96\n";

static gdouble self_ms(const TachoTable *table, const gchar *name)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (g_strcmp0(tacho_table_cell_text(table, row, "name"), name) == 0)
			return tacho_table_cell_number(table, row, "self_ms");
	g_error("no row '%s'", name);
}

static gdouble total_ms(const TachoTable *table, const gchar *name)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (g_strcmp0(tacho_table_cell_text(table, row, "name"), name) == 0)
			return tacho_table_cell_number(table, row, "total_ms");
	g_error("no row '%s'", name);
}

#define MAIN "train.py(5): main"

static void test_lines(void)
{
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTimeline) timeline = correlated(job);
	g_autoptr(TachoTable) table = NULL;

	filter.is_whole = TRUE;
	table = tacho_view_code(timeline, &filter);
	g_assert_cmpfloat(self_ms(table, MAIN "/net.py(3): forward/aten::mm"), ==, 15);
	g_assert_cmpfloat(self_ms(table, MAIN "/net.py(3): forward/aten::inner"), ==, 5);
	g_assert_cmpfloat(self_ms(table, MAIN "/net.py(9): loss/aten::relu"), ==, 5);
	/* 10..40 less the product, 40..60 and 90..100 less relu */
	g_assert_cmpfloat(self_ms(table, MAIN "/net.py(3): forward"), ==, 10);
	g_assert_cmpfloat(self_ms(table, MAIN "/net.py(9): loss"), ==, 25);
	g_assert_cmpfloat(self_ms(table, MAIN "/net.py(9): loss/[waiting]"), ==, 30);
	/* waiting for data is said once: 2..8 of 1..10 */
	g_assert_cmpfloat(self_ms(table, MAIN "/loader.py(7): next/[data loading]"), ==, 6);
	g_assert_cmpfloat(self_ms(table, MAIN "/loader.py(7): next/[waiting]"), ==, 3);
	g_assert_cmpfloat(self_ms(table, MAIN "/loader.py(7): next"), ==, 1);
	/* all of the thread's time is somewhere */
	g_assert_cmpfloat(total_ms(table, MAIN), ==, 100);
	/* of other threads only what they do */
	g_assert_cmpfloat(total_ms(table, "helper.py(1): run"), ==, 4);
}

/* Stretches outside of the chosen steps count nothing. */
static void test_steps(void)
{
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job);
	TachoStep steps[] = {
		{ .number = 0, .start_ns = 0, .end_ns = 20000000, .is_complete = TRUE },
		{ .number = 1, .start_ns = 20000000, .end_ns = 50000000, .is_complete = TRUE }
	};
	g_autoptr(TachoTable) table = NULL;

	g_array_append_vals(timeline->steps, steps, G_N_ELEMENTS(steps));
	filter.first_step = filter.last_step = 1;
	table = tacho_view_code(timeline, &filter);
	g_assert_cmpfloat(self_ms(table, MAIN "/net.py(3): forward"), ==, 10);
	g_assert_cmpfloat(self_ms(table, MAIN "/net.py(9): loss"), ==, 5);
	g_assert_cmpfloat(total_ms(table, MAIN), ==, 20); /* aten::mm began before */
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/code_view/sampled/lines", test_lines);
	g_test_add_func("/code_view/sampled/steps", test_steps);
	return g_test_run();
}
