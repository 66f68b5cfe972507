/* latency_view: how long requests, messages and collectives take, from who asks to who has it.
 *
 * request     from when it was sent to when it came in: a client asks, a server (gRPC, MPI) has it
 * message     from the begin of a send to the end of the receive that took the last of its bytes
 * collective  from when a rank queued it to when it was complete there
 * transfer    the same from when the last rank had queued it: without the waiting for others
 * client      of a request for a tensor, or a call of gRPC: until the response is there
 * server      of the same: from its reception until the response is ready
 * network     client less server: what is between them, whatever their clocks say
 * copy        of a tensor from the server's device
 * rendezvous  within a process: from whoever is first, sender or receiver, to the other
 *
 * A histogram has powers of two: what took less than the bound and not less than half of it. Where the clocks of two
 * hosts are not one, a request may come in before it was sent: such latencies are below 0, and counted. */
#include <tacho/analyze.h>

#include <string.h>

#include "analyze/keyed_rows.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/quantile.h"
#include "base/time_units.h"
#include "trace/region_kind.h"

static const TachoColumn columns[] = {
	TEXT_COLUMN("kind", "kind"),
	TEXT_COLUMN("name", "what", .is_flexible = TRUE),
	INTEGER_COLUMN("from_rank", "from"),
	INTEGER_COLUMN("to_rank", "to"),
	INTEGER_COLUMN("count", "count"),
	NUMBER_COLUMN("mean_us", "mean us", 1),
	NUMBER_COLUMN("median_us", "median", 1),
	NUMBER_COLUMN("p90_us", "90 %", 1),
	NUMBER_COLUMN("p99_us", "99 %", 1),
	NUMBER_COLUMN("max_us", "most", 1),
	JSON_NUMBER("min_us"),
	JSON_NUMBER("total_ms"),
	JSON_INTEGER("below_zero"),
	JSON_TEXT("histogram"),
};

struct latency_group {
	const gchar *kind;
	guint32 name;
	guint32 from, to; /* rank_index, or TACHO_NONE */
	GArray *values;	  /* gint64 ns */
};

/* Where in a rank's steps the last time that was asked for lay. */
struct step_place {
	guint cursor;
	gint64 time_ns;
};

struct latencies {
	const struct selection *selection;
	struct step_place *places; /* by rank_index */
	struct keyed_rows groups;  /* struct latency_group */
	guint64 n_below_zero;
};

static void release_group(gpointer group)
{
	g_array_unref(((struct latency_group *)group)->values);
}

/* --- collecting ----------------------------------------------------------------------------- */

static void add_value(struct latencies *latencies, const gchar *kind, guint32 name, guint32 from,
		      guint32 to, gint64 value_ns)
{
	struct latency_group first = { .kind = kind, .name = name, .from = from, .to = to };
	struct latency_group *group =
		keyed_rows_find(&latencies->groups, &first, "%s/%u/%u/%u", kind, name, from, to);

	if (!group->values)
		group->values = g_array_new(FALSE, FALSE, sizeof(gint64));
	latencies->n_below_zero += value_ns < 0;
	g_array_append_val(group->values, value_ns);
}

static guint32 rank_of(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_slice_process(timeline, slice)->rank_index;
}

static gboolean takes_slice(const struct latencies *latencies, guint32 slice)
{
	const TachoTimeline *timeline = latencies->selection->timeline;
	guint rank_index = rank_of(timeline, slice);
	struct step_place *place = &latencies->places[rank_index];
	gint64 time_ns = timeline->slices.start_ns[slice];

	if (time_ns < place->time_ns)
		place->cursor = 0;
	place->time_ns = time_ns;
	return selection_takes_rank(latencies->selection, rank_index) &&
	       selection_takes_time(latencies->selection, rank_index, time_ns, &place->cursor);
}

static gboolean takes_name(const struct latencies *latencies, guint32 name)
{
	return selection_takes_name(latencies->selection,
				    tacho_timeline_string(latencies->selection->timeline, name));
}

/* --- messages and requests -------------------------------------------------------------------- */

/* What a message was for, else what it is called. */
static guint32 name_of_send(const TachoTimeline *timeline, guint32 slice)
{
	const TachoMessage *message = tacho_slice_borrow_message(timeline, slice);

	if (message && message->collective != TACHO_NONE)
		return timeline->slices.name[message->collective];
	return timeline->slices.name[slice];
}

static void count_send(struct latencies *latencies, const TachoFlow *flow)
{
	const TachoTimeline *timeline = latencies->selection->timeline;
	gboolean is_message = timeline->slices.kind[flow->from] == TACHO_SLICE_MESSAGE;
	guint32 name = name_of_send(timeline, flow->from);

	if (takes_name(latencies, name) && takes_slice(latencies, flow->from))
		add_value(latencies, is_message ? "message" : "request", name,
			  rank_of(timeline, flow->from), rank_of(timeline, flow->to),
			  tacho_slice_end_ns(timeline, flow->to) -
				  timeline->slices.start_ns[flow->from]);
}

