#include "edit/work_shares.h"

#include "analyze/recorded_device.h"
#include "base/for_each.h"

/* The share of the kernels' time that must be of known work for the rest to be taken to be like it.
 * Source: a rule: of less, chance decides. If wrong, kernels without shapes go with the batch altogether, or like kernels that they are not
 * like. */
#define LEAST_KNOWN 0.25
/* What a kernel takes in any case, at most, where the shortest of a run takes longer.
 * Source: a rule: the floors of kernel_efficiencies.def are 2 to 12 us but for two classes of two calls each. If wrong, kernels of a run that has no
 * short ones go with their work too little, or too much. */
#define MOST_LEAST_NS 10e3

const struct device_reach *work_shares_reach(struct work_shares *shares,
					     const struct device_peak *device)
{
	struct kernel_efficiencies table;
	struct device_reach *reach;

	FOR_EACH_POINTER(struct device_reach, known, shares->reaches)
		if (known->device == device)
			return known;
	reach = g_new(struct device_reach, 1);
	kernel_efficiencies_init(&table);
	device_reach_init(reach, &table, device);
	kernel_efficiencies_release(&table);
	g_ptr_array_add(shares->reaches, reach);
	return reach;
}

static guint32 rank_of(const struct work_shares *shares, const struct graph_node *node)
{
	return graph_lane_at(shares->graph, node->lane)->rank_index %
	       shares->graph->timeline->ranks->len;
}

/* As recorded, which changes before this one have not changed. */
static gdouble recorded_ns(const struct work_shares *shares, const struct graph_node *node)
{
	return node->slice == TACHO_NONE
		       ? (gdouble)node->duration_ns
		       : (gdouble)shares->graph->timeline->slices.duration_ns[node->slice];
}

static gboolean is_own_kernel(const struct work_shares *shares, const struct graph_node *node)
{
	return node->kind == TACHO_NODE_DEVICE && !graph_is_guest_node(shares->graph, node) &&
	       graph_lane_at(shares->graph, node->lane)->rank_index != TACHO_NONE;
}

struct kernel_demand work_shares_demand(struct work_shares *shares, const struct graph_node *node)
{
	if (node->slice == TACHO_NONE)
		return (struct kernel_demand){ .rate = DEVICE_N_RATES };
	return kernel_demands_of(&shares->demands, node->slice, NULL);
}

static enum kernel_sort sort_of(enum kernel_class class)
{
	return kernel_class_is_arithmetic(class) ? KERNEL_OF_ARITHMETIC : KERNEL_OF_MEMORY;
}

const struct device_reach *work_shares_reach_of(const struct work_shares *shares,
						const struct graph_node *node)
{
	return shares->of[rank_of(shares, node)];
}

struct kernel_split work_shares_of(struct work_shares *shares, const struct graph_node *node)
{
	guint32 rank = rank_of(shares, node);
	struct kernel_demand demand = work_shares_demand(shares, node);
	enum kernel_sort sort = sort_of(demand.class);

	return kernel_split_of(shares->of[rank], &demand, recorded_ns(shares, node),
			       shares->least_ns[rank],
			       shares->otherwise[rank * N_KERNEL_SORTS + sort]);
}

static void find_devices(struct work_shares *shares, const struct device_peak *told)
{
	const TachoTimeline *timeline = shares->graph->timeline;

	for (guint32 i = 0; i < timeline->ranks->len; i++) {
		const gchar *name = recorded_device_name(timeline, i);
		const struct device_peak *device = told ? told : name ? device_find(name) : NULL;

		if (device)
			shares->of[i] = work_shares_reach(shares, device);
	}
}

static void find_least(struct work_shares *shares)
{
	FOR_EACH(const struct graph_node, node, shares->graph->nodes) {
		guint32 rank;

		if (!is_own_kernel(shares, node) || node->slice == TACHO_NONE)
			continue;
		rank = rank_of(shares, node);
		shares->least_ns[rank] = MIN(shares->least_ns[rank], recorded_ns(shares, node));
	}
}

