/* graph_builder: what the files that build a graph share while they do.
 *
 * graph_build.c cuts threads and makes the nodes; graph_collectives.c finds when each collective
 * was really under way, transfer_parts.c and graph_wire.c what on; graph_waits.c finds who waited for
 * it; graph_contention.c what it took from computing. */
#ifndef TACHO_GRAPH_BUILDER_H
#define TACHO_GRAPH_BUILDER_H

#include "graph/graph_internal.h"
#include "graph/thread_segments.h"

/* Consecutive autograd work of a thread. */
struct build_pass {
	gint64 begin_ns, end_ns;
	guint32 first_slice, end_slice; /* its slices are among [first, end) */
	guint32 ordinal;		/* among those of its rank whose gradients are reduced */
	GArray *gradients;		/* guint32 slices, in order of arrival */
	GArray *copies;	  /* guint32: pieces of the thread, a gradient's copy back each;
					 * empty where they are not as many as the gradients */
	guint32 n_waited; /* gradients whose buckets have been found waited for */
};

struct build_thread {
	guint32 track, rank_index, lane;
	gboolean is_main;
	gint64 from_ns, to_ns;
	GArray *cuts_ns;  /* gint64 */
	GArray *segments; /* struct segment */
	GArray *passes;	  /* struct build_pass, in order of time */
};

/* One rank's part in a collective. */
struct build_member {
	guint32 slice, rank_index, transfer, pool;
	guint32 thread; /* that queued it: index */
	guint32 end_tid;
	guint32 pass; /* index into its thread's passes, or TACHO_NONE */
	gint64 queue_ns, free_ns, begin_ns,
		end_ns;	      /* free: a worker could, begin: did take it up */
	gboolean is_eager;    /* was done before the last rank came: waited for nobody */
	guint32 wait_segment; /* of its thread: the first work that had waited, or TACHO_NONE */
	guint32 queue_node, complete_node;
};

struct build_window {
	gint64 from_ns, to_ns;
	guint32 main_thread; /* index */
	guint32 start_node;
	GArray *steps; /* TachoStep */
};

struct graph_builder {
	TachoTimeline *timeline;
	TachoGraph *graph;
	guint32 n_ranks;
	struct build_window *windows; /* one a rank */
	GArray *threads;	      /* struct build_thread */
	GArray *members;	      /* struct build_member; those of a transfer are together */
	GHashTable *thread_of;	      /* process << 32 | tid -> index + 1 */
};

static inline struct build_thread *build_thread_at(const struct graph_builder *builder, guint32 i)
{
	return &g_array_index(builder->threads, struct build_thread, i);
}

static inline struct build_member *build_member_at(const struct graph_builder *builder, guint32 i)
{
	return &g_array_index(builder->members, struct build_member, i);
}

/* The thread `tid` of a process, or TACHO_NONE where it takes no part. */
guint32 builder_find_thread(const struct graph_builder *builder, guint32 process, guint32 tid);
/* The number of the step a rank was in, or TACHO_NONE. */
guint32 builder_step_at(const struct graph_builder *builder, guint32 rank_index, gint64 time_ns);
/* The node of a thread's last piece that ended by `time_ns`; before all: what the thread began with. */
guint32 builder_node_before(const struct graph_builder *builder, guint32 thread, gint64 time_ns);

/* Take in the collectives whose members all were queued in the windows; cut threads there. */
void builder_add_collectives(struct graph_builder *builder);
/* When each was under way: transfers' times, pools, links. */
void builder_time_collectives(struct graph_builder *builder);
/* How fast bytes came over the wires, where messages were recorded. */
void builder_measure_wires(struct graph_builder *builder);
/* Split each transfer's time into bytes and waits; needs their times, and the pace of the wires. */
void builder_cost_transfers(struct graph_builder *builder);

/* Find what transfers take from computing, and take it out of the nodes. Needs all nodes, the times of
 * the transfers and their parts. */
void builder_take_contention(struct graph_builder *builder);

/* Find, for each member, the piece that waited for it, and until when. Who waited went on only when
 * the collective was over, so a member's end may turn out to be sooner than recorded. Needs the
 * pieces, and comes before builder_time_collectives(). */
void builder_find_waits(struct graph_builder *builder);
/* Which gradients came when, for the passes whose gradients are reduced. Needs the nodes. */
void builder_add_gradients(struct graph_builder *builder);

/* Whether nothing runs in the piece but, at most, a named region or a wait. */
gboolean builder_is_gap(const struct graph_builder *builder, const struct segment *segment);

#endif
