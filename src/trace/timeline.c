/* The tables themselves: their memory, and what makes a hand-filled timeline whole. Reading runs is
 * run_reader.c, looking behind a slice is source.c. */
#include <tacho/timeline.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "trace/run_share.h"
#include "trace/slice_columns.h"
#include "trace/source.h"
#include "trace/string_table.h"

G_DEFINE_QUARK(tacho - timeline - error - quark, tacho_timeline_error)

static void clear_process(gpointer process)
{
	g_free(((TachoProcess *)process)->path);
}

static void clear_problem(gpointer problem)
{
	g_free(((TachoProblem *)problem)->where);
}

static GArray *new_table(gsize row_bytes)
{
	return g_array_new(FALSE, TRUE, (guint)row_bytes);
}

TachoTimeline *tacho_timeline_new(void)
{
	TachoTimeline *timeline = g_new0(TachoTimeline, 1);

	timeline->tracks = new_table(sizeof(TachoTrack));
	timeline->processes = new_table(sizeof(TachoProcess));
	timeline->ranks = new_table(sizeof(TachoRank));
	timeline->devices = new_table(sizeof(TachoDevice));
	timeline->clocks = new_table(sizeof(TachoClock));
	timeline->flows = new_table(sizeof(TachoFlow));
	timeline->samples = new_table(sizeof(TachoSample));
	timeline->memory = new_table(sizeof(TachoMemoryEvent));
	timeline->chunks = new_table(sizeof(TachoChunk));
	timeline->graph_work = new_table(sizeof(TachoGraphWork));
	timeline->marks = new_table(sizeof(TachoMark));
	timeline->steps = new_table(sizeof(TachoStep));
	timeline->control_steps = new_table(sizeof(TachoStep));
	timeline->collectives = new_table(sizeof(TachoCollective));
	timeline->members = new_table(sizeof(guint32));
	timeline->messages = new_table(sizeof(TachoMessage));
	timeline->hops = new_table(sizeof(TachoHop));
	timeline->buckets = new_table(sizeof(TachoBucket));
	timeline->gradients = new_table(sizeof(TachoGradient));
	timeline->children = new_table(sizeof(TachoChild));
	timeline->problems = new_table(sizeof(TachoProblem));
	g_array_set_clear_func(timeline->processes, clear_process);
	g_array_set_clear_func(timeline->problems, clear_problem);
	timeline->expected_ranks = -1;
	timeline->strings = string_table_new();
	timeline->source = tacho_source_new();
	return timeline;
}

void tacho_timeline_free(TachoTimeline *timeline)
{
	if (!timeline)
		return;
	slice_columns_release(&timeline->slices);
	g_array_free(timeline->tracks, TRUE);
	g_array_free(timeline->processes, TRUE);
	g_array_free(timeline->ranks, TRUE);
	g_array_free(timeline->devices, TRUE);
	g_array_free(timeline->clocks, TRUE);
	g_array_free(timeline->flows, TRUE);
	g_array_free(timeline->samples, TRUE);
	g_array_free(timeline->memory, TRUE);
	g_array_free(timeline->chunks, TRUE);
	g_array_free(timeline->graph_work, TRUE);
	g_array_free(timeline->marks, TRUE);
	g_array_free(timeline->steps, TRUE);
	g_array_free(timeline->control_steps, TRUE);
	g_array_free(timeline->collectives, TRUE);
	g_array_free(timeline->members, TRUE);
	g_array_free(timeline->messages, TRUE);
	g_array_free(timeline->hops, TRUE);
	g_array_free(timeline->buckets, TRUE);
	g_array_free(timeline->gradients, TRUE);
	g_array_free(timeline->children, TRUE);
	g_array_free(timeline->problems, TRUE);
	string_table_free(timeline->strings);
	tacho_source_free(timeline->source);
	run_share_free(timeline->share);
	g_free(timeline);
}

guint32 tacho_timeline_intern(TachoTimeline *timeline, const gchar *string, gssize length)
{
	return string_table_intern(timeline->strings, string, length);
}

const gchar *tacho_timeline_string(const TachoTimeline *timeline, guint32 id)
{
	return string_table_borrow(timeline->strings, id);
}

const gchar *tacho_memory_layer_name(guint layer)
{
	return layer == TACHO_MEMORY_OF_DRIVER ? "driver" : "allocator";
}

