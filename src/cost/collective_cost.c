#include "cost/collective_cost.h"

#include <math.h>

#include "cost/transfer_cost.h"
#include "trace/operation.h"

/* The levels that a collective crosses. */
struct crossing {
	guint32 n_levels;
	guint32 sizes[TOPOLOGY_MAX_LEVELS];
	gdouble slowest_ns_per_byte, largest_latency_ns;
};

static void cross(const struct topology *topology, guint32 n_ranks, struct crossing *crossing)
{
	*crossing = (struct crossing){ .n_levels = topology->n_levels };
	topology_spread(topology, n_ranks, crossing->sizes);
	for (guint32 i = 0; i < topology->n_levels; i++) {
		const struct topology_level *level = &topology->levels[i];

		if (crossing->sizes[i] < 2)
			continue;
		crossing->slowest_ns_per_byte =
			MAX(crossing->slowest_ns_per_byte, level->ns_per_byte);
		crossing->largest_latency_ns = MAX(crossing->largest_latency_ns, level->latency_ns);
	}
}

static struct collective_time tree_time(const struct topology *topology,
					const struct crossing *crossing, gdouble bytes)
{
	struct collective_time time = { 0, 2 * bytes * crossing->slowest_ns_per_byte };

	for (guint32 i = 0; i < crossing->n_levels; i++)
		time.fixed_ns +=
			2 * ceil(log2(crossing->sizes[i])) * topology->levels[i].latency_ns;
	return time;
}

static struct collective_time hierarchical_time(const struct topology *topology,
						const struct crossing *crossing, gdouble bytes)
{
	struct collective_time time = { 0, 0 };

	for (guint32 i = 0; i < crossing->n_levels; i++) {
		gdouble others = crossing->sizes[i] - 1;

		time.fixed_ns += 2 * others * topology->levels[i].latency_ns;
		time.work_ns +=
			2 * others / crossing->sizes[i] * bytes * topology->levels[i].ns_per_byte;
	}
	return time;
}

/* Servers stand outside the outermost level: what all ranks behind a link push goes over it. */
static struct collective_time server_time(const struct collective_plan *plan,
					  const struct crossing *crossing, gdouble bytes,
					  guint32 n_ranks)
{
	const struct topology *topology = &plan->topology;
	const struct topology_level *outermost = &topology->levels[topology->n_levels - 1];
	gdouble n_parts = plan->partition_bytes > 0
				  ? MAX(ceil(bytes / (gdouble)plan->partition_bytes), 1.0)
				  : 1;
	gdouble n_behind = 1, latency_ns = 0;
	gdouble push_ns = n_ranks * bytes * outermost->ns_per_byte / MAX(plan->n_servers, 1u);

	for (guint32 i = 0; i < topology->n_levels; i++) {
		push_ns = MAX(push_ns, n_behind * bytes * topology->levels[i].ns_per_byte);
		latency_ns += topology->levels[i].latency_ns;
		n_behind *= crossing->sizes[i];
	}
	return (struct collective_time){ (n_parts + 1) * latency_ns,
					 (n_parts + 1) / n_parts * push_ns };
}

struct collective_time collective_time(const struct collective_plan *plan,
				       enum collective_operation operation, guint64 bytes,
				       guint32 n_ranks)
{
	enum collective_algorithm algorithm = plan->algorithm;
	struct collective_time time = { 0, 0 };
	struct crossing crossing;

	if (n_ranks < 2)
		return time;
	cross(&plan->topology, n_ranks, &crossing);
	if (!operation_is_all_reduce(operation))
		algorithm = COLLECTIVE_AS_RECORDED;
	switch (algorithm) {
	case COLLECTIVE_TREE:
		return tree_time(&plan->topology, &crossing, (gdouble)bytes);
	case COLLECTIVE_HIERARCHICAL:
		return hierarchical_time(&plan->topology, &crossing, (gdouble)bytes);
	case COLLECTIVE_PS:
		return server_time(plan, &crossing, (gdouble)bytes, n_ranks);
	case COLLECTIVE_RING:
		time.fixed_ns = 2.0 * (n_ranks - 1) * crossing.largest_latency_ns;
		break;
	case COLLECTIVE_AS_RECORDED:
		time.fixed_ns = (plan->is_device ? transfer_device_latencies(operation, n_ranks)
						 : transfer_latencies(operation, bytes, n_ranks)) *
				crossing.largest_latency_ns;
		break;
	}
	time.work_ns =
		transfer_wire_bytes(operation, bytes, n_ranks) * crossing.slowest_ns_per_byte;
	return time;
}
