#include "python/stack_sampler.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/probe.h"
#include "python/python_stack.h"

#define SECOND_NS	    UINT64_C(1000000000)
#define FIRST_SAMPLE_NS	    (SECOND_NS / 10) /* a process that is over by then leaves no trace */
#define WHOLE_STACK_NS	    SECOND_NS	     /* so often a stack is written in whole */
#define TOTALS_NS	    (5 * SECOND_NS)
#define COST_SHARE	    100u /* of a processor's time, one part */
#define MOST_CREDIT_NS	    (SECOND_NS / 10)
#define SAMPLER_STACK_BYTES (256u * 1024u)
#define LONGEST_WAIT_NS	    (SECOND_NS / 20)
#define PROOF_TRIES	    20

/* What was written last of a thread. */
struct sampled_thread {
	uint32_t tid;	/* 0: free */
	uint32_t round; /* in which it was seen last */
	uint32_t state; /* enum trace_thread_state */
	uint32_t n_frames;
	int file;	  /* that tells its state, -1: none */
	bool has_file;	  /* it was tried to open it */
	bool is_lost;	  /* the record of what `frames` has was dropped */
	uint64_t address; /* as in struct python_thread */
	uint64_t cpu_ns;
	uint64_t seen_ticks; /* when it was last seen as it was written; 0: never */
	uint64_t whole_ns;   /* when its stack was last written in whole */
	struct record_frame frames[PYTHON_MAX_FRAMES];
	struct python_stack stack; /* as it was read last */
};

struct sampler {
	struct sampler_options options;
	struct python_process python;
	struct python_thread threads[PYTHON_MAX_THREADS];
	struct sampled_thread sampled[PYTHON_MAX_THREADS];
	uint32_t n_sampled; /* of these were ever used: each lies in pages of its own */
	struct record_frame frames[PYTHON_MAX_FRAMES];
	uint32_t class_id, totals_class;
	uint32_t round;
	uint32_t random;
	bool has_own_files;
	uint64_t n_rounds, n_samples, n_torn;
	uint64_t totals_ns; /* when they were last written */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Write that the thread runs sampler->frames from now on. */
static void write_stack(struct sampler *sampler, struct sampled_thread *thread, uint32_t n_frames,
			uint32_t state, uint64_t now_ns)
{
	bool is_whole = thread->is_lost || now_ns - thread->whole_ns >= WHOLE_STACK_NS;
	uint32_t n_same = 0, n_new;
	struct record_stack *record;

	while (!is_whole && n_same < n_frames && n_same < thread->n_frames &&
	       memcmp(&sampler->frames[n_same], &thread->frames[n_same],
		      sizeof(*sampler->frames)) == 0)
		n_same++;
	n_new = n_frames - n_same;
	record = tacho_record_begin(
		sampler->class_id,
		(uint32_t)(sizeof(*record) + n_new * sizeof(struct record_frame)));
	thread->is_lost = !record;
	if (!record)
		return;
	record->before = thread->seen_ticks;
	record->tid = thread->tid;
	record->state = state;
	record->n_same = n_same;
	record->n_frames = n_new;
	memcpy(record + 1, sampler->frames + n_same, n_new * sizeof(struct record_frame));
	thread->seen_ticks = record->header.stamp;
	tacho_record_commit(record);
	memcpy(thread->frames + n_same, sampler->frames + n_same,
	       n_new * sizeof(struct record_frame));
	thread->n_frames = n_frames;
	thread->state = state;
	if (is_whole)
		thread->whole_ns = now_ns;
}

/* The thread is gone, or not looked at any more. */
static void end_thread(struct sampler *sampler, struct sampled_thread *thread)
{
	write_stack(sampler, thread, 0, TRACE_THREAD_UNKNOWN, thread->whole_ns);
	if (thread->has_file && thread->file >= 0)
		close(thread->file);
	thread->tid = 0;
}

static void end_threads(struct sampler *sampler, bool all)
{
	for (uint32_t i = 0; i < sampler->n_sampled; i++) {
		struct sampled_thread *thread = &sampler->sampled[i];

		if (thread->tid && (all || thread->round != sampler->round))
			end_thread(sampler, thread);
	}
}

static void write_totals(struct sampler *sampler, uint64_t now_ns)
{
	char text[128];

	sampler->totals_ns = now_ns;
	snprintf(text, sizeof(text), "Python %u.%u: %llu samples, %llu torn, %u a second",
		 sampler->options.version >> 8, sampler->options.version & 255,
		 (unsigned long long)sampler->n_samples, (unsigned long long)sampler->n_torn,
		 sampler->options.hz);
	tacho_mark(TRACE_SAMPLING_MARK, (int64_t)sampler->n_rounds,
		   (int64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID), text);
}

/* --- a sample --------------------------------------------------------------------------------- */

static struct sampled_thread *find_thread(struct sampler *sampler, uint32_t tid)
{
	struct sampled_thread *free_one = NULL;

