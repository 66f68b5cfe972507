/* The line that is fitted to transfers, and what rings send. */
#include "cost/transfer_cost.h"
#include "trace/operation.h"

static void test_exact_line(void)
{
	struct transfer_sample samples[] = { { 3000, 1600 }, { 1000, 600 }, { 2000, 1100 } };
	struct transfer_cost cost;

	transfer_cost_fit(&cost, samples, 3, G_MAXDOUBLE); /* 100 + 0.5 x */
	g_assert_cmpfloat_with_epsilon(cost.ns_per_byte, 0.5, 1e-9);
	g_assert_cmpfloat_with_epsilon(cost.fixed_ns, 100, 1e-6);
	g_assert_cmpfloat_with_epsilon(cost.error_share, 0, 1e-9);
	g_assert_cmpuint(cost.n_sizes, ==, 3);
	g_assert_cmpfloat_with_epsilon(transfer_cost_ns(&cost, 5000), 2600, 1e-6);
}

/* One transfer in three was held up, by a hundred times its time. */
static void test_outliers(void)
{
	struct transfer_sample samples[15];
	struct transfer_cost cost;

	for (guint i = 0; i < 15; i++) {
		gdouble bytes = 1000.0 * (1 + i / 3);

		samples[i] = (struct transfer_sample){ bytes,
						       (100 + bytes / 2) * (i % 3 == 2 ? 100 : 1) };
	}
	transfer_cost_fit(&cost, samples, 15, G_MAXDOUBLE);
	g_assert_cmpfloat_with_epsilon(cost.ns_per_byte, 0.5, 1e-9);
	g_assert_cmpfloat_with_epsilon(cost.fixed_ns, 100, 1e-6);
}

static void test_one_size(void)
{
	struct transfer_sample samples[] = { { 1000, 500 }, { 1000, 700 }, { 1000, 600 } };
	struct transfer_cost cost;

	transfer_cost_fit(&cost, samples, 3, G_MAXDOUBLE);
	g_assert_cmpuint(cost.n_sizes, ==, 1);
	g_assert_cmpfloat_with_epsilon(cost.ns_per_byte, 0.6, 1e-9);
	g_assert_cmpfloat(cost.fixed_ns, ==, 0);
}

/* Two sizes that hardly differ say nothing of what is fixed, whatever the difference of their times:
 * 500 ns for 1000 bytes, 560 for 1010, would be 6 ns a byte. The larger counts more. */
static void test_narrow_sizes(void)
{
	struct transfer_sample samples[] = { { 1000, 500 }, { 1010, 560 } };
	struct transfer_cost cost;

	transfer_cost_fit(&cost, samples, 2, G_MAXDOUBLE);
	g_assert_cmpuint(cost.n_sizes, ==, 1);
	g_assert_cmpfloat_with_epsilon(cost.ns_per_byte, 560 / 1010.0, 1e-9);
	g_assert_cmpfloat(cost.fixed_ns, ==, 0);
}

/* Three pairs of neighbours say -100, three of far ones 0.5: the far ones count. */
static void test_far_pairs_count(void)
{
	struct transfer_sample samples[] = {
		{ 1000, 1500 }, { 1001, 1400 }, { 3000, 2500 }, { 3001, 2400 }
	};
	struct transfer_cost cost;

	transfer_cost_fit(&cost, samples, 4, G_MAXDOUBLE);
	g_assert_cmpfloat_with_epsilon(cost.ns_per_byte, 0.5, 1e-2);
	g_assert_cmpfloat_with_epsilon(cost.fixed_ns, 950, 10);
}

/* A fixed time that is known to be at most 40: the rest is 2, 1.5 and 1.33 ns a byte, and
 * half of the bytes are on either side of 1.42. */
static void test_bounded(void)
{
	struct transfer_sample samples[] = { { 500, 1040 }, { 1000, 1540 }, { 1500, 2040 } };
	struct transfer_cost cost;

	transfer_cost_fit(&cost, samples, 3, 40); /* 540 + x otherwise */
	g_assert_cmpfloat_with_epsilon(cost.fixed_ns, 40, 1e-9);
	g_assert_cmpfloat_with_epsilon(cost.ns_per_byte, (1.5 + 4 / 3.0) / 2, 1e-9);
}

/* Larger transfers that took less time: a fixed time, not a negative price a byte. */
static void test_falling(void)
{
	struct transfer_sample samples[] = { { 1000, 500 }, { 2000, 400 }, { 3000, 300 } };
	struct transfer_cost cost;

	transfer_cost_fit(&cost, samples, 3, G_MAXDOUBLE);
	g_assert_cmpfloat(cost.ns_per_byte, ==, 0);
	g_assert_cmpfloat_with_epsilon(cost.fixed_ns, 400, 1e-6);
}

static void test_nothing(void)
{
	struct transfer_sample samples[] = { { 0, 500 }, { 2000, 0 } };
	struct transfer_cost cost;

	transfer_cost_fit(&cost, samples, 2, G_MAXDOUBLE);
	g_assert_cmpuint(cost.n_sizes, ==, 0);
	g_assert_cmpfloat(cost.ns_per_byte, ==, 0);
}

