/* graph_internal: the tables behind TachoGraph, for src/graph to fill, src/edit to change
 * and src/replay to simulate.
 *
 * (1) Tables are edited as columns of nodes and a list of edges; graph_freeze() then makes the
 *     compressed lists (pred, succ) that a replay walks. An edit thaws: freeze again after it.
 * (2) Nodes of one thread stand in the order of the program, and all nodes are numbered by when
 *     they began in the recording, so that mostly the numbers already are a topological order and
 *     a replay walks memory forwards. graph->order is NULL then.
 * (3) Times are nanoseconds since graph->origin_ns of the timeline. */
#ifndef TACHO_GRAPH_INTERNAL_H
#define TACHO_GRAPH_INTERNAL_H

#include <tacho/graph.h>

#include "cost/collective_cost.h"
#include "cost/transfer_cost.h"
#include "trace/kernel_class.h"

/* Three threads that move bytes (gloo: one that sends and receives, two workers) against one that computes, on one core.
 * Source: derived from even shares of a core for each thread that wants it (Linux: Documentation/scheduler/sched-eevdf.rst and
 * sched-design-CFS.rst): three of four. Half of it, or half as far from 1, changes no prediction of either half of the kit by a
 * thousandth (validate/constants.py --kit --only GRAPH_MAX_TAKEN). */
#define GRAPH_MAX_TAKEN 0.75

/* The nodes of a graph, and its edges, at most. Source: derived from what 32 bits number beside TACHO_NONE. */
#define GRAPH_MAX_NODES (G_MAXUINT32 - 1)
/* The lanes of a graph, at most.
 * Source: derived from the 22 bits of graph_node.lane. */
#define GRAPH_MAX_LANES (1u << 22)

/* Where a duration comes from, the surest first. Of several, the least sure counts. */
enum node_origin {
	ORIGIN_MEASURED, /* as recorded, of the work itself or of what it is a copy of */
	ORIGIN_SCALED,	 /* as recorded, times a factor that was stated */
	ORIGIN_MODELLED, /* by a formula, from what was recorded or stated */
	ORIGIN_GUESSED,	 /* by an assumption that nothing recorded or stated bears out */
	N_ORIGINS
};

struct graph_node {
	gint64 duration_ns; /* undisturbed; of a TRANSFER: fixed and work */
	gint64 begin_ns;    /* in the recording; orders the nodes */
	guint32 name;	    /* string id of the timeline */
	guint32 slice;	    /* innermost slice, or TACHO_NONE */
	guint32 lane : 22;  /* below GRAPH_MAX_LANES */
	guint32 origin : 2; /* enum node_origin; a TRANSFER's are its transfer's */
	guint32 kind : 8;   /* TachoNodeKind */
	guint32 step;	    /* number; TACHO_NONE: between steps */
	guint32 transfer;   /* QUEUE, TRANSFER, COMPLETE: index; else TACHO_NONE */
	guint32 pool; /* QUEUE, COMPLETE: workers of its rank and group; COPY: an engine; OP: the
				     * workers that it wakes (edit/bucket_calls.h); else TACHO_NONE */
};

G_STATIC_ASSERT(sizeof(struct graph_node) == 40); /* there are 10 million for 1024 ranks */
G_STATIC_ASSERT(N_ORIGINS <= 1 << 2);

struct graph_edge {
	guint32 from, to;
	guint32 kind; /* TachoEdgeKind */
};

/* Where nodes happen: on a thread of a rank, on a stream of its device, in the communication of a rank, or on the
 * wires. Guests' ranks are numbered after those of the timeline. */
struct graph_lane {
	guint32 rank_index; /* TACHO_NONE: wires */
	guint32 host;	    /* string id */
	guint32 track;	    /* thread or stream; TACHO_NONE */
	guint32 name;	    /* string id */
	guint32 set;	    /* as played (rank_copies.h) */
	gboolean is_main;   /* the thread that the steps are of */
};

/* A direction of a host's network, or what the ranks of one host speak through; or a device's link. */
struct graph_link {
	guint32 host;		/* string id; of a device's link, with its rank */
	guint32 set;		/* as of a lane */
	const gchar *direction; /* static: "out", "in", "local"; of a device: "device", "network" */
};

