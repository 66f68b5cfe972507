/* counter_host: the half of counting that needs no device: which counters can be counted at once, what the device is to be told for it
 * (the config), and values of what it has counted (the image). It is CUPTI's (cuptiProfilerHost...), and has been run without a GPU.
 *
 * (1) Samples are of one pass: what does not fit in it with what stands before it in the list is left out. Ranges may take several passes.
 * (2) An object of CUPTI's that has refused a metric refuses all from then on: each try has its own. */
#ifndef TACHO_COUNTER_HOST_H
#define TACHO_COUNTER_HOST_H

#include "cuda/counter_library.h"
#include "common/counter_list.h"

struct counter_host {
	const struct counter_library *library;
	enum counters_profiler profiler;
	void *object;
	const char *names[COUNTERS_MOST]; /* that are counted */
	unsigned n;
	uint8_t *config;
	size_t config_size, n_passes;
	char texts[COUNTERS_TEXT_BYTES]; /* of `names` */
};

/* For the chip ("GH100") with what its driver says is available (NULL: all). 0, or CUPTI's result; all that is left out of a list that
 * somebody named is said. Release it with counter_host_release() in any case. */
int counter_host_open(struct counter_host *host, const struct counter_library *library,
		      enum counters_profiler profiler, const char *chip,
		      const uint8_t *availability, const struct counter_list *list);
void counter_host_release(struct counter_host *host);

/* The values of the names, of the sample or range of that number in the image. CUPTI's result. */
int counter_host_evaluate(const struct counter_host *host, const uint8_t *image, size_t image_size,
			  size_t index, double values[COUNTERS_MOST]);

#endif
