/* exchange_text: a job whose ranks send and receive in batches of several peers each, as a timeline's text.
 *
 * A rank does one thing after the other on one stream: a kernel, or a batch (ncclDevKernel_SendRecv) of sends and receives.
 * The calls of each batch are told of on the host before it is launched, as PyTorch does; the kernel tells nothing. A
 * transfer begins when both kernels have, and takes `transfer_us`; a kernel is over when all its transfers are. */
#ifndef TACHO_EXCHANGE_TEXT_H
#define TACHO_EXCHANGE_TEXT_H

#include <glib.h>

/* What a rank does next. */
struct exchange_item {
	gint64 compute_us; /* a kernel; 0: a batch */
	gint32 send_to[2]; /* ranks; -1: none */
	gint32 receive_from[2];
	/* filled in by exchange_play() */
	gint64 begin_us, end_us;
};

struct exchange {
	guint n_ranks;
	gint64 transfer_us;
	GArray **items; /* of each rank, struct exchange_item */
	guint n_told;	/* write the calls of so many ranks only, of the first */
};

void exchange_init(struct exchange *job, guint n_ranks, gint64 transfer_us);
void exchange_release(struct exchange *job);
void exchange_compute(struct exchange *job, guint rank, gint64 us);
/* Ranks, or -1. */
void exchange_batch(struct exchange *job, guint rank, gint32 send_to, gint32 receive_from);
void exchange_batch_of_four(struct exchange *job, guint rank, gint32 send_to, gint32 receive_from,
			    gint32 also_send_to, gint32 also_receive_from);
/* When each item begins and ends. The n-th send of a rank to another is the n-th that this one receives from it; a send
 * that nobody receives waits for nobody. */
void exchange_play(struct exchange *job);
/* After exchange_play(). To be freed with g_free(). */
gchar *exchange_text(const struct exchange *job);
/* When the rank's last item is over. */
gint64 exchange_end_us(const struct exchange *job, guint rank);
/* When the batch of `peer` begins that receives what the rank's batch sends to it; -1: none does. */
gint64 exchange_received_us(const struct exchange *job, guint rank, guint batch, guint peer);

static inline struct exchange_item *exchange_item_at(const struct exchange *job, guint rank,
						     guint i)
{
	return &g_array_index(job->items[rank], struct exchange_item, i);
}

#endif
