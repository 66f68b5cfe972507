#include "nccl/nccl_slot.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/activity.h"

#define N_SLOTS	   16384 /* a power of 2 */
#define N_TRIED	   64	 /* places looked at for a free one */
#define BEING_MADE 1	 /* in place of a number: somebody works at it */

static struct nccl_slot slots[N_SLOTS];
static uint64_t n_made; /* atomic */

/* Number n stands at place n % N_SLOTS; BEING_MADE is nobody's, since numbers begin at N_SLOTS. */
static struct nccl_slot *place_of(uint64_t number)
{
	return &slots[number % N_SLOTS];
}

static bool is_over(const struct nccl_slot *slot)
{
	return __atomic_load_n(&slot->is_stopped, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&slot->n_running, __ATOMIC_SEQ_CST);
}

/* Take the place, unless an event is in it that may yet be named. Those of a process before a fork are nobody's. */
static bool take(struct nccl_slot *slot)
{
	uint64_t number = __atomic_load_n(&slot->number, __ATOMIC_SEQ_CST);

	if (number == BEING_MADE)
		return false;
	if (number && slot->generation == tacho_generation() && !is_over(slot))
		return false;
	if (!__atomic_compare_exchange_n(&slot->number, &number, BEING_MADE, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	/* somebody who found it a moment ago may have begun to work for it */
	if (number && slot->generation == tacho_generation() && !is_over(slot)) {
		__atomic_store_n(&slot->number, number, __ATOMIC_SEQ_CST);
		return false;
	}
	return true;
}

/* `n_running` is left: somebody who comes too late to work for what was here adds to it and takes that back. */
static void clear(struct nccl_slot *slot)
{
	bool was_of_parent = slot->generation != tacho_generation();

	memset(&slot->duration, 0,
	       offsetof(struct nccl_slot, n_running) - offsetof(struct nccl_slot, duration));
	if (was_of_parent)
		__atomic_store_n(&slot->n_running, 0, __ATOMIC_SEQ_CST);
	slot->type = 0;
	slot->is_send = slot->channel = 0;
	slot->generation = tacho_generation();
	__atomic_store_n(&slot->is_stopped, 0, __ATOMIC_RELAXED);
}

struct nccl_slot *nccl_slot_new(void)
{
	for (int i = 0; i < N_TRIED; i++) {
		uint64_t number = N_SLOTS + __atomic_fetch_add(&n_made, 1, __ATOMIC_RELAXED);
		struct nccl_slot *slot = place_of(number);

		if (!take(slot))
			continue;
		clear(slot);
		/* nobody has the number yet */
		__atomic_store_n(&slot->number, number, __ATOMIC_RELEASE);
		return slot;
	}
	return NULL;
}

void *nccl_slot_handle(const struct nccl_slot *slot)
{
	return (void *)(uintptr_t)(slot->number << 1 | 1);
}

bool nccl_handle_is_ours(const void *handle)
{
	return (uintptr_t)handle & 1;
}

static struct nccl_slot *find_number(uint64_t number)
{
	struct nccl_slot *slot = place_of(number);

	if (number < N_SLOTS || __atomic_load_n(&slot->number, __ATOMIC_SEQ_CST) != number ||
	    slot->generation != tacho_generation())
		return NULL;
	return slot;
}

struct nccl_slot *nccl_slot_find(const void *handle)
{
	return nccl_handle_is_ours(handle) ? find_number((uintptr_t)handle >> 1) : NULL;
}

static void extend(struct nccl_slot *collective, uint64_t end_ticks)
{
	uint64_t known = __atomic_load_n(&collective->end_ticks, __ATOMIC_SEQ_CST);

	while (known < end_ticks &&
	       !__atomic_compare_exchange_n(&collective->end_ticks, &known, end_ticks, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

bool nccl_slot_stop(struct nccl_slot *slot, uint64_t end_ticks)
{
	extend(slot, end_ticks);
	return !__atomic_exchange_n(&slot->is_stopped, 1, __ATOMIC_SEQ_CST);
}

/* --- what works for a collective ---------------------------------------------------------------- */

static void tell(struct nccl_slot *collective, uint64_t duration)
{
	if (!collective->duration)
		return;
	if (collective->end_tid && duration != TRACE_OPEN)
		__atomic_store_n(collective->end_tid, (uint32_t)syscall(SYS_gettid),
				 __ATOMIC_RELAXED);
	tacho_duration_store(collective->duration, duration);
}

void nccl_slot_settle(struct nccl_slot *collective)
{
	uint64_t end, before;
	bool was_over, now_over;

	/* as long as somebody changes what it follows from meanwhile */
	do {
		was_over = is_over(collective);
		before = __atomic_load_n(&collective->end_ticks, __ATOMIC_SEQ_CST);
		tell(collective, !was_over		      ? TRACE_OPEN
				 : before > collective->stamp ? before - collective->stamp
							      : 0);
		now_over = is_over(collective);
		end = __atomic_load_n(&collective->end_ticks, __ATOMIC_SEQ_CST);
	} while (was_over != now_over || before != end);
}

bool nccl_slot_join(struct nccl_slot *slot, uint64_t number)
{
	struct nccl_slot *collective = find_number(number);

	if (!collective)
		return false;
	__atomic_add_fetch(&collective->n_running, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&collective->number, __ATOMIC_SEQ_CST) != number) {
		__atomic_sub_fetch(&collective->n_running, 1, __ATOMIC_SEQ_CST);
		return false;
	}
	slot->collective = number;
	if (__atomic_load_n(&collective->is_stopped, __ATOMIC_SEQ_CST))
		nccl_slot_settle(collective);
	return true;
}

void nccl_slot_leave(struct nccl_slot *slot, uint64_t end_ticks)
{
	/* it cannot have been taken: this one runs */
	struct nccl_slot *collective = slot->collective ? find_number(slot->collective) : NULL;

	if (!collective)
		return;
	extend(collective, end_ticks);
	__atomic_sub_fetch(&collective->n_running, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&collective->is_stopped, __ATOMIC_SEQ_CST))
		nccl_slot_settle(collective);
}