/* The bytes of a send may come in with several receives: the last of them counts. */
static void count_sends(struct latencies *latencies)
{
	const TachoTimeline *timeline = latencies->selection->timeline;
	g_autoptr(GHashTable) last = g_hash_table_new(NULL, NULL); /* send + 1 -> receive */
	gpointer value;

	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		gpointer send = GSIZE_TO_POINTER((gsize)flow->from + 1);

		if (flow->kind != TACHO_FLOW_MESSAGE)
			continue;
		if (g_hash_table_lookup_extended(last, send, NULL, &value) &&
		    tacho_slice_end_ns(timeline, GPOINTER_TO_UINT(value)) >=
			    tacho_slice_end_ns(timeline, flow->to))
			continue;
		g_hash_table_insert(last, send, GUINT_TO_POINTER(flow->to));
	}
	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		gpointer send = GSIZE_TO_POINTER((gsize)flow->from + 1);

		if (flow->kind == TACHO_FLOW_MESSAGE &&
		    g_hash_table_lookup_extended(last, send, NULL, &value) &&
		    GPOINTER_TO_UINT(value) == flow->to)
			count_send(latencies, flow);
	}
}

/* --- both sides of requests for tensors --------------------------------------------------------- */

/* The kind of row that the slice is counted in, and its name; NULL: in none. All tensors of a track of rendezvous are one row. */
static const gchar *kind_of_span(const TachoTimeline *timeline, guint32 slice, guint32 *ret_name)
{
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[slice]);
	TachoRequestArgs request;

	if (track->kind != TACHO_TRACK_ASYNC || (timeline->slices.flags[slice] & TACHO_SLICE_OPEN))
		return NULL;
	*ret_name = timeline->slices.name[slice];
	if (timeline->slices.kind[slice] == TACHO_SLICE_ANNOTATION)
		return region_kind_of(timeline, slice) == REGION_RENDEZVOUS_WAIT ? "rendezvous"
										 : NULL;
	if (timeline->slices.kind[slice] != TACHO_SLICE_EVENT)
		return NULL;
	if (tacho_slice_request(timeline, slice, &request))
		return request.is_server ? "server" : "client";
	switch (region_kind_of(timeline, slice)) {
	case REGION_TENSOR_REQUEST:
		return "client";
	case REGION_TENSOR_RESPONSE:
		return "server";
	case REGION_TENSOR_COPY:
		return "copy";
	default:
		*ret_name = track->name;
		return region_kind_of_name(timeline, track->name) == REGION_RENDEZVOUS
			       ? "rendezvous"
			       : NULL;
	}
}

static void count_spans(struct latencies *latencies)
{
	const TachoTimeline *timeline = latencies->selection->timeline;

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		guint32 name = 0;
		const gchar *kind = kind_of_span(timeline, i, &name);

		if (kind && takes_name(latencies, name) && takes_slice(latencies, i))
			add_value(latencies, kind, name, rank_of(timeline, i), TACHO_NONE,
				  timeline->slices.duration_ns[i]);
	}
}

/* Whether both ends of a request are spans of ours, or of one for a tensor. */
static gboolean has_both_ends(const TachoTimeline *timeline, const TachoFlow *flow,
			      gboolean *ret_is_ours)
{
	TachoRequestArgs request;

	*ret_is_ours = tacho_slice_request(timeline, flow->from, &request);
	return *ret_is_ours || (region_kind_of(timeline, flow->from) == REGION_TENSOR_REQUEST &&
				region_kind_of(timeline, flow->to) == REGION_TENSOR_RESPONSE);
}

static void count_network(struct latencies *latencies)
{
	const TachoTimeline *timeline = latencies->selection->timeline;
	const TachoSlices *slices = &timeline->slices;

	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		guint32 name = slices->name[flow->from];
		guint32 from = rank_of(timeline, flow->from), to = rank_of(timeline, flow->to);
		gboolean is_ours;

		if (flow->kind != TACHO_FLOW_REQUEST || !has_both_ends(timeline, flow, &is_ours) ||
		    !takes_name(latencies, name) || !takes_slice(latencies, flow->from))
			continue;
		if (is_ours)
			add_value(latencies, "request", name, from, to,
				  slices->start_ns[flow->to] - slices->start_ns[flow->from]);
		if (!is_ours ||
		    !((slices->flags[flow->from] | slices->flags[flow->to]) & TACHO_SLICE_OPEN))
			add_value(latencies, "network", name, from, to,
				  slices->duration_ns[flow->from] - slices->duration_ns[flow->to]);
	}
}

/* --- collectives ------------------------------------------------------------------------------ */

