#include "nccl/nccl_timer.h"

static bool hold(struct nccl_timer *timer)
{
	return !__atomic_exchange_n(&timer->is_held, 1, __ATOMIC_ACQUIRE);
}

static void let_go(struct nccl_timer *timer)
{
	__atomic_store_n(&timer->is_held, 0, __ATOMIC_RELEASE);
}

/* Whether `a` puts the device's times earlier than `b` does. */
static bool is_tighter(const struct tacho_clock_pair *a, const struct tacho_clock_pair *b)
{
	return (int64_t)(tacho_ticks_at(b, a->ns) - a->ticks) > 0;
}

static const struct tacho_clock_pair *best_of(const struct nccl_timer *timer)
{
	return is_tighter(&timer->best[0], &timer->best[1]) ? &timer->best[0] : &timer->best[1];
}

void nccl_timer_heard(struct nccl_timer *timer, uint64_t ns, uint64_t now_ticks)
{
	struct tacho_clock_pair heard = tacho_clock_pair_at(ns, now_ticks);
	uint64_t second_ticks =
		(uint64_t)(((unsigned __int128)tacho_clock_scale * 1000000000) >> 40);

	if (!ns || !hold(timer))
		return;
	if (!timer->has_pair) {
		timer->best[0] = timer->best[1] = heard;
		timer->second_begin = now_ticks;
		timer->has_pair = 1;
	} else if (now_ticks - timer->second_begin > second_ticks) {
		timer->best[1] = timer->best[0];
		timer->best[0] = heard;
		if (now_ticks - timer->second_begin > 2 * second_ticks)
			timer->best[1] = heard;
		timer->second_begin = now_ticks;
	} else if (is_tighter(&heard, &timer->best[0])) {
		timer->best[0] = heard;
	}
	let_go(timer);
}

void nccl_timer_launched(struct nccl_timer *timer, uint64_t ns, uint64_t launch_ticks)
{
	uint64_t error;

	if (!ns || !launch_ticks || !hold(timer))
		return;
	error = timer->has_pair ? tacho_ticks_at(best_of(timer), ns) - launch_ticks : 0;
	if ((int64_t)error > 0 && (!timer->error_ticks || error < timer->error_ticks))
		timer->error_ticks = error;
	let_go(timer);
}

uint64_t nccl_timer_ticks(struct nccl_timer *timer, uint64_t ns)
{
	struct tacho_clock_pair pair;
	bool has_pair;

	if (!ns || !hold(timer))
		return 0;
	has_pair = timer->has_pair;
	pair = *best_of(timer);
	let_go(timer);
	return has_pair ? tacho_ticks_at(&pair, ns) : 0;
}
