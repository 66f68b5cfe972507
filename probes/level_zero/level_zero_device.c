#include "level_zero/level_zero_device.h"

#include <string.h>

#include "common/region_stack.h"

#define N_DEVICES  256
#define N_DRIVERS  16
#define FOLLOW_NS  100000000u
#define DOUBT_NS   1000000u /* a doubtful clock is read again no sooner */
#define SLACK_NS   2000u    /* beyond the clock's own error */
#define LEAST_HZ   1000000u /* a smaller resolution is told in nanoseconds, as before version 1.2 */
#define ERROR_NAME "Level Zero clock error ns"
#define NEWS	   1.5 /* by so much an error differs from the one told before */

static struct level_zero_device devices[N_DEVICES];
static int n_devices;

/* --- clocks ----------------------------------------------------------------------------------- */

static uint64_t ns_between(uint64_t from_ticks, uint64_t to_ticks)
{
	return tacho_clock_scale && to_ticks > from_ticks
		       ? (uint64_t)(((unsigned __int128)(to_ticks - from_ticks) << 40) /
				    tacho_clock_scale)
		       : 0;
}

static uint64_t ns_of(const struct level_zero_device *device, uint64_t timer)
{
	return (uint64_t)((unsigned __int128)timer * 1000000000u / device->hz);
}

static uint64_t timer_of(const struct level_zero_device *device, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * device->hz / 1000000000u);
}

/* The first value not before `from` of which `bits` are those that count. */
static uint64_t first_from(uint64_t from, uint64_t bits, uint64_t mask)
{
	return from + ((bits - from) & mask);
}

static uint64_t read_ns(const void *device_pointer)
{
	struct level_zero_device *device = (struct level_zero_device *)device_pointer;
	uint64_t host = 0, timer = 0, now = tacho_ticks(), passed;

	if (level_zero.zeDeviceGetGlobalTimestamps(device->handle, &host, &timer) !=
	    ZE_RESULT_SUCCESS)
		return 0;
	timer &= device->mask;
	if (device->timer_ticks) {
		/* the nearest to what it should be */
		passed = timer_of(device, ns_between(device->timer_ticks, now));
		timer = first_from(device->timer + passed - (device->mask >> 1), timer,
				   device->mask);
	}
	device->timer = timer;
	device->timer_ticks = now;
	return ns_of(device, timer);
}

bool level_zero_device_follow(struct level_zero_device *device, bool is_doubtful)
{
	uint64_t now = tacho_ticks();

	if (ns_between(device->followed_ticks, now) < (is_doubtful ? DOUBT_NS : FOLLOW_NS))
		return true;
	device->followed_ticks = now;
	return device_clock_follow(&device->clock);
}

bool level_zero_device_place(const struct level_zero_device *device,
			     const ze_kernel_timestamp_data_t *times, uint64_t submitted,
			     uint64_t *begin, uint64_t *end)
{
	const struct tacho_clock_pair *pair = &device->clock.pair;
	uint64_t error_ns = 2 * device->clock.error_ns + SLACK_NS, now = tacho_ticks();
	uint64_t error = (uint64_t)((unsigned __int128)error_ns * tacho_clock_scale >> 40);
	uint64_t least_ns, least;

	least_ns = submitted >= pair->ticks ? pair->ns + ns_between(pair->ticks, submitted)
					    : pair->ns - ns_between(submitted, pair->ticks);
	least = timer_of(device, least_ns - error_ns);
	*begin = first_from(least, times->kernelStart, device->kernel_mask);
	*end = first_from(*begin, times->kernelEnd, device->kernel_mask);
	*begin = tacho_ticks_at(pair, ns_of(device, *begin));
	*end = tacho_ticks_at(pair, ns_of(device, *end));
	return *begin + error >= submitted && *end >= *begin && *end <= now + error;
}