static void test_wire_bytes(void)
{
	g_assert_cmpfloat(transfer_wire_bytes(OPERATION_ALL_REDUCE, 1000, 2), ==, 1000);
	g_assert_cmpfloat(transfer_wire_bytes(OPERATION_ALL_REDUCE, 1000, 4), ==, 1500);
	g_assert_cmpfloat(transfer_wire_bytes(OPERATION_ALL_GATHER, 1000, 4), ==, 3000);
	g_assert_cmpfloat(transfer_wire_bytes(OPERATION_REDUCE_SCATTER, 1000, 4), ==, 750);
	g_assert_cmpfloat(transfer_wire_bytes(OPERATION_BROADCAST, 1000, 4), ==, 1000);
	g_assert_cmpfloat(transfer_wire_bytes(OPERATION_ALL_REDUCE, 1000, 1), ==, 0);
}

static void test_latency(void)
{
	/* Small messages: two segments, for the reduction and for the gathering, for each neighbour. */
	g_assert_cmpfloat(transfer_latencies(OPERATION_ALL_REDUCE, 8, 2), ==, 4);
	g_assert_cmpfloat(transfer_latencies(OPERATION_ALL_REDUCE, 8, 4), ==, 12);
	/* 8 MiB over 2 ranks: four segments of a chunk; a byte more: five. */
	g_assert_cmpfloat(transfer_latencies(OPERATION_ALL_REDUCE, 8 << 20, 2), ==, 8);
	g_assert_cmpfloat(transfer_latencies(OPERATION_ALL_REDUCE, (8 << 20) + 1, 2), ==, 10);
	g_assert_cmpfloat(transfer_latencies(OPERATION_ALL_REDUCE, 8, 1), ==, 0);
	g_assert_cmpfloat(transfer_latencies(OPERATION_ALL_GATHER, 8, 4), ==, 6);
	/* Ready, then to one, from these to two, from these to one more. */
	g_assert_cmpfloat(transfer_latencies(OPERATION_BROADCAST, 8 << 20, 2), ==, 2);
	g_assert_cmpfloat(transfer_latencies(OPERATION_BROADCAST, 8, 5), ==, 4);
}

/* A ring of n ranks and s segments of a rank's chunk: two phases of p = (n - 1) s / 2 pairs, of which each but the first takes
 * max(2 w, w + 2 latency), and the first, with the way there, 2 w + 2 latency. */
static gdouble phases_ns(guint32 n_ranks, gdouble n_segments, gdouble latency_ns, gdouble w)
{
	gdouble n_pairs = (n_ranks - 1) * n_segments / 2;

	return 2 * ((n_pairs - 1) * MAX(2 * w, w + 2 * latency_ns) + 2 * w + 2 * latency_ns);
}

static void test_hidden(void)
{
	const enum collective_operation operation = OPERATION_ALL_REDUCE;

	for (guint32 n = 3; n <= 64; n *= 2)
		for (gdouble latency_ns = 0; latency_ns <= 4000; latency_ns += 500) {
			gdouble times = transfer_latencies(operation, 8, n), work_ns = times * 1000;

			g_assert_cmpfloat_with_epsilon(
				work_ns + times * latency_ns -
					transfer_hidden_ns(operation, 8, n, latency_ns, work_ns),
				phases_ns(n, 2, latency_ns, 1000), 1e-3);
		}
	g_assert_cmpfloat(transfer_hidden_ns(operation, 8, 2, 1000, 1e6), ==, 0);
	g_assert_cmpfloat(transfer_hidden_ns(OPERATION_BROADCAST, 8, 4, 1000, 1e6), ==, 0);
	g_assert_cmpfloat(transfer_hidden_ns(operation, 8, 4, 0, 1e6), ==, 0);
	g_assert_cmpfloat(transfer_device_latencies(OPERATION_ALL_REDUCE, 8), ==, 14);
	g_assert_cmpfloat(transfer_device_latencies(OPERATION_ALL_GATHER, 8), ==, 7);
	g_assert_cmpfloat(transfer_device_latencies(OPERATION_ALL_REDUCE, 1), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/transfer_cost/exact_line", test_exact_line);
	g_test_add_func("/transfer_cost/outliers", test_outliers);
	g_test_add_func("/transfer_cost/one_size", test_one_size);
	g_test_add_func("/transfer_cost/narrow_sizes", test_narrow_sizes);
	g_test_add_func("/transfer_cost/far_pairs_count", test_far_pairs_count);
	g_test_add_func("/transfer_cost/bounded", test_bounded);
	g_test_add_func("/transfer_cost/falling", test_falling);
	g_test_add_func("/transfer_cost/nothing", test_nothing);
	g_test_add_func("/transfer_cost/wire_bytes", test_wire_bytes);
	g_test_add_func("/transfer_cost/latency", test_latency);
	g_test_add_func("/transfer_cost/hidden", test_hidden);
	return g_test_run();
}