/* Workers that carry out the collectives of one group on one rank, in the order queued; or a device's engine for
 * copies, one after the other in the order in which they come. */
struct graph_pool {
	guint32 rank_index, group; /* of an engine: ordinal of those of the rank */
	guint32 n_workers;
	gboolean is_engine;
};

struct graph_group {
	guint32 n_ranks;
	gboolean is_device;	  /* of kernels on streams */
	gboolean is_hops;	  /* no group: the hops from one host to another ... */
	guint32 sender, receiver; /* ... or from one rank to another: their indexes + 1; else 0 */
	guint32 first_link, n_links; /* into group_links[] */
	struct transfer_cost cost;   /* of its all-reduces, or else of all it did */
	gdouble added_latency_ns;    /* by what-ifs, one way; not in `cost` */
	gdouble max_fixed_ns; /* of a transfer, what does not depend on its bytes is at most this */
	gdouble wire_ns_per_byte; /* as messages tell; 0: they do not */
	gdouble hop_ns;		  /* where they do: what each segment takes beside its bytes ... */
	gdouble core_wait_ns; /* ... and how much longer while a rank of the group computes (core_waits.c) */
	struct collective_plan plan; /* by what-ifs; what its topology leaves open is as recorded */
	gboolean is_resized;	     /* by what-ifs: it was of all ranks, and has another number */
	guint32 job; /* that it is of: 0: this one; else which of those beside it, from 1 */
	guint32 set; /* as of a lane; one of all ranks is of all sets */
};

/* A collective. */
struct graph_transfer {
	guint32 node;	  /* TRANSFER */
	guint32 group;	  /* index */
	guint32 sequence; /* in its group, as correlate numbered it */
	guint32 name;	  /* string id */
	guint32 step;
	guint32 pass; /* ordinal of the backward pass whose gradients it carries, or TACHO_NONE */
	guint32 n_ranks;
	/* A collective that is played hop by hop: its node takes no time. It counts as removed, and each of its
	 * hops is a transfer. */
	gboolean is_unfolded, is_hop;
	gboolean
		is_pipelined; /* of a hop: other hops wait for its first byte, so no latency is in it */
	guint32 whole;	      /* of a hop: index */
	gdouble whole_fixed_ns, whole_work_ns; /* of one unfolded: as it was recorded ... */
	gdouble hops_fixed_ns, hops_work_ns;   /* ... when its hops took so long in all */
	gboolean is_removed;
	gboolean
		is_device; /* its parts are kernels on streams: no thread waits in it, none works */
	guint8 fixed_origin, work_origin; /* enum node_origin: of fixed_ns, of work_ns */
	guint64 bytes;
	gint64 begin_ns, end_ns; /* all ranks' workers at it; the first rank has the result */
	gdouble fixed_ns;	 /* waits, alone: they do not depend on the bandwidth */
	gdouble work_ns;	 /* what its bytes take, alone on its links */
	guint32 weight;		 /* of its share of a link, in GRAPH_WEIGHT_ONE; 0: one, too */
	gdouble core_wait_off; /* the share by which it waits less for cores than its group's; 0: as these do */
};

/* Source: derived from 32 bits: the weights of all transfers that a graph can have under way on a link can be added up in them, and
 * an even share is told to 1.6 %. */
#define GRAPH_WEIGHT_ONE 64u   /* an even share */
#define GRAPH_MAX_WEIGHT 1024u /* with it, another one's share is next to nothing */

static inline guint32 graph_transfer_weight(const struct graph_transfer *transfer)
{
	return transfer->weight ? transfer->weight : GRAPH_WEIGHT_ONE;
}

/* Who shares the busiest link of a transfer, in transfers like this one: itself and others of its job, and all. */
struct graph_sharing {
	gdouble n_own, n_all;
};

/* How much longer the transfer waits, alone, if ranks of its group compute all the time, so that who moves its bytes must wait for
 * cores: 0 where the recording does not show it. */
gdouble graph_core_wait_ns(const TachoGraph *graph, const struct graph_transfer *transfer);

