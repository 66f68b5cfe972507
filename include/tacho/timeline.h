/* timeline: what a run recorded, as tables in memory, for every later stage to work on.
 *
 * Tables are plain columns indexed by integers; an index is good for as long as the timeline. One
 * model serves every source: a slice has a begin, a duration, a name, a kind and a track; a track
 * is a thread, a device stream or a counter of a process; a process belongs to a rank on a host.
 *
 * (1) Slices are ordered by track, and within a track by (start_ns, then longer first), so that a
 *     parent stands before its children and a track's slices are one range.
 * (2) start_ns is nanoseconds since the timeline's origin (origin_unix_ns). All times, ends included,
 *     are within TACHO_MAX_TIME_NS of it, so that the difference of any two is a gint64.
 * (3) parent[] is the innermost slice of the same track that contains the slice, or TACHO_NONE. What only
 *     partly overlaps (an annotation that begins in a function and ends behind it) lies beside: neither is cut,
 *     and trace/own_time.h says whose a moment is.
 *     Slices that may end in another thread (collectives) live on a track of their own beside the
 *     thread that queued them, so that (1) and (3) hold: see TACHO_TRACK_ASYNC.
 * (4) What the analyses need often is a column; the rest stays in the source, and is read through
 *     tacho_slice_op() and its siblings when asked for.
 *
 * The fields are meant to be read; only src/trace and src/import write them. */
#ifndef TACHO_TIMELINE_H
#define TACHO_TIMELINE_H

#include <glib.h>

#include <tacho/problem.h>

G_BEGIN_DECLS

#define TACHO_NONE	  G_MAXUINT32
#define TACHO_MAX_TIME_NS (G_MAXINT64 / 2) /* 146 years */

/* SLICE_KIND(enumerator, name). Those before STEP, and MESSAGE, come from records, too
 * (trace/trace_layout.h); the others only from foreign traces. */
#define TACHO_SLICE_KINDS(SLICE_KIND)                                                              \
	SLICE_KIND(OP, op)		   /* framework operation */                               \
	SLICE_KIND(ANNOTATION, annotation) /* named region */                                      \
	SLICE_KIND(MODULE, module)	   /* forward of one module */                             \
	SLICE_KIND(WAIT, wait)		   /* waiting for something named */                       \
	SLICE_KIND(KERNEL, kernel)	   /* library or device kernel */                          \
	SLICE_KIND(COLLECTIVE, collective) /* from queued to complete */                           \
	SLICE_KIND(STEP, step)		   /* a training step, found by correlate */               \
	SLICE_KIND(MESSAGE, message)	   /* bytes sent or received on a TCP connection */        \
	SLICE_KIND(RUNTIME, runtime)	   /* call of a device's runtime or driver */              \
	SLICE_KIND(MEMCPY, memcpy)	   /* copy by a device */                                  \
	SLICE_KIND(MEMSET, memset)	   /* fill by a device */                                  \
	SLICE_KIND(SYNC, sync)		   /* somebody waits for a device or stream */             \
	SLICE_KIND(FUNCTION, function)	   /* function of the program's own language */            \
	SLICE_KIND(EVENT, event)	   /* of a foreign trace, of no kind above */

typedef enum {
#define TACHO_SLICE_KIND_ENUM(enumerator, name) TACHO_SLICE_##enumerator,
	TACHO_SLICE_KINDS(TACHO_SLICE_KIND_ENUM)
#undef TACHO_SLICE_KIND_ENUM
		TACHO_N_SLICE_KINDS
} TachoSliceKind;

typedef enum {
	TACHO_SLICE_OPEN = 1 << 0, /* had not ended when the recording did; duration: up to then */
	TACHO_SLICE_BACKWARD = 1 << 1, /* an autograd node */
	TACHO_SLICE_REPAIRED = 1 << 2, /* its time was mended: the trust problems say how */
	TACHO_SLICE_CRITICAL = 1 << 3, /* on the path that tacho_event_path_mark() was given */
	TACHO_SLICE_UPDATE = 1 << 4,   /* an operation that applies gradients to parameters */
	TACHO_SLICE_UNASKED =
		1 << 5, /* an operation recorded without its tensors: the accessors give
					* those of the same place in another step, where there is one */
} TachoSliceFlags;

/* About 45 bytes a slice. */
typedef struct {
	guint32 n;
	guint32 capacity; /* rows there is room for */
	gint64 *start_ns;
	gint64 *duration_ns;
	guint64 *source; /* where its record is; for the accessors only */
	guint32 *name;	 /* string id */
	guint32 *track;
	guint32 *parent;
	guint32 *launch; /* slice of a thread that queued this one on a device, or TACHO_NONE */
	guint8 *kind;	 /* TachoSliceKind */
	guint8 *flags;	 /* TachoSliceFlags */
	guint16 *depth;	 /* number of ancestors */
} TachoSlices;

