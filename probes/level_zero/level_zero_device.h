/* level_zero_device: Level Zero's devices, and their times on the trace's clock.
 *
 * (1) A device's timer counts to as many bits as it says, and times of kernels to fewer: both are continued by what the trace's clock says that has passed.
 * (2) The timer is read together with the trace's clock (common/device_clock.h), every 100 ms at most where there is work.
 * (3) Whoever calls these holds level_zero_lock. */
#ifndef TACHO_LEVEL_ZERO_DEVICE_H
#define TACHO_LEVEL_ZERO_DEVICE_H

#include "common/device_clock.h"
#include "level_zero/level_zero_target.h"

struct level_zero_device {
	ze_device_handle_t handle;
	int32_t number;
	uint64_t hz;		    /* of its timer */
	uint64_t mask, kernel_mask; /* bits of the timer, and of times of kernels, that count */
	uint64_t timer;		    /* continued, as it was read last */
	uint64_t timer_ticks;	    /* and when that was; 0: not yet */
	struct device_clock clock;
	uint64_t followed_ticks;
	uint64_t told_error_ns;
	uint32_t generation; /* in which it was told of */
};

/* NULL: it cannot be followed, its clock cannot be read. */
struct level_zero_device *level_zero_device_of(ze_device_handle_t handle);

/* Its number; -1: not known. */
int32_t level_zero_device_number(ze_device_handle_t handle);

/* Read the clocks again, where they have not been read for a while, or `is_doubtful`: a time was outside what it can be.
 * False: the device's has jumped. */
bool level_zero_device_follow(struct level_zero_device *device, bool is_doubtful);

/* `*begin` and `*end` in ticks of a command that was submitted at `submitted`; false: no command submitted then can have them. */
bool level_zero_device_place(const struct level_zero_device *device,
			     const ze_kernel_timestamp_data_t *times, uint64_t submitted,
			     uint64_t *begin, uint64_t *end);

/* Tell by how much times may be off, where that is news. */
void level_zero_device_tell_error(struct level_zero_device *device);

void level_zero_device_after_fork(void);

#endif
