#include "precision/costs.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/quantile.h"
#include "base/weighted_median.h"

/* The quantile of a normal distribution that nine in ten are within. Source: derived from the interval's meaning. */
#define NINE_IN_TEN 1.645
/* Operations of one kind whose ratio tells an unmeasured one's.
 * Source: a rule: enough for a median that one outlier does not move. If wrong, an estimate is of others, less like it. */
#define N_NEAREST 5u
/* Samples of an operation that its median is of, at most; evenly chosen.
 * Source: a rule: more steps tell no more. If wrong, medians are less sure. */
#define MAX_SAMPLES 256u

gdouble layer_cost_pass_ns(const struct layer_cost *cost, enum layer_pass pass)
{
	return cost->ns[pass][LAYER_HOST] + cost->ns[pass][LAYER_DEVICE];
}

gdouble layer_cost_ns(const struct layer_cost *cost)
{
	return layer_cost_pass_ns(cost, LAYER_FORWARD) + layer_cost_pass_ns(cost, LAYER_BACKWARD);
}

/* --- as recorded -------------------------------------------------------------------------------- */

enum { N_PARTS = N_LAYER_PASSES * N_LAYER_PLACES };

/* A sum of each part of each operation in each chosen cell; behind the operations the rest, by place, and the host's time beside. */
struct sums {
	guint32 n_operations, n_cells, every;
	gdouble *ns; /* [(operation * N_PARTS + part) * n_cells + cell] */
};

static gdouble *sum_at(const struct sums *sums, guint32 operation, guint part, guint32 cell)
{
	return &sums->ns[((gsize)operation * N_PARTS + part) * sums->n_cells + cell];
}

static void add_up(const struct sums *sums, const struct layers *layers)
{
	const TachoGraph *graph = layers->graph;

	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		guint32 operation = layers->operation_of[i], cell;
		gboolean is_device =
			node->kind == TACHO_NODE_DEVICE || node->kind == TACHO_NODE_COPY;

		if (layers->is_cast[i] ||
		    (node->kind != TACHO_NODE_OP && node->kind != TACHO_NODE_KERNEL &&
		     node->kind != TACHO_NODE_HOST && !is_device))
			continue;
		cell = layers_cell(graph, node);
		if (cell == TACHO_NONE || cell % sums->every != 0)
			continue;
		if (operation == TACHO_NONE)
			*sum_at(sums, sums->n_operations,
				node->kind == TACHO_NODE_HOST ? N_PARTS - 1 : is_device,
				cell / sums->every) += (gdouble)node->duration_ns;
		else
			*sum_at(sums, operation,
				layers->pass_of[i] * (guint)N_LAYER_PLACES + is_device,
				cell / sums->every) += (gdouble)node->duration_ns;
	}
}

/* The median of a part over the cells, and its standard error. */
static gdouble median_of(const struct sums *sums, guint32 operation, guint part,
			 gdouble *ret_error_ns)
{
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));
	gdouble deviation, median;

	for (guint32 cell = 0; cell < sums->n_cells; cell++) {
		gint64 ns = (gint64)*sum_at(sums, operation, part, cell);

		g_array_append_val(values, ns);
	}
	median = median_with_deviation(values, &deviation);
	*ret_error_ns = median > 0 ? MEDIAN_ERROR * deviation * median / sqrt(sums->n_cells) : 0;
	return median;
}

static void measure(struct layer_cost *cost, const struct sums *sums, guint32 operation)
{
	gdouble square = 0, error_ns;

	for (guint part = 0; part < N_PARTS; part++) {
		cost->ns[part / N_LAYER_PLACES][part % N_LAYER_PLACES] =
			median_of(sums, operation, part, &error_ns);
		square += error_ns * error_ns;
	}
	cost->spread_ns = NINE_IN_TEN * sqrt(square);
}

void run_costs_init(struct run_costs *costs, const struct layers *layers)
{
	guint32 n_cells = layers->graph->timeline->ranks->len * layers->graph->steps->len;
	struct sums sums = { .n_operations = layers->n_operations };
	gdouble error_ns;

	*costs = (struct run_costs){ .n_operations = layers->n_operations,
				     .speed = { .seen = 1, .applied = 1 } };
	costs->operations = g_new0(struct layer_cost, MAX(layers->n_operations, 1u));
	if (n_cells == 0)
		return;
	sums.every = (n_cells + MAX_SAMPLES - 1) / MAX_SAMPLES;
	sums.n_cells = (n_cells + sums.every - 1) / sums.every;
	sums.ns = g_new0(gdouble, ((gsize)layers->n_operations + 1) * N_PARTS * sums.n_cells);
	add_up(&sums, layers);
	for (guint32 i = 0; i < layers->n_operations; i++) {
		measure(&costs->operations[i], &sums, i);
		costs->operations[i].is_known =
			layers->n_cells > 0 && 2 * layers->n_found[i] > layers->n_cells;
	}
	for (guint part = 0; part < N_LAYER_PLACES; part++)
		costs->rest_ns += median_of(&sums, layers->n_operations, part, &error_ns);
	costs->between_ns = median_of(&sums, layers->n_operations, N_PARTS - 1, &error_ns);
	g_free(sums.ns);
}

