/* diff_internal: a run as diff compares it. */
#ifndef TACHO_DIFF_INTERNAL_H
#define TACHO_DIFF_INTERNAL_H

#include <tacho/diff.h>

#include "analyze/mean_difference.h"

/* The values of one name: one for each step, the mean over the ranks that have the step. */
struct diff_row {
	gchar *name;
	struct moments ms, count;
};

struct _TachoDiffRun {
	gchar *label;
	guint n_ranks, n_steps;
	guint trust_score;
	struct moments step_ms;
	GArray *rows[TACHO_N_DIFF_VIEWS]; /* struct diff_row; NULL: not asked for */
};

#endif
