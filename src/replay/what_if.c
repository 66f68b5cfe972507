/* what_if: the little language of changes (include/tacho/replay.h lists it), and what each does to
 * the graph. A change is read whole and checked before the graph is touched. */
#include <math.h>
#include <string.h>

#include "replay/replay_internal.h"

#define MAX_FACTOR 1e6

static gboolean refuse(GError **error, const gchar *what_if, const gchar *format, ...)
	G_GNUC_PRINTF(3, 4);

static gboolean refuse(GError **error, const gchar *what_if, const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list args;

	va_start(args, format);
	reason = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF, "what-if '%s': %s",
		    what_if, reason);
	return FALSE;
}

/* --- values --------------------------------------------------------------------------------- */

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

struct unit {
	const gchar *name;
	gdouble in_base;
};

static const struct unit no_units[] = { { NULL, 0 } };
static const struct unit rate_units[] = {
	/* bits a second */
	{ "bit", 1 },	 { "kbit", 1e3 },  { "mbit", 1e6 },
	{ "gbit", 1e9 }, { "tbit", 1e12 }, { NULL, 0 },
};
static const struct unit time_units[] = {
	/* nanoseconds */
	{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { NULL, 0 },
};

static gboolean parse_value(const gchar *text, const struct unit *units, struct value *ret)
{
	struct value value = { VALUE_PLAIN, 0 };
	gchar *end;

	if (!g_ascii_isdigit(text[*text == '+']))
		return FALSE;
	value.number = g_ascii_strtod(text, &end);
	if (!isfinite(value.number))
		return FALSE;
	if (g_ascii_strcasecmp(end, "x") == 0 && *text != '+') {
		value.form = VALUE_FACTOR;
	} else if (*end) {
		const struct unit *unit = units;

		while (unit->name && g_ascii_strcasecmp(end, unit->name) != 0)
			unit++;
		if (!unit->name)
			return FALSE;
		value.number *= unit->in_base;
		value.form = *text == '+' ? VALUE_ADDED : VALUE_UNIT;
	} else if (*text == '+') {
		return FALSE;
	}
	*ret = value;
	return TRUE;
}

/* F or Fx, at least 0. */
static gboolean parse_factor(const gchar *text, gdouble *ret_factor)
{
	struct value value;

	if (!parse_value(text, no_units, &value) || value.number > MAX_FACTOR)
		return FALSE;
	*ret_factor = value.number;
	return TRUE;
}

/* --- links ---------------------------------------------------------------------------------- */

static gdouble wire_bytes(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	return transfer_wire_bytes(tacho_timeline_string(graph->timeline, transfer->name),
				   transfer->bytes, transfer->n_ranks);
}

static gdouble latencies(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	return transfer_latencies(tacho_timeline_string(graph->timeline, transfer->name),
				  transfer->bytes, transfer->n_ranks);
}

/* What moving bytes takes from computing: a part goes with the bytes a second. */
static void scale_taken(TachoGraph *graph, gdouble factor)
{
	gdouble added = graph->taken_by_bytes * (factor - 1);

	graph->taken_share = MIN(graph->taken_share + added, GRAPH_MAX_TAKEN);
	graph->taken_by_bytes = MIN(graph->taken_by_bytes + added, GRAPH_MAX_TAKEN);
}

/* What later edits (bucket_mb) make new transfers from must change with the old ones. */
static void scale_bandwidth(TachoGraph *graph, gdouble factor)
{
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);

		if (!transfer->is_removed)
			graph_set_transfer(graph, i, transfer->fixed_ns,
					   transfer->work_ns / factor);
	}
	for (guint32 i = 0; i < graph->groups->len; i++)
		graph_group_at(graph, i)->cost.ns_per_byte /= factor;
	scale_taken(graph, factor);
}

/* The largest factor by which a group's bytes move faster at `ns_per_byte`; 1: not known. */
static gdouble bandwidth_factor(const TachoGraph *graph, gdouble ns_per_byte)
{
	gdouble factor = 0;

	for (guint32 i = 0; i < graph->groups->len; i++)
		factor = MAX(factor, graph_group_at(graph, i)->cost.ns_per_byte / ns_per_byte);
	return factor > 0 ? factor : 1;
}

static void set_bandwidth(TachoGraph *graph, gdouble bits_per_second)
{
	gdouble ns_per_byte = 8e9 / bits_per_second;

	scale_taken(graph, bandwidth_factor(graph, ns_per_byte));
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);

		if (!transfer->is_removed)
			graph_set_transfer(graph, i, transfer->fixed_ns,
					   wire_bytes(graph, transfer) * ns_per_byte);
	}
	for (guint32 i = 0; i < graph->groups->len; i++)
		graph_group_at(graph, i)->cost.ns_per_byte = ns_per_byte;
}

