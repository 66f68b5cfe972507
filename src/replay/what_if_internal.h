/* what_if_internal: the changes that tacho_graph_what_if() knows, and what their texts are made of. */
#ifndef TACHO_WHAT_IF_INTERNAL_H
#define TACHO_WHAT_IF_INTERNAL_H

#include "replay/replay_internal.h"

/* A change of the graph. `what_if` is the whole of it, for messages; `text` what stands behind its key.
 * TACHO_GRAPH_ERROR_WHAT_IF: not understood, or it does not fit; the graph is then unchanged. It is left
 * unfrozen. */
typedef gboolean WhatIfEdit(TachoGraph *graph, const gchar *what_if, const gchar *text,
			    GError **error);

WhatIfEdit what_if_bandwidth, what_if_latency;
WhatIfEdit what_if_scale, what_if_drop, what_if_straggler, what_if_cores;
WhatIfEdit what_if_bucket_mb;

/* The change that the text is, unfrozen. */
gboolean what_if_edit(TachoGraph *graph, const gchar *what_if, GError **error);

/* Set the error; FALSE. */
gboolean what_if_refuse(GError **error, const gchar *what_if, const gchar *format, ...)
	G_GNUC_PRINTF(3, 4);

enum value_form {
	VALUE_PLAIN,  /* 8 */
	VALUE_FACTOR, /* 0.5x */
	VALUE_UNIT,   /* 10gbit: in the unit's base */
	VALUE_ADDED,  /* +1ms */
};

struct value {
	enum value_form form;
	gdouble number;
};

enum value_units {
	UNITS_NONE,
	UNITS_RATE, /* bits a second */
	UNITS_TIME, /* nanoseconds */
};

/* A finite number of at least 0, with a unit of these or "x". */
gboolean what_if_parse_value(const gchar *text, enum value_units units, struct value *ret);
/* F or Fx, at least 0. */
gboolean what_if_parse_factor(const gchar *text, gdouble *ret_factor);
/* A whole number from `min` to `max`. */
gboolean what_if_parse_count(const gchar *text, guint32 min, guint32 max, guint32 *ret);

#endif
