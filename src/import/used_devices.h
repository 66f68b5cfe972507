/* used_devices: what a trace tells of the devices of a machine, as rows for the processes that used them. */
#ifndef TACHO_USED_DEVICES_H
#define TACHO_USED_DEVICES_H

#include <tacho/timeline.h>

/* Add the device to each process, from row `first_process` on, that has a queue of a device of that number; `process` of
 * `device` does not matter. */
void used_devices_add(TachoTimeline *timeline, guint32 first_process, const TachoDevice *device);

#endif
