/* device_properties: devices as PyTorch's profiler lists them, {"deviceProperties": [{"id": 0, "name": ...}, ...]}.
 *
 * Kineto's libkineto/src/DeviceProperties.cpp writes it, of what CUDA, HIP or SYCL say of the devices that the process
 * can see. */
#ifndef TACHO_DEVICE_PROPERTIES_H
#define TACHO_DEVICE_PROPERTIES_H

#include <tacho/timeline.h>

/* The member that has the list. */
#define DEVICE_PROPERTIES "deviceProperties"

/* Add the devices of the list, which `json` is the text of, to those of the process. What is broken ends the list. */
void device_properties_read(TachoTimeline *timeline, guint32 process, const gchar *json);

/* "8.6" as a string id; 0 where either is below 0. */
guint32 device_architecture(TachoTimeline *timeline, gint64 major, gint64 minor);

#endif
