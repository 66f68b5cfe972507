/* What collectives take by the formulas, against sums by hand. */
#include <tacho/timeline.h>

#include "cost/collective_cost.h"
#include "trace/operation.h"

/* Hosts of 4 ranks, racks of 2 hosts. */
static struct collective_plan plan_of(enum collective_algorithm algorithm)
{
	struct collective_plan plan = {
		.algorithm = algorithm,
		.n_servers = 2,
		.topology = { 3, { { 4, 1, 10 }, { 2, 2, 100 }, { 0, 4, 1000 } } },
	};

	return plan;
}

static void assert_time(enum collective_algorithm algorithm, guint32 n_ranks, gdouble fixed_ns,
			gdouble work_ns)
{
	struct collective_plan plan = plan_of(algorithm);
	struct collective_time time = collective_time(&plan, OPERATION_ALL_REDUCE, 1200, n_ranks);

	g_assert_cmpfloat_with_epsilon(time.fixed_ns, fixed_ns, 1e-6);
	g_assert_cmpfloat_with_epsilon(time.work_ns, work_ns, 1e-6);
}

static void test_spread(void)
{
	struct collective_plan plan = plan_of(COLLECTIVE_RING);
	guint32 sizes[TOPOLOGY_MAX_LEVELS];

	topology_spread(&plan.topology, 24, sizes);
	g_assert_cmpuint(sizes[0], ==, 4);
	g_assert_cmpuint(sizes[1], ==, 2);
	g_assert_cmpuint(sizes[2], ==, 3);
	topology_spread(&plan.topology, 9, sizes); /* two hosts and a rank in another rack */
	g_assert_cmpuint(sizes[0], ==, 4);
	g_assert_cmpuint(sizes[1], ==, 2);
	g_assert_cmpuint(sizes[2], ==, 2);
	topology_spread(&plan.topology, 3, sizes);
	g_assert_cmpuint(sizes[0], ==, 3);
	g_assert_cmpuint(sizes[1], ==, 1);
	g_assert_cmpuint(sizes[2], ==, 1);
	g_assert_false(topology_is_full(&plan.topology, 1000));
	plan.topology.levels[2].size = 3;
	g_assert_false(topology_is_full(&plan.topology, 24));
	g_assert_true(topology_is_full(&plan.topology, 25));
}

static void test_algorithms(void)
{
	assert_time(COLLECTIVE_RING, 1, 0, 0);
	assert_time(COLLECTIVE_RING, 4, 6 * 10, 1.5 * 1200);
	assert_time(COLLECTIVE_RING, 8, 14 * 100, 1.75 * 1200 * 2);
	assert_time(COLLECTIVE_RING, 24, 46 * 1000, 2 * 23 / 24.0 * 1200 * 4);
	assert_time(COLLECTIVE_TREE, 4, 2 * 2 * 10, 2 * 1200);
	assert_time(COLLECTIVE_TREE, 24, 2 * (2 * 10 + 1 * 100 + 2 * 1000), 2 * 1200 * 4);
	assert_time(COLLECTIVE_HIERARCHICAL, 24, 2 * (3 * 10 + 1 * 100 + 2 * 1000),
		    1200 * (1.5 * 1 + 1 * 2 + 4 / 3.0 * 4));
	/* through the servers' links: 24 times the bytes by two */
	assert_time(COLLECTIVE_PS, 24, 2 * 1110, 2 * 24 * 1200 * 4 / 2.0);
}

/* In three parts, two of three pulls happen while the next part is pushed. */
static void test_parts(void)
{
	struct collective_plan plan = plan_of(COLLECTIVE_PS);
	struct collective_time time;

	plan.partition_bytes = 500;
	time = collective_time(&plan, OPERATION_ALL_REDUCE, 1200, 24);
	g_assert_cmpfloat_with_epsilon(time.fixed_ns, 4 * 1110, 1e-6);
	g_assert_cmpfloat_with_epsilon(time.work_ns, 4 / 3.0 * 24 * 1200 * 4 / 2, 1e-6);
}

/* With a server for each rank, what the four ranks of a host send over its link takes longest. */
static void test_link_of_host(void)
{
	struct collective_plan plan = {
		.algorithm = COLLECTIVE_PS,
		.n_servers = 8,
		.topology = { 2, { { 4, 1, 10 }, { 0, 4, 1000 } } },
	};
	struct collective_time time = collective_time(&plan, OPERATION_ALL_REDUCE, 1200, 8);

	g_assert_cmpfloat_with_epsilon(time.fixed_ns, 2 * 1010, 1e-6);
	g_assert_cmpfloat_with_epsilon(time.work_ns, 2 * 4 * 1200 * 4, 1e-6);
}

/* What the eight ranks of a rack send over its link, and where that is fast, the four of a host over its. */
static void test_link_of_rack(void)
{
	struct collective_plan plan = plan_of(COLLECTIVE_PS);
	struct collective_time time;

	plan.n_servers = 24;
	time = collective_time(&plan, OPERATION_ALL_REDUCE, 1200, 24);
	g_assert_cmpfloat_with_epsilon(time.work_ns, 2 * 8 * 1200 * 4, 1e-6);
	plan.topology.levels[2].ns_per_byte = 0.5;
	time = collective_time(&plan, OPERATION_ALL_REDUCE, 1200, 24);
	g_assert_cmpfloat_with_epsilon(time.work_ns, 2 * 4 * 1200 * 2, 1e-6);
}

/* Algorithms are those of all-reduces. */
static void test_others(void)
{
	struct collective_plan plan = plan_of(COLLECTIVE_TREE);
	struct collective_time time = collective_time(&plan, OPERATION_ALL_GATHER, 1200, 8);

	g_assert_cmpfloat_with_epsilon(time.work_ns, 7 * 1200 * 2, 1e-6);
	g_assert_cmpfloat_with_epsilon(time.fixed_ns, 14 * 100, 1e-6);
}

/* More ranks, more bytes, slower links: never less time. */
static void test_monotone(void)
{
	for (enum collective_algorithm a = COLLECTIVE_AS_RECORDED; a <= COLLECTIVE_PS; a++) {
		struct collective_plan plan = plan_of(a);
		gdouble before_ns = 0;

		for (guint32 n = 2; n < 200; n++) {
			struct collective_time time =
				collective_time(&plan, OPERATION_ALL_REDUCE, 1 << 20, n);

			g_assert_cmpfloat(time.work_ns, >=, before_ns * 0.999999);
			before_ns = time.work_ns;
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/collective_cost/spread", test_spread);
	g_test_add_func("/collective_cost/algorithms", test_algorithms);
	g_test_add_func("/collective_cost/parts", test_parts);
	g_test_add_func("/collective_cost/link-of-host", test_link_of_host);
	g_test_add_func("/collective_cost/link-of-rack", test_link_of_rack);
	g_test_add_func("/collective_cost/others", test_others);
	g_test_add_func("/collective_cost/monotone", test_monotone);
	return g_test_run();
}
