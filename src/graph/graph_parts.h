/* graph_parts: rows that processes tell each other of a graph, and who sends and receives them (graph_parts.c). */
#ifndef TACHO_GRAPH_PARTS_H
#define TACHO_GRAPH_PARTS_H

#include "base/packed_bytes.h"
#include "graph/graph_builder.h"

struct sent_node {
	gint64 duration_ns, begin_ns, kind_of_contention;
	guint32 name, lane, step;
	guint16 kind, origin;
};

struct sent_member {
	gint64 end_ns;
	guint32 index, from_node, wait_node, sequel_node, ordinal, unused;
};

struct sent_gradient {
	guint64 bytes;
	guint32 ready_node, copy_node;
};

struct sent_pass {
	guint32 rank_index, ordinal, step, first_gradient, n_gradients, finish_node, packing;
};

struct sent_rank {
	guint64 n_slices;
	gint64 peak_bytes;
	guint32 rank_index, unused;
};

/* What this process has to tell. */
struct part_sender {
	const struct graph_builder *builder;
	GArray *names;	       /* guint32: strings that only this process has under that number */
	GHashTable *name_rows; /* string -> row + 1 */
	GArray *members;       /* guint32 */
	GArray *blocks;	       /* struct told_block */
	GArray *ranks;	       /* struct sent_rank */
	guint stage;
	guint32 next; /* row of the stage */
};

/* Where it comes to. */
struct part_receiver {
	struct graph_builder *builder;
	guint from;		/* whose part it is */
	guint32 difference;	/* of the numbers of its nodes that are no begins of ranks */
	guint32 first_gradient; /* its first */
	GArray *names;		/* guint32 */
};

/* What is told one after the other: nodes before all that names them. */
#define PART_STAGES(PART_STAGE)                                                                    \
	PART_STAGE(name)                                                                           \
	PART_STAGE(node)                                                                           \
	PART_STAGE(edge)                                                                           \
	PART_STAGE(member)                                                                         \
	PART_STAGE(gradient)                                                                       \
	PART_STAGE(pass)                                                                           \
	PART_STAGE(call)                                                                           \
	PART_STAGE(rank)                                                                           \
	PART_STAGE(block)

/* Of each: how many rows there are, one of them behind `bytes`, and one that has come; FALSE: it cannot be. */
#define PART_STAGE(what)                                                                           \
	guint32 part_count_##what(const struct part_sender *sender);                               \
	void part_pack_##what(const struct part_sender *sender, GByteArray *bytes, guint32 row);   \
	gboolean part_take_##what(struct part_receiver *receiver, struct packed_bytes *packed);
PART_STAGES(PART_STAGE)
#undef PART_STAGE

/* Release it with part_sender_release(); the builder must outlive it. */
void part_sender_init(struct part_sender *sender, const struct graph_builder *builder);
void part_sender_release(struct part_sender *sender);
/* What is to be told of a rank that this process owns. */
struct sent_rank part_rank_facts(const struct graph_builder *builder, guint32 rank_index);

/* What comes next is of process `from`. */
void part_receiver_begin(struct part_receiver *receiver, guint from);
void part_tell_rank(struct graph_told *told, const struct sent_rank *facts);

#endif
