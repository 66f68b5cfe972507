#include "agent/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/declared_clock.h"
#include "agent/engine.h"
#include "agent/file_fault.h"
#include "agent/losses.h"
#include "agent/process_trace.h"
#include "agent/settings.h"
#include "agent/stream_file.h"
#include "agent/thread_start.h"
#include "agent/whole_ranks.h"
#include "common/activity.h"
#include "common/probe.h"

#define KB		   1024u
#define FIRST_FILE_BYTES   (4096u * KB) /* memory is taken only as far as it is made ready */
#define MIN_START_BYTES	   (256u * KB)
#define FILE_GROWTH	   8u /* each file is so much larger than the one before */
#define LEAST_GRANT_BYTES  (128u * KB)
#define MOST_GRANT_BYTES   (1024u * KB)
#define GRANT_SHARE	   4u /* of what is ready, one part is given at a time */
#define LEAD_FACTOR	   4u
#define MIN_LEAD_CHUNKS	   4u
#define MAX_LEAD_CHUNKS	   16u
#define MAX_SETTING_KB	   (1024u * KB)
#define HELPER_STACK_BYTES (256u * KB)
#define CLOCK_TRIES	   8
#define CLOCK_HASTE_NS	   20000u
#define LEAVE_TRIES	   2000
#define LEAVE_WAIT_US	   1000
#define FORK_PAUSE_NS	   50000       /* the helper looks so often whether a fork has begun */
#define STEP_BYTES	   (256u * KB) /* made ready at a time */
#define NS_PER_S	   UINT64_C(1000000000)
#define PATIENCE_NS	   200000   /* that a thread gives way to who makes memory ready ... */
#define IMPATIENT_NS	   10000000 /* ... and how long it does not where that was in vain */
#define LEFT_HOOK_NS	   1000000u

struct tacho_stream {
	struct tacho_stream
		*next; /* all streams, newest first; pushed by threads, removed by the helper */
	struct stream_file *current; /* the thread's own */
	struct stream_file *spare;   /* atomic: made by the helper, taken by the thread */
	struct tacho_writer *writer; /* of the thread; NULL once it has ended */
	uint64_t discarded;	     /* atomic: the helper reads it, for the engine */
	uint64_t told_discarded;     /* the helper's: to the engine */
	size_t granted;		     /* atomic: bytes of `current` the thread may write */
	size_t kept_bytes;	     /* content when the thread ended */
	uint64_t stopped_run_ns;     /* of its thread, when the recording was stopped */
	size_t seen_bytes;	     /* the helper's: content of `seen_file` when it last looked */
	const struct stream_file *seen_file;
	uint32_t number, tid;
	uint32_t newest_index; /* the helper's: of the last file made for the thread */
	bool has_called;       /* atomic: used up what it may write at least once */
	bool has_ended;	       /* atomic */
	char name[16];	       /* last seen */
};

TACHO_THREAD_LOCAL struct tacho_writer tacho_writer;
TACHO_THREAD_LOCAL struct tacho_device_call tacho_device_call;
bool tacho_clock_is_tsc;

/* Until there is a page, and where nothing is to be recorded, the process is this one. Its
 * is_recording and is_partial are what a forked child begins with. */
static struct tacho_process idle_process;
struct tacho_process *volatile tacho_process = &idle_process;

static size_t first_file_bytes, largest_file_bytes, chunk_bytes, start_bytes;
static struct tacho_stream *streams; /* atomic head */
static uint64_t homeless_drops;	     /* atomic: of threads that have no stream */
static uint32_t n_streams;
static pthread_key_t thread_end_key;
static bool has_thread_end_key;
static bool has_left;  /* for good, and all its children */
static bool was_alive; /* at the fork: a process whose recording was stopped has children like it */
static pid_t own_pid;  /* a vfork child shares all this, and must not end it */
static uint32_t thread_class, exit_class, clock_class, thread_name_class;

static struct {
	pthread_mutex_t
		is_working; /* held while it changes files: a fork or the end waits for it */
	pthread_mutex_t
		is_growing; /* in it: held while more of a file is made ready, by whomever */
	pthread_mutex_t start;
	bool is_started; /* atomic */
	uint32_t calls;	 /* futex */
	uint32_t forks;	 /* atomic: so many threads wait for is_working to fork, and go first */
	pid_t tid;	 /* atomic; 0: it has not run */
	struct tacho_stream *own_stream;
} helper = { .is_working = PTHREAD_MUTEX_INITIALIZER,
	     .is_growing = PTHREAD_MUTEX_INITIALIZER,
	     .start = PTHREAD_MUTEX_INITIALIZER };

/* A job's thread sanitizer does not see the atomic operations here, only what is allocated in one thread and
 * freed in another: where it is there, it is told who hands over to whom. */
extern void __tsan_release(void *address) __attribute__((weak));
extern void __tsan_acquire(void *address) __attribute__((weak));

static void tell_released(void)
{
	if (__tsan_release)
		__tsan_release(&streams);
}

static void tell_acquired(void)
{
	if (__tsan_acquire)
		__tsan_acquire(&streams);
}

static struct tacho_stream *first_stream(void)
{
	return __atomic_load_n(&streams, __ATOMIC_ACQUIRE);
}

/* No file is changed meanwhile. */
static void hold_files(void)
{
	pthread_mutex_lock(&helper.is_working);
	pthread_mutex_lock(&helper.is_growing);
}

