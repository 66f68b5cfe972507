/* fuzz_diff: two timelines of whatever bytes, compared in every view, and by the order of what they did. The first byte is the filter, the next two how many
 * bytes are the first timeline (byte_timeline.h). A run compared with itself has no difference. */
#include <math.h>
#include <stdio.h>

#include <tacho/diff.h>
#include <tacho/run_order.h>

#include "byte_timeline.h"
#include "fuzz_input.h"

enum { N_HEAD_BYTES = 3, ALL_VIEWS = (1 << TACHO_N_DIFF_VIEWS) - 1 };

/* What there is of a side. */
struct side {
	TachoDiffRun *run;
	TachoRunOrder *order;
};

static struct side sum_up(const guint8 *bytes, gsize n, const TachoFilter *filter)
{
	g_autoptr(TachoTimeline) timeline = byte_timeline_new(bytes, n);
	g_autoptr(GError) error = NULL;
	struct side side = { tacho_diff_run_new(timeline, filter, ALL_VIEWS, "run", &error), NULL };

	g_assert_true((side.run == NULL) == (error != NULL));
	side.order = tacho_run_order_new(timeline, filter, "run", NULL);
	return side;
}

static void free_side(struct side *side)
{
	tacho_diff_run_free(side->run);
	tacho_run_order_free(side->order);
}

static void compare_orders(const struct side *first, const struct side *second, FILE *out)
{
	TachoTable *table;

	if (!first->order || !second->order)
		return;
	table = tacho_run_order_table(first->order, second->order);
	tacho_table_print(table, out, 100, FALSE);
	tacho_table_free(table);
	table = tacho_run_order_table(first->order, first->order);
	g_assert_cmpuint(tacho_run_order_n_different(table), ==, 0);
	tacho_table_free(table);
}

static void compare(TachoDiffSide base, TachoDiffSide other, FILE *out)
{
	const TachoTable *tables[TACHO_N_DIFF_VIEWS];
	TachoComparison comparison = { other, tables, TACHO_N_DIFF_VIEWS };

	for (guint i = 0; i < TACHO_N_DIFF_VIEWS; i++) {
		TachoTable *table = tacho_diff_table((TachoDiffView)i, base, other);

		g_assert_nonnull(table);
		tacho_table_print(table, out, 100, FALSE);
		tables[i] = table;
	}
	tacho_diff_print_json(base, &comparison, 1, out);
	for (guint i = 0; i < TACHO_N_DIFF_VIEWS; i++)
		tacho_table_free((TachoTable *)tables[i]);
}

static void check_itself(TachoDiffSide side)
{
	TachoStepDifference difference = tacho_diff_step_time(side, side);

	g_assert_true(isnan(difference.difference_ms) || difference.difference_ms == 0);
	g_assert_false(difference.is_significant);
}

static void compare_sides(const struct side *first, const struct side *second)
{
	const TachoDiffRun *both[] = { first->run, second->run };
	FILE *out = fopen("/dev/null", "w");

	compare_orders(first, second, out);
	if (first->run && second->run) {
		compare((TachoDiffSide){ both, 1 }, (TachoDiffSide){ both + 1, 1 }, out);
		compare((TachoDiffSide){ both, 2 }, (TachoDiffSide){ both, 2 }, out);
		check_itself((TachoDiffSide){ both, 1 });
		check_itself((TachoDiffSide){ both, 2 });
	}
	fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TachoFilter filter = TACHO_FILTER_INIT;
	struct side first, second;
	size_t n;

	if (size < N_HEAD_BYTES)
		return 0;
	filter.rank = (gint32)(data[0] & 3) - 1;
	filter.is_whole = data[0] >> 2 & 1;
	if (!filter.is_whole)
		filter.first_step = (gint64)(data[0] >> 3 & 3) - 1;
	n = MIN((size_t)(data[1] | data[2] << 8), size - N_HEAD_BYTES);
	first = sum_up(data + N_HEAD_BYTES, n, &filter);
	second = sum_up(data + N_HEAD_BYTES + n, size - N_HEAD_BYTES - n, &filter);
	compare_sides(&first, &second);
	free_side(&first);
	free_side(&second);
	return 0;
}
