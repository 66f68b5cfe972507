/* lttng_events: what libtacho_lttng.so does for the agent: the same records as events of LTTng-UST. The agent loads it where the
 * engine is LTTng, so that nothing else in a job needs liblttng-ust. docs/lttng.md says what the events mean. */
#ifndef TACHO_LTTNG_EVENTS_H
#define TACHO_LTTNG_EVENTS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define LTTNG_EVENTS_VERSION 1
#define LTTNG_EVENTS_SYMBOL  "tacho_lttng_events" /* a struct lttng_events */

/* A record, or the end of one. */
struct lttng_record {
	const char *name; /* of its class */
	const uint64_t *
		words; /* what is behind its header; of an end, what it changed behind the duration */
	uint64_t trace;		 /* which process wrote it: the first bytes of its trace's uuid */
	uint64_t position;	 /* in its stream: grows from record to record, and names it */
	uint64_t stamp_or_ticks; /* its stamp; of an end, the duration */
	uint32_t n_words;
	uint32_t kind; /* enum trace_kind */
	uint32_t class_id;
	uint32_t stream, tid;
};

struct lttng_process {
	uint64_t trace;
	uint64_t pair_ticks,
		pair_mono_ns; /* the trace's clock and CLOCK_MONOTONIC, read together */
	const char *text;     /* its metadata without the classes */
};

struct lttng_class {
	uint64_t trace;
	uint32_t id;
	const char *kind, *name;
};

struct lttng_events {
	uint32_t version; /* LTTNG_EVENTS_VERSION */
	/* Whether a session of LTTng takes the events now. */
	bool (*is_on)(void);
	void (*process)(const struct lttng_process *process);
	void (*declare)(const struct lttng_class *declared);
	void (*record)(const struct lttng_record *record);
	void (*end)(const struct lttng_record *end);
	/* So many records the stream has lost since it began. */
	void (*dropped)(const struct lttng_record *stream, uint64_t count);
	/* Around a fork, by the thread that forks; `signals` is theirs in between. */
	void (*before_fork)(sigset_t *signals);
	void (*after_fork)(sigset_t *signals, bool is_child);
};

#endif
