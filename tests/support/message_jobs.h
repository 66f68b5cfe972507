/* message_jobs: jobs of hosts whose collectives are told of by messages, as timelines' text (timeline_text.h), simple enough
 * that their steps can be computed by hand. Times are microseconds. Each is to be freed with g_string_free(). */
#ifndef TACHO_MESSAGE_JOBS_H
#define TACHO_MESSAGE_JOBS_H

#include <glib.h>

#define MESSAGE_COMPUTE_US 100
#define MESSAGE_BYTES_US   60 /* what a rank's bytes take alone on a link */
#define MESSAGE_STEPS_US   10 /* the optimizer */

/* Each rank receives from the one before it, computes, and sends to the next one. The last one is over last; the others wait
 * for that. All are on one host, and have its clock. `buffered_us`: of the time of the bytes, so much is left when the kernel
 * of the sender has them. */
GString *message_pipeline(guint n, guint buffered_us);
/* All compute, and the root gathers: all come at once, so that its link is shared, and are over together. */
GString *message_gather(guint n);
/* The root scatters to one after the other, as if each had the link to itself: each goes on when its bytes have come. */
GString *message_broadcast(guint n);
/* The root broadcasts twice to one other, and the second waits behind the first. */
GString *message_broadcasts(void);
#define MESSAGE_LONG_US 480 /* what a way of many messages takes alone */
/* The root sends to all at once, which get their bytes one after the other, in many messages. */
GString *message_scatter_in_turn(guint n);
/* A ring: each passes on to the next what it has received, n - 1 times. All are on one host, for messages that go round one
 * way alone do not tell whose clock is ahead. */
GString *message_ring(guint n);
/* The same in halves: n > 2. */
GString *message_ring_in_halves(guint n);
/* The same with a message too many, from the first rank to the third: n > 3. */
GString *message_ring_with_stray(guint n);
/* Each sends to each. */
GString *message_all_to_all(guint n);
/* A reduce as gloo's: n - 1 rounds of a ring, each passes on to the one before it, and then all send a part to the root. All are on
 * one host, whose link has the n ways of a round in MESSAGE_BYTES_US. n > 1, of which 60 is a multiple. */
GString *message_reduce(guint n, guint root, guint n_halves);
/* The same as a tree: the last sends to the one before it, which sends on, until the first one has all. */
GString *message_reduce_by_tree(guint n);
#define MESSAGE_WORD_US 10 /* what a barrier's round takes */
/* All compute, and have a barrier in rounds, of headers alone. `n_lost`: of the last round's words, the first are not told of. */
GString *message_barrier(guint n, guint n_lost);

#endif
