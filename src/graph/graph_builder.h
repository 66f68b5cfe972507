/* graph_builder: what the files that build a graph share while they do.
 *
 * graph_build.c calls them in turn. A rank's host: graph_steps.c chooses the steps, graph_threads.c the threads, whose
 * time thread_segments.c cuts into pieces. Its devices: device_work.c collects what they did. Collectives:
 * graph_collectives.c finds when each was really under way, transfer_parts.c and graph_wire.c what its time was spent
 * on. Who waited: graph_waits.c for collectives, device_waits.c and device_queue.c for devices. Then there are nodes, of
 * threads (thread_nodes.c), collectives (collective_nodes.c) and devices (device_nodes.c, device_engines.c), from which
 * graph_contention.c takes out what transfers took from computing. Of some collectives hops are made, by graph_hops.c of
 * those that an importer was told of, by message_hops.c of messages. */
#ifndef TACHO_GRAPH_BUILDER_H
#define TACHO_GRAPH_BUILDER_H

#include "graph/graph_internal.h"
#include "graph/thread_segments.h"

/* A collective that takes the same time as one of no bytes.
 * Source: a rule: at most three packets of Ethernet, which a link of 500 Mbit/s carries in 66 us. If wrong, the bound on a
 * transfer's fixed time (max_fixed_ns) contains the time of bytes, or is not known. */
#define BUILD_SMALL_BYTES 4096

/* What begins as soon as something else has ended. Source: derived from aligned clocks, which round the times of both. */
#define BUILD_AT_ONCE_NS 2

/* Consecutive autograd work of a thread. */
struct build_pass {
	gint64 begin_ns, end_ns;
	guint32 first_slice, end_slice; /* its slices are among [first, end) */
	guint32 ordinal;		/* among those of its rank whose gradients are reduced */
	GArray *gradients;		/* guint32 slices, in order of arrival */
	GArray *copies; /* guint32: pieces of the thread, each a gradient's copy back; empty where they are not as
			   * many as the gradients */
	guint32 n_waited; /* gradients whose buckets have been found waited for */
};

struct build_thread {
	guint32 track, rank_index, lane;
	gboolean is_main;
	gboolean
		is_own; /* its slices were read by this process (trace/run_share.h); else it has no pieces here */
	gint64 from_ns, to_ns;
	GArray *cuts_ns;  /* gint64 */
	GArray *segments; /* struct segment */
	GArray *passes;	  /* struct build_pass, in order of time */
};

/* One rank's part in a collective. */
struct build_member {
	guint32 slice, rank_index, transfer, pool;
	guint32 thread; /* that queued it: index */
	guint32 caller; /* slice in which it did; TACHO_NONE: not known */
	guint32 end_tid;
	guint32 pass; /* index into its thread's passes, or TACHO_NONE */
	gint64 queue_ns, free_ns, begin_ns,
		end_ns; /* free: a worker could, begin: did take it up */
	guint32 work;	/* of a device's stream, or TACHO_NONE: a backend's on the host */
	guint32 next; /* of the same work, which carries out several sends and receives, or TACHO_NONE */
	gboolean is_eager;    /* was done before the last rank came: waited for nobody */
	guint32 wait_segment; /* of its thread: the first work that had waited, or TACHO_NONE */
	/* Thread and piece of the worker that carried it out, and went on with what was hung on its end (chained_collective.c), or TACHO_NONE;
	 * and the node of that. */
	guint32 sequel_thread, sequel_segment, sequel_node;
	guint32 from_node,
		wait_node; /* of its thread: behind which it was queued; that waited, or TACHO_NONE */
	guint32 ordinal; /* of the pass whose gradients it carries, among those of its rank, or TACHO_NONE */
	guint32 queue_node, complete_node;
};

/* A piece of work of a device: a kernel, a copy, a fill, a part in a collective. */
struct build_work {
	guint32 slice, stream; /* stream: index */
	gint64 begin_ns, end_ns;
	guint32 call;	  /* slice that launched it; TACHO_NONE: none, or before the window */
	guint32 thread;	  /* index, of the call */
	gint64 launch_ns; /* begin of the call; G_MININT64 where there is none */
	guint32 member;	  /* its part in a collective, the first of several, or TACHO_NONE */
	guint32 engine;	  /* pool of the engine that copies it; TACHO_NONE: none that is shared */
	guint32 first_node,
		n_nodes; /* its pieces, which follow each other; made by device_nodes.c */
};

