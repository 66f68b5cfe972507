#include "cuda/counter_sampler.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "common/activity.h"
#include "cuda/sampled_device.h"

#define PERIOD_MS    20
#define END_MS	     2000
#define DEVICES_MOST 64
#define STACK_BYTES  (1024u * 1024) /* CUPTI decodes on it */

/* Of this process; a child of a fork has its own from its own start on. */
static struct sampler {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct counter_sampler_options options;
	uint32_t generation;
	uint64_t known;	 /* devices, by bits: named; atomic */
	uint64_t wanted; /* ... and not yet set up */
	bool has_thread, is_ending, has_ended;
} sampler = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The thread's own. */
static struct sampled_device devices[DEVICES_MOST];

static struct timespec after_ms(long ms)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_nsec += ms * 1000000;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

void counter_sampler_start(const struct counter_sampler_options *options)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	memset(&sampler, 0, sizeof(sampler));
	/* A parent's are not a child's. Their memory stays: the parent's thread may have been freeing it. */
	memset(devices, 0, sizeof(devices));
	pthread_mutex_init(&sampler.lock, NULL);
	pthread_cond_init(&sampler.changed, &attributes);
	pthread_condattr_destroy(&attributes);
	sampler.options = *options;
	sampler.generation = tacho_generation();
}

static bool is_of_this_process(void)
{
	return sampler.options.library && sampler.generation == tacho_generation();
}

/* --- the thread ------------------------------------------------------------------------------ */

static void serve(uint64_t wanted, bool is_on)
{
	for (uint32_t i = 0; i < DEVICES_MOST; i++) {
		if (wanted >> i & 1)
			sampled_device_open(&devices[i], &sampler.options, i);
		sampled_device_switch(&devices[i], is_on);
		sampled_device_read(&devices[i]);
	}
}

static void serve_until_end(void)
{
	bool is_ending = false;

	while (!is_ending) {
		struct timespec next = after_ms(PERIOD_MS);
		uint64_t wanted;
		bool is_on;

		pthread_mutex_lock(&sampler.lock);
		if (!sampler.wanted && !sampler.is_ending)
			pthread_cond_timedwait(&sampler.changed, &sampler.lock, &next);
		wanted = sampler.wanted;
		sampler.wanted = 0;
		is_ending = sampler.is_ending || !tacho_is_alive() ||
			    sampler.generation != tacho_generation();
		is_on = sampler.options.is_on && !is_ending;
		pthread_mutex_unlock(&sampler.lock);
		serve(is_ending ? 0 : wanted, is_on);
	}
}

static void *run(void *unused)
{
	tacho_thread_begins();
	pthread_setname_np(pthread_self(), "tacho-counters");
	tacho_writer.is_inside++; /* calls that CUPTI makes of CUDA for us are not the job's */
	serve_until_end();
	tacho_writer.is_inside--;
	pthread_mutex_lock(&sampler.lock);
	sampler.has_ended = true;
	pthread_cond_broadcast(&sampler.changed);
	pthread_mutex_unlock(&sampler.lock);
	tacho_thread_ends();
	return unused;
}

static bool start_thread(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* as wherever records are written: the disk may be full */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	error = pthread_create(&thread, &attributes, run, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !error;
}

/* --- what others say ------------------------------------------------------------------------- */

void counter_sampler_add(uint32_t device)
{
	bool is_first;

	if (!is_of_this_process() || device >= DEVICES_MOST ||
	    __atomic_load_n(&sampler.known, __ATOMIC_RELAXED) >> device & 1)
		return;
	__atomic_or_fetch(&sampler.known, UINT64_C(1) << device, __ATOMIC_RELAXED);
	pthread_mutex_lock(&sampler.lock);
	is_first = !sampler.has_thread && !sampler.is_ending;
	sampler.has_thread |= is_first;
	sampler.wanted |= UINT64_C(1) << device;
	pthread_cond_broadcast(&sampler.changed);
	pthread_mutex_unlock(&sampler.lock);
	if (is_first && !start_thread()) {
		sampler.has_ended = true;
		tacho_unseen(COUNTERS_UNSEEN, "nothing is counted: there is no thread for it");
	}
}

void counter_sampler_switch(bool is_on)
{
	if (!is_of_this_process())
		return;
	pthread_mutex_lock(&sampler.lock);
	sampler.options.is_on = is_on;
	pthread_cond_broadcast(&sampler.changed);
	pthread_mutex_unlock(&sampler.lock);
}

void counter_sampler_end(void)
{
	struct timespec latest = after_ms(END_MS);
	bool has_ended;

	if (!is_of_this_process())
		return;
	pthread_mutex_lock(&sampler.lock);
	sampler.is_ending = true;
	pthread_cond_broadcast(&sampler.changed);
	while (sampler.has_thread && !sampler.has_ended &&
	       pthread_cond_timedwait(&sampler.changed, &sampler.lock, &latest) == 0)
		continue;
	has_ended = sampler.has_ended || !sampler.has_thread;
	pthread_mutex_unlock(&sampler.lock);
	if (!has_ended)
		tacho_say("CUPTI takes too long to stop counting: the last samples are missing");
}
