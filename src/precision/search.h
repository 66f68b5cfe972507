/* search: the plan that harms least among those that keep the bounds, from the fastest plan upwards.
 *
 * (1) The fastest plan of each worker is exact where the elimination is (elimination.h). Where it needs too much memory, a price of a byte is
 *     added to the time and bisected until it suffices; that is the best plan at that price, and others may be a little faster.
 * (2) Recovery: the price of time against harm is bisected until the bound is just kept: the best plan at that price, exact by elimination.
 *     Then what room is left is used by moves, of one operation or of a region around it, that with the most harm removed for the time first,
 *     and by exchanges of a lowered operation for a raised one. Small problems are enumerated.
 * (3) The bound holds for what is predicted, and for how wrong the prediction may be: of what a plan adds to the plan that the bound was
 *     made from, `error` of the problem is added to the prediction.
 * (4) Deterministic: no clock, no random number decides. */
#ifndef TACHO_PRECISION_SEARCH_H
#define TACHO_PRECISION_SEARCH_H

#include "precision/elimination.h"
#include "precision/plan_state.h"

struct precision_bound {
	gdouble step_ns; /* INFINITY: none */
	gdouble reference_ns; /* a step that is known for certain to the bound: (3); 0: the fastest plan's */
	gboolean is_never_enumerated; /* few plans are searched as many are */
};

typedef struct _PrecisionSearch PrecisionSearch;

/* A search over all workers; it borrows the problem. The plan is the recorded one at first. */
PrecisionSearch *precision_search_new(const TachoPrecisionProblem *problem);
void precision_search_free(PrecisionSearch *search);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PrecisionSearch, precision_search_free)

/* The plan at hand; the search's. */
PlanState *precision_search_state(PrecisionSearch *search);

/* Go to the fastest plan whose memory suffices. TACHO_PRECISION_ERROR_NO_PLAN: it does not with any plan that was seen; by how much. `results` of
 * each worker's elimination may be NULL. */
gboolean precision_search_fastest(PrecisionSearch *search, struct elimination_result *results,
				  GError **error);

/* From the fastest plan, go to one that harms less within the bound. TACHO_PRECISION_ERROR_NO_PLAN: the fastest plan does not keep it. TRUE in
 * `ret_is_exact`: no plan within the bounds harms less. */
gboolean precision_search_recover(PrecisionSearch *search, const struct precision_bound *bound,
				  gboolean *ret_is_exact, GError **error);

/* No plan that keeps the bound of the last recovery harms less than this: what the prices say (Lagrange's bound); 0 where nothing is known. */
gdouble precision_search_least_harm(const PrecisionSearch *search);

/* Whether the plan at hand keeps the bound and its memory. */
gboolean precision_search_keeps(PrecisionSearch *search, const struct precision_bound *bound);
/* By how much a step may be longer than predicted: (3). */
gdouble precision_search_doubt_ns(const PrecisionSearch *search,
				  const struct precision_bound *bound, gdouble step_ns);

#endif