/* Works [first_work, first_work + n_work), by when they began. */
struct build_stream {
	guint32 track, rank_index, lane;
	guint32 first_work, n_work;
};

/* `work` could not begin before `from`, of another stream, had ended. */
struct build_event {
	guint32 work, from;
};

/* The piece of a thread went on when a device's work was done. */
struct build_sync {
	guint32 thread, segment, work;
	gint64 until_ns; /* the part of the work that it waited for */
};

/* When the steps chosen were on a rank. */
struct build_window {
	gint64 from_ns, to_ns;
	guint32 main_thread; /* index */
	guint32 start_node;  /* before all else of the rank */
	GArray *steps;	     /* TachoStep */
};

struct graph_builder {
	TachoTimeline *timeline;
	TachoGraph *graph;
	guint32 n_ranks;
	struct build_window *windows; /* one a rank */
	GArray *threads;	      /* struct build_thread */
	GArray *members;	      /* struct build_member; those of a transfer are together */
	GHashTable *thread_of;	      /* process << 32 | tid -> index + 1 */
	guint8 *launches;	      /* of each slice: whether it launched a device's work */
	GArray *streams;	      /* struct build_stream, by rank */
	GArray *work;		      /* struct build_work, by stream and begin */
	GArray *events;		      /* struct build_event, by work */
	GArray *syncs;		      /* struct build_sync */
	GHashTable *work_of;	      /* slice -> work + 1 */
	gdouble *wire_ns_per_byte;    /* of each rank, as messages tell; 0: they do not */
	gint64 latency_ns;	      /* one way, as small messages tell; 0: they do not */
	/* Of nodes from first_told on, which another process made, what builder_contention_kind() said there (gint64). */
	GArray *told_kinds;
	guint32 first_told;
};

static inline struct build_thread *build_thread_at(const struct graph_builder *builder, guint32 i)
{
	return &g_array_index(builder->threads, struct build_thread, i);
}

static inline struct build_member *build_member_at(const struct graph_builder *builder, guint32 i)
{
	return &g_array_index(builder->members, struct build_member, i);
}

/* The name, a string, of the rank's host. */
static inline guint32 build_host_of(const struct graph_builder *builder, guint32 rank_index)
{
	return tacho_timeline_rank(builder->timeline, rank_index)->host;
}

static inline struct build_work *build_work_at(const struct graph_builder *builder, guint32 i)
{
	return &g_array_index(builder->work, struct build_work, i);
}

static inline struct build_stream *build_stream_at(const struct graph_builder *builder, guint32 i)
{
	return &g_array_index(builder->streams, struct build_stream, i);
}

/* The thread `tid` of a process, or TACHO_NONE where it takes no part. */
guint32 builder_find_thread(const struct graph_builder *builder, guint32 process, guint32 tid);
/* The number of the step a rank was in, or TACHO_NONE. */
guint32 builder_step_at(const struct graph_builder *builder, guint32 rank_index, gint64 time_ns);
/* The node of a thread's last piece that ended by `time_ns`; before all: what the thread began with. */
guint32 builder_node_before(const struct graph_builder *builder, guint32 thread, gint64 time_ns);

/* Choose the steps, of those numbered `first` to `last` (inclusive, -1: no limit), and set the ranks' windows; needs the
 * launches. FALSE, with the error set: no step can be replayed. */
gboolean builder_choose_steps(struct graph_builder *builder, gint64 first, gint64 last,
			      GError **error);

/* The track of the thread that trains: the process's first, or else, or where no process has a number, the busiest;
 * TACHO_NONE: the process has no thread. */
guint32 builder_main_track(const TachoTimeline *timeline, guint32 process);
/* Add the threads that take part, rank by rank, each rank's main one first. FALSE, with the error set: one has none, or
 * another process failed. */
gboolean builder_add_threads(struct graph_builder *builder, GError **error);
/* Cut the threads into pieces, at the moments in their `cuts_ns` too, and find which pieces of main threads had waited
 * for bursts. Needs the moments at which collectives were queued. */
