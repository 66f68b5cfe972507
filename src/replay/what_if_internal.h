/* what_if_internal: the changes that tacho_graph_what_if() knows, and what their texts are made of. */
#ifndef TACHO_WHAT_IF_INTERNAL_H
#define TACHO_WHAT_IF_INTERNAL_H

#include "base/quantity.h"
#include "replay/replay_internal.h"

/* A change of the graph. `what_if` is the whole of it, for messages; `text` what stands behind its key.
 * TACHO_GRAPH_ERROR_WHAT_IF: not understood, or it does not fit; the graph is then unchanged. It is left
 * unfrozen. */
typedef gboolean WhatIfEdit(TachoGraph *graph, const gchar *what_if, const gchar *text,
			    GError **error);

WhatIfEdit what_if_bandwidth, what_if_latency;
WhatIfEdit what_if_topology, what_if_ranks, what_if_algorithm;
WhatIfEdit what_if_scale, what_if_drop, what_if_straggler, what_if_cores;
WhatIfEdit what_if_bucket_mb;

/* The change that the text is, unfrozen. */
gboolean what_if_edit(TachoGraph *graph, const gchar *what_if, GError **error);

/* Set the error; FALSE. */
gboolean what_if_refuse(GError **error, const gchar *what_if, const gchar *format, ...)
	G_GNUC_PRINTF(3, 4);

#endif