const gchar *tacho_slice_kind_name(TachoSliceKind kind)
{
	static const gchar *const names[] = {
#define SLICE_KIND_NAME(enumerator, name) #name,
		TACHO_SLICE_KINDS(SLICE_KIND_NAME)
#undef SLICE_KIND_NAME
	};

	return (guint)kind < TACHO_N_SLICE_KINDS ? names[kind] : "unknown";
}

const gchar *tacho_flow_kind_name(TachoFlowKind kind)
{
	switch (kind) {
	case TACHO_FLOW_FORWARD_BACKWARD:
		return "forward_backward";
	case TACHO_FLOW_OP_KERNEL:
		return "op_kernel";
	case TACHO_FLOW_QUEUE_COLLECTIVE:
		return "queue_collective";
	case TACHO_FLOW_COLLECTIVE:
		return "collective";
	case TACHO_FLOW_LAUNCH:
		return "launch";
	case TACHO_FLOW_MESSAGE:
		return "message";
	case TACHO_FLOW_DATA:
		return "data";
	case TACHO_FLOW_CONTROL:
		return "control";
	case TACHO_FLOW_EVENT_WAIT:
		return "event_wait";
	case TACHO_FLOW_REQUEST:
		return "request";
	case TACHO_FLOW_CRITICAL:
		return "critical_path";
	case TACHO_FLOW_OTHER:
	case TACHO_N_FLOW_KINDS:
		break;
	}
	return "flow";
}

/* The row of `slice` in rows that begin with a slice and are sorted by it, or NULL. */
static gconstpointer row_of_slice(const GArray *rows, guint32 slice)
{
	gsize stride = g_array_get_element_size((GArray *)rows);
	guint n =
		PARTITION_POINT(i, 0, rows->len,
				*(const guint32 *)(gconstpointer)(rows->data + i * stride) < slice);

	if (n == rows->len || *(const guint32 *)(gconstpointer)(rows->data + n * stride) != slice)
		return NULL;
	return rows->data + n * stride;
}

const TachoMessage *tacho_slice_borrow_message(const TachoTimeline *timeline, guint32 slice)
{
	G_STATIC_ASSERT(offsetof(TachoMessage, slice) == 0);
	return row_of_slice(timeline->messages, slice);
}

const TachoGraphWork *tacho_slice_borrow_graph_work(const TachoTimeline *timeline, guint32 slice)
{
	G_STATIC_ASSERT(offsetof(TachoGraphWork, slice) == 0);
	return row_of_slice(timeline->graph_work, slice);
}

void tacho_timeline_add_problem(TachoTimeline *timeline, TachoProblemKind kind, guint64 count,
				const gchar *where_format, ...)
{
	TachoProblem problem = { .kind = kind, .count = count };
	va_list args;

	va_start(args, where_format);
	problem.where = g_strdup_vprintf(where_format, args);
	va_end(args);
	g_array_append_val(timeline->problems, problem);
}

const TachoProblem *tacho_timeline_find_problem(const TachoTimeline *timeline,
						TachoProblemKind kind)
{
	FOR_EACH(const TachoProblem, problem, timeline->problems)
		if (problem->kind == kind)
			return problem;
	return NULL;
}

guint32 tacho_timeline_add_slice(TachoTimeline *timeline, TachoSliceKind kind, guint32 track,
				 guint32 name, gint64 start_ns, gint64 duration_ns, guint8 flags,
				 guint64 source)
{
	TachoSlices *slices = &timeline->slices;
	guint32 row = slices->n;

	g_assert(track < timeline->tracks->len && (guint)kind < TACHO_N_SLICE_KINDS);
	if (!slice_columns_grow(slices))
		g_error("there is not enough memory for %u slices", slices->n);
	slices->start_ns[row] = start_ns;
	slices->duration_ns[row] = duration_ns;
	slices->source[row] = source;
	slices->name[row] = name;
	slices->track[row] = track;
	slices->parent[row] = TACHO_NONE;
	slices->launch[row] = TACHO_NONE;
	slices->kind[row] = (guint8)kind;
	slices->flags[row] = flags;
	slices->depth[row] = 0;
	slices->n++;
	return row;
}

