/* opencl_layer: stands before OpenCL's calls as a layer of the loader (OPENCL_LAYERS), and records them and what devices did for them.
 *
 * (1) The program's results, events and errors are those that it would get without the layer. What it can see of the layer:
 *     docs and README.md.
 * (2) A call that puts a command into a queue has a correlation id, by which the command is tied to it.
 * (3) Commands that are complete are told behind a call of the program's, in its thread (opencl_queue.h). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/activity.h"
#include "common/region_stack.h"
#include "opencl/opencl_kernel.h"
#include "opencl/opencl_queue.h"

#define VALUE		  size_t param_value_size, void *param_value, size_t *param_value_size_ret
#define VALUE_GIVEN	  param_value_size, param_value, param_value_size_ret
#define EVENTS		  cl_uint n_events, const cl_event *event_list, cl_event *event
#define EVENTS_GIVEN	  n_events, event_list, event
#define CORRELATION_FIRST (UINT64_C(1) << 50) /* apart from other runtimes', exact as a double */
#define COST_ROUNDS	  9
#define COST_CALLS	  32

cl_icd_dispatch opencl_target;

enum call {
#define CALL(type, name, parameters, arguments)		      CALL_##name,
#define ENQUEUE(name, parameters, arguments, description)     CALL_##name,
#define ENQUEUE_MAP(name, parameters, arguments, description) CALL_##name,
#define OWN(type, name, parameters)			      CALL_##name,
#include "opencl/opencl_calls.def"
#undef CALL
#undef ENQUEUE
#undef ENQUEUE_MAP
#undef OWN
	N_CALLS
};

static const char *const call_names[N_CALLS] = {
#define CALL(type, name, parameters, arguments)		      #name,
#define ENQUEUE(name, parameters, arguments, description)     #name,
#define ENQUEUE_MAP(name, parameters, arguments, description) #name,
#define OWN(type, name, parameters)			      #name,
#include "opencl/opencl_calls.def"
#undef CALL
#undef ENQUEUE
#undef ENQUEUE_MAP
#undef OWN
};

/* --- calls ------------------------------------------------------------------------------------ */

static uint32_t call_classes[N_CALLS]; /* atomic */
static uint32_t work_classes[N_CALLS]; /* atomic: of the commands that they queue, but of kernels */

