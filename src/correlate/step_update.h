/* step_update: an optimizer's update of a model, by which steps are told (step_finder.c). */
#ifndef TACHO_STEP_UPDATE_H
#define TACHO_STEP_UPDATE_H

#include <glib.h>

/* What updates are told apart by, the first that has a cycle. */
enum update_trait {
	BY_TENSOR, /* work, and what it changes first: differs between optimizers of equal models */
	BY_WORK,   /* name and ops: differs between optimizers of one class */
	BY_NAME,
	N_UPDATE_TRAITS
};

struct update {
	gint64 end_ns;
	guint64 hash[N_UPDATE_TRAITS];
	gboolean is_unasked; /* its tensors were not recorded: BY_TENSOR says nothing */
	gboolean is_control;
};

#endif
