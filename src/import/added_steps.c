#include "import/added_steps.h"

#include "base/for_each.h"
#include "trace/clock_map.h"
#include "trace/mark_kind.h"
#include "trace/slice_columns.h"

static gboolean has_steps(const TachoTimeline *trace)
{
	FOR_EACH(const TachoMark, mark, trace->marks)
		if (mark_kind_of(trace, mark) == MARK_STEP)
			return TRUE;
	return FALSE;
}

/* The calls, by begin; a function that calls itself begins one. */
static GArray *find_calls(const TachoTimeline *trace, guint32 name)
{
	const TachoSlices *slices = &trace->slices;
	GArray *calls = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = 0; i < slices->n; i++) {
		guint32 around = slices->parent[i];

		if (slices->name[i] != name)
			continue;
		while (around != TACHO_NONE && slices->name[around] != name)
			around = slices->parent[around];
		if (around == TACHO_NONE)
			g_array_append_val(calls, i);
	}
	g_array_sort_with_data(calls, slice_columns_order, (gpointer)slices);
	return calls;
}

void added_steps_mark(TachoTimeline *trace, const struct added_trace *added)
{
	g_autoptr(GArray) calls = NULL;
	TachoTrack track = { .kind = TACHO_TRACK_ASYNC };
	TachoMark mark = { .first = added->first_step, .track = trace->tracks->len };
	const gint64 *start_ns = trace->slices.start_ns;

	if (!added->step || has_steps(trace))
		return;
	calls = find_calls(trace, tacho_timeline_intern(trace, added->step, -1));
	if (!calls->len)
		return;
	track.process =
		tacho_timeline_track(trace, trace->slices.track[g_array_index(calls, guint32, 0)])
			->process;
	track.name = tacho_timeline_intern(trace, "steps", -1);
	track.first_slice = trace->slices.n;
	g_array_append_val(trace->tracks, track);
	mark_step(trace, &mark, TRUE);
	FOR_EACH_AT(const guint32, call, i, calls) {
		gint64 end_ns = i + 1 < calls->len ? start_ns[call[1]] : trace->duration_ns;

		if (added->n_steps && i >= added->n_steps)
			break;
		mark.time_ns = start_ns[*call];
		mark.second = MAX(clock_map_add(end_ns, -mark.time_ns), 0);
		g_array_append_val(trace->marks, mark);
		mark.first++;
	}
}