typedef enum {
	TACHO_TRACK_THREAD,
	TACHO_TRACK_ASYNC,  /* slices queued by a thread that end elsewhere; may overlap */
	TACHO_TRACK_STREAM, /* device queue */
	TACHO_TRACK_COUNTER,
	/* What samples saw a thread run: the FUNCTION slices of its stack, and WAIT where it waited. Their times are right
	 * to the distance of two samples (trace/stack_samples.h). */
	TACHO_TRACK_SAMPLED,
} TachoTrackKind;

/* What a thread does for collectives. */
typedef enum {
	TACHO_ROLE_NONE,
	TACHO_ROLE_WORKER,	 /* takes collectives up and sees them through */
	TACHO_ROLE_MESSAGE_LOOP, /* moves the bytes of collectives for other threads */
} TachoThreadRole;

typedef struct {
	TachoTrackKind kind;
	TachoThreadRole role; /* of a thread; filled by correlate */
	guint32 process;      /* index */
	guint32 tid; /* of the thread; ASYNC: of the one that queued; SAMPLED: of the one sampled; STREAM: its number */
	gint32 device;	     /* STREAM: the device's number on its host */
	guint32 name;	     /* string id: thread name, "collectives" ..., counter name */
	guint32 first_slice; /* its slices are [first_slice, first_slice + n_slices) */
	guint32 n_slices;
	guint32 parent_tid; /* who started the thread, 0: not known */
	gint64 first_ns,
		last_ns; /* of its first and last record; thread start is before first_ns */
	guint64 n_dropped;
} TachoTrack;

typedef enum {
	TACHO_END_RUNNING, /* still alive */
	TACHO_END_EXITED,  /* exit_status says how */
	TACHO_END_KILLED,  /* exit_status is the signal if known, else 0 */
	TACHO_END_UNKNOWN, /* gone without a word, and no launcher saw it */
	TACHO_END_STOPPED, /* not the process, but its recording: tacho stop */
} TachoEnd;

/* Who can have the clock of a process that was read of another tool's trace. */
typedef enum {
	TACHO_CLOCK_OF_HOST, /* all processes of its host */
	TACHO_CLOCK_OF_FILE, /* only those of its file: times count from a moment of its own */
	/* Only those of its file, but others may have the same one: its host is a guess. Of OTHER_HOST it is none, however,
	 * that has another name. */
	TACHO_CLOCK_OF_SOME_HOST,
	TACHO_CLOCK_OF_OTHER_HOST,
} TachoClockScope;

/* How the times of a clock's processes came to be comparable with those of others. */
typedef enum {
	TACHO_CLOCK_REFERENCE, /* all times are this one's: the first process's */
	TACHO_CLOCK_ALIGNED,   /* moved to its reference, by who waited for whom */
	TACHO_CLOCK_APART,     /* nothing ties it to the others: its times are as recorded */
} TachoClockState;

/* A clock that processes were recorded with. Those of one machine share one, and are never moved
 * against each other. All but host and scope is filled by correlate. */
typedef struct {
	guint32 host;	       /* string id, of its first process */
	guint8 scope;	       /* TachoClockScope */
	guint32 reference;     /* the clock it was aligned to; itself, where it was to none */
	guint8 state;	       /* TachoClockState */
	guint8 evidence;       /* TachoClockEvidence: what it was aligned by */
	gint64 offset_ns;      /* how far it was ahead of its reference at the origin of time ... */
	gdouble drift;	       /* ... and how much faster it ran: 1e-6 is a microsecond a second */
	gint64 uncertainty_ns; /* its times, after the alignment, are right to so much ... */
	gint64 inner_uncertainty_ns; /* ... and from the first to the last thing that bounds it */
	gdouble drift_uncertainty;
	gint64 own_doubt_ns; /* how far times of its own ranks may be off, if they have different ones */
	guint32 n_bounds;	/* of its offset, that were weighed */
	guint32 n_contradicted; /* ... and that the alignment does not keep */
} TachoClock;

typedef enum {
	TACHO_CLOCK_BY_COLLECTIVES = 1 << 0,
	TACHO_CLOCK_BY_MESSAGES = 1 << 1,
	TACHO_CLOCK_INFERRED = 1 << 2, /* what belongs together was inferred: members are missing */
	TACHO_CLOCK_BY_SENDS = 1 << 3, /* calls that send and receive */
	TACHO_CLOCK_BY_HOPS = 1 << 4,  /* parts of collectives, from rank to rank or to servers */
	TACHO_CLOCK_ASSUMED = 1 << 5,  /* that sends wait for their receives */
} TachoClockEvidence;

