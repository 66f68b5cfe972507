/* sampled_device: a device whose counters are sampled (counter_sampler.h). One thread. */
#ifndef TACHO_SAMPLED_DEVICE_H
#define TACHO_SAMPLED_DEVICE_H

#include "common/device_clock.h"
#include "cuda/counter_host.h"

struct counter_sampler_options;

struct sampled_device {
	enum { SAMPLED_NOT, SAMPLED_STOPPED, SAMPLED_RUNNING, SAMPLED_FAILED } state;
	int32_t device;
	struct counter_host host;
	struct device_clock clock;
	uint32_t classes[COUNTERS_MOST];
	void *object;
	uint8_t *availability;
	uint8_t *image;
	size_t image_size;
	uint64_t interval_ns; /* about, where it is in cycles */
	uint64_t last_end_ns; /* of the samples of this start; 0: none */
	bool has_overflown;   /* since then */
};

/* Set it up. Where that fails, it is said and nothing is counted on it. */
void sampled_device_open(struct sampled_device *device,
			 const struct counter_sampler_options *options, uint32_t number);
/* Start, or stop it. */
void sampled_device_switch(struct sampled_device *device, bool is_on);
/* Write the samples that it has taken. */
void sampled_device_read(struct sampled_device *device);

#endif
