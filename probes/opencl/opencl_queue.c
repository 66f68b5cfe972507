#include "opencl/opencl_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/region_stack.h"

#define N_SLAB	      128 /* pending commands that are allocated together */
#define FEW_TOLD      4	  /* by a call that adds one */
#define FEW_UNREADY   16  /* of an out-of-order queue, that are passed over */
#define N_MARKERS     10
#define WELL_KNOWN_NS 2000
#define NAME_BYTES    64
#define N_MEASURED    64 /* commands whose telling is timed */

static struct opencl_queue *queues; /* atomic */
static uint32_t n_queues;	    /* atomic */
static pthread_mutex_t make_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- the queues ------------------------------------------------------------------------------- */

bool opencl_queue_is_wanted(void)
{
	return (tacho_is_recording() || tacho_counts_steps()) && !tacho_is_partial();
}

struct opencl_queue *opencl_queue_of(cl_command_queue handle)
{
	struct opencl_queue *queue = __atomic_load_n(&queues, __ATOMIC_ACQUIRE);

	for (; handle && queue; queue = queue->next)
		if (__atomic_load_n(&queue->handle, __ATOMIC_ACQUIRE) == handle)
			return queue;
	return NULL;
}

/* One whose queue is gone and whose commands are told, else a new one. Called with `make_lock` held. */
static struct opencl_queue *free_queue(void)
{
	struct opencl_queue *queue;

	for (queue = queues; queue; queue = queue->next)
		if (!queue->handle && !queue->first)
			return queue;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	pthread_mutex_init(&queue->lock, NULL);
	queue->next = queues;
	__atomic_store_n(&queues, queue, __ATOMIC_RELEASE);
	return queue;
}

static void fill(struct opencl_queue *queue, struct opencl_device *device, bool is_hidden,
		 const cl_queue_properties *properties, uint32_t n_properties)
{
	queue->device = device;
	queue->number = __atomic_add_fetch(&n_queues, 1, __ATOMIC_RELAXED);
	queue->n_references = 1;
	queue->is_hidden = is_hidden;
	queue->n_properties = n_properties;
	if (n_properties)
		memcpy(queue->properties, properties, n_properties * sizeof(*properties));
	queue->last = &queue->first;
	queue->n_lanes = 0;
	memset(queue->lane_end, 0, sizeof(queue->lane_end));
}

void opencl_queue_retained(cl_command_queue handle)
{
	struct opencl_queue *queue = opencl_queue_of(handle);

	if (queue)
		__atomic_add_fetch(&queue->n_references, 1, __ATOMIC_RELAXED);
}

void opencl_queue_released(cl_command_queue handle)
{
	struct opencl_queue *queue = opencl_queue_of(handle);

	if (!queue)
		return;
	if (__atomic_sub_fetch(&queue->n_references, 1, __ATOMIC_ACQ_REL) == 0)
		__atomic_store_n(&queue->handle, NULL, __ATOMIC_RELEASE);
}

/* --- the commands that wait to be told ---------------------------------------------------------- */

static struct opencl_pending *spare; /* under its lock */
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

static struct opencl_pending *take_spare(void)
{
	struct opencl_pending *pending;

	pthread_mutex_lock(&spare_lock);
	if (!spare) {
		pending = calloc(N_SLAB, sizeof(*pending));
		for (int i = 0; pending && i < N_SLAB; i++) {
			pending[i].next = spare;
			spare = &pending[i];
		}
	}
	pending = spare;
	if (pending)
		spare = pending->next;
	pthread_mutex_unlock(&spare_lock);
	return pending;
}

static void give_spare(struct opencl_pending *pending)
{
	pthread_mutex_lock(&spare_lock);
	pending->next = spare;
	spare = pending;
	pthread_mutex_unlock(&spare_lock);
}

