/* standin_counters: hardware counters of the stand-in for CUPTI (12 and 13). There is one chip, GH100, with metrics of any name that has a
 * "__" in it but for "nosuch__..."; those of names with "wide__" need a pass of their own. The device takes a sample at every interval
 * from the start on, and counts each kernel between a start and a stop of ranges. STANDIN_TRUTH gets a line for each value: "sample METRIC
 * START END VALUE", "range METRIC START END VALUE". What goes wrong, in STANDIN_FAULTS:
 *
 *     nocontext     nobody is told that a context was made (standin_driver.c)
 *     noprivileges  counters are for administrators
 *     overflow      the device's buffer has room for 40 samples; what comes then is missing until it is started again
 *     latesamples   samples can be decoded 100 ms after they were taken
 *     nodecode      the 5th time, decoding fails
 *     badtimes      every 7th sample has no begin; the first after a start lasts for ever
 *     cycles        the device samples by cycles alone, as GA100
 *     slowstop      stopping takes 4 s
 *     undefined     the first metric has no value
 *     noactivity    kernels that are counted are not told as activities
 *     droppedranges every 2nd time, the last range of a stop is dropped, and counted
 *     moreranges    there is a range more than kernels were launched */
#include "standin_counters.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/counters_abi.h"
#include "standin.h"

enum {
	NAMES_MOST = 64,
	ROOM = 40,
	REFUSED = 999,
	RANGES_ROOM = 4096,
	LATE_NS = 100000000,
	MAGIC = 0x434f4e46
};

struct host_object {
	bool is_broken;
	unsigned n_narrow, n_wide;
};

struct config_image {
	uint32_t magic, n_passes;
};

struct range {
	uint64_t start, end;
	uint32_t correlation;
};

struct image_entry {
	uint64_t start, end, number;
};

struct counter_image {
	size_t n, most;
	struct image_entry entries[];
};

