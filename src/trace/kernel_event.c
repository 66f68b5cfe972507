#include "trace/kernel_event.h"

#include <string.h>

#include "trace/name_meaning.h"

#define OWN    "own "
#define THREAD ", thread "

static const struct {
	const gchar *word, *begin, *between;
} kinds[N_KERNEL_EVENTS] = {
#define KERNEL_EVENT_TEXT(enumerator, word, begin, between)                                        \
	[KERNEL_EVENT_##enumerator] = { word, begin, between },
	KERNEL_EVENT_KINDS(KERNEL_EVENT_TEXT)
#undef KERNEL_EVENT_TEXT
};

static const gchar *const counters[N_KERNEL_COUNTERS] = {
#define KERNEL_COUNTER_TEXT(enumerator, word) [KERNEL_COUNTER_##enumerator] = word,
	KERNEL_COUNTERS(KERNEL_COUNTER_TEXT)
#undef KERNEL_COUNTER_TEXT
};

/* What is behind the kind in a name: "" or a detail; NULL: the name is of another kind. */
static const gchar *behind(const gchar *name, guint kind)
{
	gsize n = strlen(kinds[kind].begin);

	if (strncmp(name, kinds[kind].begin, n) != 0)
		return NULL;
	name += n;
	if (!*name)
		return name;
	n = strlen(kinds[kind].between);
	return strncmp(name, kinds[kind].between, n) == 0 ? name + n : NULL;
}

/* "block" and "blocked" begin alike, and what follows tells them apart. */
static guint judge(const gchar *name)
{
	for (guint kind = KERNEL_EVENT_NONE + 1; kind < N_KERNEL_EVENTS; kind++)
		if (behind(name, kind))
			return kind;
	return KERNEL_EVENT_NONE;
}

enum kernel_event_kind kernel_event_of(const TachoTimeline *timeline, guint32 slice)
{
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[slice]);

	if (timeline->slices.kind[slice] != TACHO_SLICE_EVENT || track->kind != TACHO_TRACK_ASYNC)
		return KERNEL_EVENT_NONE;
	return (enum kernel_event_kind)name_meaning(timeline, timeline->slices.name[slice],
						    NAME_OF_KERNEL_EVENT, judge);
}

const gchar *kernel_event_word(enum kernel_event_kind kind)
{
	return kind > KERNEL_EVENT_NONE && kind < N_KERNEL_EVENTS ? kinds[kind].word : "";
}

const gchar *kernel_event_detail(const TachoTimeline *timeline, guint32 name,
				 enum kernel_event_kind kind)
{
	const gchar *detail = kind != KERNEL_EVENT_NONE
				      ? behind(tacho_timeline_string(timeline, name), kind)
				      : NULL;

	return detail ? detail : "";
}

gboolean kernel_event_is_own(const TachoTimeline *timeline, guint32 name,
			     enum kernel_event_kind kind)
{
	return (kind == KERNEL_EVENT_PREEMPTED || kind == KERNEL_EVENT_RUN_QUEUE) &&
	       g_str_has_prefix(kernel_event_detail(timeline, name, kind), OWN);
}

guint32 kernel_event_name(TachoTimeline *timeline, enum kernel_event_kind kind, const gchar *detail,
			  gboolean is_own)
{
	g_autofree gchar *name = NULL;

	if (!detail || !*detail)
		return tacho_timeline_intern(timeline, kinds[kind].begin, -1);
	name = g_strconcat(kinds[kind].begin, kinds[kind].between, is_own ? OWN : "", detail, NULL);
	return tacho_timeline_intern(timeline, name, -1);
}

gboolean kernel_events_are_in(const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->kind == TACHO_TRACK_COUNTER && kernel_counter_of(timeline, track->name))
			return TRUE;
		for (guint32 n = 0; track->kind == TACHO_TRACK_ASYNC && n < track->n_slices; n++)
			if (kernel_event_of(timeline, track->first_slice + n))
				return TRUE;
	}
	return FALSE;
}

static guint judge_counter(const gchar *name)
{
	for (guint i = KERNEL_COUNTER_NONE + 1; i < N_KERNEL_COUNTERS; i++)
		if (g_str_has_prefix(name, counters[i]) &&
		    g_str_has_prefix(name + strlen(counters[i]), THREAD))
			return i;
	return KERNEL_COUNTER_NONE;
}

enum kernel_counter kernel_counter_of(const TachoTimeline *timeline, guint32 name)
{
	return (enum kernel_counter)name_meaning(timeline, name, NAME_OF_KERNEL_COUNTER,
						 judge_counter);
}

const gchar *kernel_counter_word(enum kernel_counter counter)
{
	return counters[counter];
}

gchar *kernel_counter_name(enum kernel_counter counter, guint32 tid)
{
	return g_strdup_printf("%s" THREAD "%u", counters[counter], tid);
}
