#include "level_zero/level_zero_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "level_zero/handle_table.h"

#define N_LANES	    8
#define N_SLAB	    256
#define FEW_TOLD    16 /* by a call that does not wait anyway */
#define FEW_UNREADY 4
#define PATIENCE_NS 1000000000u
#define N_MEASURED  4096 /* submissions, after which their cost is told */

struct level_zero_submission {
	struct level_zero_submission *next, *previous;
	struct level_zero_queue *queue;
	struct level_zero_command command;
	uint64_t correlation;
	uint64_t submitted;
	uint64_t idle_since; /* ticks at which its queue was known to be idle; 0: not */
};

struct level_zero_queue {
	struct level_zero_queue *next; /* of all there are */
	const void *handle;	       /* the program's; NULL: gone */
	struct level_zero_device *device;
	uint32_t number, ordinal;
	bool is_immediate;
	struct level_zero_submission *first, *last;
	uint32_t n_lanes; /* told of */
	uint64_t lane_end[N_LANES];
};

struct level_zero_list {
	ze_context_handle_t context;
	struct level_zero_device *device;
	struct level_zero_queue *queue; /* NULL: it is not immediate */
	struct level_zero_command *commands;
	size_t n, allocated;
};

static struct level_zero_queue *queues;
static uint32_t n_queues;
static struct level_zero_submission *spare;
static struct handle_table queue_table, list_table;

static void count_lost(void)
{
	tacho_record_make_room(0);
}

/* --- queues ----------------------------------------------------------------------------------- */

static struct level_zero_queue *add_queue(const void *handle, ze_device_handle_t device,
					  uint32_t ordinal, bool is_immediate)
{
	struct level_zero_queue *queue = queues;

	while (queue && (queue->handle || queue->first))
		queue = queue->next;
	if (!queue) {
		queue = calloc(1, sizeof(*queue));
		if (!queue)
			return NULL;
		queue->next = queues;
		queues = queue;
	}
	queue->device = level_zero_device_of(device);
	if (!queue->device) {
		tacho_unseen("Level Zero commands",
			     "what a Level Zero device does is not recorded: its driver does not "
			     "tell its clock (zeDeviceGetGlobalTimestamps)");
		return NULL;
	}
	queue->handle = handle;
	queue->number = n_queues++;
	queue->ordinal = ordinal;
	queue->is_immediate = is_immediate;
	queue->n_lanes = 0;
	memset(queue->lane_end, 0, sizeof(queue->lane_end));
	return queue;
}

void level_zero_queue_made(ze_command_queue_handle_t handle, ze_device_handle_t device,
			   uint32_t ordinal)
{
	struct level_zero_queue *queue = add_queue(handle, device, ordinal, false);

	if (queue && !handle_table_put(&queue_table, handle, queue))
		queue->handle = NULL;
}

struct level_zero_queue *level_zero_queue_of(ze_command_queue_handle_t handle)
{
	return handle_table_find(&queue_table, handle);
}

void level_zero_queue_gone(ze_command_queue_handle_t handle)
{
	struct level_zero_queue *queue = handle_table_take(&queue_table, handle);

	if (queue)
		queue->handle = NULL;
}

/* --- lists ------------------------------------------------------------------------------------ */

static void free_list(struct level_zero_list *list)
{
	if (list->queue)
		list->queue->handle = NULL;
	free(list->commands);
	free(list);
}

void level_zero_list_made(ze_command_list_handle_t handle, ze_context_handle_t context,
			  ze_device_handle_t device, uint32_t ordinal, bool is_immediate)
{
	struct level_zero_list *list = calloc(1, sizeof(*list));

	level_zero_list_gone(handle); /* one that went without a word */
	if (!list)
		return;
	list->context = context;
	list->device = level_zero_device_of(device);
	if (is_immediate)
		list->queue = add_queue(handle, device, ordinal, true);
	if (!list->device || (is_immediate && !list->queue) ||
	    !handle_table_put(&list_table, handle, list))
		free_list(list);
}

/* The events that its commands hold. */
static void let_go(struct level_zero_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		level_zero_event_let_go(list->commands[i].event);
	list->n = 0;
}

void level_zero_list_gone(ze_command_list_handle_t handle)
{
	struct level_zero_list *list = handle_table_take(&list_table, handle);

	if (!list)
		return;
	let_go(list);
	free_list(list);
}

void level_zero_list_emptied(ze_command_list_handle_t handle)
{
	struct level_zero_list *list = level_zero_list_of(handle);

	if (list)
		let_go(list);
}

struct level_zero_list *level_zero_list_of(ze_command_list_handle_t handle)
{
	return handle_table_find(&list_table, handle);
}

bool level_zero_list_is_immediate(const struct level_zero_list *list)
{
	return list->queue != NULL;
}

ze_context_handle_t level_zero_list_context(const struct level_zero_list *list)
{
	return list->context;
}

/* --- telling ---------------------------------------------------------------------------------- */

