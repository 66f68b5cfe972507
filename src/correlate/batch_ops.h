/* batch_ops: what a kernel of several sends and receives holds, by the calls that were made for it.
 *
 * PyTorch's batch_isend_irecv makes a call for each send and receive, and then has NCCL carry all of them out in one kernel.
 * Each call is told of (record_param_comms), with peer and size; the kernel is launched after the last of them, in none, and
 * tells nothing of them (https://github.com/pytorch/pytorch/issues/194693). So
 *
 *     thread   | send to 2 | receive from 0 | launch |    | send to 2 | launch |
 *     stream                                    | both  |                 | the second |
 *
 * (1) A batch holds the calls of its thread since the launch of the batch before it.
 * (2) A call in which a kernel of sends or receives was launched was none of a batch. */
#ifndef TACHO_BATCH_OPS_H
#define TACHO_BATCH_OPS_H

#include <tacho/timeline.h>

struct batch_op {
	guint32 kernel; /* slice */
	guint32 peer;	/* as TachoCollectiveArgs has it; never 0 */
	guint64 bytes, group;
	gboolean is_receive;
};

struct batch_ops;

/* The calls of all batches on streams. The result is the caller's, to end with batch_ops_free(). */
struct batch_ops *batch_ops_new(const TachoTimeline *timeline);
void batch_ops_free(struct batch_ops *ops);

typedef struct batch_ops batch_ops;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(batch_ops, batch_ops_free)

/* Those of a kernel, in the order in which they were called, good for as long as `ops`; NULL: none is known. */
const struct batch_op *batch_ops_borrow(const struct batch_ops *ops, guint32 kernel, guint *ret_n);

#endif
