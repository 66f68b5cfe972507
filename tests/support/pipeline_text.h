/* pipeline_text: a job of several stages that pass activations and gradients on in batches of sends and receives (1F1B:
 * Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC 2021, figure 4), as a timeline's
 * text.
 *
 * A stage is a rank, and does one thing after the other on one stream: a forward or backward kernel (F3, B3: of
 * micro-batch 3), or a batch with one neighbour (ncclDevKernel_SendRecv, whose peer is not told). A batch begins when
 * its stage comes to it, and is over some microseconds after the bytes have moved, which they do when both have come. */
#ifndef TACHO_PIPELINE_TEXT_H
#define TACHO_PIPELINE_TEXT_H

#include <glib.h>

struct pipeline {
	guint n_stages, n_micro_batches;
	guint32 seed;
	gint64 forward_us, backward_us; /* a fifth of it up or down, by chance */
	gint64 transfer_us;
	guint first_factor; /* F0 takes so many times as long; 0 and 1: as long */
};

/* A batch, as it was. */
struct pipeline_batch {
	guint stage, peer;
	gint64 begin_us, end_us;
};

/* Play the job. The text's rank N is stage N; `ret_batches` (or NULL) gets all batches, struct pipeline_batch, by stage
 * and begin. To be freed with g_free(). */
gchar *pipeline_text(const struct pipeline *pipeline, GArray *ret_batches);

/* When the stage's last kernel is over. */
gint64 pipeline_end_us(const struct pipeline *pipeline, guint stage);

#endif
