/* views_support: what correlate would have filled in, by hand. */
#ifndef TACHO_VIEWS_SUPPORT_H
#define TACHO_VIEWS_SUPPORT_H

#include <tacho/timeline.h>

static inline void add_step(TachoTimeline *timeline, guint rank_index, guint number,
			    gint64 start_ms, gint64 end_ms)
{
	TachoStep step = { rank_index, number, start_ms * 1000000, end_ms * 1000000, TRUE };

	g_array_append_val(timeline->steps, step);
}

/* The collective of all slices with that name; `bytes` of one rank's input. */
static inline void add_collective(TachoTimeline *timeline, const gchar *name, guint64 bytes)
{
	guint32 id = tacho_timeline_intern(timeline, name, -1);
	TachoCollective collective = { .name = id,
				       .bytes = bytes,
				       .sequence = timeline->collectives->len,
				       .first_member = timeline->members->len };

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		if (timeline->slices.name[i] != id)
			continue;
		g_array_append_val(timeline->members, i);
		collective.n_members++;
		collective.last_begin_ns =
			MAX(collective.last_begin_ns, timeline->slices.start_ns[i]);
	}
	collective.n_expected = collective.n_members;
	g_array_append_val(timeline->collectives, collective);
}

#endif
