/* cluster_buckets: buckets that follow from clusters of operations: gradients that one fused operation computes come together, so they may as well
 * go together (dPRO's from_opfs2tsfs). */
#ifndef TACHO_CLUSTER_BUCKETS_H
#define TACHO_CLUSTER_BUCKETS_H

#include "optimize/bucket_problem.h"
#include "optimize/plan.h"

/* Ends of the buckets in which gradients that follow each other, and whose operations are of one cluster, are together; others are alone.
 * `ends` has room for problem->n; returns how many. 0: no gradient's operation is in a cluster. */
guint32 cluster_buckets(const TachoGraph *graph, const struct bucket_problem *problem,
			const struct plan_change *clusters, guint32 *ends);

#endif