static gboolean edit_bandwidth(TachoGraph *graph, const gchar *what_if, const gchar *text,
			       GError **error)
{
	struct value value;

	if (!parse_value(text, rate_units, &value) || value.form == VALUE_PLAIN ||
	    value.form == VALUE_ADDED || value.number <= 0)
		return refuse(error, what_if, "a bandwidth is '10x' or '10gbit'");
	if (graph->transfers->len == 0)
		return refuse(error, what_if, "the steps hold no collective");
	if (value.form == VALUE_FACTOR)
		scale_bandwidth(graph, value.number);
	else
		set_bandwidth(graph, value.number);
	return TRUE;
}

/* The one-way latency: what the fitted fixed time holds, were it nothing else, and what was added. */
static gdouble latency_now_ns(const struct graph_group *group)
{
	gdouble times = transfer_latencies("all_reduce", 1, group->n_ranks);

	return group->added_latency_ns + group->hop_ns +
	       (times > 0 ? group->cost.fixed_ns / times : 0);
}

static gdouble latency_change_ns(const struct graph_group *group, struct value value)
{
	gdouble now_ns = latency_now_ns(group);

	if (value.form == VALUE_ADDED)
		return value.number;
	if (value.form == VALUE_FACTOR)
		return now_ns * value.number - now_ns;
	return value.number - now_ns;
}

static gboolean edit_latency(TachoGraph *graph, const gchar *what_if, const gchar *text,
			     GError **error)
{
	struct value value;

	if (!parse_value(text, time_units, &value) || value.form == VALUE_PLAIN)
		return refuse(error, what_if, "a latency is '+1ms', '1ms' or '2x'");
	if (graph->transfers->len == 0)
		return refuse(error, what_if, "the steps hold no collective");
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);
		gdouble change_ns =
			latency_change_ns(graph_group_at(graph, transfer->group), value);

		if (!transfer->is_removed)
			graph_set_transfer(graph, i,
					   transfer->fixed_ns +
						   change_ns * latencies(graph, transfer),
					   transfer->work_ns);
	}
	for (guint32 i = 0; i < graph->groups->len; i++) {
		struct graph_group *group = graph_group_at(graph, i);

		group->added_latency_ns += latency_change_ns(group, value);
	}
	return TRUE;
}

/* --- work ----------------------------------------------------------------------------------- */

static gboolean kind_matches(const TachoGraph *graph, const gchar *kind, guint32 slice)
{
	TachoSliceKind slice_kind = graph->timeline->slices.kind[slice];

	return strcmp(kind, tacho_slice_kind_name(slice_kind)) == 0;
}

/* The slice or one that contains it is of the kind and its name matches. */
static gboolean slice_matches(const TachoGraph *graph, const gchar *kind, const GRegex *regex,
			      guint32 slice)
{
	for (; slice != TACHO_NONE; slice = graph->timeline->slices.parent[slice])
		if (kind_matches(graph, kind, slice) &&
		    g_regex_match(regex, tacho_slice_name(graph->timeline, slice), 0, NULL))
			return TRUE;
	return FALSE;
}

static gboolean node_matches(const TachoGraph *graph, const gchar *kind, const GRegex *regex,
			     const struct graph_node *node)
{
	const gchar *name = tacho_timeline_string(graph->timeline, node->name);

	switch ((TachoNodeKind)node->kind) {
	case TACHO_NODE_REMOVED:
	case TACHO_NODE_START:
	case TACHO_NODE_QUEUE:
	case TACHO_NODE_COMPLETE:
		return FALSE;
	case TACHO_NODE_TRANSFER:
		return strcmp(kind, "collective") == 0 && g_regex_match(regex, name, 0, NULL);
	case TACHO_NODE_HOST:
		if (strcmp(kind, "host") == 0)
			return g_regex_match(regex, name, 0, NULL);
		break;
	default:
		break;
	}
	return node->slice != TACHO_NONE && slice_matches(graph, kind, regex, node->slice);
}

static void scale_node(TachoGraph *graph, guint32 index, gdouble factor)
{
	struct graph_node *node = graph_node_at(graph, index);

	if (node->kind == TACHO_NODE_TRANSFER) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, node->transfer);

		graph_set_transfer(graph, node->transfer, transfer->fixed_ns * factor,
				   transfer->work_ns * factor);
	} else {
		node->duration_ns = llround((gdouble)node->duration_ns * factor);
	}
}

static gboolean is_target(const gchar *kind)
{
	static const gchar *const kinds[] = { "op",	    "kernel",	  "module",
					      "annotation", "collective", "host" };

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return TRUE;
	return FALSE;
}

