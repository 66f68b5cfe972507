#include "export/ctf_moments.h"

#include "base/for_each.h"
#include "export/row_buckets.h"
#include "export/track_walk.h"

struct _CtfMoments {
	const struct export_scope *scope;
	const TachoTimeline *timeline;
	guint32 *process_of_track;
	struct row_buckets marks, samples, memory; /* by process */
	guint32 *flows, *first_flow;		   /* by process, as row_buckets has them */
	GArray *list;				   /* struct ctf_moment */
};

/* --- arrows --------------------------------------------------------------------------------- */

/* The slice at whose begin the arrow is told; TACHO_NONE: it does not go out. */
static guint32 later_end(const CtfMoments *moments, const TachoFlow *flow)
{
	const gint64 *start_ns = moments->timeline->slices.start_ns;

	if (!export_scope_has_slice(moments->scope, flow->from) ||
	    !export_scope_has_slice(moments->scope, flow->to))
		return TACHO_NONE;
	return start_ns[flow->from] > start_ns[flow->to] ? flow->from : flow->to;
}

static guint32 process_of_flow(const CtfMoments *moments, guint32 row)
{
	const TachoTimeline *timeline = moments->timeline;
	guint32 slice = later_end(moments, &g_array_index(timeline->flows, TachoFlow, row));

	return slice == TACHO_NONE ? TACHO_NONE
				   : moments->process_of_track[timeline->slices.track[slice]];
}

static void sort_flows(CtfMoments *moments)
{
	guint32 n_processes = moments->timeline->processes->len,
		n_flows = moments->timeline->flows->len;
	guint32 *first = moments->first_flow = g_new0(guint32, n_processes + 2);

	moments->flows = g_new(guint32, MAX(n_flows, 1));
	for (guint32 row = 0; row < n_flows; row++) {
		guint32 process = process_of_flow(moments, row);

		if (process != TACHO_NONE)
			first[process + 2]++;
	}
	for (guint32 i = 2; i < n_processes + 2; i++)
		first[i] += first[i - 1];
	/* first[p + 1] runs from where p begins to where it ends, where p + 1 begins. */
	for (guint32 row = 0; row < n_flows; row++) {
		guint32 process = process_of_flow(moments, row);

		if (process != TACHO_NONE)
			moments->flows[first[process + 1]++] = row;
	}
}

/* --- the tables ----------------------------------------------------------------------------- */

CtfMoments *ctf_moments_new(const struct export_scope *scope)
{
	const TachoTimeline *timeline = scope->timeline;
	guint32 n_processes = timeline->processes->len;
	CtfMoments *moments = g_new0(CtfMoments, 1);

	moments->scope = scope;
	moments->timeline = timeline;
	moments->process_of_track = g_new(guint32, MAX(timeline->tracks->len, 1));
	for (guint32 i = 0; i < timeline->tracks->len; i++)
		moments->process_of_track[i] = tacho_timeline_track(timeline, i)->process;
	row_buckets_init(&moments->marks, timeline->marks, offsetof(TachoMark, track),
			 moments->process_of_track, n_processes);
	row_buckets_init(&moments->samples, timeline->samples, offsetof(TachoSample, track),
			 moments->process_of_track, n_processes);
	row_buckets_init(&moments->memory, timeline->memory, offsetof(TachoMemoryEvent, track),
			 moments->process_of_track, n_processes);
	sort_flows(moments);
	moments->list = g_array_new(FALSE, FALSE, sizeof(struct ctf_moment));
	return moments;
}

void ctf_moments_free(CtfMoments *moments)
{
	if (!moments)
		return;
	row_buckets_release(&moments->marks);
	row_buckets_release(&moments->samples);
	row_buckets_release(&moments->memory);
	g_array_unref(moments->list);
	g_free(moments->process_of_track);
	g_free(moments->flows);
	g_free(moments->first_flow);
	g_free(moments);
}

static void add(CtfMoments *moments, gint64 time_ns, enum ctf_moment_kind kind, guint32 row)
{
	struct ctf_moment moment = { time_ns, row, kind };

	g_array_append_val(moments->list, moment);
}

/* --- of one process ------------------------------------------------------------------------- */

static void add_begin(guint32 slice, guint lane G_GNUC_UNUSED, gpointer data)
{
	CtfMoments *moments = data;

	add(moments, moments->timeline->slices.start_ns[slice], CTF_MOMENT_BEGIN, slice);
}

