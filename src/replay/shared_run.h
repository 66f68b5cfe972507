/* shared_run: the state of a replay whose resources are shared: shared_setup.c makes it, shared_replay.c and
 * shared_cores.c move it on, shared_state.c keeps it and goes back to what was kept. */
#ifndef TACHO_SHARED_RUN_H
#define TACHO_SHARED_RUN_H

#include "replay/event_heap.h"
#include "replay/rank_fold.h"
#include "replay/replay_internal.h"

/* What is left of a transfer that is over.
 * Source: derived from doubles, which round times of up to 26 days by no more. */
#define ALMOST_NS 0.5

/* A transfer on its links. */
struct active_transfer {
	guint32 node, transfer;
	gdouble rest_ns;      /* of work */
	gdouble pace;	      /* 1: a ns of work a ns */
	gdouble core_wait_ns; /* alone, if a rank of its group computed all the time */
};

/* The cores of a host, or where nobody said how many they are, those of a rank; or a rank's device, or the collectives that are on that
 * without the parts of other ranks. */
struct core_set {
	struct event_heap heap; /* by the amount of work done at which a node ends */
	gdouble done_ns;	/* work done for each node on the cores since the begin */
	gdouble at_ns;
	gdouble taken;	  /* what each rank with bytes on a link takes, as a share of a core ... */
	guint32 n_moving; /* ... and how many these are */
	gboolean is_uncounted; /* each node has a core of its own, of which its rank's bytes take */
	/* These are parts in collectives, which take from a device as its bytes do: its index of rank_core_set[] and 1; else 0. */
	guint32 moves_as;
	/* Where one node is on it: of what follows it there, the first that concerns others does not end before so
	 * much work is done. */
	gdouble alone_until;
	gboolean is_alone_known;
	/* Groups whose transfers wait for these cores while all of them compute: waiting[first_waiting] up to
	 * waiting[end_waiting]. */
	guint32 first_waiting, end_waiting;
	gboolean is_busy;  /* as these groups have been told */
	gboolean is_noted; /* it is in run->changed[] */
};

/* Workers; of an engine, there is one, which counts as free from when it will be. */
struct worker_pool {
	guint32 next; /* of pool_node[], to be taken up */
	guint32 n_free;
	gdouble *free_ns;  /* since when, n_free of them */
	guint32 *freed_by; /* COMPLETE nodes, or a COPY */
};

/* When a core set has something to end. */
struct next_set {
	gdouble time_ns;  /* INFINITY: nothing is on it */
	gdouble alone_ns; /* nothing that ends on it before concerns anything else */
	guint32 set;
};

/* Where a node happens that is on no core set. */
enum node_place {
	PLACE_TRANSFER =
		G_MAXUINT32 -
		4, /* on links: the first of the places. Source: derived from the four that follow. */
	PLACE_ENGINE,	/* on one that copies */
	PLACE_QUEUE,	/* taken up by one of several workers ... */
	PLACE_COMPLETE, /* ... who is free after it */
	PLACE_NONE,	/* nothing is shared */
};

