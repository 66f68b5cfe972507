#ifndef TACHO_RECORD_LTTNG_H
#define TACHO_RECORD_LTTNG_H

#include <stdbool.h>

/* Whether a session has switched the tracepoints on: else they cost next to nothing. */
bool lttng_is_tracing(void);

/* Write `n` pairs. Returns how many were lost, 0: not known here. */
unsigned int lttng_pairs(unsigned int n);

#endif
