/* horovod_dialect: what a Horovod timeline says, for it alone (horovod_import.c) and as part of a folder
 * (byteprofile_import.c). */
#ifndef TACHO_HOROVOD_DIALECT_H
#define TACHO_HOROVOD_DIALECT_H

#include "import/chrome/chrome_trace.h"

struct byteprofile_ops;
struct gml_graph;
struct hop_record;

/* The process of the timeline, where that is known: the context of chrome_trace_read(). */
struct horovod_context {
	guint32 process; /* of the timeline; TACHO_NONE: it is a process of its own */
	gint32 rank;
	const GArray *tensors;	       /* as byteprofile_tensors.h says; may be NULL */
	struct byteprofile_ops *ops;   /* what operations take and give; may be NULL */
	const struct gml_graph *graph; /* which operation needs which; may be NULL */
	GHashTable *keys;	       /* as byteps_keys.h says; may be NULL */
	struct hop_record *hops;       /* to be told collectives, and what NCCL sent; may be NULL */
};

extern const struct chrome_dialect horovod_dialect;

#endif