void level_zero_device_tell_error(struct level_zero_device *device)
{
	double error_ns = (double)device->clock.error_ns, told_ns = (double)device->told_error_ns;

	if (told_ns > 0 && error_ns <= NEWS * told_ns && error_ns * NEWS >= told_ns)
		return;
	device->told_error_ns = device->clock.error_ns + !device->clock.error_ns;
	tacho_counter_at(region_class(TRACE_KIND_COUNTER, NULL, ERROR_NAME), device->number, 0,
			 error_ns);
}

/* --- devices ---------------------------------------------------------------------------------- */

static struct level_zero_device *known(ze_device_handle_t handle)
{
	for (int i = 0; i < n_devices; i++)
		if (devices[i].handle == handle)
			return &devices[i];
	return NULL;
}

static uint64_t bits(uint32_t n)
{
	return !n || n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static bool ask(ze_device_handle_t handle, ze_device_properties_t *properties)
{
	*properties = (ze_device_properties_t){ .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 };
	return level_zero.zeDeviceGetProperties(handle, properties) == ZE_RESULT_SUCCESS;
}

static struct level_zero_device *add(ze_device_handle_t handle)
{
	struct level_zero_device *device = &devices[n_devices];
	ze_device_properties_t properties;

	if (!handle || n_devices == N_DEVICES || !ask(handle, &properties))
		return NULL;
	*device = (struct level_zero_device){ .handle = handle, .number = n_devices };
	device->hz = properties.timerResolution;
	if (device->hz && device->hz < LEAST_HZ)
		device->hz = 1000000000u / device->hz;
	device->mask = bits(properties.timestampValidBits);
	device->kernel_mask = bits(properties.kernelTimestampValidBits);
	n_devices++;
	return device;
}

/* In the order in which programs see them; parts of devices come when they are used. */
static void find_all(void)
{
	ze_driver_handle_t drivers[N_DRIVERS];
	ze_device_handle_t handles[N_DEVICES];
	uint32_t n_drivers = N_DRIVERS, n;

	if (level_zero.zeDriverGet(&n_drivers, drivers) != ZE_RESULT_SUCCESS)
		return;
	for (uint32_t d = 0; d < n_drivers && d < N_DRIVERS; d++) {
		n = N_DEVICES;
		if (level_zero.zeDeviceGet(drivers[d], &n, handles) != ZE_RESULT_SUCCESS)
			continue;
		for (uint32_t i = 0; i < n && i < N_DEVICES; i++)
			add(handles[i]);
	}
}

static void tell(const struct level_zero_device *device)
{
	ze_device_properties_t properties;
	struct record_device facts = { .device = device->number };

	if (!ask(device->handle, &properties))
		return;
	properties.name[sizeof(properties.name) - 1] = '\0';
	facts.n_multiprocessors = properties.numSlices * properties.numSubslicesPerSlice *
				  properties.numEUsPerSubslice;
	facts.warp_threads = properties.physicalEUSimdWidth;
	facts.clock_hz = (uint64_t)properties.coreClockRate * 1000000;
	tacho_device(tacho_class(TRACE_KIND_DEVICE, properties.name, strlen(properties.name)),
		     &facts, "");
}

static struct level_zero_device *find(ze_device_handle_t handle)
{
	struct level_zero_device *device;

	if (!n_devices)
		find_all();
	device = known(handle);
	return device ? device : add(handle);
}

int32_t level_zero_device_number(ze_device_handle_t handle)
{
	const struct level_zero_device *device = handle ? find(handle) : NULL;

	return device ? device->number : -1;
}

struct level_zero_device *level_zero_device_of(ze_device_handle_t handle)
{
	struct level_zero_device *device = find(handle);

	if (!device || !device->hz)
		return NULL;
	if (!device->timer_ticks)
		device_clock_start(&device->clock, read_ns, device);
	if (device->timer_ticks && device->generation != tacho_generation() &&
	    tacho_is_recording_all()) {
		device->generation = tacho_generation();
		tell(device);
	}
	return device->timer_ticks ? device : NULL;
}

void level_zero_device_after_fork(void)
{
	n_devices = 0;
}