/* The pace of a transfer, as a share of its links' rate. Alone, work and waits take turns. Each transfer of its job has two
 * messages under way, and sends another only when one has come: n transfers send 2 n - 1 messages between two waits. Bytes of other
 * jobs are on other connections: they make its messages take longer, and its waits no shorter. */
static inline gdouble graph_transfer_pace(gdouble fixed_ns, gdouble work_ns,
					  struct graph_sharing sharing)
{
	return work_ns /
	       (work_ns * (sharing.n_all / sharing.n_own) + fixed_ns / (2.0 * sharing.n_own - 1)) /
	       sharing.n_own;
}

/* A gradient of a rank, in order of arrival. */
struct graph_gradient {
	guint64 bytes;
	const gchar *dtype; /* static */
	guint32 ready_node; /* after which the bucket it completes can be queued */
	guint32 copy_node;  /* that copies it back, after waiting for its bucket; TACHO_NONE */
};

/* A backward pass of a rank whose gradients go out in buckets. */
struct graph_pass {
	guint32 rank_index;
	guint32 ordinal; /* the same pass has the same on all ranks */
	guint32 step;
	guint32 first_gradient, n_gradients;
	guint32 finish_node; /* waits for buckets whose gradients' copies are not known */
	guint8 packing;	     /* TachoPacking; UNKNOWN: by DistributedDataParallel */
};

/* A piece of a thread in the call that queues a collective of gradients. Of one such call there are several, where something was
 * called in it, or its collective was under way before it returned. */
struct graph_call {
	guint32 transfer; /* index */
	guint32 node;
};

/* A moment of a rank: so far into a node. */
struct graph_moment {
	gint64 time_ns; /* in the recording, of the timeline; keeps the order of what is in one node */
	guint32 node;  /* TACHO_NONE: before the first, or after the last */
	gdouble share; /* 0..1 */
};

/* Memory that a rank held; bytes 0: an edit took it away. */
struct graph_block {
	guint32 rank_index;
	guint32 slice;	 /* in which it was handed out, or TACHO_NONE */
	guint64 address; /* 0: not recorded */
	gint64 bytes;
	gint64 recorded_bytes; /* before what-ifs; 0: it was not there */
	guint32 device; /* 0: of the host's memory, else of the device's with the number less 1 */
	guint32 owner; /* string id of what handed it out, where no slice of this process's tells; else 0 */
	struct graph_moment begin, end;
	gboolean is_cast; /* by a what-if: what the operation `slice` reads, in other numbers */
};

/* What a stage that changes graphs keeps with one. */
struct graph_companion;
struct graph_companion_class {
	struct graph_companion *(*copy)(const struct graph_companion *companion);
	/* Ranks of the set `to` are from now on played by themselves, and were played as those of `from`. */
	void (*split)(struct graph_companion *companion, guint32 n_recorded, guint32 from,
		      guint32 to);
	void (*free)(struct graph_companion *companion);
};
struct graph_companion {
	const struct graph_companion_class *class;
};

/* Another job, put beside the one of the timeline to share its hosts and links. Its nodes have no slices, its
 * lanes no tracks, and their steps count on from one round of its recording to the next. */
struct graph_guest {
	guint32 name;		     /* string id: where its recording is */
	guint32 first_rank, n_ranks; /* of lanes' rank_index */
	guint32 n_steps;
	gint64 offset_ns;			 /* how much later than this job it begins */
	guint32 first_alone_step, n_alone_steps; /* of guest_steps: what its steps take alone */
	guint32 first_lag; /* of guest_lags: as `lags`, of its ranks and n_steps; TACHO_NONE: not known */
	gdouble taken_share, taken_by_bytes, device_taken_share; /* as the graph's */
};

/* What other processes, which own ranks of the timeline (trace/run_share.h), told of them. */
struct graph_told {
	guint64 *n_slices; /* [rank]: of its main process, of all ranks */
	gint64 peak_bytes; /* the most that one memory of any rank held; -1: none was recorded */
	GArray *blocks;	   /* struct told_block, by rank */
};

/* Memory that a rank held at some time in the graph's steps. */
struct told_block {
	gint64 begin_ns, end_ns, bytes;
	guint64 address;
	guint32 rank_index, device, owner; /* owner: as of a graph_block */
	guint32 begin_track, end_track;	   /* end: TACHO_NONE where it was not given back */
	guint32 unused;			   /* so that nothing lies between rows */
};

