/* device_steps: the steps of a rank as its devices live them. */
#ifndef TACHO_DEVICE_STEPS_H
#define TACHO_DEVICE_STEPS_H

#include "analyze/selection.h"

/* The chosen steps of the rank (TachoStep), each until the last work that was launched in it has ended on
 * its device, and from where the one before ended. If a rank's devices did nothing, these are the steps themselves;
 * a run without steps has none. The caller's. */
GArray *device_steps(const struct selection *selection, guint rank_index);

#endif
