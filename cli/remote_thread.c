#include "remote_thread.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEARCH_BYTES	   (2u << 20) /* of libc, for a system call instruction */
#define SEARCH_PAGE	   0x10000u
#define SEARCH_OVERLAP	   16u
#define STACK_BYTES	   (1u << 20) /* of a stack, that are looked through */
#define STOP_WAIT_US	   300000     /* for one thread */
#define LOOK_US		   200
#define MOST_REFUSED	   3
#define ROUNDS		   20
#define MAX_THREADS_LOOKED 4096

#define SET_OF(signal) (UINT64_C(1) << ((signal)-1))
#define FAULTS                                                                                     \
	(SET_OF(SIGSEGV) | SET_OF(SIGBUS) | SET_OF(SIGFPE) | SET_OF(SIGILL) | SET_OF(SIGTRAP))

/* System calls that end with EINTR where a thread is stopped and let go on, though no signal came (signal(7)). */
static const long interrupted_calls[] = {
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
	SYS_epoll_pwait,
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
	SYS_io_getevents, SYS_msgrcv, SYS_msgsnd, SYS_semtimedop, SYS_semop, SYS_rt_sigtimedwait,
};

static gboolean fail(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean fail(GError **error, const gchar *format, ...)
{
	va_list args;

	va_start(args, format);
	g_clear_error(error);
	if (error)
		*error = g_error_new_valist(TARGET_ERROR, 0, format, args);
	va_end(args);
	return FALSE;
}

static gboolean is_interrupted_call(long number)
{
	for (guint i = 0; i < G_N_ELEMENTS(interrupted_calls); i++)
		if (interrupted_calls[i] == number)
			return TRUE;
	return FALSE;
}

/* --- registers ------------------------------------------------------------------------------ */

static gboolean get_registers(pid_t tid, RemoteRegisters *registers)
{
	struct iovec whole = { registers, sizeof(*registers) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &whole) == 0;
}

static gboolean set_registers(pid_t tid, const RemoteRegisters *registers)
{
	struct iovec whole = { (void *)registers, sizeof(*registers) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &whole) == 0;
}

#if defined(__x86_64__)
static const guint8 call_instruction[] = { 0x0f, 0x05 };

static void prepare_call(RemoteRegisters *registers, guint64 at, guint64 number,
			 const guint64 arguments[6], guint64 kept)
{
	registers->rip = at;
	registers->orig_rax = ~0ull; /* it is in no system call that would be begun again */
	registers->rax = number;
	registers->rdi = arguments[0];
	registers->rsi = arguments[1];
	registers->rdx = arguments[2];
	registers->r10 = arguments[3];
	registers->r8 = arguments[4];
	registers->r9 = arguments[5];
	registers->r12 = kept;
	registers->eflags &= ~0x400ull; /* the direction flag is clear in all C code */
}

static gint64 result_of(const RemoteRegisters *registers)
{
	return (gint64)registers->rax;
}

static gboolean is_past(const RemoteRegisters *registers, guint64 at)
{
	return registers->rip == at + sizeof(call_instruction);
}

static long call_of(const RemoteRegisters *registers)
{
	return (long)registers->orig_rax;
}

/* What the kernel leaves where it begins the call again: ERESTARTSYS to ERESTART_RESTARTBLOCK (include/linux/errno.h). */
static gboolean is_waiting(const RemoteRegisters *registers)
{
	return (gint64)registers->orig_rax >= 0 && (gint64)registers->rax <= -512 &&
	       (gint64)registers->rax >= -516;
}

/* Signal handlers return to this, in libc: mov $15, %rax; syscall. */
static const guint8 signal_return[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };
#define CODE_ADDRESS(registers)	 ((registers)->rip)
#define STACK_ADDRESS(registers) ((registers)->rsp)

/* As the kernel does it where it begins a call again. */
static void begin_again(RemoteRegisters *registers)
{
	registers->rax = registers->orig_rax;
	registers->rip -= sizeof(call_instruction);
	registers->orig_rax = ~0ull;
}

guint64 remote_thread_pointer(const RemoteThread *thread)
{
	return thread->before.fs_base;
}
#elif defined(__aarch64__)
static const guint8 call_instruction[] = { 0x01, 0x00, 0x00, 0xd4 };

static void prepare_call(RemoteRegisters *registers, guint64 at, guint64 number,
			 const guint64 arguments[6], guint64 kept)
{
	registers->pc = at;
	registers->regs[8] = number;
	for (int i = 0; i < 6; i++)
		registers->regs[i] = arguments[i];
	registers->regs[19] = kept;
}

static gint64 result_of(const RemoteRegisters *registers)
{
	return (gint64)registers->regs[0];
}

static gboolean is_past(const RemoteRegisters *registers, guint64 at)
{
	return registers->pc == at + sizeof(call_instruction);
}

static long call_of(const RemoteRegisters *registers)
{
	return (long)registers->regs[8];
}

static gboolean is_waiting(const RemoteRegisters *registers)
{
	(void)registers;
	return FALSE;
}

/* The kernel's own, which is not looked for: mov x8, #139; svc #0. */
static const guint8 signal_return[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };
#define CODE_ADDRESS(registers)	 ((registers)->pc)
#define STACK_ADDRESS(registers) ((registers)->sp)

/* The first argument is gone: threads in such a call are not taken. */
static void begin_again(RemoteRegisters *registers)
{
	(void)registers;
}

guint64 remote_thread_pointer(const RemoteThread *thread)
{
	guint64 pointer = 0;
	struct iovec whole = { &pointer, sizeof(pointer) };

	return ptrace(PTRACE_GETREGSET, thread->tid, NT_ARM_TLS, &whole) == 0 ? pointer : 0;
}
#else
static const guint8 call_instruction[] = { 0 };

static void prepare_call(RemoteRegisters *registers, guint64 at, guint64 number,
			 const guint64 arguments[6], guint64 kept)
{
	(void)registers, (void)at, (void)number, (void)arguments, (void)kept;
}

static gint64 result_of(const RemoteRegisters *registers)
{
	(void)registers;
	return -ENOSYS;
}

static gboolean is_past(const RemoteRegisters *registers, guint64 at)
{
	(void)registers, (void)at;
	return FALSE;
}

static long call_of(const RemoteRegisters *registers)
{
	(void)registers;
	return -1;
}

static gboolean is_waiting(const RemoteRegisters *registers)
{
	(void)registers;
	return FALSE;
}

static const guint8 signal_return[] = { 0 };
#define CODE_ADDRESS(registers)	 ((void)(registers), (guint64)0)
#define STACK_ADDRESS(registers) ((void)(registers), (guint64)0)

static void begin_again(RemoteRegisters *registers)
{
	(void)registers;
}

guint64 remote_thread_pointer(const RemoteThread *thread)
{
	(void)thread;
	return 0;
}
#endif

/* --- which thread --------------------------------------------------------------------------- */

/* A thread that waits in a call that the kernel begins again is stopped at once, and notices least. */
enum ease { EASE_WAITING, EASE_RUNNING, EASE_INTERRUPTED, N_EASE };

static enum ease ease_of(pid_t pid, pid_t tid)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	g_autofree gchar *text = NULL;
	gint64 number;

	if (!g_file_get_contents(path, &text, NULL, NULL) || !g_ascii_isdigit(*text))
		return EASE_RUNNING;
	number = g_ascii_strtoll(text, NULL, 10);
	return is_interrupted_call((long)number) ? EASE_INTERRUPTED : EASE_WAITING;
}

