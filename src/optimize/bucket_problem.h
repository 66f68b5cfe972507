/* bucket_problem: which gradients are to go out together: all that decides how long a step takes with one partition or another, read
 * off a graph once, so that a partition is judged in a microsecond (bucket_schedule.h).
 *
 * (1) Gradients stand in the order in which they come. A partition is a list of ends: bucket i has the gradients from ends[i - 1] up to
 *     ends[i]. Buckets that hold gradients out of that order are no faster: they go out one after the other, each when its
 *     last gradient is there, so those that came by then could have gone in the ones before (docs/optimize.md).
 * (2) Times are means over the steps, since the step began, of the rank that comes last, as they would be if no bytes moved, and if
 *     queuing took no time. */
#ifndef TACHO_BUCKET_PROBLEM_H
#define TACHO_BUCKET_PROBLEM_H

#include "cost/collective_cost.h"
#include "graph/graph_internal.h"
#include "trace/operation.h"

/* What a bucket of so many bytes takes alone, once all ranks have come. */
typedef struct collective_time BucketCost(gconstpointer data, guint64 bytes);

struct bucket_problem {
	guint32 n; /* gradients */
	guint64 *bytes;
	const gchar **dtype;   /* static */
	guint8 *begins_bucket; /* of another data type than the one before */
	gdouble *ready_ns;     /* ascending */
	gdouble *copy_ns;      /* to put what came back in its place */
	gdouble tail_ns;       /* of the step, behind the last of these */
	guint32 n_workers;     /* buckets on their way at a time, at most */
	gdouble call_ns; /* what it takes a rank to queue a bucket, with all workers free (bucket_calls.h) */
	gdouble taken;	      /* of what a rank computes while bytes move */
	gdouble core_wait_ns; /* what a bucket's segment waits longer while ranks compute */
	guint32 n_ranks;      /* of a bucket; where core_wait_ns is not 0 */
	BucketCost *cost;
	gconstpointer cost_data;
	guint32 *recorded_ends; /* n_recorded of them; NULL: they are no such partition */
	guint32 n_recorded;
	TachoGraph *graph;		     /* that the cost is of; NULL: of none */
	guint32 group, model;		     /* of it: of the buckets, and one of them */
	enum collective_operation operation; /* of these */
};

/* The buckets of a frozen graph. NULL, TACHO_GRAPH_ERROR_WHAT_IF: it has none that could be packed anew, and why. */
struct bucket_problem *bucket_problem_new(const TachoGraph *graph, GError **error);
/* One of n gradients of one type and nothing in it but zeros, for who fills it in. */
struct bucket_problem *bucket_problem_empty(guint32 n);
void bucket_problem_free(struct bucket_problem *problem);

#endif
