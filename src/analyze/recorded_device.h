/* recorded_device: the accelerator that a run was recorded on. */
#ifndef TACHO_RECORDED_DEVICE_H
#define TACHO_RECORDED_DEVICE_H

#include <tacho/timeline.h>

/* The name of the rank's device, else that of any rank's; NULL: the trace tells none. Of several devices with different
 * names, the first counts that did something for the rank. */
const gchar *recorded_device_name(const TachoTimeline *timeline, guint32 rank_index);

#endif