/* `target` is KIND~REGEX. */
static gboolean scale_matching(TachoGraph *graph, const gchar *what_if, const gchar *target,
			       gdouble factor, GError **error)
{
	const gchar *tilde = strchr(target, '~');
	g_autofree gchar *kind = NULL;
	g_autoptr(GRegex) regex = NULL;
	g_autoptr(GError) cause = NULL;
	guint32 n_matches = 0;

	kind = g_strndup(target, tilde ? (gsize)(tilde - target) : strlen(target));
	if (!tilde || !is_target(kind))
		return refuse(error, what_if,
			      "what it is about is KIND~REGEX, KIND being op, kernel, module, "
			      "annotation, collective or host");
	regex = g_regex_new(tilde + 1, G_REGEX_OPTIMIZE, 0, &cause);
	if (!regex)
		return refuse(error, what_if, "%s", cause->message);
	for (guint32 i = 0; i < graph->nodes->len; i++)
		if (node_matches(graph, kind, regex, graph_node_at(graph, i))) {
			scale_node(graph, i, factor);
			n_matches++;
		}
	if (n_matches == 0)
		return refuse(error, what_if, "no %s of that name in the steps", kind);
	return TRUE;
}

static gboolean edit_scale(TachoGraph *graph, const gchar *what_if, const gchar *text,
			   GError **error)
{
	const gchar *equals = strrchr(text, '=');
	g_autofree gchar *target = NULL;
	gdouble factor;

	if (!equals || !parse_factor(equals + 1, &factor))
		return refuse(error, what_if, "it is scale:KIND~REGEX=F, F being 0.5 or 2x");
	target = g_strndup(text, (gsize)(equals - text));
	return scale_matching(graph, what_if, target, factor, error);
}

static gboolean edit_drop(TachoGraph *graph, const gchar *what_if, const gchar *text,
			  GError **error)
{
	return scale_matching(graph, what_if, text, 0, error);
}

static gboolean edit_straggler(TachoGraph *graph, const gchar *what_if, const gchar *text,
			       GError **error)
{
	gchar *end;
	guint64 rank = g_ascii_strtoull(text, &end, 10);
	gboolean is_found = FALSE;
	gdouble factor;

	if (!g_ascii_isdigit(*text) || *end != '=' || !parse_factor(end + 1, &factor))
		return refuse(error, what_if, "it is straggler:RANK=F, F being 1.5 or 2x");
	for (guint32 i = 0; i < graph->nodes->len; i++) {
		TachoNodeKind kind = graph_node_at(graph, i)->kind;

		if (graph_node_rank(graph, i) < 0 || (guint64)graph_node_rank(graph, i) != rank)
			continue;
		is_found = TRUE;
		if (kind == TACHO_NODE_OP || kind == TACHO_NODE_KERNEL || kind == TACHO_NODE_HOST)
			scale_node(graph, i, factor);
	}
	if (!is_found)
		return refuse(error, what_if, "the run has no rank %" G_GUINT64_FORMAT, rank);
	return TRUE;
}

static gboolean edit_bucket_mb(TachoGraph *graph, const gchar *what_if, const gchar *text,
			       GError **error)
{
	struct value value;

	if (!parse_value(text, no_units, &value) || value.form != VALUE_PLAIN ||
	    value.number <= 0 || value.number > 1e6)
		return refuse(error, what_if, "it is bucket_mb=N, in MiB");
	return rebucket(graph, (guint64)(value.number * 1024 * 1024), error);
}

static gboolean edit_cores(TachoGraph *graph, const gchar *what_if, const gchar *text,
			   GError **error)
{
	struct value value;

	if (!parse_value(text, no_units, &value) || value.form != VALUE_PLAIN || value.number < 1 ||
	    value.number > 65536 || value.number != floor(value.number))
		return refuse(error, what_if, "it is cores=N, N a whole number of at least 1");
	graph->n_cores = (guint32)value.number;
	return TRUE;
}

static const struct {
	const gchar *prefix; /* its last character ends the key */
	gboolean (*edit)(TachoGraph *graph, const gchar *what_if, const gchar *text,
			 GError **error);
} edits[] = {
	{ "bandwidth=", edit_bandwidth }, { "latency=", edit_latency },
	{ "bucket_mb=", edit_bucket_mb }, { "scale:", edit_scale },
	{ "drop:", edit_drop },		  { "straggler:", edit_straggler },
	{ "cores=", edit_cores },
};

gboolean tacho_graph_what_if(TachoGraph *graph, const gchar *what_if, GError **error)
{
	for (guint i = 0; i < G_N_ELEMENTS(edits); i++)
		if (g_str_has_prefix(what_if, edits[i].prefix))
			return edits[i].edit(graph, what_if, what_if + strlen(edits[i].prefix),
					     error) &&
			       graph_freeze(graph, error);
	return refuse(error, what_if,
		      "not known; there are bandwidth=, latency=, bucket_mb=, scale:KIND~REGEX=F, "
		      "drop:KIND~REGEX, straggler:RANK=F and cores=N");
}