static void let_files_change(void)
{
	pthread_mutex_unlock(&helper.is_growing);
	pthread_mutex_unlock(&helper.is_working);
}

static void call_helper(void)
{
	/* Only the first call after it slept needs the system call. */
	if (__atomic_exchange_n(&helper.calls, 1, __ATOMIC_ACQ_REL) == 0)
		syscall(SYS_futex, &helper.calls, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* --- the thread's side -------------------------------------------------------------------- */

static void read_thread_name(pid_t tid, char name[16])
{
	char path[64];
	ssize_t length = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, name, 15);
		close(fd);
	}
	if (length > 0 && name[length - 1] == '\n')
		length--;
	name[length > 0 ? length : 0] = '\0';
	if (fd < 0 && tid == syscall(SYS_gettid)) /* there is no /proc */
		prctl(PR_GET_NAME, name);
}

void stream_write_mark(uint32_t class_id, int64_t first, int64_t second, const char *text)
{
	size_t length = strnlen(text, TRACE_MAX_NAME_BYTES);
	uint32_t n_text = tacho_padded(length);
	struct record_mark *mark;

	mark = tacho_record_begin(class_id, (uint32_t)sizeof(*mark) + n_text);
	if (!mark)
		return;
	mark->first = first;
	mark->second = second;
	mark->n_text = n_text;
	mark->reserved = 0;
	memset(mark + 1, 0, n_text);
	memcpy(mark + 1, text, length);
	tacho_record_commit(mark);
}

static size_t ready_bytes(const struct stream_file *file)
{
	return __atomic_load_n(&file->ready_bytes, __ATOMIC_ACQUIRE);
}

/* How much the thread may write until it calls the helper. Where all cores are busy the helper takes
 * the thread's own, so it is called seldom; but while most of what is ready is still ahead. */
static size_t grant_bytes(size_t ahead)
{
	size_t bytes = ahead / GRANT_SHARE;

	if (bytes < LEAST_GRANT_BYTES)
		return LEAST_GRANT_BYTES;
	return bytes < MOST_GRANT_BYTES ? bytes : MOST_GRANT_BYTES;
}

/* Some of the room up to the file's ready end becomes the thread's: (2). */
static bool grant(struct tacho_writer *writer, struct stream_file *file)
{
	struct tacho_stream *stream = writer->stream;
	size_t ready = ready_bytes(file);
	size_t used = (size_t)(writer->cursor - (char *)file->packet);
	size_t room = used + grant_bytes(ready > used ? ready - used : 0);

	if (room > ready)
		room = ready;
	__atomic_store_n(&stream->granted, room, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&tacho_process->is_alive, __ATOMIC_SEQ_CST))
		return false;
	writer->limit = (char *)file->packet + room;
	return true;
}

static void start_helper(void);

static void thread_ends(void *stream_pointer)
{
	struct tacho_stream *stream = stream_pointer;
	struct tacho_writer *writer = &tacho_writer;

	if (stream != writer->stream ||
	    !tacho_is_alive_for(writer)) /* of before a fork or a stop */
		return;
	stream->kept_bytes = (size_t)(writer->cursor - (char *)writer->packet);
	stream->current->has_async = writer->has_async;
	memset(writer, 0, sizeof(*writer));
	tell_released();
	__atomic_store_n(&stream->writer, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&stream->has_ended, true, __ATOMIC_RELEASE);
	if (tacho_is_alive())
		call_helper();
}

static uint32_t noted_generation; /* atomic: of the process that has written of its losses */

/* A thread without a first file has no place to count what it drops: that it does is noted, once. */
static void note_homeless(int cause)
{
	uint32_t generation = tacho_process->generation;

	if (__atomic_exchange_n(&noted_generation, generation, __ATOMIC_RELAXED) != generation)
		losses_note(0, strerror(cause));
}

static void say_lost(int cause)
{
	tacho_say("records are lost, because %s cannot be written: %s; the job goes on",
		  process_trace_path(), strerror(cause));
}

