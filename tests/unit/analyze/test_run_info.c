#include <tacho/info.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

static const gchar job[] =
	"world 3\n"
	"rank 0 host=a pid=10 end=exited:3 cost_ns=1000000 dropped=5 thread 10 main\n"
	"  op f 0..100\n"
	"  op abandoned 90..\n"
	"rank 1 host=b pid=11 end=killed:9 thread 11 main\n"
	"  op g 0..50\n"
	"  op outer 60..\n"
	"    op inner 70..\n"
	"  op end 80..81\n"
	"process 12 end=running thread 12 worker\n"
	"  op h 0..80\n"
	"problem killed_process 1 \"rank 1\"\n";

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job);
	g_autoptr(TachoInfo) info = NULL;

	for (guint i = 0; i < 4; i++)
		add_step(timeline, 0, i, 20 * i, 20 * (i + 1));
	add_step(timeline, 1, 0, 0, 20);
	add_step(timeline, 1, 1, 20, 80);
	g_array_index(timeline->steps, TachoStep, 5).is_complete = FALSE;
	info = tacho_info_new(timeline);
	g_assert_cmpuint(info->n_hosts, ==, 2);
	g_assert_cmpuint(info->n_ranks, ==, 2);
	g_assert_cmpint(info->expected_ranks, ==, 3);
	g_assert_cmpuint(info->n_steps, ==, 4);
	g_assert_cmpfloat(info->step_median_ms, ==, 20);
	g_assert_cmpuint(info->trust_score, <, 100);
	g_assert_cmpuint(tacho_table_n_rows(info->problems), ==, 1);

	g_assert_cmpuint(tacho_table_n_rows(info->processes), ==, 3);
	EXPECT(info->processes, 0, "exit", 3);
	EXPECT(info->processes, 0, "dropped_events", 5);
	EXPECT(info->processes, 0, "record_cost_pct", 1);
	EXPECT(info->processes, 1, "exit", -9);
	g_assert_cmpstr(tacho_table_cell_text(info->processes, 1, "ended"), ==, "signal 9");
	g_assert_cmpstr(tacho_table_cell_text(info->processes, 2, "end"), ==, "running");
	g_assert_true(isnan(tacho_table_cell_number(info->processes, 2, "exit")));

	/* Nothing is listed for the process that exited in an orderly way. */
	g_assert_cmpuint(tacho_table_n_rows(info->open_slices), ==, 2);
	g_assert_cmpstr(tacho_table_cell_text(info->open_slices, 0, "name"), ==, "outer");
	EXPECT(info->open_slices, 0, "rank", 1);
	EXPECT(info->open_slices, 0, "start_ms", 60);
	g_assert_cmpstr(tacho_table_cell_text(info->open_slices, 1, "name"), ==, "inner");
	EXPECT(info->open_slices, 1, "depth", 1);
}

/* Ranks of two hosts and one of a third, which has nothing to do with them. */
static void test_clocks(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 host=a thread 1\n"
							       "rank 1 host=b thread 1\n"
							       "rank 2 host=c thread 1\n"
							       "rank 3 host=b thread 1\n"
							       "rank 4 host=b thread 1\n");
	TachoClock *clocks = (TachoClock *)timeline->clocks->data;
	g_autoptr(TachoInfo) info = NULL;

	g_assert_cmpuint(timeline->clocks->len, ==, 3);
	clocks[1] = (TachoClock){ .host = clocks[1].host,
				  .state = TACHO_CLOCK_ALIGNED,
				  .evidence = TACHO_CLOCK_BY_COLLECTIVES | TACHO_CLOCK_BY_MESSAGES,
				  .offset_ns = -5000250000,
				  .drift = 50e-6,
				  .uncertainty_ns = 12500,
				  .inner_uncertainty_ns = 7500,
				  .drift_uncertainty = 2e-6,
				  .n_bounds = 40,
				  .n_contradicted = 1 };
	clocks[2].state = TACHO_CLOCK_APART;
	clocks[2].reference = 2;
	info = tacho_info_new(timeline);
	g_assert_cmpuint(tacho_table_n_rows(info->clocks), ==, 3);
	g_assert_cmpstr(tacho_table_cell_text(info->clocks, 0, "from"), ==, "reference");
	EXPECT(info->clocks, 0, "offset_ms", 0);
	g_assert_cmpstr(tacho_table_cell_text(info->clocks, 1, "ranks"), ==, "1, 3-4");
	g_assert_cmpstr(tacho_table_cell_text(info->clocks, 1, "relative_to"), ==, "a");
	g_assert_cmpstr(tacho_table_cell_text(info->clocks, 1, "from"), ==,
			"collectives and messages");
	EXPECT(info->clocks, 1, "offset_ms", -5000.25);
	EXPECT(info->clocks, 1, "drift_ppm", 50);
	EXPECT(info->clocks, 1, "uncertainty_us", 12.5);
	EXPECT(info->clocks, 1, "inner_uncertainty_us", 7.5);
	EXPECT(info->clocks, 1, "drift_uncertainty_ppm", 2);
	EXPECT(info->clocks, 1, "bounds", 40);
	EXPECT(info->clocks, 1, "contradicted", 1);
	g_assert_cmpstr(tacho_table_cell_text(info->clocks, 2, "from"), ==, "nothing");
	g_assert_cmpstr(tacho_table_cell_text(info->clocks, 2, "relative_to"), ==, "c");
	g_assert_true(isnan(tacho_table_cell_number(info->clocks, 2, "offset_ms")));
	g_assert_true(isnan(tacho_table_cell_number(info->clocks, 2, "uncertainty_us")));
}

static void test_empty(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoInfo) info = tacho_info_new(timeline);
	gchar *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	g_assert_cmpuint(info->n_steps, ==, 0);
	g_assert_true(isnan(info->step_median_ms));
	tacho_info_print_json(info, out);
	fclose(out);
	g_assert_nonnull(strstr(text, "\"step_median_ms\":null"));
	g_assert_nonnull(strstr(text, "\"trust\":{\"score\":"));
	free(text);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/run_info/by_hand", test_by_hand);
	g_test_add_func("/run_info/clocks", test_clocks);
	g_test_add_func("/run_info/empty", test_empty);
	return g_test_run();
}
