#include "cuda/kernel_counters.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/activity.h"
#include "common/region_stack.h"
#include "cuda/counter_host.h"
#include "cuda/cuda_buffers.h"
#include "cuda/cupti_library.h"
#include "common/kernel_values.h"

#define BATCH	      64	  /* launches from a start to a stop */
#define RANGES_MOST   (2 * BATCH) /* so that ranges of nobody's are seen, too */
#define CONTEXTS_MOST 8
#define WAIT_MS	      1000

struct launch {
	uint32_t correlation;
	uint64_t ticks;
};

struct counted_context {
	void *context; /* NULL: free */
	int32_t device;
	bool has_failed, is_started;
	bool is_mixed;	    /* launches overlapped since the start */
	unsigned n_open;    /* counted launches that have begun, and not ended */
	unsigned n_waiting; /* ... that must not be counted */
	void *object;
	uint8_t *availability, *image;
	size_t image_size;
	struct counter_host host;
	struct launch launches[BATCH];
	unsigned n_launches; /* since the start; past BATCH they have no place, and are mixed */
};

static struct {
	pthread_mutex_t lock;
	const struct counter_library *library;
	const struct counter_list *list;
	uint32_t generation;
	bool is_on; /* atomic */
} counting = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct counted_context contexts[CONTEXTS_MOST];

/* What this thread's launch is. */
enum launch_kind { LAUNCH_NONE, LAUNCH_COUNTED, LAUNCH_WAITS, CAPTURE_BEGINS, CAPTURE_ENDS };
static _Thread_local enum launch_kind own_launch;

void kernel_counters_start(const struct counter_library *library, const struct counter_list *list,
			   bool is_on)
{
	pthread_mutex_init(&counting.lock, NULL);
	memset(contexts, 0,
	       sizeof(contexts)); /* a parent's are not a child's; their memory stays */
	counting.library = library;
	counting.list = list;
	counting.generation = tacho_generation();
	__atomic_store_n(&counting.is_on, is_on, __ATOMIC_RELEASE);
}

/* False: another thread has it for too long, or it is not this process's. */
static bool take(void)
{
	struct timespec latest;

	if (!counting.library || counting.generation != tacho_generation())
		return false;
	clock_gettime(CLOCK_REALTIME, &latest);
	latest.tv_sec += WAIT_MS / 1000;
	if (pthread_mutex_timedlock(&counting.lock, &latest) != 0) {
		__atomic_store_n(&counting.is_on, false, __ATOMIC_RELEASE);
		tacho_unseen(COUNTERS_UNSEEN,
			     "kernels are counted no more: CUPTI takes too long to decode");
		return false;
	}
	tacho_writer.is_inside++; /* calls that CUPTI makes of CUDA for us are not the job's */
	return true;
}

static void give(void)
{
	tacho_writer.is_inside--;
	pthread_mutex_unlock(&counting.lock);
}

static void fail(struct counted_context *context, const char *what, int result)
{
	context->has_failed = true;
	context->is_started = false;
	counter_library_say(counting.library, what, result);
}

/* --- setting a context up -------------------------------------------------------------------- */

static int find_available(struct counted_context *context)
{
	struct ranges_availability available = { .size = COUNTERS_SIZE(ranges_availability, image),
						 .context = context->context };
	int result = counting.library->ranges_availability(&available);

	if (result != CUPTI_SUCCESS)
		return result;
	context->availability = available.image = malloc(available.image_size + 1);
	return available.image ? counting.library->ranges_availability(&available)
			       : COUNTERS_OUT_OF_MEMORY;
}

static int clear_image(struct counted_context *context)
{
	struct sampling_image image = { .size = COUNTERS_SIZE(sampling_image, image),
					.object = context->object,
					.image_size = context->image_size,
					.image = context->image };

	return counting.library->ranges_image(&image);
}

static int make_image(struct counted_context *context)
{
	struct ranges_image_size size = { .size = COUNTERS_SIZE(ranges_image_size, image_size),
					  .object = context->object,
					  .names = (const char **)context->host.names,
					  .n_names = context->host.n,
					  .most_ranges = RANGES_MOST,
					  .most_nodes = RANGES_MOST };
	int result = counting.library->ranges_image_size(&size);

	if (result != CUPTI_SUCCESS)
		return result;
	context->image = malloc(size.image_size + 1);
	context->image_size = size.image_size;
	return context->image ? clear_image(context) : COUNTERS_OUT_OF_MEMORY;
}