void builder_cut_threads(struct graph_builder *builder);
/* The thread's piece `i` is the last of a burst. */
gboolean builder_ends_burst(const struct build_thread *thread, guint i);
/* Make the nodes of threads, and find between which of them members are; needs to know until when their pieces had waited. */
void builder_add_thread_nodes(struct graph_builder *builder);
/* Make the nodes of transfers, and those of members on hosts; needs the nodes of threads. */
void builder_add_collective_nodes(struct graph_builder *builder);

/* Take in the collectives whose members all were queued in the windows; cut threads there. */
void builder_add_collectives(struct graph_builder *builder);
/* When each was under way: transfers' times, pools, links. */
void builder_time_collectives(struct graph_builder *builder);
/* How fast bytes came over the wires, where messages were recorded. */
void builder_measure_wires(struct graph_builder *builder);
/* How long the first byte of a message is on its way. */
void builder_measure_latency(struct graph_builder *builder);
/* When the transfers of kernels that carry out several were under way: as far as others do not hide it. */
void builder_part_batches(struct graph_builder *builder);
/* Split the time of each transfer from `first` on into bytes and waits, and so of all groups from `first_group` on; needs
 * their times, and the pace of the wires. */
void builder_cost_transfers(struct graph_builder *builder, guint32 first, guint32 first_group);
/* Make nodes of the hops of collectives, where they are known: needs the nodes of all and the parts of transfers. */
void builder_unfold_collectives(struct graph_builder *builder);

/* The same of collectives of hosts, where messages tell who sent to whom, and of sends and receives; needs the nodes of all,
 * the pace of the wires and the parts of transfers. */
void builder_unfold_messages(struct graph_builder *builder);

/* Find what transfers take from computing, and take it out of the nodes. Needs all nodes, the times of
 * the transfers and their parts. */
void builder_take_contention(struct graph_builder *builder);

/* Find, for each member, the piece that waited for it, and until when. Who waited went on only when
 * the collective was over, so a member's end may turn out to be sooner than recorded. Needs the
 * pieces, and comes before builder_time_collectives(). */
void builder_find_waits(struct graph_builder *builder);
/* Where several processes have the ranks' slices: bring what each made of its ranks so far to the first of them. Needs the
 * nodes of threads and the gradients. FALSE, with the error set: some process failed. */
gboolean builder_share_parts(struct graph_builder *builder, GError **error);
/* Which gradients came when, for the passes whose gradients are reduced. Needs the nodes. */
void builder_add_gradients(struct graph_builder *builder);
/* And of which pass each collective carries gradients. */
void builder_mark_transfers(struct graph_builder *builder);

/* A number for the kind of a thread's piece, or of what a device did: those of one kind are compared. 0: it is not. */
gint64 builder_contention_kind(const struct graph_builder *builder, guint32 node,
			       gboolean is_device);

/* Find the calls that launched work on devices; before the threads are chosen. */
void builder_find_launches(struct graph_builder *builder);
/* Collect the work of the ranks' devices in the windows; needs the threads. */
void builder_add_work(struct graph_builder *builder);
/* The work of a slice, or TACHO_NONE. */
guint32 builder_find_work(const struct graph_builder *builder, guint32 slice);
/* The last work of a stream that was launched before `time_ns`, or TACHO_NONE. */
guint32 builder_launched_before(const struct graph_builder *builder, guint32 stream,
				gint64 time_ns);
/* Find which work had waited for which of another stream, and which pieces of threads had waited for
 * work. Needs the pieces of the threads, and comes before there are nodes. */
void builder_find_device_waits(struct graph_builder *builder);
/* The call of a thread waits for the work, as far as times allow. */
void builder_add_sync(struct graph_builder *builder, guint32 thread, guint32 call, guint32 work);
/* Where drivers took only so much work ahead, calls wait for what is so many before; as above. */
void builder_limit_queues(struct graph_builder *builder);
/* Find which copies share an engine; needs the pools of collectives. */
void builder_find_engines(struct graph_builder *builder);
/* Make the nodes of devices and their parts in collectives; needs the nodes of threads and transfers. */
void builder_add_device_nodes(struct graph_builder *builder);

/* Add a lane; TACHO_NONE: of no rank, of no track. `name` is a string id. Returns its index. */
guint32 builder_add_lane(struct graph_builder *builder, guint32 rank_index, guint32 track,
			 guint32 name, gboolean is_main);

/* Whether nothing runs in the piece but, at most, a named region or a wait. */
gboolean builder_is_gap(const struct graph_builder *builder, const struct segment *segment);

#endif
