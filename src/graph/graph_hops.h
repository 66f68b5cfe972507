/* graph_hops: what the files share that play collectives hop by hop. */
#ifndef TACHO_GRAPH_HOPS_H
#define TACHO_GRAPH_HOPS_H

#include "graph/graph_builder.h"

/* A part of a collective on its way from one rank to another, or to or from a server. */
struct hop {
	guint32 from, to; /* index of a rank; TACHO_NONE: a server */
	guint32 loop, step, part, channel;
	gint32 fed_by; /* index of a rank, -1: none; as in TachoHop */
	guint32 fed_step;
	gint64 begin_ns, end_ns; /* as recorded: the first sign of it, and when it had come */
	guint64 bytes;
	guint8 way, is_received;
	guint32 slice; /* of one of its ends */
	guint32 node;
};

/* A collective, while it is unfolded. */
struct hop_unfolding {
	struct graph_builder *builder;
	GHashTable *rank_of;   /* rank as the launcher says -> index + 1 */
	GHashTable *first_hop; /* slice of a collective -> its first row of `rows`, + 1 */
	GArray *rows;	       /* TachoHop, by collective */
	GHashTable *links;     /* both hosts -> index of a group + 1 */
	struct server_work *servers;
	guint32 transfer; /* index */
	guint32 first_member, end_member;
	GArray *hops;	     /* struct hop, by loop, step, part and channel */
	GHashTable *last_on; /* connection -> hop + 1 */
};

static inline struct hop *hop_at(const struct hop_unfolding *unfolding, guint i)
{
	return &g_array_index(unfolding->hops, struct hop, i);
}

/* `unfolding` borrows the builder. */
void unfolding_init(struct hop_unfolding *unfolding, struct graph_builder *builder);
void unfolding_release(struct hop_unfolding *unfolding);

/* The index of a rank, by the launcher's number; TACHO_NONE: there is none. */
guint32 unfolding_find_rank(const struct hop_unfolding *unfolding, gint32 rank);
/* The member's first row, as an index of `rows`; behind them: it has none. */
guint unfolding_first_row(const struct hop_unfolding *unfolding, const struct build_member *member);
/* NULL: behind the last. */
const TachoHop *unfolding_row_at(const struct hop_unfolding *unfolding, guint i);
/* Put the hops of the members from first_member up to end_member into `hops`, in the place of those there. */
void unfolding_collect_hops(struct hop_unfolding *unfolding);
/* The first hop of that step with the loop, part and channel of `like`; they are together. */
guint unfolding_find_first(const struct hop_unfolding *unfolding, const struct hop *like,
			   guint32 step);

/* The member of the rank; NULL: it has none. */
struct build_member *unfolding_member(const struct hop_unfolding *unfolding, guint32 rank_index);
guint32 unfolding_host(const struct hop_unfolding *unfolding, guint32 rank_index);
/* A hop's node, that begins when `begin_ns` says; `name` is static. */
void unfolding_add_node(struct hop_unfolding *unfolding, struct hop *hop, const gchar *name,
			gint64 begin_ns);
/* Let the hop begin when the ranks of the sender's host have come, and the receiver has; returns when that was. */
gint64 unfolding_wait_for_ranks(struct hop_unfolding *unfolding, const struct hop *hop);
/* Let the hop's node and transfer begin then, and end when the hop had come, or at once. */
void unfolding_begin_at(struct hop_unfolding *unfolding, const struct hop *hop, gint64 begin_ns);
/* Let the member's part end with the hop. */
void unfolding_end_with(struct hop_unfolding *unfolding, struct build_member *member,
			const struct hop *hop, gint64 *last_ns);

/* The group of hops between two ends, made of `like` when it is new, over the links between their hosts (TACHO_NONE: a
 * server's, whose links are not known). `ends` tells them from others in `links` (gint64, the table's own -> index + 1). */
guint32 hop_group(TachoGraph *graph, GHashTable *links, gint64 ends, struct graph_group like,
		  guint32 from, guint32 to);
/* Add a hop, with its node, of the transfer with the index `of`; returns the node. It ends with begin_ns at the least. `name`
 * is static. */
guint32 hop_node(struct graph_builder *builder, guint32 of, guint32 group, const gchar *name,
		 guint64 bytes, gint64 begin_ns, gint64 end_ns);
/* Let the hop of the node `index` be under way from begin_ns to end_ns, or for no time where that is sooner. */
void hop_last(TachoGraph *graph, guint32 index, gint64 begin_ns, gint64 end_ns);
/* Let the parts of the members [first_member, end_member) begin to be over when the last hop that they wait for was, at
 * last_ns of each (G_MININT64: for none). */
void hops_complete(struct graph_builder *builder, guint32 first_member, guint32 end_member,
		   const gint64 *last_ns);

/* Remember what the hops of each collective take in all, for graph_fold_hops(); before any change. */
void graph_keep_hop_sums(TachoGraph *graph);

/* Collectives that are unfolded hold up nobody: take away the edges from their own transfers. */
void graph_cut_wholes(TachoGraph *graph);

/* What servers did, for all collectives. */
struct server_work *server_work_new(struct graph_builder *builder);
void server_work_free(struct server_work *servers);
/* Make the nodes of a collective that goes over servers, and end its members' parts with them. */
void server_work_unfold(struct hop_unfolding *unfolding, gint64 *last_ns);
/* Let servers do one thing after the other; when all nodes are there. */
void server_work_order(struct server_work *servers);

#endif