static int configure(struct counted_context *context)
{
	struct ranges_config config = { .size = COUNTERS_SIZE(ranges_config, target_level),
					.object = context->object,
					.config_size = context->host.config_size,
					.config = context->host.config,
					.image_size = context->image_size,
					.image = context->image,
					.mode = RANGES_AUTO,
					.replay = RANGES_KERNEL_REPLAY,
					.most_ranges = RANGES_MOST,
					.n_levels = 1,
					.least_level = 1 };

	return counting.library->ranges_config(&config);
}

static int set_up(struct counted_context *context)
{
	struct counters_initialize initialize = { .size = COUNTERS_SIZE(counters_initialize,
									reserved) };
	struct counters_chip chip = { .size = COUNTERS_SIZE(counters_chip, name),
				      .device = (size_t)context->device };
	struct ranges_enable enable = { .size = COUNTERS_SIZE(ranges_enable, object),
					.context = context->context };
	const struct counter_library *library = counting.library;
	int result = library->initialize(&initialize);

	if (result == CUPTI_SUCCESS)
		result = library->chip(&chip);
	if (result == CUPTI_SUCCESS)
		result = find_available(context);
	if (result == CUPTI_SUCCESS)
		result = counter_host_open(&context->host, library, COUNTERS_OF_RANGES, chip.name,
					   context->availability, counting.list);
	if (result == CUPTI_SUCCESS)
		result = library->ranges_enable(&enable);
	context->object = enable.object;
	if (result == CUPTI_SUCCESS)
		result = make_image(context);
	return result == CUPTI_SUCCESS ? configure(context) : result;
}

static bool declare_values(const struct counter_host *host)
{
	uint32_t classes[COUNTERS_MOST] = { 0 };

	for (unsigned i = 0; i < host->n; i++)
		classes[i] =
			tacho_class(TRACE_KIND_COUNTER, host->names[i], strlen(host->names[i]));
	return kernel_values_start(host->n, classes);
}

/* Values have no names of their own: all contexts count the same. */
static bool is_like_first(const struct counter_host *host)
{
	const struct counter_host *first = &contexts[0].host;

	if (host->n != first->n)
		return false;
	for (unsigned i = 0; i < host->n; i++)
		if (strcmp(host->names[i], first->names[i]) != 0)
			return false;
	return true;
}

static struct counted_context *open_context(struct counted_context *context, void *handle)
{
	uint32_t device = 0;
	int result;

	memset(context, 0, sizeof(*context));
	context->context = handle;
	counting.library->cupti->GetDeviceId(handle, &device);
	context->device = (int32_t)device;
	result = set_up(context);
	if (result == CUPTI_SUCCESS && context == &contexts[0] && !declare_values(&context->host))
		result = COUNTERS_OUT_OF_MEMORY;
	if (result == CUPTI_SUCCESS && !is_like_first(&context->host))
		result = COUNTERS_NOT_SUPPORTED;
	if (result != CUPTI_SUCCESS)
		fail(context, "kernels cannot be counted", result);
	return context;
}

/* NULL: it is one too many. */
static struct counted_context *find_context(void *handle)
{
	for (int i = 0; handle && i < CONTEXTS_MOST; i++) {
		if (contexts[i].context == handle)
			return &contexts[i];
		if (!contexts[i].context)
			return open_context(&contexts[i], handle);
	}
	return NULL;
}

/* --- ranges ---------------------------------------------------------------------------------- */

static int tell_ranges(struct counted_context *context)
{
	double values[COUNTERS_MOST] = { 0 };

	for (unsigned i = 0; i < context->n_launches; i++) {
		int result = counter_host_evaluate(&context->host, context->image,
						   context->image_size, i, values);

		if (result != CUPTI_SUCCESS)
			return result;
		kernel_values_add(context->launches[i].correlation, context->device,
				  context->launches[i].ticks, values);
	}
	return CUPTI_SUCCESS;
}

static int read_ranges(struct counted_context *context)
{
	struct ranges_stop stop = { .size = COUNTERS_SIZE(ranges_stop, has_all_passes),
				    .object = context->object };
	struct ranges_decode decode = { .size = COUNTERS_SIZE(ranges_decode, n_dropped),
					.object = context->object };
	struct ranges_info info = { .size = COUNTERS_SIZE(ranges_info, n_ranges),
				    .image = context->image,
				    .image_size = context->image_size };
	int result = counting.library->ranges_stop(&stop);

	if (result == CUPTI_SUCCESS)
		result = counting.library->ranges_decode(&decode);
	if (result == CUPTI_SUCCESS)
		result = counting.library->ranges_info(&info);
	if (result != CUPTI_SUCCESS)
		return result;
	if (info.n_ranges == context->n_launches && !decode.n_dropped && !context->is_mixed)
		result = tell_ranges(context);
	else
		cuda_count_lost((size_t)context->n_launches * context->host.n);
	return result == CUPTI_SUCCESS ? clear_image(context) : result;
}

