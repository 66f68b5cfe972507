/* byteprofile_hops: which part of which all-reduce each of NCCL's sends and receives was, and between whom.
 *
 * `comm_detail.json` names the tensors, and the place of a part in the loops of NCCL; not the rank at the other end. That
 * follows from `nccl_rank_graph.json`, in which each rank tells its neighbours in the ring and the tree of each channel.
 *
 * (1) Only what went over a network is recorded. In a ring, what a rank sends it has received from the rank before it a
 *     step sooner; where the way between these two was not recorded, that one has received it two steps sooner, and so on.
 * (2) Without `nccl_rank_graph.json`, ranks are taken to stand in the ring in their order.
 * (3) In a ring of n ranks the chunks are its 2 (n - 1) steps; in a tree there is one chunk. What is between ranks of one
 *     host is not recorded; of what is, a rank sends up the tree first and down it afterwards.
 * (4) Tensors that NCCL moved as one ("3+4") were several collectives of Horovod at the same time: the first of them
 *     stands for all, on each rank. */
#ifndef TACHO_BYTEPROFILE_HOPS_H
#define TACHO_BYTEPROFILE_HOPS_H

#include <tacho/timeline.h>

enum {
	HOP_MAX_CHANNELS = 256,
	HOP_MAX_NUMBER = 1 << 16, /* of a loop, a chunk, a slice */
};

/* What the files of one GPU tell. */
struct hop_record {
	guint32 process;
	gint32 rank;
	GArray *collectives; /* struct hop_collective */
	GArray *pieces;	     /* struct hop_piece */
};

/* `tensors`: string id of the sorted numbers, "3+4". */
struct hop_collective {
	guint32 tensors, slice;
};

struct hop_piece {
	guint32 tensors, slice;
	guint32 loop, channel, chunk, part; /* less than the limits above */
	gboolean is_receive;
};

/* The tensors of "3+4.SEND", "12_0" ...: the numbers before anything else, sorted, as a string id; 0: there are none. */
guint32 hop_tensors(TachoTimeline *timeline, const gchar *text);
void hop_record_init(struct hop_record *record, guint32 process, gint32 rank);
void hop_record_release(struct hop_record *record);

/* Fill the timeline's hops from the records of all GPUs, by rank; `folders`, a NULL behind them, may hold
 * nccl_rank_graph.json. What cannot be placed is a problem. */
void byteprofile_hops_link(TachoTimeline *timeline, const GArray *records,
			   const gchar *const *folders);

#endif