struct _TachoGraph {
	TachoTimeline *timeline; /* of it, only the strings are added to */
	gint64 origin_ns;
	GArray *steps; /* guint32, the numbers of those in it, ascending; control steps are not */
	guint32 n_played; /* ranks that have nodes of their own; 0: those of the timeline */
	GArray *sets; /* guint32, which set is played for each; empty: the first (rank_copies.h) */
	gint64 whole_ns; /* no steps: the mean over ranks of what was recorded; else 0 */
	/* gint64, ns, [rank of the timeline * steps + step]: how far the rank's devices were behind its host when
	 * the step was over, in the replay of what was recorded; empty: not known, or there are none. */
	GArray *lags;
	GArray *nodes;			   /* struct graph_node */
	GArray *edges;			   /* struct graph_edge */
	GArray *lanes;			   /* struct graph_lane */
	GArray *links;			   /* struct graph_link */
	GArray *group_links;		   /* guint32 */
	GArray *pools;			   /* struct graph_pool */
	GArray *groups;			   /* struct graph_group */
	GArray *transfers;		   /* struct graph_transfer */
	GArray *gradients;		   /* struct graph_gradient */
	GArray *passes;			   /* struct graph_pass, by rank and ordinal */
	GArray *calls;			   /* struct graph_call */
	GArray *blocks;			   /* struct graph_block; found by graph_find_memory() */
	GArray *guests;			   /* struct graph_guest */
	GArray *guest_steps;		   /* gint64, ns */
	GArray *guest_lags;		   /* gint64, ns */
	GPtrArray *notes;		   /* gchar */
	struct graph_companion *companion; /* or NULL */
	struct graph_told *told;	   /* counted; NULL: all ranks were read by this process */
	gdouble taken_share; /* of what a rank computes while bytes of it move (graph_taken_share()) ... */
	gdouble taken_by_bytes; /* ... of which so much goes with the bandwidth */
	gdouble device_taken_share; /* of what its device computes while its collectives' bytes move, or lone parts last */
	/* ... and so much more, or less, of kernels of each class: 0 where these alone do not show it, and KERNEL_OTHER */
	gdouble class_more_taken[N_KERNEL_CLASSES];
	guint32 n_cores; /* of each host, shared by the ranks' threads; 0: a core a thread */

	/* Made by graph_freeze(). The lists of node i are pred[pred_first[i]] up to pred[pred_first[i + 1]], and so on. */
	guint32 n_frozen;    /* nodes */
	gint64 *duration_ns; /* as the nodes', close together */
	guint32 *pred_first, *pred, *succ_first, *succ;
	guint32 *order;			 /* topological; NULL: 0, 1, 2 ... */
	guint32 *pool_first, *pool_node; /* QUEUE nodes of each pool, in order */
	gboolean is_shared; /* resources are shared: durations depend on who else is there */
};

static inline struct graph_node *graph_node_at(const TachoGraph *graph, guint32 node)
{
	return &g_array_index(graph->nodes, struct graph_node, node);
}

static inline struct graph_lane *graph_lane_at(const TachoGraph *graph, guint32 lane)
{
	return &g_array_index(graph->lanes, struct graph_lane, lane);
}

/* The index of the rank that the node is of; TACHO_NONE: of none. */
static inline guint32 graph_rank_index(const TachoGraph *graph, guint32 node)
{
	return graph_lane_at(graph, graph_node_at(graph, node)->lane)->rank_index;
}

static inline struct graph_transfer *graph_transfer_at(const TachoGraph *graph, guint32 transfer)
{
	return &g_array_index(graph->transfers, struct graph_transfer, transfer);
}

static inline struct graph_group *graph_group_at(const TachoGraph *graph, guint32 group)
{
	return &g_array_index(graph->groups, struct graph_group, group);
}

/* Ranks of this job that may have nodes: those of the timeline, and copies of them that are played, too. */
static inline guint32 graph_n_own_ranks(const TachoGraph *graph)
{
	return graph->n_played > 0 ? graph->n_played : graph->timeline->ranks->len;
}