static void count_collective(struct latencies *latencies, const TachoCollective *collective)
{
	const TachoTimeline *timeline = latencies->selection->timeline;

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice =
			g_array_index(timeline->members, guint32, collective->first_member + i);
		gint64 end_ns = tacho_slice_end_ns(timeline, slice);

		if (!takes_slice(latencies, slice))
			continue;
		add_value(latencies, "collective", collective->name, TACHO_NONE, TACHO_NONE,
			  timeline->slices.duration_ns[slice]);
		add_value(latencies, "transfer", collective->name, TACHO_NONE, TACHO_NONE,
			  MAX(end_ns - collective->last_begin_ns, 0));
	}
}

static void count_collectives(struct latencies *latencies)
{
	const TachoTimeline *timeline = latencies->selection->timeline;

	FOR_EACH(const TachoCollective, collective, timeline->collectives)
		if (takes_name(latencies, collective->name))
			count_collective(latencies, collective);
}

/* --- the table -------------------------------------------------------------------------------- */

/* "1024:3 4096:1": 3 of at least 512 ns and less than 1024. Below 1 ns: "1". `values` are sorted. */
static gchar *make_histogram(const GArray *values)
{
	GString *text = g_string_new(NULL);
	guint i = 0;

	while (i < values->len) {
		gint64 value_ns = g_array_index(values, gint64, i), bound_ns = 1;
		guint first = i;

		while (bound_ns <= value_ns && bound_ns < G_MAXINT64 / 2)
			bound_ns *= 2;
		while (i < values->len && g_array_index(values, gint64, i) < bound_ns)
			i++;
		if (i == first) /* longer than any bound */
			i = values->len;
		g_string_append_printf(text, "%s%" G_GINT64_FORMAT ":%u", text->len ? " " : "",
				       bound_ns, i - first);
	}
	return g_string_free(text, FALSE);
}

static void add_row(TachoTable *table, const TachoTimeline *timeline,
		    const struct latency_group *group)
{
	gdouble median_ns = quantile(group->values, 0.5), sum_ns = 0; /* sorts them */
	g_autofree gchar *histogram = make_histogram(group->values);
	guint n = group->values->len, n_below = 0;

	for (guint i = 0; i < n; i++) {
		sum_ns += (gdouble)g_array_index(group->values, gint64, i);
		n_below += g_array_index(group->values, gint64, i) < 0;
	}
	tacho_table_row(table);
	tacho_table_text(table, group->kind);
	tacho_table_text(table, tacho_timeline_string(timeline, group->name));
	table_rank(table, timeline, group->from);
	table_rank(table, timeline, group->to);
	tacho_table_integer(table, n);
	tacho_table_number(table, US(sum_ns) / n);
	tacho_table_number(table, US(median_ns));
	tacho_table_number(table, US(quantile(group->values, 0.9)));
	tacho_table_number(table, US(quantile(group->values, 0.99)));
	tacho_table_number(table, US(quantile(group->values, 1)));
	tacho_table_number(table, US(quantile(group->values, 0)));
	tacho_table_number(table, sum_ns / 1e6);
	tacho_table_integer(table, n_below);
	tacho_table_text(table, histogram);
}

/* By name and place before by time, so that equal totals have an order. */
static gint compare_groups(gconstpointer first, gconstpointer second, gpointer data)
{
	const struct latency_group *a = first, *b = second;
	const TachoTimeline *timeline = data;
	gint order = strcmp(a->kind, b->kind);

	if (!order)
		order = strcmp(tacho_timeline_string(timeline, a->name),
			       tacho_timeline_string(timeline, b->name));
	if (!order && a->from != b->from)
		order = a->from < b->from ? -1 : 1;
	if (!order && a->to != b->to)
		order = a->to < b->to ? -1 : 1;
	return order;
}

TachoTable *tacho_view_latency(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("latency", columns, G_N_ELEMENTS(columns));
	struct selection selection;
	g_autofree struct step_place *places = g_new0(struct step_place, timeline->ranks->len);
	struct latencies latencies = { .selection = &selection, .places = places };
	GArray *groups;

	keyed_rows_init(&latencies.groups, sizeof(struct latency_group));
	groups = latencies.groups.rows;
	g_array_set_clear_func(groups, release_group);
	selection_init(&selection, timeline, filter);
	count_sends(&latencies);
	count_spans(&latencies);
	count_network(&latencies);
	count_collectives(&latencies);
	g_array_sort_with_data(groups, compare_groups, (gpointer)timeline);
	for (guint i = 0; i < groups->len; i++)
		add_row(table, timeline, &g_array_index(groups, struct latency_group, i));
	tacho_table_sort(table, "total_ms", TRUE);
	if (!groups->len)
		selection_note_empty(&selection, table, "requests, messages or collectives");
	if (latencies.n_below_zero)
		tacho_table_note(table,
				 "%" G_GUINT64_FORMAT
				 " ended before they began, because the clocks of their hosts are "
				 "not aligned ('tacho info' says by how much).",
				 latencies.n_below_zero);
	selection_note(&selection, table);
	selection_release(&selection);
	keyed_rows_release(&latencies.groups);
	return table;
}
