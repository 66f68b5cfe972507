/* trace_layout: the bytes of a run directory, as the writer (probes/agent) and the reader
 * (src/trace) both see them. docs/trace-format.md says the same in prose; the two change together
 * with TRACE_FORMAT_VERSION.
 *
 * A run directory holds one CTF 1.8 trace a process; a trace holds `metadata` (text) and stream
 * files, named STREAM-TID.INDEX in decimal. A stream file is exactly one packet, written by exactly
 * one thread:
 *
 *   struct packet_header | record | record | ... | zeros up to packet_size
 *
 * (1) Every record begins with struct record_header, is 8-byte aligned and a multiple of 8 long.
 * (2) Stamps (record_header.stamp) never decrease within a thread's files. What is told late has its true time beside
 *     the stamp (struct record_late).
 * (3) content_bits is stored after the record it covers: what lies below it is complete, but for
 *     the durations of slices still open, which are TRACE_OPEN.
 * (4) A class is in `metadata` before its first record is written.
 * (5) A file is visible under its name only once its header is valid, and stays valid after every
 *     single store or system call: a reader may come, and the process may die, at any point.
 *
 * This header is C and C++ and needs libc only. All integers are little endian. */
#ifndef TACHO_TRACE_LAYOUT_H
#define TACHO_TRACE_LAYOUT_H

#include <stdint.h>

#define TRACE_FORMAT_VERSION 2 /* readers read this one and those before it */
#define TRACE_PACKET_MAGIC   0xC1FC1FC1u
#define TRACE_OPEN	     UINT64_MAX	 /* duration of a slice that has not ended */
#define TRACE_FAILED	     UINT64_MAX	 /* bytes of a collective whose call failed */
#define TRACE_NO_SEQUENCE    INT64_C(-1) /* an op that made no autograd node */

/* Head of every stream file: CTF's packet header and packet context in one. */
struct packet_header {
	uint32_t magic;
	uint8_t uuid[16];      /* the trace's; the same in `metadata` */
	uint32_t stream_class; /* 0 */
	/* packet context */
	uint64_t packet_bits;  /* the whole file */
	uint64_t content_bits; /* header and records */
	uint64_t discarded;    /* records this thread has dropped since it began */
	uint64_t pair_ticks;   /* the trace clock ... */
	uint64_t pair_mono_ns; /* ... and CLOCK_MONOTONIC, read together when the file was made */
	uint32_t stream;       /* number of the thread's stream in its process: the files of one
				* stream share it. Thread ids may be used again; this is not. */
	uint32_t index;	       /* 0 for a stream's first file, then 1, 2 ... */
	uint32_t tid;
	uint32_t reserved;
};

/* Head of every record. CTF readers see id, four bytes of padding, stamp; the padding holds the
 * record's length so that a reader can step over kinds it does not know. */
struct record_header {
	uint32_t class_id;
	uint32_t size_bytes; /* the whole record, this header included */
	uint64_t stamp;	     /* ticks of the trace clock */
};

/* What a record is. A class is a (kind, name) pair; its kind decides the bytes of its records.
 * KIND(enumerator, name in metadata, is_slice): a slice's payload begins with its duration. */
