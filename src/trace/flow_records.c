/* Within a process, a flow goes from its begin through its steps to its end in the order of time, and the number may be used
 * again. Clocks of processes differ: there the first begin of a number goes with its first end, and so on. */
#include "trace/flow_records.h"

#include "base/for_each.h"
#include "base/order.h"
#include "trace/process_reader.h"
#include "trace/record.h"
#include "trace/source.h"

struct flow_end {
	guint64 id;
	gint64 time_ns;
	guint32 process; /* TACHO_NONE: the number is the run's */
	guint32 name;
	guint32 slice;
	guint8 phase, sort;
};

static TachoFlowKind kind_of(guint8 sort)
{
	switch ((enum trace_flow_sort)sort) {
	case TRACE_FLOW_REQUEST:
		return TACHO_FLOW_REQUEST;
	case TRACE_FLOW_CONTROL:
		return TACHO_FLOW_CONTROL;
	case TRACE_FLOW_DATA:
		return TACHO_FLOW_DATA;
	default:
		return TACHO_FLOW_OTHER;
	}
}

static gint compare_flows(const struct flow_end *a, const struct flow_end *b)
{
	return ORDER(a->process, b->process) ?: ORDER(a->name, b->name) ?: ORDER(a->id, b->id);
}

static gint compare_ends(gconstpointer first, gconstpointer second)
{
	const struct flow_end *a = first, *b = second;
	gint order = compare_flows(a, b);

	if (!order && a->process == TACHO_NONE)
		order = ORDER(a->phase, b->phase);
	return order ?: ORDER(a->time_ns, b->time_ns) ?: ORDER(a->phase, b->phase);
}

/* Returns how many lie in no slice. */
static guint64 collect(const TachoTimeline *timeline, const struct process_input *input,
		       guint32 process, GArray *ends)
{
	guint64 n_loose = 0;

	FOR_EACH(const struct stream_input, stream, input->streams) {
		const struct stream_flow *flows = stream->rows.flows.rows;

		for (gsize i = 0; i < stream->rows.flows.n; i++) {
			gsize size_bytes;
			const struct record_flow *record = tacho_source_borrow_record(
				timeline->source, flows[i].handle, sizeof(*record), &size_bytes);
			struct flow_end end = { .time_ns = flows[i].time_ns,
						.process = process,
						.name = flows[i].name };

			/* It is looked at again: the file may have changed. */
			if (!record || record_find_fault(TRACE_KIND_FLOW, record, size_bytes))
				continue;
			if (flows[i].row == TACHO_NONE) {
				n_loose++;
				continue;
			}
			end.id = record->id;
			end.slice = stream->first_row + flows[i].row;
			end.phase = (guint8)MIN(record->phase, TRACE_FLOW_END);
			end.sort = (guint8)MIN(record->sort, TRACE_N_FLOW_SORTS);
			if (record->scope == TRACE_FLOW_OF_RUN)
				end.process = TACHO_NONE;
			g_array_append_val(ends, end);
		}
	}
	return n_loose;
}

static void add_flow(TachoTimeline *timeline, const struct flow_end *from,
		     const struct flow_end *to)
{
	TachoFlow flow = { from->slice, to->slice, (guint8)kind_of(from->sort), 1 };

	if (from->slice != to->slice)
		g_array_append_val(timeline->flows, flow);
}

/* The ends of one flow of a process. Returns how many have no begin. */
static guint64 join_in_time(TachoTimeline *timeline, const struct flow_end *ends, guint n)
{
	const struct flow_end *last = NULL;
	guint64 n_loose = 0;

	for (guint i = 0; i < n; i++) {
		if (ends[i].phase != TRACE_FLOW_BEGIN && last)
			add_flow(timeline, last, &ends[i]);
		else if (ends[i].phase != TRACE_FLOW_BEGIN)
			n_loose++;
		if (ends[i].phase == TRACE_FLOW_BEGIN || last)
			last = ends[i].phase == TRACE_FLOW_END ? NULL : &ends[i];
	}
	return n_loose;
}

/* The same of a flow of the run: begins come first, then steps, then ends. */
static guint64 join_in_order(TachoTimeline *timeline, const struct flow_end *ends, guint n)
{
	guint n_begins = 0, n_steps = 0, n_ends;

	while (n_begins < n && ends[n_begins].phase == TRACE_FLOW_BEGIN)
		n_begins++;
	while (n_begins + n_steps < n && ends[n_begins + n_steps].phase == TRACE_FLOW_STEP)
		n_steps++;
	if (n_begins == 1)
		return join_in_time(timeline, ends, n);
	n_ends = n - n_begins - n_steps;
	for (guint i = 0; i < MIN(n_begins, n_ends); i++)
		add_flow(timeline, &ends[i], &ends[n_begins + n_steps + i]);
	return n_steps + (n_ends > n_begins ? n_ends - n_begins : 0);
}

void flow_records_join(TachoTimeline *timeline, const GArray *inputs)
{
	g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(struct flow_end));
	const struct flow_end *rows;
	guint64 n_loose = 0;

	FOR_EACH_AT(const struct process_input, input, process, inputs)
		n_loose += collect(timeline, input, process, ends);
	g_array_sort(ends, compare_ends);
	rows = (const struct flow_end *)(gconstpointer)ends->data;
	for (guint first = 0, n; first < ends->len; first += n) {
		for (n = 1; first + n < ends->len; n++)
			if (compare_flows(&rows[first], &rows[first + n]) != 0)
				break;
		n_loose += rows[first].process == TACHO_NONE
				   ? join_in_order(timeline, rows + first, n)
				   : join_in_time(timeline, rows + first, n);
	}
	if (n_loose)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_UNMATCHED_END, n_loose,
			"ends of flows that lie in no slice, or whose begin was not "
			"recorded");
}