/* The easiest of those that were not tried; 0: there is none. */
static pid_t choose_thread(pid_t pid, GHashTable *tried)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/task", (int)pid);
	g_autoptr(GDir) tasks = g_dir_open(path, 0, NULL);
	pid_t chosen[N_EASE] = { 0 };
	const gchar *name;

	for (guint n = 0; tasks && n < MAX_THREADS_LOOKED && (name = g_dir_read_name(tasks)); n++) {
		pid_t tid = (pid_t)g_ascii_strtoll(name, NULL, 10);
		enum ease ease = ease_of(pid, tid);

		if (g_hash_table_contains(tried, GINT_TO_POINTER(tid)))
			continue;
		chosen[ease] = tid;
		if (ease == EASE_WAITING)
			break;
	}
	for (guint i = 0; i < N_EASE; i++)
		if (chosen[i])
			return chosen[i];
	return 0;
}

/* --- stopping it ---------------------------------------------------------------------------- */

/* The next stop within the time: a status as of waitpid(), 0: none, -1: it is gone. */
static int await_stop(pid_t tid, gint64 wait_us)
{
	gint64 deadline_us = g_get_monotonic_time() + wait_us;
	int status;

	for (;;) {
		pid_t found = waitpid(tid, &status, __WALL | WNOHANG);

		if (found < 0 || (found == tid && !WIFSTOPPED(status)))
			return -1;
		if (found == tid)
			return status;
		if (g_get_monotonic_time() >= deadline_us)
			return 0;
		g_usleep(LOOK_US);
	}
}

