/* kernel.bpf: what the kernel does with the threads of a job. These programs run in the kernel, at its tracepoints.
 *
 * (1) Only threads in `threads` are recorded: those that the recorder put there, children of the launcher, and what either starts.
 *     For any other thread an event costs one look into a table.
 * (2) No tracepoint wakes the recorder, which looks into the ring by itself: waking up from within the scheduler would change what is measured.
 * (3) What does not fit into the ring is counted in `n_lost`.
 * (4) A socket is the job's once one of its threads has sent or received on it, or has begun to connect it. A block request is the job's
 *     if one of its threads asked for it: what the kernel writes back on its own account is nobody's.
 *
 * The types of the kernel are declared here as far as they are used; where fields lie, libbpf finds out when it loads (CO-RE). */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel_events.h"

/* tp_btf programs are for those who may read the kernel's memory: the kernel asks for a licence that is compatible with its own. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

typedef _Bool bool;

#define CORE __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} CORE;

struct pid_namespace {
	struct ns_common ns;
} CORE;

struct upid {
	int nr;
	struct pid_namespace *ns;
} CORE;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} CORE;

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int pid, tgid;
	unsigned long min_flt, maj_flt;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	char comm[KERNEL_COMM];
} CORE;

/* before Linux 5.14 */
struct task_struct___before_5_14 {
	long state;
} CORE;

struct pt_regs___x86 {
	unsigned long orig_ax;
} CORE;

struct pt_regs___arm64 {
	int syscallno;
} CORE;

typedef unsigned long long sector_t;

struct bio;

struct gendisk {
	int major, first_minor;
} CORE;

struct request_queue {
	struct gendisk *disk;
} CORE;

struct bvec_iter {
	unsigned int bi_size;
} CORE;

struct bio {
	struct bio *bi_next;
	struct bvec_iter bi_iter;
} CORE;

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	sector_t __sector;
	struct bio *bio;
} CORE;

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
} CORE;

struct sock_common {
	__u32 skc_daddr, skc_rcv_saddr;
	__u16 skc_dport, skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
} CORE;

struct sock {
	struct sock_common __sk_common;
} CORE;

struct inet_connection_sock {
	__u32 icsk_rto;
	__u8 icsk_ca_state : 5;
} CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 srtt_us;
} CORE;

struct linux_binprm;
struct sk_buff;

/* linux/sched.h, linux/blk_types.h, net/tcp.h, net/tcp_states.h, linux/preempt.h, linux/socket.h */
#define PF_KTHREAD	  0x00200000
#define REQ_OP_MASK	  0xff
#define REQ_OP_READ	  0
#define REQ_OP_WRITE	  1
#define REQ_OP_FLUSH	  2
#define TCP_CA_LOSS	  4
#define TCP_SYN_SENT	  2
#define TCP_CLOSE	  7
#define ADDRESS_FAMILY_V6 10

#define FIRST_NAMESPACE 0xEFFFFFFCu /* PROC_PID_INIT_INO of linux/proc_ns.h */

#define MAX_THREADS  32768
#define MAX_REQUESTS 16384
#define MAX_MERGED   64 /* bios of a request that are looked at */
#define MAX_SOCKETS  16384
#define MAX_LEVELS   4 /* of namespaces of processes that are looked through */

const volatile struct kernel_settings settings;
__u64 n_lost;

/* A thread of the job. */
struct thread {
	__u64 out_ns, wake_ns; /* out_ns 0: it runs */
	__u64 reclaim_ns;      /* it looks for memory since; 0: it does not */
	__u32 pid, tid;
	__s32 call;
	__u32 is_preempted;
	__u32 other_pid, other_tid, waker_pid, waker_tid;
	__u32 other_is_kernel, reserved;
	char other[KERNEL_COMM], waker[KERNEL_COMM];
};

struct asked {
	__u64 queued_ns, issued_ns;
	__u32 pid, tid; /* 0: nobody of the job */
	__u32 bytes;	/* of a request: what the job asked for of it */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_THREADS);
	__type(key, __u32); /* as the kernel numbers them */
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_REQUESTS);
	__type(key, __u64); /* address of the bio */
	__type(value, struct asked);
} bios SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_REQUESTS);
	__type(key, __u64); /* address of the request */
	__type(value, struct asked);
} requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_SOCKETS);
	__type(key, __u64);   /* address of the socket */
	__type(value, __u32); /* pid */
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} events SEC(".maps");

/* --- who ------------------------------------------------------------------------------------ */

