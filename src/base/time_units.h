/* time_units: nanoseconds in the units that tables are in, and back. */
#ifndef TACHO_TIME_UNITS_H
#define TACHO_TIME_UNITS_H

#include <glib.h>

#define MS(ns) ((gdouble)(ns) / 1e6)
#define US(ns) ((gdouble)(ns) / 1e3)
#define NS(ms) ((ms)*1e6)

#endif
