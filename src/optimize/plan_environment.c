/* plan_environment: plans as what libraries read from the environment or a file of theirs. Lines that begin with '#' are for people. */
#include "optimize/plan_target.h"

#include <string.h>

static void write_head(const TachoPlan *plan, FILE *out)
{
	fprintf(out,
		"# tacho: for %u ranks; predicted step %.3f ms, %.3f ms without these changes\n",
		plan->n_ranks, plan->predicted_step_ms, plan->baseline_step_ms);
}

/* Horovod packs what is ready into a buffer, which is sent when it is full, or when the cycle is over. So its buckets are not the plan's:
 * what can be set is how large they may become. */
gboolean plan_write_horovod(const TachoPlan *plan, FILE *out, GError **error)
{
	const struct plan_change *buckets = plan_target_need(plan, PLAN_BUCKETS, error);

	if (!buckets)
		return FALSE;
	write_head(plan, out);
	fputs("# Horovod packs gradients by itself, into buffers of at most so many bytes\n", out);
	fprintf(out, "HOROVOD_FUSION_THRESHOLD=%" G_GUINT64_FORMAT "\n",
		plan_largest_bucket(plan, buckets));
	return TRUE;
}

/* BytePS sends each tensor by itself, in parts. */
gboolean plan_write_byteps(const TachoPlan *plan, FILE *out, GError **error)
{
	const struct plan_change *parts = plan_target_need(plan, PLAN_PART_BYTES, error);

	if (!parts)
		return FALSE;
	if (parts->sizes) {
		g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
				    "the plan has parts of a size for each bucket, which BytePS "
				    "takes only with dPRO's changes: write it as dpro-partition");
		return FALSE;
	}
	write_head(plan, out);
	fprintf(out, "BYTEPS_PARTITION_BYTES=%" G_GUINT64_FORMAT "\n", parts->count);
	return TRUE;
}

/* collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks; -1: any, or NCCL's own choice.
 * Source: ext-tuner/example/README.md of NCCL. */
gboolean plan_write_nccl(const TachoPlan *plan, FILE *out, GError **error)
{
	const struct plan_change *algorithm = plan_target_need(plan, PLAN_ALGORITHM, error);

	if (!algorithm)
		return FALSE;
	write_head(plan, out);
	fprintf(out, "allreduce,0,4294967295,%s,simple,-1,-1,%u\n", algorithm->word, plan->n_ranks);
	return TRUE;
}