static void stop(struct counted_context *context)
{
	int result;

	if (!context->is_started)
		return;
	context->is_started = false;
	context->is_mixed |= context->n_open > 0;
	result = read_ranges(context);
	if (result != CUPTI_SUCCESS) {
		cuda_count_lost((size_t)context->n_launches * context->host.n);
		fail(context, "what was counted cannot be decoded", result);
	}
	context->n_launches = 0;
}

static void start(struct counted_context *context)
{
	struct ranges_object object = { .size = COUNTERS_SIZE(ranges_object, object),
					.object = context->object };
	int result = counting.library->ranges_start(&object);

	context->is_started = true;
	context->is_mixed = context->n_open > 0; /* of before the start */
	context->n_launches = 0;
	if (result != CUPTI_SUCCESS)
		fail(context, "kernels cannot be counted", result);
}

static void stop_all(void)
{
	for (int i = 0; i < CONTEXTS_MOST; i++)
		stop(&contexts[i]);
}

/* --- launches -------------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *what)
{
	return strncmp(text, what, strlen(what)) == 0;
}

/* (2) of the header: kernels without a name may be such, too. */
static bool may_wait(const char *kernel)
{
	return !kernel || strstr(kernel, "nccl") || strstr(kernel, "nvshmem");
}

static enum launch_kind kind_of(const struct cupti_call *call)
{
	const char *name = call->function;

	if (begins_with(name, "cuLaunchKernel") || begins_with(name, "cuLaunchCooperativeKernel"))
		return may_wait(call->symbol) ? LAUNCH_WAITS : LAUNCH_COUNTED;
	if (begins_with(name, "cuGraphLaunch"))
		return LAUNCH_WAITS;
	if (begins_with(name, "cuStreamBeginCapture"))
		return CAPTURE_BEGINS;
	return begins_with(name, "cuStreamEndCapture") ? CAPTURE_ENDS : LAUNCH_NONE;
}

static void launch_begins(struct counted_context *context, uint32_t correlation)
{
	if (!context->is_started && !context->n_waiting)
		start(context);
	if (!context->is_started)
		return;
	context->is_mixed |= context->n_open > 0 || context->n_launches >= BATCH;
	context->n_open++;
	own_launch = LAUNCH_COUNTED;
	if (context->n_launches < BATCH)
		context->launches[context->n_launches] =
			(struct launch){ correlation, tacho_ticks() };
	context->n_launches++;
}

static void begin(struct counted_context *context, enum launch_kind kind, uint32_t correlation)
{
	own_launch = LAUNCH_NONE;
	if (kind == LAUNCH_COUNTED) {
		launch_begins(context, correlation);
	} else if (kind != CAPTURE_ENDS) {
		stop(context);
		context->n_waiting++;
		own_launch = kind;
	}
}

static void end(struct counted_context *context, enum launch_kind kind)
{
	bool is_over = kind == CAPTURE_ENDS || own_launch == LAUNCH_WAITS;

	if (is_over && context->n_waiting)
		context->n_waiting--;
	if (own_launch == LAUNCH_COUNTED && context->n_open) {
		context->n_open--;
		if (!context->n_open && context->n_launches >= BATCH)
			stop(context);
	}
	own_launch = LAUNCH_NONE;
}

void kernel_counters_call(const struct cupti_call *call, uint32_t correlation)
{
	struct counted_context *context;
	enum launch_kind kind;

	if (!__atomic_load_n(&counting.is_on, __ATOMIC_ACQUIRE) || !call->function)
		return;
	kind = kind_of(call);
	if (kind == LAUNCH_NONE || !take())
		return;
	context = find_context(call->context);
	if (context && !context->has_failed && call->site == CUPTI_ENTER)
		begin(context, kind, correlation);
	else if (context && !context->has_failed)
		end(context, kind);
	give();
}

void kernel_counters_began(uint32_t correlation, uint64_t ticks)
{
	if (counting.library && counting.generation == tacho_generation())
		kernel_values_began(correlation, ticks);
}

void kernel_counters_switch(bool is_on)
{
	if (!is_on)
		kernel_counters_stop();
	if (counting.library && counting.generation == tacho_generation())
		__atomic_store_n(&counting.is_on, is_on, __ATOMIC_RELEASE);
}

void kernel_counters_stop(void)
{
	if (!take())
		return;
	stop_all();
	give();
}

void kernel_counters_end(void)
{
	uint64_t n;

	if (!counting.library || counting.generation != tacho_generation())
		return;
	__atomic_store_n(&counting.is_on, false, __ATOMIC_RELEASE);
	n = kernel_values_end();
	if (n)
		region_mark("CUDA", "counted kernels that were not told", (int64_t)n, "");
}
