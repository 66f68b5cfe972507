/* plan_ddp: a plan as what a person writes into a training program that uses PyTorch's DistributedDataParallel.
 *
 * DistributedDataParallel takes a largest size of its buckets. Later versions take a list, a size for each bucket, which is full once it holds as
 * much: so buckets that have gradients of one type in the order in which they come are said exactly. Otherwise they become the size that
 * comes nearest: that of the largest of them. What tacho apply does is the plan itself. */
#include "optimize/plan_target.h"

#include <string.h>

#define MIB (1024.0 * 1024)

/* The gradients are of one type, and in the buckets as they come. */
static gboolean is_in_order(const TachoPlan *plan, const struct plan_change *buckets)
{
	for (guint i = 0; i < buckets->order->len; i++)
		if (g_array_index(buckets->order, guint32, i) != i ||
		    g_array_index(plan->gradients, struct plan_gradient, i).dtype !=
			    g_array_index(plan->gradients, struct plan_gradient, 0).dtype)
			return FALSE;
	return TRUE;
}

static void write_mib(guint64 bytes, FILE *out)
{
	gchar text[G_ASCII_DTOSTR_BUF_SIZE];

	fputs(g_ascii_formatd(text, sizeof(text), "%.10g", (gdouble)bytes / MIB), out);
}

static void write_list(const TachoPlan *plan, const struct plan_change *buckets, FILE *out)
{
	guint32 first = 0;

	fputs("# exactly, where DistributedDataParallel has this argument (PyTorch 2.13 does):\n"
	      "+    bucket_cap_mb_list=[",
	      out);
	for (guint i = 0; i < buckets->n_of->len; i++) {
		guint32 n = g_array_index(buckets->n_of, guint32, i);

		fputs(i ? ", " : "", out);
		write_mib(plan_bucket_bytes(plan, buckets, first, n), out);
		first += n;
	}
	fputs("],\n# else, as near as one size comes:\n", out);
}

static void write_arguments(const TachoPlan *plan, FILE *out)
{
	const struct plan_change *buckets = plan_find(plan, PLAN_BUCKETS);

	if (!buckets)
		return;
	fprintf(out, "# %u gradients in %u buckets; tacho apply makes them without this.\n",
		plan->gradients->len, buckets->n_of->len);
	fputs(" model = DistributedDataParallel(\n     model,\n", out);
	if (is_in_order(plan, buckets))
		write_list(plan, buckets, out);
	fputs("+    bucket_cap_mb=", out);
	write_mib(plan_largest_bucket(plan, buckets), out);
	fputs(",\n )\n", out);
}

static void write_compression(const TachoPlan *plan, FILE *out)
{
	const struct plan_change *change = plan_find(plan, PLAN_COMPRESSION);

	if (!change)
		return;
	fputs("# Gradients are sent in fewer bytes; this changes results.\n", out);
	if (plan_powersgd_rank(change->word))
		fprintf(out,
			"+from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook\n"
			"+state = powerSGD_hook.PowerSGDState(process_group=None, "
			"matrix_approximation_rank=%u)\n"
			"+model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)\n",
			plan_powersgd_rank(change->word));
	else
		fprintf(out,
			"+from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n"
			"+model.register_comm_hook(None, default_hooks.%s_compress_hook)\n",
			change->word);
}

static void write_accumulation(const TachoPlan *plan, FILE *out)
{
	const struct plan_change *change = plan_find(plan, PLAN_ACCUMULATION);

	if (!change)
		return;
	fprintf(out,
		"# Gradients of %" G_GUINT64_FORMAT
		" passes make an update; this changes results.\n"
		"+import contextlib\n"
		"+is_last = (i + 1) %% %" G_GUINT64_FORMAT " == 0\n"
		"+with contextlib.nullcontext() if is_last else model.no_sync():\n"
		"+    loss = loss_function(model(inputs), targets) / %" G_GUINT64_FORMAT "\n"
		"+    loss.backward()\n"
		"+if is_last:\n"
		"+    optimizer.step()\n"
		"+    optimizer.zero_grad()\n",
		change->count, change->count, change->count);
}

static void write_checkpoint(const TachoPlan *plan, FILE *out)
{
	const struct plan_change *change = plan_find(plan, PLAN_CHECKPOINT);

	if (!change)
		return;
	fputs("# Before the model is wrapped: what these modules compute is computed again in the "
	      "backward pass.\n"
	      "+import functools\n"
	      "+from torch.utils.checkpoint import checkpoint\n"
	      "+for name in (",
	      out);
	for (guint i = 0; i < change->names->len; i++) {
		g_autofree gchar *name = g_strescape(change->names->pdata[i], NULL);

		fprintf(out, "\"%s\",%s", name, i + 1 < change->names->len ? " " : "");
	}
	fputs("):\n"
	      "+    module = model.get_submodule(name)\n"
	      "+    module.forward = functools.partial(checkpoint, module.forward, "
	      "use_reentrant=False)\n",
	      out);
}

static void write_workers(const TachoPlan *plan, FILE *out)
{
	const struct plan_change *change = plan_find(plan, PLAN_WORKERS);

	if (change)
		fprintf(out,
			" loader = DataLoader(\n     dataset,\n+    num_workers=%" G_GUINT64_FORMAT
			",\n )\n",
			change->count);
}

gboolean plan_write_ddp(const TachoPlan *plan, FILE *out, GError **error)
{
	static const enum plan_change_kind others[] = { PLAN_PART_BYTES, PLAN_ALGORITHM,
							PLAN_CLUSTERS,	 PLAN_FSDP_PREFETCH,
							PLAN_FSDP_KEEP,	 PLAN_PRECISION };

	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (plan_find(plan, others[i])) {
			g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
				    "DistributedDataParallel has nothing for '%s' of the plan",
				    plan_change_name(others[i]));
			return FALSE;
		}
	fprintf(out,
		"# tacho: for %u ranks; predicted step %.3f ms, %.3f ms without these changes. "
		"Lines with '+' are new.\n",
		plan->n_ranks, plan->predicted_step_ms, plan->baseline_step_ms);
	write_checkpoint(plan, out);
	write_arguments(plan, out);
	write_compression(plan, out);
	write_accumulation(plan, out);
	write_workers(plan, out);
	return TRUE;
}