bool opencl_queue_add(struct opencl_queue *queue, const struct opencl_pending *command)
{
	struct opencl_pending *pending = take_spare();

	if (!pending)
		return false;
	*pending = *command;
	pending->next = NULL;
	pthread_mutex_lock(&queue->lock);
	*queue->last = pending;
	queue->last = &pending->next;
	queue->n_pending++;
	pthread_mutex_unlock(&queue->lock);
	return true;
}

cl_uint opencl_queue_references(cl_event event)
{
	struct opencl_queue *queue = __atomic_load_n(&queues, __ATOMIC_ACQUIRE);
	cl_uint n = 0;

	for (; queue; queue = queue->next) {
		pthread_mutex_lock(&queue->lock);
		for (const struct opencl_pending *p = queue->first; p; p = p->next)
			n += p->event == event;
		pthread_mutex_unlock(&queue->lock);
	}
	return n;
}

/* --- telling ---------------------------------------------------------------------------------- */

static bool ask_times(cl_event event, struct opencl_times *times)
{
	const struct {
		cl_profiling_info what;
		cl_ulong *ns;
	} asked[] = {
		{ CL_PROFILING_COMMAND_QUEUED, &times->queued },
		{ CL_PROFILING_COMMAND_SUBMIT, &times->submitted },
		{ CL_PROFILING_COMMAND_START, &times->begin },
		{ CL_PROFILING_COMMAND_END, &times->end },
	};

	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		if (opencl_target.clGetEventProfilingInfo(event, asked[i].what, sizeof(cl_ulong),
							  asked[i].ns, NULL) != CL_SUCCESS)
			return false;
	return times->end >= times->begin;
}

/* What a command's times say of the device's clock, as it was queued within [begin, end] in ticks. */
static void bound_clock(struct opencl_device *device, uint64_t begin, uint64_t end,
			const struct opencl_times *times)
{
	pthread_mutex_lock(&device->lock);
	opencl_clock_not_before(&device->clock, times->queued, begin);
	opencl_clock_not_after(&device->clock, times->queued, end);
	opencl_clock_not_before(&device->clock, times->begin, begin);
	opencl_clock_not_after(&device->clock, times->end, tacho_ticks());
	pthread_mutex_unlock(&device->lock);
}

/* The times on the trace's clock. */
static void place(struct opencl_device *device, const struct opencl_times *times,
		  struct tacho_activity *activity)
{
	pthread_mutex_lock(&device->lock);
	activity->begin = opencl_clock_ticks(&device->clock, times->begin);
	activity->end = opencl_clock_ticks(&device->clock, times->end);
	activity->queued = opencl_clock_ticks(&device->clock, times->queued);
	activity->submitted = opencl_clock_ticks(&device->clock, times->submitted);
	pthread_mutex_unlock(&device->lock);
}

static void name_lane(const struct opencl_queue *queue, uint32_t lane, uint32_t number)
{
	char name[NAME_BYTES];

	if (lane)
		snprintf(name, sizeof(name), "queue %u, beside %u", queue->number, lane);
	else
		snprintf(name, sizeof(name), "queue %u%s", queue->number,
			 queue->is_out_of_order ? ", out of order" : "");
	tacho_queue(tacho_class(TRACE_KIND_QUEUE, name, strlen(name)), queue->device->number,
		    number);
}

/* On which track: (3). */
static uint32_t find_lane(struct opencl_queue *queue, struct tacho_activity *activity)
{
	uint32_t lane = 0, number;

	if (queue->is_out_of_order)
		while (lane < QUEUE_N_LANES - 1 && queue->lane_end[lane] > activity->begin)
			lane++;
	if (queue->lane_end[lane] > activity->begin) {
		/* the clock's shift has changed between the two: how long it took is right */
		activity->end += queue->lane_end[lane] - activity->begin;
		activity->begin = queue->lane_end[lane];
	}
	queue->lane_end[lane] = activity->end;
	number = queue->number | lane << 24;
	for (; queue->n_lanes <= lane; queue->n_lanes++)
		name_lane(queue, queue->n_lanes, queue->number | queue->n_lanes << 24);
	return number;
}

