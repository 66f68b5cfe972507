/* random_contention: jobs whose computing is slower beside what moves bytes, on hosts and on devices. */
#include "random_job.h"

/* Many operations of a kind, of which those beside a long transfer take longer; on hosts, or kernels on devices. */
gchar *random_contention_text(guint32 seed)
{
	struct random_job job;
	gboolean is_device = seed % 2;
	gint stretch_pct, part, at_us = 0, from_us = 0;

	random_job_init(&job, seed);
	job.is_cut = FALSE;
	stretch_pct = seed % 7 == 0 ? -10 : 10 + random_job_draw(&job, 60);
	part = seed % 5 == 0 ? 10 : 1; /* too short in all to say something */
	for (gint i = 0; i < 30; i++) {
		gint lasts_us =
			(900 + 10 * random_job_draw(&job, 20) + (i == 3 ? 20000 : 0)) / part;

		if (i == 12)
			from_us = at_us + 300 / part;
		if (i >= 12 && i < 26)
			lasts_us += lasts_us * stretch_pct / 100;
		for (guint rank = 0; rank < job.n_ranks; rank++) {
			struct random_rank *row = &job.ranks[rank];

			if (is_device) {
				row->now_us = 10 * i;
				random_job_call(&job, row, "cudaLaunchKernel", 2);
				random_job_work(&job, row, 0, "cudaLaunchKernel",
						i % 7 ? "kernel gemm" : "kernel relu", at_us + 1000,
						lasts_us);
			} else {
				random_job_op(row->main, i % 7 ? "mm" : "relu", at_us,
					      at_us + lasts_us, "in=float32[8]");
			}
			row->now_us = at_us + lasts_us + 2000;
		}
		at_us += lasts_us + random_job_draw(&job, 1);
	}
	for (guint rank = 0; rank < job.n_ranks; rank++) {
		struct random_rank *row = &job.ranks[rank];

		if (is_device)
			g_string_append_printf(
				row->streams[1],
				"collective nccl:all_reduce %d..%d bytes=1048576 group=1\n",
				from_us + 1000, from_us + 1000 + 12000 / part);
		else
			g_string_append_printf(row->main,
					       "collective gloo:all_reduce %d..%d bytes=1048576 "
					       "end_tid=40\n",
					       from_us, from_us + 13000 / part);
		if (job.has_messages)
			g_string_append_printf(
				row->io, "message send %d..%d bytes=1048576 fd=3\n", from_us,
				from_us + 500 * (1 + random_job_draw(&job, 6)) / part);
	}
	random_job_end_step(&job, 0, (gint[MAX_RANKS]){ 0 });
	return random_job_end(&job);
}
