/* device_clock: a clock of a device's runtime, followed by reading it together with the trace's now and then.
 *
 * (1) Two clocks are read together as ours before and after theirs: the narrowest of a few such pairs is off by half its width.
 * (2) A clock that drifts is followed from pair to pair. One that has jumped is nobody's clock for what was between the two pairs: such
 *     times are not handed on.
 * (3) One thread at a time. */
#ifndef TACHO_DEVICE_CLOCK_H
#define TACHO_DEVICE_CLOCK_H

#include "common/activity.h"

/* Nanoseconds; 0: it cannot be read. */
typedef uint64_t device_clock_read(const void *runtime);

struct device_clock {
	device_clock_read *read;
	const void *runtime;
	struct tacho_clock_pair pair;
	uint64_t error_ns; /* that times may be off by, as far as it is known */
};

void device_clock_start(struct device_clock *clock, device_clock_read *read, const void *runtime);
/* Read both again. False: it has jumped since they were read last, and when is not known; or it cannot be read. */
bool device_clock_follow(struct device_clock *clock);

#endif
