/* random_messages: jobs whose ranks send to each other, in runs of calls and with words between them. */
#include "random_job.h"

/* One end of what the first rank sends to the second. */
static void write_message(struct random_job *job, guint from, guint to, gboolean is_receive,
			  gint bytes, gint begin_us, gint end_us)
{
	g_autofree gchar *sender = g_strdup_printf("10.0.0.%u:%u", from + 1, 5000 + to);
	g_autofree gchar *receiver = g_strdup_printf("10.0.0.%u:%u", to + 1, 6000 + from);

	g_string_append_printf(job->ranks[is_receive ? to : from].io,
			       "message m %d..%d bytes=%d fd=%u%s local=%s peer=%s\n", begin_us,
			       end_us, bytes, 10 + (is_receive ? from : 20 + to),
			       is_receive ? " receive" : "", is_receive ? receiver : sender,
			       is_receive ? sender : receiver);
}

/* A send of the first rank to the second, which asked for it sooner or later. */
static void pass_on(struct random_job *job)
{
	struct random_rank *sender = &job->ranks[0], *receiver = &job->ranks[1];
	gint over_us = MAX(sender->now_us, receiver->now_us) + 6 + random_job_draw(job, 3);

	g_string_append_printf(sender->main, "collective gloo:send %d..%d bytes=6000 peer=1\n",
			       sender->now_us, over_us - random_job_draw(job, 3));
	g_string_append_printf(receiver->main, "collective gloo:recv %d..%d bytes=6000 peer=0\n",
			       receiver->now_us, over_us);
	sender->now_us = receiver->now_us = over_us;
}

/* All-reduces, whose ranks send to each other, in runs of calls and words between them. */
gchar *random_messages_text(guint32 seed)
{
	struct random_job job;
	gint begin_us[MAX_RANKS] = { 0 };

	random_job_init(&job, seed);
	job.n_hosts = 1;
	job.is_cut = FALSE;
	for (guint i = 0; i < job.n_ranks; i++)
		job.ranks[i].now_us = 0;
	for (gint run = 0; run < 9; run++) {
		gint queued_us[MAX_RANKS], over_us[MAX_RANKS], from_us = 0;

		for (guint i = 0; i < job.n_ranks; i++) {
			random_job_compute(&job, &job.ranks[i], "forward");
			queued_us[i] = job.ranks[i].now_us;
			from_us = MAX(from_us, queued_us[i]);
		}
		for (guint from = 0; from < job.n_ranks; from++)
			for (guint to = 0; to < job.n_ranks; to++) {
				gint at_us = from_us + random_job_draw(&job, 1);
				gint n_calls = 5 + random_job_draw(&job, 3);

				if (from == to)
					continue;
				write_message(&job, from, to, FALSE, 48, at_us, at_us);
				write_message(&job, from, to, TRUE, 48, at_us,
					      at_us + 1 + random_job_draw(&job, 1));
				for (gint i = 0; i < n_calls; i++) {
					gint bytes = 4096 * (1 + random_job_draw(&job, 3));

					at_us += 1 + random_job_draw(&job, 2);
					write_message(&job, from, to, FALSE, bytes, at_us - 1,
						      at_us);
					write_message(&job, from, to, TRUE, bytes, at_us,
						      at_us + 1);
				}
			}
		for (guint i = 0; i < job.n_ranks; i++)
			job.ranks[i].worker_free_us[0] = job.ranks[i].worker_free_us[1] = 0;
		for (guint i = 0; i < job.n_ranks; i++)
			queued_us[i] = MIN(queued_us[i], from_us);
		random_job_reduce(&job, "all_reduce", 0, job.n_ranks, 4 << 20, queued_us, over_us);
		for (guint i = 0; i < job.n_ranks; i++)
			job.ranks[i].now_us = over_us[i];
		if (run % 3 == 2)
			pass_on(&job);
		if (run == 8 && seed % 2) /* messages go on after the step */
			for (guint i = 0; i < job.n_ranks; i++)
				job.ranks[i].now_us = from_us + 1 + random_job_draw(&job, 12);
	}
	random_job_end_step(&job, 0, begin_us);
	return random_job_end(&job);
}
