/* surroundings: what operations take among others that compute as a plan says.
 *
 * An operation takes more or less time in another recording though it computes the same there: what it reads is in the caches or not, and
 * memory is handed out anew or not. So:
 *
 * (1) A fixed operation that reads what is stored in another format takes what it took where all is in that.
 * (2) What else computes as in several recordings takes the mean of what it took there, each weighed by the plan's share of operations that
 *     compute as in that recording, by their time in the reference. So does what is of no operation.
 * (3) A plan of one format then takes what its recording took. */
#ifndef TACHO_SURROUNDINGS_H
#define TACHO_SURROUNDINGS_H

#include "precision/precision_job.h"

struct surroundings {
	struct layer_cost *costs; /* [operation] */
	gdouble rest_factor,
		between_factor; /* of work that is of no operation, and of the host's time beside it */
};

void surroundings_init(struct surroundings *surroundings, const struct precision_job *job,
		       const guint8 *formats);
void surroundings_release(struct surroundings *surroundings);

#endif
