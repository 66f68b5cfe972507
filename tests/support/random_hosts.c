/* random_hosts: data-parallel jobs of hosts, with buckets, copies, threads of autograd, late readers and roots. */
#include "random_job.h"

enum { MAX_BUCKETS = 4 };

#define GRADIENT "torch::autograd::AccumulateGrad"
#define COPY	 "torch.distributed.ddp.reducer::copy_bucket_to_grad"
#define LOADER	 "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

/* What a bucket of a step is, and when each rank had queued it and had it back. */
struct bucket {
	guint n_gradients;
	gint mib, queued_us[MAX_RANKS], over_us[MAX_RANKS];
};

/* The backward pass of a rank, on its own thread or the main one; returns when it was over. */
static gint pass_backward(struct random_job *job, guint index, struct bucket *buckets,
			  guint n_buckets)
{
	struct random_rank *rank = &job->ranks[index];
	GString *track = job->has_thread ? rank->side : rank->main;
	gint at_us = rank->now_us + 2;

	for (guint i = 0; i < n_buckets; i++) {
		for (guint j = 0; j < buckets[i].n_gradients; j++) {
			gint begin_us = at_us, end_us = at_us + 3 + 5 * random_job_draw(job, 2);
			g_autofree gchar *input = g_strdup_printf(
				"backward in=float32[%d]",
				262144 * buckets[i].mib / (gint)buckets[i].n_gradients);

			random_job_op(track, "MmBackward0", begin_us, begin_us + 2, "backward");
			random_job_op(track, GRADIENT, begin_us + 2, end_us, input);
			at_us = end_us + (random_job_chance(job, 4) ? 2 : 0);
			buckets[i].queued_us[index] = end_us;
		}
	}
	return at_us;
}

/* Wait for each bucket, and copy its gradients back. */
static void copy_back(struct random_job *job, guint index, const struct bucket *buckets,
		      guint n_buckets)
{
	struct random_rank *rank = &job->ranks[index];

	for (guint i = 0; i < n_buckets; i++) {
		rank->now_us = MAX(rank->now_us, buckets[i].over_us[index]);
		if (!job->has_copies)
			continue;
		random_job_op(rank->main, "aten::view", rank->now_us, rank->now_us + 1, "");
		rank->now_us++;
		for (guint j = 0; j < buckets[i].n_gradients; j++, rank->now_us += 2)
			random_job_op(rank->main, COPY, rank->now_us, rank->now_us + 2, "");
	}
}

static void play_passes(struct random_job *job)
{
	struct bucket buckets[MAX_BUCKETS] = { { 0 } };
	guint n_buckets = 1 + (guint)random_job_draw(job, MAX_BUCKETS - 1);

	for (guint i = 0; i < n_buckets; i++) {
		buckets[i].n_gradients = 1 + (guint)random_job_draw(job, 2);
		buckets[i].mib = (gint)buckets[i].n_gradients * (1 + random_job_draw(job, 1));
	}
	for (guint i = 0; i < job->n_ranks; i++)
		job->ranks[i].now_us = pass_backward(job, i, buckets, n_buckets);
	for (guint i = 0; i < n_buckets; i++)
		random_job_reduce(job, "all_reduce", 0, job->n_ranks, (guint)buckets[i].mib << 20,
				  buckets[i].queued_us, buckets[i].over_us);
	for (guint i = 0; i < job->n_ranks; i++)
		copy_back(job, i, buckets, n_buckets);
}

/* Collectives for which everybody waits at once, or for whose tensor somebody asks later. */
static void play_small(struct random_job *job)
{
	static const gchar *const names[] = { "all_reduce", "barrier", "reduce_scatter",
					      "all_gather" };
	guint n_ranks = random_job_chance(job, 2) ? 2 : job->n_ranks;
	guint bytes =
		random_job_chance(job, 2) ? 64 : 65536u * (1 + (guint)random_job_draw(job, 2));
	gint queued_us[MAX_RANKS], over_us[MAX_RANKS];
	gboolean is_late = random_job_chance(job, 2);

	for (guint i = 0; i < n_ranks; i++) {
		queued_us[i] = job->ranks[i].now_us;
		random_job_op(job->ranks[i].main, "c10d::work_", queued_us[i], queued_us[i] + 1,
			      "");
		job->ranks[i].now_us++;
	}
	random_job_reduce(job, names[random_job_draw(job, 3)], n_ranks == job->n_ranks ? 0 : 1,
			  n_ranks, bytes, queued_us, over_us);
	for (guint i = 0; i < n_ranks; i++) {
		struct random_rank *rank = &job->ranks[i];
		g_autofree gchar *input =
			g_strdup_printf("in=float32[%u]@%u", bytes / 4, 1 + bytes);

		if (is_late)
			random_job_compute(job, rank, "beside");
		rank->now_us = MAX(rank->now_us, over_us[i]);
		if (is_late)
			random_job_op(rank->main, "reads", rank->now_us, rank->now_us + 4, input);
		rank->now_us += is_late ? 4 : 0;
	}
}

/* The root is done before the others have come. */
static void play_broadcast(struct random_job *job)
{
	for (guint i = 0; i < job->n_ranks; i++) {
		struct random_rank *rank = &job->ranks[i];
		gint last_us = rank->now_us;

		for (guint j = 0; j < job->n_ranks; j++)
			last_us = MAX(last_us, job->ranks[j].now_us);
		g_string_append_printf(rank->main,
				       "collective gloo:broadcast %d..%d bytes=4096 group=0 "
				       "end_tid=40\n",
				       rank->now_us, i == 0 ? rank->now_us + 3 : last_us + 5);
	}
	for (guint i = 0; i < job->n_ranks; i++)
		job->ranks[i].now_us += 3;
}

gchar *random_hosts_text(guint32 seed)
{
	struct random_job job;

	random_job_init(&job, seed);
	for (guint step = 0; step < job.n_steps; step++) {
		gint begin_us[MAX_RANKS];

		for (guint i = 0; i < job.n_ranks; i++) {
			struct random_rank *rank = &job.ranks[i];

			begin_us[i] = rank->now_us;
			if (random_job_chance(&job, 2)) {
				gint end_us = rank->now_us + 5 * (1 + random_job_draw(&job, 3));

				g_string_append_printf(rank->main, "annotation " LOADER " %d..%d\n",
						       rank->now_us, end_us);
				rank->now_us = end_us;
			}
			for (gint n = random_job_draw(&job, 3); n >= 0; n--)
				random_job_compute(&job, rank, n % 2 ? "forward" : "loss");
		}
		play_passes(&job);
		if (random_job_chance(&job, 2))
			play_small(&job);
		if (random_job_chance(&job, 4))
			play_broadcast(&job);
		for (guint i = 0; i < job.n_ranks; i++)
			random_job_compute(&job, &job.ranks[i], "optimizer");
		random_job_end_step(&job, step, begin_us);
	}
	return random_job_end(&job);
}
