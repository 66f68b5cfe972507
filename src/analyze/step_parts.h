/* step_parts: where a step of a rank goes, and the tables of steps whose parts are known already. */
#ifndef TACHO_STEP_PARTS_H
#define TACHO_STEP_PARTS_H

#include <tacho/analyze.h>

struct rank_activity;

/* The parts of a step, or the sums of them over several. */
struct step_parts {
	gdouble duration_ns, compute_ns, communication_ns, exposed_ns, wait_ns, data_wait_ns;
};

struct step_parts step_parts_measure(const struct rank_activity *activity, gint64 start_ns,
				     gint64 end_ns);

/* A step of the timeline whose parts somebody has measured before. */
struct known_step {
	struct step_parts parts;
	gboolean is_left_out; /* of the table of steps; it still tells what is warm-up */
};

/* The step view and its summary, of steps whose parts are `known`, one for each of the timeline's; the slices are not
 * looked at. */
TachoTable *step_view_of_known(const TachoTimeline *timeline, const TachoFilter *filter,
			       const struct known_step *known);
TachoTable *step_summary_of_known(const TachoTimeline *timeline, const TachoFilter *filter,
				  const struct known_step *known);

#endif
