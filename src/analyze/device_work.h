/* device_work: what runs on a device's streams, and for whom. */
#ifndef TACHO_DEVICE_WORK_H
#define TACHO_DEVICE_WORK_H

#include <tacho/timeline.h>

#include "analyze/selection.h"

/* Whether a slice of a stream keeps the device busy: a kernel, copy, fill or collective. */
gboolean is_device_work(const TachoTimeline *timeline, guint32 slice);

/* The innermost operation at or around `slice`, or TACHO_NONE. */
guint32 innermost_op(const TachoTimeline *timeline, guint32 slice);

/* The slice and all around it, outermost first: "forward > aten::linear > aten::addmm"; the caller's. */
gchar *stack_text(const TachoTimeline *timeline, guint32 slice);

/* "gpu 0"; "gpu 0 stream 7", or whatever the stream is called. The caller's. */
gchar *device_label(gint32 device);
gchar *stream_label(const TachoTimeline *timeline, const TachoTrack *track);

/* Whether it is a stream that the filter's rank and device take. */
gboolean takes_stream(const struct selection *selection, const TachoTrack *track);

/* Whether the track is the first that is taken of the streams of its device. */
gboolean is_first_of_device(const struct selection *selection, guint index);

/* The number of the rank that a track belongs to. */
gint32 rank_of_track(const TachoTimeline *timeline, const TachoTrack *track);

/* Tell why a table of streams is empty. */
void note_no_streams(TachoTable *table, const struct selection *selection);

/* How many pieces of work each launch brought to a device, whatever was chosen; for launched_work_of(). The caller's. */
GHashTable *count_launched_work(const TachoTimeline *timeline);
/* ... the slice `launch`: 0, it launched none. */
guint launched_work_of(GHashTable *counts, guint32 launch);

/* The stream's work, guint32 slices in order of time; the caller's. */
GArray *stream_work(const TachoTimeline *timeline, const TachoTrack *track);

#endif