#define TRACE_KINDS(KIND)                                                                          \
	KIND(OP, op, 1)			/* a framework operation */                                \
	KIND(ANNOTATION, annotation, 1) /* a region somebody named: record_function, the hook */   \
	KIND(MODULE, module, 1)		/* forward of one module; the name is its path */          \
	KIND(WAIT, wait, 1)		/* waiting for something named: data loader, message */    \
	KIND(KERNEL, kernel, 1)		/* a library kernel: BLAS, oneDNN */                       \
	KIND(COLLECTIVE, collective, 1) /* from queued to complete; may end in another thread */   \
	KIND(OUTPUTS, outputs, 0)	/* outputs of the op that is ending */                     \
	KIND(ALLOC, alloc, 0)		/* memory handed out; the name is the allocator's */       \
	KIND(FREE, free, 0)		/* memory given back */                                    \
	KIND(MARK, mark, 0)		/* a moment with two numbers and a text */                 \
	KIND(THREAD, thread, 0)		/* first record of a thread: who it is */                  \
	KIND(EXIT, exit, 0)		/* the process ends, in an orderly way */                  \
	KIND(COST, cost, 0)		/* what one event of a probe costs the job */              \
	KIND(CLOCK, clocks, 0)		/* clocks read together, about once a second */            \
	KIND(MESSAGE, message, 1)	/* bytes sent or received on a TCP connection */           \
	KIND(FUNCTION, function, 1) /* call of a function of the program: "FILE(LINE): NAME" */    \
	KIND(STACK, stack, 0)	    /* what a thread runs from now on, as samples have seen it */  \
	/* since version 2 */                                                                      \
	KIND(RUNTIME, runtime, 1) /* call of a device's runtime or driver, by this thread */       \
	KIND(LATE, late, 1)	  /* a slice of this thread, told behind its end */                \
	KIND(DEVICE_KERNEL, device_kernel, 0) /* what a device did, told behind its end */         \
	KIND(COPY, copy, 0)                                                                        \
	KIND(FILL, fill, 0)                                                                        \
	KIND(DEVICE_WAIT, device_wait, 0)   /* a queue, or somebody for it, waited */              \
	KIND(DEVICE_WORK, device_work, 0)   /* of no kind above */                                 \
	KIND(DEVICE, device, 0)		    /* what a device is; the name is its own */            \
	KIND(QUEUE, queue, 0)		    /* what a device's queue is called */                  \
	KIND(DEVICE_ALLOC, device_alloc, 0) /* memory of a device handed out */                    \
	KIND(DEVICE_FREE, device_free, 0)   /* ... and given back */                               \
	KIND(COUNTER, counter, 0)	    /* what something measures from now on */              \
	KIND(FLOW, flow, 0)		    /* one end of an arrow between slices */               \
	KIND(SPAN, span, 1) /* a region that others overlap and another thread may end */          \
	KIND(GRAPH_NODE, graph_node, 0) /* a node of a device's graph is made */                   \
	KIND(TRANSFER, transfer, 1)	/* a send or a receive, from asked for to complete */      \
	KIND(REQUEST, request, 1)	/* one end of a remote procedure call: gRPC */

enum trace_kind {
#define TRACE_KIND_ENUM(enumerator, name, is_slice) TRACE_KIND_##enumerator,
	TRACE_KINDS(TRACE_KIND_ENUM)
#undef TRACE_KIND_ENUM
		TRACE_N_KINDS
};

/* One tensor of an op, collective or outputs record; n_dims sizes follow it. */
struct record_tensor {
	uint64_t storage; /* address of the storage's first byte: the tensor's identity; 0: none */
	uint64_t offset_bytes; /* where in the storage the tensor begins */
	uint8_t dtype;	       /* enum trace_dtype */
	uint8_t device;	       /* enum trace_device */
	uint16_t n_dims;
	uint32_t argument; /* which argument of the op; the tensors of a list share it */
			   /* int64_t shape[n_dims] */
};

/* OP. `inputs` may be fewer than the op had (TRACE_MAX_TENSORS). */
struct record_op {
	struct record_header header;
	uint64_t duration;
	int64_t sequence; /* autograd's number, or TRACE_NO_SEQUENCE */
	uint64_t
		forward_thread; /* BACKWARD: autograd's id of the thread that ran forward, else 0 */
	uint32_t flags;		/* enum trace_op_flags */
	uint32_t n_inputs;
	/* struct record_tensor inputs[n_inputs], each with its shape */
};

/* ANNOTATION, MODULE, WAIT, FUNCTION, RUNTIME, SPAN. */
struct record_slice {
	struct record_header header;
	uint64_t duration;
	uint64_t
		id; /* whatever tells two of one name apart; RUNTIME: its correlation id; 0: nothing */
};

