/* time_units: nanoseconds in the units that tables are in, and back; and times that grow beyond 64 bits. */
#ifndef TACHO_TIME_UNITS_H
#define TACHO_TIME_UNITS_H

#include <glib.h>
#include <math.h>

#define MS(ns) ((gdouble)(ns) / 1e6)
#define US(ns) ((gdouble)(ns) / 1e3)
#define NS(ms) ((ms)*1e6)

/* What a time comes to at the most: steps of a broken trace take centuries, and a change makes them longer. It is the
 * last that a double holds, too. */
#define MOST_NS (G_MAXINT64 - 1023)

/* The next whole number, MOST_NS at the most. */
static inline gint64 rounded_ns(gdouble ns)
{
	return ns < (gdouble)MOST_NS ? llround(ns) : MOST_NS;
}

/* The end of what begins at `begin_ns`, which is from 0 up to MOST_NS. */
static inline gint64 end_ns_after(gint64 begin_ns, gint64 duration_ns)
{
	return begin_ns + MIN(duration_ns, MOST_NS - begin_ns);
}

#endif
