#include "precision/problem.h"

#include <math.h>
#include <string.h>

G_DEFINE_QUARK(tacho - precision - error - quark, tacho_precision_error)

/* Source: a rule: what is beyond it is no time or size of anything. If wrong, such a problem is refused. */
#define MAX_QUANTITY 1e18

/* --- in memory ---------------------------------------------------------------------------------- */

/* An array of `n` zeros; `*is_short` where there is no memory. */
static gpointer new_array(gsize n, gsize size, gboolean *is_short)
{
	gpointer array = g_try_malloc0_n(MAX(n, 1), size);

	*is_short = *is_short || !array;
	return array;
}

gboolean precision_worker_init(struct precision_worker *worker, guint32 n_operations,
			       guint32 n_tensors, guint32 n_collectives)
{
	gboolean is_short = FALSE;

	*worker = (struct precision_worker){ .n_ranks = 1 };
	worker->costs = new_array((gsize)n_operations * N_NUMBER_FORMATS, sizeof(*worker->costs),
				  &is_short);
	worker->casts = new_array(n_tensors, sizeof(*worker->casts), &is_short);
	worker->tensor_elements = new_array(n_tensors, sizeof(*worker->tensor_elements), &is_short);
	worker->collective_ns = new_array(n_collectives, sizeof(*worker->collective_ns), &is_short);
	return !is_short;
}

void precision_operation_init(struct precision_operation *operation)
{
	*operation = (struct precision_operation){ .recorded = FORMAT_FP32, .tie = G_MAXUINT32 };
	for (guint i = 0; i < N_NUMBER_FORMATS; i++) {
		operation->result[i] = (guint8)number_format_result((enum number_format)i);
		operation->gradient[i] = FORMAT_FP32;
	}
}

TachoPrecisionProblem *precision_problem_new(guint32 n_operations, guint32 n_tensors,
					     guint32 n_edges, guint32 n_collectives,
					     guint32 n_members, guint32 n_workers, GError **error)
{
	g_autoptr(TachoPrecisionProblem) problem = g_new0(TachoPrecisionProblem, 1);
	gboolean is_short =
		n_operations > PRECISION_MAX_OPERATIONS || n_tensors > PRECISION_MAX_OPERATIONS ||
		n_edges > PRECISION_MAX_EDGES || n_members > PRECISION_MAX_EDGES ||
		n_collectives > PRECISION_MAX_OPERATIONS || n_workers > PRECISION_MAX_WORKERS ||
		(guint64)n_workers * (n_operations + n_tensors) > PRECISION_MAX_ROWS;

	problem->notes = g_ptr_array_new_with_free_func(g_free);
	if (is_short) {
		g_set_error_literal(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_PROBLEM,
				    "the model has more operations, tensors or workers than tacho "
				    "plans for");
		return NULL;
	}
	problem->operations = new_array(n_operations, sizeof(*problem->operations), &is_short);
	problem->tensors = new_array(n_tensors, sizeof(*problem->tensors), &is_short);
	problem->edges = new_array(n_edges, sizeof(*problem->edges), &is_short);
	problem->collectives = new_array(n_collectives, sizeof(*problem->collectives), &is_short);
	problem->members = new_array(n_members, sizeof(*problem->members), &is_short);
	problem->workers = new_array(n_workers, sizeof(*problem->workers), &is_short);
	for (; !is_short && problem->n_workers < n_workers; problem->n_workers++)
		is_short = !precision_worker_init(&problem->workers[problem->n_workers],
						  n_operations, n_tensors, n_collectives);
	if (is_short) {
		g_set_error_literal(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_PROBLEM,
				    "there is not enough memory for the costs of all operations");
		return NULL;
	}
	problem->n_operations = n_operations;
	problem->n_tensors = n_tensors;
	problem->n_edges = n_edges;
	problem->n_collectives = n_collectives;
	problem->n_members = n_members;
	for (guint32 i = 0; i < n_operations; i++)
		precision_operation_init(&problem->operations[i]);
	return g_steal_pointer(&problem);
}

void precision_worker_release(struct precision_worker *worker)
{
	g_free(worker->name);
	g_free(worker->costs);
	g_free(worker->casts);
	g_free(worker->tensor_elements);
	g_free(worker->collective_ns);
}