typedef struct {
	guint32 host;	    /* string id */
	guint32 clock;	    /* index */
	guint8 clock_scope; /* TachoClockScope */
	guint32 pid, ppid;
	gint32 rank;		       /* as the launcher said; -1: none said */
	gint32 local_rank, world_size; /* -1: not known */
	guint32 rank_index;	       /* into ranks[] */
	gboolean is_main; /* the process that trains; others of its rank are its workers */
	guint32 command;  /* string id */
	guint32 job;	  /* string id, "" if none */
	TachoEnd end;
	gint32 exit_status;
	gint64 start_ns, end_ns; /* first and last sign of life */
	gboolean
		is_cut; /* its oldest records were removed, of some threads more than of others ... */
	gint64 whole_from_ns; /* ... and from then on all are there */
	gboolean
		is_partial; /* of steps, regions and collectives alone there are records (--ranks) */
	gboolean
		is_bystander; /* a trace of the kernel tells of it, and nothing else; filled by importers */
	guint64 n_events; /* records; the timeline's are the sum of these */
	guint64 n_dropped;
	guint64 cost_ns; /* records x measured cost of each kind */
	gchar *path;	 /* its trace */
} TachoProcess;

#define TACHO_NO_EVENTS                                                                            \
	G_MAXUINT64 /* for tacho_timeline_finish(): it was counted, and there are none */

/* What `tacho record` started itself: the job, or one of its ranks. There may be no trace of it. */
typedef struct {
	guint32 pid;
	gint32 rank;	 /* -1: it got none */
	guint32 command; /* string id */
	TachoEnd end;	 /* UNKNOWN: nobody has seen it end */
	gint32 exit_status;
	gint64 end_unix_ns; /* 0: not known */
} TachoChild;

typedef struct {
	gint32 rank;	      /* 0 where no launcher said */
	guint32 main_process; /* index */
	guint32 host;	      /* string id */
} TachoRank;

/* A device of a process, as far as its trace tells. Figures are 0, and texts "", where it does not. */
typedef struct {
	guint32 process;	   /* index */
	gint32 number;		   /* as tracks have it */
	guint32 name;		   /* string id: "Tesla V100-SXM2-16GB" */
	guint32 architecture;	   /* string id: "7.0" (CUDA's compute capability), "gfx90a" */
	guint32 n_multiprocessors; /* or compute units */
	guint32 warp_threads;	   /* of a warp, or wavefront */
	guint64 memory_bytes;
	guint64 peak_bytes_per_s; /* of its memory */
	guint64 peak_flops_per_s;
	guint64 clock_hz;
	/* What a multiprocessor holds at most, and what a block of threads has at most: */
	guint32 multiprocessor_threads, multiprocessor_registers;
	guint32 block_threads, block_registers;
	guint64 multiprocessor_shared_bytes, block_shared_bytes;
} TachoDevice;

typedef enum {
	TACHO_FLOW_FORWARD_BACKWARD, /* op -> autograd node */
	TACHO_FLOW_OP_KERNEL,	     /* only where the kernel is on another track than the op */
	TACHO_FLOW_QUEUE_COLLECTIVE, /* slice that queued -> collective */
	TACHO_FLOW_COLLECTIVE,	     /* the member queued last -> each other member */
	TACHO_FLOW_LAUNCH,	     /* as the column `launch` says it; or what was counted of a
				      * kernel that was not recorded, inferred by an importer */
	TACHO_FLOW_OTHER,	     /* an arrow of a foreign trace */
	TACHO_FLOW_MESSAGE,	     /* send -> a receive that took some of its bytes */
	TACHO_FLOW_DATA,	     /* who made or changed a tensor -> who uses it */
	TACHO_FLOW_CONTROL,	     /* must have ended -> may begin then; told by an importer */
	TACHO_FLOW_EVENT_WAIT,	     /* a device's work, with which an event came -> the SYNC slice
				      * that waits for the event; filled by importers */
	TACHO_FLOW_REQUEST,  /* a call from when it was sent until its answer is there -> what the
				      * other side did for it meanwhile; filled by importers */
	TACHO_FLOW_CRITICAL, /* on the path that tacho_event_path_mark() was given */
	TACHO_N_FLOW_KINDS,
} TachoFlowKind;

typedef struct {
	guint32 from, to; /* slices */
	guint8 kind;
	guint8 is_exact; /* 0: inferred */
} TachoFlow;

/* One sample of a counter track. Finite; whole numbers beyond 2^53 are the nearest that a double holds. */
typedef struct {
	gint64 time_ns;
	gdouble value;
	guint32 track;
} TachoSample;

