/* predict_plan: what a step takes, and what it holds, when each operation computes in a format of its own: the reference's graph with
 * durations edited and casts put in, played.
 *
 * (1) A node of an operation takes its recorded time, times what the operation takes in its format by what it takes in the reference's:
 *     in the pass and the place (host, device) of the node. What was not there is put in before the operation's first node of that pass.
 * (2) A tensor is cast where it is stored in another format than it is read in: before the reader's forward pass; and its gradient back,
 *     in the reader's backward pass, unless it comes from outside. Casts of a reader in a pass are one node. With is_cast_once, the first
 *     reader of a format casts for all.
 * (3) A promoted operation that reads several formats casts on the host, where temporary copies are made; on devices kernels do it as they
 *     read.
 * (4) What is of no operation takes what it took: the optimizer, the loading of data. Collectives of gradients are as wide as these are
 *     (plan_gradients.h).
 * (5) Ranks may compute in different formats. What is told of operations and casts is then the mean over ranks. */
#ifndef TACHO_PREDICT_PLAN_H
#define TACHO_PREDICT_PLAN_H

#include "precision/precision_job.h"
#include "precision/rank_formats.h"

struct plan_prediction {
	gdouble step_ns, interval_ns[2];
	gdouble forward_cast_ns, backward_cast_ns; /* of a step and rank */
	guint32 n_casts;			   /* of a forward pass */
	gdouble measured_share; /* of the time of operations and casts: what was measured in just that format */
	gdouble saved_bytes; /* kept for the backward pass, as saved_bytes.h says; of the rank that keeps most */
	gdouble peak_bytes,
		recorded_peak_bytes; /* of the fullest memory of a rank; -1: no memory was recorded */
	gdouble *operation_ns;	     /* [operation], both passes, without casts at its borders */
	gdouble *cast_ns;	     /* [operation] that reads, both passes */
	gdouble *
		wait_ns; /* [rank]: at collectives until the last has come, of a step; moments in several count once */
	guint n_other_widths; /* collectives whose gradients have another width than recorded, in all steps */
};

/* `formats`: [operation], enum number_format; of those that do not choose they are set. TACHO_GRAPH_ERROR_CYCLE and the like: it cannot be
 * played. Release it whatever is returned. */
gboolean plan_prediction_init(struct plan_prediction *prediction, const struct precision_job *job,
			      guint8 *formats, GError **error);
/* The same of ranks that differ; each has been added. */
gboolean plan_prediction_of_ranks(struct plan_prediction *prediction,
				  const struct precision_job *job, struct rank_formats *ranks,
				  GError **error);
void plan_prediction_release(struct plan_prediction *prediction);

#endif