/* The same, and the ranks of guests. */
guint32 graph_n_ranks(const TachoGraph *graph);
/* The guest that the rank is of; NULL: it is of this job. */
const struct graph_guest *graph_guest_of(const TachoGraph *graph, guint32 rank_index);
/* The node is of another job. */
gboolean graph_is_guest_node(const TachoGraph *graph, const struct graph_node *node);

/* Whether work of devices was recorded, of this job. */
gboolean graph_has_devices(const TachoGraph *graph);

/* What moving bytes takes from the threads of a rank, 0 to GRAPH_MAX_TAKEN. */
gdouble graph_taken_share(const TachoGraph *graph, guint32 rank_index);
/* What moving bytes takes from the device of a rank, 0..1. */
gdouble graph_device_taken(const TachoGraph *graph, guint32 rank_index);
/* The same from kernels of the class, of this job. */
gdouble graph_class_taken(const TachoGraph *graph, enum kernel_class class);
gboolean graph_has_class_shares(const TachoGraph *graph);
/* What a kernel's node does; KERNEL_OTHER: not known, or of another job. */
enum kernel_class graph_kernel_class(const TachoGraph *graph, const struct graph_node *node);
/* What moving bytes takes from it. */
gdouble graph_kernel_taken(const TachoGraph *graph, const struct graph_node *node);
/* Whether moving bytes takes anything from the device of a rank. */
gboolean graph_takes_from_device(const TachoGraph *graph, guint32 rank_index);
/* The node is a kernel of a collective whose other parts are not in the graph (other ranks were not recorded, say). What of it is
 * waiting is not known: it takes from its device for as long as it lasts. */
gboolean graph_is_lone_part(const TachoGraph *graph, const struct graph_node *node);

/* The node is work of a rank's threads, which takes a core. */
static inline gboolean graph_is_computing(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL ||
	       node->kind == TACHO_NODE_HOST;
}

/* The lane is a stream of a device. A guest's lanes have no track, so none of them is. */
static inline gboolean graph_lane_is_stream(const TachoGraph *graph, const struct graph_lane *lane)
{
	return lane->track != TACHO_NONE &&
	       tacho_timeline_track(graph->timeline, lane->track)->kind == TACHO_TRACK_STREAM;
}

/* An operation's slice on a set of copies, or on what was recorded (0): a key for tables. */
static inline gsize graph_set_key(guint32 set, guint32 slice)
{
	return (gsize)set << 32 | slice;
}

/* The same of the rank, or copy of it, that the node is of. */
static inline gsize graph_op_key(const TachoGraph *graph, const struct graph_node *node,
				 guint32 slice)
{
	return graph_set_key(graph_lane_at(graph, node->lane)->set, slice);
}

/* Computing makes transfers of some group wait for cores. */
gboolean graph_has_core_waits(const TachoGraph *graph);
/* Cores are shared, moving bytes takes some of what is computed meanwhile, or waits for that. */
gboolean graph_has_cores(const TachoGraph *graph);

/* The place of a step's number among the graph's steps, or TACHO_NONE. */
guint32 graph_step_index(const TachoGraph *graph, guint32 number);

/* The launcher's number of a node's rank, or of the first of those that it stands for (rank_copies.h); -1: the node is a
 * transfer, or a guest's. */
gint32 graph_node_rank(const TachoGraph *graph, guint32 node);

/* What PyTorch's autograd does in a backward pass, by its flag or its name; not what it calls. */
gboolean graph_slice_is_autograd(const TachoTimeline *timeline, guint32 slice);

/* How many slices the main process of a rank of the timeline has. */
guint64 graph_slices_of_rank(const TachoGraph *graph, guint32 rank_index);