/* KERNEL. dims: BLAS gemm m, n, k; oneDNN the destination's sizes. 0 flops: not known. */
struct record_kernel {
	struct record_header header;
	uint64_t duration;
	uint64_t flops;
	uint64_t bytes; /* moved at least: inputs, outputs and weights once each */
	uint32_t dtype; /* enum trace_dtype */
	uint32_t n_dims;
	uint32_t n_text; /* length of text, a multiple of 8, padded with NUL */
	uint32_t reserved;
	/* int64_t dims[n_dims]; char text[n_text] */
};

/* COLLECTIVE. Its end may come from another thread, which stores end_tid before duration. */
struct record_collective {
	struct record_header header;
	uint64_t duration;
	uint64_t bytes; /* of this rank's input */
	uint64_t group; /* the process group's address in this process, 0: not known */
	uint32_t end_tid;
	uint32_t n_inputs;
	/* struct record_tensor inputs[n_inputs], each with its shape; perhaps struct record_peer */
};

/* Behind the tensors of a COLLECTIVE that one other rank takes part in. */
struct record_peer {
	uint32_t peer; /* its rank in the job, and 1 more; 0: none, or not known */
	uint32_t reserved;
};

enum trace_way { TRACE_WAY_UNKNOWN, TRACE_WAY_SEND, TRACE_WAY_RECEIVE, TRACE_N_WAYS };

/* TRANSFER: one rank's end of a message. Bytes, peer and tag of a receive may be known at its end alone: they are stored before
 * duration. */
struct record_transfer {
	struct record_collective collective; /* without inputs */
	int32_t peer;			     /* the other's rank; -1: not known */
	int32_t tag;  /* messages of other tags may overtake; -1: not known */
	uint32_t way; /* enum trace_way; UNKNOWN: the call failed */
	uint32_t reserved;
};

enum trace_side { TRACE_SIDE_CLIENT, TRACE_SIDE_SERVER, TRACE_N_SIDES };

#define TRACE_REQUEST_SORT   0x71657267u /* tells a request from other records of events */
#define TRACE_STATUS_UNKNOWN UINT32_MAX

/* REQUEST: a call as one of its ends saw it; the name is the method's. A client's lasts until its status is there, a server's from when the
 * method was told of it until its status was sent. Any thread may end it; all but sort, side and key may change until then. Addresses are
 * as in a MESSAGE, and 0 where they are not known: a server does not tell its own. */
struct record_request {
	struct record_header header;
	uint64_t duration;
	uint64_t sent_bytes, received_bytes; /* of messages, without what gRPC puts around them */
	uint64_t
		sent_after_ns; /* from begin until flow control had taken the first message; 0: not known */
	uint64_t received_after_ns; /* until the first message had come; 0: not known */
	uint32_t n_sent, n_received;
	uint32_t side;	   /* enum trace_side */
	uint32_t status;   /* gRPC's code */
	uint32_t n_others; /* of this end of this process under way when it began */
	uint16_t local_port, peer_port;
	uint8_t local_address[16], peer_address[16];
	uint32_t sort; /* TRACE_REQUEST_SORT */
	uint32_t key;  /* of a number that both ends know the call by; 0: there is none */
};

/* OUTPUTS of the innermost slice of this thread that is open and began at begin_stamp. */
struct record_outputs {
	struct record_header header;
	uint64_t begin_stamp;
	uint32_t n_outputs;
	uint32_t reserved;
	/* struct record_tensor outputs[n_outputs], each with its shape */
};

/* ALLOC, FREE (bytes may be 0: not known). */
struct record_memory {
	struct record_header header;
	uint64_t address;
	uint64_t bytes;
};

/* MARK, THREAD (first: parent's tid; second: its pthread_t; text: the thread's name), EXIT (first: exit status). */
struct record_mark {
	struct record_header header;
	int64_t first;
	int64_t second;
	uint32_t n_text; /* a multiple of 8, padded with NUL */
	uint32_t reserved;
	/* char text[n_text] */
};