static gboolean is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

/* Signals that were on their way reach it first. Who does not stop in time is in `asked` from then on: he will yet, and needs not
 * be seized again. */
static gboolean interrupt(pid_t tid, GHashTable *asked)
{
	gint64 deadline_us = g_get_monotonic_time() + STOP_WAIT_US;

	errno = 0;
	if (!g_hash_table_contains(asked, GINT_TO_POINTER(tid)) &&
	    (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0 ||
	     ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0))
		return FALSE;
	errno = 0;
	g_hash_table_add(asked, GINT_TO_POINTER(tid));
	for (;;) {
		int status = await_stop(tid, deadline_us - g_get_monotonic_time());

		if (status <= 0)
			return FALSE;
		if (is_event_stop(status))
			g_hash_table_remove(asked, GINT_TO_POINTER(tid));
		if (is_event_stop(status) && WSTOPSIG(status) == SIGTRAP)
			return TRUE;
		if (is_event_stop(status)) { /* the whole process was stopped just now */
			ptrace(PTRACE_DETACH, tid, NULL, NULL);
			errno = 0;
			return FALSE;
		}
		ptrace(PTRACE_CONT, tid, NULL, (void *)(glong)WSTOPSIG(status));
	}
}

static gboolean has_signal_waiting(const RemoteThread *thread)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/task/%d/status",
						 (int)thread->target->pid, (int)thread->tid);
	g_autofree gchar *text = NULL;
	const gchar *own, *shared;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return TRUE;
	own = strstr(text, "\nSigPnd:\t");
	shared = strstr(text, "\nShdPnd:\t");
	if (!own || !shared)
		return TRUE;
	return (g_ascii_strtoull(own + 9, NULL, 16) | g_ascii_strtoull(shared + 9, NULL, 16)) &
	       ~thread->signals_before;
}

/* Where these bytes are in libc's code; 0: nowhere. */
static guint64 find_in_libc(const Target *target, const guint8 *wanted, guint n)
{
	g_autofree guint8 *bytes = g_malloc(SEARCH_PAGE);

	for (guint64 at = 0; at < SEARCH_BYTES; at += SEARCH_PAGE - SEARCH_OVERLAP) {
		if (!target_read(target, target->libc + at, bytes, SEARCH_PAGE))
			break;
		for (guint i = 0; i + n <= SEARCH_PAGE; i++)
			if (memcmp(bytes + i, wanted, n) == 0 &&
			    target_is_code(target, target->libc + at + i))
				return target->libc + at + i;
	}
	return 0;
}

/* A word of the stack that is where handlers return to: there is, or was, a handler's frame. */
static gboolean has_handler(const RemoteThread *thread)
{
	guint64 back = find_in_libc(thread->target, signal_return, sizeof(signal_return));
	guint64 from = STACK_ADDRESS(&thread->before) & ~7ull;
	guint64 end = target_mapping_end(thread->target, from);
	gsize n = (gsize)MIN(end > from ? end - from : 0, STACK_BYTES) / 8;
	g_autofree guint64 *words = g_new(guint64, n + 1);

	if (!back || !n || !target_read(thread->target, from, words, n * 8))
		return TRUE;
	for (gsize i = 0; i < n; i++)
		if (words[i] == back)
			return TRUE;
	return FALSE;
}