	for (uint32_t i = 0; i < sampler->n_sampled; i++) {
		struct sampled_thread *thread = &sampler->sampled[i];

		if (thread->tid == tid)
			return thread;
		if (!thread->tid && !free_one)
			free_one = thread;
	}
	if (!free_one && sampler->n_sampled < PYTHON_MAX_THREADS)
		free_one = &sampler->sampled[sampler->n_sampled++];
	if (free_one) {
		/* But for the frames, which are many. */
		memset(free_one, 0, offsetof(struct sampled_thread, frames));
		free_one->stack.n = 0;
		free_one->tid = tid;
		free_one->is_lost = true;
	}
	return free_one;
}

/* The clock of another thread's processor time: clock_getcpuclockid(3) has none for a thread. The numbers are the
 * kernel's (include/linux/posix-timers_types.h: CPUCLOCK_PERTHREAD_MASK 4, CPUCLOCK_SCHED 2). */
static clockid_t cpu_clock_of(uint32_t tid)
{
	return (clockid_t)(~tid << 3 | 6);
}

/* The kernel says of a thread that waits which system call it waits in. */
static uint32_t read_state(struct sampler *sampler, struct sampled_thread *thread)
{
	char path[64], text[8];
	ssize_t length;

	if (!sampler->has_own_files)
		return TRACE_THREAD_UNKNOWN;
	if (!thread->has_file) {
		snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", thread->tid);
		thread->file = open(path, O_RDONLY | O_CLOEXEC);
		thread->has_file = true;
	}
	if (thread->file < 0)
		return TRACE_THREAD_UNKNOWN;
	length = pread(thread->file, text, sizeof(text), 0);
	if (length <= 0)
		return TRACE_THREAD_UNKNOWN;
	return memcmp(text, "running", (size_t)length < 7 ? (size_t)length : 7) == 0
		       ? TRACE_THREAD_RUNNING
		       : TRACE_THREAD_WAITING;
}

static bool is_as_written(const struct sampler *sampler, const struct sampled_thread *thread,
			  uint32_t n_frames, uint32_t state)
{
	return !thread->is_lost && thread->seen_ticks && thread->state == state &&
	       thread->n_frames == n_frames &&
	       memcmp(thread->frames, sampler->frames, n_frames * sizeof(*sampler->frames)) == 0;
}

/* `is_last`: none of the threads behind is the same one, in another interpreter. */
static void sample_thread(struct sampler *sampler, const struct python_thread *python, bool is_last,
			  uint64_t now_ns)
{
	struct sampled_thread *thread = find_thread(sampler, python->tid);
	uint64_t cpu_ns = clock_ns(cpu_clock_of(python->tid));
	bool has_stood_still; /* it has not run since the last look */
	bool is_whole;
	uint32_t state;
	int n_frames;

	if (!thread || thread->round == sampler->round)
		return;
	has_stood_still = cpu_ns && cpu_ns == thread->cpu_ns && !thread->is_lost &&
			  thread->address == python->address;
	is_whole = now_ns - thread->whole_ns >= WHOLE_STACK_NS;
	/* On a full machine a thread that is ready to run may stand still, too. */
	state = read_state(sampler, thread);
	if (state == TRACE_THREAD_UNKNOWN && has_stood_still)
		state = TRACE_THREAD_WAITING;
	if (has_stood_still && state == thread->state && !is_whole) {
		thread->round = sampler->round;
		thread->seen_ticks = tacho_ticks();
		sampler->n_samples++;
		return;
	}
	n_frames = python_stack_read(&sampler->python, python, &thread->stack, is_whole,
				     sampler->frames);
	if (n_frames == 0 && !is_last) /* it runs something in the interpreter that made this one */
		return;
	thread->round = sampler->round;
	sampler->n_samples++;
	if (n_frames < 0) {
		sampler->n_torn++;
		return;
	}
	thread->address = python->address;
	thread->cpu_ns = cpu_ns;
	if (is_as_written(sampler, thread, (uint32_t)n_frames, state) && !is_whole)
		thread->seen_ticks = tacho_ticks();
	else
		write_stack(sampler, thread, (uint32_t)n_frames, state, now_ns);
}

static bool is_last_of_thread(const struct sampler *sampler, uint32_t at, uint32_t n)
{
	for (uint32_t i = at + 1; i < n; i++)
		if (sampler->threads[i].tid == sampler->threads[at].tid)
			return false;
	return true;
}

static void sample_all(struct sampler *sampler)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int n = python_threads_read(&sampler->python, sampler->threads);