/* COST of one event (begin and end) of the kind `event_kind`; measured in this process. Where probes
 * share the kind KERNEL or OP, one says of each of its classes what that costs. */
struct record_cost {
	struct record_header header;
	uint64_t picoseconds;
	uint32_t event_kind;  /* enum trace_kind */
	uint32_t event_class; /* 0: of all classes of the kind that have no cost of their own */
};

/* CLOCK: at header.stamp ticks, these were the system's clocks. */
struct record_clock {
	struct record_header header;
	uint64_t mono_ns;
	uint64_t real_ns;
};

/* MESSAGE: one call that moved `bytes` between the process and the kernel. An end of the connection
 * is an IPv6 address (IPv4: ::ffff:a.b.c.d) in network order, and a port. */
struct record_message {
	struct record_header header;
	uint64_t duration;
	uint64_t bytes;
	uint32_t is_receive;
	uint32_t fd;
	uint16_t local_port;
	uint16_t peer_port;
	uint32_t reserved;
	uint8_t local_address[16];
	uint8_t peer_address[16];
};

/* A frame of a stack: a class of kind FUNCTION, and the line that runs in it; 0: not known. */
struct record_frame {
	uint32_t function;
	uint32_t line;
};

enum trace_thread_state {
	TRACE_THREAD_UNKNOWN,
	TRACE_THREAD_RUNNING, /* on a processor, or ready for one */
	TRACE_THREAD_WAITING, /* in a system call that waits */
};

/* STACK: what another thread of the process runs from `stamp` on, until its next record. Its frames, outermost first,
 * are the first n_same of that record before, then those here. Whole stacks (n_same 0) come about once a second. */
struct record_stack {
	struct record_header header;
	uint64_t
		before; /* when the thread was last seen running what its record before says; 0: never */
	uint32_t tid;
	uint32_t state; /* enum trace_thread_state */
	uint32_t n_same;
	uint32_t n_frames; /* with n_same 0 and none here: the thread runs nothing, or is gone */
			   /* struct record_frame frames[n_frames] */
};

/* LATE: a slice that this thread tells of when it is over and others have been told since. Times are ticks, as stamps are. */
struct record_late {
	struct record_header header; /* stamp: when it was told */
	uint64_t duration;
	uint64_t id; /* as of record_slice */
	uint64_t begin;
	uint32_t slice_kind; /* enum trace_kind: one that has a struct record_slice */
	uint32_t reserved;
};

/* DEVICE_WORK, and what begins DEVICE_KERNEL, COPY, FILL and DEVICE_WAIT: what queue `queue` of device `device` did. Whichever
 * thread comes to know of it tells of it, in any order. */
struct record_activity {
	struct record_header header; /* stamp: when it was told */
	uint64_t duration;
	uint64_t
		correlation; /* id of the RUNTIME slice of this process that asked for it; 0: not known */
	uint64_t begin;	     /* ticks, brought to the trace's clock by who tells */
	uint64_t queued;     /* when the runtime had it, ... */
	uint64_t submitted;  /* ... and when the device had; 0: not known */
	uint64_t graph_node; /* of the graph that was launched whole; 0: none */
	int32_t device;	     /* its number on its host */
	uint32_t queue;	     /* CUDA calls it stream; TRACE_NO_QUEUE: not known */
};

struct record_device_kernel {
	struct record_activity activity;
	uint32_t grid[3];   /* blocks of the kernel: x, y, z; 0: not known */
	uint32_t block[3];  /* threads of a block */
	uint32_t registers; /* of a thread */
	uint32_t reserved;
	uint64_t shared_bytes; /* of a block */
};

enum trace_direction {
	TRACE_DIRECTION_UNKNOWN,
	TRACE_HOST_TO_DEVICE,
	TRACE_DEVICE_TO_HOST,
	TRACE_DEVICE_TO_DEVICE, /* within one */
	TRACE_PEER_TO_PEER,	/* from `device` to `peer` */
	TRACE_HOST_TO_HOST,
	TRACE_N_DIRECTIONS,
};