struct cost {
	uint32_t class_id;
	uint64_t picoseconds; /* 0: not measured */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void measure(void *cost_pointer)
{
	struct cost *cost = cost_pointer;
	uint64_t least_ns = UINT64_MAX;

	if (!tacho_scratch_begin(2 * COST_CALLS * sizeof(struct record_slice)))
		return;
	for (int round = 0; round < COST_ROUNDS; round++) {
		uint64_t begin_ns = now_ns(), taken_ns;

		for (int i = 0; i < COST_CALLS; i++)
			tacho_slice_finish(tacho_slice_begin(cost->class_id, 0));
		taken_ns = now_ns() - begin_ns;
		tacho_scratch_rewind();
		if (taken_ns < least_ns)
			least_ns = taken_ns;
	}
	tacho_scratch_end();
	cost->picoseconds = least_ns * 1000 / COST_CALLS;
}

/* What a call costs, told once a process. */
static void tell_cost(uint32_t class_id)
{
	static uint32_t told_generation; /* atomic */
	struct cost cost = { .class_id = class_id };

	if (__atomic_exchange_n(&told_generation, tacho_generation(), __ATOMIC_RELAXED) ==
	    tacho_generation())
		return;
	tacho_run_aside(measure, &cost);
	if (cost.picoseconds)
		tacho_cost(TRACE_KIND_RUNTIME, "opencl", cost.picoseconds);
}

static __attribute__((noinline)) uint32_t declare(enum call call)
{
	uint32_t class_id =
		tacho_class(TRACE_KIND_RUNTIME, call_names[call], strlen(call_names[call]));

	__atomic_store_n(&call_classes[call], class_id, __ATOMIC_RELAXED);
	if (class_id)
		tell_cost(class_id);
	return class_id;
}

static inline struct record_slice *call_begin(enum call call, uint64_t id)
{
	uint32_t class_id;

	if (!tacho_is_recording_all())
		return NULL;
	class_id = __atomic_load_n(&call_classes[call], __ATOMIC_RELAXED);
	if (TACHO_UNLIKELY(!class_id))
		class_id = declare(call);
	return tacho_slice_begin(class_id, id);
}

/* --- commands --------------------------------------------------------------------------------- */

/* One that is being put into a queue. */
struct command {
	enum call call;
	struct opencl_queue *queue; /* NULL: it is not followed */
	struct record_slice *slice;
	cl_event own;	 /* where the program wants none */
	cl_event *event; /* where the event goes to */
	bool is_users;	 /* that is the program's */
	bool is_blocking;
	struct opencl_pending pending;
};

static uint64_t next_correlation(void)
{
	static _Thread_local uint64_t last;

	return tacho_next_correlation(&last, CORRELATION_FIRST);
}

/* Where the call is to put the event. */
static cl_event *command_begin(struct command *command, enum call call,
			       cl_command_queue command_queue, cl_event *event)
{
	command->call = call;
	command->slice = NULL;
	command->queue = NULL;
	if (!tacho_is_recording_all())
		return event;
	command->queue = opencl_queue_of(command_queue);
	command->own = NULL;
	command->is_users = event != NULL;
	command->is_blocking = false;
	command->event = event ? event : &command->own;
	command->pending.correlation = next_correlation();
	command->slice = call_begin(call, command->pending.correlation);
	command->pending.begin = tacho_ticks();
	return command->queue ? command->event : event;
}

static void command_end(struct command *command, cl_int status)
{
	struct opencl_queue *queue = command->queue;

	if (!command->slice && !queue)
		return;
	command->pending.end = tacho_ticks();
	tacho_slice_finish(command->slice);
	if (status != CL_SUCCESS) {
		if (tacho_is_recording_all())
			region_mark("OpenCL failed", call_names[command->call], status, "");
		return;
	}
	if (!queue || !*command->event)
		return;
	command->pending.event = *command->event;
	if (command->is_users && opencl_target.clRetainEvent(command->pending.event) != CL_SUCCESS)
		return;
	if (!opencl_queue_add(queue, &command->pending))
		opencl_target.clReleaseEvent(command->pending.event);
	opencl_queue_collect(queue, command->is_blocking ? OPENCL_ALL : OPENCL_SOME);
}

/* --- what commands are ------------------------------------------------------------------------ */

/* "clEnqueueReadBuffer" does "ReadBuffer". */
static uint32_t work_class(enum call call, enum trace_kind kind)
{
	uint32_t class_id = __atomic_load_n(&work_classes[call], __ATOMIC_RELAXED);
	const char *name = call_names[call] + strlen("clEnqueue");

	if (!class_id) {
		class_id = tacho_class(kind, name, strlen(name));
		__atomic_store_n(&work_classes[call], class_id, __ATOMIC_RELAXED);
	}
	return class_id;
}

static struct opencl_work *describe(struct command *command, enum trace_kind kind)
{
	struct opencl_work *work = &command->pending.work;

