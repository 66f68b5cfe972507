/* work_shares: which share of the recorded time of each kernel of a graph goes with its work (cost/kernel_split.h), for changes of how much
 * work there is. What a kernel takes after several such changes follows from its recorded time, so their order does not matter. */
#ifndef TACHO_WORK_SHARES_H
#define TACHO_WORK_SHARES_H

#include "analyze/kernel_demands.h"
#include "cost/kernel_split.h"
#include "graph/graph_internal.h"

/* What arithmetic usually bounds, and what memory does. */
enum kernel_sort { KERNEL_OF_MEMORY, KERNEL_OF_ARITHMETIC, N_KERNEL_SORTS };

struct work_shares {
	const TachoGraph *graph;
	struct kernel_demands demands;
	GPtrArray *reaches; /* struct device_reach, owned: a device each */
	const struct device_reach *
		*of;	   /* [rank of the timeline]: what it was recorded on; NULL: not known */
	gdouble *least_ns; /* [rank of the timeline]: its shortest kernel */
	/* [rank of the timeline * N_KERNEL_SORTS + sort]: share of what kernels take beyond that, where their work is not known */
	gdouble *otherwise;
	gdouble *known_ns,
		*all_ns; /* [rank of the timeline]: of kernels with known work, and of all */
};

/* For as long as the timeline. `device`: what all ranks were recorded on; NULL: what the trace says. */
void work_shares_init(struct work_shares *shares, const TachoGraph *graph,
		      const struct device_peak *device);
void work_shares_release(struct work_shares *shares);

/* Of a node that a device did, a kernel. */
struct kernel_split work_shares_of(struct work_shares *shares, const struct graph_node *node);

/* What its rank was recorded on; NULL: not known. */
const struct device_reach *work_shares_reach_of(const struct work_shares *shares,
						const struct graph_node *node);
/* What the operation of the kernel does; and the reach of the named device, which lives as long as the shares. */
struct kernel_demand work_shares_demand(struct work_shares *shares, const struct graph_node *node);
const struct device_reach *work_shares_reach(struct work_shares *shares,
					     const struct device_peak *device);

/* How much of the time of the kernels of all ranks is of known work, 0..1. */
gdouble work_shares_known(const struct work_shares *shares);

#endif
