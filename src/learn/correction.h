/* correction: by how much predictions of plans were off where the plans were measured, kept by host, device and what the plan changed.
 *
 * A difference is the logarithm of the measured step over the predicted one, both with the plan, each of its own baseline. What is said
 * of the next plan of that kind there is corrected by the mean of n differences times n / (n + 1): as if one more had been 0. The spread
 * is the root of the mean square around that, the one that is 0 counted in. */
#ifndef TACHO_CORRECTION_H
#define TACHO_CORRECTION_H

#include <glib.h>

/* Source: a rule: more than a machine measures in years. If wrong, the oldest are forgotten. */
#define CORRECTIONS_MAX 10000u

struct correction {
	gchar *host, *device;
	gchar *change; /* what the plan changes, joined by '+': "buckets", "buckets+accumulation" */
	gdouble predicted_pct;			 /* gain, before any correction; < 100 */
	gdouble measured_pct, low_pct, high_pct; /* < 100; low and high: 95 % interval */
	guint64 n_pairs;
	gint64 unix_s;
};

struct correction_bias {
	guint n;		      /* differences that it is made of; 0: the others are 0 */
	gdouble log_mean, log_spread; /* of a step's time */
};

GArray *corrections_new(void);
/* `correction` is taken over; the oldest goes where there are too many. */
void corrections_add(GArray *corrections, struct correction *correction);
struct correction_bias corrections_bias(const GArray *corrections, const gchar *host,
					const gchar *device, const gchar *change);

#endif
