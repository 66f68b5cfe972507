/* xplane_args: what an XSpace says of an event beyond its columns, read from the file when asked for. */
#ifndef TACHO_XPLANE_ARGS_H
#define TACHO_XPLANE_ARGS_H

#include "import/xla/xplane_space.h"
#include "trace/source.h"

/* A reader of the events of the file at `path`, whose places are the offsets of their fields. It takes over
 * the space, and is for slices of `timeline`. */
struct foreign_reader *xplane_args_new(const gchar *path, struct xplane_space *space,
				       const TachoTimeline *timeline);
/* The space of such a reader, good as long as it. */
const struct xplane_space *xplane_args_borrow_space(const struct foreign_reader *reader);

/* How many bytes "kind_src:pageable ... size:4096 ..." says were copied; 0: it does not. */
guint64 xplane_copied_bytes(const gchar *details, gsize n);

#endif
