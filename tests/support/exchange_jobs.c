#include "exchange_jobs.h"

enum { TRANSFER_US = 100 };

void exchange_ring(struct exchange *job, guint n_ranks, guint n_rounds, const gint64 *compute_us)
{
	exchange_init(job, n_ranks, TRANSFER_US);
	for (guint rank = 0; rank < n_ranks; rank++)
		for (guint i = 0; i < n_rounds; i++) {
			exchange_compute(job, rank, compute_us[rank]);
			exchange_batch(job, rank, (gint32)((rank + 1) % n_ranks),
				       (gint32)((rank + n_ranks - 1) % n_ranks));
		}
}

void exchange_pipeline(struct exchange *job, guint n_ranks, guint n_micro_batches,
		       const gint64 *compute_us)
{
	exchange_init(job, n_ranks, TRANSFER_US);
	for (guint rank = 0; rank < n_ranks; rank++)
		for (guint i = 0; i <= n_micro_batches; i++) {
			gint32 to = i > 0 && rank + 1 < n_ranks ? (gint32)rank + 1 : -1;
			gint32 from = i < n_micro_batches && rank > 0 ? (gint32)rank - 1 : -1;

			if (to >= 0 || from >= 0)
				exchange_batch(job, rank, to, from);
			if (i < n_micro_batches)
				exchange_compute(job, rank, compute_us[rank]);
		}
}

void exchange_two_stages(struct exchange *job, guint n_micro_batches, const gint64 *compute_us)
{
	exchange_init(job, 2, TRANSFER_US);
	exchange_batch(job, 1, -1, 0);
	for (guint i = 0; i < n_micro_batches; i++) {
		exchange_compute(job, 0, compute_us[0]);
		exchange_batch(job, 0, 1, i > 0 ? 1 : -1);
		if (i > 0)
			exchange_compute(job, 0, 2 * compute_us[0]);
		exchange_compute(job, 1, 3 * compute_us[1]);
		exchange_batch(job, 1, 0, i + 1 < n_micro_batches ? 0 : -1);
	}
	exchange_batch(job, 0, -1, 1);
	exchange_compute(job, 0, 2 * compute_us[0]);
}

void exchange_both_ways(struct exchange *job, guint n_ranks, guint n_rounds,
			const gint64 *compute_us)
{
	exchange_init(job, n_ranks, TRANSFER_US);
	for (guint rank = 0; rank < n_ranks; rank++)
		for (guint i = 0; i < n_rounds; i++) {
			gint32 next = (gint32)((rank + 1) % n_ranks);
			gint32 before = (gint32)((rank + n_ranks - 1) % n_ranks);

			exchange_compute(job, rank, compute_us[rank]);
			exchange_batch_of_four(job, rank, next, before, before, next);
		}
}
