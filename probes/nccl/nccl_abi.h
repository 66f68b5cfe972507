/* nccl_abi: what is used of the interface between NCCL (and RCCL) and a plug-in of its profiler, versions 1 to 6, in own
 * declarations. The facts are from NVIDIA's public headers and documentation of it (github.com/NVIDIA/nccl, plugins/profiler:
 * README.md and nccl/profiler_v1.h to profiler_v6.h, of 2.23 to 2.30).
 *
 * NCCL opens the library that NCCL_PROFILER_PLUGIN names, and takes the ncclProfiler_vN with the highest N that both know: a
 * struct with a name and five functions.
 *
 * (1) init() comes once a communicator, and says which types of events are wanted; the mask it writes to is NCCL's own, which
 *     a plug-in may change at any time.
 * (2) A handle from start_event() is given to stop_event() and record_state(), and to events below as their parent, also after
 *     it was stopped.
 * (3) Events of one communicator come from several threads: those that call NCCL, and its proxy's. */
#ifndef TACHO_NCCL_ABI_H
#define TACHO_NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NCCL_VERSIONS 6 /* of the interface */

enum nccl_type {
	NCCL_GROUP = 1 << 0,
	NCCL_COLL = 1 << 1,
	NCCL_P2P = 1 << 2,
	NCCL_PROXY_OP = 1 << 3,
	NCCL_PROXY_STEP = 1 << 4,
	NCCL_PROXY_CTRL = 1 << 5,
	NCCL_KERNEL_CH = 1 << 6,  /* since 3 */
	NCCL_NET_PLUGIN = 1 << 7, /* since 3 */
	NCCL_GROUP_API = 1 << 8,  /* since 5, as the next three */
	NCCL_COLL_API = 1 << 9,
	NCCL_P2P_API = 1 << 10,
	NCCL_KERNEL_LAUNCH = 1 << 11,
	NCCL_CE_COLL = 1 << 12, /* since 6, as the next two: by copy engines */
	NCCL_CE_SYNC = 1 << 13,
	NCCL_CE_BATCH = 1 << 14,
	NCCL_ALL_TYPES = (1 << 15) - 1,
};

enum nccl_state {
	NCCL_SEND_GPU_WAIT = 8,
	NCCL_SEND_WAIT = 9,
	NCCL_RECV_WAIT = 10,
	NCCL_RECV_FLUSH_WAIT = 11,
	NCCL_RECV_GPU_WAIT = 12,
	NCCL_CTRL_IDLE = 13,
	NCCL_CTRL_ACTIVE = 14,
	NCCL_CTRL_SLEEP = 15,
	NCCL_CTRL_WAKEUP = 16,
	NCCL_CTRL_APPEND = 17,
	NCCL_CTRL_APPEND_END = 18,
	NCCL_OP_IN_PROGRESS = 19,  /* since 4 */
	NCCL_SEND_PEER_WAIT = 20,  /* since 4 */
	NCCL_NET_UPDATE = 21,	   /* since 4 */
	NCCL_KERNEL_STOP = 22,	   /* since 4 */
	NCCL_GROUP_START_END = 23, /* since 5, as the next */
	NCCL_GROUP_END_BEGIN = 24,
	NCCL_N_STATES = 31, /* those of copy engines, since 6, are told by nobody yet */
};

/* --- descriptors ---------------------------------------------------------------------------- */

/* Begins each. In versions 1 to 4 the type is the first byte only. */
struct nccl_head {
	union {
		uint8_t short_type;
		uint64_t type;
	};
	void *parent;
	int rank;
};

/* These are the same wherever they are. */
union nccl_same {
	struct {
		bool is_captured;
		int depth;
	} group_api;
	struct {
		const char *func;
		size_t count;
		const char *datatype;
		int root;
		void *stream;
		bool is_captured;
	} coll_api;
	struct {
		const char *func;
		size_t count;
		const char *datatype;
		void *stream;
		bool is_captured;
	} p2p_api;
	struct {
		void *stream;
	} kernel_launch;
	struct {
		int pid;
		uint8_t channel;
		int peer;
		int n_steps;
		int chunk_bytes;
		int is_send;
	} proxy_op;
	struct {
		int step;
	} proxy_step;
	struct {
		uint8_t channel;
		uint64_t timer; /* since 4: ns of the device's clock */
	} kernel_ch;
	struct {
		int64_t id;
		void *data;
	} net;
	struct {
		uint64_t sequence;
		const char *func;
		const void *send;
		void *receive;
		size_t count;
		int root;
		const char *datatype;
		const char *how;
		bool is_intra_batch;
		uint32_t batch_size, n_batches, ce_sequence;
		void *stream;
	} ce_coll;
	struct {
		bool is_complete;
		int n_ranks;
	} ce_sync;
	struct {
		int n_ops;
		size_t bytes;
		bool is_intra_sync;
	} ce_batch;
};