	if (!command->queue)
		return work;
	memset(work, 0, sizeof(*work));
	work->kind = kind;
	work->class_id = work_class(command->call, kind);
	return work;
}

static void describe_copy(struct command *command, enum trace_direction direction, uint64_t bytes,
			  cl_bool is_blocking)
{
	struct opencl_work *work = describe(command, TRACE_KIND_COPY);

	command->is_blocking = is_blocking;
	work->direction = direction;
	work->bytes = bytes;
}

static void describe_fill(struct command *command, uint64_t bytes)
{
	describe(command, TRACE_KIND_FILL)->bytes = bytes;
}

/* `local` NULL: the runtime chooses the groups, so that work-items are told, and no group. */
static void describe_kernel(struct command *command, cl_kernel kernel, cl_uint n_dims,
			    const size_t *global, const size_t *local)
{
	struct tacho_launch *launch = &command->pending.work.launch;
	uint32_t class_id;

	if (!command->queue)
		return;
	class_id = kernel ? opencl_kernel_class(kernel) : 0;
	memset(&command->pending.work, 0, sizeof(command->pending.work));
	command->pending.work.kind = TRACE_KIND_DEVICE_KERNEL;
	command->pending.work.class_id = class_id;
	for (cl_uint i = 0; i < 3; i++) {
		size_t items = global && i < n_dims ? global[i] : 1;
		size_t group = !n_dims ? 1 : local && i < n_dims ? local[i] : local != NULL;

		launch->grid[i] = (uint32_t)(group ? (items + group - 1) / group : items);
		launch->block[i] = (uint32_t)group;
	}
}

static uint64_t region_bytes(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t image_bytes(cl_mem image, const size_t *region)
{
	size_t element = 0;

	if (!region || !tacho_is_recording_all() ||
	    opencl_target.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element,
					 NULL) != CL_SUCCESS)
		return 0;
	return region_bytes(region) * element;
}

/* --- the calls that are only recorded, and those that put commands into queues ------------------ */

#define CALL(type, name, parameters, arguments)                                                    \
	static type CL_API_CALL call_##name parameters                                             \
	{                                                                                          \
		struct record_slice *slice = call_begin(CALL_##name, 0);                           \
		type result = opencl_target.name arguments;                                        \
                                                                                                   \
		tacho_slice_finish(slice);                                                         \
		return result;                                                                     \
	}

#define ENQUEUE(name, parameters, arguments, description)                                          \
	static cl_int CL_API_CALL call_##name parameters                                           \
	{                                                                                          \
		struct command command;                                                            \
		cl_int status;                                                                     \
                                                                                                   \
		event = command_begin(&command, CALL_##name, command_queue, event);                \
		description;                                                                       \
		status = opencl_target.name arguments;                                             \
		command_end(&command, status);                                                     \
		return status;                                                                     \
	}

#define ENQUEUE_MAP(name, parameters, arguments, description)                                      \
	static void *CL_API_CALL call_##name parameters                                            \
	{                                                                                          \
		cl_int status = CL_SUCCESS, *users_status = errcode_ret;                           \
		struct command command;                                                            \
		void *result;                                                                      \
                                                                                                   \
		event = command_begin(&command, CALL_##name, command_queue, event);                \
		description;                                                                       \
		errcode_ret = &status;                                                             \
		result = opencl_target.name arguments;                                             \
		if (users_status)                                                                  \
			*users_status = status;                                                    \
		command_end(&command, status);                                                     \
		return result;                                                                     \
	}
#define OWN(type, name, parameters) static type CL_API_CALL call_##name parameters;
#include "opencl/opencl_calls.def"
#undef CALL
#undef ENQUEUE
#undef ENQUEUE_MAP
#undef OWN

static void CL_API_CALL call_clSVMFree(cl_context context, void *svm_pointer)
{
	struct record_slice *slice = call_begin(CALL_clSVMFree, 0);

	opencl_target.clSVMFree(context, svm_pointer);
	tacho_slice_finish(slice);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static cl_int CL_API_CALL call_clFinish(cl_command_queue command_queue)
{
	struct record_slice *slice = call_begin(CALL_clFinish, 0);
	cl_int status = opencl_target.clFinish(command_queue);
	struct opencl_queue *queue = opencl_queue_of(command_queue);

	tacho_slice_finish(slice);
	if (queue)
		opencl_queue_collect(queue, OPENCL_ALL);
	return status;
}

static cl_int CL_API_CALL call_clWaitForEvents(cl_uint num_events, const cl_event *event_list)
{
	struct record_slice *slice = call_begin(CALL_clWaitForEvents, 0);
	cl_int status = opencl_target.clWaitForEvents(num_events, event_list);

	tacho_slice_finish(slice);
	opencl_queues_collect();
	return status;
}

static cl_int CL_API_CALL call_clReleaseContext(cl_context context)
{
	struct record_slice *slice = call_begin(CALL_clReleaseContext, 0);
	cl_int status;

	opencl_queues_collect();
	status = opencl_target.clReleaseContext(context);
	tacho_slice_finish(slice);
	return status;
}

/* --- queues ----------------------------------------------------------------------------------- */

/* Said where a queue is made without profiling after all. */
static void say_unprofiled(void)
{
	tacho_unseen("OpenCL commands", "what an OpenCL queue does is not recorded: its driver "
					"makes none with profiling");
}

static cl_command_queue CL_API_CALL
call_clCreateCommandQueue(cl_context context, cl_device_id device,
			  cl_command_queue_properties properties, cl_int *errcode_ret)
{
	struct record_slice *slice = call_begin(CALL_clCreateCommandQueue, 0);
	bool is_wanted = opencl_queue_is_wanted();
	bool is_hidden = is_wanted && !(properties & CL_QUEUE_PROFILING_ENABLE);
	cl_command_queue queue = NULL;

	if (is_hidden)
		queue = opencl_target.clCreateCommandQueue(
			context, device, properties | CL_QUEUE_PROFILING_ENABLE, errcode_ret);
	if (!queue) {
		queue = opencl_target.clCreateCommandQueue(context, device, properties,
							   errcode_ret);
		if (queue && is_hidden)
			say_unprofiled();
		is_wanted = is_wanted && !is_hidden;
	}
	if (queue && is_wanted)
		opencl_queue_made(queue, context, device, is_hidden, NULL, 0);
	tacho_slice_finish(slice);
	return queue;
}

/* The program's properties with profiling among them; false: they are too many, or of a queue of the device's own. */
static bool add_profiling(const cl_queue_properties *properties,
			  cl_queue_properties added[QUEUE_N_PROPERTIES + 2], uint32_t *ret_n,
			  bool *ret_hidden)
{
	cl_command_queue_properties flags = 0;
	uint32_t n = 0, flags_at = UINT32_MAX;

	while (properties && properties[n]) {
		if (n + 3 > QUEUE_N_PROPERTIES)
			return false;
		if (properties[n] == CL_QUEUE_PROPERTIES) {
			flags_at = n + 1;
			flags = properties[n + 1];
		}
		added[n] = properties[n];
		added[n + 1] = properties[n + 1];
		n += 2;
	}
	if (flags & CL_QUEUE_ON_DEVICE)
		return false;
	*ret_n = properties ? n + 1 : 0;
	*ret_hidden = !(flags & CL_QUEUE_PROFILING_ENABLE);
	if (flags_at == UINT32_MAX) {
		added[n++] = CL_QUEUE_PROPERTIES;
		flags_at = n++;
	}
	added[flags_at] = flags | CL_QUEUE_PROFILING_ENABLE;
	added[n] = 0;
	return true;
}

static cl_command_queue CL_API_CALL
call_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
					const cl_queue_properties *properties, cl_int *errcode_ret)
{
	struct record_slice *slice = call_begin(CALL_clCreateCommandQueueWithProperties, 0);
	cl_queue_properties added[QUEUE_N_PROPERTIES + 2];
	bool is_hidden = false;
	uint32_t n = 0;
	bool is_wanted =
		opencl_queue_is_wanted() && add_profiling(properties, added, &n, &is_hidden);
	cl_command_queue queue = NULL;

	if (is_wanted)
		queue = opencl_target.clCreateCommandQueueWithProperties(context, device, added,
									 errcode_ret);
	if (!queue) {
		queue = opencl_target.clCreateCommandQueueWithProperties(context, device,
									 properties, errcode_ret);
		if (queue && is_wanted)
			say_unprofiled();
		is_wanted = false;
	}
	if (queue && is_wanted)
		opencl_queue_made(queue, context, device, is_hidden, properties, n);
	tacho_slice_finish(slice);
	return queue;
}

static cl_int CL_API_CALL call_clRetainCommandQueue(cl_command_queue command_queue)
{
	struct record_slice *slice = call_begin(CALL_clRetainCommandQueue, 0);
	cl_int status = opencl_target.clRetainCommandQueue(command_queue);

	if (status == CL_SUCCESS)
		opencl_queue_retained(command_queue);
	tacho_slice_finish(slice);
	return status;
}

/* Forgotten before: another queue may be made at its address by the time that this one is gone. */
static cl_int CL_API_CALL call_clReleaseCommandQueue(cl_command_queue command_queue)
{
	struct record_slice *slice = call_begin(CALL_clReleaseCommandQueue, 0);
	struct opencl_queue *queue = opencl_queue_of(command_queue);
	cl_int status;

	if (queue) {
		opencl_queue_collect(queue, OPENCL_ALL);
		opencl_queue_released(command_queue);
	}
	status = opencl_target.clReleaseCommandQueue(command_queue);
	tacho_slice_finish(slice);
	return status;
}

/* What the program has asked for, of a queue whose profiling it has not. */
static cl_int hidden_info(const struct opencl_queue *queue, cl_command_queue_info param_name, VALUE)
{
	size_t bytes = queue->n_properties * sizeof(*queue->properties);
	cl_int status;

	if (param_name == CL_QUEUE_PROPERTIES_ARRAY) {
		if (param_value && param_value_size < bytes)
			return CL_INVALID_VALUE;
		if (param_value && bytes)
			memcpy(param_value, queue->properties, bytes);
		if (param_value_size_ret)
			*param_value_size_ret = bytes;
		return CL_SUCCESS;
	}
	status = opencl_target.clGetCommandQueueInfo(queue->handle, param_name, VALUE_GIVEN);
	if (status == CL_SUCCESS && param_value)
		*(cl_command_queue_properties *)param_value &=
			~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	return status;
}

static cl_int CL_API_CALL call_clGetCommandQueueInfo(cl_command_queue command_queue,
						     cl_command_queue_info param_name, VALUE)
{
	struct record_slice *slice = call_begin(CALL_clGetCommandQueueInfo, 0);
	struct opencl_queue *queue = opencl_queue_of(command_queue);
	cl_int status;

	if (queue && queue->is_hidden &&
	    (param_name == CL_QUEUE_PROPERTIES || param_name == CL_QUEUE_PROPERTIES_ARRAY))
		status = hidden_info(queue, param_name, VALUE_GIVEN);
	else
		status =
			opencl_target.clGetCommandQueueInfo(command_queue, param_name, VALUE_GIVEN);
	tacho_slice_finish(slice);
	return status;
}

/* OpenCL 1.0 could switch profiling later. */
static cl_int CL_API_CALL call_clSetCommandQueueProperty(
	cl_command_queue command_queue, cl_command_queue_properties properties, cl_bool enable,
	cl_command_queue_properties *old_properties)
{
	struct record_slice *slice = call_begin(CALL_clSetCommandQueueProperty, 0);
	struct opencl_queue *queue = opencl_queue_of(command_queue);
	cl_command_queue_properties kept = properties;
	cl_int status;

	if (queue && !enable)
		kept &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	status = opencl_target.clSetCommandQueueProperty(command_queue, kept, enable,
							 old_properties);
	if (status == CL_SUCCESS && queue) {
		if (old_properties && queue->is_hidden)
			*old_properties &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
		if (properties & CL_QUEUE_PROFILING_ENABLE)
			queue->is_hidden = !enable;
	}
	tacho_slice_finish(slice);
	return status;
}

/* --- events ----------------------------------------------------------------------------------- */

static cl_int CL_API_CALL call_clGetEventInfo(cl_event event, cl_event_info param_name, VALUE)
{
	struct record_slice *slice = call_begin(CALL_clGetEventInfo, 0);
	cl_int status = opencl_target.clGetEventInfo(event, param_name, VALUE_GIVEN);

	if (status == CL_SUCCESS && param_value && param_name == CL_EVENT_REFERENCE_COUNT)
		*(cl_uint *)param_value -= opencl_queue_references(event);
	tacho_slice_finish(slice);
	return status;
}

static bool is_hidden_event(cl_event event)
{
	cl_command_queue handle = NULL;
	struct opencl_queue *queue;

	if (opencl_target.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle,
					 NULL) != CL_SUCCESS)
		return false;
	queue = opencl_queue_of(handle);
	return queue && queue->is_hidden;
}

static cl_int CL_API_CALL call_clGetEventProfilingInfo(cl_event event, cl_profiling_info param_name,
						       VALUE)
{
	struct record_slice *slice = call_begin(CALL_clGetEventProfilingInfo, 0);
	cl_int status =
		is_hidden_event(event)
			? CL_PROFILING_INFO_NOT_AVAILABLE
			: opencl_target.clGetEventProfilingInfo(event, param_name, VALUE_GIVEN);

	tacho_slice_finish(slice);
	return status;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static cl_kernel CL_API_CALL call_clCreateKernel(cl_program program, const char *kernel_name,
						 cl_int *errcode_ret)
{
	struct record_slice *slice = call_begin(CALL_clCreateKernel, 0);
	cl_kernel kernel = opencl_target.clCreateKernel(program, kernel_name, errcode_ret);

	opencl_kernel_is_new(kernel);
	tacho_slice_finish(slice);
	return kernel;
}

static cl_int CL_API_CALL call_clCreateKernelsInProgram(cl_program program, cl_uint num_kernels,
							cl_kernel *kernels,
							cl_uint *num_kernels_ret)
{
	struct record_slice *slice = call_begin(CALL_clCreateKernelsInProgram, 0);
	cl_uint n = 0;
	cl_int status = opencl_target.clCreateKernelsInProgram(program, num_kernels, kernels, &n);

	if (status == CL_SUCCESS && num_kernels_ret)
		*num_kernels_ret = n;
	for (cl_uint i = 0; status == CL_SUCCESS && kernels && i < n && i < num_kernels; i++)
		opencl_kernel_is_new(kernels[i]);
	tacho_slice_finish(slice);
	return status;
}

static cl_kernel CL_API_CALL call_clCloneKernel(cl_kernel source_kernel, cl_int *errcode_ret)
{
	struct record_slice *slice = call_begin(CALL_clCloneKernel, 0);
	cl_kernel kernel = opencl_target.clCloneKernel(source_kernel, errcode_ret);

	opencl_kernel_is_new(kernel);
	tacho_slice_finish(slice);
	return kernel;
}

/* --- the layer -------------------------------------------------------------------------------- */

static cl_icd_dispatch layer;

static void after_fork_in_child(void)
{
	opencl_device_after_fork();
	opencl_kernel_after_fork();
	opencl_queues_after_fork();
}

/* A layer hands on what is behind it where it does not stand before that. */
static void fill_layer(cl_uint n_entries)
{
	layer = opencl_target;
#define PUT(name)                                                                                  \
	if (offsetof(cl_icd_dispatch, name) / sizeof(void *) < n_entries && opencl_target.name)    \
		layer.name = call_##name;
#define CALL(type, name, parameters, arguments)		      PUT(name)
#define ENQUEUE(name, parameters, arguments, description)     PUT(name)
#define ENQUEUE_MAP(name, parameters, arguments, description) PUT(name)
#define OWN(type, name, parameters)			      PUT(name)
#include "opencl/opencl_calls.def"
#undef CALL
#undef ENQUEUE
#undef ENQUEUE_MAP
#undef OWN
#undef PUT
}

TACHO_EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param_name, VALUE)
{
	static const char name[] = "tacho";
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *value = param_name == CL_LAYER_NAME ? (const void *)name : &version;
	size_t bytes = param_name == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (param_name != CL_LAYER_NAME && param_name != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (param_value && param_value_size < bytes)
		return CL_INVALID_VALUE;
	if (param_value)
		memcpy(param_value, value, bytes);
	if (param_value_size_ret)
		*param_value_size_ret = bytes;
	return CL_SUCCESS;
}

TACHO_EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint num_entries,
							 const cl_icd_dispatch *target_dispatch,
							 cl_uint *num_entries_ret,
							 const cl_icd_dispatch **layer_dispatch_ret)
{
	cl_uint n_known = sizeof(cl_icd_dispatch) / sizeof(void *);
	cl_uint n_entries = num_entries < n_known ? num_entries : n_known;

	if (!target_dispatch || !num_entries_ret || !layer_dispatch_ret)
		return CL_INVALID_VALUE;
	memcpy(&opencl_target, target_dispatch, n_entries * sizeof(void *));
	fill_layer(n_entries);
	*num_entries_ret = n_entries;
	*layer_dispatch_ret = &layer;
	pthread_atfork(NULL, NULL, after_fork_in_child);
	/* the drivers are there already, so that this comes before they end */
	atexit(opencl_queues_collect);
	return CL_SUCCESS;
}