/* Who handed memory out. An allocator takes memory of the driver, and hands it out in blocks: both tell of the same bytes, and
 * often of the same address. */
typedef enum {
	TACHO_MEMORY_OF_ALLOCATOR, /* of a framework, or of the host */
	TACHO_MEMORY_OF_DRIVER,	   /* a device's driver, or its runtime */
	TACHO_N_MEMORY_LAYERS,
} TachoMemoryLayer;

/* Memory handed out or given back. */
typedef struct {
	gint64 time_ns;
	guint64 address;
	gint64 bytes;	/* > 0 handed out, < 0 given back, 0 given back but not known how much */
	guint32 track;	/* thread */
	guint32 slice;	/* innermost slice then open on that track, or TACHO_NONE */
	guint32 device; /* 0: the host's memory, else the number of the device, plus 1 */
	guint8 layer;	/* TachoMemoryLayer */
} TachoMemoryEvent;

/* What an allocator held at the end of the recording: segments that it took from the device, each cut into
 * chunks that are in use or free. */
typedef enum {
	TACHO_CHUNK_SEGMENT, /* all of it: its chunks are rows of their own */
	TACHO_CHUNK_USED,
	TACHO_CHUNK_PENDING, /* given back, but another stream may still use it */
	TACHO_CHUNK_FREE,
} TachoChunkState;

typedef struct {
	guint64 address;
	guint64 bytes;
	guint64 requested_bytes; /* asked for, before it was rounded up; 0: not told */
	guint32 process;	 /* index */
	guint32 device;		 /* as in TachoMemoryEvent */
	guint32 pool;		 /* string id of the allocator's pool or bin: "small", "bin 7" */
	guint8 state;		 /* TachoChunkState */
} TachoChunk;

typedef struct {
	gint64 time_ns;
	gint64 first, second;
	guint32 track;
	guint32 name, text; /* string ids */
} TachoMark;

/* What a device did for a node of a graph (CUDA's or HIP's) that one call launched whole. */
typedef struct {
	guint32 slice;	 /* the work */
	guint32 graph;	 /* number of the graph, 0 the first launched; filled by correlate */
	guint32 number;	 /* of the node among the work of one launch, from 0; filled by correlate */
	guint32 capture; /* slice: the call or region that made the node; TACHO_NONE: not recorded */
	gint64 node;	 /* its id, as the trace tells it; 0: it does not */
	guint8 is_exact; /* `capture` is told by the node's id; 0: inferred from the order of calls */
} TachoGraphWork;

/* A training step of one rank: [start_ns, end_ns), on its main process. */
typedef struct {
	guint32 rank_index;
	guint32 number; /* the same step has the same number on every rank; 0 the first seen */
	gint64 start_ns, end_ns;
	gboolean is_complete; /* both ends seen */
} TachoStep;

/* A collective as all its ranks saw it; members[first_member .. + n_members) are the slices. */
typedef struct {
	guint32 name;	  /* string id */
	guint32 group;	  /* number of the process group, 0 the first seen */
	guint32 sequence; /* in its group */
	guint64 bytes;	  /* of one rank's input */
	guint32 first_member, n_members;
	guint32 n_expected;   /* ranks of the group */
	gint64 last_begin_ns; /* when the last member was queued: from here on it is transfer */
} TachoCollective;

/* A MESSAGE slice: what is known of it from the other end of its connection, and what it was for.
 * A send lasts until the kernel has its bytes, not until they are on the wire. */
typedef struct {
	guint32 slice;
	guint32 stream; /* twice the number of the connection, and 1 more for one of its two ways */
	guint32 peer_process;	/* who has the other end; TACHO_NONE: nobody in the run */
	guint32 collective;	/* slice, of the same process, that it carries out, or TACHO_NONE */
	guint32 collective_row; /* of collectives[]; TACHO_NONE: it is a member of none */
	guint32 ring_step; /* of a ring all-reduce over n ranks, 0 to 2n - 3; TACHO_NONE: it has no
			    * part of the tensor, or not known */
	guint8 is_receive;
	guint8 is_exact; /* `collective` is known, not inferred */
	guint64 bytes;
	guint64 offset_bytes; /* where in its stream it begins; 0: the first byte either end saw */
	guint64 paired_bytes; /* seen at the other end, too: the flows say in which slices */
} TachoMessage;

/* How the parts of a collective go round. */
typedef enum {
	TACHO_HOP_RING,	  /* from each rank to the next, step by step */
	TACHO_HOP_TREE,	  /* step 0: up to the root; step 1: down again */
	TACHO_HOP_SERVER, /* step 0: pushed to a server; step 1: pulled from it */
} TachoHopWay;

