#include "remote_thread.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES	   (1u << 20)		 /* of a stack, that are looked through */
#define STOP_WAIT_US	   300000		 /* for one thread */
#define CALL_WAIT_US	   (10 * G_USEC_PER_SEC) /* for it to make one step */
#define SYSEMU		   31 /* PTRACE_SYSEMU, which <sys/ptrace.h> has for some processors only */
#define SYSTEM_CALL_STOP   0x80 /* PTRACE_O_TRACESYSGOOD */
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

/* --- which thread --------------------------------------------------------------------------- */

/* A thread that waits in a call that the kernel begins again is stopped at once, and notices least. */
enum ease { EASE_WAITING, EASE_RUNNING, EASE_INTERRUPTED, N_EASE };

/* The system call that it waits in; number -1: none, or it runs. */
static void look_at_call(pid_t pid, pid_t tid, SeenCall *seen)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	g_autofree gchar *text = NULL;
	unsigned long long words[8];
	glong number;

	seen->number = -1;
	if (!g_file_get_contents(path, &text, NULL, NULL) ||
	    sscanf(text, "%ld %llx %llx %llx %llx %llx %llx %llx %llx", &number, &words[0],
		   &words[1], &words[2], &words[3], &words[4], &words[5], &words[6],
		   &words[7]) != 9)
		return;
	seen->number = number;
	for (guint i = 0; i < G_N_ELEMENTS(seen->arguments); i++)
		seen->arguments[i] = words[i];
	seen->stack = words[6];
	seen->code = words[7];
}

static enum ease ease_of(const SeenCall *seen)
{
	if (seen->number < 0)
		return EASE_RUNNING;
	return is_interrupted_call(seen->number) ? EASE_INTERRUPTED : EASE_WAITING;
}

/* The easiest of those that were not tried, and what it waits in; 0: there is none. */
static pid_t choose_thread(pid_t pid, GHashTable *tried, SeenCall *ret_seen)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/task", (int)pid);
	g_autoptr(GDir) tasks = g_dir_open(path, 0, NULL);
	SeenCall chosen_calls[N_EASE] = { 0 };
	pid_t chosen[N_EASE] = { 0 };
	const gchar *name;

	for (guint n = 0; tasks && n < MAX_THREADS_LOOKED && (name = g_dir_read_name(tasks)); n++) {
		pid_t tid = (pid_t)g_ascii_strtoll(name, NULL, 10);
		SeenCall seen;
		enum ease ease;

		if (g_hash_table_contains(tried, GINT_TO_POINTER(tid)))
			continue;
		look_at_call(pid, tid, &seen);
		ease = ease_of(&seen);
		chosen[ease] = tid;
		chosen_calls[ease] = seen;
		if (ease == EASE_WAITING)
			break;
	}
	for (guint i = 0; i < N_EASE; i++) {
		if (!chosen[i])
			continue;
		*ret_seen = chosen_calls[i];
		return chosen[i];
	}
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
	    (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(glong)PTRACE_O_TRACESYSGOOD) < 0 ||
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

/* There is, or was, the frame of a signal's handler on its stack, as far as one can tell. */
static gboolean has_handler(const RemoteThread *thread)
{
	guint64 wanted = remote_registers_handler_word(thread->target);
	guint64 from = remote_registers_stack(&thread->before) & ~7ull;
	guint64 end = target_mapping_end(thread->target, from);
	gsize n = (gsize)MIN(end > from ? end - from : 0, STACK_BYTES) / 8;
	g_autofree guint64 *words = g_new(guint64, n + 1);

	if (!wanted || !n || !target_read(thread->target, from, words, n * 8))
		return TRUE;
	for (gsize i = 0; i < n; i++)
		if (words[i] == wanted)
			return TRUE;
	return FALSE;
}

RemotePlace remote_thread_place(const RemoteThread *thread)
{
	TargetCode code = target_code_at(thread->target, remote_registers_code(&thread->before));

	/* the loader reads files with its locks held, also where the file's system has it wait */
	if (code == TARGET_CODE_LOADER || (code == TARGET_CODE_LIBC && !thread->is_waiting))
		return REMOTE_WITHIN;
	return has_handler(thread) ? REMOTE_DOUBT : REMOTE_APART;
}

