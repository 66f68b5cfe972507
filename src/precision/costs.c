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
/* How much slower or faster a machine may have been between recordings.
 * Source: a rule: a machine that others share has been a third as fast as alone. If wrong, two recordings of unlike machines are taken for
 * one's. */
#define MAX_SPEED 4.0
/* What computes the same takes more or less time in another format, too, since what is around it leaves other things in the caches.
 * Source: fitted on recordings of the model mlp of validate/precision_models.py, whose fixed operations were up to 15 % shorter in bf16 while the
 * machine was as fast. If wrong, a machine that was slower by less goes into the costs, or what caches do is taken for a slow machine. */
#define OWN_SPEED 1.25
/* Operations that are the same in all recordings and tell the speed, at least.
 * Source: a rule: the median of fewer is chance. If wrong, a recording keeps its own pace. */
#define LEAST_SAME 4u
/* Samples of an operation that its median is of, at most; evenly chosen.
 * Source: a rule: more steps tell no more. If wrong, medians are less sure. */
#define MAX_SAMPLES 256u
/* Of a rank's own median, at least.
 * Source: a rule: the median of fewer is chance. If wrong, ranks of unequal work are taken to differ alike in all formats. */
#define LEAST_OF_RANK 3u

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

/* The median of a part over these cells, and its standard error. */
static gdouble median_of(const struct sums *sums, guint32 operation, guint part, guint32 first_cell,
			 guint32 last_cell, gdouble *ret_error_ns)
{
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));
	gdouble deviation, median;

	for (guint32 cell = first_cell; cell <= last_cell; cell++) {
		gint64 ns = (gint64)*sum_at(sums, operation, part, cell);

		g_array_append_val(values, ns);
	}
	median = median_with_deviation(values, &deviation);
	*ret_error_ns = median > 0 ? MEDIAN_ERROR * deviation * median / sqrt(values->len) : 0;
	return median;
}

static gdouble median_of_all(const struct sums *sums, guint32 operation, guint part,
			     gdouble *ret_error_ns)
{
	return median_of(sums, operation, part, 0, sums->n_cells - 1, ret_error_ns);
}

static void measure(struct layer_cost *cost, const struct sums *sums, guint32 operation)
{
	gdouble square = 0, error_ns;

	for (guint part = 0; part < N_PARTS; part++) {
		cost->ns[part / N_LAYER_PLACES][part % N_LAYER_PLACES] =
			median_of_all(sums, operation, part, &error_ns);
		square += error_ns * error_ns;
	}
	cost->spread_ns = NINE_IN_TEN * sqrt(square);
}

static gdouble *rank_share_at(const struct run_costs *costs, guint32 rank, guint32 operation,
			      guint part)
{
	return &costs->rank_shares[((gsize)rank * costs->n_operations + operation) * N_PARTS +
				   part];
}

/* Cells of a rank stand together. */
static void measure_ranks(struct run_costs *costs, const struct sums *sums)
{
	guint32 n_of_rank = costs->n_ranks > 1 ? sums->n_cells / costs->n_ranks : 0;

	if (n_of_rank < LEAST_OF_RANK || sums->every > 1)
		return;
	costs->rank_shares =
		g_new(gdouble, (gsize)costs->n_ranks * MAX(costs->n_operations, 1u) * N_PARTS);
	for (guint32 rank = 0; rank < costs->n_ranks; rank++)
		for (guint32 i = 0; i < costs->n_operations; i++)
			for (guint part = 0; part < N_PARTS; part++) {
				gdouble all =
					costs->operations[i]
						.ns[part / N_LAYER_PLACES][part % N_LAYER_PLACES];
				gdouble error_ns,
					own = median_of(sums, i, part, rank * n_of_rank,
							(rank + 1) * n_of_rank - 1, &error_ns);

				*rank_share_at(costs, rank, i, part) = all > 0 ? own / all : 0;
			}
}