void tacho_timeline_set_launch(TachoTimeline *timeline, guint32 slice, guint32 launch)
{
	g_assert(slice < timeline->slices.n && launch < timeline->slices.n);
	timeline->slices.launch[slice] = launch;
}

/* --- rows of a track ------------------------------------------------------------------------ */

/* The first of `rows`, which are by track, whose track is `track` or a later one. */
static guint first_of_track(const GArray *rows, gsize track_offset, guint64 track)
{
	gsize stride = g_array_get_element_size((GArray *)rows);

	return PARTITION_POINT(i, 0, rows->len,
			       *(const guint32 *)(rows->data + i * stride + track_offset) < track);
}

static guint rows_of_track(const GArray *rows, gsize track_offset, guint32 track, guint *ret_first)
{
	*ret_first = first_of_track(rows, track_offset, track);
	return first_of_track(rows, track_offset, (guint64)track + 1) - *ret_first;
}

guint tacho_track_samples(const TachoTimeline *timeline, guint32 track, guint *ret_first)
{
	return rows_of_track(timeline->samples, offsetof(TachoSample, track), track, ret_first);
}

guint tacho_track_memory(const TachoTimeline *timeline, guint32 track, guint *ret_first)
{
	return rows_of_track(timeline->memory, offsetof(TachoMemoryEvent, track), track, ret_first);
}

/* --- tacho_timeline_finish ------------------------------------------------------------------ */

static TachoTrack *track_at(TachoTimeline *timeline, guint32 track)
{
	return &g_array_index(timeline->tracks, TachoTrack, track);
}

static TachoProcess *process_at(TachoTimeline *timeline, guint32 process)
{
	return &g_array_index(timeline->processes, TachoProcess, process);
}

static gboolean clamp_time(gint64 *time_ns)
{
	gint64 given_ns = *time_ns;

	*time_ns = CLAMP(given_ns, -TACHO_MAX_TIME_NS, TACHO_MAX_TIME_NS);
	return *time_ns != given_ns;
}

/* A slice that cannot be becomes its beginning. */
static gboolean mend_slice(gint64 *start_ns, gint64 *duration_ns)
{
	gboolean is_moved = clamp_time(start_ns);

	if (*duration_ns >= 0 && *duration_ns <= TACHO_MAX_TIME_NS - MAX(*start_ns, 0))
		return is_moved;
	*duration_ns = 0;
	return TRUE;
}

static guint64 mend_moments(TachoTimeline *timeline)
{
	guint64 n_mended = 0;

	for (guint i = 0; i < timeline->memory->len; i++)
		n_mended +=
			clamp_time(&g_array_index(timeline->memory, TachoMemoryEvent, i).time_ns);
	for (guint i = 0; i < timeline->samples->len; i++)
		n_mended += clamp_time(&g_array_index(timeline->samples, TachoSample, i).time_ns);
	for (guint i = 0; i < timeline->marks->len; i++)
		n_mended += clamp_time(&g_array_index(timeline->marks, TachoMark, i).time_ns);
	return n_mended;
}

static void mend_times(TachoTimeline *timeline)
{
	TachoSlices *slices = &timeline->slices;
	guint64 n_mended = mend_moments(timeline);

	for (guint32 row = 0; row < slices->n; row++) {
		if (!mend_slice(&slices->start_ns[row], &slices->duration_ns[row]))
			continue;
		slices->flags[row] |= TACHO_SLICE_REPAIRED;
		n_mended++;
	}
	if (n_mended)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, n_mended,
					   "slices that end before they begin, or that lie more "
					   "than 146 years from the first");
}

static void widen(gint64 *first_ns, gint64 *last_ns, gint64 begin_ns, gint64 end_ns)
{
	if (*first_ns == 0 && *last_ns == 0) { /* nobody set them */
		*first_ns = begin_ns;
		*last_ns = end_ns;
	}
	*first_ns = MIN(*first_ns, begin_ns);
	*last_ns = MAX(*last_ns, end_ns);
}

void nest_count_report(TachoTimeline *timeline, const struct nest_count *count, const gchar *who)
{
	if (count->n_beside)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_OVERLAP, count->n_beside,
					   "%s: calls that outlast the call they began in; their "
					   "times are kept, but their caller is not known",
					   who);
	if (count->n_cut)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_UNMATCHED_BEGIN, count->n_cut,
			"%s: slices without an end; each ends with the slice around it", who);
	if (count->n_rounded)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_ROUNDED_END, count->n_rounded,
			"%s: slices that end after the slice around them, by no more than the "
			"rounding of the times; they are shortened by that",
			who);
}

