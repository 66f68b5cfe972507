#include "edit/kernel_changes.h"

#include "base/for_each.h"
#include "base/time_units.h"

void kernel_changes_init(struct kernel_changes *changes, const TachoGraph *graph,
			 const struct device_peak *device)
{
	work_shares_init(&changes->shares, graph, device);
	changes->state = edit_state_read(graph);
	changes->precisions = g_hash_table_new(NULL, NULL);
	FOR_EACH(struct changed_precision, row, changes->state->precisions)
		g_hash_table_insert(changes->precisions,
				    GSIZE_TO_POINTER(graph_set_key(row->set, row->slice)), row);
	changes->batched = g_array_new(FALSE, TRUE, sizeof(guint8));
	changes->doubts = g_array_new(FALSE, TRUE, sizeof(struct kernel_doubt));
	g_array_set_size(changes->doubts, MAX(graph_n_own_ranks(graph), 1u));
}

void kernel_changes_release(struct kernel_changes *changes)
{
	if (!changes->precisions)
		return;
	work_shares_release(&changes->shares);
	g_clear_pointer(&changes->precisions, g_hash_table_unref);
	g_clear_pointer(&changes->batched, g_array_unref);
	g_clear_pointer(&changes->doubts, g_array_unref);
}

/* What the kernel's numbers have made of its work by now. */
static gdouble precision_of(struct kernel_changes *changes, const struct graph_node *node)
{
	guint32 op = node->slice == TACHO_NONE
			     ? TACHO_NONE
			     : op_works_find(&changes->shares.demands.works, node->slice);
	const struct changed_precision *row =
		op == TACHO_NONE
			? NULL
			: g_hash_table_lookup(
				  changes->precisions,
				  GSIZE_TO_POINTER(graph_op_key(changes->shares.graph, node, op)));

	return row ? row->factor : 1;
}

/* The kernel takes `ns`, and between the least and the most of what bounds of its shares and of the factor allow. */
static void add_doubt(struct kernel_changes *changes, const struct graph_node *node, gdouble ns,
		      gdouble whole_ns, const struct kernel_split *split,
		      const struct work_factor *factor)
{
	const gdouble shares[] = { split->least, split->most };
	const gdouble factors[] = { factor->least, factor->most };
	guint32 rank = graph_lane_at(changes->shares.graph, node->lane)->rank_index;
	gdouble least_ns = ns, most_ns = ns;
	struct kernel_doubt *of;

	if (rank >= changes->doubts->len)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(shares); i++)
		for (guint j = 0; j < G_N_ELEMENTS(factors); j++) {
			gdouble bound_ns = whole_ns * kernel_split_factor(shares[i], factors[j]);

			least_ns = MIN(least_ns, bound_ns);
			most_ns = MAX(most_ns, bound_ns);
		}
	of = &g_array_index(changes->doubts, struct kernel_doubt, rank);
	of->less_ns += ns - least_ns;
	of->more_ns += most_ns - ns;
}

/* The work of a kernel, as recorded times `before`, becomes as recorded times `after`. */
static void change(struct kernel_changes *changes, struct graph_node *node, gdouble before,
		   const struct work_factor *after, enum node_origin origin)
{
	struct kernel_split split = work_shares_of(&changes->shares, node);
	gdouble whole_ns = (gdouble)node->duration_ns / kernel_split_factor(split.work, before);
	gdouble ns = whole_ns * kernel_split_factor(split.work, after->x);

	add_doubt(changes, node, ns, whole_ns, &split, after);
	graph_change_duration(node, rounded_ns(ns), split.is_known ? origin : ORIGIN_GUESSED);
}

/* What so many times as many samples make of the kernel's recorded work. */
static struct work_factor batched(struct kernel_changes *changes, const struct graph_node *node,
				  gdouble samples)
{
	const struct device_reach *reach = work_shares_reach_of(&changes->shares, node);
	struct kernel_demand demand = work_shares_demand(&changes->shares, node);
	struct kernel_demand more = kernel_demand_batched(demand, samples);
	struct work_factor factor = { samples, samples, samples };
	gdouble peak;

	if (!reach || (demand.flops <= 0 && demand.bytes <= 0))
		return factor;
	factor.x = kernel_split_work_ns(reach, &more) / kernel_split_work_ns(reach, &demand);
	peak = kernel_split_peak_ns(reach, &more) / kernel_split_peak_ns(reach, &demand);
	factor.least = MIN(MIN(factor.x, peak), samples);
	factor.most = MAX(MAX(factor.x, peak), samples);
	return factor;
}

/* How many times as many samples changes before have made of it. */
static gdouble samples_of(const struct kernel_changes *changes, const struct graph_node *node)
{
	return node->slice == TACHO_NONE ? 1 : edit_state_batch_of(changes->state, node->slice);
}

static struct work_factor times(const struct work_factor *a, gdouble b)
{
	return (struct work_factor){ a->x * b, a->least * b, a->most * b };
}

void kernel_changes_batch(struct kernel_changes *changes, struct graph_node *node, gdouble factor)
{
	gdouble precision = precision_of(changes, node);
	gdouble samples = samples_of(changes, node);
	struct work_factor before = batched(changes, node, samples);
	struct work_factor after = batched(changes, node, samples * factor);
	struct work_factor whole = times(&after, precision);

	change(changes, node, before.x * precision, &whole, ORIGIN_MODELLED);
	if (node->slice == TACHO_NONE)
		return;
	if (node->slice >= changes->batched->len)
		g_array_set_size(changes->batched, node->slice + 1);
	g_array_index(changes->batched, guint8, node->slice) = 1;
}

void kernel_changes_keep_batch(const struct kernel_changes *changes, TachoGraph *graph,
			       gdouble factor)
{
	struct edit_state *state = edit_state_of(graph);

	state->batch_factor *= factor;
	g_array_set_size(state->batched, 0);
	g_array_append_vals(state->batched, changes->batched->data, changes->batched->len);
	state->batch_doubt = kernel_changes_doubt(changes);
}

void kernel_changes_precision(struct kernel_changes *changes, struct graph_node *node,
			      gdouble before, const struct work_factor *after,
			      enum node_origin origin)
{
	struct work_factor batch = batched(changes, node, samples_of(changes, node));
	struct work_factor scaled = times(after, batch.x);

	change(changes, node, before * batch.x, &scaled, origin);
}

struct kernel_doubt kernel_changes_doubt(const struct kernel_changes *changes)
{
	gdouble n_steps = MAX(changes->shares.graph->steps->len, 1u);
	struct kernel_doubt most = { 0, 0 };

	FOR_EACH(const struct kernel_doubt, of, changes->doubts) {
		most.less_ns = MAX(most.less_ns, of->less_ns / n_steps);
		most.more_ns = MAX(most.more_ns, of->more_ns / n_steps);
	}
	return most;
}
