#include "cuda/sampled_device.h"

#include <stdlib.h>
#include <string.h>

#include "common/activity.h"
#include "common/region_stack.h"
#include "cuda/counter_sampler.h"
#include "cuda/cuda_buffers.h"
#include "cuda/cuda_clock.h"
#include "cuda/cupti_library.h"

#define BUFFER_BYTES (64u << 20) /* the hardware's; kept in memory by CUPTI */
#define SAMPLES_MOST 2048u	 /* of an image */
#define ROUNDS_MOST  64		 /* of images, each time */
#define MAX_WAIT_MS  200	 /* for the records of an image */
#define LONGEST_TIMES                                                                              \
	100 /* a sample that takes so many intervals, and a tenth of a second, was not measured */
#define LONGEST_NS UINT64_C(100000000)

/* --- setting it up --------------------------------------------------------------------------- */

static int find_chip(const struct counter_library *library, uint32_t number, const char **name)
{
	struct counters_initialize initialize = { .size = COUNTERS_SIZE(counters_initialize,
									reserved) };
	struct counters_chip chip = { .size = COUNTERS_SIZE(counters_chip, name),
				      .device = number };
	int result = library->initialize(&initialize);

	if (result == CUPTI_SUCCESS)
		result = library->chip(&chip);
	*name = chip.name;
	return result == CUPTI_SUCCESS && !chip.name ? COUNTERS_NOT_SUPPORTED : result;
}

static int find_available(struct sampled_device *device, const struct counter_library *library)
{
	struct sampling_availability available = { .size = COUNTERS_SIZE(sampling_availability,
									 image),
						   .device = (size_t)device->device };
	int result = library->sampling_availability(&available);

	if (result != CUPTI_SUCCESS)
		return result;
	device->availability = available.image = malloc(available.image_size + 1);
	if (!available.image)
		return COUNTERS_OUT_OF_MEMORY;
	return library->sampling_availability(&available);
}

/* By time, and where the chip cannot (Turing, GA100), by cycles of its system clock, of which one is about a nanosecond. */
static int configure(struct sampled_device *device)
{
	struct sampling_config config = { .size = COUNTERS_SIZE(sampling_config, trigger),
					  .object = device->object,
					  .config_size = device->host.config_size,
					  .config = device->host.config,
					  .buffer_size = BUFFER_BYTES,
					  .interval = device->interval_ns,
					  .trigger = SAMPLING_NS };
	int result = device->host.library->sampling_config(&config);

	if (result == COUNTERS_NOT_SUPPORTED || result == COUNTERS_INVALID_PARAMETER) {
		config.trigger = SAMPLING_CYCLES;
		result = device->host.library->sampling_config(&config);
	}
	return result;
}

static int clear_image(struct sampled_device *device)
{
	struct sampling_image image = { .size = COUNTERS_SIZE(sampling_image, image),
					.object = device->object,
					.image_size = device->image_size,
					.image = device->image };

	return device->host.library->sampling_image(&image);
}

static int make_image(struct sampled_device *device)
{
	struct sampling_image_size size = { .size = COUNTERS_SIZE(sampling_image_size, image_size),
					    .object = device->object,
					    .names = (const char **)device->host.names,
					    .n_names = device->host.n,
					    .most_samples = SAMPLES_MOST };
	int result = device->host.library->sampling_image_size(&size);

	if (result != CUPTI_SUCCESS)
		return result;
	device->image = malloc(size.image_size + 1);
	device->image_size = size.image_size;
	return device->image ? clear_image(device) : COUNTERS_OUT_OF_MEMORY;
}

static int enable(struct sampled_device *device)
{
	struct sampling_enable enable = { .size = COUNTERS_SIZE(sampling_enable, object),
					  .device = (size_t)device->device };
	int result = device->host.library->sampling_enable(&enable);

	device->object = enable.object;
	if (result == CUPTI_SUCCESS)
		result = configure(device);
	return result == CUPTI_SUCCESS ? make_image(device) : result;
}

static void fail(struct sampled_device *device, const struct counter_library *library,
		 const char *what, int result)
{
	device->state = SAMPLED_FAILED;
	counter_library_say(library, what, result);
}

void sampled_device_open(struct sampled_device *device,
			 const struct counter_sampler_options *options, uint32_t number)
{
	const struct counter_library *library = options->library;
	const char *chip = NULL;
	int result;

	if (device->state != SAMPLED_NOT)
		return;
	device->device = (int32_t)number;
	device->interval_ns = options->interval_ns;
	result = find_chip(library, number, &chip);
	if (result == CUPTI_SUCCESS)
		result = find_available(device, library);
	if (result != CUPTI_SUCCESS) {
		fail(device, library, "the device cannot be asked for counters", result);
		return;
	}
	result = counter_host_open(&device->host, library, COUNTERS_OF_SAMPLES, chip,
				   device->availability, options->list);
	if (result != CUPTI_SUCCESS) {
		fail(device, library, "no counters are left", result);
		return;
	}
	result = enable(device);
	if (result != CUPTI_SUCCESS) {
		fail(device, library, "counters cannot be sampled", result);
		return;
	}
	for (unsigned i = 0; i < device->host.n; i++)
		device->classes[i] = tacho_class(TRACE_KIND_COUNTER, device->host.names[i],
						 strlen(device->host.names[i]));
	cuda_clock_begin(&device->clock, library->cupti);
	device->state = SAMPLED_STOPPED;
}