/* An empty table of what others tell, for graph_new()'s graph. */
struct graph_told *graph_told_new(const TachoTimeline *timeline);
/* An empty graph over `timeline`, which must outlive it. The caller's, to end with tacho_graph_free(). */
TachoGraph *graph_new(TachoTimeline *timeline);
/* A copy to edit, unfrozen; the caller's, too. */
TachoGraph *graph_copy(const TachoGraph *graph);
/* Add a row; graph_add_node() returns its index. */
guint32 graph_add_node(TachoGraph *graph, struct graph_node node);
void graph_add_edge(TachoGraph *graph, guint32 from, guint32 to, TachoEdgeKind kind);
/* Let a group's transfers use a link of `host` too; added when new, and once a group. */
void graph_add_group_link(TachoGraph *graph, guint32 group, guint32 host, const gchar *direction);
/* Note what the graph leaves out or assumes: a sentence without its full stop. */
void graph_note(TachoGraph *graph, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

/* Take nodes away: those whose flag is set, with all their edges. Their numbers stay. */
void graph_remove_nodes(TachoGraph *graph, const guint8 *is_removed);

/* Number the nodes anew, as (2) says. */
void graph_renumber(TachoGraph *graph);

/* Set duration_ns of a transfer's node from its two parts; where they come from stays. */
void graph_set_transfer(TachoGraph *graph, guint32 transfer, gdouble fixed_ns, gdouble work_ns);

/* The same by a change: a part that becomes another comes from `origin`, unless it came from something less sure. */
void graph_change_transfer(TachoGraph *graph, guint32 transfer, gdouble fixed_ns, gdouble work_ns,
			   enum node_origin origin);

/* The duration of a node that is no TRANSFER, by a change: another one comes from `origin`, unless the one before came
 * from something less sure. */
static inline void graph_change_duration(struct graph_node *node, gint64 duration_ns,
					 enum node_origin origin)
{
	if (duration_ns != node->duration_ns)
		node->origin = MAX(node->origin, origin);
	node->duration_ns = duration_ns;
}

/* Let the collectives that are unfolded be one transfer each again, which takes what it took in proportion to what was
 * changed of its hops. The hops' nodes are removed. */
void graph_fold_hops(TachoGraph *graph);

/* What is under way on a link, of one job. All are whole numbers, so that what is added and taken away again leaves nothing. */
struct link_load {
	guint32 weights; /* of its transfers */
	guint32 n,
		n_hops; /* these, and those of them that are hops, which have their bytes queued at once */
	/* Where there are several jobs: the share of their time alone in which they keep the link busy, and do not wait, in
	 * GRAPH_WEIGHT_ONE; bytes that they have queued in the network when they do not, and on average. */
	guint64 busy, in_flight, mean_in_flight;
};

/* One for each job and link, and behind those of a job one of all: `n_hops` are its hops, and `weights` the links that these leave
 * their hosts by. */
static inline gsize graph_n_loads(const TachoGraph *graph)
{
	return ((gsize)graph->links->len + 1) * (graph->guests->len + 1);
}

/* The transfer takes to its links (1), or leaves them (-1): graph_n_loads() of `loads`. */
void graph_change_load(const TachoGraph *graph, const struct graph_transfer *transfer, gint change,
		       struct link_load *loads);
/* Who shares the busiest of the transfer's links; `n_of_group` is how many transfers of its group are under way. Transfers of one
 * group of devices do not share: they follow each other, or are between others of its ranks. Hops do, for they are of several
 * channels.
 *
 * Jobs share a link by the bytes that they have queued before it (graph_loads.c), each as far as it would keep the link busy alone:
 * while it waits, its share is the others'. */
struct graph_sharing graph_n_sharing(const TachoGraph *graph, const struct graph_transfer *transfer,
				     const struct link_load *loads, guint32 n_of_group);

/* Make what a replay walks; what was made before is freed. FALSE, with the error set: TACHO_GRAPH_ERROR_CYCLE, whose
 * message names nodes of the cycle, or TACHO_GRAPH_ERROR_SIZE. */
gboolean graph_freeze(TachoGraph *graph, GError **error);
/* Find the order of a frozen graph anew, whose edges were moved in place. TACHO_GRAPH_ERROR_CYCLE, as graph_freeze(). */
gboolean graph_reorder(TachoGraph *graph, GError **error);
/* Free what graph_freeze() made. */
void graph_thaw(TachoGraph *graph);

/* "rank 0 main: op aten::mm", for messages; the caller's. */
gchar *graph_describe_node(const TachoGraph *graph, guint32 node);

#endif