gdouble run_costs_rank_factor(const struct run_costs *costs, const struct run_costs *reference,
			      guint32 rank, guint32 operation, enum layer_pass pass,
			      enum layer_place place)
{
	guint part = pass * (guint)N_LAYER_PLACES + place;
	gdouble own, other;

	if (!costs->rank_shares || !reference->rank_shares ||
	    costs->n_ranks != reference->n_ranks || rank >= costs->n_ranks ||
	    costs->operations[operation].is_estimated)
		return 1;
	own = *rank_share_at(costs, rank, operation, part);
	other = *rank_share_at(reference, rank, operation, part);
	return own > 0 && other > 0 ? own / other : 1;
}

void run_costs_init(struct run_costs *costs, const struct layers *layers)
{
	guint32 n_cells = layers->graph->timeline->ranks->len * layers->graph->steps->len;
	struct sums sums = { .n_operations = layers->n_operations };
	gdouble error_ns;

	*costs = (struct run_costs){ .n_operations = layers->n_operations,
				     .n_ranks = layers->graph->timeline->ranks->len,
				     .speed = 1 };
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
		costs->rest_ns += median_of_all(&sums, layers->n_operations, part, &error_ns);
	costs->between_ns = median_of_all(&sums, layers->n_operations, N_PARTS - 1, &error_ns);
	measure_ranks(costs, &sums);
	g_free(sums.ns);
}

void run_costs_release(struct run_costs *costs)
{
	g_clear_pointer(&costs->operations, g_free);
	g_clear_pointer(&costs->rank_shares, g_free);
}

/* --- made comparable ---------------------------------------------------------------------------- */

static void scale_cost(struct layer_cost *cost, gdouble factor)
{
	for (guint pass = 0; pass < N_LAYER_PASSES; pass++)
		for (guint place = 0; place < N_LAYER_PLACES; place++)
			cost->ns[pass][place] *= factor;
	cost->spread_ns *= factor;
}

static void add_ratio(GArray *ratios, gdouble own_ns, gdouble other_ns)
{
	struct weighted ratio = { other_ns > 0 ? own_ns / other_ns : 0, other_ns };

	if (own_ns > 0 && other_ns > 0)
		g_array_append_val(ratios, ratio);
}

/* The rest is one ratio of many, however long it takes. */
static void add_rest(GArray *ratios, gdouble own_ns, gdouble other_ns)
{
	gdouble all = 0;

	FOR_EACH(const struct weighted, ratio, ratios)
		all += ratio->weight;
	add_ratio(ratios, own_ns, other_ns);
	if (own_ns > 0 && other_ns > 0)
		g_array_index(ratios, struct weighted, ratios->len - 1).weight =
			MIN(other_ns, all / 2);
}

void run_costs_adjust(struct run_costs *costs, const struct run_costs *reference,
		      const struct identity *identity)
{
	g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(struct weighted));

	for (guint32 i = 0; i < costs->n_operations; i++)
		if (identity_at(identity, i)->rule == PRECISION_FIXED &&
		    costs->operations[i].is_known && reference->operations[i].is_known)
			add_ratio(ratios, layer_cost_ns(&costs->operations[i]),
				  layer_cost_ns(&reference->operations[i]));
	if (ratios->len < LEAST_SAME)
		return;
	add_rest(ratios, costs->rest_ns, reference->rest_ns);
	costs->speed = CLAMP(weighted_median((struct weighted *)ratios->data, ratios->len),
			     1 / MAX_SPEED, MAX_SPEED);
	costs->is_speed_known = TRUE;
	if (costs->speed < OWN_SPEED && costs->speed > 1 / OWN_SPEED)
		costs->speed = 1;
	for (guint32 i = 0; i < costs->n_operations; i++)
		scale_cost(&costs->operations[i], 1 / costs->speed);
	costs->rest_ns /= costs->speed;
	costs->between_ns /= costs->speed;
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