/* One end of a hop: a part of a collective's data on its way between two ranks, or a rank and a server,
 * as an importer was told of it. The ends of one hop have all numbers in common. */
typedef struct {
	guint32 slice;	    /* what it lasted at this end; TACHO_NONE: no hop, but what a rank's
			     * part ends with, which `fed_by` and `fed_step` say */
	guint32 collective; /* slice, of the same process, that it is part of; of a server: TACHO_NONE */
	gint32 peer; /* rank at the other end; -1: a server; on a server: the worker's number */
	guint32 step;
	guint32 channel, loop,
		part; /* that go by themselves: each is sent in the order of its steps */
	/* For what is sent in a ring: the rank that must have received `fed_step` before, itself or one
	 * whose way to it was not recorded; -1: it is its own data. */
	gint32 fed_by;
	guint32 fed_step;
	guint64 bytes; /* 0: not known */
	guint8 is_receive;
	guint8 way; /* TachoHopWay */
} TachoHop;

/* A bucket of gradients that DistributedDataParallel reduced, on one rank. */
typedef struct {
	guint32 rank_index;
	guint32 step;  /* number; TACHO_NONE: in none */
	guint32 index; /* in its backward pass, in the order queued */
	guint32 slice; /* its collective: from taken up to complete */
	guint64 bytes;
	guint32 first_gradient, n_gradients; /* of gradients[], by when they were ready */
	gint64 ready_ns;		     /* its last gradient; queued_ns where none is known */
	gint64 queued_ns;		     /* by the hook of that gradient */
	gboolean is_whole;		     /* the gradients have as many bytes as the bucket */
} TachoBucket;

/* A gradient in a bucket. */
typedef struct {
	guint32 slice; /* its AccumulateGrad; input 0 is the gradient */
	guint64 bytes;
	guint64 offset_bytes; /* in the bucket; 0 where `is_exact` is not set */
	gint64 ready_ns;      /* when AccumulateGrad ended */
	gboolean is_exact;    /* known to be in the bucket by its memory, not by order and size */
} TachoGradient;

typedef struct _TachoTimeline TachoTimeline;

struct _TachoTimeline {
	gint64 origin_unix_ns;
	gint64 duration_ns; /* to the last sign of anything */
	/* What times were rounded to before they came here; 0: to nothing that matters. Slices that
	 * overlap by no more say nothing. */
	gint64 resolution_ns;

	TachoSlices slices;
	GArray *tracks;	    /* TachoTrack */
	GArray *processes;  /* TachoProcess */
	GArray *children;   /* TachoChild, by run; none in traces of other tools */
	GArray *ranks;	    /* TachoRank, by rank */
	GArray *devices;    /* TachoDevice, by process and number; filled by importers */
	GArray *clocks;	    /* TachoClock, by first process */
	GArray *flows;	    /* TachoFlow; filled by correlate */
	GArray *samples;    /* TachoSample, by track and time */
	GArray *memory;	    /* TachoMemoryEvent, by track and time */
	GArray *chunks;	    /* TachoChunk; a segment, then its chunks by address */
	GArray *graph_work; /* TachoGraphWork, by slice; begun by importers, filled by correlate */
	GArray *marks;	    /* TachoMark */
	GArray *steps;	    /* TachoStep, by rank and number; filled by correlate */
	/* TachoStep, the same, and not among `steps`: those in which nothing was recorded, to see what
	 * recording takes. */
	GArray *control_steps;
	GArray *collectives; /* TachoCollective; filled by correlate */
	GArray *members;     /* guint32 slices of the collectives */
	GArray *messages;    /* TachoMessage, by slice; filled by correlate */
	GArray *hops;	     /* TachoHop; filled by importers, in any order */
	GArray *buckets;     /* TachoBucket, by rank and when queued; filled by correlate */
	GArray *gradients;   /* TachoGradient, by bucket */
	GArray *problems;    /* TachoProblem */

	/* Nothing is left for correlate to do: the run came from an export of a correlated one. */
	gboolean is_correlated;
	/* Flows and problems that were read; those behind them correlate has found. Set by correlate. */
	guint n_read_flows, n_read_problems;
	guint step_source;     /* TachoStepSource; filled by correlate */
	gint32 expected_ranks; /* world size, -1: not known */
	guint64 n_events, n_dropped;
	struct tacho_string_table *strings;
	struct tacho_source *source; /* what the accessors read from */
	/* Whose ranks are here whole, where several processes make one report (trace/run_share.h); NULL: all are. */
	struct tacho_run_share *share;
};

