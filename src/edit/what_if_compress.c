/* what_if_compress: gradients are sent in 16 bits, as DistributedDataParallel's compression hooks send them.
 *
 * Buckets stay as they are packed, and have half the bytes on the links: waits are in proportion to the latencies of a collective
 * of that size, the rest to its bytes. What is computed stays: the casts before and after a bucket, two passes over memory, are
 * not in it. */
#include <string.h>

#include "base/for_each.h"
#include "edit/change_internal.h"
#include "edit/collective_plan.h"

static const gchar *const widths[] = { "bf16", "fp16" };

gboolean parse_compress(struct change *change, const gchar *text, GError **error)
{
	for (guint i = 0; i < G_N_ELEMENTS(widths); i++)
		if (strcmp(text, widths[i]) == 0)
			return TRUE;
	return change_refuse(error, change, "write compress=bf16 or compress=fp16");
}

static gboolean check_gradients(const TachoGraph *graph, const struct change *change,
				GError **error)
{
	FOR_EACH(const struct graph_pass, pass, graph->passes)
		for (guint32 i = 0; i < pass->n_gradients; i++) {
			const gchar *dtype = g_array_index(graph->gradients, struct graph_gradient,
							   pass->first_gradient + i)
						     .dtype;

			if (strcmp(dtype, "float32") != 0)
				return change_refuse(
					error, change,
					"gradients of 32 bits can be halved, and there "
					"is one of type '%s'",
					*dtype ? dtype : "that is not known");
		}
	return TRUE;
}

static gboolean is_bucket(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	return !transfer->is_removed && transfer->pass != TACHO_NONE &&
	       graph_group_at(graph, transfer->group)->job == 0 &&
	       operation_is_all_reduce(operation_of_name(graph->timeline, transfer->name));
}

gboolean apply_compress(TachoGraph *graph, const struct change *change, GError **error)
{
	guint n_buckets = 0;

	if (!check_gradients(graph, change, error))
		return FALSE;
	graph_fold_hops(graph);
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		struct graph_transfer whole = *graph_transfer_at(graph, i);
		struct collective_time time;

		if (!is_bucket(graph, &whole) || whole.bytes < 2)
			continue;
		time = transfer_of_size(graph, &whole, whole.bytes / 2);
		graph_transfer_at(graph, i)->bytes = whole.bytes / 2;
		graph_change_transfer(graph, i, time.fixed_ns, time.work_ns, ORIGIN_MODELLED);
		n_buckets++;
	}
	return n_buckets > 0 ||
	       change_refuse(error, change, "no collective of gradients is in the steps");
}
