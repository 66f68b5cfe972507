/* random_devices: jobs of devices, with streams, events, copies, graphs of kernels and collectives. */
#include <string.h>

#include "random_job.h"

static void launch_kernel(struct random_job *job, struct random_rank *rank, guint stream)
{
	static const gchar *const names[] = { "gemm", "relu", "norm" };
	gint begin_us = random_job_call(job, rank, "cudaLaunchKernel", 1 + random_job_draw(job, 1));
	g_autofree gchar *what = NULL;

	g_snprintf(rank->last_kernel[stream], sizeof(rank->last_kernel[stream]), "%s%u",
		   names[random_job_draw(job, 2)], job->n_things);
	what = g_strdup_printf("kernel %s", rank->last_kernel[stream]);
	random_job_work(job, rank, stream, "cudaLaunchKernel", what,
			begin_us + random_job_draw(job, 4), 3 * (1 + random_job_draw(job, 6)));
}

/* From the host or to it; the call may wait for it. */
static void launch_copy(struct random_job *job, struct random_rank *rank, guint stream)
{
	gboolean is_to_host = random_job_chance(job, 2), is_waited_for = random_job_chance(job, 4);
	const gchar *call = is_waited_for ? "cudaMemcpy" : "cudaMemcpyAsync";
	gint begin_us = MAX(rank->now_us + 2, rank->stream_free_us[stream]), end_us;
	gint lasts_us = 2 + 2 * random_job_draw(job, 4);

	if (job->has_engines)
		begin_us = MAX(begin_us, rank->engine_free_us[is_to_host]);
	random_job_call(job, rank, call,
			is_waited_for ? begin_us + lasts_us - rank->now_us + 1 : 1);
	end_us = random_job_work(job, rank, stream, call,
				 is_to_host ? "memcpy 'Memcpy DtoH (Device -> Pageable)'"
					    : "memcpy 'Memcpy HtoD (Pageable -> Device)'",
				 begin_us, lasts_us);
	rank->engine_free_us[is_to_host] = MAX(rank->engine_free_us[is_to_host], end_us);
	rank->last_kernel[stream][0] = '\0';
}

/* One stream waits for what another has been given. */
static void wait_for_stream(struct random_job *job, struct random_rank *rank, guint stream,
			    guint other)
{
	gint begin_us;

	if (stream == other || rank->stream_last[other] == 0)
		return;
	random_job_call(job, rank, "cudaEventRecord", 1);
	begin_us = random_job_call(job, rank, "cudaStreamWaitEvent", 1);
	if (job->has_told)
		g_string_append_printf(
			rank->streams[stream],
			"sync 'Stream Wait Event' %d..%d launch=cudaStreamWaitEvent#%u", begin_us,
			begin_us + 1, job->n_things);
	if (job->has_told && other < stream && rank->last_kernel[other][0]) /* it stands above */
		g_string_append_printf(rank->streams[stream], " waits_for=%s",
				       rank->last_kernel[other]);
	if (job->has_told)
		g_string_append_c(rank->streams[stream], '\n');
	rank->stream_free_us[stream] = MAX(rank->stream_free_us[stream],
					   rank->stream_free_us[other] + random_job_draw(job, 1));
	launch_kernel(job, rank, stream);
}

/* The thread waits for a stream, or for all. */
static void wait_for_device(struct random_job *job, struct random_rank *rank, guint stream,
			    gboolean is_whole)
{
	gint free_us = rank->stream_free_us[stream], begin_us = rank->now_us;
	const gchar *name = is_whole			? "cudaDeviceSynchronize"
			    : random_job_chance(job, 2) ? "cudaStreamSynchronize"
							: "cudaEventSynchronize";

	for (guint i = 0; is_whole && i < job->n_streams; i++)
		free_us = MAX(free_us, rank->stream_free_us[i]);
	random_job_call(job, rank, name, MAX(free_us - begin_us, 0) + 1 + random_job_draw(job, 2));
	if (!job->has_told || is_whole)
		return;
	g_string_append_printf(rank->streams[stream], "sync '%s' %d..%d launch=%s#%u",
			       strstr(name, "Event") ? "Event Sync" : "Stream Sync", begin_us,
			       rank->now_us, name, job->n_things);
	if (rank->last_kernel[stream][0])
		g_string_append_printf(rank->streams[stream], " waits_for=%s",
				       rank->last_kernel[stream]);
	g_string_append_c(rank->streams[stream], '\n');
}

