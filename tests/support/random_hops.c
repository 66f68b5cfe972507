/* random_hops: jobs whose collectives are told of hop by hop: rings, trees and servers. */
#include "random_job.h"

static void write_hop(struct random_job *job, guint rank, const gchar *way, gint peer,
		      const gchar *more, gboolean is_receive, gint begin_us, gint end_us)
{
	g_string_append_printf(
		job->ranks[rank].side, "hop %s push_pull peer=%d %s%s event %s %d..%d\n", way, peer,
		more, is_receive ? " receive" : "", is_receive ? "in" : "out", begin_us, end_us);
}

/* 2 (n - 1) steps on each channel; returns when all is over. */
static gint play_ring(struct random_job *job, guint n_channels, gint from_us)
{
	gint last_us = from_us;
	guint n = job->n_ranks;

	for (guint channel = 0; channel < n_channels; channel++) {
		gint at_us = from_us + random_job_draw(job, 2);

		for (guint step = 0; step < 2 * (n - 1); step++) {
			gint end_us = at_us + 2 + random_job_draw(job, 3);

			for (guint rank = 0; rank < n; rank++) {
				guint next = (rank + 1) % n;
				g_autofree gchar *more = g_strdup_printf(
					"step=%u channel=%u fed_by=%d fed_step=%d bytes=%u", step,
					channel, step ? (gint)rank : -1, MAX((gint)step - 1, 0),
					4096 * (1 + channel));

				write_hop(job, rank, "ring", (gint)next, more, FALSE, at_us,
					  end_us - random_job_draw(job, 1));
				if (!random_job_chance(job, 4))
					write_hop(job, next, "ring", (gint)rank, more, TRUE, at_us,
						  end_us);
			}
			at_us = end_us;
		}
		last_us = MAX(last_us, at_us);
		for (guint rank = 0; rank < n; rank++)
			g_string_append_printf(
				job->ranks[rank].side,
				"hop ring push_pull channel=%u fed_by=%u fed_step=%u\n", channel,
				rank, 2 * (n - 1) - 1);
	}
	return last_us;
}

/* Up to rank 0, and down again. */
static gint play_tree(struct random_job *job, guint n_channels, gint from_us)
{
	gint last_us = from_us;

	for (guint channel = 0; channel < n_channels; channel++) {
		gint at_us = from_us;

		for (guint step = 0; step < 2; step++) {
			gint step_us = at_us;

			for (guint rank = 1; rank < job->n_ranks; rank++) {
				gint end_us = step_us + 3 + 2 * random_job_draw(job, 3);
				guint sender = step ? 0 : rank, receiver = step ? rank : 0;
				g_autofree gchar *more = g_strdup_printf(
					"step=%u channel=%u bytes=%u", step, channel,
					8192 * (1 + (guint)random_job_draw(job, 1)));

				write_hop(job, sender, "tree", (gint)receiver, more, FALSE, step_us,
					  end_us);
				write_hop(job, receiver, "tree", (gint)sender, more, TRUE, step_us,
					  end_us + random_job_draw(job, 1));
				at_us = MAX(at_us, end_us + 1);
			}
		}
		last_us = MAX(last_us, at_us);
	}
	return last_us;
}

/* Pushed to a server, summed up there, and pulled. The server is a process beside the last rank's. */
static gint play_servers(struct random_job *job, guint n_parts, gint from_us, GString *server)
{
	gint pushed_us = from_us, last_us = from_us;

	for (guint part = 0; part < n_parts; part++)
		for (guint rank = 0; rank < job->n_ranks; rank++) {
			gint begin_us = pushed_us - random_job_draw(job, 2), end_us = pushed_us + 6;
			g_autofree gchar *more =
				g_strdup_printf("step=0 part=%u bytes=%d", part,
						4096 * (1 + random_job_draw(job, 7)));

			write_hop(job, rank, "server", -1, more, FALSE, MAX(begin_us, from_us),
				  end_us);
			g_string_append_printf(
				server, "hop server - peer=%u part=%u event sum %d..%d\n", rank,
				part, end_us - 2 - random_job_draw(job, 1), end_us);
			pushed_us = end_us - random_job_draw(job, 3);
			last_us = MAX(last_us, end_us);
		}
	for (guint part = 0; part < n_parts; part++)
		for (guint rank = 0; rank < job->n_ranks; rank++) {
			gint begin_us = last_us + 3 * (gint)part;
			g_autofree gchar *more =
				g_strdup_printf("step=1 part=%u bytes=16384", part);

			write_hop(job, rank, "server", -1, more, TRUE, begin_us,
				  begin_us + 2 + random_job_draw(job, 2));
		}
	return last_us + 3 * (gint)n_parts + 4;
}

gchar *random_hops_text(guint32 seed)
{
	struct random_job job;
	g_autoptr(GString) server = g_string_new(NULL);
	g_autofree gchar *text = NULL;

	random_job_init(&job, seed);
	for (guint step = 0; step < job.n_steps; step++) {
		gint begin_us[MAX_RANKS], come_us[MAX_RANKS], from_us = 0, over_us;

		for (guint i = 0; i < job.n_ranks; i++) {
			begin_us[i] = job.ranks[i].now_us;
			random_job_compute(&job, &job.ranks[i], "forward");
			random_job_compute(&job, &job.ranks[i], "backward");
			come_us[i] = job.ranks[i].now_us;
			from_us = MAX(from_us, come_us[i]);
			/* the hops name it, so it must stand above them */
			g_string_append_printf(job.ranks[i].side, "collective push_pull %d..%d\n",
					       come_us[i], come_us[i]);
		}
		over_us = seed % 3 == 0	  ? play_ring(&job, 1 + step % 2, from_us)
			  : seed % 3 == 1 ? play_tree(&job, 1 + step % 2, from_us)
					  : play_servers(&job, 1 + step % 3, from_us, server);
		for (guint i = 0; i < job.n_ranks; i++) {
			g_autofree gchar *was = g_strdup_printf("collective push_pull %d..%d\n",
								come_us[i], come_us[i]);
			g_autofree gchar *is = g_strdup_printf(
				"collective push_pull %d..%d bytes=32768 packing=%u end_tid=50 "
				"in=float32[4096]@%u in=float32[4096]@%u\n",
				come_us[i], over_us + random_job_draw(&job, 2), 1 + seed % 2,
				64 + step, 90 + step);

			g_string_replace(job.ranks[i].side, was, is, 1);
			job.ranks[i].now_us = over_us + 3;
			random_job_compute(&job, &job.ranks[i], "optimizer");
		}
		random_job_end_step(&job, step, begin_us);
	}
	text = random_job_end(&job);
	return server->len
		       ? g_strdup_printf("%sprocess 5000\nthread 90 server\n%s", text, server->str)
		       : g_steal_pointer(&text);
}
