/* rank_work: how long each rank was in each operation or kernel. */
#ifndef TACHO_RANK_WORK_H
#define TACHO_RANK_WORK_H

#include "analyze/selection.h"

struct rank_work {
	guint n_ranks;
	/* Name id + 1 -> gdouble ns of each rank, means over its stretches; then the least of them. */
	GHashTable *by_name;
};

/* Sum up the work of the selection's ranks and steps. `n_stretches`: how many each rank has (0: none). */
void rank_work_init(struct rank_work *work, const struct selection *selection,
		    const guint *n_stretches);
void rank_work_release(struct rank_work *work);

/* The name in which `rank` is further behind the quickest of the ranks with stretches than in any other; NULL
 * where it is behind in none. */
const gchar *rank_work_longest(const struct rank_work *work, const TachoTimeline *timeline,
			       guint rank, gdouble *ret_longer_ns);

#endif