RemotePlace remote_thread_place(const RemoteThread *thread)
{
	if (!is_waiting(&thread->before) && !thread->is_begun_again &&
	    target_is_in_libc(thread->target, CODE_ADDRESS(&thread->before)))
		return REMOTE_WITHIN;
	return has_handler(thread) ? REMOTE_DOUBT : REMOTE_APART;
}

gboolean remote_thread_stop(RemoteThread *thread, const Target *target, GError **error)
{
	const guint64 held = ~FAULTS;
	g_autoptr(GHashTable) asked = g_hash_table_new(NULL, NULL);
	pid_t tid = 0;
	guint n_refused = 0;

	memset(thread, 0, sizeof(*thread));
	thread->target = target;
	thread->instruction = find_in_libc(target, call_instruction, sizeof(call_instruction));
	if (!thread->instruction)
		return fail(error, "has no system call in its libc");
	for (guint round = 0; round < ROUNDS && !thread->tid; round++) {
		g_autoptr(GHashTable) tried = g_hash_table_new(NULL, NULL);

		while (!thread->tid && (tid = choose_thread(target->pid, tried)) != 0) {
			if (interrupt(tid, asked))
				thread->tid = tid;
			else if (errno == EPERM)
				n_refused++; /* or it is just ending */
			g_hash_table_add(tried, GINT_TO_POINTER(tid));
			if (g_hash_table_size(tried) > ROUNDS)
				break;
		}
		if (!target_is_alive(target))
			return fail(error, "has ended");
		if (n_refused > MOST_REFUSED && !g_hash_table_size(asked))
			return fail(error,
				    "may not be traced (ptrace: %s); see "
				    "/proc/sys/kernel/yama/ptrace_scope, and whether "
				    "this is a container without CAP_SYS_PTRACE",
				    g_strerror(EPERM));
	}
	if (!thread->tid)
		return fail(error, "cannot be stopped: all its threads wait in the kernel for what "
				   "does not end (a disk, a child of vfork)");
	thread->stopped_us = g_get_monotonic_time();
	if (!get_registers(thread->tid, &thread->before) ||
	    ptrace(PTRACE_GETSIGMASK, thread->tid, sizeof(guint64), &thread->signals_before) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, thread->tid, sizeof(held), &held) < 0) {
		ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
		return fail(error, "cannot be traced: %s", g_strerror(errno));
	}
	if (result_of(&thread->before) == -EINTR && is_interrupted_call(call_of(&thread->before)) &&
	    !has_signal_waiting(thread)) {
		begin_again(&thread->before);
		thread->is_begun_again = TRUE;
	}
	return TRUE;
}

/* One step: other stops than the step's own are those that come along with it. */
static gboolean step(const RemoteThread *thread, RemoteRegisters *registers, guint64 at)
{
	for (guint i = 0; i < ROUNDS; i++) {
		int status;

		if (ptrace(PTRACE_SINGLESTEP, thread->tid, NULL, NULL) < 0)
			return FALSE;
		status = await_stop(thread->tid, 10 * G_USEC_PER_SEC);
		if (status <= 0 || !get_registers(thread->tid, registers))
			return FALSE;
		if (is_past(registers, at))
			return TRUE;
	}
	return FALSE;
}

gint64 remote_thread_call(RemoteThread *thread, guint64 number, const guint64 arguments[6],
			  guint64 kept)
{
	RemoteRegisters registers = thread->before;

	prepare_call(&registers, thread->instruction, number, arguments, kept);
	if (!set_registers(thread->tid, &registers) ||
	    !step(thread, &registers, thread->instruction))
		return -ESRCH;
	return result_of(&registers);
}

gint64 remote_thread_release(RemoteThread *thread)
{
	gint64 stopped_us;

	set_registers(thread->tid, &thread->before);
	ptrace(PTRACE_SETSIGMASK, thread->tid, sizeof(guint64), &thread->signals_before);
	ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
	stopped_us = g_get_monotonic_time() - thread->stopped_us;
	thread->tid = 0;
	return stopped_us;
}
