/* collective_cost: how long a collective takes alone on the links of a topology, by its algorithm.
 *
 * Time is waits (fixed) and bytes (work): with a the latency and c the time of a byte on a link, for an
 * all-reduce of b bytes over n ranks, m_l of which meet at level l:
 *
 *   as recorded   gloo's ring, or that of devices' kernels (cost/transfer_cost.h)
 *   ring          2 (n - 1) a + 2 (n - 1) / n b c            of the slowest level in use
 *                 (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
 *                 Operations in MPICH", 2005; P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce
 *                 algorithms for clusters of workstations", 2009)
 *   tree          2 sum(ceil(log2 m_l) a_l) + 2 b c          of the slowest level in use: two binary
 *                 trees, each for half of the data, a rank a leaf in one of them
 *                 (P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth
 *                 broadcast, reduction and scan", 2009; so does NCCL)
 *   hierarchical  sum(2 (m_l - 1) a_l + 2 (m_l - 1) / m_l b c_l): reduce-scatter from inside out,
 *                 all-gather back; all that goes out of a host shares its link
 *                 (M. Cho et al., "BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous
 *                 Network Hierarchy", 2019)
 *   ps            push and pull take P each, on the busiest of the rank's, the host's and the servers'
 *                 links: max(b c_0, m_0 b c, n b c / s), with s servers on hosts of their own. In k
 *                 parts, one is pulled while the next is pushed: (k + 1) sum(a_l) + (k + 1) / k P
 *                 (Y. Jiang et al., "A Unified Architecture for Accelerating Distributed DNN Training
 *                 in Heterogeneous GPU/CPU Clusters", 2020)
 *
 * Other collectives are as recorded under every algorithm. */
#ifndef TACHO_COLLECTIVE_COST_H
#define TACHO_COLLECTIVE_COST_H

#include "cost/topology.h"
#include "trace/operation.h"

enum collective_algorithm {
	COLLECTIVE_AS_RECORDED,
	COLLECTIVE_RING,
	COLLECTIVE_TREE,
	COLLECTIVE_HIERARCHICAL,
	COLLECTIVE_PS,
};

struct collective_plan {
	enum collective_algorithm algorithm;
	gboolean is_device;	 /* as recorded: of kernels on devices' streams, not gloo's */
	guint32 n_servers;	 /* PS: at least 1 */
	guint64 partition_bytes; /* PS: the largest part; 0: one part */
	struct topology topology;
};

struct collective_time {
	gdouble fixed_ns, work_ns;
};

/* The time of a collective with an input of `bytes`. Each level of the plan's topology
 * has bandwidth and latency. */
struct collective_time collective_time(const struct collective_plan *plan,
				       enum collective_operation operation, guint64 bytes,
				       guint32 n_ranks);

#endif