static void add_end(guint32 slice, guint lane G_GNUC_UNUSED, gpointer data)
{
	CtfMoments *moments = data;

	add(moments, tacho_slice_end_ns(moments->timeline, slice), CTF_MOMENT_END, slice);
}

static void add_slices(CtfMoments *moments, guint32 process)
{
	static const struct track_walk_handlers handlers = { add_begin, add_end, NULL };

	for (guint32 i = 0; i < moments->timeline->tracks->len; i++)
		if (moments->process_of_track[i] == process)
			track_walk(moments->scope, i, NULL, 0, &handlers, moments);
}

static void add_steps(CtfMoments *moments, guint32 process)
{
	const TachoTimeline *timeline = moments->timeline;

	FOR_EACH_AT(const TachoStep, step, i, timeline->steps) {
		const TachoRank *rank = tacho_timeline_rank(timeline, step->rank_index);

		if (rank->main_process != process || !export_scope_has_step(moments->scope, step))
			continue;
		add(moments, step->start_ns, CTF_MOMENT_STEP_BEGIN, i);
		add(moments, MAX(step->start_ns, step->end_ns), CTF_MOMENT_STEP_END, i);
	}
}

/* Those of a table that has a time and a track. */
#define ADD_ROWS(moments, process, buckets, table, Type, moment_kind)                              \
	for (guint32 at = (buckets)->first[process]; at < (buckets)->first[(process) + 1]; at++) { \
		const Type *event = &g_array_index(table, Type, (buckets)->rows[at]);              \
                                                                                                   \
		if (export_scope_has_moment((moments)->scope, event->track, event->time_ns))       \
			add(moments, event->time_ns, moment_kind, (buckets)->rows[at]);            \
	}

static void add_rows(CtfMoments *moments, guint32 process)
{
	const TachoTimeline *timeline = moments->timeline;

	ADD_ROWS(moments, process, &moments->marks, timeline->marks, TachoMark, CTF_MOMENT_MARK)
	ADD_ROWS(moments, process, &moments->samples, timeline->samples, TachoSample,
		 CTF_MOMENT_SAMPLE)
	ADD_ROWS(moments, process, &moments->memory, timeline->memory, TachoMemoryEvent,
		 CTF_MOMENT_MEMORY)
}

static void add_flows(CtfMoments *moments, guint32 process)
{
	const TachoTimeline *timeline = moments->timeline;

	for (guint32 i = moments->first_flow[process]; i < moments->first_flow[process + 1]; i++) {
		guint32 row = moments->flows[i];
		guint32 slice = later_end(moments, &g_array_index(timeline->flows, TachoFlow, row));

		add(moments, timeline->slices.start_ns[slice], CTF_MOMENT_FLOW, row);
	}
}

static gint compare(gconstpointer first, gconstpointer second)
{
	const struct ctf_moment *a = first, *b = second;

	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

const struct ctf_moment *ctf_moments_of(CtfMoments *moments, guint32 process, guint *ret_n)
{
	g_array_set_size(moments->list, 0);
	add_steps(moments, process);
	add_slices(moments, process);
	add_rows(moments, process);
	add_flows(moments, process);
	g_array_sort(moments->list, compare); /* stable: (1) */
	*ret_n = moments->list->len;
	return (const struct ctf_moment *)(gpointer)moments->list->data;
}

/* --- the earliest --------------------------------------------------------------------------- */

#define EARLIEST(earliest, table, Type, time)                                                      \
	for (guint at = 0; at < (table)->len; at++)                                                \
		earliest = MIN(earliest, g_array_index(table, Type, at).time);

gint64 ctf_moments_earliest(const TachoTimeline *timeline)
{
	gint64 earliest = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		earliest = MIN(earliest, timeline->slices.start_ns[i]);
	EARLIEST(earliest, timeline->marks, TachoMark, time_ns)
	EARLIEST(earliest, timeline->samples, TachoSample, time_ns)
	EARLIEST(earliest, timeline->memory, TachoMemoryEvent, time_ns)
	EARLIEST(earliest, timeline->steps, TachoStep, start_ns)
	EARLIEST(earliest, timeline->processes, TachoProcess, start_ns)
	return earliest;
}
