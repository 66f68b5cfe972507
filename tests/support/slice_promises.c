#include "slice_promises.h"

#include <math.h>

#include "base/for_each.h"

static void check_time(gint64 time_ns)
{
	g_assert_cmpint(time_ns, >=, -TACHO_MAX_TIME_NS);
	g_assert_cmpint(time_ns, <=, TACHO_MAX_TIME_NS);
}

static void check_slice(const TachoTimeline *timeline, guint32 slice)
{
	const TachoSlices *slices = &timeline->slices;
	guint32 parent = slices->parent[slice];

	check_time(slices->start_ns[slice]);
	g_assert_cmpint(slices->duration_ns[slice], >=, 0);
	check_time(tacho_slice_end_ns(timeline, slice));
	g_assert_cmpuint(slices->track[slice], <, timeline->tracks->len);
	g_assert_true(slices->launch[slice] == TACHO_NONE || slices->launch[slice] < slices->n);
	if (slice && slices->track[slice - 1] == slices->track[slice])
		g_assert_cmpint(slices->start_ns[slice - 1], <=, slices->start_ns[slice]);
	if (parent == TACHO_NONE)
		return;
	g_assert_cmpuint(parent, <, slice);
	g_assert_cmpuint(slices->track[parent], ==, slices->track[slice]);
	g_assert_cmpint(tacho_slice_end_ns(timeline, slice), <=,
			tacho_slice_end_ns(timeline, parent));
}

/* The tracks' ranges of slices are all slices, each once. */
static void check_tracks(const TachoTimeline *timeline)
{
	guint64 n = 0;

	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		g_assert_cmpuint(track->process, <, timeline->processes->len);
		for (guint32 j = 0; j < track->n_slices; j++)
			g_assert_cmpuint(timeline->slices.track[track->first_slice + j], ==, i);
		n += track->n_slices;
	}
	g_assert_cmpuint(n, ==, timeline->slices.n);
}

/* What other tables tell of slices and tracks. */
static void check_rows(const TachoTimeline *timeline)
{
	const TachoSample *samples = (const TachoSample *)(gconstpointer)timeline->samples->data;

	FOR_EACH(const TachoFlow, flow, timeline->flows)
		g_assert_true(flow->from < timeline->slices.n && flow->to < timeline->slices.n);
	FOR_EACH_AT(const TachoSample, sample, i, timeline->samples) {
		g_assert_cmpuint(sample->track, <, timeline->tracks->len);
		g_assert_true(isfinite(sample->value));
		g_assert_true(!i || samples[i - 1].track < sample->track ||
			      samples[i - 1].time_ns <= sample->time_ns);
	}
	FOR_EACH(const TachoGraphWork, work, timeline->graph_work)
		g_assert_cmpuint(work->slice, <, timeline->slices.n);
	FOR_EACH(const TachoDevice, device, timeline->devices)
		g_assert_cmpuint(device->process, <, timeline->processes->len);
}

void slice_promises_check(const TachoTimeline *timeline)
{
	for (guint32 i = 0; i < timeline->slices.n; i++)
		check_slice(timeline, i);
	check_tracks(timeline);
	check_rows(timeline);
}