	sampler->round++;
	sampler->n_rounds++;
	if (n < 0) {
		sampler->n_torn++;
		return;
	}
	for (uint32_t i = 0; i < (uint32_t)n; i++)
		if (sampler->threads[i].tid)
			sample_thread(sampler, &sampler->threads[i],
				      is_last_of_thread(sampler, i, (uint32_t)n), now_ns);
	end_threads(sampler, false);
	if (now_ns - sampler->totals_ns >= TOTALS_NS)
		write_totals(sampler, now_ns);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Between half and one and a half periods, so that nothing that is periodic in the job is always missed. */
static uint64_t next_wait_ns(struct sampler *sampler)
{
	uint64_t period_ns = SECOND_NS / sampler->options.hz;

	/* xorshift32: G. Marsaglia, "Xorshift RNGs", 2003 */
	sampler->random ^= sampler->random << 13;
	sampler->random ^= sampler->random >> 17;
	sampler->random ^= sampler->random << 5;
	return period_ns / 2 + (uint64_t)sampler->random * period_ns / UINT32_MAX;
}

/* Not on when the recording has ended: who ends it waits for this thread. */
static void wait_ns(uint64_t ns)
{
	while (ns && tacho_is_alive()) {
		uint64_t part_ns = ns < LONGEST_WAIT_NS ? ns : LONGEST_WAIT_NS;
		struct timespec time = { 0, (long)part_ns };

		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
		ns -= part_ns;
	}
}

/* What a round has taken is earned by waiting: (1). */
static uint64_t pay(uint64_t *credit_ns, uint64_t taken_ns, uint64_t waited_ns)
{
	uint64_t missing_ns;

	*credit_ns += waited_ns / COST_SHARE;
	if (*credit_ns > MOST_CREDIT_NS)
		*credit_ns = MOST_CREDIT_NS;
	missing_ns = taken_ns > *credit_ns ? taken_ns - *credit_ns : 0;
	*credit_ns -= taken_ns - missing_ns;
	return missing_ns * COST_SHARE;
}

static void sample_until_end(struct sampler *sampler)
{
	uint64_t credit_ns = MOST_CREDIT_NS, owed_ns = 0;
	uint64_t paid_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID); /* the waiting, too, takes some */

	while (tacho_is_alive()) {
		uint64_t pause_ns = next_wait_ns(sampler);
		uint64_t used_ns;

		pause_ns = pause_ns > owed_ns ? pause_ns : owed_ns;
		wait_ns(pause_ns);
		if (!tacho_is_recording_all()) {
			end_threads(sampler, true);
			paid_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
			continue;
		}
		sample_all(sampler);
		used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		owed_ns = pay(&credit_ns, used_ns - paid_ns, pause_ns);
		paid_ns = used_ns;
	}
}

