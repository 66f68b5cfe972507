/* execution_args: what the nodes of an execution trace know beyond a slice's columns.
 *
 * A place (trace/source.h) is the index of a node; or, with the bit EXECUTION_PLACE_LINK, that of a link: a
 * slice that another trace has measured, and the node that knows more of it. The measured trace is asked
 * first; what it does not know, or less of, the node tells. */
#ifndef TACHO_EXECUTION_ARGS_H
#define TACHO_EXECUTION_ARGS_H

#include "import/execution/execution_trace.h"

#define EXECUTION_PLACE_LINK (G_GUINT64_CONSTANT(1) << 47)

struct execution_link {
	guint32 node;
	guint32 is_device; /* the slice is not the node but what it asked a device for */
	struct foreign_reader *measured; /* NULL: nobody knows more of the slice */
	guint64 place;			 /* for `measured` */
};

/* A reader for the sorted trace, which it takes over, as it does `links` (struct execution_link; may be
 * NULL). */
struct foreign_reader *execution_args_new(struct execution_trace *trace, GArray *links);

#endif
