/* remote_thread: one thread of another process, stopped for some system calls of ours (ptrace).
 *
 *     seized, interrupted --> stopped --remote_call()...--> let go, as if nothing had been
 *
 * (1) Signals that come meanwhile wait: they are held, and its mask is given back.
 * (2) A system call in which the thread was waiting is begun again by the kernel, with what is left of its time. The few that
 *     would say EINTR instead (epoll_wait) are begun again by us; threads in one of these are taken last.
 * (3) The thread executes no instruction but the system call's own, one step each. On AArch64 one that stands before a system call goes
 *     as far as the call's entry first, from which it is turned back: only there one sees which call the kernel has made of it.
 * (4) The only thread of a process takes no locks in libc: it is stopped where it is in none of libc's functions that allocate,
 *     so that a second thread does not meet it there (remote_thread_place()).
 * (5) To be used in a process of its own, which ends afterwards: whoever traces and ends lets go of all. */
#ifndef TACHO_REMOTE_THREAD_H
#define TACHO_REMOTE_THREAD_H

#include <glib.h>
#include <sys/types.h>

#include "remote_registers.h"
#include "target.h"

typedef struct {
	const Target *target;
	pid_t tid;
	RemoteRegisters before;
	guint64 signals_before;
	guint64 instruction; /* the address of a system call instruction */
	SeenCall seen;	     /* what it waited in just before it was stopped */
	gboolean is_waiting; /* it waits in a system call, which is begun again: (2) */
	gint64 stopped_us;   /* when it stopped, of g_get_monotonic_time() */
	RemoteVectors vectors;
} RemoteThread;

/* Stop one of its threads, one that is easily stopped. FALSE with the reason. */
gboolean remote_thread_stop(RemoteThread *thread, const Target *target, GError **error);

/* Whether the thread is in none of libc's and the loader's functions. */
typedef enum {
	REMOTE_WITHIN, /* it is in one */
	REMOTE_DOUBT,  /* there may be one that a signal handler, in which it is, has interrupted */
	REMOTE_APART,  /* it is outside, or in a system call of libc's that waits */
} RemotePlace;

RemotePlace remote_thread_place(const RemoteThread *thread);

/* Have it make a system call. -errno as the kernel returns it; `kept` is in a register that a clone() hands on. */
gint64 remote_thread_call(RemoteThread *thread, guint64 number, const guint64 arguments[6],
			  guint64 kept);

/* The thread pointer: what its thread-local memory is found by. */
guint64 remote_thread_pointer(const RemoteThread *thread);

/* Let it go on. Returns how long it was stopped, in microseconds. */
gint64 remote_thread_release(RemoteThread *thread);

#endif