static bool open_stream(struct tacho_writer *writer)
{
	struct tacho_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return false;
	stream->number = __atomic_fetch_add(&n_streams, 1, __ATOMIC_RELAXED);
	stream->tid = (uint32_t)syscall(SYS_gettid);
	stream->current = stream_file_new(
		stream->number, 0, stream->tid,
		start_bytes > first_file_bytes ? start_bytes : first_file_bytes, start_bytes);
	if (!stream->current) {
		note_homeless(errno);
		say_lost(errno);
		free(stream);
		return false;
	}
	stream->writer = writer;
	writer->stream = stream;
	writer->recording =
		tacho_generation(); /* what is_alive is, or was: it may end at any moment */
	writer->packet = stream->current->packet;
	writer->cursor = (char *)(writer->packet + 1);
	writer->has_async = 0;
	if (!grant(writer, stream->current))
		writer->limit = writer->cursor;
	/* not by /proc: what was looked up there of a thread must be forgotten when it ends */
	prctl(PR_GET_NAME, stream->name);
	tell_released();
	do {
		stream->next = first_stream();
	} while (!__atomic_compare_exchange_n(&streams, &stream->next, stream, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	if (has_thread_end_key)
		pthread_setspecific(thread_end_key, stream);
	writer->is_busy = 0;
	stream_write_mark(thread_class, writer->parent_tid, (int64_t)pthread_self(), stream->name);
	return true;
}

static void adopt(struct tacho_writer *writer, struct stream_file *file)
{
	struct tacho_stream *stream = writer->stream;

	tell_acquired();
	stream->current->has_async = writer->has_async;
	file->older = stream->current;
	file->index = stream->current->index + 1;
	file->packet->index = file->index;
	file->packet->discarded = stream->discarded;
	__atomic_store_n(&stream->current, file, __ATOMIC_RELEASE);
	writer->packet = file->packet;
	writer->cursor = (char *)(file->packet + 1);
	writer->limit = writer->cursor;
	writer->has_async = 0;
}

/* What comes after the recording's end is not a loss. */
static bool drop(struct tacho_writer *writer)
{
	if (!tacho_is_alive())
		return false;
	if (writer->stream)
		writer->packet->discarded =
			__atomic_add_fetch(&writer->stream->discarded, 1, __ATOMIC_RELAXED);
	else
		__atomic_add_fetch(&homeless_drops, 1, __ATOMIC_RELAXED);
	return false;
}

/* Put what threads without a stream have dropped down to this thread's. */
static void adopt_drops(struct tacho_writer *writer)
{
	if (!writer->stream)
		return;
	writer->packet->discarded = __atomic_add_fetch(
		&writer->stream->discarded,
		__atomic_exchange_n(&homeless_drops, 0, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/* Atomic: until then no thread helps itself, or gives way. */
static uint64_t helpless_until_ns, impatient_until_ns;

static uint64_t ns_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Who makes memory ready is a few system calls from done, but may have lost the core: it is given ours. */
static bool take_turn(uint64_t now_ns)
{
	uint64_t begun_ns;

	if (pthread_mutex_trylock(&helper.is_growing) == 0)
		return true;
	if (now_ns < __atomic_load_n(&impatient_until_ns, __ATOMIC_RELAXED))
		return false;
	begun_ns = ns_of(CLOCK_MONOTONIC);
	do {
		sched_yield();
		if (pthread_mutex_trylock(&helper.is_growing) == 0)
			return true;
	} while (ns_of(CLOCK_MONOTONIC) - begun_ns < PATIENCE_NS);
	__atomic_store_n(&impatient_until_ns, now_ns + IMPATIENT_NS, __ATOMIC_RELAXED);
	return false;
}

static void help_oneself(void *stream_pointer)
{
	struct tacho_stream *stream = stream_pointer;
	uint64_t now_ns = ns_of(CLOCK_MONOTONIC_COARSE);

	if (now_ns < __atomic_load_n(&helpless_until_ns, __ATOMIC_RELAXED) || !take_turn(now_ns))
		return;
	if (tacho_is_alive() && stream_file_make_ready(stream->current, STEP_BYTES) < 0)
		__atomic_store_n(&helpless_until_ns, now_ns + NS_PER_S, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&helper.is_growing);
}

/* The helper waits for a core, and all that it has made ready is used: (4) of stream.h. */
static bool make_own_room(struct tacho_writer *writer)
{
	struct stream_file *file = writer->stream->current;

	if (tacho_has_engine || ready_bytes(file) >= file->size_bytes)
		return false;
	writer->is_busy = 1;
	tacho_run_aside(help_oneself, writer->stream);
	writer->is_busy = 0;
	return grant(writer, file);
}

static bool has_room(const struct tacho_writer *writer, uint32_t size_bytes)
{
	return (size_t)(writer->limit - writer->cursor) >= size_bytes;
}

static bool find_room(struct tacho_writer *writer, uint32_t size_bytes)
{
	struct stream_file *spare;

	__atomic_store_n(&writer->stream->has_called, true, __ATOMIC_RELEASE);
	if (!grant(writer, writer->stream->current))
		return false;
	if ((size_t)((char *)writer->packet + writer->stream->current->size_bytes -
		     writer->cursor) < size_bytes) {
		spare = tacho_has_engine ? stream_file_new(writer->stream->number, 0,
							   writer->stream->tid, 0, 0)
					 : __atomic_exchange_n(&writer->stream->spare, NULL,
							       __ATOMIC_ACQ_REL);
		if (spare) {
			adopt(writer, spare);
			if (!grant(writer, spare))
				return false;
		}
	}
	call_helper();
	return has_room(writer, size_bytes) ||
	       (make_own_room(writer) && has_room(writer, size_bytes));
}

static time_t retry_after_s; /* atomic */

static void begin_recording(void *writer_pointer)
{
	struct tacho_writer *writer = writer_pointer;
	struct timespec now;

	if (!process_trace_open()) {
		__atomic_store_n(&tacho_process->is_alive, 0, __ATOMIC_SEQ_CST);
	} else if (open_stream(writer)) {
		start_helper();
	} else {
		clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
		__atomic_store_n(&retry_after_s, now.tv_sec + 1, __ATOMIC_RELAXED);
	}
}

/* Busy meanwhile: what the probes would record of its system calls is not the job's. Where the disk is
 * full it is tried again, but not at every record. */
static bool open_first_file(struct tacho_writer *writer)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (now.tv_sec < __atomic_load_n(&retry_after_s, __ATOMIC_RELAXED))
		return drop(writer);
	writer->is_busy = 1;
	tacho_run_aside(begin_recording, writer);
	writer->is_busy = 0;
	return writer->stream || drop(writer);
}

bool tacho_record_wait(uint32_t size_bytes, uint32_t *milliseconds)
{
	struct tacho_writer *writer = &tacho_writer;
	const struct timespec one_ms = { 0, 1000000 };
	int cause = errno;
	bool is_found;

	/* a thread's first file is made by its first record */
	while (!(is_found = !tacho_is_alive() || writer->is_busy || !writer->stream ||
			    has_room(writer, size_bytes) || find_room(writer, size_bytes)) &&
	       *milliseconds) {
		nanosleep(&one_ms, NULL);
		--*milliseconds;
	}
	errno = cause;
	return is_found;
}

/* The stream is of a recording that was stopped: streams_stop() has it. */
static void leave_stopped_stream(struct tacho_writer *writer)
{
	writer->stream = NULL;
	writer->packet = NULL;
	writer->cursor = writer->limit = NULL;
	writer->has_async = 0;
}

bool tacho_record_make_room(uint32_t size_bytes)
{
	struct tacho_writer *writer = &tacho_writer;
	int cause = errno;
	bool is_found;

	if (!tacho_is_alive())
		return false;
	if (!tacho_is_alive_for(writer) && !writer->scratch)
		leave_stopped_stream(writer);
	if (writer->is_busy || !size_bytes)
		return drop(writer);
	if (writer->scratch)
		return tacho_scratch_rewind(), true;
	is_found = (writer->stream || open_first_file(writer)) &&
		   (has_room(writer, size_bytes) || find_room(writer, size_bytes) || drop(writer));
	errno = cause;
	return is_found;
}

/* --- scratch ------------------------------------------------------------------------------ */

static TACHO_THREAD_LOCAL struct tacho_writer writer_before_scratch;

bool tacho_scratch_begin(size_t bytes)
{
	struct tacho_writer *writer = &tacho_writer;
	struct packet_header *scratch =
		writer->scratch ? NULL : calloc(1, bytes + sizeof(*scratch));

	if (!scratch) /* or somebody measures already */
		return false;
	writer_before_scratch = *writer;
	writer->scratch = scratch;
	writer->packet = scratch;
	writer->recording =
		tacho_generation(); /* what is_alive is, or was: it may end at any moment */
	writer->limit = (char *)(scratch + 1) + bytes;
	tacho_scratch_rewind();
	return true;
}

void tacho_scratch_rewind(void)
{
	tacho_writer.cursor = (char *)((struct packet_header *)tacho_writer.scratch + 1);
}

void tacho_scratch_end(void)
{
	free(tacho_writer.scratch);
	tacho_writer = writer_before_scratch;
}

/* --- the helper's side -------------------------------------------------------------------- */

static size_t content_bytes(const struct stream_file *file)
{
	return __atomic_load_n(&file->packet->content_bits, __ATOMIC_ACQUIRE) / 8;
}

static size_t next_file_bytes(const struct stream_file *file)
{
	size_t size = file->size_bytes * FILE_GROWTH;

	return size < largest_file_bytes ? size : largest_file_bytes;
}

/* How far ahead of the thread memory should be ready: some times what it has written since the last
 * look, so that a burst is met by larger steps, and always enough for the time that the helper may
 * wait for a core. 0: a thread that has not called yet, and may never go on. */
static size_t lead_bytes(struct tacho_stream *stream, const struct stream_file *file, size_t used)
{
	size_t written = file == stream->seen_file ? used - stream->seen_bytes : used;
	size_t lead = written * LEAD_FACTOR;

	if (!__atomic_load_n(&stream->has_called, __ATOMIC_ACQUIRE))
		return 0;
	stream->seen_file = file;
	stream->seen_bytes = used;
	if (lead < MIN_LEAD_CHUNKS * chunk_bytes)
		return MIN_LEAD_CHUNKS * chunk_bytes;
	return lead < MAX_LEAD_CHUNKS * chunk_bytes ? lead : MAX_LEAD_CHUNKS * chunk_bytes;
}

static int make_spare(struct tacho_stream *stream, const struct stream_file *file)
{
	struct stream_file *spare = stream_file_new(stream->number, file->index + 1, stream->tid,
						    next_file_bytes(file), 2 * chunk_bytes);

	if (!spare)
		return -errno;
	stream->newest_index = spare->index;
	tell_released();
	__atomic_store_n(&stream->spare, spare, __ATOMIC_RELEASE);
	return 0;
}

/* A little more of the file. The lock is held no longer, for its thread may be about to help itself. */
static int make_ready(struct stream_file *file)
{
	int status;

	pthread_mutex_lock(&helper.is_growing);
	status = stream_file_make_ready(file, STEP_BYTES);
	pthread_mutex_unlock(&helper.is_growing);
	return status;
}

/* Keep memory ready ahead of the thread, and near the end of its file the next one. The thread may
 * be about to move on to the spare, which it took: then `file` is not the newest. */
static void prepare(struct tacho_stream *stream)
{
	struct stream_file *file = __atomic_load_n(&stream->current, __ATOMIC_ACQUIRE);
	struct stream_file *spare = __atomic_load_n(&stream->spare, __ATOMIC_ACQUIRE);
	size_t used = content_bytes(file);
	size_t lead = lead_bytes(stream, file, used);
	int status = 0;

	while (status == 0 && ready_bytes(file) < file->size_bytes &&
	       ready_bytes(file) < used + lead)
		status = make_ready(file);
	if (status == 0 && lead && !spare && file->index == stream->newest_index &&
	    file->size_bytes - used < lead + file->size_bytes / 4)
		status = make_spare(stream, file);
	if (status < 0)
		say_lost(-status);
}

/* The engine has what is in them: they are done with when no slice in them is open any more. */
static void give_back_older(struct tacho_stream *stream)
{
	struct stream_file **place = &__atomic_load_n(&stream->current, __ATOMIC_ACQUIRE)->older;
	struct stream_file *file;

	while ((file = *place)) {
		if (__atomic_load_n(&file->packet->reserved, __ATOMIC_ACQUIRE)) {
			place = &file->older;
			continue;
		}
		*place = file->older;
		stream_file_give_back(file);
	}
}

static void rest_older(struct tacho_stream *stream)
{
	struct stream_file *file = __atomic_load_n(&stream->current, __ATOMIC_ACQUIRE)->older;

	if (file && file->ready_bytes) {
		stream_file_rest(file);
		file->ready_bytes = 0; /* done once; nobody reads it any more */
	}
}

static void tell_discarded(struct tacho_stream *stream)
{
	uint64_t discarded = __atomic_load_n(&stream->discarded, __ATOMIC_RELAXED);

	if (discarded == stream->told_discarded)
		return;
	stream->told_discarded = discarded;
	engine_tell_dropped(stream->number, stream->tid, discarded);
}

/* A file in which another thread may yet end a slice stays mapped. */
static void free_files(struct stream_file *file)
{
	while (file) {
		struct stream_file *older = file->older;

		if (!file->has_async)
			stream_file_free(file);
		else if (tacho_has_engine &&
			 !__atomic_load_n(&file->packet->reserved, __ATOMIC_ACQUIRE))
			stream_file_give_back(file);
		file = older;
	}
}

static void cut_stream(struct tacho_stream *stream, size_t keep_bytes)
{
	struct stream_file *spare = __atomic_exchange_n(&stream->spare, NULL, __ATOMIC_ACQ_REL);

	if (spare) {
		stream_file_cut(spare, 0);
		stream_file_free(spare);
	}
	stream_file_cut(stream->current, keep_bytes);
	if (tacho_has_engine)
		tell_discarded(stream);
}

static void unlink_stream(struct tacho_stream *stream)
{
	struct tacho_stream **place = &streams;
	struct tacho_stream *head = stream;

	/* New streams are pushed at the head while we look: only removing the head can collide. */
	if (__atomic_compare_exchange_n(&streams, &head, stream->next, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return;
	for (struct tacho_stream *other = head; other; other = other->next) {
		if (other->next == stream) {
			place = &other->next;
			break;
		}
	}
	*place = stream->next;
}

static void tend(struct tacho_stream *stream)
{
	if (__atomic_load_n(&stream->has_ended, __ATOMIC_ACQUIRE)) {
		unlink_stream(stream);
		cut_stream(stream, stream->kept_bytes);
		free_files(stream->current);
		free(stream);
		return;
	}
	if (tacho_has_engine) {
		give_back_older(stream);
		return;
	}
	prepare(stream);
	rest_older(stream);
}

static void tend_all(void)
{
	struct tacho_stream *next;

	tell_acquired();
	for (struct tacho_stream *stream = first_stream(); stream; stream = next) {
		next = stream->next;
		tend(stream);
		if (__atomic_load_n(&helper.forks, __ATOMIC_SEQ_CST)) {
			__atomic_store_n(&helper.calls, 1, __ATOMIC_SEQ_CST); /* go on at once */
			break;
		}
	}
}

/* A mutex is not fair: who unlocks it and comes back at once takes it again before who waits has woken up. */
static void let_forks_go_first(void)
{
	const struct timespec pause = { .tv_nsec = FORK_PAUSE_NS };

	while (__atomic_load_n(&helper.forks, __ATOMIC_SEQ_CST))
		nanosleep(&pause, NULL);
}

/* The clocks at the record's stamp. Who loses the core between two of them would tell of clocks that
 * went apart: it is tried again, with a new stamp, the last of the file so far. */
static void write_clocks(void)
{
	struct record_clock *record = tacho_record_begin(clock_class, sizeof(*record));
	uint64_t before, after;

	if (!record)
		return;
	for (int i = 0; i < CLOCK_TRIES; i++) {
		before = declared_clock_system_ns(CLOCK_MONOTONIC);
		record->header.stamp = tacho_next_stamp();
		record->real_ns = declared_clock_system_ns(CLOCK_REALTIME);
		after = declared_clock_system_ns(CLOCK_MONOTONIC);
		record->mono_ns = before;
		if (after - before < CLOCK_HASTE_NS)
			break;
	}
	tacho_record_commit(record);
}

/* Threads are often named after their first record. */
static void write_new_names(void)
{
	for (struct tacho_stream *stream = first_stream(); stream; stream = stream->next) {
		char name[16];

		read_thread_name((pid_t)stream->tid, name);
		if (!*name || strcmp(name, stream->name) == 0)
			continue;
		strcpy(stream->name, name);
		stream_write_mark(thread_name_class, stream->tid, 0, name);
	}
}

/* Its own records too are written under the lock: none comes after streams_close(). */
static void work(time_t *last_s)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&helper.is_working);
	if (tacho_is_alive()) {
		if (now.tv_sec != *last_s) {
			write_clocks();
			/* a process that is over in a moment, as many forked children are, is not looked up in
			 * /proc meanwhile: who waits for its end would have to wait for that, too */
			if (*last_s)
				write_new_names();
			adopt_drops(&tacho_writer);
			for (struct tacho_stream *stream = tacho_has_engine ? first_stream() : NULL;
			     stream; stream = stream->next)
				tell_discarded(stream);
			*last_s = now.tv_sec;
		}
		tend_all();
	}
	pthread_mutex_unlock(&helper.is_working);
}

static void *help(void *unused)
{
	const struct timespec second = { .tv_sec = 1 };
	time_t last_s = 0;

	(void)unused;
	pthread_setname_np(pthread_self(), "tacho");
	tacho_writer.is_inside = 1;
	__atomic_store_n(&helper.tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	tacho_thread_begins();
	tacho_own_files();
	while (tacho_is_alive()) {
		__atomic_store_n(&helper.calls, 0, __ATOMIC_SEQ_CST);
		let_forks_go_first();
		work(&last_s);
		syscall(SYS_futex, &helper.calls, FUTEX_WAIT_PRIVATE, 0, &second, NULL, 0);
	}
	tacho_thread_ends();
	return NULL;
}

static void start_helper(void)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;

	/* The helper comes by here with is_working held, a fork takes that after start. */
	if (__atomic_load_n(&helper.is_started, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&helper.start);
	if (!helper.is_started) {
		__atomic_store_n(&helper.is_started, true, __ATOMIC_RELEASE);
		sigfillset(&all);
		sigdelset(&all, SIGBUS); /* it touches files that somebody may cut */
		pthread_sigmask(SIG_SETMASK, &all, &before); /* the job's signals are the job's */
		pthread_attr_init(&attributes);
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attributes, HELPER_STACK_BYTES);
		/* As the job would: in front of libc's may stand who must know every thread. */
		if (thread_start_first(&thread, &attributes, help, NULL) != 0)
			tacho_say("cannot start the helper thread, so long recordings will lose "
				  "records");
		pthread_attr_destroy(&attributes);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_mutex_unlock(&helper.start);
}

/* --- what probes may call ----------------------------------------------------------------- */

void streams_set_partial(bool is_partial)
{
	idle_process.is_partial = is_partial;
	__atomic_store_n(&tacho_process->is_partial, is_partial, __ATOMIC_RELAXED);
}

bool tacho_records_all(void)
{
	return !tacho_is_partial();
}

void tacho_recording_set(bool is_recording)
{
	idle_process.is_recording = is_recording;
	__atomic_store_n(&tacho_process->is_recording, is_recording, __ATOMIC_RELAXED);
}

void tacho_mark(const char *name, int64_t first, int64_t second, const char *text)
{
	stream_write_mark(tacho_class(TRACE_KIND_MARK, name, strlen(name)), first, second,
			  text ? text : "");
	if (strcmp(name, TRACE_RANK_MARK) == 0)
		whole_ranks_told(first);
}

static void write_cost(enum trace_kind event_kind, uint32_t event_class, const char *probe,
		       uint64_t picoseconds)
{
	struct record_cost *cost;

	cost = tacho_record_begin(tacho_class(TRACE_KIND_COST, probe, strlen(probe)),
				  sizeof(*cost));
	if (!cost)
		return;
	cost->picoseconds = picoseconds + engine_cost_ps(event_kind);
	cost->event_kind = event_kind;
	cost->event_class = event_class;
	tacho_record_commit(cost);
}

void tacho_cost(enum trace_kind event_kind, const char *probe, uint64_t picoseconds)
{
	write_cost(event_kind, 0, probe, picoseconds);
}

void tacho_kernel_cost(uint32_t class_id, const char *probe, uint64_t picoseconds)
{
	if (class_id)
		write_cost(TRACE_KIND_KERNEL, class_id, probe, picoseconds);
}

void tacho_op_cost(uint32_t class_id, const char *probe, uint64_t picoseconds)
{
	if (class_id)
		write_cost(TRACE_KIND_OP, class_id, probe, picoseconds);
}

void *tacho_slice_begin_named(int kind, const char *name, uint64_t id)
{
	if (!tacho_is_recording() || (kind != TRACE_KIND_ANNOTATION && tacho_is_partial()) ||
	    (kind != TRACE_KIND_ANNOTATION && kind != TRACE_KIND_MODULE &&
	     kind != TRACE_KIND_WAIT && kind != TRACE_KIND_FUNCTION && kind != TRACE_KIND_SPAN))
		return NULL;
	if (kind == TRACE_KIND_SPAN)
		return tacho_span_begin(tacho_class(TRACE_KIND_SPAN, name, strlen(name)), id);
	return tacho_slice_begin(tacho_class((enum trace_kind)kind, name, strlen(name)), id);
}

bool streams_hold(const void *record)
{
	const struct tacho_writer *writer = &tacho_writer;

	if (writer->scratch)
		return true;
	if (writer->packet && tacho_is_alive_for(writer) &&
	    (uintptr_t)record - (uintptr_t)writer->packet < writer->packet->packet_bits / 8)
		return true;
	return file_fault_covers(record);
}

void tacho_slice_end_named(void *slice)
{
	if (slice && streams_hold(slice))
		tacho_slice_finish(slice);
}

/* --- the process's life ------------------------------------------------------------------- */

static uint32_t generations;

static void fill_process_page(struct tacho_process *page)
{
	own_pid = getpid();
	page->generation = ++generations;
	__atomic_store_n(&page->is_recording, idle_process.is_recording, __ATOMIC_RELAXED);
	__atomic_store_n(&page->is_partial, idle_process.is_partial, __ATOMIC_RELAXED);
	__atomic_store_n(&page->is_alive, page->generation, __ATOMIC_SEQ_CST);
}

/* Whole pages, in bounds. */
static size_t bytes_of(uint64_t kb, size_t least_bytes)
{
	uint64_t bytes = (kb < MAX_SETTING_KB ? kb : MAX_SETTING_KB) * KB & ~(uint64_t)4095;

	return bytes > least_bytes ? (size_t)bytes : least_bytes;
}

/* The page of a process that was recorded before is kept: others have its address. */
static struct tacho_process *find_process_page(void)
{
	struct tacho_process *page = tacho_process;

	if (page != &idle_process)
		return page;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	madvise(page, 4096, MADV_WIPEONFORK);
	return page;
}

bool streams_configure(const struct agent_settings *settings)
{
	struct tacho_process *page = find_process_page();

	if (!page)
		return false;
	first_file_bytes = FIRST_FILE_BYTES;
	largest_file_bytes = bytes_of(settings->file_kb, FIRST_FILE_BYTES);
	chunk_bytes = bytes_of(settings->chunk_kb, MIN_START_BYTES);
	start_bytes = bytes_of(settings->start_kb, MIN_START_BYTES);
	if (tacho_has_engine) {
		first_file_bytes = largest_file_bytes = ENGINE_FILE_BYTES;
		start_bytes = MIN_START_BYTES;
	}
	thread_class = tacho_class(TRACE_KIND_THREAD, "thread", strlen("thread"));
	exit_class = tacho_class(TRACE_KIND_EXIT, "exit", strlen("exit"));
	clock_class = tacho_class(TRACE_KIND_CLOCK, "clock", strlen("clock"));
	thread_name_class = tacho_class(TRACE_KIND_MARK, "thread_name", strlen("thread_name"));
	if (!has_thread_end_key)
		has_thread_end_key = pthread_key_create(&thread_end_key, thread_ends) == 0;
	idle_process.is_recording = 1;
	fill_process_page(page);
	tacho_process = page;
	return true;
}

/* The files end where their threads may have written. */
static void cut_streams(void)
{
	struct timespec deadline;
	bool is_locked;

	if (!__atomic_exchange_n(&tacho_process->is_alive, 0, __ATOMIC_SEQ_CST))
		return;
	/* The helper is at most a few system calls from done; a disk that hangs is not waited for.
	 */
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 2;
	is_locked = pthread_mutex_timedlock(&helper.is_working, &deadline) == 0;
	if (is_locked && pthread_mutex_timedlock(&helper.is_growing, &deadline) != 0) {
		pthread_mutex_unlock(&helper.is_working);
		is_locked = false;
	}
	tell_acquired();
	for (struct tacho_stream *stream = is_locked ? first_stream() : NULL; stream;
	     stream = stream->next) {
		if (__atomic_load_n(&stream->has_ended, __ATOMIC_ACQUIRE))
			cut_stream(stream, stream->kept_bytes);
		else if (stream == tacho_writer.stream)
			cut_stream(stream, content_bytes(stream->current));
		else
			cut_stream(stream, __atomic_load_n(&stream->granted, __ATOMIC_SEQ_CST));
	}
	if (is_locked)
		let_files_change();
	if (tacho_has_engine)
		engine_note_untold();
}

static void close_streams(void *exit_status)
{
	uint64_t dropped;

	adopt_drops(&tacho_writer);
	dropped = __atomic_exchange_n(&homeless_drops, 0, __ATOMIC_RELAXED);
	if (dropped)
		losses_note(dropped, "threads without a file of their own");
	stream_write_mark(exit_class, *(const int *)exit_status, 0, "");
	cut_streams();
}

static bool helper_is_gone(void)
{
	pid_t tid = __atomic_load_n(&helper.tid, __ATOMIC_ACQUIRE);

	if (!__atomic_load_n(&helper.is_started, __ATOMIC_ACQUIRE))
		return true;
	return tid && syscall(SYS_tgkill, own_pid, tid, 0) < 0;
}

static void end_helper(void)
{
	__atomic_store_n(&helper.calls, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &helper.calls, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	for (int i = 0; i < LEAVE_TRIES && !helper_is_gone(); i++)
		usleep(LEAVE_WAIT_US);
}

static void leave(void *cause)
{
	losses_note(0, cause);
	tacho_say("recording of process %d ends here, the job goes on: %s", (int)getpid(),
		  (const char *)cause);
	cut_streams();
	end_helper();
}

void streams_leave(const char *cause)
{
	if (!tacho_is_alive() || getpid() != own_pid)
		return;
	has_left = true;
	tacho_recording_set(false);
	if (process_trace_is_open())
		tacho_run_aside(leave, (void *)cause);
	__atomic_store_n(&tacho_process->is_alive, 0, __ATOMIC_SEQ_CST);
}

void streams_close(int exit_status)
{
	if (tacho_is_alive() && process_trace_is_open() && getpid() == own_pid)
		tacho_run_aside(close_streams, &exit_status);
}

/* --- a stop, and what it leaves behind ------------------------------------------------------ */

/* Streams of recordings that were stopped. A thread may still be in a hook that stores into their files: those
 * are private memory by now, and unmapped when its thread has certainly left the hook. */
static struct tacho_stream *stopped_streams;

static void take_off_disk(struct tacho_stream *stream)
{
	for (struct stream_file *file = stream->current; file; file = file->older)
		stream_file_disown(file);
	if (stream->spare)
		stream_file_disown(stream->spare);
}

static void free_stopped(struct tacho_stream *stream)
{
	struct stream_file *file = stream->current, *older;

	for (; file; file = older) {
		older = file->older;
		stream_file_free(file);
	}
	stream_file_free(stream->spare);
	free(stream);
}

/* What the thread's writer says, which is gone with its thread at any moment. */
static bool read_writer(const struct tacho_stream *stream, struct tacho_writer *writer)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	bool is_read =
		fd >= 0 && pread(fd, writer, sizeof(*writer), (off_t)(uintptr_t)stream->writer) ==
				   (ssize_t)sizeof(*writer);

	if (fd >= 0)
		close(fd);
	return is_read;
}

/* How long the thread has run, ns; false: it is gone. */
static bool read_run_time(uint32_t tid, uint64_t *ret_ns)
{
	const clockid_t clock =
		(clockid_t)(~tid << 3 | 6); /* its processor time: stack_sampler.c */
	struct timespec time;

	if (syscall(SYS_tgkill, own_pid, tid, 0) < 0)
		return false;
	if (clock_gettime(clock, &time) < 0)
		return false;
	*ret_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	return true;
}

static bool is_asleep(uint32_t tid)
{
	char path[64], text[512];
	ssize_t length;
	const char *name_end;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' && name_end[2] == 'S';
}

/* Whether its thread can hold no record of the stream any more. Between a look at is_alive and is_busy lie a few
 * instructions without a system call: who sleeps is not there, and who has run for a while has left. */
static bool is_quiet(const struct tacho_stream *stream)
{
	struct tacho_writer writer;
	uint64_t run_ns;

	if (__atomic_load_n(&stream->has_ended, __ATOMIC_ACQUIRE) ||
	    !read_run_time(stream->tid, &run_ns))
		return true;
	if (!read_writer(stream, &writer))
		return false;
	if (writer.stream == stream && (writer.is_busy || writer.is_inside))
		return false;
	return is_asleep(stream->tid) || run_ns - stream->stopped_run_ns >= LEFT_HOOK_NS;
}

static void free_quiet_streams(void)
{
	struct tacho_stream **place = &stopped_streams, *stream;

	while ((stream = *place)) {
		if (is_quiet(stream)) {
			*place = stream->next;
			free_stopped(stream);
		} else {
			place = &stream->next;
		}
	}
}

static void retire_streams(void)
{
	struct tacho_stream *stream = streams, *next;

	for (; stream; stream = next) {
		next = stream->next;
		take_off_disk(stream);
		if (!read_run_time(stream->tid, &stream->stopped_run_ns))
			stream->stopped_run_ns = 0;
		stream->next = stopped_streams;
		stopped_streams = stream;
	}
	streams = NULL;
	n_streams = 0;
}

/* The last record tells when it was stopped. */
static void stop(void *unused)
{
	uint64_t dropped;

	(void)unused;
	adopt_drops(&tacho_writer);
	dropped = __atomic_exchange_n(&homeless_drops, 0, __ATOMIC_RELAXED);
	if (dropped)
		losses_note(dropped, "threads without a file of their own");
	stream_write_mark(
		tacho_class(TRACE_KIND_MARK, TRACE_STOPPED_MARK, strlen(TRACE_STOPPED_MARK)), 0, 0,
		"");
	cut_streams();
	end_helper();
}

void streams_stop(void)
{
	if (!tacho_is_alive() || getpid() != own_pid)
		return;
	if (process_trace_is_open())
		tacho_run_aside(stop, NULL);
	__atomic_store_n(&tacho_process->is_alive, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tacho_process->generation, ++generations, __ATOMIC_SEQ_CST);
	hold_files(); /* a stop that did not get it: the disk hung */
	helper.is_started = false;
	helper.calls = 0;
	helper.tid = 0;
	retire_streams();
	homeless_drops = 0;
	let_files_change();
	process_trace_leave();
	file_fault_leave();
}

bool streams_settle(void)
{
	bool is_settled;

	pthread_mutex_lock(&helper.is_working);
	free_quiet_streams();
	is_settled = !stopped_streams;
	pthread_mutex_unlock(&helper.is_working);
	return is_settled;
}

/* -------------------------------------------------------------------------------------------- */

void streams_before_fork(void)
{
	__atomic_fetch_add(&helper.forks, 1, __ATOMIC_SEQ_CST);
	was_alive = tacho_is_alive(); /* the child's page says nothing */
	pthread_mutex_lock(&helper.start);
	hold_files();
	__atomic_fetch_sub(&helper.forks, 1, __ATOMIC_SEQ_CST);
	process_trace_before_fork();
	engine_before_fork();
}

static void disown_streams(void)
{
	for (struct tacho_stream *stream = streams; stream; stream = stream->next) {
		for (struct stream_file *file = stream->current; file; file = file->older)
			stream_file_disown(file);
		if (stream->spare)
			stream_file_disown(stream->spare);
	}
	streams = NULL;
	stopped_streams = NULL; /* their threads are not in the child; private as they are */
	n_streams = 0;
	homeless_drops = 0;
}

void streams_after_fork(bool is_child)
{
	engine_after_fork(is_child);
	process_trace_after_fork(is_child);
	let_files_change();
	pthread_mutex_unlock(&helper.start);
	if (!is_child)
		return;
	disown_streams();
	memset(&tacho_writer, 0, sizeof(tacho_writer));
	__atomic_store_n(&helper.is_started, false, __ATOMIC_RELEASE);
	helper.calls = 0;
	helper.forks = 0;
	helper.tid = 0;
	if (tacho_process != &idle_process && !has_left && was_alive)
		fill_process_page(tacho_process);
}
