/* event_heap: what is to happen, soonest first; at one time, the lower number first. */
#ifndef TACHO_EVENT_HEAP_H
#define TACHO_EVENT_HEAP_H

#include <glib.h>

/* Events that a new heap has room for.
 * Source: a rule: room for the events of a small rank. If wrong, the heap is enlarged more often; times stay. */
#define EVENT_HEAP_FIRST 16u

struct event {
	gdouble time; /* nanoseconds, or the heap owner's own scale */
	guint32 node;
};

struct event_heap {
	struct event *events;
	guint32 n, capacity;
};

static inline gboolean event_is_before(struct event a, struct event b)
{
	return (a.time < b.time) | ((a.time == b.time) & (a.node < b.node));
}

static inline void event_heap_push(struct event_heap *heap, gdouble time, guint32 node)
{
	struct event event = { time, node };
	guint32 i = heap->n++;

	if (heap->n > heap->capacity) {
		heap->capacity = MAX(EVENT_HEAP_FIRST, heap->capacity * 2);
		heap->events = g_renew(struct event, heap->events, heap->capacity);
	}
	for (; i > 0 && event_is_before(event, heap->events[(i - 1) / 2]); i = (i - 1) / 2)
		heap->events[i] = heap->events[(i - 1) / 2];
	heap->events[i] = event;
}

/* Put `event` in the place of the first one. */
static inline void event_heap_sift_down(struct event_heap *heap, struct event event)
{
	guint32 i = 0;

	for (guint32 child; (child = 2 * i + 1) < heap->n; i = child) {
		if (child + 1 < heap->n) /* either may be first, which no branch can foresee */
			child += (guint32)event_is_before(heap->events[child + 1],
							  heap->events[child]);
		if (!event_is_before(heap->events[child], event))
			break;
		heap->events[i] = heap->events[child];
	}
	heap->events[i] = event;
}

/* There is one. */
static inline struct event event_heap_pop(struct event_heap *heap)
{
	struct event top = heap->events[0];

	heap->n--;
	event_heap_sift_down(heap, heap->events[heap->n]);
	return top;
}

/* The same as to take the first, which there is, and to add another. */
static inline void event_heap_replace(struct event_heap *heap, gdouble time, guint32 node)
{
	event_heap_sift_down(heap, (struct event){ time, node });
}

static inline void event_heap_release(struct event_heap *heap)
{
	g_free(heap->events);
}

#endif
