/* clock_calibration: the one clock that all ranks of this host record with. */
#ifndef TACHO_CLOCK_CALIBRATION_H
#define TACHO_CLOCK_CALIBRATION_H

#include <glib.h>

typedef enum {
	CLOCK_AUTO, /* the TSC where it can be trusted, else CLOCK_MONOTONIC */
	CLOCK_TSC,
	CLOCK_MONO,
} ClockChoice;

/* The agent's `clock` setting (probes/agent/settings.def), of the machine: whatever time namespace we
 * are in. Takes some 40 ms for the TSC. NULL with an error where the TSC was demanded and is not invariant here. */
gchar *clock_calibrate(ClockChoice choice, GError **error);

#endif
