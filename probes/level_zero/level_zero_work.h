/* level_zero_work: command lists, what is in them, and what queues were given that has not been told yet.
 *
 *     append to a list ----------------> its commands --+ execute: a submission for each
 *     append to an immediate list -> a submission       |
 *                                        v              v
 *                     its event has times (seen by a later call) -> told, event used again
 *                              \-> the event was taken by another command, or never signalled: counted as lost
 *
 * (1) Nobody waits: who calls Level Zero anyway looks behind its call (level_zero_collect()).
 * (2) An event's times are those of a submission if they are between its call and now, and not those that the event had before.
 * (3) When another command is about to signal an event, or the program resets it, what was there is told, or lost.
 * (4) A submission to a queue that is idle and whose event has no times is lost PATIENCE_NS later.
 * (5) Commands of a queue may run at a time: each queue has a track for each, up to N_LANES.
 * (6) Queues are used again, never freed. */
#ifndef TACHO_LEVEL_ZERO_WORK_H
#define TACHO_LEVEL_ZERO_WORK_H

#include "level_zero/level_zero_device.h"
#include "level_zero/level_zero_event.h"

struct level_zero_command {
	enum trace_kind kind; /* of a device's record */
	uint32_t class_id;    /* 0: nothing is told of it, but its event is another one behind it */
	uint64_t bytes;
	enum trace_direction direction;
	int32_t peer;
	struct tacho_launch launch;
	uint64_t node; /* of a list that is executed later; 0: none */
	struct level_zero_event *event;
};

struct level_zero_list;
struct level_zero_queue;

/* Queues and lists, all with level_zero_lock held. */
void level_zero_queue_made(ze_command_queue_handle_t handle, ze_device_handle_t device,
			   uint32_t ordinal);
void level_zero_queue_gone(ze_command_queue_handle_t handle);
struct level_zero_queue *level_zero_queue_of(ze_command_queue_handle_t handle);

void level_zero_list_made(ze_command_list_handle_t handle, ze_context_handle_t context,
			  ze_device_handle_t device, uint32_t ordinal, bool is_immediate);
void level_zero_list_gone(ze_command_list_handle_t handle);
void level_zero_list_emptied(ze_command_list_handle_t handle);
/* NULL: it is not followed. */
struct level_zero_list *level_zero_list_of(ze_command_list_handle_t handle);
bool level_zero_list_is_immediate(const struct level_zero_list *list);
ze_context_handle_t level_zero_list_context(const struct level_zero_list *list);

/* The event that a command of the list is to signal: the program's, or one of ours. NULL: its times cannot be had. */
struct level_zero_event *level_zero_list_event(struct level_zero_list *list,
					       ze_event_handle_t theirs);
/* The command is in the list: submitted at `submitted` in ticks where it is immediate. */
void level_zero_list_add(struct level_zero_list *list, const struct level_zero_command *command,
			 uint64_t correlation, uint64_t submitted);

/* Lists are about to be executed, and were; by a call that began at `submitted`. */
void level_zero_execute(uint32_t n, const ze_command_list_handle_t *lists);
void level_zero_executed(struct level_zero_queue *queue, uint32_t n,
			 const ze_command_list_handle_t *lists, uint64_t correlation,
			 uint64_t submitted);

/* Tell of what was signalled by the event; what is still to come is lost when it is `over`: it will signal something else. Whether it was told. */
bool level_zero_event_settle(struct level_zero_event *event, bool is_over);
/* Tell of a few submissions to the list that are done, or of all to all queues. */
void level_zero_collect_some(struct level_zero_list *list);
void level_zero_collect(void);
/* All that was submitted before `ticks` is done. */
void level_zero_queue_idle(struct level_zero_queue *queue, uint64_t ticks);
void level_zero_list_idle(struct level_zero_list *list, uint64_t ticks);
/* The end of the process, or of the context: what is not done is lost. */
void level_zero_work_finish(ze_context_handle_t context);

void level_zero_work_after_fork(void);

#endif
