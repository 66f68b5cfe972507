#include "socket/socket_call.h"

#include <string.h>
#include <time.h>

#include "common/probe.h"

static void measure_cost(void);

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The thread's first record comes with one that names the thread, later than the call's begin: it is
 * written before. */
static void open_and_measure(void *unused)
{
	(void)unused;
	tacho_record_make_room(sizeof(struct record_message));
	if (tacho_writer.stream)
		measure_cost();
}

static bool prepare_thread(void)
{
	tacho_writer.is_inside++;
	tacho_run_aside(open_and_measure, NULL);
	tacho_writer.is_inside--;
	return tacho_writer.stream != NULL;
}

bool socket_call_begin(struct socket_call *call)
{
	static uint32_t prepared_generation;
	uint32_t generation = tacho_generation();

	if (TACHO_UNLIKELY(!tacho_writer.stream ||
			   __atomic_load_n(&prepared_generation, __ATOMIC_RELAXED) != generation)) {
		if (tacho_writer.is_busy || !prepare_thread())
			return false;
		__atomic_store_n(&prepared_generation, generation, __ATOMIC_RELAXED);
	}
	call->begin_ticks = tacho_ticks();
	return true;
}

bool socket_call_begin_wait(struct socket_call *call)
{
	call->begin_ns = now_ns();
	return socket_call_begin(call);
}

void socket_call_end_message(const struct socket_call *call, uint32_t class_id, int fd,
			     uint64_t bytes, bool is_receive)
{
	struct record_message *message;
	uint64_t duration;

	message = tacho_record_begin_past(class_id, sizeof(*message), call->begin_ticks, &duration);
	if (!message)
		return;
	message->duration = duration;
	message->bytes = bytes;
	message->is_receive = is_receive;
	message->fd = (uint32_t)fd;
	message->local_port = call->ends.local_port;
	message->peer_port = call->ends.peer_port;
	message->reserved = 0;
	memcpy(message->local_address, call->ends.local_address, sizeof(message->local_address));
	memcpy(message->peer_address, call->ends.peer_address, sizeof(message->peer_address));
	tacho_record_commit(message);
}

void socket_call_end_wait(const struct socket_call *call, uint32_t class_id)
{
	struct record_slice *wait;
	uint64_t duration;

	if (now_ns() - call->begin_ns < SOCKET_LEAST_WAIT_NS)
		return;
	wait = tacho_record_begin_past(class_id, sizeof(*wait), call->begin_ticks, &duration);
	if (!wait)
		return;
	wait->duration = duration;
	wait->id = 0;
	tacho_record_commit(wait);
}

/* --- what a record costs -------------------------------------------------------------------- */

#define COST_ROUNDS	   9
#define COST_CALLS	   64
#define COST_SCRATCH_BYTES (COST_CALLS * sizeof(struct record_message))
#define MEASURED_CLASS	   1 /* any: what is measured is thrown away */

static uint64_t time_records(enum trace_kind kind)
{
	struct socket_call call = { .begin_ticks = 0 };
	uint64_t begin_ns = now_ns();

	for (int i = 0; i < COST_CALLS; i++) {
		call.begin_ticks = tacho_ticks();
		if (kind == TRACE_KIND_MESSAGE)
			socket_call_end_message(&call, MEASURED_CLASS, 0, 1, false);
		else
			socket_call_end_wait(&call, MEASURED_CLASS);
	}
	return now_ns() - begin_ns;
}

static uint64_t cost_ps(enum trace_kind kind)
{
	uint64_t least_ns = UINT64_MAX;

	for (int round = 0; round < COST_ROUNDS; round++) {
		uint64_t spent_ns;

		tacho_scratch_rewind();
		spent_ns = time_records(kind);
		if (spent_ns < least_ns)
			least_ns = spent_ns;
	}
	return least_ns * 1000 / COST_CALLS;
}

/* Once a process: some microseconds. The call itself is no part of it. */
static void measure_cost(void)
{
	static uint32_t measured_generation;
	uint32_t generation = tacho_generation();
	uint64_t message_ps, wait_ps;

	if (__atomic_exchange_n(&measured_generation, generation, __ATOMIC_RELAXED) == generation ||
	    !tacho_scratch_begin(COST_SCRATCH_BYTES))
		return;
	message_ps = cost_ps(TRACE_KIND_MESSAGE);
	wait_ps = cost_ps(TRACE_KIND_WAIT);
	tacho_scratch_end();
	tacho_cost(TRACE_KIND_MESSAGE, "socket", message_ps);
	tacho_cost(TRACE_KIND_WAIT, "socket", wait_ps);
}