/* COPY, FILL. */
struct record_copy {
	struct record_activity activity;
	uint64_t bytes;	    /* 0: not known */
	uint32_t direction; /* enum trace_direction; FILL: 0 */
	int32_t peer;	    /* the other device; -1: none */
};

/* DEVICE_WAIT. The class's name says what for: "Stream Wait Event", "Event Sync", "Stream Sync", "Context Sync". */
struct record_device_wait {
	struct record_activity activity;
	uint64_t
		event_correlation; /* id of the RUNTIME slice that recorded the event; 0: no event, or not known */
	uint32_t event_queue; /* the queue of this device that it was recorded in */
	uint32_t reserved;
};

/* DEVICE. 0: not known. */
struct record_device {
	struct record_header header;
	int32_t device;
	uint32_t n_multiprocessors; /* or compute units */
	uint32_t warp_threads;
	uint32_t multiprocessor_threads, multiprocessor_registers;
	uint32_t block_threads, block_registers;
	uint32_t
		n_text; /* length of text, a multiple of 8, padded with NUL: the architecture, "8.0", "gfx90a" */
	uint64_t memory_bytes;
	uint64_t peak_bytes_per_s;
	uint64_t peak_flops_per_s;
	uint64_t clock_hz;
	uint64_t multiprocessor_shared_bytes, block_shared_bytes;
	/* char text[n_text] */
};

/* QUEUE; the class's name is the queue's. */
struct record_queue {
	struct record_header header;
	int32_t device;
	uint32_t queue;
};

/* DEVICE_ALLOC, DEVICE_FREE (bytes may be 0: not known), by this thread. */
struct record_device_memory {
	struct record_memory memory;
	int32_t device;
	uint32_t reserved;
};

/* COUNTER: from `time` on it is `value`, which is a number. */
struct record_counter {
	struct record_header header;
	double value;
	uint64_t time;	/* ticks; 0: the stamp */
	int32_t device; /* -1: of the process */
	uint32_t reserved;
};

/* GRAPH_NODE: the innermost slice of this thread that is open made a node of a graph: a call that was captured, or one that clones
 * what was. What the graph does later says the node (record_activity.graph_node). */
struct record_graph_node {
	struct record_header header;
	uint64_t node;
	uint64_t original; /* the node that it is a clone of; 0: it is none */
};

enum trace_flow_phase { TRACE_FLOW_BEGIN, TRACE_FLOW_STEP, TRACE_FLOW_END, TRACE_N_FLOW_PHASES };
enum trace_flow_sort {
	TRACE_FLOW_OTHER,
	TRACE_FLOW_REQUEST, /* a call, until its answer is there -> what the other side did for it */
	TRACE_FLOW_CONTROL, /* must have ended -> may begin then */
	TRACE_FLOW_DATA,    /* who made something -> who uses it */
	TRACE_N_FLOW_SORTS,
};
enum trace_flow_scope {
	TRACE_FLOW_OF_PROCESS,
	TRACE_FLOW_OF_RUN, /* its ids are the same in all processes */
	TRACE_N_FLOW_SCOPES,
};

/* FLOW: the innermost slice of this thread that is open is where the flow `id` of that name begins, passes or ends. */
struct record_flow {
	struct record_header header;
	uint64_t id;
	uint32_t phase; /* enum trace_flow_phase */
	uint32_t sort;	/* enum trace_flow_sort */
	uint32_t scope; /* enum trace_flow_scope */
	uint32_t reserved;
};

enum trace_op_flags {
	TRACE_OP_BACKWARD = 1 << 0, /* an autograd node */
	TRACE_OP_SCRIPT = 1 << 1,   /* TorchScript */
	TRACE_OP_CUT = 1 << 2,	    /* not all of its tensors are in the record */
	TRACE_OP_UNASKED = 1 << 3,  /* none is: PyTorch was not asked for them in this step */
};

