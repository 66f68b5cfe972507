/* search_network: a problem on one worker as tables for the elimination.
 *
 * A variable stands for the format of an operation, or of all of a tie. What is chosen for nobody's sake follows from its inputs by
 * tables that forbid all else; where a tensor is cast once for all readers of a format, variables for the set of formats that the first
 * 1, 2, 3 ... readers want carry it along the readers, so that no table has more than three variables. So the cost is exact. */
#ifndef TACHO_SEARCH_NETWORK_H
#define TACHO_SEARCH_NETWORK_H

#include "precision/elimination.h"
#include "precision/problem.h"

typedef struct _SearchNetwork SearchNetwork;

/* What is to be least: time_weight * ns + byte_weight * bytes kept for the backward pass + harm_weight * harm of the worker (its share). */
struct search_weights {
	gdouble time, bytes, harm;
};

/* The network of that worker. It borrows the problem. */
SearchNetwork *search_network_new(const TachoPrecisionProblem *problem, guint32 worker);
void search_network_free(SearchNetwork *network);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SearchNetwork, search_network_free)

/* The formats that may be chosen for an operation, as bits; TACHO's rule: without known harm it keeps what was recorded. */
guint search_formats(const TachoPrecisionProblem *problem, guint32 worker, guint32 operation);

/* The best plan for the worker into `plan` (its n_operations bytes), which is the one to begin with where the elimination holds variables.
 * FALSE: no plan is allowed. */
gboolean search_network_solve(SearchNetwork *network, const struct search_weights *weights,
			      guint8 *plan, struct elimination_result *result);

#endif
