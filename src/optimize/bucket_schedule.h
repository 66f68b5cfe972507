/* bucket_schedule: how long a step takes if its gradients go out in these buckets.
 *
 * A small copy of what a replay does with them (shared_replay.c), of a step of mean times: a bucket is queued when its last gradient is
 * there and those before it are queued; one of the workers takes it up; buckets under way share the link, each at the pace
 * of graph_transfer_pace(), which waits longer during the pass (core_waits.h); while bytes move, computing is slower; at the end of the pass each bucket is waited for and copied
 * back, in order. What it leaves out, ranks that differ and other traffic, is for the replay to judge. */
#ifndef TACHO_BUCKET_SCHEDULE_H
#define TACHO_BUCKET_SCHEDULE_H

#include "optimize/bucket_problem.h"

/* How long the step takes; `over_ns`, room for n_buckets, becomes when each is there. The last of `ends` is problem->n. */
gdouble bucket_schedule_ns(const struct bucket_problem *problem, const guint32 *ends,
			   guint32 n_buckets, gdouble *over_ns);

#endif
