#include "level_zero/level_zero_event.h"

#include <stdlib.h>
#include <string.h>

#include "level_zero/handle_table.h"

#define N_POOL 256 /* own events that are made together */

struct own_pool {
	struct own_pool *next;
	ze_event_pool_handle_t handle;
	uint32_t n;
	struct level_zero_event events[N_POOL];
};

struct level_zero_context {
	ze_context_handle_t handle;
	struct own_pool *pools;
	struct level_zero_event *spare;
};

static struct handle_table pools, events, contexts; /* of pools: those with times */

/* --- the program's ---------------------------------------------------------------------------- */

void level_zero_pool_made(ze_event_pool_handle_t pool, bool has_times)
{
	if (has_times)
		handle_table_put(&pools, pool, pool);
}

void level_zero_pool_gone(ze_event_pool_handle_t pool,
			  void (*settle)(struct level_zero_event *event))
{
	handle_table_take(&pools, pool);
	for (size_t i = 0; i < events.allocated; i++) {
		struct level_zero_event *event = events.entries[i].known;

		if (!event || event->pool != pool)
			continue;
		settle(event);
		event->has_times = false;
	}
}

void level_zero_event_made(ze_event_pool_handle_t pool, ze_event_handle_t handle)
{
	struct level_zero_event *event = calloc(1, sizeof(*event));

	if (!event)
		return;
	event->handle = handle;
	event->pool = pool;
	event->has_times = handle_table_find(&pools, pool) != NULL;
	level_zero_event_gone(handle); /* one that went without a word */
	if (!handle_table_put(&events, handle, event))
		free(event);
}

struct level_zero_event *level_zero_event_of(ze_event_handle_t handle)
{
	return handle_table_find(&events, handle);
}

void level_zero_event_gone(ze_event_handle_t handle)
{
	struct level_zero_event *event = handle_table_take(&events, handle);

	if (!event)
		return;
	event->has_times = false;
	event->is_gone = true;
	if (!event->n_held && !event->pending)
		free(event);
}

/* --- the probe's own -------------------------------------------------------------------------- */

static bool add_pool(struct level_zero_context *context)
{
	const ze_event_pool_desc_t wanted = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
					      .flags = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP |
						       ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
					      .count = N_POOL };
	struct own_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return false;
	if (level_zero.zeEventPoolCreate(context->handle, &wanted, 0, NULL, &pool->handle) !=
	    ZE_RESULT_SUCCESS) {
		free(pool);
		return false;
	}
	for (; pool->n < N_POOL; pool->n++) {
		const ze_event_desc_t at = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
					     .index = pool->n,
					     .signal = ZE_EVENT_SCOPE_FLAG_HOST };
		struct level_zero_event *event = &pool->events[pool->n];

		if (level_zero.zeEventCreate(pool->handle, &at, &event->handle) !=
		    ZE_RESULT_SUCCESS)
			break;
		event->has_times = true;
		event->own = context;
		event->next = context->spare;
		context->spare = event;
	}
	pool->next = context->pools;
	context->pools = pool;
	return pool->n > 0;
}

struct level_zero_event *level_zero_event_take(ze_context_handle_t handle)
{
	struct level_zero_context *context = handle_table_find(&contexts, handle);
	struct level_zero_event *event;

	if (!context) {
		context = calloc(1, sizeof(*context));
		if (!context || !handle_table_put(&contexts, handle, context)) {
			free(context);
			return NULL;
		}
		context->handle = handle;
	}
	if (!context->spare && !add_pool(context))
		return NULL;
	event = context->spare;
	context->spare = event->next;
	return event;
}

bool level_zero_event_is_of(const struct level_zero_event *event, ze_context_handle_t context)
{
	return event->own && event->own->handle == context;
}

void level_zero_event_give_back(struct level_zero_event *event)
{
	if (!event->own || event->n_held || event->pending)
		return;
	if (level_zero.zeEventHostReset(event->handle) != ZE_RESULT_SUCCESS)
		return;
	memset(&event->told, 0, sizeof(event->told));
	event->next = event->own->spare;
	event->own->spare = event;
}

void level_zero_event_let_go(struct level_zero_event *event)
{
	event->n_held--;
	if (event->own)
		level_zero_event_give_back(event);
	else if (event->is_gone && !event->n_held && !event->pending)
		free(event);
}

void level_zero_context_gone(ze_context_handle_t handle)
{
	struct level_zero_context *context = handle_table_take(&contexts, handle);

	if (!context)
		return;
	while (context->pools) {
		struct own_pool *pool = context->pools;

		context->pools = pool->next;
		for (uint32_t i = 0; i < pool->n; i++)
			level_zero.zeEventDestroy(pool->events[i].handle);
		level_zero.zeEventPoolDestroy(pool->handle);
		free(pool);
	}
	free(context);
}

void level_zero_events_after_fork(void)
{
	/* what was there is the parent's */
	pools = events = contexts = (struct handle_table){ 0 };
}
