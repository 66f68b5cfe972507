/* opencl_queue: command queues, and the commands in them that have not been told yet.
 *
 * A command's times are asked of its event once it is complete. Nobody waits for that, and no callback of the driver is used: who
 * calls OpenCL anyway looks (opencl_queue_collect()), behind its call:
 *
 *     enqueue -> opencl_queue_add() -> [pending] -> complete, seen by a later call -> told, event released
 *                                          \-> failed: forgotten
 *
 * (1) Each command has an event, the program's or one of the probe's; the probe holds a reference until it is told.
 * (2) A queue is made with profiling on. Where the program has not asked for it, nothing that the program can ask shows it.
 * (3) What a queue does one after the other never overlaps on its track. An out-of-order queue has a track for each command that runs at a
 *     time, up to N_LANES.
 * (4) Before the first command of a device is told, markers in a queue of the probe's own have bounded the device's clock.
 * (5) Entries of queues are used again, never freed: a late look-up is harmless. */
#ifndef TACHO_OPENCL_QUEUE_H
#define TACHO_OPENCL_QUEUE_H

#include "opencl/opencl_device.h"

#define QUEUE_N_PROPERTIES 16
#define QUEUE_N_LANES	   8

/* What a command is; the layer fills it in. */
struct opencl_work {
	enum trace_kind kind; /* of a device's record */
	uint32_t class_id;
	uint64_t bytes;
	enum trace_direction direction;
	struct tacho_launch launch;
};

/* What a device tells of a command, in ns of its clock. */
struct opencl_times {
	cl_ulong queued, submitted, begin, end;
};

/* A command that is in a queue. */
struct opencl_pending {
	struct opencl_pending *next;
	cl_event event;
	uint64_t correlation;
	uint64_t begin, end; /* of the call, in ticks */
	struct opencl_work work;
	bool has_times; /* it is complete, and these are known */
	struct opencl_times times;
};

struct opencl_queue {
	struct opencl_queue *next; /* of all there are; atomic at the head alone */
	cl_command_queue
		handle; /* atomic; NULL: the program has none here, its commands may be left */
	struct opencl_device *device;
	uint32_t number;
	int32_t n_references; /* atomic */
	bool is_out_of_order;
	bool is_hidden; /* the program has not asked for profiling */
	uint32_t n_properties;
	cl_queue_properties
		properties[QUEUE_N_PROPERTIES]; /* as the program gave them, with the 0 */

	pthread_mutex_t lock; /* of all below */
	struct opencl_pending *first, **last;
	uint32_t n_pending;
	uint32_t n_lanes; /* told of */
	uint64_t lane_end[QUEUE_N_LANES];
};

/* Whether queues made now are to be followed. */
bool opencl_queue_is_wanted(void);

/* A queue was made; `properties` are the program's, n of them. */
void opencl_queue_made(cl_command_queue handle, cl_context context, cl_device_id device,
		       bool is_hidden, const cl_queue_properties *properties,
		       uint32_t n_properties);
/* NULL: it is not followed. */
struct opencl_queue *opencl_queue_of(cl_command_queue handle);
void opencl_queue_retained(cl_command_queue handle);
void opencl_queue_released(cl_command_queue handle);

/* A command is in the queue; the reference to its event is the queue's from now on. False: no memory, and it is not. */
bool opencl_queue_add(struct opencl_queue *queue, const struct opencl_pending *command);

/* Tell of commands that are complete: of a few, or of all. */
enum opencl_collect { OPENCL_SOME, OPENCL_ALL };
void opencl_queue_collect(struct opencl_queue *queue, enum opencl_collect how);
/* Of all queues. */
void opencl_queues_collect(void);

/* How many references to the event are the probe's. */
cl_uint opencl_queue_references(cl_event event);

void opencl_queues_after_fork(void);

#endif
