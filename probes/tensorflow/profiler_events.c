#include "tensorflow/profiler_events.h"

#include <stddef.h>
#include <string.h>

#define N_PLACES 32768 /* a power of 2; pages that nobody stands in take no memory */
#define N_TRIED	 16    /* places looked at, from the first on */

#define FREE  0 /* numbers of activities are above 1 */
#define TAKEN 1 /* somebody works at it */

/* One that has begun. */
struct begun {
	int64_t id; /* atomic */
	struct tensorflow_string name;
	int64_t start_time;
};

static struct begun places[N_PLACES];

static struct begun *place_at(int64_t id, uint32_t i)
{
	uint64_t hash = (uint64_t)id * 0x9e3779b97f4a7c15u;

	return &places[((hash >> 40) + i) % N_PLACES];
}

static bool change(struct begun *place, int64_t from, int64_t to)
{
	return __atomic_compare_exchange_n(&place->id, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static void set_id(struct begun *place, int64_t id)
{
	__atomic_store_n(&place->id, id, __ATOMIC_RELEASE);
}

/* A short text is within the string itself, to which it points. */
static void move_string(struct tensorflow_string *to, struct tensorflow_string *from)
{
	*to = *from;
	if (from->text == from->within)
		to->text = to->within;
	from->text = from->within;
	from->length = 0;
	from->within[0] = '\0';
}

/* A place near that of `id` which has `held`, taken by us; NULL: there is none. */
static struct begun *take(int64_t id, int64_t held)
{
	for (uint32_t i = 0; i < N_TRIED; i++) {
		struct begun *place = place_at(id, i);

		if (__atomic_load_n(&place->id, __ATOMIC_RELAXED) == held &&
		    change(place, held, TAKEN))
			return place;
	}
	return NULL;
}

static void begin(struct tensorflow_event *event, int64_t id)
{
	struct begun *place = take(id, FREE);

	if (!place)
		return;
	move_string(&place->name, &event->name);
	place->start_time = event->start_time;
	set_id(place, id);
}

static bool end(struct tensorflow_event *event, int64_t id)
{
	struct begun *place = take(id, id);

	if (!place)
		return false;
	move_string(&event->name, &place->name);
	event->start_time = place->start_time;
	set_id(place, FREE);
	return true;
}

bool profiler_event_pass(struct tensorflow_event *event)
{
	if (event->end_time < 0) {
		begin(event, -event->end_time);
		return false;
	}
	/* one whose name is none of its own has no name: the one that began brings it */
	if (event->start_time < 0)
		return event->name.text == event->name.within && end(event, -event->start_time);
	return true;
}

void profiler_events_forget(profiler_free *free_name)
{
	for (uint32_t i = 0; i < N_PLACES; i++) {
		struct begun *place = &places[i];
		int64_t id = __atomic_load_n(&place->id, __ATOMIC_RELAXED);

		if (id == FREE || id == TAKEN || !change(place, id, TAKEN))
			continue;
		if (place->name.text != place->name.within && free_name)
			free_name(place->name.text);
		set_id(place, FREE);
	}
}
