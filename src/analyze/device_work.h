/* device_work: what runs on a device's streams, and for whom. */
#ifndef TACHO_DEVICE_WORK_H
#define TACHO_DEVICE_WORK_H

#include <tacho/timeline.h>

/* Whether a slice of a stream keeps the device busy: a kernel, copy or fill. */
gboolean is_device_work(const TachoTimeline *timeline, guint32 slice);

/* The innermost operation at or around `slice`, or TACHO_NONE. */
guint32 innermost_op(const TachoTimeline *timeline, guint32 slice);

#endif
