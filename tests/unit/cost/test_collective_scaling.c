/* Every collective and algorithm against its closed formula, on one level of links, for 2 to 1024 ranks. */
#include <math.h>
#include <string.h>

#include "cost/collective_cost.h"
#include "trace/operation.h"

static const gdouble latency_ns = 1000, ns_per_byte = 0.5;
static const guint64 bytes = 64 << 20;

static void assert_time(enum collective_algorithm algorithm, gboolean is_device, const gchar *name,
			guint32 n, gdouble latencies, gdouble shares)
{
	struct collective_plan plan = { .algorithm = algorithm,
					.is_device = is_device,
					.n_servers = 1 };
	struct collective_time time;

	plan.topology.n_levels = 1;
	plan.topology.levels[0] = (struct topology_level){ 0, ns_per_byte, latency_ns };
	time = collective_time(&plan, operation_of_word(name, strlen(name)), bytes, n);
	g_assert_cmpfloat_with_epsilon(time.fixed_ns / latency_ns, latencies, 1e-9 * latencies);
	g_assert_cmpfloat_with_epsilon(time.work_ns / ((gdouble)bytes * ns_per_byte), shares,
				       1e-9 * shares);
}

/* What each collective sends does not depend on the algorithm, but for all-reduces. */
static void test_collectives(void)
{
	static const enum collective_algorithm all[] = { COLLECTIVE_AS_RECORDED, COLLECTIVE_TREE,
							 COLLECTIVE_PS };

	for (guint i = 0; i < G_N_ELEMENTS(all); i++)
		for (guint32 n = 2; n <= 1024; n++) {
			gdouble others = n - 1, deep = 1 + ceil(log2(n));

			assert_time(all[i], FALSE, "gloo:all_gather", n, 2 * others, others);
			assert_time(all[i], FALSE, "gloo:reduce_scatter", n, deep, others / n);
			assert_time(all[i], FALSE, "gloo:all_to_all", n, deep, others / n);
			assert_time(all[i], FALSE, "gloo:broadcast", n, deep, 1);
			assert_time(all[i], TRUE, "nccl:all_gather", n, others, others);
			assert_time(all[i], TRUE, "nccl:reduce_scatter", n, others, others / n);
			assert_time(all[i], TRUE, "nccl:all_to_all", n, others, others / n);
			assert_time(all[i], TRUE, "nccl:broadcast", n, others, 1);
		}
}

static void test_all_reduces(void)
{
	for (guint32 n = 2; n <= 1024; n++) {
		gdouble others = n - 1, ring = 2 * others / n;
		/* gloo's segments of at most 1 MiB, at least two a rank's chunk */
		gdouble segments = ceil(MAX(64.0, 2.0 * n) / n);

		assert_time(COLLECTIVE_AS_RECORDED, FALSE, "gloo:all_reduce", n,
			    2 * others * segments, ring);
		assert_time(COLLECTIVE_AS_RECORDED, TRUE, "nccl:all_reduce", n, 2 * others, ring);
		assert_time(COLLECTIVE_RING, FALSE, "gloo:all_reduce", n, 2 * others, ring);
		assert_time(COLLECTIVE_TREE, FALSE, "gloo:all_reduce", n, 2 * ceil(log2(n)), 2);
		assert_time(COLLECTIVE_HIERARCHICAL, FALSE, "gloo:all_reduce", n, 2 * others, ring);
		assert_time(COLLECTIVE_PS, FALSE, "gloo:all_reduce", n, 2, 2.0 * n);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/collective_scaling/collectives", test_collectives);
	g_test_add_func("/collective_scaling/all_reduces", test_all_reduces);
	return g_test_run();
}