/* What is enabled: samples, or ranges. */
struct counting {
	const struct config_image *config; /* the caller's */
	struct counter_image *image;	   /* of ranges: the caller's */
	bool is_started;
	uint64_t interval, first_ns, n_read, n_stored;
	unsigned n_decoded, n_stops;
	struct range ranges[RANGES_ROOM];
	size_t n_ranges;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct counting sampling, ranges;

#define EXPORT_OF(name, member, parameters)                                                        \
	__attribute__((visibility("default"))) int cupti##name(struct parameters *);
COUNTERS_FUNCTIONS(EXPORT_OF)
SAMPLING_FUNCTIONS(EXPORT_OF)
RANGES_FUNCTIONS(EXPORT_OF)
#undef EXPORT_OF

#define CHECK(condition)                                                                           \
	if (!(condition))                                                                          \
	return COUNTERS_INVALID_PARAMETER

/* --- the host's half ------------------------------------------------------------------------- */

int cuptiProfilerInitialize(struct counters_initialize *told)
{
	CHECK(told->size == 16);
	return 0;
}

int cuptiDeviceGetChipName(struct counters_chip *chip)
{
	CHECK(chip->size == 32 && chip->device == 0);
	chip->name = "GH100";
	return 0;
}

int cuptiProfilerHostInitialize(struct counters_host *host)
{
	CHECK(host->size == 48 && host->profiler <= COUNTERS_OF_SAMPLES && host->availability &&
	      !strcmp(host->chip, "GH100"));
	host->object = calloc(1, sizeof(struct host_object));
	return 0;
}

int cuptiProfilerHostDeinitialize(struct counters_host_end *end)
{
	CHECK(end->size == 24 && end->object);
	free(end->object);
	return 0;
}

int cuptiProfilerHostConfigAddMetrics(struct counters_add *add)
{
	struct host_object *host = add->object;

	CHECK(add->size == 40 && host && add->n_names);
	if (host->is_broken)
		return REFUSED;
	for (size_t i = 0; i < add->n_names; i++) {
		if (!strstr(add->names[i], "__") || strstr(add->names[i], "nosuch__")) {
			host->is_broken = true;
			return COUNTERS_INVALID_PARAMETER;
		}
		if (strstr(add->names[i], "wide__"))
			host->n_wide++;
		else
			host->n_narrow++;
	}
	return 0;
}

int cuptiProfilerHostGetConfigImageSize(struct counters_config_size *size)
{
	CHECK(size->size == 32 && size->object);
	size->config_size = sizeof(struct config_image);
	return 0;
}

int cuptiProfilerHostGetConfigImage(struct counters_config *config)
{
	const struct host_object *host = config->object;

	CHECK(config->size == 40 && config->config_size == sizeof(struct config_image));
	*(struct config_image *)config->config =
		(struct config_image){ MAGIC, host->n_wide + (host->n_narrow ? 1 : 0) };
	return 0;
}

int cuptiProfilerHostGetNumOfPasses(struct counters_passes *passes)
{
	CHECK(passes->size == 40 && passes->config_size == sizeof(struct config_image));
	passes->n_passes = ((const struct config_image *)passes->config)->n_passes;
	return 0;
}

/* Of metric `i`, of the sample or the kernel of that number. */
static double value_of(size_t i, uint64_t number)
{
	return (double)(1000 * i + number % 997);
}

int cuptiProfilerHostEvaluateToGpuValues(struct counters_evaluate *evaluate)
{
	const struct counter_image *image = (const void *)evaluate->image;

	CHECK(evaluate->size == 72 && evaluate->index < image->n);
	for (size_t i = 0; i < evaluate->n_names; i++)
		evaluate->values[i] = value_of(i, image->entries[evaluate->index].number);
	if (standin_has_fault("undefined"))
		evaluate->values[0] = NAN;
	return 0;
}

/* --- samples --------------------------------------------------------------------------------- */

static int tell_availability(size_t *size, uint8_t *image)
{
	if (standin_has_fault("noprivileges"))
		return COUNTERS_INSUFFICIENT_PRIVILEGES;
	if (image)
		memset(image, 1, *size);
	*size = 100;
	return 0;
}

int cuptiPmSamplingGetCounterAvailability(struct sampling_availability *told)
{
	CHECK(told->size == 40 && told->device == 0);
	return tell_availability(&told->image_size, told->image);
}

int cuptiPmSamplingEnable(struct sampling_enable *enable)
{
	CHECK(enable->size == 32);
	memset(&sampling, 0, sizeof(sampling)); /* one of a parent's is not a child's */
	enable->object = &sampling;
	return 0;
}

int cuptiPmSamplingSetConfig(struct sampling_config *config)
{
	const struct config_image *image = (const void *)config->config;

	CHECK(config->size == 60 && config->object == &sampling && config->buffer_size &&
	      config->config_size == sizeof(*image));
	if (image->n_passes != 1 ||
	    (standin_has_fault("cycles") && config->trigger != SAMPLING_CYCLES))
		return COUNTERS_NOT_SUPPORTED;
	sampling.interval = config->interval;
	sampling.config = image;
	return 0;
}

static size_t image_size(size_t most)
{
	return sizeof(struct counter_image) + most * sizeof(struct image_entry);
}

int cuptiPmSamplingGetCounterDataSize(struct sampling_image_size *size)
{
	CHECK(size->size == 56 && size->object == &sampling && size->n_names <= NAMES_MOST);
	size->image_size = image_size(size->most_samples);
	return 0;
}

static int clear(struct sampling_image *image)
{
	struct counter_image *data = (void *)image->image;

	CHECK(image->size == 40);
	data->n = 0;
	data->most = (image->image_size - sizeof(*data)) / sizeof(*data->entries);
	return 0;
}

int cuptiPmSamplingCounterDataImageInitialize(struct sampling_image *image)
{
	return clear(image);
}

int cuptiPmSamplingStart(struct sampling_object *object)
{
	CHECK(object->size == 24 && object->object == &sampling && sampling.config->magic == MAGIC);
	pthread_mutex_lock(&lock);
	sampling.is_started = true;
	sampling.first_ns = standin_now_ns();
	sampling.n_read = sampling.n_stored = 0;
	pthread_mutex_unlock(&lock);
	return 0;
}

static uint64_t n_taken(void)
{
	uint64_t now = standin_now_ns() - (standin_has_fault("latesamples") ? LATE_NS : 0);

	return now > sampling.first_ns ? (now - sampling.first_ns) / sampling.interval : 0;
}

int cuptiPmSamplingStop(struct sampling_object *object)
{
	CHECK(object->size == 24 && sampling.is_started);
	if (standin_has_fault("slowstop"))
		sleep(4);
	pthread_mutex_lock(&lock);
	sampling.is_started = false;
	sampling.n_stored = n_taken();
	pthread_mutex_unlock(&lock);
	return 0;
}

static void put_sample(struct counter_image *image, uint64_t k)
{
	uint64_t start = sampling.first_ns + k * sampling.interval;
	struct image_entry *entry = &image->entries[image->n++];

	*entry = (struct image_entry){ standin_counters_clock(start),
				       standin_counters_clock(start + sampling.interval), k };
	if (standin_has_fault("badtimes") && (!k || k % 7 == 6)) {
		entry->start = k ? 0 : 1;
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		standin_truth("sample", i, start, start + sampling.interval,
			      (uint32_t)value_of(i, k));
}

int cuptiPmSamplingDecodeData(struct sampling_decode *decode)
{
	struct counter_image *image = (void *)decode->image;
	uint64_t n_there;
	bool is_full;

	CHECK(decode->size == 45 && decode->object == &sampling && sampling.config->magic == MAGIC);
	if (standin_has_fault("nodecode") && ++sampling.n_decoded >= 5)
		return REFUSED;
	pthread_mutex_lock(&lock);
	n_there = sampling.is_started ? n_taken() : sampling.n_stored;
	is_full = standin_has_fault("overflow") && n_there > ROOM;
	if (is_full)
		n_there = ROOM;
	while (sampling.n_read < n_there && image->n < image->most)
		put_sample(image, sampling.n_read++);
	decode->stop_reason = sampling.n_read < n_there ? SAMPLING_IMAGE_FULL : SAMPLING_ALL_READ;
	pthread_mutex_unlock(&lock);
	decode->overflow = is_full;
	return is_full && MAJOR >= 13 ? COUNTERS_OUT_OF_MEMORY : 0;
}

int cuptiPmSamplingGetCounterDataInfo(struct sampling_info *info)
{
	const struct counter_image *image = (const void *)info->image;

	CHECK(info->size == 56);
	info->n_total = image->most;
	info->n_populated = info->n_completed = image->n;
	return 0;
}

int cuptiPmSamplingCounterDataGetSampleInfo(struct sampling_sample *sample)
{
	const struct counter_image *image = (const void *)sample->image;

	CHECK(sample->size == 64 && sample->index < image->n);
	sample->start = image->entries[sample->index].start;
	sample->end = image->entries[sample->index].end;
	return 0;
}

/* --- ranges ---------------------------------------------------------------------------------- */

int cuptiProfilerGetCounterAvailability(struct ranges_availability *told)
{
	CHECK(told->size == 40 && told->context);
	return tell_availability(&told->image_size, told->image);
}

int cuptiRangeProfilerEnable(struct ranges_enable *enable)
{
	CHECK(enable->size == 32 && enable->context);
	memset(&ranges, 0, sizeof(ranges));
	enable->object = &ranges;
	return 0;
}

int cuptiRangeProfilerGetCounterDataSize(struct ranges_image_size *size)
{
	CHECK(size->size == 64 && size->object == &ranges && size->most_nodes >= size->most_ranges);
	size->image_size = image_size(size->most_ranges);
	return 0;
}

int cuptiRangeProfilerCounterDataImageInitialize(struct sampling_image *image)
{
	return clear(image);
}

int cuptiRangeProfilerSetConfig(struct ranges_config *config)
{
	CHECK(config->size == 90 && config->object == &ranges && config->mode == RANGES_AUTO &&
	      config->replay == RANGES_KERNEL_REPLAY && config->n_levels == 1 &&
	      config->least_level == 1 && config->image_size == image_size(config->most_ranges));
	ranges.config = (const void *)config->config;
	ranges.image = (void *)config->image;
	return 0;
}

/* Not while a stream is captured. */
static void may_wait(void)
{
	if (*standin_captures())
		abort();
}

int cuptiRangeProfilerStart(struct ranges_object *object)
{
	may_wait();
	CHECK(object->size == 24 && object->object == &ranges && !ranges.is_started &&
	      ranges.config->magic == MAGIC);
	pthread_mutex_lock(&lock);
	ranges.is_started = true;
	ranges.n_ranges = 0;
	pthread_mutex_unlock(&lock);
	return 0;
}

int cuptiRangeProfilerStop(struct ranges_stop *stop)
{
	may_wait();
	CHECK(stop->size == 41 && ranges.is_started);
	pthread_mutex_lock(&lock);
	if (standin_has_fault("moreranges") && ranges.n_ranges)
		ranges.n_ranges++;
	ranges.is_started = false;
	pthread_mutex_unlock(&lock);
	stop->has_all_passes = 1;
	return 0;
}

int cuptiRangeProfilerDecodeData(struct ranges_decode *decode)
{
	struct counter_image *image = ranges.image;

	may_wait();
	CHECK(decode->size == 32 && !ranges.is_started);
	if (standin_has_fault("nodecode") && ++ranges.n_decoded >= 2)
		return REFUSED;
	decode->n_dropped = 0;
	pthread_mutex_lock(&lock);
	if (standin_has_fault("droppedranges") && ranges.n_stops++ % 2 && ranges.n_ranges) {
		ranges.n_ranges--;
		decode->n_dropped++;
	}
	for (size_t i = 0; i < ranges.n_ranges && image->n < image->most; i++) {
		const struct range *range = &ranges.ranges[i];

		image->entries[image->n++] =
			(struct image_entry){ range->start, range->end, range->correlation };
		for (unsigned m = 0; m < 2; m++)
			standin_truth("range", m, range->start, range->end,
				      (uint32_t)value_of(m, range->correlation));
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

int cuptiRangeProfilerGetCounterDataInfo(struct ranges_info *info)
{
	CHECK(info->size == 40);
	info->n_ranges = ((const struct counter_image *)(const void *)info->image)->n;
	return 0;
}

bool standin_counters_kernel(const struct cupti_kernel *kernel)
{
	bool is_counted;

	pthread_mutex_lock(&lock);
	is_counted = ranges.is_started && ranges.n_ranges < RANGES_ROOM - 1;
	if (is_counted)
		ranges.ranges[ranges.n_ranges++] =
			(struct range){ kernel->start, kernel->end, kernel->correlation };
	pthread_mutex_unlock(&lock);
	return !is_counted || !standin_has_fault("noactivity");
}