/* --- samples --------------------------------------------------------------------------------- */

/* What is missing before a sample that begins at `start_ns` (0: none came any more), after the buffer was full. */
static void count_missing(struct sampled_device *device, uint64_t start_ns)
{
	uint64_t n = 1;

	if (!device->has_overflown)
		return;
	device->has_overflown = false;
	if (start_ns > device->last_end_ns && device->last_end_ns)
		n = (start_ns - device->last_end_ns) / device->interval_ns;
	cuda_count_lost((n ? n : 1) * device->host.n);
}

static bool is_credible(const struct sampled_device *device, const struct sampling_sample *sample)
{
	uint64_t ns = sample->end - sample->start;

	return sample->start && sample->end > sample->start &&
	       (ns < LONGEST_NS || ns < LONGEST_TIMES * device->interval_ns);
}

/* Whether the sample could be read. */
static bool tell_sample(struct sampled_device *device, size_t index, uint32_t *wait_ms)
{
	struct sampling_sample sample = { .size = COUNTERS_SIZE(sampling_sample, end),
					  .object = device->object,
					  .image = device->image,
					  .image_size = device->image_size,
					  .index = index };
	double values[COUNTERS_MOST] = { 0 };

	if (device->host.library->sampling_sample(&sample) != CUPTI_SUCCESS ||
	    counter_host_evaluate(&device->host, device->image, device->image_size, index,
				  values) != CUPTI_SUCCESS ||
	    !is_credible(device, &sample))
		return false;
	count_missing(device, sample.start);
	device->last_end_ns = sample.end;
	for (unsigned i = 0; i < device->host.n; i++) {
		if (values[i] != values[i])
			continue; /* not defined: a share of nothing */
		tacho_record_wait(sizeof(struct record_counter), wait_ms);
		tacho_counter_at(device->classes[i], device->device,
				 tacho_ticks_at(&device->clock.pair, sample.start), values[i]);
	}
	return true;
}

/* CUPTI's result. */
static int tell_image(struct sampled_device *device)
{
	struct sampling_info info = { .size = COUNTERS_SIZE(sampling_info, n_completed),
				      .image = device->image,
				      .image_size = device->image_size };
	int result = device->host.library->sampling_info(&info);
	bool is_sane = cuda_clock_keep(&device->clock);
	uint32_t wait_ms = MAX_WAIT_MS;
	size_t n_lost = 0;

	if (result != CUPTI_SUCCESS)
		return result;
	for (size_t i = 0; i < info.n_completed && i < SAMPLES_MOST; i++)
		n_lost += !is_sane || !tell_sample(device, i, &wait_ms);
	cuda_count_lost(n_lost * device->host.n);
	return clear_image(device);
}

/* Once the hardware's buffer was full, nothing is known of what it does next but that a start begins anew. */
static void start_again(struct sampled_device *device)
{
	struct sampling_object object = { .size = COUNTERS_SIZE(sampling_object, object),
					  .object = device->object };
	int result;

	device->host.library->sampling_stop(&object);
	result = device->host.library->sampling_start(&object);
	if (result != CUPTI_SUCCESS)
		fail(device, device->host.library, "counters cannot be sampled any more", result);
}

static void read_all(struct sampled_device *device)
{
	struct sampling_object object = { .size = COUNTERS_SIZE(sampling_object, object),
					  .object = device->object };
	bool is_full = false;
	int result;

	for (int round = 0; round < ROUNDS_MOST; round++) {
		struct sampling_decode decode = { .size = COUNTERS_SIZE(sampling_decode, overflow),
						  .object = device->object,
						  .image = device->image,
						  .image_size = device->image_size };

		result = device->host.library->sampling_decode(&decode);
		/* (cupti_pmsampling.h) the result of an overflow is that one */
		is_full |= decode.overflow || result == COUNTERS_OUT_OF_MEMORY;
		if (result == CUPTI_SUCCESS || result == COUNTERS_OUT_OF_MEMORY)
			result = tell_image(device);
		if (result != CUPTI_SUCCESS) {
			cuda_count_lost(device->host.n);
			device->host.library->sampling_stop(&object);
			fail(device, device->host.library, "what was counted cannot be decoded",
			     result);
			return;
		}
		if (decode.stop_reason != SAMPLING_IMAGE_FULL)
			break;
	}
	device->has_overflown |= is_full; /* what is missing is behind what it held */
	if (is_full && device->state == SAMPLED_RUNNING)
		start_again(device);
}

void sampled_device_read(struct sampled_device *device)
{
	if (device->state == SAMPLED_RUNNING)
		read_all(device);
}

void sampled_device_switch(struct sampled_device *device, bool is_on)
{
	struct sampling_object object = { .size = COUNTERS_SIZE(sampling_object, object),
					  .object = device->object };
	int result;

	if (is_on && device->state == SAMPLED_STOPPED) {
		result = device->host.library->sampling_start(&object);
		device->state = SAMPLED_RUNNING;
		device->last_end_ns = 0;
		if (result != CUPTI_SUCCESS)
			fail(device, device->host.library, "counters cannot be sampled", result);
	} else if (!is_on && device->state == SAMPLED_RUNNING) {
		result = device->host.library->sampling_stop(&object);
		device->state = SAMPLED_STOPPED;
		read_all(device);
		count_missing(device, 0);
	}
}