#define TACHO_TIMELINE_ERROR tacho_timeline_error_quark()
GQuark tacho_timeline_error_quark(void);
typedef enum {
	TACHO_TIMELINE_ERROR_NOT_A_RUN, /* no run at that path */
	TACHO_TIMELINE_ERROR_FORMAT,	/* broken beyond repair, or of a later version */
	TACHO_TIMELINE_ERROR_IO,
	TACHO_TIMELINE_ERROR_MEMORY,
} TachoTimelineError;

/* Read the runs at `paths` (run directories, or traces of one process) into one timeline, without
 * correlating anything. A run that is still being written is read as far as it is. What is broken
 * but can be worked around becomes a problem of the timeline; an error is for what cannot.
 * The result is the caller's, to end with tacho_timeline_free(). */
TachoTimeline *tacho_timeline_open(const gchar *const *paths, guint n_paths, GError **error);

/* An empty timeline to be filled by hand: importers and tests. */
TachoTimeline *tacho_timeline_new(void);
void tacho_timeline_free(TachoTimeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoTimeline, tacho_timeline_free)

/* How many samples, or memory events, are on `track`: the rows from *ret_first on. */
guint tacho_track_samples(const TachoTimeline *timeline, guint32 track, guint *ret_first);
guint tacho_track_memory(const TachoTimeline *timeline, guint32 track, guint *ret_first);

/* Strings are interned: equal strings have equal ids. Id 0 is "". */
guint32 tacho_timeline_intern(TachoTimeline *timeline, const gchar *string, gssize length);
const gchar *tacho_timeline_string(const TachoTimeline *timeline, guint32 id);

/* Add a slice, in any order; returns its row. `track` exists. */
guint32 tacho_timeline_add_slice(TachoTimeline *timeline, TachoSliceKind kind, guint32 track,
				 guint32 name, gint64 start_ns, gint64 duration_ns, guint8 flags,
				 guint64 source);
/* Say that `slice` of a device was queued by `launch`: rows that add_slice() returned. */
void tacho_timeline_set_launch(TachoTimeline *timeline, guint32 slice, guint32 launch);
/* Make a timeline filled by hand hold what is promised above: make flows and hops name the slices by their
 * new rows; give each host a clock, where there are
 * no clocks; sort devices, of which the first told of each number counts; bring times into (2); sort the slices into (1), set parent, depth and the tracks' ranges, and cut what has no end or a
 * rounded one to the slice it began in, on a THREAD track (trace/slice_columns.h); sort samples,
 * memory events and marks by track and time, and set the memory events' slices; widen the times of tracks, processes and
 * timeline; count the events of processes that have 0 (of TACHO_NO_EVENTS there are none), and add all up.
 * Returns, for whoever kept row numbers, where each row went: as long as there are slices, to be freed with g_free(). */
guint32 *tacho_timeline_finish(TachoTimeline *timeline);

void tacho_timeline_add_problem(TachoTimeline *timeline, TachoProblemKind kind, guint64 count,
				const gchar *where_format, ...) G_GNUC_PRINTF(4, 5);
/* The first problem of that kind, NULL: there is none. */
const TachoProblem *tacho_timeline_find_problem(const TachoTimeline *timeline,
						TachoProblemKind kind);

static inline const TachoTrack *tacho_timeline_track(const TachoTimeline *timeline, guint32 track)
{
	return &g_array_index(timeline->tracks, TachoTrack, track);
}

static inline const TachoProcess *tacho_timeline_process(const TachoTimeline *timeline,
							 guint32 process)
{
	return &g_array_index(timeline->processes, TachoProcess, process);
}

static inline const TachoRank *tacho_timeline_rank(const TachoTimeline *timeline, guint32 index)
{
	return &g_array_index(timeline->ranks, TachoRank, index);
}

static inline const TachoProcess *tacho_track_process(const TachoTimeline *timeline,
						      const TachoTrack *track)
{
	return tacho_timeline_process(timeline, track->process);
}

static inline const TachoProcess *tacho_slice_process(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_track_process(timeline,
				   tacho_timeline_track(timeline, timeline->slices.track[slice]));
}

static inline gint64 tacho_slice_end_ns(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.start_ns[slice] + timeline->slices.duration_ns[slice];
}

static inline const gchar *tacho_slice_name(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_timeline_string(timeline, timeline->slices.name[slice]);
}

/* --- what the source knows of a slice beyond its columns ----------------------------------- */

#define TACHO_MAX_DIMS 16

typedef struct {
	guint64 storage; /* identity: address of the storage, 0: none */
	guint64 offset_bytes;
	const gchar *dtype;  /* static: "float32" ... */
	guint8 dtype_bytes;  /* of an element */
	const gchar *device; /* static: "cpu" ... */
	guint32 argument;
	guint32 n_dims;
	gint64 shape[TACHO_MAX_DIMS];
} TachoTensor;