void tacho_precision_problem_free(TachoPrecisionProblem *problem)
{
	if (!problem)
		return;
	for (guint32 i = 0; problem->operations && i < problem->n_operations; i++) {
		g_free(problem->operations[i].module);
		g_free(problem->operations[i].kind);
	}
	for (guint32 i = 0; problem->workers && i < problem->n_workers; i++)
		precision_worker_release(&problem->workers[i]);
	if (problem->predictor.free_data)
		problem->predictor.free_data(problem->predictor.data);
	g_free(problem->operations);
	g_free(problem->tensors);
	g_free(problem->edges);
	g_free(problem->collectives);
	g_free(problem->members);
	g_free(problem->workers);
	g_ptr_array_unref(problem->notes);
	g_free(problem);
}

gchar *precision_operation_name(const struct precision_operation *operation)
{
	const gchar *module = operation->module && *operation->module ? operation->module : "-";
	const gchar *kind = operation->kind ? operation->kind : "?";

	if (operation->ordinal == 0)
		return g_strdup_printf("%s %s", module, kind);
	return g_strdup_printf("%s %s %u", module, kind, operation->ordinal);
}

/* --- checked ------------------------------------------------------------------------------------ */

static gboolean refuse(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(GError **error, const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list arguments;

	va_start(arguments, format);
	reason = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error_literal(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_PROBLEM, reason);
	return FALSE;
}

static gboolean is_quantity(gdouble value)
{
	return value >= 0 && value <= MAX_QUANTITY;
}

static guint hash_identity(gconstpointer data)
{
	const struct precision_operation *operation = data;

	return g_str_hash(operation->module) * 31 + g_str_hash(operation->kind) +
	       operation->ordinal;
}

static gboolean is_same_identity(gconstpointer a, gconstpointer b)
{
	const struct precision_operation *one = a, *other = b;

	return one->ordinal == other->ordinal && strcmp(one->module, other->module) == 0 &&
	       strcmp(one->kind, other->kind) == 0;
}

static gboolean check_operations(const TachoPrecisionProblem *problem, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(hash_identity, is_same_identity);

	for (guint32 i = 0; i < problem->n_operations; i++) {
		struct precision_operation *operation = &problem->operations[i];
		g_autofree gchar *name = precision_operation_name(operation);

		if (!operation->module || !operation->kind)
			return refuse(error, "operation %u has no name", i);
		if (!g_hash_table_add(seen, operation))
			return refuse(error, "operation %u (%s) stands twice", i, name);
		if (operation->rule > PRECISION_FIXED || operation->recorded >= N_NUMBER_FORMATS)
			return refuse(error, "%s has no rule, or was recorded in no format", name);
		if (operation->rule != PRECISION_CHOSEN && operation->tie != G_MAXUINT32)
			return refuse(error, "%s is tied, but its format is not chosen", name);
		for (guint j = 0; j < N_NUMBER_FORMATS; j++)
			if (operation->result[j] >= N_NUMBER_FORMATS ||
			    operation->gradient[j] >= N_NUMBER_FORMATS ||
			    !(operation->harm[j] >= 0))
				return refuse(error, "%s has a result or harm that cannot be",
					      name);
	}
	return TRUE;
}

static gboolean check_tensors(const TachoPrecisionProblem *problem, GError **error)
{
	for (guint32 i = 0; i < problem->n_tensors; i++) {
		const struct precision_tensor *tensor = &problem->tensors[i];

		if (tensor->producer >= problem->n_operations ||
		    tensor->n_edges > problem->n_edges ||
		    tensor->first_edge > problem->n_edges - tensor->n_edges)
			return refuse(error, "tensor %u has no producer or no readers", i);
		for (guint32 j = 0; j < tensor->n_edges; j++) {
			guint32 consumer = problem->edges[tensor->first_edge + j].consumer;

			if (consumer >= problem->n_operations || consumer <= tensor->producer)
				return refuse(error,
					      "tensor %u is read by operation %u, which does not "
					      "come after operation %u that makes it",
					      i, consumer, tensor->producer);
		}
	}
	return TRUE;
}

static gboolean check_collectives(const TachoPrecisionProblem *problem, GError **error)
{
	for (guint32 i = 0; i < problem->n_collectives; i++) {
		const struct precision_collective *collective = &problem->collectives[i];

		if (collective->after >= problem->n_operations ||
		    collective->n_members > problem->n_members ||
		    collective->first_member > problem->n_members - collective->n_members)
			return refuse(error, "collective %u waits for no operation", i);
		for (guint32 j = 0; j < collective->n_members; j++)
			if (problem->members[collective->first_member + j] >= problem->n_operations)
				return refuse(error,
					      "collective %u sends gradients of an operation that "
					      "is not there",
					      i);
	}
	return TRUE;
}

static gboolean check_cost(const struct precision_cost *cost)
{
	return is_quantity(cost->forward_ns) && is_quantity(cost->backward_ns) &&
	       is_quantity(cost->spread_ns) && is_quantity(cost->saved_bytes) &&
	       is_quantity(cost->forward_bytes) && is_quantity(cost->backward_bytes) &&
	       cost->source <= PRECISION_ESTIMATED;
}

/* The recorded format can always be had; of an operation that nobody chooses for, only what it has to be. */
static gboolean check_costs(const TachoPrecisionProblem *problem, guint32 worker, GError **error)
{
	for (guint32 i = 0; i < problem->n_operations; i++) {
		const struct precision_operation *operation = &problem->operations[i];
		g_autofree gchar *name = precision_operation_name(operation);
		guint n_allowed = 0;

		for (guint j = 0; j < N_NUMBER_FORMATS; j++) {
			const struct precision_cost *cost =
				precision_cost_of(problem, worker, i, (enum number_format)j);

			n_allowed += cost->is_allowed != 0;
			if (!check_cost(cost))
				return refuse(error,
					      "%s has a time or size that cannot be, in %s on %s",
					      name, number_format_name((enum number_format)j),
					      problem->workers[worker].name);
		}
		if (n_allowed == 0 || (operation->rule == PRECISION_FIXED && n_allowed != 1))
			return refuse(error, "%s has %u formats on %s", name, n_allowed,
				      problem->workers[worker].name);
	}
	return TRUE;
}

static gboolean check_worker(const TachoPrecisionProblem *problem, guint32 number, GError **error)
{
	const struct precision_worker *worker = &problem->workers[number];
	const gdouble quantities[] = { worker->before_ns, worker->between_ns, worker->after_ns,
				       worker->fixed_bytes, worker->max_bytes };

	if (!worker->name || worker->n_ranks == 0 || !(worker->share >= 0 && worker->share <= 1))
		return refuse(error, "worker %u has no name, ranks or share", number);
	for (guint i = 0; i < G_N_ELEMENTS(quantities); i++)
		if (!is_quantity(quantities[i]))
			return refuse(error, "worker %s has a time or size that cannot be",
				      worker->name);
	for (guint32 i = 0; i < problem->n_tensors; i++) {
		const struct precision_cast *cast = &worker->casts[i];

		if (!is_quantity(worker->tensor_elements[i]))
			return refuse(error, "tensor %u has no size on %s", i, worker->name);
		for (guint j = 0; j < N_NUMBER_FORMATS * N_NUMBER_FORMATS; j++)
			if (!is_quantity(
				    cast->forward_ns[j / N_NUMBER_FORMATS][j % N_NUMBER_FORMATS]) ||
			    !is_quantity(
				    cast->backward_ns[j / N_NUMBER_FORMATS][j % N_NUMBER_FORMATS]))
				return refuse(
					error,
					"a cast of tensor %u takes a time that cannot be on %s", i,
					worker->name);
	}
	for (guint32 i = 0; i < problem->n_collectives; i++)
		for (guint j = 0; j < N_NUMBER_FORMATS; j++)
			if (!is_quantity(worker->collective_ns[i][j]))
				return refuse(error,
					      "collective %u takes a time that cannot be on %s", i,
					      worker->name);
	return check_costs(problem, number, error);
}

gboolean precision_problem_check(const TachoPrecisionProblem *problem, GError **error)
{
	gdouble share = 0;

	if (problem->n_operations == 0 || problem->n_workers == 0)
		return refuse(error, "there are no operations or no workers");
	if (!check_operations(problem, error) || !check_tensors(problem, error) ||
	    !check_collectives(problem, error))
		return FALSE;
	for (guint32 i = 0; i < problem->n_workers; i++) {
		if (!check_worker(problem, i, error))
			return FALSE;
		share += problem->workers[i].share;
	}
	/* Source: a rule: shares are sums of fractions. If wrong, a problem with rounded shares is refused. */
	if (!(fabs(share - 1) < 1e-6))
		return refuse(error, "the shares of the workers are not 1 together");
	if (!(problem->error >= 0 && problem->error < 1) ||
	    !(problem->coverage >= 0 && problem->coverage <= 1))
		return refuse(error, "the error or the coverage is not between 0 and 1");
	return TRUE;
}
