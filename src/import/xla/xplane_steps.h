/* xplane_steps: the training steps that an XSpace tells of. */
#ifndef TACHO_XPLANE_STEPS_H
#define TACHO_XPLANE_STEPS_H

#include "import/import_format.h"

/* Where steps are told beside the program's own regions, which count before all; the first that has any counts. */
enum xplane_step_source {
	XPLANE_STEPS_OWN,     /* such regions of tacho's hook: XPLANE_OWN_STEP */
	XPLANE_STEPS_LINE,    /* the line "Steps" of the first device that has one */
	XPLANE_STEPS_GROUPED, /* events with one "group_id" */
	XPLANE_N_STEP_SOURCES
};

#define XPLANE_OWN_STEP "tacho_step" /* python/tacho_hook/tensorflow_steps.py names it so */

struct xplane_steps;

struct xplane_steps *xplane_steps_new(void);
void xplane_steps_free(struct xplane_steps *steps);
/* Something of step `number`: a step lasts from the begin of the first to the end of the last. */
void xplane_steps_add(struct xplane_steps *steps, enum xplane_step_source source, gint64 number,
		      gint64 start_ns, gint64 duration_ns);
/* A region of the program, in some thread, that it calls step `number` (a "step_num"); none if that is below 0 or above 32 bits. Where a
 * thread's numbers begin again, as Keras 2 has them in each epoch, the steps behind go on counting. */
void xplane_steps_add_annotated(struct xplane_steps *steps, guint32 thread, gint64 number,
				gint64 start_ns, gint64 duration_ns);
/* What comes now is of another plane. */
void xplane_steps_end_plane(struct xplane_steps *steps);
/* Add a mark "step" for each, with its number and how long it took, on a track of the process. */
void xplane_steps_mark(struct xplane_steps *steps, struct import *import, guint32 process);

#endif