/* The number of a thread in the recorder's namespace; 0: none. Most recorders are in the first one, where the kernel's number is it. */
static __always_inline __u32 number_of(struct task_struct *task)
{
	struct pid *pid;
	unsigned int level;

	if (settings.namespace_inode == FIRST_NAMESPACE)
		return task->pid;
	pid = BPF_CORE_READ(task, thread_pid);
	if (!pid)
		return 0;
	level = BPF_CORE_READ(pid, level);
	for (unsigned int i = 0; i < MAX_LEVELS; i++) {
		struct upid *at;

		if (i > level)
			break;
		at = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
		     i * bpf_core_type_size(struct upid);
		if (BPF_CORE_READ(at, ns, ns.inum) == settings.namespace_inode)
			return BPF_CORE_READ(at, nr);
	}
	return 0;
}

static __always_inline __u32 process_of(struct task_struct *task)
{
	return settings.namespace_inode == FIRST_NAMESPACE ? (__u32)task->tgid
							   : number_of(task->group_leader);
}

static __always_inline struct thread *current_thread(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline void copy_name(char name[KERNEL_COMM], struct task_struct *task)
{
	bpf_probe_read_kernel_str(name, KERNEL_COMM, task->comm);
}

static __always_inline void fill_event(struct kernel_event *event, __u32 kind, __u64 now, __u32 pid,
				       __u32 tid)
{
	event->stamp = now;
	event->kind = kind;
	event->pid = pid;
	event->tid = tid;
	event->cpu = bpf_get_smp_processor_id();
}

/* The ring's, or NULL: counted. */
static __always_inline void *reserve(__u64 size_bytes)
{
	void *event = bpf_ringbuf_reserve(&events, size_bytes, 0);

	if (!event)
		__sync_fetch_and_add(&n_lost, 1);
	return event;
}

/* --- the scheduler -------------------------------------------------------------------------- */

static __always_inline bool is_running(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state == 0;
	return old->state == 0;
}

static __always_inline __s32 call_of(struct task_struct *task)
{
	void *registers = (void *)bpf_task_pt_regs(task);
	struct pt_regs___x86 *x86 = registers;
	struct pt_regs___arm64 *arm64 = registers;

	if (!registers)
		return KERNEL_CALL_UNKNOWN;
	if (bpf_core_field_exists(x86->orig_ax))
		return (__s32)x86->orig_ax;
	if (bpf_core_field_exists(arm64->syscallno))
		return arm64->syscallno;
	return KERNEL_CALL_UNKNOWN;
}

/* Whether the thread that is current wakes another, as far as one can tell: it is in a system call, or is the kernel's own. If not, an
 * interrupt does, as it may within a call. */
static __always_inline bool may_wake(struct task_struct *task)
{
	if (task->pid == 0)
		return 0;
	return (task->flags & PF_KTHREAD) != 0 || call_of(task) >= 0;
}

static __always_inline void note_other(struct thread *thread, struct task_struct *other)
{
	thread->other_is_kernel = (other->flags & PF_KTHREAD) != 0;
	if (other->pid == 0) { /* nobody: the core idles */
		thread->other_pid = thread->other_tid = 0;
		thread->other[0] = 0;
		return;
	}
	thread->other_pid = process_of(other);
	thread->other_tid = number_of(other);
	copy_name(thread->other, other);
}

static __always_inline void go_off(struct thread *thread, struct task_struct *prev,
				   struct task_struct *next, bool preempt, __u64 now)
{
	thread->is_preempted = preempt || is_running(prev);
	thread->wake_ns = 0;
	thread->waker_pid = thread->waker_tid = 0;
	thread->waker[0] = 0;
	if (thread->is_preempted) {
		thread->call = KERNEL_CALL_UNKNOWN;
		note_other(thread, next);
	} else {
		thread->call = call_of(prev);
	}
	thread->out_ns = now;
}

static __always_inline void come_back(struct thread *thread, struct task_struct *prev,
				      struct task_struct *next, __u64 now)
{
	struct kernel_off_cpu *event;

	if (!thread->is_preempted)
		note_other(thread, prev);
	event = reserve(sizeof(*event));
	if (event) {
		fill_event(&event->event, KERNEL_OFF_CPU, now, thread->pid, thread->tid);
		event->out_ns = thread->out_ns;
		event->wake_ns = thread->is_preempted ? 0 : thread->wake_ns ? thread->wake_ns : now;
		event->major_faults = next->maj_flt;
		event->minor_faults = next->min_flt;
		event->call = thread->call;
		event->other_pid = thread->other_pid;
		event->other_tid = thread->other_tid;
		event->waker_pid = thread->waker_pid;
		event->waker_tid = thread->waker_tid;
		event->other_is_kernel = thread->other_is_kernel;
		__builtin_memcpy(event->other, thread->other, KERNEL_COMM);
		__builtin_memcpy(event->waker, thread->waker, KERNEL_COMM);
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
	thread->out_ns = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 prev_tid = prev->pid, next_tid = next->pid;
	struct thread *thread;
	__u64 now;

	/* idle threads are no thread of a job */
	thread = next_tid ? bpf_map_lookup_elem(&threads, &next_tid) : 0;
	now = bpf_ktime_get_ns();
	if (thread && thread->out_ns)
		come_back(thread, prev, next, now);
	thread = prev_tid ? bpf_map_lookup_elem(&threads, &prev_tid) : 0;
	if (thread)
		go_off(thread, prev, next, preempt, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);
	struct task_struct *waker;

	if (!thread || !thread->out_ns || thread->is_preempted || thread->wake_ns)
		return 0;
	thread->wake_ns = bpf_ktime_get_ns();
	waker = (void *)bpf_get_current_task_btf();
	if (!may_wake(waker))
		return 0;
	thread->waker_pid = process_of(waker);
	thread->waker_tid = number_of(waker);
	copy_name(thread->waker, waker);
	return 0;
}

/* --- who belongs to the job ------------------------------------------------------------------- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tid = parent->pid, tid = child->pid;
	struct thread thread = {};

	if (!bpf_map_lookup_elem(&threads, &parent_tid) &&
	    (!settings.launcher || process_of(parent) != settings.launcher ||
	     child->tgid == parent->tgid)) /* its own threads are not the job */
		return 0;
	thread.pid = process_of(child);
	thread.tid = number_of(child);
	thread.call = KERNEL_CALL_UNKNOWN;
	thread.out_ns = thread.wake_ns = bpf_ktime_get_ns(); /* it waits for its first core */
	bpf_map_update_elem(&threads, &tid, &thread, BPF_ANY);
	return 0;
}

/* Of several threads the one that calls exec() gets the number of the first. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid, struct linux_binprm *program)
{
	__u32 before = old_tid, tid = task->pid;
	struct thread *known = bpf_map_lookup_elem(&threads, &before);
	struct thread thread = {};

	if (!known || before == tid)
		return 0;
	thread.pid = process_of(task);
	thread.tid = number_of(task);
	thread.call = KERNEL_CALL_UNKNOWN;
	bpf_map_delete_elem(&threads, &before);
	bpf_map_update_elem(&threads, &tid, &thread, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 tid = task->pid;

	bpf_map_delete_elem(&threads, &tid);
	return 0;
}

/* --- memory ----------------------------------------------------------------------------------- */

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim_begin)
{
	struct thread *thread = current_thread();

	if (thread)
		thread->reclaim_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaim_end, unsigned long n_pages)
{
	struct thread *thread = current_thread();
	struct kernel_reclaim *event;

	if (!thread || !thread->reclaim_ns)
		return 0;
	event = reserve(sizeof(*event));
	if (event) {
		fill_event(&event->event, KERNEL_RECLAIM, bpf_ktime_get_ns(), thread->pid,
			   thread->tid);
		event->begin_ns = thread->reclaim_ns;
		event->n_pages = n_pages;
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
	thread->reclaim_ns = 0;
	return 0;
}

/* --- block devices ---------------------------------------------------------------------------- */

static __always_inline struct asked ask(const struct thread *thread)
{
	struct asked asked = {};

	asked.queued_ns = bpf_ktime_get_ns();
	asked.pid = thread->pid;
	asked.tid = thread->tid;
	return asked;
}

static __always_inline int note_bio(struct bio *bio)
{
	struct thread *thread = current_thread();
	__u64 key = (__u64)bio;
	struct asked asked;

	if (!thread) { /* the address may have been that of another */
		bpf_map_delete_elem(&bios, &key);
		return 0;
	}
	asked = ask(thread);
	bpf_map_update_elem(&bios, &key, &asked, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_queue, struct bio *bio)
{
	return note_bio(bio);
}

/* One that is too long for the device: its first part is a new one. */
SEC("tp_btf/block_split")
int BPF_PROG(on_bio_split, struct bio *first)
{
	return note_bio(first);
}

/* The kernel merges what lies side by side into one request, whoever asked for it: the job's part of it is the bytes of the job's bios. */
static __always_inline struct asked asked_for(struct bio *bio)
{
	struct asked asked = {};

	for (int i = 0; i < MAX_MERGED && bio; i++) {
		__u64 key = (__u64)bio;
		struct asked *known = bpf_map_lookup_elem(&bios, &key);

		if (known) {
			__u32 bytes = asked.bytes + BPF_CORE_READ(bio, bi_iter.bi_size);

			if (!asked.pid)
				asked = *known;
			asked.bytes = bytes;
		}
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return asked;
}

/* Once more, maybe by a thread of the kernel, where the device had no room: so bios stay in the table. A thread also issues what others
 * have waiting: only a request without a bio (a flush) is the current thread's. */
SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_request_issue, struct request *request)
{
	__u64 key = (__u64)request;
	struct bio *first = BPF_CORE_READ(request, bio);
	struct thread *thread = first ? 0 : current_thread();
	struct asked asked = thread ? ask(thread) : asked_for(first);

	if (!asked.pid) {
		bpf_map_delete_elem(&requests, &key);
		return 0;
	}
	asked.issued_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&requests, &key, &asked, BPF_ANY);
	return 0;
}

static __always_inline __u32 operation_of(unsigned int flags)
{
	switch (flags & REQ_OP_MASK) {
	case REQ_OP_READ:
		return KERNEL_BLOCK_READ;
	case REQ_OP_WRITE:
		return KERNEL_BLOCK_WRITE;
	case REQ_OP_FLUSH:
		return KERNEL_BLOCK_FLUSH;
	default:
		return KERNEL_BLOCK_OTHER;
	}
}

/* A request may complete in parts: the first has all that is told of it. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_request_complete, struct request *request, int error, unsigned int n_bytes)
{
	__u64 key = (__u64)request;
	struct asked *asked = bpf_map_lookup_elem(&requests, &key);
	struct kernel_block_io *event;
	struct gendisk *disk;

	if (!asked)
		return 0;
	event = reserve(sizeof(*event));
	if (event) {
		disk = BPF_CORE_READ(request, q, disk);
		fill_event(&event->event, KERNEL_BLOCK_IO, bpf_ktime_get_ns(), asked->pid,
			   asked->tid);
		event->queued_ns = asked->queued_ns;
		event->issued_ns = asked->issued_ns;
		event->sector = BPF_CORE_READ(request, __sector);
		event->bytes = asked->bytes;
		event->operation = operation_of(BPF_CORE_READ(request, cmd_flags));
		event->major = disk ? BPF_CORE_READ(disk, major) : 0;
		event->minor = disk ? BPF_CORE_READ(disk, first_minor) : 0;
		event->error = error;
		event->reserved = 0;
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

/* --- TCP -------------------------------------------------------------------------------------- */

static __always_inline void use_socket(const struct sock *socket)
{
	__u64 key = (__u64)socket;
	struct thread *thread = current_thread();
	__u32 *owner, pid;

	if (!thread)
		return;
	owner = bpf_map_lookup_elem(&sockets, &key);
	if (owner && *owner == thread->pid)
		return;
	pid = thread->pid;
	bpf_map_update_elem(&sockets, &key, &pid, BPF_ANY);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *socket)
{
	use_socket(socket);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *socket)
{
	use_socket(socket);
	return 0;
}

/* Kernels before 6.3 have none of the two above; this one is where a thread has taken bytes that came. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(on_receive_space, struct sock *socket)
{
	use_socket(socket);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_socket_state, const struct sock *socket, int before, int state)
{
	__u64 key = (__u64)socket;

	if (state == TCP_SYN_SENT)
		use_socket(socket);
	else if (state == TCP_CLOSE)
		bpf_map_delete_elem(&sockets, &key);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmit, const struct sock *socket, const struct sk_buff *segment)
{
	__u64 key = (__u64)socket;
	__u32 *owner = bpf_map_lookup_elem(&sockets, &key);
	const struct inet_connection_sock *connection = (const void *)socket;
	const struct tcp_sock *tcp = (const void *)socket;
	struct kernel_retransmit *event;

	if (!owner)
		return 0;
	event = reserve(sizeof(*event));
	if (!event)
		return 0;
	fill_event(&event->event, KERNEL_RETRANSMIT, bpf_ktime_get_ns(), *owner, 0);
	event->timeout_ticks = 0;
	if (BPF_CORE_READ_BITFIELD_PROBED(connection, icsk_ca_state) == TCP_CA_LOSS)
		event->timeout_ticks = BPF_CORE_READ(connection, icsk_rto);
	event->round_trip_us = BPF_CORE_READ(tcp, srtt_us) >> 3;
	event->is_v6 = BPF_CORE_READ(socket, __sk_common.skc_family) == ADDRESS_FAMILY_V6;
	event->local_port = BPF_CORE_READ(socket, __sk_common.skc_num);
	event->peer_port = __builtin_bswap16(BPF_CORE_READ(socket, __sk_common.skc_dport));
	__builtin_memset(event->local, 0, sizeof(event->local));
	__builtin_memset(event->peer, 0, sizeof(event->peer));
	if (event->is_v6) {
		BPF_CORE_READ_INTO(&event->local, socket,
				   __sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8);
		BPF_CORE_READ_INTO(&event->peer, socket, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
	} else {
		*(__u32 *)event->local = BPF_CORE_READ(socket, __sk_common.skc_rcv_saddr);
		*(__u32 *)event->peer = BPF_CORE_READ(socket, __sk_common.skc_daddr);
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}
