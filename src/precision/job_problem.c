/* job_problem: what the search is told of a job (problem.h). */
#include <tacho/precision_job.h>

#include "base/for_each.h"
#include "precision/predict_plan.h"
#include "precision/saved_bytes.h"

/* How wrong predictions are of what they say of a change.
 * Source: a rule: what validate/precision.py is to hold them to. If wrong, plans within a bound are tried that do not keep it. */
#define MODEL_ERROR 0.04

/* The tensor of each operation that somebody reads. */
struct tensors {
	guint32 *of; /* [operation]: G_MAXUINT32: none reads it */
	guint32 n, n_edges;
};

static void find_tensors(const struct precision_job *job, struct tensors *tensors)
{
	const struct identity *identity = job->identity;

	tensors->of = g_new(guint32, MAX(identity->operations->len, 1u));
	tensors->n = tensors->n_edges = 0;
	for (guint32 i = 0; i < identity->operations->len; i++)
		tensors->of[i] = G_MAXUINT32;
	FOR_EACH(const struct identity_input, input, identity->inputs) {
		if (input->producer == IDENTITY_OUTSIDE)
			continue;
		tensors->n_edges++;
		if (tensors->of[input->producer] == G_MAXUINT32)
			tensors->of[input->producer] = 0;
	}
	for (guint32 i = 0; i < identity->operations->len; i++)
		if (tensors->of[i] == 0)
			tensors->of[i] = tensors->n++;
}

static void set_operation(const struct precision_job *job, TachoPrecisionProblem *problem,
			  guint32 i)
{
	const struct identity_operation *own = identity_at(job->identity, i);
	struct precision_operation *operation = &problem->operations[i];

	operation->module = g_strdup(own->module);
	operation->kind = g_strdup(own->kind);
	operation->ordinal = own->ordinal;
	operation->rule = own->rule;
	operation->depth = job->depth[i];
	operation->hops = job->hops[i];
	operation->recorded = (guint8)job->reference->format;
	for (guint format = 0; format < N_NUMBER_FORMATS; format++) {
		operation->result[format] = (guint8)precision_job_stores(job, i, format);
		operation->gradient[format] = (guint8)precision_job_weight_gradient(job, i, format);
	}
}

static void set_costs(const struct precision_job *job, TachoPrecisionProblem *problem, guint32 i)
{
	gboolean is_any = FALSE;

	for (guint format = 0; format < N_NUMBER_FORMATS; format++) {
		struct precision_cost *cost = precision_cost_of(problem, 0, i, format);
		const struct layer_cost *known;

		if (!precision_job_allows(job, i, format) ||
		    (is_any && problem->operations[i].rule == PRECISION_FIXED))
			continue;
		known = precision_job_cost(job, i, format);
		is_any = cost->is_allowed = TRUE;
		cost->source =
			known->is_estimated || (!job->run_of[format] &&
						problem->operations[i].rule != PRECISION_FIXED)
				? PRECISION_ESTIMATED
				: PRECISION_MEASURED;
		cost->forward_ns = layer_cost_pass_ns(known, LAYER_FORWARD);
		cost->backward_ns = layer_cost_pass_ns(known, LAYER_BACKWARD);
		cost->spread_ns = known->spread_ns;
		cost->saved_bytes = saved_bytes_own(job, i, format);
	}
	if (!is_any) {
		struct precision_cost *cost =
			precision_cost_of(problem, 0, i, job->reference->format);

		cost->is_allowed = TRUE;
		cost->forward_ns =
			layer_cost_pass_ns(&job->reference->costs.operations[i], LAYER_FORWARD);
		cost->backward_ns =
			layer_cost_pass_ns(&job->reference->costs.operations[i], LAYER_BACKWARD);
	}
}

static void set_casts(const struct precision_job *job, TachoPrecisionProblem *problem,
		      guint32 tensor)
{
	struct precision_worker *worker = &problem->workers[0];
	struct precision_cast *cast = &worker->casts[tensor];
	gdouble elements = worker->tensor_elements[tensor];
	gboolean has_gradient = job->has_gradient[problem->tensors[tensor].producer];
	/* what a registered kernel says is its own: a tensor with other readers is cast as frameworks' kernels want it */
	gboolean is_lone = problem->tensors[tensor].n_edges == 1;
	guint32 reader = problem->edges[problem->tensors[tensor].first_edge].consumer;

	for (guint from = 0; from < N_NUMBER_FORMATS; from++)
		for (guint to = 0; to < N_NUMBER_FORMATS; to++) {
			guint reads =
				is_lone ? precision_job_reads(job, reader, to) : format_reads(to);
			guint gives =
				is_lone ? precision_job_input_gradient(job, reader, to) : reads;

			if (from == to)
				continue;
			if (from != reads && !(is_lone && precision_job_fuses(job, reader, to)))
				cast->forward_ns[from][to] = (gfloat)precision_job_cast_ns(
					job, LAYER_FORWARD, from, reads, elements, NULL);
			if (has_gradient && from != gives)
				cast->backward_ns[from][to] = (gfloat)precision_job_cast_ns(
					job, LAYER_BACKWARD, gives, from, elements, NULL);
		}
}

