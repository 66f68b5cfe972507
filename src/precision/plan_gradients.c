#include "precision/plan_gradients.h"

#include "base/for_each.h"
#include "edit/collective_plan.h"
#include "precision/number_format.h"

struct gradients {
	const struct precision_job *job;
	TachoGraph *graph;
	const struct rank_formats *ranks;
};

/* (1); TACHO_NONE: it is not known. */
static guint32 operation_of_gradient(const struct gradients *gradients, guint32 node)
{
	const struct layers *layers = &gradients->job->reference->layers;
	guint32 lane =
		node == TACHO_NONE ? TACHO_NONE : graph_node_at(gradients->graph, node)->lane;

	for (guint32 i = node; i != TACHO_NONE; i = i > 0 ? i - 1 : TACHO_NONE)
		if (graph_node_at(gradients->graph, i)->lane == lane &&
		    layers->operation_of[i] != TACHO_NONE)
			return layers->pass_of[i] == LAYER_BACKWARD ? layers->operation_of[i]
								    : TACHO_NONE;
	return TACHO_NONE;
}

/* The widest format in which a gradient of the operation is given out on any rank. */
static enum number_format widest_of(const struct gradients *gradients, guint32 operation,
				    enum number_format recorded)
{
	enum number_format widest = N_NUMBER_FORMATS;

	if (operation == TACHO_NONE ||
	    identity_at(gradients->job->identity, operation)->rule != PRECISION_CHOSEN)
		return recorded;
	for (guint32 set = 0; set < gradients->ranks->sets->len; set++) {
		enum number_format format = precision_job_weight_gradient(
			gradients->job, operation,
			rank_formats_of(gradients->ranks, set)[operation]);

		widest =
			widest == N_NUMBER_FORMATS ? format : number_format_promote(widest, format);
	}
	return widest;
}

/* The collective sends the gradients from `first` on whose bytes are its own. FALSE: there are none such. `ret_bytes`: what it sends then. */
static gboolean sum_up_bucket(const struct gradients *gradients, const struct graph_pass *pass,
			      guint64 bytes, guint32 first, guint32 *ret_n, guint64 *ret_bytes)
{
	enum number_format widest = N_NUMBER_FORMATS, recorded = N_NUMBER_FORMATS;
	guint64 sum = 0;
	guint32 n = 0;

	for (; first + n < pass->n_gradients && sum < bytes; n++) {
		const struct graph_gradient *gradient =
			&g_array_index(gradients->graph->gradients, struct graph_gradient,
				       pass->first_gradient + first + n);
		enum number_format format = number_format_of_dtype(gradient->dtype);

		if (format == N_NUMBER_FORMATS ||
		    (recorded != N_NUMBER_FORMATS && format != recorded))
			return FALSE;
		recorded = format;
		format =
			widest_of(gradients, operation_of_gradient(gradients, gradient->ready_node),
				  recorded);
		widest =
			widest == N_NUMBER_FORMATS ? format : number_format_promote(widest, format);
		sum += gradient->bytes;
	}
	if (n == 0 || sum != bytes)
		return FALSE;
	*ret_n = n;
	*ret_bytes = bytes / number_format_bytes(recorded) * number_format_bytes(widest);
	return TRUE;
}

static void set_bytes(TachoGraph *graph, guint32 index, guint64 bytes)
{
	struct graph_transfer whole = *graph_transfer_at(graph, index);
	struct collective_time time = transfer_of_size(graph, &whole, bytes);

	graph_transfer_at(graph, index)->bytes = bytes;
	graph_change_transfer(graph, index, time.fixed_ns, time.work_ns, ORIGIN_MODELLED);
}

/* The collectives of one backward pass, as its first rank has its gradients. */
static guint edit_pass(const struct gradients *gradients, const struct graph_pass *pass)
{
	TachoGraph *graph = gradients->graph;
	guint32 first = 0, n;
	guint n_changed = 0;

	FOR_EACH_AT(const struct graph_transfer, transfer, i, graph->transfers) {
		guint64 bytes;

		if (transfer->is_removed || transfer->pass != pass->ordinal ||
		    graph_group_at(graph, transfer->group)->job != 0 ||
		    !operation_is_all_reduce(operation_of_name(graph->timeline, transfer->name)))
			continue;
		if (!sum_up_bucket(gradients, pass, transfer->bytes, first, &n, &bytes))
			break;
		first += n;
		if (bytes == transfer->bytes)
			continue;
		set_bytes(graph, i, bytes);
		n_changed++;
	}
	return n_changed;
}

/* A kernel that the plan uses gives gradients of weights out in another format than the framework's. */
static gboolean has_other_width(const struct gradients *gradients)
{
	const struct precision_job *job = gradients->job;
	enum number_format usual = number_format_result(job->reference->format);

	for (guint32 set = 0; set < gradients->ranks->sets->len; set++)
		for (guint32 i = 0; i < job->identity->operations->len; i++)
			if (precision_job_weight_gradient(
				    job, i, rank_formats_of(gradients->ranks, set)[i]) != usual)
				return TRUE;
	return FALSE;
}

guint plan_gradients_edit(const struct precision_job *job, TachoGraph *graph,
			  const struct rank_formats *ranks)
{
	struct gradients gradients = { job, graph, ranks };
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	guint n_changed = 0;

	if (!has_other_width(&gradients))
		return 0;
	graph_fold_hops(graph);
	FOR_EACH(const struct graph_pass, pass, graph->passes)
		if (g_hash_table_add(seen, GUINT_TO_POINTER(pass->ordinal)))
			n_changed += edit_pass(&gradients, pass);
	return n_changed;
}