/* Kernels of one call, on several streams. */
static void launch_graph(struct random_job *job, struct random_rank *rank)
{
	gint at_us = random_job_call(job, rank, "cudaGraphLaunch", 2) + 4;

	for (guint i = 0; i < 4; i++) {
		guint stream = (guint)random_job_draw(job, (gint)job->n_streams - 1);
		g_autofree gchar *what = g_strdup_printf("kernel node%u", i);

		rank->last_kernel[stream][0] = '\0';
		at_us = random_job_work(job, rank, stream, "cudaGraphLaunch", what, at_us,
					2 + 3 * random_job_draw(job, 2)) +
			random_job_draw(job, 5);
	}
}

static void play_device(struct random_job *job, struct random_rank *rank, gint n_calls)
{
	for (gint i = 0; i < n_calls; i++) {
		guint stream = (guint)random_job_draw(job, (gint)job->n_streams - 1);

		switch (random_job_draw(job, 9)) {
		case 0:
			launch_copy(job, rank, stream);
			break;
		case 1:
			wait_for_stream(job, rank, stream,
					(guint)random_job_draw(job, (gint)job->n_streams - 1));
			break;
		case 2:
			wait_for_device(job, rank, stream, random_job_chance(job, 3));
			break;
		case 3:
			launch_graph(job, rank);
			break;
		case 4:
			random_job_compute(job, rank, "host");
			break;
		default:
			launch_kernel(job, rank, stream);
		}
	}
}

/* A collective of kernels. */
static void reduce_on_devices(struct random_job *job, guint group)
{
	gint begin_us[MAX_RANKS], last_us = 0;
	guint stream = job->n_streams - 1, bytes = 65536u * (1 + (guint)random_job_draw(job, 3));
	guint calls[MAX_RANKS];

	for (guint i = 0; i < job->n_ranks; i++) {
		struct random_rank *rank = &job->ranks[i];

		begin_us[i] = random_job_call(job, rank, "cudaLaunchKernel", 1) + 2;
		begin_us[i] = MAX(begin_us[i], rank->stream_free_us[stream]);
		last_us = MAX(last_us, begin_us[i]);
		calls[i] = job->n_things;
	}
	last_us += 5 + (gint)(bytes >> 15);
	for (guint i = 0; i < job->n_ranks; i++) {
		struct random_rank *rank = &job->ranks[i];
		gint end_us = last_us + random_job_draw(job, 1);

		g_string_append_printf(rank->streams[stream],
				       "collective nccl:all_reduce %d..%d bytes=%u group=%u "
				       "launch=cudaLaunchKernel#%u\n",
				       begin_us[i], end_us, bytes, group, calls[i]);
		rank->stream_free_us[stream] = end_us;
		rank->stream_last[stream] = calls[i];
		rank->last_kernel[stream][0] = '\0';
	}
}

gchar *random_devices_text(guint32 seed)
{
	struct random_job job;

	random_job_init(&job, seed);
	for (guint step = 0; step < job.n_steps; step++) {
		gint begin_us[MAX_RANKS];

		for (guint i = 0; i < job.n_ranks; i++) {
			begin_us[i] = job.ranks[i].now_us;
			play_device(&job, &job.ranks[i], 4 + random_job_draw(&job, 8));
		}
		for (gint n = random_job_draw(&job, 2); n > 0; n--)
			reduce_on_devices(&job, 1 + (guint)random_job_draw(&job, 1));
		for (guint i = 0; i < job.n_ranks; i++) {
			play_device(&job, &job.ranks[i], random_job_draw(&job, 4));
			if (random_job_chance(&job, 2))
				wait_for_device(&job, &job.ranks[i], 0, TRUE);
			random_job_compute(&job, &job.ranks[i], "host");
		}
		random_job_end_step(&job, step, begin_us);
	}
	return random_job_end(&job);
}
