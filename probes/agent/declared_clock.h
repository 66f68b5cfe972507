/* declared_clock: which time the ticks of this process's trace are, as its metadata declares it.
 *
 * `tacho record` says at which tick of the machine's clock it was which Unix time; what is declared
 * takes account of the time namespace that this process is in.
 *
 * For tests the clock can be declared wrong (`test_clock`), as that of another machine would be: the
 * ticks are the same, so recording costs the same. */
#ifndef TACHO_AGENT_DECLARED_CLOCK_H
#define TACHO_AGENT_DECLARED_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct agent_settings;

struct declared_clock {
	const char *source; /* static: "tsc" or "monotonic" */
	uint64_t frequency_hz;
	uint64_t offset_s, offset_ticks; /* of tick 0 from the Unix epoch */
	int64_t monotonic_ahead_ns;	 /* of the machine's: time_namespace.h */
};

/* Remember the calibration and set tacho_clock_is_tsc. False where a setting is broken. */
bool declared_clock_configure(const struct agent_settings *settings);

/* For the namespace that the process is in now: a fork may have changed it. */
void declared_clock_read(struct declared_clock *clock);

/* CLOCK_MONOTONIC or CLOCK_REALTIME, as wrong as the declared clock. */
uint64_t declared_clock_system_ns(clockid_t clock);

#endif