static void record(const struct opencl_work *work, const struct tacho_activity *activity)
{
	switch (work->kind) {
	case TRACE_KIND_DEVICE_KERNEL:
		tacho_device_kernel(work->class_id, activity, &work->launch);
		break;
	case TRACE_KIND_COPY:
	case TRACE_KIND_FILL:
		tacho_copy(work->class_id, activity, work->bytes, work->direction, -1);
		break;
	case TRACE_KIND_DEVICE_WAIT:
		tacho_device_wait(work->class_id, activity, 0, 0);
		break;
	default:
		tacho_device_work(work->class_id, activity);
	}
}

/* How long asking and telling take, told itself once enough have been. */
static void measure(uint64_t ticks, bool is_told)
{
	static uint64_t sum;	/* atomic */
	static uint32_t n_told; /* atomic */
	static const enum trace_kind kinds[] = { TRACE_KIND_DEVICE_KERNEL, TRACE_KIND_COPY,
						 TRACE_KIND_FILL, TRACE_KIND_DEVICE_WAIT,
						 TRACE_KIND_DEVICE_WORK };
	uint64_t total, picoseconds;

	if (__atomic_load_n(&n_told, __ATOMIC_RELAXED) >= N_MEASURED)
		return;
	total = __atomic_add_fetch(&sum, ticks, __ATOMIC_RELAXED);
	if (!is_told || __atomic_add_fetch(&n_told, 1, __ATOMIC_RELAXED) != N_MEASURED)
		return;
	picoseconds = (uint64_t)(((unsigned __int128)total * 1000 << 40) / tacho_clock_scale) /
		      N_MEASURED;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		tacho_cost(kinds[i], "opencl", picoseconds);
}

static void tell(struct opencl_queue *queue, const struct opencl_pending *pending)
{
	struct tacho_activity activity = { .correlation = pending->correlation,
					   .device = queue->device->number };
	uint64_t began = tacho_ticks();

	place(queue->device, &pending->times, &activity);
	activity.queue = find_lane(queue, &activity);
	record(&pending->work, &activity);
	measure(tacho_ticks() - began, true);
}

/* Ask for the times of a command that is complete. */
static void learn(struct opencl_queue *queue, struct opencl_pending *pending)
{
	uint64_t began = tacho_ticks();

	pending->has_times = ask_times(pending->event, &pending->times);
	measure(tacho_ticks() - began, false);
	if (pending->has_times)
		bound_clock(queue->device, pending->begin, pending->end, &pending->times);
	else
		tacho_unseen("OpenCL commands",
			     "times of OpenCL commands are missing: the driver does not tell "
			     "those of a queue made with profiling");
}

/* Whether it is over; `ret_failed`: and how. */
static bool is_over(const struct opencl_pending *pending, bool *ret_failed)
{
	cl_int status = CL_QUEUED;

	*ret_failed =
		opencl_target.clGetEventInfo(pending->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
					     sizeof(status), &status, NULL) != CL_SUCCESS ||
		status < 0;
	return *ret_failed || status == CL_COMPLETE;
}

/* Called with the lock held. Events are released behind it: that may free a queue, or run what a program has asked for. */
static void collect(struct opencl_queue *queue, uint32_t n_told, uint32_t n_unready)
{
	struct opencl_pending **at = &queue->first, *over = NULL, **over_last = &over;
	bool has_failed;

	while (*at && n_told && n_unready) {
		struct opencl_pending *pending = *at;

		if (!is_over(pending, &has_failed)) {
			at = &pending->next;
			n_unready--;
			continue;
		}
		*at = pending->next;
		if (queue->last == &pending->next)
			queue->last = at;
		queue->n_pending--;
		n_told--;
		pending->has_times = false;
		if (!has_failed)
			learn(queue, pending);
		pending->next = NULL;
		*over_last = pending;
		over_last = &pending->next;
	}
	/* when all have said what they know of the clock */
	for (const struct opencl_pending *pending = over; pending; pending = pending->next)
		if (pending->has_times)
			tell(queue, pending);
	pthread_mutex_unlock(&queue->lock);
	while (over) {
		struct opencl_pending *pending = over;

		over = over->next;
		opencl_target.clReleaseEvent(pending->event);
		give_spare(pending);
	}
}

