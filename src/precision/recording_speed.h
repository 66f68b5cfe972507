/* recording_speed: by how much the machine was slower in one recording of a job than in another, told by work that is the same in both.
 *
 * Of each piece of that work there is the logarithm of how much longer it took; L is their median, weighed by the time of the pieces. Two
 * things make L wrong:
 *
 * (1) Pieces differ: with the deviation d around L, and as many pieces as n = (sum of weights)^2 / (sum of their squares), L's standard
 *     error is 1.2533 d / sqrt(n), as of a median.
 * (2) What computes the same takes longer or shorter for reasons that all pieces share and the rest of the step does not (caches, say): an
 *     error that is larger where the pieces are little of a step.
 *
 * With s the root of the sum of both squares, L is beyond chance if |L| > 1.645 s. Times are divided by exp(k L): k is 0 up to there, 1 from twice
 * as much on, and goes evenly from the one to the other between them. So a machine is called slow only where enough of a step says so. */
#ifndef TACHO_RECORDING_SPEED_H
#define TACHO_RECORDING_SPEED_H

#include <glib.h>

/* A piece of work that is the same in both. */
struct same_work {
	gdouble own_ns, other_ns;
};

struct recording_speed {
	gdouble seen;	 /* exp(L): so much longer that work took */
	gdouble error;	 /* s: of its logarithm */
	gdouble applied; /* what the recording's times are to be divided by; 1: nothing is certain */
	gboolean is_known; /* there were pieces enough to tell */
};

/* `pieces` holds struct same_work; `whole_ns` is the other recording's step. */
struct recording_speed recording_speed_of(const GArray *pieces, gdouble whole_ns);

/* By how much a recording's times are still too long when its stated cost was taken out: `step_ns` is its step then, and control steps beside the
 * recorded ones say that it is `control_ns`, with an error of its logarithm. Where many small operations are recorded, everything takes longer, not only what
 * the events are of. 1 or more, and 1 where that is chance. */
gdouble recording_excess_left(gdouble step_ns, gdouble control_ns, gdouble error);

#endif
