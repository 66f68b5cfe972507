#include "callback_switch.h"

#include <pthread.h>
#include <unistd.h>

#define WAIT_US 100
#define TRIES	10000 /* a fork waits so often for another thread's switch */

static struct {
	void (*look)(void);
	bool is_switching;  /* atomic */
	unsigned n_threads; /* atomic: that have run operations in this process */
	bool is_fixed;
} switches;

static __thread bool is_met;
static __thread bool has_stopped_switches; /* between the handlers of a fork */

static bool take(void)
{
	return !__atomic_exchange_n(&switches.is_switching, true, __ATOMIC_ACQUIRE);
}

bool callback_switch_try(void)
{
	return !switches.is_fixed && take();
}

void callback_switch_end(void)
{
	__atomic_store_n(&switches.is_switching, false, __ATOMIC_RELEASE);
}

void callback_switch_await(void)
{
	while (__atomic_load_n(&switches.is_switching, __ATOMIC_ACQUIRE))
		usleep(WAIT_US);
}

void callback_switch_meet_thread(void)
{
	if (is_met)
		return;
	is_met = true;
	__atomic_add_fetch(&switches.n_threads, 1, __ATOMIC_RELAXED);
}

bool callback_switch_is_fixed(void)
{
	return switches.is_fixed;
}

static void before_fork(void)
{
	int n_tries = TRIES;

	while (!take()) {
		if (n_tries-- == 0) /* a signal's handler forks in the middle of a switch */
			return;
		usleep(WAIT_US);
	}
	has_stopped_switches = true;
	switches.look();
}

static void after_fork(void)
{
	if (has_stopped_switches) {
		has_stopped_switches = false;
		callback_switch_end();
	}
}

static void after_fork_in_child(void)
{
	switches.is_fixed |= __atomic_load_n(&switches.n_threads, __ATOMIC_RELAXED) > 1;
	switches.n_threads = 1;
	has_stopped_switches = false;
	switches.is_switching = false; /* also where another thread had it: that one is not here */
}

void callback_switch_start(void (*look)(void))
{
	switches.look = look;
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