/* At its next system call, which is not made: what the call is. It stays before it. */
static void learn_call(RemoteThread *thread)
{
	RemoteRegisters at_entry;
	int status = 0;

	if (ptrace((enum __ptrace_request)SYSEMU, thread->tid, NULL, NULL) == 0)
		status = await_stop(thread->tid, CALL_WAIT_US);
	if (status > 0 && WSTOPSIG(status) == (SIGTRAP | SYSTEM_CALL_STOP) &&
	    remote_registers_get(thread->tid, &at_entry))
		remote_registers_take_call(&thread->before, &at_entry);
	errno = 0;
}

/* In which system call it is, if any, and whether we are to begin it again (2). */
static void find_call(RemoteThread *thread)
{
	RemoteRegisters *before = &thread->before;
	gboolean is_before_call = remote_registers_hide_call(before, thread->target);

	if (is_before_call)
		learn_call(thread);
	thread->is_waiting = remote_registers_is_waiting(before, &thread->seen, is_before_call);
	if (!is_before_call && remote_registers_result(before) == -EINTR &&
	    is_interrupted_call(remote_registers_call(before)) && !has_signal_waiting(thread))
		thread->is_waiting = remote_registers_begin_again(before, &thread->seen);
}

gboolean remote_thread_stop(RemoteThread *thread, const Target *target, GError **error)
{
	const guint64 held = ~FAULTS;
	g_autoptr(GHashTable) asked = g_hash_table_new(NULL, NULL);
	pid_t tid = 0;
	guint n_refused = 0;

	memset(thread, 0, sizeof(*thread));
	thread->target = target;
	thread->instruction = remote_registers_find_instruction(target);
	if (!thread->instruction)
		return fail(error, "has no system call in its libc");
	for (guint round = 0; round < ROUNDS && !thread->tid; round++) {
		g_autoptr(GHashTable) tried = g_hash_table_new(NULL, NULL);

		while (!thread->tid &&
		       (tid = choose_thread(target->pid, tried, &thread->seen)) != 0) {
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
	if (!remote_registers_get(thread->tid, &thread->before) ||
	    ptrace(PTRACE_GETSIGMASK, thread->tid, sizeof(guint64), &thread->signals_before) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, thread->tid, sizeof(held), &held) < 0) {
		ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
		return fail(error, "cannot be traced: %s", g_strerror(errno));
	}
	remote_vectors_save(thread->tid, &thread->vectors);
	find_call(thread);
	return TRUE;
}

/* One step: other stops than the step's own are those that come along with it. */
static gboolean step(const RemoteThread *thread, RemoteRegisters *registers, guint64 at)
{
	for (guint i = 0; i < ROUNDS; i++) {
		int status;

		if (ptrace(PTRACE_SINGLESTEP, thread->tid, NULL, NULL) < 0)
			return FALSE;
		status = await_stop(thread->tid, CALL_WAIT_US);
		if (status <= 0 || !remote_registers_get(thread->tid, registers))
			return FALSE;
		if (remote_registers_is_past(registers, at))
			return TRUE;
	}
	return FALSE;
}

gint64 remote_thread_call(RemoteThread *thread, guint64 number, const guint64 arguments[6],
			  guint64 kept)
{
	RemoteRegisters registers = thread->before;

	remote_registers_prepare_call(&registers, thread->instruction, number, arguments, kept);
	if (!remote_registers_set(thread->tid, &registers) ||
	    !step(thread, &registers, thread->instruction))
		return -ESRCH;
	return remote_registers_result(&registers);
}

gint64 remote_thread_release(RemoteThread *thread)
{
	gint64 stopped_us;

	remote_registers_set(thread->tid, &thread->before);
	remote_vectors_restore(thread->tid, &thread->vectors);
	ptrace(PTRACE_SETSIGMASK, thread->tid, sizeof(guint64), &thread->signals_before);
	ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
	stopped_us = g_get_monotonic_time() - thread->stopped_us;
	thread->tid = 0;
	return stopped_us;
}

guint64 remote_thread_pointer(const RemoteThread *thread)
{
	return remote_registers_thread_pointer(thread->tid, &thread->before);
}
