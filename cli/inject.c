#include "inject.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach_room.h"
#include "remote_thread.h"

#define ANSWER_WAIT_US (60 * G_USEC_PER_SEC)
#define LOOK_US	       1000
#define DOUBT_WAIT_US  (2 * G_USEC_PER_SEC)
#define APART_WAIT_US  (20 * G_USEC_PER_SEC)
#define FIRST_WAIT_US                                                                              \
	(2 * G_USEC_PER_SEC) /* where other work keeps it from the processor, or a limit on it */
#define FIRST_LOOK_US  50
#define ROOM_DTV_SLOTS (ROOM_DTV_BYTES / 16)

/* What the process that traced tells the one that asked. */
struct report {
	gboolean is_done;
	guint64 room;
	gint64 stopped_us;
	gchar why[512];
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

/* --- what is where -------------------------------------------------------------------------- */

static guint64 data_of(guint64 room)
{
	return room + ROOM_CODE_BYTES;
}

static guint64 dtv_of(guint64 room)
{
	return data_of(room) + ROOM_DATA_BYTES;
}

static guint64 first_stack_end(guint64 room)
{
	return dtv_of(room) + ROOM_DTV_BYTES + ROOM_STACK_BYTES;
}

static guint64 thread_pointer_of(guint64 room)
{
	return first_stack_end(room) + ROOM_TLS_BYTES;
}

static guint64 second_stack_of(guint64 room)
{
	return thread_pointer_of(room) + ROOM_TLS_BYTES;
}

/* --- what the room must know ---------------------------------------------------------------- */

/* The third number of libthread_db's description of a field. */
static gboolean read_field(const Target *target, const gchar *name, guint64 *ret_offset)
{
	guint64 address = target_symbol(target, target->libc, name);
	guint32 words[3];

	if (!address || !target_read(target, address, words, sizeof(words)))
		return FALSE;
	*ret_offset = words[2];
	return words[2] < 4096;
}

/* Offsets of a thread's own id from its thread pointer: struct pthread is at it (x86-64) or ends there. */
static gboolean find_tid(const Target *target, struct attach_room *data)
{
	guint64 offset;

	if (!read_field(target, "_thread_db_pthread_tid", &offset))
		return FALSE;
	data->tid_in_thread = (gint32)offset;
#if defined(__aarch64__)
	guint64 address = target_symbol(target, target->libc, "_thread_db_sizeof_pthread");
	guint32 size;

	if (!address || !target_read(target, address, &size, sizeof(size)))
		return FALSE;
	offset -= size;
#endif
	data->tid_offset = offset;
	return TRUE;
}

static guint64 rseq_offset(const Target *target)
{
	guint64 size = target_symbol(target, target->loader, "__rseq_size");
	guint64 address = target_symbol(target, target->loader, "__rseq_offset");
	guint64 offset;

	return size && address && target_read(target, address, &offset, sizeof(offset)) ? offset
											: 0;
}

static gboolean find_functions(const Target *target, struct attach_room *data, GError **error)
{
	const struct {
		const gchar *name;
		guint64 base;
		guint64 *address;
	} functions[] = {
		{ "_dl_allocate_tls_init", target->loader, &data->allocate_tls_init },
		{ "__ctype_init", target->libc, &data->ctype_init },
		{ "pthread_create", target->libc, &data->create },
		{ "pthread_attr_init", target->libc, &data->attr_init },
		{ "pthread_attr_setstack", target->libc, &data->attr_setstack },
		{ "pthread_attr_setdetachstate", target->libc, &data->attr_setdetachstate },
		{ "dlopen", target->libc, &data->open },
		{ "dlsym", target->libc, &data->symbol },
		{ "dlerror", target->libc, &data->error },
	};

	for (guint i = 0; i < G_N_ELEMENTS(functions); i++) {
		*functions[i].address = target_symbol(target, functions[i].base, functions[i].name);
		if (!*functions[i].address)
			return fail(error,
				    "has a C library without %s: it may be a glibc older than 2.34",
				    functions[i].name);
	}
	if (!find_tid(target, data))
		return fail(error, "has a C library whose threads are not as tacho knows them");
	data->rseq_offset = rseq_offset(target);
	return TRUE;
}

/* --- the room ------------------------------------------------------------------------------- */

/* The head of a thread's descriptor, as libc makes it (sysdeps/x86_64/nptl/tls.h, sysdeps/aarch64/nptl/tls.h). The guards are those
 * of all threads. */
static gboolean write_thread_head(const RemoteThread *thread, guint64 room)
{
	const Target *target = thread->target;
	guint64 pointer = thread_pointer_of(room), slots[2] = { ROOM_DTV_SLOTS - 2, 0 };
	guint64 dtv = dtv_of(room) + 16;

	if (!target_write(target, dtv_of(room), slots, sizeof(slots)))
		return FALSE;
#if defined(__x86_64__)
	guint64 head[10] = { 0 }, theirs[10];

	if (!target_read(target, remote_thread_pointer(thread), theirs, sizeof(theirs)))
		return FALSE;
	head[0] = pointer; /* tcb */
	head[1] = dtv;
	head[2] = pointer;   /* self */
	head[3] = 1;	     /* multiple_threads */
	head[5] = theirs[5]; /* stack_guard */
	head[6] = theirs[6]; /* pointer_guard */
	head[9] = theirs[9]; /* feature_1 */
	return target_write(target, pointer, head, sizeof(head));
#else
	return target_write(target, pointer, &dtv, sizeof(dtv));
#endif
}

static guint64 make_room(RemoteThread *thread, GError **error)
{
	const guint64 magic = ROOM_MAGIC;
	const Target *target = thread->target;
	gsize stub_bytes = (gsize)(__stop_attach_stub - __start_attach_stub);
	gint64 room = remote_thread_call(
		thread, SYS_mmap,
		(const guint64[6]){ 0, ROOM_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~0ull, 0 },
		0);

	g_assert(stub_bytes + ROOM_CODE_OFFSET <= ROOM_CODE_BYTES);
	if (room < 0 && room > -4096) {
		fail(error, "gives no memory: %s", g_strerror((int)-room));
		return 0;
	}
	if (!target_write(target, (guint64)room + ROOM_CODE_OFFSET, __start_attach_stub,
			  stub_bytes) ||
	    !target_write(target, (guint64)room, &magic, sizeof(magic)) ||
	    !write_thread_head(thread, (guint64)room) ||
	    remote_thread_call(thread, SYS_mprotect,
			       (const guint64[6]){ (guint64)room, ROOM_CODE_BYTES,
						   PROT_READ | PROT_EXEC, 0, 0, 0 },
			       0) != 0) {
		remote_thread_call(thread, SYS_munmap,
				   (const guint64[6]){ (guint64)room, ROOM_BYTES, 0, 0, 0, 0 }, 0);
		fail(error, "lets no code be put into it (its memory cannot be made executable)");
		return 0;
	}
	return (guint64)room;
}

static gboolean has_ended(const Target *target, const struct attach_room *data)
{
	gint32 second = 0;

	if (data->first_alive)
		return FALSE;
	if (data->second && !target_read(target, data->second + (guint64)data->tid_in_thread,
					 &second, sizeof(second)))
		return FALSE;
	return second == 0;
}

/* The room that is there, if it may be used: one whose threads a fork left behind is not. 0: a new one is needed. */
static gboolean find_free_room(const Target *target, guint64 *ret_room, struct attach_room *data,
			       GError **error)
{
	guint64 room = target_find_room(target, ROOM_MAGIC);

	*ret_room = 0;
	memset(data, 0, sizeof(*data));
	if (!room || !target_read(target, data_of(room), data, sizeof(*data)))
		return TRUE;
	if (data->state == ROOM_ASKED || !has_ended(target, data)) {
		if (!target_has_inner_pid(target, data->pid)) {
			memset(data, 0, sizeof(*data));
			return TRUE;
		}
		return fail(error,
			    "is being attached to by another tacho, or has not ended what one "
			    "has begun");
	}
	*ret_room = room;
	return TRUE;
}

static gint64 begin_first_thread(RemoteThread *thread, guint64 room)
{
	const guint64 flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			      CLONE_SYSVSEM | CLONE_SETTLS | CLONE_CHILD_SETTID |
			      CLONE_CHILD_CLEARTID;
	const guint64 tid = data_of(room) + offsetof(struct attach_room, first_alive);
	gsize call = (gsize)(attach_stub_call - __start_attach_stub);

	thread->instruction = room + ROOM_CODE_OFFSET + call;
#if defined(__x86_64__)
	const guint64 arguments[6] = { flags, first_stack_end(room),   0,
				       tid,   thread_pointer_of(room), 0 };
#else
	const guint64 arguments[6] = { flags, first_stack_end(room),
				       0,     thread_pointer_of(room),
				       tid,   0 };
#endif
	return remote_thread_call(thread, SYS_clone, arguments, data_of(room));
}

static gboolean is_arena_limited(pid_t pid)
{
	g_autofree gchar *most = target_variable(pid, "MALLOC_ARENA_MAX");
	g_autofree gchar *tunables = target_variable(pid, "GLIBC_TUNABLES");

	return most || (tunables && strstr(tunables, "arena_max"));
}

/* As long as libc knows of one thread alone, that one takes no locks, or without a word to who waits for them: nobody else may come to
 * them while it is in libc. */
static gboolean is_only_thread(const Target *target)
{
	guint64 address = target_symbol(target, target->libc, "__libc_single_threaded");
	gchar is_single = 1;

	return (!address || !target_read(target, address, &is_single, 1) || is_single) &&
	       target_count_threads(target) == 1;
}

/* Stop a thread; an only one where it is not in libc. Where it is in a signal handler that may have interrupted libc, which takes the
 * locks for long, a new thread gets memory of its own from malloc() and waits for the loader: that is enough, but where malloc() has
 * one memory for all. */
static gboolean stop_apart(RemoteThread *thread, const Target *target, gboolean *ret_is_only,
			   GError **error)
{
	gint64 begin_us = g_get_monotonic_time();
	gboolean is_limited = is_arena_limited(target->pid);

	*ret_is_only = is_only_thread(target);
	for (;;) {
		RemotePlace place;
		gint64 waited_us;

		if (!remote_thread_stop(thread, target, error))
			return FALSE;
		place = *ret_is_only ? remote_thread_place(thread) : REMOTE_APART;
		waited_us = g_get_monotonic_time() - begin_us;
		if (place == REMOTE_APART ||
		    (place == REMOTE_DOUBT && waited_us > DOUBT_WAIT_US && !is_limited))
			return TRUE;
		remote_thread_release(thread);
		if (waited_us > APART_WAIT_US)
			return fail(error, "has one thread, which is always in the C library, in "
					   "the loader or in a signal "
					   "handler, where it must not be joined; try again");
		g_usleep((gulong)g_random_int_range(1, LOOK_US));
	}
}

/* From its pthread_create() on libc takes locks, and wakes who waits for them: until then the process's only thread stays where it is.
 * Not until the first thread has ended, where libc can be asked: that one may wait for a lock that the only thread holds. */
static void await_first_thread(const Target *target, guint64 room)
{
	guint64 address = target_symbol(target, target->libc, "__libc_single_threaded");
	gint64 deadline_us = g_get_monotonic_time() + FIRST_WAIT_US;
	struct attach_room data;
	gchar is_single = 1;

	while (g_get_monotonic_time() < deadline_us &&
	       target_read(target, data_of(room), &data, offsetof(struct attach_room, pid)) &&
	       data.first_alive &&
	       (!address || !target_read(target, address, &is_single, 1) || is_single))
		g_usleep(FIRST_LOOK_US);
}

static gboolean ask(const Target *target, struct attach_room *data, guint64 *room,
		    gint64 *ret_stopped_us, GError **error)
{
	const guint32 alive = 1;
	RemoteThread thread;
	gboolean is_only;
	gint64 tid = -1;

	if (!stop_apart(&thread, target, &is_only, error))
		return FALSE;
	if (!*room)
		*room = make_room(&thread, error);
	if (*room) {
		data->thread_pointer = thread_pointer_of(*room);
		data->second_stack = second_stack_of(*room);
		data->second_bytes = ROOM_SECOND_BYTES;
		data->state = ROOM_ASKED;
		data->first_alive = alive;
		if (target_write(target, data_of(*room), data, sizeof(*data)))
			tid = begin_first_thread(&thread, *room);
		if (tid > 0 && is_only)
			await_first_thread(target, *room);
		if (tid <= 0) {
			data->state = ROOM_FREE;
			data->first_alive = 0;
			target_write(target, data_of(*room), data, sizeof(*data));
			fail(error, "lets no thread be made in it: %s", g_strerror((int)-tid));
		}
	}
	*ret_stopped_us = remote_thread_release(&thread);
	return tid > 0;
}

/* --- from a process of its own -------------------------------------------------------------- */

/* Whoever traces and ends lets go of all it traces, however it ends. */
static void trace(const Target *target, struct attach_room *data, guint64 room, int to)
{
	struct report report = { 0 };
	GError *error = NULL;

	report.is_done = ask(target, data, &room, &report.stopped_us, &error);
	report.room = room;
	if (error)
		g_strlcpy(report.why, error->message, sizeof(report.why));
	if (write(to, &report, sizeof(report)) != (ssize_t)sizeof(report))
		_exit(1);
	_exit(0);
}

static gboolean trace_apart(const Target *target, struct attach_room *data, guint64 *room,
			    gint64 *ret_stopped_us, GError **error)
{
	struct report report = { 0 };
	ssize_t length;
	int ends[2], status;
	pid_t child;

	if (pipe(ends) < 0)
		return fail(error, "cannot be traced: %s", g_strerror(errno));
	child = fork();
	if (child == 0) {
		/* what the terminal sends must not end it while a thread of the job stands still */
		setpgid(0, 0);
		/* nor others keep it from the processor; who may not go first goes on as he is */
		if (setpriority(PRIO_PROCESS, 0, -20) < 0)
			errno = 0;
		close(ends[0]);
		trace(target, data, *room, ends[1]);
	}
	close(ends[1]);
	length = child < 0 ? 0 : read(ends[0], &report, sizeof(report));
	close(ends[0]);
	if (child > 0)
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	if (length != (ssize_t)sizeof(report))
		return fail(error, "cannot be traced: the process that was to trace it has failed");
	*room = report.room;
	*ret_stopped_us = report.stopped_us;
	return report.is_done || fail(error, "%s", report.why);
}

/* --- the answer ----------------------------------------------------------------------------- */

static gboolean await_answer(const Target *target, guint64 room, struct attach_room *data,
			     GError **error)
{
	gint64 deadline_us = g_get_monotonic_time() + ANSWER_WAIT_US;

	for (;;) {
		if (!target_read(target, data_of(room), data, sizeof(*data)))
			return fail(error, "has ended meanwhile");
		if (data->state != ROOM_ASKED && has_ended(target, data))
			return TRUE;
		if (!target_is_alive(target))
			return fail(error, "has ended meanwhile");
		if (g_get_monotonic_time() > deadline_us)
			return fail(
				error,
				"does not answer: its new thread waits for a lock of libc that a "
				"thread of the job does not give up; should it, what was asked for "
				"will be done yet");
		g_usleep(LOOK_US);
	}
}

gboolean inject_request(Target *target, const gchar *library, const gchar *request,
			Answer *ret_answer, GError **error)
{
	g_autofree struct attach_room *data = g_new0(struct attach_room, 1);
	guint64 room;

	ret_answer->text = NULL;
	ret_answer->stopped_us = 0;
	if (!find_free_room(target, &room, data, error) || !find_functions(target, data, error))
		return FALSE;
	data->entry = target_symbol(target, target->agent, ATTACH_ENTRY);
	if (target->agent && !data->entry)
		return fail(error, "has a libtacho.so of another version in it");
	if (g_strlcpy(data->library, library, sizeof(data->library)) >= sizeof(data->library) ||
	    g_strlcpy(data->request, request, sizeof(data->request)) >= sizeof(data->request))
		return fail(error, "cannot be told so much: the names of folders are too long");
	g_strlcpy(data->symbol_name, ATTACH_ENTRY, sizeof(data->symbol_name));
	data->answer[0] = '\0';
	data->second = 0;
	if (!trace_apart(target, data, &room, &ret_answer->stopped_us, error) ||
	    !await_answer(target, room, data, error))
		return FALSE;
	data->answer[sizeof(data->answer) - 1] = '\0';
	if (data->state == ROOM_NO_THREAD)
		return fail(error, "lets no thread be made in it: %s", g_strerror(-data->status));
	if (data->state == ROOM_NO_LIBRARY)
		return fail(error, "does not load libtacho.so: %s", data->answer);
	if (data->status < 0)
		return fail(error, "%s", *data->answer ? data->answer : g_strerror(-data->status));
	target_find_agent(target);
	if (*data->answer)
		ret_answer->text = g_strdup(data->answer);
	return TRUE;
}