static void nest_track(TachoTimeline *timeline, guint32 index)
{
	TachoTrack *track = track_at(timeline, index);
	const TachoProcess *process = process_at(timeline, track->process);
	g_autofree gchar *who = g_strdup_printf("rank %d, process %u, thread %u", process->rank,
						process->pid, track->tid);
	struct nest_count count = { 0 };

	slice_columns_nest(&timeline->slices, track->first_slice, track->n_slices,
			   nest_rule_of(track->kind), timeline->resolution_ns, &count);
	nest_count_report(timeline, &count, who);
	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 row = track->first_slice + i;

		widen(&track->first_ns, &track->last_ns, timeline->slices.start_ns[row],
		      tacho_slice_end_ns(timeline, row));
	}
}

static void nest_tracks(TachoTimeline *timeline)
{
	guint32 row = 0;

	for (guint32 index = 0; index < timeline->tracks->len; index++) {
		TachoTrack *track = track_at(timeline, index);

		g_assert(track->process < timeline->processes->len);
		track->first_slice = row;
		while (row < timeline->slices.n && timeline->slices.track[row] == index)
			row++;
		track->n_slices = row - track->first_slice;
		nest_track(timeline, index);
	}
}

static gint compare_places(guint32 a_track, gint64 a_ns, guint32 b_track, gint64 b_ns)
{
	return ORDER(a_track, b_track) ?: ORDER(a_ns, b_ns);
}

#define COMPARE_BY_PLACE(name, type)                                                               \
	static gint name(gconstpointer a, gconstpointer b, gpointer data)                          \
	{                                                                                          \
		const type *first = a, *second = b;                                                \
		(void)data;                                                                        \
		return compare_places(first->track, first->time_ns, second->track,                 \
				      second->time_ns);                                            \
	}
COMPARE_BY_PLACE(compare_memory, TachoMemoryEvent)
COMPARE_BY_PLACE(compare_samples, TachoSample)
COMPARE_BY_PLACE(compare_marks, TachoMark)
#undef COMPARE_BY_PLACE

static void finish_moments(TachoTimeline *timeline)
{
	g_array_sort_with_data(timeline->memory, compare_memory, NULL);
	g_array_sort_with_data(timeline->samples, compare_samples, NULL);
	g_array_sort_with_data(timeline->marks, compare_marks, NULL);
	FOR_EACH(TachoMemoryEvent, event, timeline->memory) {
		TachoTrack *track = track_at(timeline, event->track);

		event->slice = slice_columns_find_open(&timeline->slices, track->first_slice,
						       track->n_slices, event->time_ns);
		widen(&track->first_ns, &track->last_ns, event->time_ns, event->time_ns);
	}
	FOR_EACH(const TachoSample, sample, timeline->samples) {
		TachoTrack *track = track_at(timeline, sample->track);

		widen(&track->first_ns, &track->last_ns, sample->time_ns, sample->time_ns);
	}
	FOR_EACH(const TachoMark, mark, timeline->marks) {
		TachoTrack *track = track_at(timeline, mark->track);

		widen(&track->first_ns, &track->last_ns, mark->time_ns, mark->time_ns);
	}
}

/* Events of a track that a hand-filled timeline holds. */
static void count_events(const TachoTimeline *timeline, guint64 *counts)
{
	for (guint32 row = 0; row < timeline->slices.n; row++)
		counts[timeline->slices.track[row]]++;
	for (guint i = 0; i < timeline->memory->len; i++)
		counts[g_array_index(timeline->memory, TachoMemoryEvent, i).track]++;
	for (guint i = 0; i < timeline->samples->len; i++)
		counts[g_array_index(timeline->samples, TachoSample, i).track]++;
	for (guint i = 0; i < timeline->marks->len; i++)
		counts[g_array_index(timeline->marks, TachoMark, i).track]++;
}

