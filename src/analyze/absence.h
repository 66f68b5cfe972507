/* absence: why a view has nothing to show, said from what the timeline does have. */
#ifndef TACHO_ABSENCE_H
#define TACHO_ABSENCE_H

#include "analyze/selection.h"

enum absent_thing {
	ABSENT_OPERATIONS,
	ABSENT_KERNELS,
	ABSENT_COLLECTIVES,
};

/* Under an empty table: why there are none of the things, or none that were chosen. Under another: nothing. */
void absence_note(const struct selection *selection, TachoTable *table, enum absent_thing thing);

/* Why no steps were found; of a timeline without any. The caller's. */
gchar *absence_of_steps(const TachoTimeline *timeline);

#endif
