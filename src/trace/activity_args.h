/* activity_args: what the records of devices' work say beyond the columns of a slice, read from the record when asked for. */
#ifndef TACHO_ACTIVITY_ARGS_H
#define TACHO_ACTIVITY_ARGS_H

#include <tacho/timeline.h>

struct activity_args;

/* A reader of the records of `timeline`, whose source ends it. NULL: there are too many readers. */
struct activity_args *activity_args_new(TachoTimeline *timeline);
/* The records that follow have ticks of so many a second. */
void activity_args_set_frequency(struct activity_args *args, guint64 frequency_hz);
/* The source handle for the slice of the record behind `record`, which is of `kind`: enum trace_kind. */
guint64 activity_args_add(struct activity_args *args, guint64 record, guint8 kind);

#endif