static void set_tensors(const struct precision_job *job, TachoPrecisionProblem *problem,
			const struct tensors *tensors)
{
	const struct identity *identity = job->identity;
	gboolean has_devices = graph_has_devices(job->reference->graph);
	g_autofree guint32 *n_left = g_new0(guint32, MAX(tensors->n, 1u));
	guint32 first = 0;

	for (guint32 i = 0; i < identity->operations->len; i++)
		if (tensors->of[i] != G_MAXUINT32)
			problem->tensors[tensors->of[i]].producer = i;
	FOR_EACH(const struct identity_input, input, identity->inputs)
		if (input->producer != IDENTITY_OUTSIDE)
			problem->tensors[tensors->of[input->producer]].n_edges++;
	for (guint32 t = 0; t < tensors->n; t++) {
		problem->tensors[t].is_cast_once = job->is_cast_once;
		problem->tensors[t].first_edge = first;
		first += problem->tensors[t].n_edges;
	}
	for (guint32 i = 0; i < identity->operations->len; i++) {
		const struct identity_operation *own = identity_at(identity, i);

		for (guint32 k = 0; k < own->n_inputs; k++) {
			const struct identity_input *input =
				identity_input_at(identity, own->first_input + k);
			guint32 t = input->producer == IDENTITY_OUTSIDE
					    ? G_MAXUINT32
					    : tensors->of[input->producer];
			struct precision_edge *edge;

			if (t == G_MAXUINT32)
				continue;
			edge = &problem->edges[problem->tensors[t].first_edge + n_left[t]++];
			edge->consumer = i;
			edge->is_saved = saved_bytes_keeps_inputs(own);
			edge->is_free = own->rule == PRECISION_PROMOTED && has_devices;
			problem->workers[0].tensor_elements[t] =
				MAX(problem->workers[0].tensor_elements[t], input->elements);
		}
	}
	for (guint32 t = 0; t < tensors->n; t++)
		set_casts(job, problem, t);
}

/* What a step takes beside its operations; weights and their gradients. */
static void set_rest(const struct precision_job *job, struct precision_worker *worker)
{
	gdouble own_ns = 0, weights = 0;

	for (guint32 i = 0; i < job->identity->operations->len; i++) {
		own_ns += layer_cost_ns(&job->reference->costs.operations[i]);
		weights += identity_at(job->identity, i)->weight;
	}
	worker->name = g_strdup("job");
	worker->n_ranks = MAX(job->reference->timeline->ranks->len, 1u);
	worker->share = 1;
	worker->after_ns = MAX(job->reference->step_ns - own_ns, 0);
	worker->fixed_bytes = 2 * weights * number_format_bytes(job->reference->format);
}

static gboolean predict(gpointer data, const TachoPrecisionProblem *problem, const guint8 *plan,
			struct precision_prediction *prediction, GError **error)
{
	struct precision_job *job = data;
	g_autofree guint8 *formats = g_memdup2(plan, problem->n_operations);
	struct plan_prediction told;
	gboolean is_told = plan_prediction_init(&told, job, formats, error);

	if (is_told) {
		prediction->step_ns = told.step_ns;
		prediction->interval_ns[0] = told.interval_ns[0];
		prediction->interval_ns[1] = told.interval_ns[1];
		if (prediction->worker_ns)
			prediction->worker_ns[0] = told.step_ns;
		if (prediction->wait_ns)
			prediction->wait_ns[0] = 0;
		if (prediction->bytes)
			prediction->bytes[0] =
				told.peak_bytes >= 0 ? told.peak_bytes : told.saved_bytes;
	}
	plan_prediction_release(&told);
	return is_told;
}

TachoPrecisionProblem *precision_job_problem(struct precision_job *job, GError **error)
{
	g_autoptr(TachoPrecisionProblem) problem = NULL;
	struct tensors tensors;

	find_tensors(job, &tensors);
	problem = precision_problem_new(job->identity->operations->len, tensors.n, tensors.n_edges,
					0, 0, 1, error);
	if (problem) {
		for (guint32 i = 0; i < problem->n_operations; i++) {
			set_operation(job, problem, i);
			set_costs(job, problem, i);
		}
		set_tensors(job, problem, &tensors);
		set_rest(job, &problem->workers[0]);
		problem->error = MODEL_ERROR;
		problem->coverage = precision_job_coverage(job);
		FOR_EACH_POINTER(const gchar, note, job->notes)
			g_ptr_array_add(problem->notes, g_strdup(note));
		problem->predictor.predict = predict;
		problem->predictor.data = job;
	}
	g_free(tensors.of);
	return g_steal_pointer(&problem);
}

TachoPrecisionProblem *tacho_precision_problem_of_runs(const TachoPrecisionInputs *inputs,
						       GError **error)
{
	g_autoptr(precision_job) job = precision_job_new(inputs, error);
	TachoPrecisionProblem *problem = job ? precision_job_problem(job, error) : NULL;

	if (!problem)
		return NULL;
	problem->predictor.free_data = (GDestroyNotify)precision_job_free;
	g_steal_pointer(&job);
	return problem;
}
