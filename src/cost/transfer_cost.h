/* transfer_cost: how long a collective is on the wire, once all its ranks have come.
 *
 * time = fixed + wire bytes x ns_per_byte. Wire bytes are those that one rank sends, which for a
 * ring all-reduce of b bytes over n ranks is 2 (n - 1) / n x b. So a change of bandwidth scales the
 * second term only, and a change of latency the first.
 *
 * The two terms are fitted to what was measured by the median of slopes over all pairs of sizes
 * (Theil-Sen), each size standing for itself by its median, each pair counting by how far apart its
 * sizes are: a few transfers that were held up do not move the line, nor do many of nearly one
 * size. */
#ifndef TACHO_TRANSFER_COST_H
#define TACHO_TRANSFER_COST_H

#include <glib.h>

#include "trace/operation.h"

struct transfer_cost {
	gdouble fixed_ns;
	gdouble ns_per_byte; /* 0: not known */
	guint n_sizes; /* different sizes the line was fitted to; 1: all about one, fixed_ns is 0 */
	gdouble error_share; /* median of |measured - line| / measured */
};

struct transfer_sample {
	gdouble wire_bytes;
	gdouble time_ns;
};

/* Fit a line to the samples, which are sorted on the way, whose fixed time is at most `max_fixed_ns`
 * (G_MAXDOUBLE: any). Samples without bytes or time count for nothing; where none is left, all is 0. */
void transfer_cost_fit(struct transfer_cost *cost, struct transfer_sample *samples, guint n,
		       gdouble max_fixed_ns);

/* What the line says. */
gdouble transfer_cost_ns(const struct transfer_cost *cost, gdouble wire_bytes);

/* Bytes one rank sends in a collective when its input is `bytes` long. */
gdouble transfer_wire_bytes(enum collective_operation operation, guint64 bytes, guint32 n_ranks);

/* How often a collective waits for the one-way latency of a link; at most so, for it may hide
 * behind other collectives. So gloo does them:
 *
 *   all-reduce  a ring. The data is cut into segments of at most 1 MB, at least two and equally many
 *               for each rank's chunk (gloo/allreduce.cc), and each is passed n - 1 times for the
 *               reduction and n - 1 times for the gathering. It is sent when its receiver has said
 *               on the same connection that it is ready (gloo/transport/tcp, unbound buffers), which
 *               waits behind the segment that goes the other way: so each shows the latency once,
 *               though two are under way.
 *   all-gather  a ring: two halves of a rank's input, n - 1 times each (gloo/allgather.cc).
 *   others      a tree, as a broadcast: the receivers say at once that they are ready, then the data
 *               comes in log2(n) hops (gloo/broadcast.cc). */
gdouble transfer_latencies(enum collective_operation operation, guint64 bytes, guint32 n_ranks);

/* How much of these waits, of latency_ns each, the bytes of the transfer hide, which take work_ns in all. In a ring of more than two
 * ranks, a rank's words that it is ready go to the one side and its segments to the other, so no word waits behind a segment of its
 * own. From when a segment has come, a word and then the segment after the next are under way for two latencies, and the segment
 * between the two comes meanwhile: two segments of w take max(2 w, w + 2 latency) where they take 2 (w + latency) if nothing is
 * hidden. The first pair of each of the two phases waits for all of that. 0 for all that is no such ring. */
gdouble transfer_hidden_ns(enum collective_operation operation, guint64 bytes, guint32 n_ranks,
			   gdouble latency_ns, gdouble work_ns);

/* The same of a collective on devices (NCCL, RCCL), where a ring is a pipeline: the first slice of the data is
 * passed on 2 (n - 1) times for an all-reduce, n - 1 times for all else, and the others follow it closely. */
gdouble transfer_device_latencies(enum collective_operation operation, guint32 n_ranks);

#endif
