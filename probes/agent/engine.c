#include "agent/engine.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/declared_clock.h"
#include "agent/losses.h"
#include "agent/process_trace.h"
#include "agent/settings.h"
#include "agent/stream.h"
#include "common/lttng_events.h"
#include "common/probe.h"
#include "trace/trace_kinds.h"

#define COST_ROUNDS 4
#define COST_EVENTS 8

bool tacho_has_engine;
__thread bool engine_starts_threads;

static char library[PATH_MAX];
static const struct lttng_events *events; /* once it is loaded */
static const char *load_failure;	  /* why it is not */
static bool has_handler;		  /* atomic */
static uint64_t trace;
static uint64_t event_ps; /* what telling one event costs */
static uint64_t n_untold; /* atomic: records and ends that no session took */
static sigset_t fork_signals;

bool engine_configure(const struct agent_settings *settings)
{
	if (strlen(settings->lttng) >= sizeof(library))
		return false;
	strcpy(library, settings->lttng);
	tacho_has_engine = *library != '\0';
	return true;
}

/* --- the library ---------------------------------------------------------------------------- */

/* LTTng ends before the handler that was there first (agent.c): what the exit tells must be told before. */
static void at_exit(int status, void *unused)
{
	(void)unused;
	streams_close(status);
}

static const char *load(void)
{
	const struct lttng_events *found;
	void *loaded;

	engine_starts_threads = true;
	loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	found = loaded ? dlsym(loaded, LTTNG_EVENTS_SYMBOL) : NULL;
	engine_starts_threads = false;
	if (!loaded)
		return "libtacho_lttng.so cannot be loaded: liblttng-ust is missing";
	if (!found || found->version != LTTNG_EVENTS_VERSION)
		return "libtacho_lttng.so is of another version of tacho";
	if (!__atomic_exchange_n(&has_handler, true, __ATOMIC_ACQ_REL))
		on_exit(at_exit, NULL);
	__atomic_store_n(&events, found, __ATOMIC_RELEASE);
	return NULL;
}

void engine_load(void)
{
	if (!__atomic_load_n(&events, __ATOMIC_ACQUIRE))
		load_failure = load();
}

/* --- telling -------------------------------------------------------------------------------- */

/* What LTTng does meanwhile is not the job's. */
static int begin_telling(void)
{
	int cause = errno;

	tacho_writer.is_inside++;
	return cause;
}

static void end_telling(int cause)
{
	tacho_writer.is_inside--;
	errno = cause;
}

static bool is_taken(void)
{
	if (events && events->is_on())
		return true;
	__atomic_add_fetch(&n_untold, 1, __ATOMIC_RELAXED);
	return false;
}

/* Of the kind, what may change until a slice ends is in so many of its first bytes. */
static size_t bytes_until_end(enum trace_kind kind)
{
	switch (kind) {
	case TRACE_KIND_COLLECTIVE:
		return sizeof(struct record_collective);
	case TRACE_KIND_TRANSFER:
		return sizeof(struct record_transfer);
	case TRACE_KIND_REQUEST:
		return sizeof(struct record_request);
	default:
		return sizeof(struct record_header) + sizeof(uint64_t);
	}
}

static void place(struct lttng_record *told, const struct packet_header *packet,
		  const struct record_header *record)
{
	told->trace = trace;
	told->stream = packet->stream;
	told->tid = packet->tid;
	told->position = (uint64_t)packet->index * ENGINE_FILE_BYTES +
			 (uint64_t)((const char *)record - (const char *)packet);
	told->class_id = record->class_id;
}

void tacho_engine_record(const struct record_header *record)
{
	struct packet_header *packet = tacho_writer.packet;
	struct lttng_record told;
	enum trace_kind kind;
	int cause;

	if (tacho_writer.scratch || !process_trace_class(record->class_id, &kind, &told.name))
		return;
	if (trace_kind_is_slice(kind) && *(const uint64_t *)(record + 1) == TRACE_OPEN)
		__atomic_add_fetch(&packet->reserved, 1, __ATOMIC_RELAXED);
	if (!is_taken())
		return;
	place(&told, packet, record);
	told.kind = kind;
	told.stamp_or_ticks = record->stamp;
	told.words = (const uint64_t *)(record + 1);
	told.n_words = (uint32_t)((record->size_bytes - sizeof(*record)) / sizeof(uint64_t));
	cause = begin_telling();
	events->record(&told);
	end_telling(cause);
}