void run_costs_release(struct run_costs *costs)
{
	g_clear_pointer(&costs->operations, g_free);
}

/* --- made comparable ---------------------------------------------------------------------------- */

static void scale_cost(struct layer_cost *cost, gdouble factor)
{
	for (guint pass = 0; pass < N_LAYER_PASSES; pass++)
		for (guint place = 0; place < N_LAYER_PLACES; place++)
			cost->ns[pass][place] *= factor;
	cost->spread_ns *= factor;
}

static void add_same(GArray *pieces, gdouble own_ns, gdouble other_ns)
{
	struct same_work piece = { own_ns, other_ns };

	g_array_append_val(pieces, piece);
}

/* The rest is one piece of many, however long it takes. */
static void add_rest(GArray *pieces, gdouble own_ns, gdouble other_ns)
{
	gdouble all_ns = 0, share;

	FOR_EACH(const struct same_work, piece, pieces)
		all_ns += piece->other_ns;
	if (other_ns <= 0)
		return;
	share = MIN(other_ns, all_ns / 2) / other_ns;
	add_same(pieces, own_ns * share, other_ns * share);
}

/* A step's work, and the host's time beside it. */
static gdouble whole_ns(const struct run_costs *costs)
{
	gdouble sum_ns = costs->rest_ns + costs->between_ns;

	for (guint32 i = 0; i < costs->n_operations; i++)
		sum_ns += layer_cost_ns(&costs->operations[i]);
	return sum_ns;
}

void run_costs_adjust(struct run_costs *costs, const struct run_costs *reference,
		      const struct identity *identity)
{
	g_autoptr(GArray) pieces = g_array_new(FALSE, FALSE, sizeof(struct same_work));

	for (guint32 i = 0; i < costs->n_operations; i++)
		if (identity_at(identity, i)->rule == PRECISION_FIXED &&
		    costs->operations[i].is_known && reference->operations[i].is_known)
			add_same(pieces, layer_cost_ns(&costs->operations[i]),
				 layer_cost_ns(&reference->operations[i]));
	add_rest(pieces, costs->rest_ns, reference->rest_ns);
	costs->speed = recording_speed_of(pieces, whole_ns(reference));
	for (guint32 i = 0; i < costs->n_operations; i++)
		scale_cost(&costs->operations[i], 1 / costs->speed.applied);
	costs->rest_ns /= costs->speed.applied;
	costs->between_ns /= costs->speed.applied;
}

/* --- estimated ---------------------------------------------------------------------------------- */

struct neighbour {
	gdouble distance, ratio;
};

static gint compare_neighbours(gconstpointer a, gconstpointer b)
{
	const struct neighbour *x = a, *y = b;

	return (x->distance > y->distance) - (x->distance < y->distance);
}

static gdouble size_of(const struct identity_operation *operation)
{
	return log(1 + operation->elements_in + operation->elements_out + operation->weight);
}

/* The median ratio to the reference of a pass of what is like it; 1 where nothing is. */
static gdouble ratio_of(const struct run_costs *costs, const struct run_costs *reference,
			const struct identity *identity, guint32 own, enum layer_pass pass,
			gboolean any_kind)
{
	const struct identity_operation *operation = identity_at(identity, own);
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct neighbour));
	struct weighted nearest[N_NEAREST];
	guint n = 0;

	for (guint32 i = 0; i < costs->n_operations; i++) {
		const struct identity_operation *other = identity_at(identity, i);
		gdouble ours = layer_cost_pass_ns(&costs->operations[i], pass);
		gdouble theirs = layer_cost_pass_ns(&reference->operations[i], pass);
		struct neighbour neighbour = { fabs(size_of(other) - size_of(operation)),
					       theirs > 0 ? ours / theirs : 0 };

		if (costs->operations[i].is_known && !costs->operations[i].is_estimated &&
		    ours > 0 && theirs > 0 && other->rule == operation->rule &&
		    (any_kind || strcmp(other->kind, operation->kind) == 0))
			g_array_append_val(found, neighbour);
	}
	g_array_sort(found, compare_neighbours);
	for (; n < MIN(found->len, N_NEAREST); n++)
		nearest[n] =
			(struct weighted){ g_array_index(found, struct neighbour, n).ratio, 1 };
	if (n == 0)
		return any_kind ? 1 : ratio_of(costs, reference, identity, own, pass, TRUE);
	return weighted_median(nearest, n);
}

void run_costs_estimate(struct run_costs *costs, const struct run_costs *reference,
			const struct identity *identity)
{
	for (guint32 i = 0; i < costs->n_operations; i++) {
		struct layer_cost *cost = &costs->operations[i];

		if (cost->is_known || identity_is_border(identity_at(identity, i)))
			continue;
		for (guint pass = 0; pass < N_LAYER_PASSES; pass++) {
			gdouble ratio = ratio_of(costs, reference, identity, i, pass, FALSE);

			for (guint place = 0; place < N_LAYER_PLACES; place++)
				cost->ns[pass][place] =
					ratio * reference->operations[i].ns[pass][place];
		}
		cost->spread_ns = layer_cost_ns(cost) / 2;
		cost->is_known = cost->is_estimated = TRUE;
	}
}
