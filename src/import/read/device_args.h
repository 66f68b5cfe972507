/* device_args: how a kernel was launched, and what a copy moved, as the args of a foreign trace tell it.
 *
 * Recorders spell the same thing in their own ways. Here, at the door, all of these are known, and the stages behind
 * read fields. The functions ask the reader for the text of the args, so they serve any importer that keeps it; the keys
 * of the recorders do not collide. */
#ifndef TACHO_DEVICE_ARGS_H
#define TACHO_DEVICE_ARGS_H

#include "trace/source.h"

/* `launch_shape`, `copy` and `lead` of a reader that has `args_json` (trace/source.h). */
gboolean device_args_launch_shape(struct foreign_reader *reader, guint64 place,
				  TachoLaunchShape *shape);
gboolean device_args_copy(struct foreign_reader *reader, guint64 place, TachoCopyArgs *copy);
gboolean device_args_lead(struct foreign_reader *reader, guint64 place, TachoDeviceLead *lead);

#endif