#define TRACE_MAX_TENSORS    64	  /* a record */
#define TRACE_MAX_DIMS	     16	  /* a tensor */
#define TRACE_MAX_FRAMES     1024 /* a stack */
#define TRACE_NO_QUEUE	     UINT32_MAX
#define TRACE_MAX_NAME_BYTES 1900 /* quoted, a class must fit into a page of metadata */

/* DTYPE(enumerator, name, bytes) */
#define TRACE_DTYPES(DTYPE)                                                                        \
	DTYPE(UNKNOWN, unknown, 0)                                                                 \
	DTYPE(U8, uint8, 1)                                                                        \
	DTYPE(I8, int8, 1)                                                                         \
	DTYPE(I16, int16, 2)                                                                       \
	DTYPE(I32, int32, 4)                                                                       \
	DTYPE(I64, int64, 8)                                                                       \
	DTYPE(F16, float16, 2)                                                                     \
	DTYPE(F32, float32, 4)                                                                     \
	DTYPE(F64, float64, 8)                                                                     \
	DTYPE(C32, complex32, 4)                                                                   \
	DTYPE(C64, complex64, 8)                                                                   \
	DTYPE(C128, complex128, 16)                                                                \
	DTYPE(BOOL, bool, 1)                                                                       \
	DTYPE(BF16, bfloat16, 2)                                                                   \
	DTYPE(QI8, qint8, 1)                                                                       \
	DTYPE(QU8, quint8, 1)                                                                      \
	DTYPE(QI32, qint32, 4)

enum trace_dtype {
#define TRACE_DTYPE_ENUM(enumerator, name, bytes) TRACE_DTYPE_##enumerator,
	TRACE_DTYPES(TRACE_DTYPE_ENUM)
#undef TRACE_DTYPE_ENUM
		TRACE_N_DTYPES
};

enum trace_device {
	TRACE_DEVICE_UNKNOWN,
	TRACE_DEVICE_CPU,
	TRACE_DEVICE_CUDA,
	TRACE_DEVICE_HIP,
	TRACE_DEVICE_META,
	TRACE_DEVICE_OTHER,
};

/* Names inside a run directory. */
#define TRACE_CONTROL_MARK                                                                         \
	"control_step" /* the end of a step in which nothing was recorded: its number */
#define TRACE_SAMPLING_MARK                                                                        \
	"stack_sampling" /* so far: rounds of samples, nanoseconds of processor time */
#define TRACE_NO_STACKS_MARK "no_stacks" /* why there are none, in words */
#define TRACE_MAX_CONTROL    100000
#define TRACE_STOPPED_MARK   "recording_stopped" /* tacho stop: the process goes on, unrecorded */
#define TRACE_RANK_MARK	     "rank"		 /* `first` is the process's rank, of `second` */
#define TRACE_RANKS_FIELD    "whole_ranks" /* of env in metadata: of which ranks all is recorded */
#define TRACE_RUN_FILE	     "run.ini"	   /* what `tacho record` knows; a GKeyFile */
#define TRACE_LOSSES_FILE    "losses"	   /* what could not be recorded at all; a line each */
#define TRACE_UNSEEN_FILE    "unseen"	   /* what the probes could not see; a line each */
#define TRACE_ADDED_FOLDER   "traces"	 /* other tools' traces, each in a folder of its own ... */
#define TRACE_ADDED_FILE     "trace.ini" /* ... with a GKeyFile that says whose it is */
#define TRACE_LTTNG_FOLDER   "lttng"	 /* what LTTng recorded of the run; of run.ini then: */
#define TRACE_ENGINE_KEY     "engine"
#define TRACE_ENGINE_LTTNG   "lttng"
#define TRACE_LTTNG_URL_KEY  "lttng_url"     /* it is there, and not in the run */
#define TRACE_LTTNG_NAME_KEY "lttng_session" /* its name */
#define TRACE_LTTNG_READ_KEY "lttng_is_read" /* the run's own folders have the same */
#define TRACE_METADATA_FILE  "metadata"	     /* in each process's folder */

#endif