/* --- a queue is made -------------------------------------------------------------------------- */

static bool is_well_known(struct opencl_device *device)
{
	bool is_it;

	pthread_mutex_lock(&device->lock);
	is_it = opencl_clock_error_ns(&device->clock) <= WELL_KNOWN_NS;
	pthread_mutex_unlock(&device->lock);
	return is_it;
}

/* Before a device's first command is told its clock must be known: some markers in a queue of our own bound it well. */
static void calibrate(struct opencl_device *device, cl_context context, cl_device_id device_id)
{
	cl_command_queue queue;
	cl_int status;

	if (is_well_known(device))
		return;
	queue = opencl_target.clCreateCommandQueue(context, device_id, CL_QUEUE_PROFILING_ENABLE,
						   &status);
	for (int i = 0; queue && i < N_MARKERS; i++) {
		struct opencl_times times = { 0 };
		uint64_t begin = tacho_ticks(), end;
		cl_event event;

		if (opencl_target.clEnqueueMarker(queue, &event) != CL_SUCCESS)
			break;
		end = tacho_ticks();
		if (opencl_target.clFinish(queue) == CL_SUCCESS && ask_times(event, &times))
			bound_clock(device, begin, end, &times);
		opencl_target.clReleaseEvent(event);
		if (is_well_known(device))
			break;
	}
	if (queue)
		opencl_target.clReleaseCommandQueue(queue);
}

void opencl_queue_made(cl_command_queue handle, cl_context context, cl_device_id device_id,
		       bool is_hidden, const cl_queue_properties *properties, uint32_t n_properties)
{
	struct opencl_device *device = opencl_device_of(device_id);
	cl_command_queue_properties flags = 0;
	struct opencl_queue *queue;

	if (device)
		calibrate(device, context, device_id);
	opencl_target.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(flags), &flags,
					    NULL);
	pthread_mutex_lock(&make_lock);
	queue = device && n_properties <= QUEUE_N_PROPERTIES ? free_queue() : NULL;
	if (queue) {
		fill(queue, device, is_hidden, properties, n_properties);
		queue->is_out_of_order = flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
		__atomic_store_n(&queue->handle, handle, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&make_lock);
}

void opencl_queue_collect(struct opencl_queue *queue, enum opencl_collect how)
{
	uint32_t n_unready = queue->is_out_of_order ? FEW_UNREADY : 1;

	if (!__atomic_load_n(&queue->first, __ATOMIC_RELAXED))
		return;
	/* who only adds one does not wait for who tells */
	if (how == OPENCL_ALL)
		pthread_mutex_lock(&queue->lock);
	else if (pthread_mutex_trylock(&queue->lock) != 0)
		return;
	collect(queue, how == OPENCL_ALL ? UINT32_MAX : FEW_TOLD,
		how == OPENCL_ALL && queue->is_out_of_order ? UINT32_MAX : n_unready);
	opencl_device_look_at_timer(queue->device);
	opencl_device_tell_error(queue->device);
}

void opencl_queues_collect(void)
{
	struct opencl_queue *queue = __atomic_load_n(&queues, __ATOMIC_ACQUIRE);

	for (; queue; queue = queue->next)
		opencl_queue_collect(queue, OPENCL_ALL);
}

void opencl_queues_after_fork(void)
{
	pthread_mutex_init(&make_lock, NULL);
	pthread_mutex_init(&spare_lock, NULL);
	for (struct opencl_queue *queue = queues; queue; queue = queue->next) {
		pthread_mutex_init(&queue->lock, NULL);
		queue->first = NULL; /* they are the parent's */
		queue->last = &queue->first;
		queue->n_pending = queue->n_lanes = 0;
	}
}
