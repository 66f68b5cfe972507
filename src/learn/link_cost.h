/* link_cost: how long collectives of one kind take among so many ranks, by their bytes: as measured by tacho calibrate, or as seen in
 * recordings, with the line that cost/transfer_cost.h fits to it. */
#ifndef TACHO_LINK_COST_H
#define TACHO_LINK_COST_H

#include <tacho/timeline.h>

#include "cost/transfer_cost.h"

/* Source: a rule: more than a calibration or a job's recordings have. If wrong, a file is refused, or sizes that come later are left
 * out. */
#define LINK_MAX_COSTS	4096u
#define LINK_MAX_POINTS 4096u

struct link_point {
	guint64 bytes;	 /* of one rank's input; > 0 */
	gdouble time_ns; /* the median; > 0 */
	guint64 count;	 /* of how many */
};

struct link_cost {
	gchar *host;	/* of the first rank */
	gchar *backend; /* "gloo" ...; "": as recorded */
	enum collective_operation operation;
	guint32 n_ranks;
	gboolean is_calibrated; /* measured alone; else seen in recordings */
	GArray *points;		/* struct link_point, by bytes */
	struct transfer_cost cost;
};

GArray *link_costs_new(void);
/* Take the place of what is there of the same host, backend, operation, ranks and origin; `link` is taken over, and its line is fitted to
 * its points. */
void link_costs_put(GArray *links, struct link_cost *link);
void link_cost_release(struct link_cost *link);
/* The collectives of a correlated run, of a known operation. */
void link_costs_add_run(GArray *links, const TachoTimeline *timeline);
/* For that many ranks: measured on that host, else on another, else as seen in recordings; NULL: there is none of two sizes or more. */
const struct link_cost *link_costs_find(const GArray *links, const gchar *host,
					enum collective_operation operation, guint32 n_ranks);

/* "all_reduce"; the enumerator of that word, OPERATION_UNTOLD: none is written just so. */
const gchar *link_operation_name(enum collective_operation operation);
enum collective_operation link_operation_find(const gchar *name);

#endif
