/* saved_bytes: what operations keep from their forward pass for their backward one, by formula (operation_kinds.def).
 *
 * (1) A tensor that several keep in one format counts once, a copy in another format beside it; so does a copy of a weight, while the weight
 *     itself, which is there anyway, does not.
 * (2) Where the reference's recording tells what it keeps, what the formula does not have (indices, masks, numbers) is added, as much in all
 *     formats. */
#ifndef TACHO_SAVED_BYTES_H
#define TACHO_SAVED_BYTES_H

#include "precision/precision_job.h"

/* Of a plan, of one forward pass. */
gdouble saved_bytes_of_plan(const struct precision_job *job, const guint8 *formats);
/* How many operations are of kinds that no formula is known for. */
guint32 saved_bytes_unknown(const struct precision_job *job);

/* What an operation keeps in a format of what it makes itself, and not of what it reads: its output, masks, copies of weights. */
gdouble saved_bytes_own(const struct precision_job *job, guint32 operation,
			enum number_format format);
/* Whether it keeps its weight, as wide as it reads it: for the gradient of what it reads, where somebody wants that. */
gboolean saved_bytes_keeps_weight(const struct precision_job *job, guint32 operation,
				  enum number_format format);
/* Whether it keeps what it reads. */
gboolean saved_bytes_keeps_inputs(const struct identity_operation *operation);

#endif
