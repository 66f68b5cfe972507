#include "random_job.h"

enum { FIRST_WORKER = 40 }; /* number of its thread */

gint random_job_draw(struct random_job *job, gint most)
{
	return g_rand_int_range(job->random, 0, most + 1);
}

gboolean random_job_chance(struct random_job *job, gint one_of)
{
	return random_job_draw(job, one_of - 1) == 0;
}

void random_job_init(struct random_job *job, guint32 seed)
{
	*job = (struct random_job){ .random = g_rand_new_with_seed(seed) };
	job->n_ranks = 2 + (guint)random_job_draw(job, MAX_RANKS - 2);
	job->n_hosts = 1 + (guint)random_job_draw(job, (gint)job->n_ranks - 1);
	job->n_steps = 1 + (guint)random_job_draw(job, 2);
	job->n_streams = 1 + (guint)random_job_draw(job, MAX_STREAMS - 1);
	job->has_thread = random_job_chance(job, 2);
	job->has_copies = random_job_chance(job, 2);
	job->has_told = random_job_chance(job, 2);
	job->has_engines = random_job_chance(job, 2);
	job->has_messages = random_job_chance(job, 2);
	job->is_slow = random_job_chance(job, 6);
	job->is_cut = job->n_steps > 1 && random_job_chance(job, 4);
	for (guint i = 0; i < job->n_ranks; i++) {
		struct random_rank *rank = &job->ranks[i];

		rank->main = g_string_new(NULL);
		rank->side = g_string_new(NULL);
		rank->io = g_string_new(NULL);
		for (guint j = 0; j < MAX_WORKERS; j++)
			rank->workers[j] = g_string_new(NULL);
		for (guint j = 0; j < MAX_STREAMS; j++)
			rank->streams[j] = g_string_new(NULL);
		rank->now_us = 10 * random_job_draw(job, 2);
	}
}

static void end_track(GString *all, const gchar *head, guint number, GString *track)
{
	if (track->len > 0)
		g_string_append_printf(all, "%s %u\n%s", head, number, track->str);
	g_string_free(track, TRUE);
}

gchar *random_job_end(struct random_job *job)
{
	GString *all = g_string_new(job->is_slow ? "unit ms\n" : "unit us\n");

	for (guint i = 0; i < job->n_ranks; i++) {
		struct random_rank *rank = &job->ranks[i];

		g_string_append_printf(all, "rank %u host=h%u thread %u main\n%s", i,
				       i % job->n_hosts, 1000 + i, rank->main->str);
		g_string_free(rank->main, TRUE);
		end_track(all, "thread", 2000 + i, rank->side);
		end_track(all, "thread", 3000 + i, rank->io);
		for (guint j = 0; j < MAX_WORKERS; j++)
			end_track(all, "thread", FIRST_WORKER + j, rank->workers[j]);
		for (guint j = 0; j < MAX_STREAMS; j++)
			end_track(all, "stream", 7 + j, rank->streams[j]);
	}
	g_rand_free(job->random);
	return g_string_free(all, FALSE);
}

void random_job_op(GString *track, const gchar *name, gint begin_us, gint end_us, const gchar *more)
{
	g_string_append_printf(track, "op %s %d..%d %s\n", name, begin_us, end_us, more);
}

void random_job_end_step(struct random_job *job, guint step, const gint *begin_us)
{
	guint n_seen = job->n_ranks - (job->is_cut && step + 1 == job->n_steps);

	for (guint i = 0; i < n_seen; i++)
		g_string_append_printf(job->ranks[i].main, "annotation ProfilerStep#%u %d..%d\n",
				       step, begin_us[i], job->ranks[i].now_us);
}

void random_job_compute(struct random_job *job, struct random_rank *rank, const gchar *name)
{
	gint end_us = rank->now_us + 5 * (1 + random_job_draw(job, 5));
	g_autofree gchar *input = g_strdup_printf("in=float32[%d,4]", 1 + random_job_draw(job, 3));

	random_job_op(rank->main, name, rank->now_us, end_us, input);
	if (random_job_chance(job, 3))
		g_string_append_printf(rank->main, "kernel gemm %d..%d flops=1000 bytes=%d\n",
				       rank->now_us + random_job_draw(job, 2),
				       end_us - random_job_draw(job, 2),
				       100 * random_job_draw(job, 9));
	if (random_job_chance(job, 3)) /* for a step or for ever */
		g_string_append_printf(rank->main, "alloc %d address=%d bytes=%d%s\n",
				       rank->now_us + 1, 4096 * end_us,
				       256 * (1 + random_job_draw(job, 7)),
				       random_job_chance(job, 2) ? " device=0" : "");
	if (random_job_chance(job, 3))
		g_string_append_printf(rank->main, "free %d address=%d bytes=%d\n", end_us,
				       4096 * end_us, 256);
	rank->now_us = end_us + 5 * random_job_draw(job, 2) * random_job_draw(job, 1);
}

void random_job_reduce(struct random_job *job, const gchar *name, guint group, guint n_ranks,
		       guint bytes, const gint *queued_us, gint *over_us)
{
	guint worker = (guint)random_job_draw(job, MAX_WORKERS - 1);
	gint taken_us[MAX_RANKS], last_us = 0;

	for (guint i = 0; i < n_ranks; i++) {
		taken_us[i] = MAX(queued_us[i], job->ranks[i].worker_free_us[worker]);
		last_us = MAX(last_us, taken_us[i]);
	}
	last_us += 4 + (gint)(bytes >> 18) + 2 * random_job_draw(job, 2);
	for (guint i = 0; i < n_ranks; i++) {
		over_us[i] = last_us + random_job_draw(job, 2);
		job->ranks[i].worker_free_us[worker] = over_us[i];
		g_string_append_printf(job->ranks[i].main,
				       "collective gloo:%s %d..%d bytes=%u group=%u end_tid=%u "
				       "in=float32[%u]@%u\n",
				       name, taken_us[i], over_us[i], bytes, group,
				       FIRST_WORKER + worker, bytes / 4, 1 + bytes);
		if (random_job_chance(job, 4)) /* what the worker does in it, or a little longer */
			random_job_op(job->ranks[i].workers[worker], "gloo::reduce",
				      taken_us[i] + random_job_draw(job, 1),
				      over_us[i] + 2 * random_job_draw(job, 1), "");
	}
}

gint random_job_call(struct random_job *job, struct random_rank *rank, const gchar *name,
		     gint lasts_us)
{
	gint begin_us = rank->now_us;

	job->n_things++;
	g_string_append_printf(rank->main, "runtime %s#%u %d..%d\n", name, job->n_things, begin_us,
			       begin_us + lasts_us);
	rank->now_us = begin_us + lasts_us + random_job_draw(job, 1);
	return begin_us;
}

gint random_job_work(struct random_job *job, struct random_rank *rank, guint stream,
		     const gchar *call, const gchar *what, gint begin_us, gint lasts_us)
{
	begin_us = MAX(begin_us, rank->stream_free_us[stream]);
	g_string_append_printf(rank->streams[stream], "%s %d..%d launch=%s#%u\n", what, begin_us,
			       begin_us + lasts_us, call, job->n_things);
	rank->stream_free_us[stream] = begin_us + lasts_us + random_job_draw(job, 1);
	rank->stream_last[stream] = job->n_things;
	return begin_us + lasts_us;
}