struct shared_run {
	TachoReplay *replay;
	const TachoGraph *graph;
	guint32 *n_waiting; /* predecessors that have not ended */
	guint32 *ready;	    /* a stack of nodes whose predecessors have */
	guint32 n_ready, n_begun, n_done;
	guint32 *place;		  /* of each node: a core set, or one of enum node_place */
	guint8 *has_come;	  /* a QUEUE node's predecessors have ended */
	struct event_heap begins; /* nodes to be put on shared resources */
	GArray *active;		  /* struct active_transfer */
	struct link_load *loads;  /* graph_n_loads() */
	guint32 *n_active;	  /* transfers of each group on their links */
	gdouble links_at_ns, links_next_ns;
	gdouble now_ns;
	struct core_set *cores;
	guint32 *core_set_of; /* lane -> index */
	guint32 n_core_sets;
	/* A tournament of the core sets: next[1] has the soonest of all, and the least alone_ns. */
	struct next_set *next;
	guint32 n_leaves; /* next[n_leaves + i] is core set i's */
	guint32 late_set; /* whose leaf is not as the set is; TACHO_NONE: none's */
	guint32 n_ranks;
	/* [rank]: the set of its threads; [n_ranks + rank]: the first of those of its device, or PLACE_NONE. A device has n_slots of
	 * them, by the classes of its kernels, and another one for its lone parts. */
	guint32 *rank_core_set;
	guint8 slot_of_class
		[N_KERNEL_CLASSES]; /* below n_slots; 0: nothing of its own is taken of it */
	guint32 n_slots;
	guint32 *
		n_moving; /* transfers on links, of hosts and of devices, and lone parts of devices, as rank_core_set[] */
	/* Who moves bytes while a transfer of group g does, as indexes of rank_core_set[]: moving[moving_first[g]] up to
	 * moving[moving_first[g + 1]]. */
	guint32 *moving_first, *moving;
	guint32 *waiting;	     /* groups, of core sets */
	guint32 *n_computing;	     /* of each group: core sets that are busy */
	guint32 *changed, n_changed; /* core sets that may have become busy, or idle */
	struct worker_pool *pools;
	/* Of each node that is a call which wakes workers: where what it queues is in pool_node[]; else TACHO_NONE. NULL: there are
	 * none. */
	guint32 *call_queue;
	struct shared_history *history; /* to be written; or NULL */
	const struct rank_fold *fold;	/* ranks that others are played for; or NULL */
};

/* The node is a call that wakes one of several workers. */
static inline gboolean shared_run_is_call(const struct shared_run *run, guint32 node)
{
	return run->call_queue && run->call_queue[node] != TACHO_NONE;
}

/* What a run was like at some moments, and when each node began, counted in nodes begun: until a node
 * begins, nothing in the run depends on how long it takes. */
struct shared_history {
	guint32 *begun;	      /* nodes begun before this one */
	GPtrArray *states;    /* struct shared_state, in order */
	guint32 stride, next; /* nodes begun from one to the next; and when that is */
};

/* All that `replay` needs to be played from its begin. With a fold, the nodes that it has are left out, and not
 * filled in. */
struct shared_run *shared_run_new(TachoReplay *replay, const struct rank_fold *fold);
void shared_run_free(struct shared_run *run);
/* As if nothing of the run had been played. */
void shared_run_rewind(struct shared_run *run);
/* Play it to its end. TACHO_GRAPH_ERROR_CYCLE: it has none. */
gboolean shared_run_play(struct shared_run *run, GError **error);

/* What the node is to do, now that it begins: of a call, as much as workers are free (edit/bucket_calls.h). */
gint64 shared_run_work_ns(const struct shared_run *run, guint32 node);
/* What follows the node has one predecessor less to wait for. */
void shared_run_finish(struct shared_run *run, guint32 node, gint64 end_ns);

/* Look anew when each core set has something to end. */
void shared_cores_schedule(struct shared_run *run);
/* Which has it soonest. */
const struct next_set *shared_cores_next(struct shared_run *run);
void shared_cores_begin(struct shared_run *run, guint32 node, guint32 set, gdouble time_ns);
/* The soonest of all nodes on the set ends, and as long as this is before `horizon_ns` and concerns nothing else, what
 * follows there. Before then nothing else may happen that the set depends on. */
void shared_cores_end(struct shared_run *run, guint32 set, gdouble horizon_ns);
/* Let groups know whose cores have become busy, or idle. Returns whether that changes the pace of what is on links. */
gboolean shared_cores_tell(struct shared_run *run);
/* A transfer of the group takes to the links (1), or leaves them (-1). */
void shared_cores_move(struct shared_run *run, guint32 group, gint change, gdouble time_ns);

struct shared_history *shared_history_new(const TachoGraph *graph);
void shared_history_free(struct shared_history *history);
/* Keep what the run is like now; no node is ready. */
void shared_history_keep(struct shared_history *history, const struct shared_run *run);
/* Go back to the last moment kept before more than `begun` nodes had begun, or to the begin. The run is
 * of a graph that differs in durations of nodes that began later, and in nothing else. */
void shared_history_go_back(const struct shared_history *history, guint32 begun,
			    struct shared_run *run);

#endif
