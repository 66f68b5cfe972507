#include "opencl/opencl_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/region_stack.h"

#define N_DEVICES   256
#define N_PLATFORMS 64
#define TEXT_BYTES  256
#define READINGS    5
#define TIMER_NS    UINT64_C(1000000000) /* between two looks at a timer */
#define ERROR_NAME  "OpenCL clock error ns"
#define NEWS	    1.5 /* by so much an error differs from the one told before */

static struct opencl_device devices[N_DEVICES];
static uint32_t n_devices; /* atomic */
static pthread_mutex_t find_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- finding ---------------------------------------------------------------------------------- */

static struct opencl_device *known(cl_device_id id)
{
	uint32_t n = __atomic_load_n(&n_devices, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (devices[i].id == id)
			return &devices[i];
	return NULL;
}

/* "OpenCL 2.1 ..." -> 201; 0: it tells none. */
static int version_of(cl_device_id id)
{
	char text[TEXT_BYTES] = "";
	int major, minor;

	if (opencl_target.clGetDeviceInfo(id, CL_DEVICE_VERSION, sizeof(text), text, NULL) !=
		    CL_SUCCESS ||
	    sscanf(text, "OpenCL %d.%d", &major, &minor) != 2)
		return 0;
	return major * 100 + minor;
}

static void add(cl_device_id id)
{
	struct opencl_device *device = &devices[n_devices];

	if (n_devices >= N_DEVICES || known(id))
		return;
	device->id = id;
	device->number = (int32_t)n_devices;
	device->has_timer = opencl_target.clGetDeviceAndHostTimer && version_of(id) >= 201;
	pthread_mutex_init(&device->lock, NULL);
	__atomic_store_n(&n_devices, n_devices + 1, __ATOMIC_RELEASE);
}

static void find_all(void)
{
	cl_platform_id platforms[N_PLATFORMS];
	cl_device_id ids[N_DEVICES];
	cl_uint n_platforms = 0, n;

	if (opencl_target.clGetPlatformIDs(N_PLATFORMS, platforms, &n_platforms) != CL_SUCCESS)
		return;
	for (cl_uint p = 0; p < n_platforms && p < N_PLATFORMS; p++) {
		n = 0;
		if (opencl_target.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, N_DEVICES, ids,
						 &n) != CL_SUCCESS)
			continue;
		for (cl_uint i = 0; i < n && i < N_DEVICES; i++)
			add(ids[i]);
	}
}

static cl_device_id whole_of(cl_device_id id)
{
	cl_device_id parent = NULL;

	while (opencl_target.clGetDeviceInfo(id, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent,
					     NULL) == CL_SUCCESS &&
	       parent)
		id = parent;
	return id;
}

/* --- telling ---------------------------------------------------------------------------------- */

static uint64_t number_of(cl_device_id id, cl_device_info what, size_t size)
{
	uint64_t value = 0; /* the numbers asked for are 4 or 8 bytes long */

	return opencl_target.clGetDeviceInfo(id, what, size, &value, NULL) == CL_SUCCESS ? value
											 : 0;
}

static void tell(const struct opencl_device *device)
{
	cl_device_id id = device->id;
	char name[TEXT_BYTES] = "", version[TEXT_BYTES] = "";
	struct record_device facts = {
		.device = device->number,
		.n_multiprocessors = (uint32_t)number_of(id, CL_DEVICE_MAX_COMPUTE_UNITS, 4),
		.block_threads = (uint32_t)number_of(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, 8),
		.memory_bytes = number_of(id, CL_DEVICE_GLOBAL_MEM_SIZE, 8),
		.clock_hz = number_of(id, CL_DEVICE_MAX_CLOCK_FREQUENCY, 4) * 1000000,
		.block_shared_bytes = number_of(id, CL_DEVICE_LOCAL_MEM_SIZE, 8),
	};

	opencl_target.clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof(name), name, NULL);
	opencl_target.clGetDeviceInfo(id, CL_DRIVER_VERSION, sizeof(version), version, NULL);
	name[TEXT_BYTES - 1] = version[TEXT_BYTES - 1] = '\0';
	tacho_device(tacho_class(TRACE_KIND_DEVICE, name, strlen(name)), &facts, version);
}

struct opencl_device *opencl_device_of(cl_device_id id)
{
	struct opencl_device *device;

	if (!__atomic_load_n(&n_devices, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&find_lock);
		if (!n_devices)
			find_all();
		pthread_mutex_unlock(&find_lock);
	}
	device = known(id);
	if (!device)
		device = known(whole_of(id));
	if (!device)
		return NULL;
	pthread_mutex_lock(&device->lock);
	if (device->generation != tacho_generation() && tacho_is_recording()) {
		device->generation = tacho_generation();
		tell(device);
	}
	pthread_mutex_unlock(&device->lock);
	opencl_device_look_at_timer(device);
	return device;
}

/* --- its clock -------------------------------------------------------------------------------- */

void opencl_device_look_at_timer(struct opencl_device *device)
{
	uint64_t now = tacho_ticks();

	if (!device->has_timer)
		return;
	pthread_mutex_lock(&device->lock);
	if (device->timed_ticks &&
	    ((unsigned __int128)(now - device->timed_ticks) << 40) / tacho_clock_scale < TIMER_NS) {
		pthread_mutex_unlock(&device->lock);
		return;
	}
	device->timed_ticks = now;
	for (int i = 0; i < READINGS && device->has_timer; i++) {
		cl_ulong device_ns = 0, host_ns = 0;
		uint64_t before = tacho_ticks();
		cl_int status =
			opencl_target.clGetDeviceAndHostTimer(device->id, &device_ns, &host_ns);
		uint64_t after = tacho_ticks();

		device->has_timer = status == CL_SUCCESS && device_ns;
		if (!device->has_timer)
			break;
		opencl_clock_not_before(&device->clock, device_ns, before);
		opencl_clock_not_after(&device->clock, device_ns, after);
	}
	pthread_mutex_unlock(&device->lock);
}

void opencl_device_tell_error(struct opencl_device *device)
{
	uint64_t error_ns, told_ns;
	bool is_news;

	pthread_mutex_lock(&device->lock);
	error_ns = opencl_clock_error_ns(&device->clock);
	told_ns = device->told_error_ns;
	is_news =
		error_ns != UINT64_MAX && (!told_ns || (double)error_ns > NEWS * (double)told_ns ||
					   (double)error_ns * NEWS < (double)told_ns);
	if (is_news)
		device->told_error_ns = error_ns + !error_ns;
	pthread_mutex_unlock(&device->lock);
	if (is_news)
		tacho_counter_at(region_class(TRACE_KIND_COUNTER, NULL, ERROR_NAME), device->number,
				 0, (double)error_ns);
}

void opencl_device_after_fork(void)
{
	pthread_mutex_init(&find_lock, NULL);
	for (uint32_t i = 0; i < n_devices; i++) {
		pthread_mutex_init(&devices[i].lock, NULL);
		memset(&devices[i].clock, 0, sizeof(devices[i].clock));
		devices[i].timed_ticks = devices[i].told_error_ns = 0;
	}
}
