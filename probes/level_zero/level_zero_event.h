/* level_zero_event: events that say when a command began and ended: the program's, and the probe's own where the program gave none.
 *
 * (1) Every pool that a program makes gets the flag for kernel timestamps; what an event does for the program stays the same.
 * (2) An event of the probe's own is used again when its command was told of. One whose command was lost is not: a device may still signal it.
 * (3) Whoever calls these holds level_zero_lock. */
#ifndef TACHO_LEVEL_ZERO_EVENT_H
#define TACHO_LEVEL_ZERO_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "level_zero/level_zero_target.h"

struct level_zero_submission;
struct level_zero_context;

struct level_zero_event {
	ze_event_handle_t handle;
	ze_event_pool_handle_t pool;	/* the program's */
	bool has_times;			/* false: nor is it to be asked */
	struct level_zero_context *own; /* whose spare events it belongs to; NULL: the program's */
	uint32_t n_held; /* commands of lists, which may be executed again, that signal it */
	bool is_gone;	 /* the program's: destroyed, and only held */
	struct level_zero_submission *pending; /* the last command that signals it; NULL: none */
	ze_kernel_timestamp_data_t told;       /* the times told last: they may still be there */
	struct level_zero_event *next;	       /* spare */
};

/* The program's pools and events. */
void level_zero_pool_made(ze_event_pool_handle_t pool, bool has_times);
/* Its events are not to be asked any more; what is pending is lost. */
void level_zero_pool_gone(ze_event_pool_handle_t pool,
			  void (*settle)(struct level_zero_event *event));
void level_zero_event_made(ze_event_pool_handle_t pool, ze_event_handle_t handle);
/* NULL: it is not known. */
struct level_zero_event *level_zero_event_of(ze_event_handle_t handle);
void level_zero_event_gone(ze_event_handle_t handle);

/* An event of the probe's own; NULL: there is none to be had. */
struct level_zero_event *level_zero_event_take(ze_context_handle_t context);
bool level_zero_event_is_of(const struct level_zero_event *event, ze_context_handle_t context);
/* An own event is used again, unless a list holds it or a command is pending. */
void level_zero_event_give_back(struct level_zero_event *event);
/* A command of a list that held it is no more. */
void level_zero_event_let_go(struct level_zero_event *event);
/* Take away all that is the probe's own. */
void level_zero_context_gone(ze_context_handle_t context);

void level_zero_events_after_fork(void);

#endif