/* Carry times and counts from the tracks to the processes and the timeline. */
static void sum_up(TachoTimeline *timeline)
{
	g_autofree guint64 *by_track = g_new0(guint64, timeline->tracks->len);
	g_autofree guint64 *by_process = g_new0(guint64, timeline->processes->len);

	timeline->n_events = 0;
	count_events(timeline, by_track);
	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = track_at(timeline, i);
		TachoProcess *process = process_at(timeline, track->process);

		by_process[track->process] += by_track[i];
		if (by_track[i])
			widen(&process->start_ns, &process->end_ns, track->first_ns,
			      track->last_ns);
	}
	for (guint32 i = 0; i < timeline->processes->len; i++) {
		TachoProcess *process = process_at(timeline, i);

		if (process->n_events == TACHO_NO_EVENTS)
			process->n_events = 0;
		else if (!process->n_events)
			process->n_events = by_process[i];
		timeline->n_events += process->n_events;
		timeline->duration_ns = MAX(timeline->duration_ns, process->end_ns);
	}
}

static void follow_launches(TachoSlices *slices, const guint32 *moved)
{
	for (guint32 row = 0; row < slices->n; row++)
		if (slices->launch[row] != TACHO_NONE)
			slices->launch[row] = moved[slices->launch[row]];
}

static void follow_flows(GArray *flows, const guint32 *moved)
{
	FOR_EACH(TachoFlow, flow, flows) {
		flow->from = moved[flow->from];
		flow->to = moved[flow->to];
	}
}

static gint compare_graph_work(gconstpointer a, gconstpointer b)
{
	guint32 left = ((const TachoGraphWork *)a)->slice,
		right = ((const TachoGraphWork *)b)->slice;

	return ORDER(left, right);
}

static void follow_graph_work(GArray *rows, const guint32 *moved)
{
	FOR_EACH(TachoGraphWork, work, rows) {
		work->slice = moved[work->slice];
		if (work->capture != TACHO_NONE)
			work->capture = moved[work->capture];
	}
	g_array_sort(rows, compare_graph_work);
}

static void follow_hops(GArray *hops, const guint32 *moved)
{
	FOR_EACH(TachoHop, hop, hops) {
		if (hop->slice != TACHO_NONE)
			hop->slice = moved[hop->slice];
		if (hop->collective != TACHO_NONE)
			hop->collective = moved[hop->collective];
	}
}

/* Whether the process has the clock of another one. */
static gboolean has_clock_of(const TachoProcess *process, const TachoProcess *other)
{
	if (process->host != other->host || process->clock_scope != other->clock_scope)
		return FALSE;
	return process->clock_scope == TACHO_CLOCK_OF_HOST ||
	       g_strcmp0(process->path, other->path) == 0;
}

/* A clock a host, where nobody made any; but some files have one of their own. */
static void add_clocks(TachoTimeline *timeline)
{
	if (timeline->clocks->len)
		return;
	for (guint i = 0; i < timeline->processes->len; i++) {
		TachoProcess *process = process_at(timeline, i);
		TachoClock clock = { .host = process->host,
				     .scope = process->clock_scope,
				     .reference = timeline->clocks->len };
		guint before = 0;

		while (before < i && !has_clock_of(process, process_at(timeline, before)))
			before++;
		if (before < i) {
			process->clock = process_at(timeline, before)->clock;
			continue;
		}
		process->clock = timeline->clocks->len;
		g_array_append_val(timeline->clocks, clock);
	}
}

static gint compare_devices(gconstpointer a, gconstpointer b)
{
	const TachoDevice *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void finish_devices(GArray *devices)
{
	TachoDevice *rows = (TachoDevice *)(gpointer)devices->data;
	guint n = 0;

	g_array_sort(devices, compare_devices); /* which is stable */
	for (guint i = 0; i < devices->len; i++)
		if (!n || compare_devices(&rows[n - 1], &rows[i]) != 0)
			rows[n++] = rows[i];
	g_array_set_size(devices, n);
}

guint32 *tacho_timeline_finish(TachoTimeline *timeline)
{
	guint32 *moved;

	add_clocks(timeline);
	finish_devices(timeline->devices);
	mend_times(timeline);
	moved = slice_columns_sort(&timeline->slices, timeline->tracks->len);
	follow_launches(&timeline->slices, moved);
	follow_flows(timeline->flows, moved);
	follow_graph_work(timeline->graph_work, moved);
	follow_hops(timeline->hops, moved);
	nest_tracks(timeline);
	finish_moments(timeline);
	sum_up(timeline);
	return moved;
}