static void name_lane(const struct level_zero_queue *queue, uint32_t lane, uint32_t number)
{
	char name[80], beside[24] = "";

	if (lane)
		snprintf(beside, sizeof(beside), ", beside %u", lane);
	snprintf(name, sizeof(name), "queue %u, ordinal %u%s%s", queue->number, queue->ordinal,
		 queue->is_immediate ? ", immediate" : "", beside);
	tacho_queue(tacho_class(TRACE_KIND_QUEUE, name, strlen(name)), queue->device->number,
		    number);
}

/* On which track: (5). False: there is none, and what it would overlap with is told already. */
static bool find_lane(struct level_zero_queue *queue, struct tacho_activity *activity)
{
	uint32_t lane = 0;

	while (lane < N_LANES && queue->lane_end[lane] > activity->begin)
		lane++;
	if (lane == N_LANES)
		return false;
	queue->lane_end[lane] = activity->end;
	activity->queue = queue->number | lane << 24;
	for (; queue->n_lanes <= lane; queue->n_lanes++)
		name_lane(queue, queue->n_lanes, queue->number | queue->n_lanes << 24);
	return true;
}

static void record(const struct level_zero_command *command, const struct tacho_activity *activity)
{
	switch (command->kind) {
	case TRACE_KIND_DEVICE_KERNEL:
		tacho_device_kernel(command->class_id, activity, &command->launch);
		break;
	case TRACE_KIND_COPY:
	case TRACE_KIND_FILL:
		tacho_copy(command->class_id, activity, command->bytes, command->direction,
			   command->peer);
		break;
	case TRACE_KIND_DEVICE_WAIT:
		tacho_device_wait(command->class_id, activity, 0, 0);
		break;
	default:
		tacho_device_work(command->class_id, activity);
	}
}

/* How long asking and telling take, told itself once enough have been. */
static void measure(uint64_t ticks)
{
	static uint64_t sum;
	static uint32_t n_told;
	static const enum trace_kind kinds[] = { TRACE_KIND_DEVICE_KERNEL, TRACE_KIND_COPY,
						 TRACE_KIND_FILL, TRACE_KIND_DEVICE_WAIT };
	uint64_t picoseconds;

	if (n_told >= N_MEASURED || !tacho_clock_scale)
		return;
	sum += ticks;
	if (++n_told < N_MEASURED)
		return;
	picoseconds =
		(uint64_t)(((unsigned __int128)sum * 1000 << 40) / tacho_clock_scale) / N_MEASURED;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		tacho_cost(kinds[i], "level_zero", picoseconds);
}

static void tell(const struct level_zero_submission *submission, uint64_t begin, uint64_t end)
{
	struct level_zero_queue *queue = submission->queue;
	struct tacho_activity activity = { .begin = begin,
					   .end = end,
					   .correlation = submission->correlation,
					   .queued = submission->submitted,
					   .graph_node = submission->command.node,
					   .device = queue->device->number };

	if (find_lane(queue, &activity))
		record(&submission->command, &activity);
	else
		count_lost();
	level_zero_device_tell_error(queue->device);
}

/* Whether the submission's times are there: (2). */
static bool find_times(const struct level_zero_submission *submission, uint64_t *begin,
		       uint64_t *end)
{
	struct level_zero_device *device = submission->queue->device;
	struct level_zero_event *event = submission->command.event;
	ze_kernel_timestamp_result_t times = { 0 };

	if (!event->has_times ||
	    level_zero.zeEventQueryKernelTimestamp(event->handle, &times) != ZE_RESULT_SUCCESS ||
	    (!times.global.kernelStart && !times.global.kernelEnd) ||
	    memcmp(&times.global, &event->told, sizeof(event->told)) == 0)
		return false;
	if (!level_zero_device_follow(device, false) ||
	    !level_zero_device_place(device, &times.global, submission->submitted, begin, end)) {
		level_zero_device_follow(device, true);
		return false;
	}
	event->told = times.global;
	return true;
}

/* Nobody waits for it any more. */
static void forget(struct level_zero_submission *submission, bool was_told)
{
	struct level_zero_queue *queue = submission->queue;
	struct level_zero_event *event = submission->command.event;

	*(submission->previous ? &submission->previous->next : &queue->first) = submission->next;
	*(submission->next ? &submission->next->previous : &queue->last) = submission->previous;
	submission->next = spare;
	spare = submission;
	event->pending = NULL;
	if (was_told)
		level_zero_event_give_back(event);
	else
		count_lost();
}

/* Tell of it, if its times are there; it is forgotten then, and also if it `is_over`. */
static bool settle(struct level_zero_submission *submission, bool is_over)
{
	uint64_t began = tacho_ticks(), begin, end;
	bool has_times = find_times(submission, &begin, &end);

	if (has_times)
		tell(submission, begin, end);
	if (has_times || is_over)
		forget(submission, has_times);
	if (has_times)
		measure(tacho_ticks() - began);
	return has_times;
}

static bool is_lost(const struct level_zero_submission *submission, uint64_t now)
{
	uint64_t since = submission->idle_since;

	return since && now > since &&
	       (unsigned __int128)(now - since) << 40 >
		       (unsigned __int128)PATIENCE_NS * tacho_clock_scale;
}

