/* kernel_events: what the programs in the kernel (kernel.bpf.c) hand to the recorder (kernel_recorder.c), through a ring of bytes. Both are
 * built together, so that nothing here needs a version.
 *
 * (1) Times are those of CLOCK_MONOTONIC, in ns. `stamp` is when the event was told.
 * (2) `pid` and `tid` are numbers in the recorder's namespace of processes; 0: the process has none there.
 * (3) The including file has the types: <linux/types.h>, or what stands for it in the kernel. */
#ifndef TACHO_KERNEL_EVENTS_H
#define TACHO_KERNEL_EVENTS_H

#define KERNEL_COMM 16 /* TASK_COMM_LEN */

enum kernel_event_kind {
	KERNEL_OFF_CPU,	   /* a thread has a core again */
	KERNEL_RECLAIM,	   /* a thread that wanted memory looked for some to take back */
	KERNEL_BLOCK_IO,   /* a device has done what the job asked for */
	KERNEL_RETRANSMIT, /* a segment of TCP was sent once more */
	KERNEL_N_EVENTS
};

/* Begins every event. */
struct kernel_event {
	__u64 stamp;
	__u32 kind;
	__u32 pid, tid; /* whose it is; tid 0: of the process as a whole */
	__u32 cpu;
};

struct kernel_off_cpu {
	struct kernel_event event; /* stamp: it runs again */
	__u64 out_ns;		   /* it went off its core */
	__u64 wake_ns; /* it could run again; 0: it could all the time, another took its core */
	__u64 major_faults, minor_faults; /* that the thread has had so far */
	__s32 call; /* number of the system call that it is in; -1: none, so a page fault; -2: not known */
	__u32 other_pid, other_tid; /* who took the core, or had the one it waited for; 0: nobody */
	__u32 waker_pid, waker_tid; /* who woke it; 0: an interrupt, or not known */
	__u32 other_is_kernel;	    /* the other is a thread of the kernel */
	char other[KERNEL_COMM], waker[KERNEL_COMM];
};

#define KERNEL_CALL_FAULT   (-1)
#define KERNEL_CALL_UNKNOWN (-2)

struct kernel_reclaim {
	struct kernel_event event; /* stamp: it ended */
	__u64 begin_ns;
	__u64 n_pages; /* taken back */
};

enum kernel_block_operation {
	KERNEL_BLOCK_READ,
	KERNEL_BLOCK_WRITE,
	KERNEL_BLOCK_FLUSH,
	KERNEL_BLOCK_OTHER,
};

struct kernel_block_io {
	struct kernel_event event; /* stamp: it was complete */
	__u64 queued_ns;	   /* the job asked for it */
	__u64 issued_ns;	   /* the device was given it */
	__u64 sector;		   /* of 512 bytes */
	__u32 bytes;
	__u32 operation; /* enum kernel_block_operation */
	__u32 major, minor;
	__s32 error; /* 0: none */
	__u32 reserved;
};

struct kernel_retransmit {
	struct kernel_event event;
	__u32 timeout_ticks; /* what ran out before; 0: it was sent again before, because later ones had arrived */
	__u32 round_trip_us; /* smoothed; 0: not known */
	__u32 is_v6;
	__u16 local_port, peer_port;
	__u8 local[16], peer[16]; /* network order; of IPv4 the first four bytes */
};

/* What the recorder tells the programs, before they are loaded. */
struct kernel_settings {
	__u64 namespace_inode; /* of the recorder's processes */
	__u32 launcher;	       /* its children are the job; 0: none */
	__u32 reserved;
};

#endif
