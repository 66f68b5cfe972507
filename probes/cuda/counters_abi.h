/* counters_abi: what is used of CUPTI's functions for hardware counters, 12.6 to 13, in own declarations. The facts are from NVIDIA's
 * headers of 12.6, 12.9 and 13.5 (cupti_profiler_host.h, cupti_pmsampling.h, cupti_range_profiler.h, cupti_profiler_target.h, cupti_target.h).
 *
 * (1) Each function takes one struct, which begins with its own size: by that CUPTI knows which members the caller has. The sizes here
 *     are those of 12.6; later ones have more behind them, which as zeros are as before.
 * (2) A size is up to the end of the last member, without padding: COUNTERS_SIZE(). */
#ifndef TACHO_COUNTERS_ABI_H
#define TACHO_COUNTERS_ABI_H

#include <stddef.h>
#include <stdint.h>

#define COUNTERS_SIZE(type, last)                                                                  \
	(offsetof(struct type, last) + sizeof(((struct type *)NULL)->last))

enum counters_result {
	COUNTERS_INVALID_PARAMETER = 1,
	COUNTERS_OUT_OF_MEMORY = 8,
	COUNTERS_INVALID_METRIC = 17,
	COUNTERS_NOT_SUPPORTED = 27,
	COUNTERS_INSUFFICIENT_PRIVILEGES = 35,
	COUNTERS_VIRTUAL_PRIVILEGES = 40,
};

struct counters_initialize {
	size_t size;
	void *reserved;
};

struct counters_chip {
	size_t size;
	void *reserved;
	size_t device;
	const char *name; /* told */
};

/* --- the host's half: metrics by name, what to count for them, and what came of it ------------ */

enum counters_profiler { COUNTERS_OF_RANGES = 0, COUNTERS_OF_SAMPLES = 1 };

struct counters_host {
	size_t size;
	void *reserved;
	uint32_t profiler; /* enum counters_profiler */
	const char *chip;
	const uint8_t *availability;
	void *object; /* told */
};

struct counters_host_end {
	size_t size;
	void *reserved;
	void *object;
};

struct counters_add {
	size_t size;
	void *reserved;
	void *object;
	const char **names;
	size_t n_names;
};

struct counters_config_size {
	size_t size;
	void *reserved;
	void *object;
	size_t config_size; /* told */
};

struct counters_config {
	size_t size;
	void *reserved;
	void *object;
	size_t config_size;
	uint8_t *config;
};

struct counters_passes {
	size_t size;
	void *reserved;
	size_t config_size;
	uint8_t *config;
	size_t n_passes; /* told */
};

struct counters_evaluate {
	size_t size;
	void *reserved;
	void *object;
	const uint8_t *image;
	size_t image_size;
	size_t index; /* of the range, or of the sample */
	const char **names;
	size_t n_names;
	double *values;
};

/* --- sampling by the performance monitors (PM) ------------------------------------------------ */

struct sampling_availability {
	size_t size;
	void *reserved;
	size_t device;
	size_t image_size; /* told, where image is NULL */
	uint8_t *image;
};

struct sampling_enable {
	size_t size;
	void *reserved;
	size_t device;
	void *object; /* told */
};

/* Of Disable, Start, Stop. */
struct sampling_object {
	size_t size;
	void *reserved;
	void *object;
};

enum sampling_trigger { SAMPLING_CYCLES = 0, SAMPLING_NS = 1 };

struct sampling_config {
	size_t size;
	void *reserved;
	void *object;
	size_t config_size;
	const uint8_t *config; /* CUPTI reads it as long as it samples */
	size_t buffer_size;
	uint64_t interval; /* by the trigger: cycles of the system clock, nanoseconds */
	uint32_t trigger;  /* enum sampling_trigger */
};

struct sampling_image_size {
	size_t size;
	void *reserved;
	void *object;
	const char **names;
	size_t n_names;
	uint32_t most_samples;
	size_t image_size; /* told */
};

struct sampling_image {
	size_t size;
	void *reserved;
	void *object;
	size_t image_size;
	uint8_t *image;
};

enum sampling_stop_reason { SAMPLING_OTHER = 0, SAMPLING_IMAGE_FULL = 1, SAMPLING_ALL_READ = 2 };

struct sampling_decode {
	size_t size;
	void *reserved;
	void *object;
	uint8_t *image;
	size_t image_size;
	uint32_t stop_reason; /* told: enum sampling_stop_reason */
	uint8_t overflow;     /* told: the hardware's buffer was full, and samples are missing */
};

struct sampling_info {
	size_t size;
	void *reserved;
	const uint8_t *image;
	size_t image_size;
	size_t n_total, n_populated, n_completed; /* told */
};

struct sampling_sample {
	size_t size;
	void *reserved;
	void *object;
	const uint8_t *image;
	size_t image_size;
	size_t index;
	uint64_t start, end; /* told: nanoseconds, as of activities */
};

