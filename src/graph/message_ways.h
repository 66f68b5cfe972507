/* message_ways: who sent how much to whom in a collective of hosts, and when it had come. */
#ifndef TACHO_MESSAGE_WAYS_H
#define TACHO_MESSAGE_WAYS_H

#include "graph/graph_builder.h"

/* How the ways of a collective hang together. */
enum way_shape {
	SHAPE_NONE, /* it stays a whole */
	SHAPE_PAIRS,
	SHAPE_TREE,    /* who sends had received all of it */
	SHAPE_RING,    /* in rounds: who sends had received that of the round before */
	SHAPE_REDUCE,  /* such a ring, behind which each sends what it has then to the root */
	SHAPE_BARRIER, /* in rounds without bytes, each to another one */
};

/* A message that carries out part of a transfer, at either end. */
struct carried {
	guint32 transfer, from, to; /* index; indexes of ranks */
	guint64 bytes;
	gint64 end_ns;
	gboolean is_receive;
};

/* All that a rank sends to another one in a collective. */
struct way {
	guint32 from, to; /* members, as indexes of the builder's */
	guint64 bytes;
	const struct carried *receives; /* in order of time; NULL: not known */
	guint n_receives;
	gint64 sent_ns,
		end_ns; /* the kernel of the sender had all (G_MININT64: not known); the receiver had */
	guint first_part, n_parts; /* of the collective's parts, those that are its own */
	/* What it came to as nodes (TACHO_NONE: not yet): its first bytes, the last so far, and of a ring the round before, in
	 * halves if it goes in these. */
	guint32 first_node, node, half_node[2];
	gint64 node_end_ns, half_end_ns[2];
};

/* The members [first_member, end_member) are those of `transfer`. */
struct way_finder {
	const struct graph_builder *builder;
	GArray *carried; /* struct carried, by transfer, way, end and time */
	guint32 transfer, first_member, end_member;
	GArray *ways; /* struct way, of the transfer, by their ends */
	/* In how many parts it goes, one after the other; of rounds, what is received in one part is passed on so many parts
	 * later: 2 where each round is of two halves. */
	guint n_parts, n_fed;
};

void way_finder_init(struct way_finder *finder, const struct graph_builder *builder);
void way_finder_release(struct way_finder *finder);
/* Fill in the transfer's ways. SHAPE_NONE: they are not known to the byte. */
enum way_shape way_finder_find(struct way_finder *finder);

/* What of the way had come by then, as a share of all; where no receives are known, as if it had come evenly from
 * `begin_ns` on. */
gdouble way_share_come(const struct way *way, gint64 begin_ns, gint64 time_ns);
/* When so much of it had come. */
gint64 way_time_of_share(const struct way *way, gdouble share);

#endif