/* Args of an op or of an autograd node. */
typedef struct {
	gint64 sequence;	/* -1: none */
	guint64 forward_thread; /* autograd's id, 0: none */
	guint32 n_inputs, n_outputs;
} TachoOpArgs;

typedef struct {
	guint64 flops; /* 0: not known */
	guint64 bytes;
	const gchar *dtype;
	guint32 n_dims;
	gint64 dims[TACHO_MAX_DIMS];
	const gchar *text; /* description, "" if none; good for as long as the timeline */
} TachoKernelArgs;

/* How a kernel was launched on its device. Numbers are 0, and reals NaN, where the trace does not tell. */
typedef struct {
	guint32 grid[3];      /* blocks of the kernel: x, y, z */
	guint32 block[3];     /* threads of a block */
	guint32 registers;    /* of a thread */
	guint64 shared_bytes; /* of a block */
	gdouble blocks_per_sm,
		warps_per_sm;  /* all of the kernel's, by the device's multiprocessors */
	gdouble occupancy_pct; /* an estimate: of the warps that a multiprocessor can hold */
} TachoLaunchShape;

/* What its recorder tells of a copy or a fill by a device; which way it went is trace/copy_kind.h. */
typedef struct {
	guint64 bytes;	  /* 0: not told */
	gdouble gb_per_s; /* 0: not told */
} TachoCopyArgs;

/* How long before its begin a device's work was known of, ns; NaN: not told. */
typedef struct {
	gdouble queued_ns;    /* the driver, or the runtime, took it */
	gdouble submitted_ns; /* the device got it */
} TachoDeviceLead;

/* What an operation was given in the place of a tensor: "[2, 2]", "False". A truth value is 0 or 1. */
typedef struct {
	guint32 n; /* 0: not told, or no numbers */
	gint64 values[TACHO_MAX_DIMS];
} TachoNumbers;

/* Which way the bytes of a point-to-point call go. */
typedef enum {
	TACHO_WAY_BY_NAME, /* of all else; or nothing but the name tells */
	TACHO_WAY_SEND,
	TACHO_WAY_RECEIVE,
	TACHO_WAY_BOTH, /* several sends and receives, batched */
} TachoWay;

/* How gradients were packed that a collective carries, which are its inputs. */
typedef enum {
	TACHO_PACKED_UNKNOWN,	 /* it is not told that it carries gradients */
	TACHO_PACKED_IN_BUFFERS, /* by Horovod, as many as a buffer holds */
	TACHO_PACKED_IN_PARTS,	 /* each by itself, by BytePS, which cuts it into parts */
} TachoPacking;

typedef struct {
	guint64 bytes;
	guint64 group;	 /* address of the process group, 0: not known */
	guint32 end_tid; /* thread that completed it, 0: not known */
	guint32 n_inputs;
	guint32 peer;	/* of a send or a receive: the other's rank, and 1 more; 0: not known */
	gint32 tag;	/* of a send or a receive: messages of one tag do not overtake each other */
	guint8 way;	/* TachoWay */
	guint8 packing; /* TachoPacking */
} TachoCollectiveArgs;

/* An end of a TCP connection: an IPv6 address (IPv4: ::ffff:a.b.c.d) in network order, and a port. */
typedef struct {
	guint8 address[16];
	guint16 port;
} TachoEndpoint;

typedef struct {
	guint64 bytes;
	gboolean is_receive;
	guint32 fd;
	TachoEndpoint local, peer;
} TachoMessageArgs;

/* One end of a remote procedure call (gRPC). Of a call that is under way, what is known so far. */
typedef struct {
	guint64 sent_bytes, received_bytes;
	guint32 n_sent, n_received;  /* messages */
	gint64 sent_ns, received_ns; /* from its begin until the first was; 0: not known */
	gboolean is_server;
	guint32 status;		   /* gRPC's code; G_MAXUINT32: not known */
	guint32 n_others;	   /* of this end of this process under way when it began */
	guint32 key;		   /* of a number that both ends know it by; 0: there is none */
	TachoEndpoint local, peer; /* port 0: not known */
} TachoRequestArgs;

/* "10.0.0.1:29500", "[fe80::1]:29500". To be freed with g_free(). */
gchar *tacho_endpoint_text(const TachoEndpoint *endpoint);

/* False where the slice has no such args; `args` is then untouched. Copies and fills of a device have
 * kernel args. */
