/* cuda_probe: what CUDA does: calls of its runtime and driver by this process, and what the devices did for them. The driver loads the
 * library that CUDA_INJECTION64_PATH names when a process first uses it, and calls its InitializeInjection().
 *
 *     cudaLaunchKernel() ----> RUNTIME  cudaLaunchKernel     as it is made                 (cuda_calls.h)
 *        kernel     ...  ----> DEVICE_KERNEL  gemm           when CUPTI tells, in a thread of its (cuda_buffers.h, cuda_records.h)
 *
 * (1) CUPTI has one user in a process. Who came first stays; who it is is said, as far as CUPTI tells.
 * (2) Where nothing is to be recorded (--steps, --control) CUPTI is switched off.
 * (3) What CUPTI has not told when the process ends is asked for then; of a process that is killed the last second is missing. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/activity.h"
#include "common/call_cost.h"
#include "common/region_stack.h"
#include "cuda/cuda_buffers.h"
#include "cuda/cuda_calls.h"
#include "cuda/cuda_clock.h"
#include "cuda/cuda_counters.h"
#include "cuda/cupti_library.h"

#define UNSEEN	  "CUDA"
#define PERIOD_MS 500
#define OWN_NAME  "tacho"

TACHO_EXPORT int InitializeInjection(void);
/* For the NCCL probe: kernels of this process are recorded. */
TACHO_EXPORT bool tacho_cuda_tells_kernels(void);

static struct cupti cupti;
static void *subscriber;
static uint32_t
	started_in; /* atomic: generation of the process that CUPTI was started in, and 1 more */
static bool is_on;

static const uint32_t kinds[] = {
	/* what others refer to first */
	CUPTI_DEVICE,	CUPTI_CONTEXT,	   CUPTI_CUDA_EVENT,  CUPTI_CONCURRENT_KERNEL,
	CUPTI_MEMCPY,	CUPTI_MEMSET,	   CUPTI_MEMCPY_PEER, CUPTI_SYNCHRONIZATION,
	CUPTI_OVERHEAD, CUPTI_MEMORY_POOL,
};

static void switch_all(bool wanted)
{
	wanted = wanted && !tacho_is_partial();
	if (!subscriber || is_on == wanted)
		return;
	is_on = wanted;
	if (!wanted)
		cupti.ActivityFlushAll(0); /* of the steps that are wanted */
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (wanted)
			cupti.ActivityEnable(
				kinds[i]); /* one that a device has not is not missed */
		else
			cupti.ActivityDisable(kinds[i]);
	}
	cuda_calls_enable(&cupti, subscriber, wanted);
	cuda_counters_switch(wanted);
}

/* Who has CUPTI, in `name`; "another tool" where nobody knows. */
static void find_holder(char *name, size_t size)
{
	char old_name[128] = "";
	struct cupti_subscriber asked = { .size = sizeof(asked),
					  .name = OWN_NAME,
					  .old_name = old_name,
					  .old_name_size = sizeof(old_name) };
	void *other = NULL;

	if (cupti.Subscribe_v2 &&
	    cupti.Subscribe_v2(&other, cuda_calls_told, &cupti, &asked) == CUPTI_SUCCESS && other)
		cupti.Unsubscribe(other); /* it has gone meanwhile */
	old_name[sizeof(old_name) - 1] = '\0';
	snprintf(name, size, "%s", *old_name ? old_name : "another tool");
}

static bool subscribe(void)
{
	int result = cupti.Subscribe(&subscriber, cuda_calls_told, &cupti);
	char holder[128];

	if (result == CUPTI_SUCCESS)
		return true;
	subscriber = NULL;
	if (result == CUPTI_MULTIPLE_SUBSCRIBERS || result == CUPTI_MAX_LIMIT_REACHED) {
		find_holder(holder, sizeof(holder));
		tacho_unseen(UNSEEN, "CUPTI is in use by %s, and has one user a process", holder);
	} else {
		tacho_unseen(UNSEEN, "CUPTI (%s) refuses: %s", cupti.path,
			     cupti_words(&cupti, result));
	}
	return false;
}

static void at_end(void)
{
	if (!subscriber || !tacho_is_alive())
		return;
	cuda_counters_stop();
	cupti.ActivityFlushAll(CUPTI_FLUSH_FORCED);
	cuda_counters_end();
	if (cuda_clock_error_ns())
		region_mark("CUDA", "device clock known to ns", (int64_t)cuda_clock_error_ns(), "");
}

static void make_call(uint64_t i, void *call_pointer)
{
	struct cupti_call *call = call_pointer;

	(void)i;
	call->site = CUPTI_ENTER;
	cuda_calls_told(&cupti, CUPTI_RUNTIME_API, 0, call);
	call->site = CUPTI_EXIT;
	cuda_calls_told(&cupti, CUPTI_RUNTIME_API, 0, call);
}

/* What a call's begin and end cost the job; CUPTI's own part is not in it. */
static void tell_cost(void)
{
	struct cupti_call call = { .function = "cost", .correlation = 1 };
	uint64_t cost_ps;

	if (!tacho_is_recording_all())
		return;
	cost_ps = tacho_call_cost_ps(2 * sizeof(struct record_slice), make_call, &call);
	if (cost_ps)
		tacho_cost(TRACE_KIND_RUNTIME, "cuda", cost_ps);
}

static void start(void *unused)
{
	static bool has_exit_handler;
	char why[256];
	int result;

	(void)unused;
	subscriber = NULL;
	is_on = false;
	if (!cupti.GetVersion && !cupti_load(&cupti, why, sizeof(why))) {
		cupti.GetVersion = NULL;
		tacho_unseen(UNSEEN, "CUPTI cannot be used: %s", why);
		return;
	}
	if (!subscribe())
		return;
	cuda_clock_start(&cupti);
	result = cuda_buffers_start(&cupti);
	if (result != CUPTI_SUCCESS)
		tacho_unseen(UNSEEN, "CUPTI (%s) tells of calls alone: %s", cupti.path,
			     cupti_words(&cupti, result));
	if (cupti.ActivityEnableLatencyTimestamps)
		cupti.ActivityEnableLatencyTimestamps(1);
	switch_all(tacho_is_recording());
	cuda_counters_start(&cupti, subscriber, is_on);
	if (cupti.ActivityFlushPeriod)
		cupti.ActivityFlushPeriod(PERIOD_MS);
	tell_cost();
	tacho_watch_recording(switch_all);
	if (!has_exit_handler)
		atexit(at_end);
	has_exit_handler = true;
}

bool tacho_cuda_tells_kernels(void)
{
	return subscriber && started_in == tacho_generation() + 1;
}

/* The driver calls it with its own locks held: no call of CUDA's from here. What it returns is not looked at. */
int InitializeInjection(void)
{
	uint32_t generation = tacho_generation() + 1;

	if (tacho_is_alive() &&
	    __atomic_exchange_n(&started_in, generation, __ATOMIC_ACQ_REL) != generation)
		start(NULL);
	return 1;
}