/* What kernels of a rank and sort take, in all, beyond what any kernel does, and what of that is work. */
struct known_kernels {
	gdouble work_ns, beyond_ns;
};

static void see_kernel(struct work_shares *shares, const struct graph_node *node,
		       struct known_kernels *known)
{
	struct kernel_split split = work_shares_of(shares, node);
	gdouble ns = recorded_ns(shares, node);
	guint32 rank = rank_of(shares, node);

	shares->all_ns[rank] += ns;
	if (!split.is_known)
		return;
	shares->known_ns[rank] += ns;
	known = &known[rank * N_KERNEL_SORTS + sort_of(work_shares_demand(shares, node).class)];
	known->work_ns += ns * split.work;
	known->beyond_ns += ns * split.most;
}

/* Kernels of unknown work are like those of known work of their rank and sort, or else of their rank. */
static void find_otherwise(struct work_shares *shares)
{
	guint32 n_ranks = shares->graph->timeline->ranks->len;
	g_autofree struct known_kernels *known =
		g_new0(struct known_kernels, (gsize)MAX(n_ranks, 1u) * N_KERNEL_SORTS);

	FOR_EACH(const struct graph_node, node, shares->graph->nodes)
		if (is_own_kernel(shares, node))
			see_kernel(shares, node, known);
	for (guint32 i = 0; i < n_ranks * N_KERNEL_SORTS; i++) {
		guint32 rank = i / N_KERNEL_SORTS;
		const struct known_kernels *own = &known[i], *all = &known[rank * N_KERNEL_SORTS];
		gdouble beyond_ns = all[0].beyond_ns + all[1].beyond_ns;

		if (beyond_ns <= 0 || shares->known_ns[rank] < LEAST_KNOWN * shares->all_ns[rank])
			continue;
		shares->otherwise[i] = own->beyond_ns > 0
					       ? own->work_ns / own->beyond_ns
					       : (all[0].work_ns + all[1].work_ns) / beyond_ns;
	}
}

void work_shares_init(struct work_shares *shares, const TachoGraph *graph,
		      const struct device_peak *device)
{
	guint32 n_ranks = MAX(graph->timeline->ranks->len, 1u);

	*shares = (struct work_shares){ .graph = graph };
	shares->reaches = g_ptr_array_new_with_free_func(g_free);
	shares->of = g_new0(const struct device_reach *, n_ranks);
	shares->least_ns = g_new(gdouble, n_ranks);
	shares->otherwise = g_new(gdouble, (gsize)n_ranks * N_KERNEL_SORTS);
	shares->known_ns = g_new0(gdouble, n_ranks);
	shares->all_ns = g_new0(gdouble, n_ranks);
	for (guint32 i = 0; i < n_ranks; i++)
		shares->least_ns[i] = MOST_LEAST_NS;
	for (guint32 i = 0; i < n_ranks * N_KERNEL_SORTS; i++)
		shares->otherwise[i] = 1;
	kernel_demands_init(&shares->demands, graph->timeline);
	find_devices(shares, device);
	find_least(shares);
	find_otherwise(shares);
}

void work_shares_release(struct work_shares *shares)
{
	kernel_demands_release(&shares->demands);
	g_clear_pointer(&shares->reaches, g_ptr_array_unref);
	g_clear_pointer(&shares->of, g_free);
	g_clear_pointer(&shares->least_ns, g_free);
	g_clear_pointer(&shares->otherwise, g_free);
	g_clear_pointer(&shares->known_ns, g_free);
	g_clear_pointer(&shares->all_ns, g_free);
}

gdouble work_shares_known(const struct work_shares *shares)
{
	gdouble known_ns = 0, all_ns = 0;

	for (guint32 i = 0; i < shares->graph->timeline->ranks->len; i++) {
		known_ns += shares->known_ns[i];
		all_ns += shares->all_ns[i];
	}
	return all_ns > 0 ? known_ns / all_ns : 0;
}
