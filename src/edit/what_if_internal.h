/* what_if_internal: the changes that tacho_graph_what_if() knows, and what their texts are made of. */
#ifndef TACHO_WHAT_IF_INTERNAL_H
#define TACHO_WHAT_IF_INTERNAL_H

#include "base/quantity.h"
#include "graph/graph_internal.h"

/* A change of the graph. `what_if` is the whole of it, for messages; `text` what stands behind its key.
 * TACHO_GRAPH_ERROR_WHAT_IF: not understood, or it does not fit; the graph is then unchanged. It is left
 * unfrozen. */
typedef gboolean WhatIfEdit(TachoGraph *graph, const gchar *what_if, const gchar *text,
			    GError **error);

WhatIfEdit what_if_bandwidth, what_if_latency;
WhatIfEdit what_if_topology, what_if_ranks, what_if_algorithm;
WhatIfEdit what_if_scale, what_if_drop, what_if_straggler, what_if_cores;
WhatIfEdit what_if_bucket_mb, what_if_fusion, what_if_partition_mb;
WhatIfEdit what_if_accumulate, what_if_recompute, what_if_device, what_if_jobs;
WhatIfEdit what_if_durations;
WhatIfEdit what_if_device_of_ranks;
WhatIfEdit what_if_precision, what_if_whole_precision;
WhatIfEdit what_if_fuse;
WhatIfEdit what_if_workers, what_if_batch;

struct rank_choice;

/* The caller's; NULL: it is none, or empty. */
GRegex *what_if_parse_regex(const gchar *what_if, const gchar *text, GError **error);
/* Of KIND~REGEX; both are the caller's. */
gboolean what_if_parse_target(const gchar *what_if, const gchar *target, gchar **ret_kind,
			      GRegex **ret_regex, GError **error);
/* The slice or one that contains it is of the kind and its name matches; what a device did is also part of
 * what contains the call that launched it, though not of the call. */
gboolean what_if_slice_matches(const TachoGraph *graph, const gchar *kind, const GRegex *regex,
			       guint32 slice);

/* Of the ranks, which are told apart: the time of data loading, `factor` times what it takes (0: nothing). */
gboolean what_if_scale_loader(TachoGraph *graph, const gchar *what_if,
			      const struct rank_choice *ranks, gdouble factor, GError **error);
/* The same of all ranks, where what they compute of a batch changes as much: waits for workers do, too. */
void what_if_load_batches(TachoGraph *graph, gdouble factor);
/* No rank waits for a later one in a collective: each has its part as soon as it comes. */
gboolean what_if_drop_wait(TachoGraph *graph, const gchar *what_if, GError **error);

/* The accelerators that the work of ranks is on, by their index: as `said` (or NULL), else by a what-if, else
 * recorded; NULL of ranks that are not chosen. To be freed with g_free(). */
struct device_peak;
const struct device_peak **what_if_recorded_devices(const TachoGraph *graph, const gchar *what_if,
						    const gchar *said,
						    const struct rank_choice *ranks,
						    GError **error);
/* Their names, each once, between ", "; to be freed with g_free(). */
gchar *what_if_device_names(const TachoGraph *graph, const struct device_peak *const *devices);

/* Work that was not recorded, of the thread and step of the node that is to follow it. */
struct insertion {
	guint32 next; /* a node; each is in one insertion at most */
	gint64 duration_ns;
	TachoNodeKind kind; /* OP, HOST ... */
	guint32 name;	    /* string of the timeline */
	gboolean has_slice; /* it is part of the slice that it is put before */
};

/* Put them in, each after all that its `next` began after; `insertions` holds struct insertion. Nodes get
 * other numbers. */
void what_if_insert(TachoGraph *graph, const GArray *insertions);

/* Of device=NAME or device=NAME:RECORDED; of these ranks, which are told apart. */
gboolean what_if_named_device(TachoGraph *graph, const gchar *what_if, struct rank_choice *ranks,
			      const gchar *text, GError **error);

/* The change that the text is, unfrozen. */
gboolean what_if_edit(TachoGraph *graph, const gchar *what_if, GError **error);

/* Set the error; FALSE. */
gboolean what_if_refuse(GError **error, const gchar *what_if, const gchar *format, ...)
	G_GNUC_PRINTF(3, 4);

#endif
