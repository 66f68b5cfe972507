/* shift_layer: a layer of OpenCL's loader that stands before a driver and changes the clock of its devices: SHIFT_NS later, SHIFT_PPM
 * faster. With SHIFT_TIMER the device tells that clock. With SHIFT_DENY queues with profiling cannot be made. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

static cl_icd_dispatch target, layer;

static cl_ulong shifted(cl_ulong ns)
{
	const char *shift = getenv("SHIFT_NS"), *ppm = getenv("SHIFT_PPM");

	return ns + (cl_ulong)(shift ? atoll(shift) : 0) +
	       (cl_ulong)((long double)ns * (ppm ? atoi(ppm) : 0) / 1000000);
}

static cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info what, size_t size,
					 void *value, size_t *ret_size)
{
	cl_int status = target.clGetEventProfilingInfo(event, what, size, value, ret_size);

	if (status == CL_SUCCESS && value)
		*(cl_ulong *)value = shifted(*(cl_ulong *)value);
	return status;
}

/* PoCL's clock. */
static cl_int CL_API_CALL timer(cl_device_id device, cl_ulong *device_ns, cl_ulong *host_ns)
{
	struct timespec now;

	(void)device;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	*host_ns = (cl_ulong)now.tv_sec * 1000000000u + (cl_ulong)now.tv_nsec;
	*device_ns = shifted(*host_ns);
	return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL make(cl_context context, cl_device_id device,
					 const cl_queue_properties *properties, cl_int *status)
{
	for (size_t i = 0; getenv("SHIFT_DENY") && properties && properties[i]; i += 2)
		if (properties[i] == CL_QUEUE_PROPERTIES &&
		    properties[i + 1] & CL_QUEUE_PROFILING_ENABLE) {
			if (status)
				*status = CL_INVALID_QUEUE_PROPERTIES;
			return NULL;
		}
	return target.clCreateCommandQueueWithProperties(context, device, properties, status);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
					       size_t *ret_size)
{
	cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (what != CL_LAYER_API_VERSION || size < sizeof(version))
		return CL_INVALID_VALUE;
	memcpy(value, &version, sizeof(version));
	if (ret_size)
		*ret_size = sizeof(version);
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target_dispatch,
					    cl_uint *ret_n, const cl_icd_dispatch **ret_layer)
{
	if (n < sizeof(target) / sizeof(void *))
		return CL_INVALID_VALUE;
	target = layer = *target_dispatch;
	layer.clGetEventProfilingInfo = profiling_info;
	layer.clCreateCommandQueueWithProperties = make;
	if (getenv("SHIFT_TIMER"))
		layer.clGetDeviceAndHostTimer = timer;
	*ret_n = sizeof(target) / sizeof(void *);
	*ret_layer = &layer;
	return CL_SUCCESS;
}