gboolean tacho_slice_op(const TachoTimeline *timeline, guint32 slice, TachoOpArgs *args);
gboolean tacho_slice_kernel(const TachoTimeline *timeline, guint32 slice, TachoKernelArgs *args);
/* What a foreign trace tells of a launch or a copy; read from the file at each call. */
gboolean tacho_slice_launch_shape(const TachoTimeline *timeline, guint32 slice,
				  TachoLaunchShape *shape);
gboolean tacho_slice_copy(const TachoTimeline *timeline, guint32 slice, TachoCopyArgs *args);
/* Of runs of ours alone: no other trace is read for it. */
gboolean tacho_slice_lead(const TachoTimeline *timeline, guint32 slice, TachoDeviceLead *lead);
gboolean tacho_slice_collective(const TachoTimeline *timeline, guint32 slice,
				TachoCollectiveArgs *args);
gboolean tacho_slice_message(const TachoTimeline *timeline, guint32 slice, TachoMessageArgs *args);
/* Of an EVENT that is a request of a run of ours. */
gboolean tacho_slice_request(const TachoTimeline *timeline, guint32 slice, TachoRequestArgs *args);
/* The row of `messages` of a MESSAGE slice, or NULL: what correlate found out about it. */
const TachoMessage *tacho_slice_borrow_message(const TachoTimeline *timeline, guint32 slice);
/* The row of `graph_work` of what a device did for a node of a graph, or NULL. */
const TachoGraphWork *tacho_slice_borrow_graph_work(const TachoTimeline *timeline, guint32 slice);
/* The id of an annotation, module or wait (record_slice.id), the correlation id of a call of a device's runtime; 0: none. */
guint64 tacho_slice_id(const TachoTimeline *timeline, guint32 slice);
/* Everything that a foreign trace says of the slice, as the text of a JSON object: what has a column
 * or an accessor above as well as what nothing here knows. NULL: nothing, or no foreign trace. Read
 * from the file at each call. To be freed with g_free(). */
gchar *tacho_slice_args_json(const TachoTimeline *timeline, guint32 slice);
/* The numbers that are inputs [0, n) of an operation, into `n` rows; false: none are told. Of a foreign trace; read from
 * the file at each call. */
gboolean tacho_slice_numbers(const TachoTimeline *timeline, guint32 slice, guint n,
			     TachoNumbers *numbers);
/* The `index`-th input or output tensor; false past the end. */
gboolean tacho_slice_input(const TachoTimeline *timeline, guint32 slice, guint32 index,
			   TachoTensor *tensor);
gboolean tacho_slice_output(const TachoTimeline *timeline, guint32 slice, guint32 index,
			    TachoTensor *tensor);

/* What a trace says of an operation on its own account, where its format has such figures (TensorFlow's
 * profilers). Figures are NaN where it does not. */
typedef struct {
	guint32 type; /* string id: the kind of operation, where the name is an instance's; 0: the name */
	guint32 tags;  /* string id: further types it is found under, '\n' between them */
	gdouble flops; /* of this run */
	gdouble parameters;
	gdouble allocated_bytes, peak_bytes, residual_bytes, output_bytes;
} TachoToldOp;

gboolean tacho_slice_told(const TachoTimeline *timeline, guint32 slice, TachoToldOp *told);
/* The operation's type: string id; its name, where nothing else is told. */
guint32 tacho_slice_type(const TachoTimeline *timeline, guint32 slice);
/* The `index`-th function, the outermost first, of the call stack that made the operation, where a graph was
 * made first and run later: string id; 0: there is none. */
guint32 tacho_slice_maker(const TachoTimeline *timeline, guint32 slice, guint32 index);

/* For timelines filled by hand: keep args for a source handle and return the handle, to be given to
 * tacho_timeline_add_slice(). `tensors` are inputs, then outputs; a collective has inputs only. */
guint64 tacho_timeline_keep_op(TachoTimeline *timeline, const TachoOpArgs *args,
			       const TachoTensor *tensors);
guint64 tacho_timeline_keep_kernel(TachoTimeline *timeline, const TachoKernelArgs *args);
guint64 tacho_timeline_keep_collective(TachoTimeline *timeline, const TachoCollectiveArgs *args,
				       const TachoTensor *tensors);
guint64 tacho_timeline_keep_message(TachoTimeline *timeline, const TachoMessageArgs *args);
guint64 tacho_timeline_keep_id(TachoTimeline *timeline, guint64 id);

const gchar *tacho_slice_kind_name(TachoSliceKind kind);
/* "allocator", "driver"; of a TachoMemoryLayer. */
const gchar *tacho_memory_layer_name(guint layer);
/* "forward_backward" ... */
const gchar *tacho_flow_kind_name(TachoFlowKind kind);

G_END_DECLS

#endif
