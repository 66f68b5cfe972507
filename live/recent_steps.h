/* recent_steps: the newest steps of each rank, side by side. */
#ifndef TACHO_RECENT_STEPS_H
#define TACHO_RECENT_STEPS_H

#include <tacho/live.h>

/* Means over a rank's newest complete steps. */
struct recent_rank {
	gint32 rank;
	guint n;
	gdouble duration_ns, compute_ns, exposed_ns, wait_ns, idle_ns, data_wait_ns;
	gdouble own_ns; /* duration without communication and waiting: what it does by itself */
	gint64 memory_bytes;
	gint64 first_unix_ns, last_unix_ns; /* begin of the first, end of the last */
};

/* Of the `n` newest numbers that there are rows of, from `skip` numbers before the newest on back. A row a rank, by rank; the
 * caller's. */
GArray *recent_steps_means(const TachoFollow *follow, guint n, guint skip);
/* The time of each of the newest `n` steps, the longest of its ranks, oldest first (gdouble ns); without the first
 * `n_warm_up` numbers. The caller's. */
GArray *recent_steps_times(const TachoFollow *follow, guint n, guint n_warm_up);
/* The largest number that all ranks have; -1: there is none. */
gint64 recent_steps_last(const TachoFollow *follow);

#endif