static void collect(struct level_zero_queue *queue, uint32_t n_told, uint32_t n_unready)
{
	struct level_zero_submission *submission = queue->first, *next;
	uint64_t now = tacho_ticks();

	for (; submission && n_told && n_unready; submission = next) {
		next = submission->next;
		if (settle(submission, is_lost(submission, now)))
			n_told--;
		else
			n_unready--;
	}
}

void level_zero_collect_some(struct level_zero_list *list)
{
	if (list->queue)
		collect(list->queue, FEW_TOLD, FEW_UNREADY);
}

void level_zero_collect(void)
{
	for (struct level_zero_queue *queue = queues; queue; queue = queue->next)
		collect(queue, UINT32_MAX, UINT32_MAX);
}

bool level_zero_event_settle(struct level_zero_event *event, bool is_over)
{
	return event->pending && settle(event->pending, is_over);
}

void level_zero_queue_idle(struct level_zero_queue *queue, uint64_t ticks)
{
	uint64_t now = tacho_ticks();

	for (struct level_zero_submission *one = queue->first; one; one = one->next)
		if (!one->idle_since && one->submitted <= ticks)
			one->idle_since = now;
}

void level_zero_list_idle(struct level_zero_list *list, uint64_t ticks)
{
	if (list->queue)
		level_zero_queue_idle(list->queue, ticks);
}

void level_zero_work_finish(ze_context_handle_t context)
{
	for (struct level_zero_queue *queue = queues; queue; queue = queue->next) {
		struct level_zero_submission *submission = queue->first, *next;

		for (; submission; submission = next) {
			next = submission->next;
			settle(submission, !context || level_zero_event_is_of(
							       submission->command.event, context));
		}
	}
}

/* --- commands --------------------------------------------------------------------------------- */

struct level_zero_event *level_zero_list_event(struct level_zero_list *list,
					       ze_event_handle_t theirs)
{
	struct level_zero_event *event =
		theirs ? level_zero_event_of(theirs) : level_zero_event_take(list->context);

	if (!event || !event->has_times) {
		tacho_unseen("Level Zero commands",
			     "times of some Level Zero commands are missing: their events have no "
			     "timestamps, or no more can be made");
		return NULL;
	}
	if (list->queue)
		level_zero_event_settle(event, true);
	return event;
}

static void submit(struct level_zero_queue *queue, const struct level_zero_command *command,
		   uint64_t correlation, uint64_t submitted)
{
	struct level_zero_submission *submission;

	/* what another command of the same call, or of another thread's, signals is not to be told from this one's */
	if (command->event->pending)
		forget(command->event->pending, false);
	if (!command->class_id)
		return;
	if (!spare) {
		struct level_zero_submission *slab = calloc(N_SLAB, sizeof(*slab));

		for (int i = 0; slab && i < N_SLAB; i++) {
			slab[i].next = spare;
			spare = &slab[i];
		}
	}
	submission = spare;
	if (!submission) {
		count_lost();
		return;
	}
	spare = submission->next;
	*submission = (struct level_zero_submission){ .previous = queue->last,
						      .queue = queue,
						      .command = *command,
						      .correlation = correlation,
						      .submitted = submitted };
	command->event->pending = submission;
	*(queue->last ? &queue->last->next : &queue->first) = submission;
	queue->last = submission;
}

void level_zero_list_add(struct level_zero_list *list, const struct level_zero_command *command,
			 uint64_t correlation, uint64_t submitted)
{
	if (list->queue) {
		submit(list->queue, command, correlation, submitted);
		return;
	}
	if (list->n == list->allocated) {
		size_t wanted = list->allocated ? 2 * list->allocated : 16;
		struct level_zero_command *commands =
			realloc(list->commands, wanted * sizeof(*commands));

		if (!commands) {
			level_zero_event_give_back(command->event);
			count_lost();
			return;
		}
		list->commands = commands;
		list->allocated = wanted;
	}
	command->event->n_held++;
	list->commands[list->n++] = *command;
}

void level_zero_execute(uint32_t n, const ze_command_list_handle_t *lists)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct level_zero_list *list = level_zero_list_of(lists[i]);

		for (size_t c = 0; list && c < list->n; c++) {
			struct level_zero_event *event = list->commands[c].event;
			bool is_running = event->pending && !level_zero_event_settle(event, true);

			if (event->own && event->told.kernelEnd && !is_running)
				level_zero.zeEventHostReset(event->handle);
		}
	}
}

void level_zero_executed(struct level_zero_queue *queue, uint32_t n,
			 const ze_command_list_handle_t *lists, uint64_t correlation,
			 uint64_t submitted)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct level_zero_list *list = level_zero_list_of(lists[i]);

		for (size_t c = 0; list && c < list->n; c++)
			if (list->commands[c].event->has_times)
				submit(queue, &list->commands[c], correlation, submitted);
			else
				count_lost();
	}
}

void level_zero_work_after_fork(void)
{
	/* what was there is the parent's */
	queues = NULL;
	spare = NULL;
	queue_table = list_table = (struct handle_table){ 0 };
}
