/* probe: what a probe needs of the agent (libtacho.so): a clock, classes, and records written
 * straight into the calling thread's stream file. The hot path is inline; it takes no lock, makes
 * no call and never waits.
 *
 * Writing a slice:
 *
 *     static _Thread_local uint32_t class_id;      // or a cache of your own: classes are for ever
 *     struct record_slice *slice = tacho_record_begin(class_id, sizeof(*slice));
 *     if (slice) {
 *             slice->duration = TRACE_OPEN;
 *             slice->id = 0;
 *             tacho_record_commit(slice);
 *     }
 *     ... the work ...
 *     if (slice)
 *             tacho_slice_end(slice, &slice->duration);
 *
 * (1) Between begin and commit no other record can be begun by this thread: one that is, from a
 *     signal handler say, is dropped and counted.
 * (2) A NULL record was dropped and counted; the probe goes on.
 * (3) A slice may be ended by another thread, if it was begun with tacho_record_begin_async().
 * (4) After a fork the child writes into a trace of its own. Ending, in the child, a slice that was
 *     begun before the fork has no effect: the agent puts private memory in the files' place.
 *
 * C and C++; libc only. */
#ifndef TACHO_PROBE_H
#define TACHO_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "trace/trace_layout.h"

#ifdef __cplusplus
extern "C" {
#define TACHO_THREAD_LOCAL thread_local
#else
#define TACHO_THREAD_LOCAL _Thread_local
#endif

#define TACHO_EXPORT		  __attribute__((visibility("default")))
#define TACHO_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Changes when probes built against an earlier agent would no longer work with it. */
#define TACHO_PROBE_ABI 3

struct tacho_stream;

/* The calling thread's writing end. Zero until its first record. */
struct tacho_writer {
	char *cursor;		      /* where the next record goes */
	char *limit;		      /* end of the memory that is ready to be written */
	struct packet_header *packet; /* of the file being written */
	uint64_t last_stamp;
	struct tacho_stream *stream; /* the agent's book-keeping */
	uint32_t is_busy;	     /* between begin and commit */
	uint32_t is_inside;	     /* inside so many hooks: other hooks pass straight through */
	uint32_t parent_tid;	     /* who started this thread; 0: not known */
	uint32_t has_async;	     /* a slice another thread may end lies in this file */
	uint32_t recording;	     /* the process's is_alive when the stream was opened */
	void *scratch;		     /* records go here instead: tacho_scratch_begin() */
};

/* One page, private to the process and wiped by fork: a child, however it was made, finds
 * is_alive 0 and takes the slow path. */
struct tacho_process {
	uint32_t
		is_alive; /* the streams may be written; differs between recordings of one process (tacho attach) */
	uint32_t is_recording; /* inside the steps asked for; probes may skip work when 0 */
	uint32_t
		generation; /* differs between a process and its forked children, and after a stop */
	uint32_t is_partial; /* steps, regions and collectives alone are wanted (--ranks) */
};

extern TACHO_EXPORT TACHO_THREAD_LOCAL struct tacho_writer tacho_writer
	__attribute__((tls_model("initial-exec")));
extern TACHO_EXPORT struct tacho_process *volatile tacho_process;
extern TACHO_EXPORT bool tacho_clock_is_tsc;

/* Whether another engine than the run's own files takes the records (agent/engine.h): it is told of each record that is
 * written, and of each duration, which it stores. */
extern TACHO_EXPORT bool tacho_has_engine;
TACHO_EXPORT void tacho_engine_record(const struct record_header *record);
TACHO_EXPORT void tacho_engine_duration(uint64_t *duration, uint64_t ticks);

/* The slow half of tacho_record_begin(): open the thread's stream or move on to its next file, so
 * that `size_bytes` fit at tacho_writer.cursor; or count a drop and return false. */
TACHO_EXPORT bool tacho_record_make_room(uint32_t size_bytes);

/* Wait until a record of `size_bytes` would not be dropped for want of memory that is ready, no longer than *milliseconds, of which is taken
 * what was waited: for what comes in bursts, in threads that the job does not wait for. False: there is none yet. */
TACHO_EXPORT bool tacho_record_wait(uint32_t size_bytes, uint32_t *milliseconds);

/* The class of records of `kind` named `name` (`length` bytes, need not end in NUL; control
 * characters and what exceeds TRACE_MAX_NAME_BYTES are replaced or cut). Takes a lock the first
 * time a name is seen in the process, and a short one after: keep the result. 0: it could not be
 * declared (disk full ...); records of class 0 are dropped and counted. An id is good for as long as
 * the process and for all its forked children. */
TACHO_EXPORT uint32_t tacho_class(enum trace_kind kind, const char *name, size_t length);

/* Which process of a line of forks this is, and which recording of it: for a probe that keeps open slices,
 * which a child must forget, and which are gone when `tacho stop` has ended the recording. Class ids need no
 * such care. */
static inline uint32_t tacho_generation(void)
{
	return tacho_process->generation;
}

/* Whether the streams may be written: not before the agent has started, after the process's end has
 * begun, and where nothing can be recorded. */
static inline bool tacho_is_alive(void)
{
	return __atomic_load_n(&tacho_process->is_alive, __ATOMIC_RELAXED);
}

/* The same, and the writer's stream is of this recording. */
static inline bool tacho_is_alive_for(const struct tacho_writer *writer)
{
	return __atomic_load_n(&tacho_process->is_alive, __ATOMIC_RELAXED) == writer->recording;
}

/* Whether records are wanted now (--steps). Cheap enough to ask at every event. */
static inline bool tacho_is_recording(void)
{
	return __atomic_load_n(&tacho_process->is_recording, __ATOMIC_RELAXED);
}

/* Whether this process is of a rank of which steps, regions and collectives alone are wanted. Its rank may become known
 * late; until then all is. */
static inline bool tacho_is_partial(void)
{
	return __atomic_load_n(&tacho_process->is_partial, __ATOMIC_RELAXED);
}

/* Whether records of anything else are wanted now. */
static inline bool tacho_is_recording_all(void)
{
	return tacho_is_recording() && !tacho_is_partial();
}

/* The same for callers without a compiler. */
TACHO_EXPORT bool tacho_records_all(void);

/* Switch recording on or off for the whole process. */
TACHO_EXPORT void tacho_recording_set(bool is_recording);

/* Whether somebody wants training steps left out (--steps, --control), so that they must be counted. */
TACHO_EXPORT bool tacho_counts_steps(void);
/* A training step ended (the optimizer has run). Where tacho_counts_steps(), also while nothing is
 * recorded. */
TACHO_EXPORT void tacho_step_end(void);
/* Have `changed` called when recording is switched on or off at a step's end, in the thread that ended
 * it; and now, if it is off. For hooks that cost something even while nothing is recorded. False: too
 * many watch already. */
typedef void tacho_recording_changed(bool is_recording);
TACHO_EXPORT bool tacho_watch_recording(tacho_recording_changed *changed);

/* Have `changed` called when recording ends in a process that goes on, false (tacho stop), and when it begins
 * there again, true (tacho attach). The calls come from a thread of tacho's. After false the probe is called by
 * nobody, has no thread and no descriptor. False: too many watch already. */
typedef void tacho_attached_changed(bool is_attached);
TACHO_EXPORT bool tacho_watch_attached(tacho_attached_changed *changed);

/* Where the functions are that a probe stands before: RTLD_NEXT, or RTLD_DEFAULT where tacho came late and is
 * behind all others. */
TACHO_EXPORT void *tacho_scope(void);

/* How often a second the stacks of Python's threads are wanted; 0: not at all (--python, --python-hz). */
TACHO_EXPORT uint32_t tacho_python_hz(void);

/* Whether tacho came into a process that ran already: then what a probe does first is done when it is told so
 * (tacho_watch_attached()), for it is loaded with the loader's lock held. */
TACHO_EXPORT bool tacho_is_late(void);

/* The folder of the Python hook where it must be brought in by the probe, since Python began without it; else "". */
TACHO_EXPORT const char *tacho_python_hook(void);

/* A thread of tacho's in the job begins and ends with these: tacho stop waits for them. */
TACHO_EXPORT void tacho_thread_begins(void);
TACHO_EXPORT void tacho_thread_ends(void);

/* From now on this thread, one of tacho's, has descriptors of its own, and at first none: those of the job are not seen by it, nor
 * its own by the job. False, with all as before: Linux before 5.9, or it is not allowed. */
TACHO_EXPORT bool tacho_own_files(void);

/* What one event of `event_kind` costs the job, in picoseconds, as measured in this process. */
TACHO_EXPORT void tacho_cost(enum trace_kind event_kind, const char *probe, uint64_t picoseconds);
/* The same of the kernels of one class, for a probe that is not the only one to record kernels. */
TACHO_EXPORT void tacho_kernel_cost(uint32_t class_id, const char *probe, uint64_t picoseconds);

/* The same of the operations of one class. */
TACHO_EXPORT void tacho_op_cost(uint32_t class_id, const char *probe, uint64_t picoseconds);

/* Call `function` on a stack of the agent's, with signals held (agent/aside.c): in a hook, for whatever
 * needs more than some 500 bytes of stack. errno is kept. False: there is no memory for a stack, and it
 * was not called. */
TACHO_EXPORT bool tacho_run_aside(void (*function)(void *argument), void *argument);

/* The calling thread is in a function that was called so: what it does is tacho's, not the job's. */
extern TACHO_EXPORT TACHO_THREAD_LOCAL bool tacho_is_aside
	__attribute__((tls_model("initial-exec")));

/* One line on stderr, "tacho: ...", once a process for each `format`. */
TACHO_EXPORT void tacho_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and a line in the run's file `unseen`, for what nothing can be recorded of: `what` is called so in what
 * `tacho record` says at its end ("Python stacks"). Both are noted once a process for each `format`. */
TACHO_EXPORT void tacho_unseen(const char *what, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Direct the calling thread's records to `bytes` of scratch memory, until tacho_scratch_end(): for
 * a probe that measures its own cost. Full scratch memory is written from its beginning again. False: there is no
 * memory, or the thread's records go to scratch memory already. */
TACHO_EXPORT bool tacho_scratch_begin(size_t bytes);
TACHO_EXPORT void tacho_scratch_rewind(void);
TACHO_EXPORT void tacho_scratch_end(void);

static inline uint64_t tacho_ticks(void)
{
#if defined(__x86_64__)
	if (tacho_clock_is_tsc)
		return __rdtsc();
#endif
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Take the next `size_bytes` and name them; for the two below. */
static inline struct record_header *tacho_record_reserve(uint32_t class_id, uint32_t size_bytes)
{
	struct tacho_writer *writer = &tacho_writer;
	struct record_header *record;

	if (TACHO_UNLIKELY(writer->is_busy || !class_id || !tacho_is_alive_for(writer) ||
			   (size_t)(writer->limit - writer->cursor) < size_bytes) &&
	    !tacho_record_make_room(class_id ? size_bytes : 0))
		return NULL;
	record = (struct record_header *)writer->cursor;
	writer->is_busy = 1;
	record->class_id = class_id;
	record->size_bytes = size_bytes;
	return record;
}

/* The time, not before the thread's last stamp, which it becomes. */
static inline uint64_t tacho_next_stamp(void)
{
	struct tacho_writer *writer = &tacho_writer;
	uint64_t stamp = tacho_ticks();

	if (TACHO_UNLIKELY(stamp < writer->last_stamp))
		stamp = writer->last_stamp;
	writer->last_stamp = stamp;
	return stamp;
}

/* Reserve, stamp and name a record of `size_bytes` (a multiple of 8); NULL: dropped. The rest of
 * the record is the caller's to fill before tacho_record_commit(). */
static inline void *tacho_record_begin(uint32_t class_id, uint32_t size_bytes)
{
	struct record_header *record = tacho_record_reserve(class_id, size_bytes);

	if (record)
		record->stamp = tacho_next_stamp();
	return record;
}

/* The same for a slice that is over when its record is begun: of what is worth a record only by how
 * it has ended. It began at `begin_ticks`; where the thread has recorded something since (a signal
 * handler did), it begins and ends now. */
static inline void *tacho_record_begin_past(uint32_t class_id, uint32_t size_bytes,
					    uint64_t begin_ticks, uint64_t *ret_duration)
{
	struct record_header *record = tacho_record_reserve(class_id, size_bytes);
	uint64_t last_stamp, now;

	if (!record)
		return NULL;
	last_stamp = tacho_writer.last_stamp;
	now = tacho_next_stamp();
	record->stamp = begin_ticks < last_stamp || begin_ticks > now ? now : begin_ticks;
	*ret_duration = now - record->stamp;
	return record;
}

/* The same for a slice that another thread may end. */
static inline void *tacho_record_begin_async(uint32_t class_id, uint32_t size_bytes)
{
	void *record = tacho_record_begin(class_id, size_bytes);

	if (record)
		tacho_writer.has_async = 1;
	return record;
}

/* Publish the record begun last: from here on it is in the file, whatever happens. */
static inline void tacho_record_commit(void *record)
{
	struct tacho_writer *writer = &tacho_writer;
	const struct record_header *header = (const struct record_header *)record;

	writer->cursor = (char *)record + header->size_bytes;
	__atomic_store_n(&writer->packet->content_bits,
			 (uint64_t)(writer->cursor - (char *)writer->packet) * 8, __ATOMIC_RELEASE);
	if (TACHO_UNLIKELY(tacho_has_engine))
		tacho_engine_record(header);
	__atomic_store_n(&writer->is_busy, 0, __ATOMIC_RELEASE);
}

/* Take back the record begun last, as if it had not been. */
static inline void tacho_record_abandon(void)
{
	__atomic_store_n(&tacho_writer.is_busy, 0, __ATOMIC_RELEASE);
}

/* Fill in a slice's duration, which is behind the header in all kinds of slices; TRACE_OPEN: it goes on after all. */
static inline void tacho_duration_store(uint64_t *duration, uint64_t ticks)
{
	if (TACHO_UNLIKELY(tacho_has_engine))
		tacho_engine_duration(duration, ticks);
	else
		__atomic_store_n(duration, ticks, __ATOMIC_RELEASE);
}

/* End a slice: fill in its duration. `duration` is the field of `record`. */
static inline void tacho_slice_end(const void *record, uint64_t *duration)
{
	const struct record_header *header = (const struct record_header *)record;
	uint64_t now = tacho_ticks();

	tacho_duration_store(duration, now > header->stamp ? now - header->stamp : 0);
}

/* Text in a record is padded with NUL to a multiple of 8. */
static inline uint32_t tacho_padded(size_t length)
{
	return (uint32_t)((length + 7) & ~(size_t)7);
}

/* For callers without a compiler (the Python hook): whole slices by name. begin returns a handle
 * for end, NULL when nothing is recorded. */
TACHO_EXPORT void *tacho_slice_begin_named(int kind, const char *name, uint64_t id);
TACHO_EXPORT void tacho_slice_end_named(void *slice);
TACHO_EXPORT void tacho_mark(const char *name, int64_t first, int64_t second, const char *text);

#ifdef __cplusplus
}
#endif
#endif
