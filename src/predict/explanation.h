/* explanation: where the time of a predicted step comes from, as a table. */
#ifndef TACHO_EXPLANATION_H
#define TACHO_EXPLANATION_H

#include <tacho/table.h>

#include "predict/path_shares.h"

/* What the step has of each resource before and after a change, the most first; its first row, of the kind "step", is the
 * whole. `step` is its place among the graph's steps, which are the same in both. `is_changed` FALSE: there was no change,
 * so one of the two is left out of the text. The caller's. */
TachoTable *explanation_table(const struct path_shares *before, const struct path_shares *after,
			      guint32 step, gboolean is_changed);

#endif
