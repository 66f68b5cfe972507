/* One who is first stands in a table, in a place that follows from the rendezvous, the key and the side:
 *
 *     sender comes:   is a receiver there?  yes: it is taken away, and its wait ends
 *                                           no:  the sender stays, and waits
 *
 * (1) A place is free, being changed by one thread, or somebody's. Only who has changed it from the one to the other may read or write
 *     the rest of it.
 * (2) Who has put itself down looks once more, since the other may have looked before that. Where both find each other, both
 *     waits end.
 * (3) Who is never met (a step that was cancelled) stays, and its wait open, until its place is needed.
 * (4) Those who came while nothing was recorded stand there as well, without a record: else who comes later would wait for good. */
#include "tensorflow/meetings.h"

#include "common/activity.h"
#include "tensorflow/tensor_names.h"

#define N_PLACES 65536 /* a power of 2; pages that nobody stands in take no memory */
#define N_TRIED	 16    /* places looked at, from the first on */

#define FREE  0u
#define TAKEN 1u /* in place of a tag: somebody works at it */

struct place {
	uint64_t tag; /* atomic: of rendezvous, key and side */
	struct record_slice *wait;
	uint32_t generation; /* the wait's; another recording's or process's is no more */
};

static struct place places[N_PLACES];

static uint64_t tag_of(const void *rendezvous, const struct rendezvous_key *key,
		       enum meeting_side side)
{
	uint64_t tag = (key->hash ^ (uintptr_t)rendezvous * 0x9e3779b97f4a7c15u);

	tag *= 0xd6e8feb86659fd93u;
	tag ^= tag >> 29; /* the place is of low bits, which a product mixes least */
	/* the lowest bit is the side, so that both begin their search at one place */
	tag = (tag & ~(uint64_t)1) | side;
	return tag <= TAKEN ? tag + 2 : tag;
}

static struct place *place_at(uint64_t tag, uint32_t i)
{
	return &places[((tag >> 1) + i) % N_PLACES];
}

static bool change(struct place *place, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&place->tag, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* End the wait of a place that is TAKEN by us, and free it. */
static void leave(struct place *place)
{
	if (place->generation == tacho_generation())
		tacho_slice_finish(place->wait);
	place->wait = NULL;
	__atomic_store_n(&place->tag, FREE, __ATOMIC_RELEASE);
}

/* End the wait of one who stands there with the tag. */
static bool end_wait(uint64_t tag)
{
	for (uint32_t i = 0; i < N_TRIED; i++) {
		struct place *place = place_at(tag, i);

		if (__atomic_load_n(&place->tag, __ATOMIC_RELAXED) == tag &&
		    change(place, tag, TAKEN)) {
			leave(place);
			return true;
		}
	}
	return false;
}

/* A free place, or the first one of those that could be, whose wait stays open; TAKEN by us. NULL: all change hands. */
static struct place *find_place(uint64_t tag)
{
	struct place *first = place_at(tag, 0);
	uint64_t held;

	for (uint32_t i = 0; i < N_TRIED; i++)
		if (change(place_at(tag, i), FREE, TAKEN))
			return place_at(tag, i);
	held = __atomic_load_n(&first->tag, __ATOMIC_RELAXED);
	return held > TAKEN && change(first, held, TAKEN) ? first : NULL;
}

void meeting_come(const void *rendezvous, const struct rendezvous_key *key, enum meeting_side side,
		  uint64_t bytes)
{
	uint64_t own = tag_of(rendezvous, key, side),
		 other = tag_of(rendezvous, key, (enum meeting_side) !side);
	struct place *place;

	if (end_wait(other))
		return;
	place = find_place(own);
	if (!place)
		return;
	place->generation = tacho_generation();
	place->wait =
		tacho_is_recording_all()
			? tacho_span_begin(tensor_class(TRACE_KIND_SPAN, "rendezvous", key), bytes)
			: NULL;
	__atomic_store_n(&place->tag, own, __ATOMIC_SEQ_CST);
	if (end_wait(other))
		end_wait(own);
}
