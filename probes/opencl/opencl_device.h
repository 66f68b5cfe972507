/* opencl_device: the devices of all platforms, their numbers and clocks.
 *
 * (1) A device's number is its place among the devices of all platforms, in the loader's order: the same in all processes of a host that
 *     see the same platforms. A part of a device (clCreateSubDevices) has the number of the whole.
 * (2) A device is told to the run when a queue of it is made.
 * (3) Devices are found once and stay. */
#ifndef TACHO_OPENCL_DEVICE_H
#define TACHO_OPENCL_DEVICE_H

#include <pthread.h>

#include "opencl/opencl_clock.h"
#include "opencl/opencl_target.h"

struct opencl_device {
	cl_device_id id;
	int32_t number;
	bool has_timer;
	uint32_t generation; /* of the process that has been told of it */
	pthread_mutex_t lock;
	struct opencl_clock clock; /* under the lock, as all below */
	uint64_t timed_ticks;	   /* when its timer was read */
	uint64_t told_error_ns;
};

/* NULL: it is of no platform. */
struct opencl_device *opencl_device_of(cl_device_id id);

/* Read the device's timer, if that is some time ago. */
void opencl_device_look_at_timer(struct opencl_device *device);

/* Tell how far its times may be wrong, if that has changed. */
void opencl_device_tell_error(struct opencl_device *device);

/* A forked child has locks of its own, and knows no clock yet. */
void opencl_device_after_fork(void);

#endif
