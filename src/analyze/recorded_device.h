/* recorded_device: the accelerator that a run was recorded on. */
#ifndef TACHO_RECORDED_DEVICE_H
#define TACHO_RECORDED_DEVICE_H

#include <tacho/timeline.h>

/* The name that the trace tells of the rank's first, else of any rank's; NULL: it tells none. To be freed with
 * g_free(). */
gchar *recorded_device_name(const TachoTimeline *timeline, guint32 rank_index);

#endif