/* --- ranges ---------------------------------------------------------------------------------- */

struct ranges_availability {
	size_t size;
	void *reserved;
	void *context;
	size_t image_size; /* told, where image is NULL */
	uint8_t *image;
};

struct ranges_enable {
	size_t size;
	void *reserved;
	void *context;
	void *object; /* told */
};

/* Of Disable, Start. */
struct ranges_object {
	size_t size;
	void *reserved;
	void *object;
};

enum ranges_mode { RANGES_AUTO = 1 };
enum ranges_replay { RANGES_KERNEL_REPLAY = 2 };

struct ranges_config {
	size_t size;
	void *reserved;
	void *object;
	size_t config_size;
	const uint8_t *config;
	size_t image_size;
	uint8_t *image;
	uint32_t mode, replay; /* enum ranges_mode, enum ranges_replay */
	size_t most_ranges;    /* of a pass */
	uint16_t n_levels, least_level;
	size_t pass;
	uint16_t target_level;
};

struct ranges_stop {
	size_t size;
	void *reserved;
	void *object;
	size_t pass, target_level; /* told */
	uint8_t has_all_passes;	   /* told */
};

struct ranges_decode {
	size_t size;
	void *reserved;
	void *object;
	size_t n_dropped; /* told */
};

struct ranges_image_size {
	size_t size;
	void *reserved;
	void *object;
	const char **names;
	size_t n_names;
	size_t most_ranges;
	uint32_t most_nodes; /* no fewer */
	size_t image_size;   /* told */
};

struct ranges_info {
	size_t size;
	void *reserved;
	const uint8_t *image;
	size_t image_size;
	size_t n_ranges; /* told */
};

/* --- functions ------------------------------------------------------------------------------- */

/* FUNCTION(name without "cupti", member of struct counter_library, its parameters' struct) */
#define COUNTERS_FUNCTIONS(FUNCTION)                                                               \
	FUNCTION(ProfilerInitialize, initialize, counters_initialize)                              \
	FUNCTION(DeviceGetChipName, chip, counters_chip)                                           \
	FUNCTION(ProfilerHostInitialize, host, counters_host)                                      \
	FUNCTION(ProfilerHostDeinitialize, host_end, counters_host_end)                            \
	FUNCTION(ProfilerHostConfigAddMetrics, add, counters_add)                                  \
	FUNCTION(ProfilerHostGetConfigImageSize, config_size, counters_config_size)                \
	FUNCTION(ProfilerHostGetConfigImage, config, counters_config)                              \
	FUNCTION(ProfilerHostGetNumOfPasses, passes, counters_passes)                              \
	FUNCTION(ProfilerHostEvaluateToGpuValues, evaluate, counters_evaluate)

#define SAMPLING_FUNCTIONS(FUNCTION)                                                               \
	FUNCTION(PmSamplingGetCounterAvailability, sampling_availability, sampling_availability)   \
	FUNCTION(PmSamplingEnable, sampling_enable, sampling_enable)                               \
	FUNCTION(PmSamplingSetConfig, sampling_config, sampling_config)                            \
	FUNCTION(PmSamplingStart, sampling_start, sampling_object)                                 \
	FUNCTION(PmSamplingStop, sampling_stop, sampling_object)                                   \
	FUNCTION(PmSamplingDecodeData, sampling_decode, sampling_decode)                           \
	FUNCTION(PmSamplingGetCounterDataSize, sampling_image_size, sampling_image_size)           \
	FUNCTION(PmSamplingCounterDataImageInitialize, sampling_image, sampling_image)             \
	FUNCTION(PmSamplingGetCounterDataInfo, sampling_info, sampling_info)                       \
	FUNCTION(PmSamplingCounterDataGetSampleInfo, sampling_sample, sampling_sample)

#define RANGES_FUNCTIONS(FUNCTION)                                                                 \
	FUNCTION(ProfilerGetCounterAvailability, ranges_availability, ranges_availability)         \
	FUNCTION(RangeProfilerEnable, ranges_enable, ranges_enable)                                \
	FUNCTION(RangeProfilerSetConfig, ranges_config, ranges_config)                             \
	FUNCTION(RangeProfilerStart, ranges_start, ranges_object)                                  \
	FUNCTION(RangeProfilerStop, ranges_stop, ranges_stop)                                      \
	FUNCTION(RangeProfilerDecodeData, ranges_decode, ranges_decode)                            \
	FUNCTION(RangeProfilerGetCounterDataSize, ranges_image_size, ranges_image_size)            \
	FUNCTION(RangeProfilerCounterDataImageInitialize, ranges_image, sampling_image)            \
	FUNCTION(RangeProfilerGetCounterDataInfo, ranges_info, ranges_info)

#endif
