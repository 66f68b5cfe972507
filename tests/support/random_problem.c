#include "random_problem.h"

#include <string.h>

static void name(struct precision_operation *operation, const gchar *kind, guint32 number)
{
	operation->module = g_strdup_printf("layers.%u", number);
	operation->kind = g_strdup(kind);
}

static gdouble between(GRand *rand, gdouble low, gdouble high)
{
	return low + g_rand_int_range(rand, 0, 1000) * (high - low) / 1000;
}

/* Times of an operation in each format, from `ns` in fp32. */
static void set_costs(const TachoPrecisionProblem *problem, GRand *rand, guint32 operation,
		      guint formats, gdouble ns, gdouble bytes)
{
	for (guint32 w = 0; w < problem->n_workers; w++)
		for (guint f = 0; f < N_NUMBER_FORMATS; f++) {
			struct precision_cost *cost =
				precision_cost_of(problem, w, operation, (enum number_format)f);
			gdouble factor = f == FORMAT_FP32 ? 1 : between(rand, 0.2, 1.2);

			if (!(formats & 1u << f))
				continue;
			*cost = (struct precision_cost){
				.is_allowed = TRUE,
				.forward_ns = ns * factor * (1 + w),
				.backward_ns = 2 * ns * factor * (1 + w),
				.spread_ns = ns / 100,
				.saved_bytes = bytes * number_format_bytes((enum number_format)f),
				.forward_bytes = bytes / 2,
				.backward_bytes = bytes / 2,
			};
		}
}

static void set_casts(const TachoPrecisionProblem *problem, GRand *rand, guint32 tensor, gdouble ns)
{
	for (guint32 w = 0; w < problem->n_workers; w++) {
		struct precision_cast *cast = &problem->workers[w].casts[tensor];

		problem->workers[w].tensor_elements[tensor] = g_rand_int_range(rand, 1, 1000);
		for (guint from = 0; from < N_NUMBER_FORMATS; from++)
			for (guint to = 0; to < N_NUMBER_FORMATS; to++)
				if (from != to) {
					cast->forward_ns[from][to] = (gfloat)between(rand, 0, ns);
					cast->backward_ns[from][to] = (gfloat)between(rand, 0, ns);
				}
	}
}

static void set_workers(TachoPrecisionProblem *problem)
{
	for (guint32 w = 0; w < problem->n_workers; w++) {
		problem->workers[w].name = g_strdup_printf("kind %u", w);
		problem->workers[w].share = 1.0 / problem->n_workers;
		problem->workers[w].before_ns = 100;
		problem->workers[w].after_ns = 1000;
		problem->workers[w].fixed_bytes = 1000;
	}
	problem->coverage = 1;
}

static void set_harm(GRand *rand, struct precision_operation *operation)
{
	gdouble harm = between(rand, 1, 100);

	operation->has_harm = TRUE;
	for (guint f = 0; f < N_NUMBER_FORMATS; f++)
		if (f > FORMAT_FP32)
			operation->harm[f] = harm * f + between(rand, 0, 10);
}

TachoPrecisionProblem *random_problem(GRand *rand, const struct random_problem *wanted)
{
	guint32 n = 1 + wanted->n_chosen * (wanted->has_followers ? 2 : 1);
	guint32 n_edges = 3 * n;
	TachoPrecisionProblem *problem =
		precision_problem_new(n, n, n_edges, wanted->n_collectives, wanted->n_collectives,
				      wanted->n_workers, NULL);
	guint32 edge = 0;

	g_assert_nonnull(problem);
	set_workers(problem);
	for (guint32 i = 0; i < n; i++) {
		struct precision_operation *operation = &problem->operations[i];
		gboolean follows = wanted->has_followers && i > 0 && i % 2 == 0;
		guint formats =
			i == 0	  ? 1u << FORMAT_FP32
			: follows ? (1u << N_NUMBER_FORMATS) - 1
				  : (wanted->formats &
				     (guint)g_rand_int_range(rand, 1, 1 << N_NUMBER_FORMATS)) |
					    1u << FORMAT_FP32;

		name(operation, i == 0 ? "input" : follows ? "add" : "linear", i);
		operation->rule = i == 0    ? PRECISION_FIXED
				  : follows ? PRECISION_PROMOTED
					    : PRECISION_CHOSEN;
		if (operation->rule == PRECISION_CHOSEN)
			set_harm(rand, operation);
		if (wanted->has_ties && operation->rule == PRECISION_CHOSEN &&
		    g_rand_int_range(rand, 0, 3) == 0)
			operation->tie = 7;
		set_costs(problem, rand, i, formats, i == 0 ? 0 : between(rand, 10, 1000),
			  g_rand_int_range(rand, 1, 100));
	}
	for (guint32 i = 0; i < n; i++) {
		struct precision_tensor *tensor = &problem->tensors[i];

		tensor->producer = i;
		tensor->first_edge = edge;
		tensor->is_cast_once = wanted->has_shared && g_rand_int_range(rand, 0, 2) == 0;
		for (guint32 j = i + 1; j < n && tensor->n_edges < 3; j++) {
			if (j > i + 1 && g_rand_int_range(rand, 0, 4) > 0)
				continue;
			problem->edges[edge++] = (struct precision_edge){
				.consumer = j,
				.is_saved = g_rand_int_range(rand, 0, 2),
				.is_free = g_rand_int_range(rand, 0, 8) == 0,
			};
			tensor->n_edges++;
		}
		set_casts(problem, rand, i, 300);
	}
	/* edges that no tensor has would be those of operation 0 */
	for (; edge < n_edges; edge++)
		problem->edges[edge] = problem->edges[0];
	for (guint32 k = 0; k < wanted->n_collectives; k++) {
		guint32 after = n - 1 - k * (n - 1) / wanted->n_collectives;

		problem->collectives[k] = (struct precision_collective){ after, k, 1 };
		problem->members[k] = after;
		for (guint32 w = 0; w < wanted->n_workers; w++)
			for (guint f = 0; f < N_NUMBER_FORMATS; f++)
				problem->workers[w].collective_ns[k][f] =
					100 * number_format_bytes((enum number_format)f);
	}
	return problem;
}