struct nccl_coll_v1 {
	const char *name;
	uint64_t hash, sequence;
	uint8_t func;
	const void *send;
	void *receive;
	size_t count;
	int root;
	uint8_t datatype;
	uint32_t op;
	size_t traffic_bytes;
	uint8_t n_channels, n_warps, algo, proto;
	int is_collnet, is_nvls;
};

struct nccl_coll_v2 {
	const char *name;
	uint64_t hash, sequence;
	const char *func;
	const void *send;
	void *receive;
	size_t count;
	int root;
	const char *datatype;
	size_t traffic_bytes;
	uint8_t n_channels, n_warps;
	const char *algo, *proto;
};

struct nccl_coll_v3 {
	const char *name;
	uint64_t hash, sequence;
	const char *func;
	const void *send;
	void *receive;
	size_t count;
	int root;
	const char *datatype;
	uint8_t n_channels, n_warps;
	const char *algo, *proto;
};

/* Versions 4, 5 and 6; the last is since 5. */
struct nccl_coll_v4 {
	uint64_t sequence;
	const char *func;
	const void *send;
	void *receive;
	size_t count;
	int root;
	const char *datatype;
	uint8_t n_channels, n_warps;
	const char *algo, *proto;
	void *group;
};

struct nccl_p2p_v1 {
	const char *name;
	uint64_t hash;
	uint8_t func;
	void *buffer;
	uint8_t datatype;
	size_t count;
	int peer;
};

/* Versions 2 and 3. */
struct nccl_p2p_v2 {
	const char *name;
	uint64_t hash;
	const char *func;
	void *buffer;
	const char *datatype;
	size_t count;
	int peer;
};

/* Versions 4, 5 and 6; the last is since 5. */
struct nccl_p2p_v4 {
	const char *func;
	void *buffer;
	const char *datatype;
	size_t count;
	int peer;
	uint8_t n_channels;
	void *group;
};

struct nccl_descriptor {
	struct nccl_head head;
	union {
		union nccl_same same;
		struct nccl_coll_v1 coll_v1;
		struct nccl_coll_v2 coll_v2;
		struct nccl_coll_v3 coll_v3;
		struct nccl_coll_v4 coll_v4;
		struct nccl_p2p_v1 p2p_v1;
		struct nccl_p2p_v2 p2p_v2;
		struct nccl_p2p_v4 p2p_v4;
	};
};

/* What comes with a state; NULL is possible. */
union nccl_state_args {
	struct {
		size_t bytes;
		int n_steps;
	} op_v3; /* versions 1 to 3 */
	size_t step_bytes;
	int n_appended;
	void *net_data;
	uint64_t timer;
};

/* What network plug-ins of NCCL tell of an event: `net.id` is one of these. */
#define NCCL_NET_IB	INT64_C(0x10001)
#define NCCL_NET_SOCKET INT64_C(0x20001)

struct nccl_net_ib {
	uint8_t type; /* 1 */
	int device;
	uint64_t request;
	int opcode, queue_pair;
	size_t bytes;
};

struct nccl_net_socket {
	uint8_t type; /* 1 */
	int fd, op;
	size_t bytes;
};

/* --- plug-ins ------------------------------------------------------------------------------- */

#define NCCL_SUCCESS 0
#define NCCL_FAILURE 3 /* its internal error: only of init(), after which it does without */

typedef void nccl_logger(int level, unsigned long flags, const char *file, int line,
			 const char *format, ...);

typedef int nccl_init_v1(void **context, int *mask); /* versions 1 to 3 */
typedef int nccl_init_v4(void **context, int *mask, const char *name, uint64_t id, int n_nodes,
			 int n_ranks, int rank, nccl_logger *logger);
typedef int nccl_init_v5(void **context, uint64_t id, int *mask, const char *name, int n_nodes,
			 int n_ranks, int rank, nccl_logger *logger); /* and 6 */

struct nccl_plugin {
	const char *name;
	union {
		nccl_init_v1 *init_v1;
		nccl_init_v4 *init_v4;
		nccl_init_v5 *init_v5;
	};
	int (*start_event)(void *context, void **handle, struct nccl_descriptor *descriptor);
	int (*stop_event)(void *handle);
	int (*record_state)(void *handle, int state, union nccl_state_args *args);
	int (*finalize)(void *context);
};

#endif
