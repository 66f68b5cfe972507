/* nccl_topology: the rings and trees of a communicator, as its ranks tell them in nccl_rank_graph.json:
 *
 *     "RealRing": {"0": "3[3000] -> 0[2000] [receive],0[2000] -> 1[3000] [send]"}
 *     "Tree": {"-1": "[0] 1/-1/-1->0->-1|-1->0->1/-1/-1 [1] ..."}      a channel: below -> rank -> above | the same back
 *
 * Each rank tells its own neighbours; together they are the whole. */
#ifndef TACHO_NCCL_TOPOLOGY_H
#define TACHO_NCCL_TOPOLOGY_H

#include <glib.h>

enum { NCCL_MAX_CHILDREN = 3 };

struct nccl_topology {
	GHashTable *next, *previous, *parent; /* channel and rank -> rank + 1 */
	GHashTable *children;		      /* channel and rank -> gint32[NCCL_MAX_CHILDREN] */
};

struct nccl_topology *nccl_topology_new(void);
void nccl_topology_free(struct nccl_topology *topology);
/* Add what the file at `path` tells, as far as it can be read. */
void nccl_topology_read(struct nccl_topology *topology, const gchar *path);
/* Let `to` follow `from` in the ring of the channel. */
void nccl_topology_add_ring(struct nccl_topology *topology, guint32 channel, guint32 from,
			    guint32 to);
gboolean nccl_topology_has_ring(const struct nccl_topology *topology);

/* Neighbours of a rank; -1: none, or not known. */
gint32 nccl_topology_next(const struct nccl_topology *topology, guint32 channel, gint32 rank);
gint32 nccl_topology_previous(const struct nccl_topology *topology, guint32 channel, gint32 rank);
gint32 nccl_topology_parent(const struct nccl_topology *topology, guint32 channel, gint32 rank);
gint32 nccl_topology_child(const struct nccl_topology *topology, guint32 channel, gint32 rank,
			   guint index);

#endif
