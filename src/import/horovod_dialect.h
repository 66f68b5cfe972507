/* horovod_dialect: what a Horovod timeline says, for it alone (horovod_import.c) and as part of a folder
 * (byteprofile_import.c). */
#ifndef TACHO_HOROVOD_DIALECT_H
#define TACHO_HOROVOD_DIALECT_H

#include "import/chrome_trace.h"

struct gml_graph;
struct hop_record;

/* Whose timeline it is, where that is known: the context of chrome_trace_read(). */
struct horovod_context {
	guint32 process; /* of the timeline */
	gint32 rank;
	const GArray
		*tensors; /* guint64: bytes of the gradients by number, 0 not known; may be NULL */
	const struct gml_graph *graph; /* which operation needs which; may be NULL */
	struct hop_record *hops;       /* to be told collectives, and what NCCL sent; may be NULL */
};

extern const struct chrome_dialect horovod_dialect;

#endif