/* An edge from the tensor whose edges are being listed. */
static void read_by(TachoPrecisionProblem *problem, guint32 tensor, guint32 consumer, guint32 *edge)
{
	problem->edges[(*edge)++] =
		(struct precision_edge){ .consumer = consumer, .is_saved = TRUE };
	problem->tensors[tensor].n_edges++;
}

/* norm -> q, k, v -> attention -> output -> add -> norm -> up -> gelu -> down -> add */
enum { NORM, Q, K, V, ATTENTION, OUTPUT, ADD, NORM_2, UP, GELU, DOWN, ADD_2, N_OF_BLOCK };

TachoPrecisionProblem *transformer_problem(guint32 n_blocks, guint32 n_workers)
{
	static const guint8 readers[N_OF_BLOCK][4] = {
		[NORM] = { Q, K, V },	   [Q] = { ATTENTION },	     [K] = { ATTENTION },
		[V] = { ATTENTION },	   [ATTENTION] = { OUTPUT }, [OUTPUT] = { ADD },
		[ADD] = { NORM_2, ADD_2 }, [NORM_2] = { UP },	     [UP] = { GELU },
		[GELU] = { DOWN },	   [DOWN] = { ADD_2 },
	};
	guint32 n = 1 + n_blocks * N_OF_BLOCK;
	TachoPrecisionProblem *problem = precision_problem_new(n, n, 3 * n, 0, 0, n_workers, NULL);
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);
	const guint fast = 1u << FORMAT_FP32 | 1u << FORMAT_BF16 | 1u << FORMAT_INT8;
	guint32 edge = 0;

	g_assert_nonnull(problem);
	set_workers(problem);
	for (guint32 i = 0; i < n; i++) {
		struct precision_operation *operation = &problem->operations[i];
		guint32 place = i ? (i - 1) % N_OF_BLOCK : N_OF_BLOCK;
		gboolean is_product = place == Q || place == K || place == V ||
				      place == ATTENTION || place == OUTPUT || place == UP ||
				      place == DOWN;

		name(operation, is_product ? "linear" : "map", i);
		operation->rule = is_product				       ? PRECISION_CHOSEN
				  : i == 0 || place == NORM || place == NORM_2 ? PRECISION_FIXED
									       : PRECISION_PROMOTED;
		if (is_product)
			set_harm(rand, operation);
		set_costs(problem, rand, i,
			  operation->rule == PRECISION_FIXED ? 1u << FORMAT_FP32
			  : is_product			     ? fast
							     : (1u << N_NUMBER_FORMATS) - 1,
			  is_product ? between(rand, 1000, 9000) : between(rand, 10, 100), 100);
	}
	for (guint32 i = 0; i < n; i++) {
		guint32 begin = i ? i - (i - 1) % N_OF_BLOCK : 1,
			place = i ? (i - 1) % N_OF_BLOCK : 0;

		problem->tensors[i].producer = i;
		problem->tensors[i].first_edge = edge;
		problem->tensors[i].is_cast_once = i > 0 && place == NORM;
		set_casts(problem, rand, i, 400);
		if (i == 0 || place == ADD_2) { /* into the next block, and past its attention */
			guint32 next = i == 0 ? 1 : begin + N_OF_BLOCK;

			if (next + ADD < n) {
				read_by(problem, i, next + NORM, &edge);
				read_by(problem, i, next + ADD, &edge);
			}
			continue;
		}
		for (guint j = 0; j < 3 && readers[place][j]; j++)
			read_by(problem, i, begin + readers[place][j], &edge);
	}
	for (; edge < 3 * n; edge++)
		problem->edges[edge] = problem->edges[0];
	return problem;
}
