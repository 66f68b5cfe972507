/* fuzz_topology: whatever bytes as the file of a network (cost/topology.h), and what collectives take on it. */
#include <math.h>

#include "cost/collective_cost.h"
#include "foreign_traces.h"
#include "fuzz_input.h"

/* What topology.h says of a file that was taken. */
static void check_levels(const struct topology *topology)
{
	g_assert_cmpuint(topology->n_levels, >=, 1);
	g_assert_cmpuint(topology->n_levels, <=, TOPOLOGY_MAX_LEVELS);
	for (guint32 i = 0; i < topology->n_levels; i++) {
		const struct topology_level *level = &topology->levels[i];

		g_assert_cmpuint(level->size, <=, TOPOLOGY_MAX_RANKS);
		if (i + 1 < topology->n_levels)
			g_assert_cmpuint(level->size, >=, 1);
		g_assert_true(isfinite(level->ns_per_byte) && level->ns_per_byte >= 0);
		g_assert_true(isfinite(level->latency_ns) && level->latency_ns >= -1);
	}
}

static void check_spread(const struct topology *topology, guint32 n_ranks)
{
	guint32 sizes[TOPOLOGY_MAX_LEVELS];
	guint64 room = 1;

	topology_spread(topology, n_ranks, sizes);
	for (guint32 i = 0; i < topology->n_levels; i++) {
		g_assert_cmpuint(sizes[i], >=, 1);
		room *= sizes[i];
	}
	g_assert_cmpint(room < n_ranks, ==, topology_is_full(topology, n_ranks));
}

/* Twice as much does not take less. */
static void check_times(struct collective_plan *plan, guint32 n_ranks)
{
	struct collective_time less = collective_time(plan, OPERATION_ALL_REDUCE, 1000, n_ranks);
	struct collective_time more = collective_time(plan, OPERATION_ALL_REDUCE, 2000, n_ranks);

	g_assert_true(isfinite(less.fixed_ns) && less.fixed_ns >= 0);
	g_assert_true(isfinite(more.work_ns) && less.work_ns >= 0);
	g_assert_true(more.fixed_ns + more.work_ns >= less.fixed_ns + less.work_ns);
}

static void use(const struct topology *topology)
{
	static const guint32 counts[] = { 1, 2, 7, 64, TOPOLOGY_MAX_RANKS };
	struct collective_plan plan = { .topology = *topology, .n_servers = 3 };

	for (guint32 i = 0; i < topology->n_levels; i++) { /* as a graph's own links fill them in */
		struct topology_level *level = &plan.topology.levels[i];

		level->ns_per_byte = level->ns_per_byte > 0 ? level->ns_per_byte : 1;
		level->latency_ns = MAX(level->latency_ns, 0);
	}
	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		check_spread(topology, counts[i]);
		for (guint algorithm = 0; algorithm <= COLLECTIVE_PS; algorithm++) {
			plan.algorithm = algorithm;
			check_times(&plan, counts[i]);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct topology topology = { 0 };
	g_autoptr(GError) error = NULL;

	if (topology_read(&topology, foreign_fuzz_file("network.ini", data, size), &error)) {
		g_assert_no_error(error);
		check_levels(&topology);
		use(&topology);
	} else {
		g_assert_nonnull(error);
		g_assert_cmpuint(topology.n_levels, ==, 0);
	}
	return 0;
}