/* Whether what is read of this interpreter can be right: a thread of ours, all of whose frames are functions. While
 * Python starts and ends there may be none. */
static bool proves_itself(struct sampler *sampler)
{
	int n = python_threads_read(&sampler->python, sampler->threads);

	for (int i = 0; i < n; i++) {
		const struct python_thread *thread = &sampler->threads[i];

		if (thread->has_frame && thread->tid &&
		    syscall(SYS_tgkill, getpid(), thread->tid, 0) == 0 &&
		    python_stack_read(&sampler->python, thread, &sampler->sampled[0].stack, true,
				      sampler->frames) > 0)
			return true;
	}
	return false;
}

/* Python may not have begun, or be in a long call before its first line: the proof is awaited. */
static bool await_proof(struct sampler *sampler)
{
	int n_tries = 0;

	while (tacho_is_alive()) {
		int n = python_threads_read(&sampler->python, sampler->threads);

		if (proves_itself(sampler))
			return true;
		/* Its reading is wrong where there are threads with frames, and none can be followed. */
		for (int i = 0; i < n; i++) {
			if (sampler->threads[i].has_frame) {
				n_tries++;
				break;
			}
		}
		if (n_tries > PROOF_TRIES)
			return false;
		wait_ns(SECOND_NS / sampler->options.hz);
	}
	return true;
}

static void refuse(const struct sampler *sampler, const char *reason)
{
	char text[160];

	tacho_unseen("Python stacks", "the stacks of Python %u.%u are not sampled: %s",
		     sampler->options.version >> 8, sampler->options.version & 255, reason);
	snprintf(text, sizeof(text), "Python %u.%u: %s", sampler->options.version >> 8,
		 sampler->options.version & 255, reason);
	tacho_mark(TRACE_NO_STACKS_MARK, 0, 0, text);
}

static void sample_all_of(struct sampler *sampler)
{
	const char *reason;

	tacho_writer.is_inside = 1; /* its system calls are not the job's */
	wait_ns(FIRST_SAMPLE_NS);
	reason = python_process_open(&sampler->python, sampler->options.runtime,
				     sampler->options.version, sampler->options.types);
	if (!reason && !await_proof(sampler))
		reason = "its frames are not where they should be";
	if (reason) {
		refuse(sampler, reason);
		return;
	}
	/* A descriptor that the job does not see cannot be in its way: (2). */
	sampler->has_own_files = tacho_own_files();
	if (sampler->has_own_files && sampler->python.memory.file >= 0)
		own_memory_open(&sampler->python.memory);
	sampler->class_id = tacho_class(TRACE_KIND_STACK, "python", strlen("python"));
	sampler->random = (uint32_t)getpid() * 2654435761u | 1; /* Knuth's multiplicative hash */
	sampler->totals_ns = clock_ns(CLOCK_MONOTONIC) - TOTALS_NS + SECOND_NS;
	sample_until_end(sampler);
}

static void *sample(void *sampler_pointer)
{
	struct sampler *sampler = sampler_pointer;

	tacho_thread_begins();
	pthread_setname_np(pthread_self(), "tacho-python");
	sample_all_of(sampler);
	python_process_close(&sampler->python);
	munmap(sampler, sizeof(*sampler));
	tacho_thread_ends();
	return NULL;
}

void stack_sampler_start(const struct sampler_options *options)
{
	struct sampler *sampler = mmap(NULL, sizeof(*sampler), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;

	if (sampler == MAP_FAILED)
		return;
	madvise(sampler, sizeof(*sampler), MADV_DONTFORK);
	sampler->options = *options;
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* it touches files that somebody may cut */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, SAMPLER_STACK_BYTES);
	if (pthread_create(&thread, &attributes, sample, sampler) != 0)
		tacho_unseen("Python stacks",
			     "Python stacks are not sampled: there is no thread for it");
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
