/* device_records: what the records of a run say of devices (DEVICE_KERNEL, COPY, FILL, DEVICE_WAIT, DEVICE_WORK, DEVICE,
 * QUEUE) and of counters.
 *
 * Such records come late, in the stream of whichever thread came to know, and in any order. What a device did goes to a track of
 * its queue (TACHO_TRACK_STREAM), with the device's times and tied to the call with the same correlation id, as importers
 * of other tools' traces have it; counters go to tracks of their own.
 *
 * (1) The new tracks stand behind those of threads, by process, device and queue, counters last.
 * (2) Launches are found among the calls of the same process only. */
#ifndef TACHO_DEVICE_RECORDS_H
#define TACHO_DEVICE_RECORDS_H

#include <tacho/timeline.h>

struct process_input;

/* Put what the records of `inputs` (struct process_input, one for each of the timeline's processes) say behind the timeline's
 * other rows, which are there already. FALSE: no memory. */
gboolean device_records_add(TachoTimeline *timeline, const GArray *inputs, GError **error);

#endif