static void tell_end(const struct packet_header *packet, const struct record_header *record,
		     uint64_t duration)
{
	struct lttng_record told = { .stamp_or_ticks = duration };
	enum trace_kind kind;
	int cause;

	if (!process_trace_class(record->class_id, &kind, &told.name) || !is_taken())
		return;
	place(&told, packet, record);
	told.words = (const uint64_t *)(record + 1) + 1;
	told.n_words = (uint32_t)((bytes_until_end(kind) - sizeof(*record)) / sizeof(uint64_t) - 1);
	cause = begin_telling();
	events->end(&told);
	end_telling(cause);
}

void tacho_engine_duration(uint64_t *duration, uint64_t ticks)
{
	const struct record_header *record =
		(const struct record_header *)((char *)duration - sizeof(*record));
	struct packet_header *packet =
		(struct packet_header *)((uintptr_t)record & ~(uintptr_t)(ENGINE_FILE_BYTES - 1));
	uint64_t before = __atomic_exchange_n(duration, ticks, __ATOMIC_ACQ_REL);

	/* no magic: the file was given back, or is of before a fork or a stop */
	if (tacho_writer.scratch || packet->magic != TRACE_PACKET_MAGIC || !tacho_is_alive())
		return;
	if (ticks == TRACE_OPEN) {
		if (before != TRACE_OPEN)
			__atomic_add_fetch(&packet->reserved, 1, __ATOMIC_RELAXED);
		return;
	}
	tell_end(packet, record, ticks);
	if (before == TRACE_OPEN)
		__atomic_sub_fetch(&packet->reserved, 1, __ATOMIC_RELEASE);
}

static void declare(const struct lttng_class *declared, int n)
{
	int cause = begin_telling();

	for (int i = 0; i < n && is_taken(); i++)
		events->declare(declared);
	end_telling(cause);
}

void engine_declare(uint32_t id, const char *kind, const char *name)
{
	const struct lttng_class declared = {
		.trace = trace, .id = id, .kind = kind, .name = name
	};

	declare(&declared, 1);
}

/* By declaring one class some times more, which readers do not mind. */
static void measure_cost(void)
{
	const struct lttng_class declared = { .trace = trace, .kind = "mark", .name = "" };
	uint64_t least_ns = UINT64_MAX, before_ns, taken_ns;

	for (int round = 0; round < COST_ROUNDS; round++) {
		before_ns = declared_clock_system_ns(CLOCK_MONOTONIC);
		declare(&declared, COST_EVENTS);
		taken_ns = declared_clock_system_ns(CLOCK_MONOTONIC) - before_ns;
		if (taken_ns < least_ns)
			least_ns = taken_ns;
	}
	event_ps = least_ns * 1000 / COST_EVENTS;
}

uint64_t engine_cost_ps(enum trace_kind kind)
{
	if (!tacho_has_engine)
		return 0;
	return trace_kind_is_slice(kind) ? 2 * event_ps : event_ps;
}

const char *engine_open(const uint8_t *uuid, const char *text)
{
	struct lttng_process process = { .text = text };

	if (!events)
		return load_failure;
	if (!events->is_on())
		return "no session of LTTng takes its events";
	memcpy(&trace, uuid, sizeof(trace));
	process.trace = trace;
	process.pair_mono_ns = declared_clock_system_ns(CLOCK_MONOTONIC);
	process.pair_ticks = tacho_ticks();
	events->process(&process);
	measure_cost();
	return NULL;
}

void engine_tell_dropped(uint32_t stream, uint32_t tid, uint64_t count)
{
	struct lttng_record told = { .trace = trace, .stream = stream, .tid = tid };
	int cause = begin_telling();

	if (is_taken())
		events->dropped(&told, count);
	end_telling(cause);
}

void engine_note_untold(void)
{
	uint64_t count = __atomic_exchange_n(&n_untold, 0, __ATOMIC_RELAXED);

	if (count)
		losses_note(count, "no session of LTTng took them any more");
}

/* --- forks ---------------------------------------------------------------------------------- */

void engine_before_fork(void)
{
	if (events)
		events->before_fork(&fork_signals);
}

void engine_after_fork(bool is_child)
{
	engine_starts_threads = true;
	if (events)
		events->after_fork(&fork_signals, is_child);
	engine_starts_threads = false;
	if (is_child)
		n_untold = 0;
}
