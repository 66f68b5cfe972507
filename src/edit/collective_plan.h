/* collective_plan: what the collectives of a group run over, by which algorithm, and how long they take then. */
#ifndef TACHO_COLLECTIVE_PLAN_H
#define TACHO_COLLECTIVE_PLAN_H

#include "cost/collective_cost.h"
#include "graph/graph_internal.h"
#include "trace/operation.h"

/* The one-way latency that a group's links show, ns: what the fitted fixed time comes to if it is nothing else, and what
 * was added. */
gdouble group_latency_ns(const struct graph_group *group);

/* How much of the latency that was added the bytes of a collective of the group hide (transfer_hidden_ns()). */
gdouble group_hidden_ns(const struct graph_group *group, enum collective_operation operation,
			guint64 bytes, guint32 n_ranks);

/* The group's plan with all that it leaves open filled in as it was recorded: one level of links for all
 * ranks where there is no topology. */
struct collective_plan group_plan(const struct graph_group *group);

/* How long a collective of the group takes that was not recorded. */
struct collective_time group_new_transfer(const struct graph_group *group,
					  enum collective_operation operation, guint64 bytes,
					  guint32 n_ranks);
/* The same where the group goes over servers, whose times are in proportion to those of a transfer that was recorded. */
struct collective_time group_new_transfer_like(const struct graph_group *group,
					       const struct graph_transfer *model,
					       enum collective_operation operation, guint64 bytes,
					       guint32 n_ranks);

/* What a transfer would take with other bytes: its waits in proportion to the latencies of a collective of that size, the rest
 * to the bytes. */
struct collective_time transfer_of_size(const TachoGraph *graph, const struct graph_transfer *whole,
					guint64 bytes);

/* Give the group another plan and number of ranks. What its transfers take changes in proportion to what the plans say
 * of them. */
void group_replan(TachoGraph *graph, guint32 group, const struct collective_plan *plan,
		  guint32 n_ranks);

#endif
