#include "trace/op_twins.h"

#include <string.h>

#include "base/order.h"
#include "base/partition_point.h"
#include "trace/region_kind.h"
#include "trace/source.h"

#define ONE_SEEN (G_GUINT64_CONSTANT(1) << 32)

G_STATIC_ASSERT(sizeof(gpointer) == sizeof(guint64));

struct twin_search {
	const TachoTimeline *timeline;
	guint32 *twins;	   /* by slice */
	GArray *step_ends; /* gint64, of the process whose tracks are searched, ascending */
	/* Both by what mix() makes of their keys: */
	GHashTable *
		counts; /* of a step: parent and name -> how many, and 2^32 times how many were seen */
	GHashTable *asked; /* of a track: place -> the last slice there that was asked */
	guint64 *places;   /* by slice of the step, less `step_begin`; 0: it is none of ours */
	guint32 step_begin;
	GArray *waiting; /* struct waiting_slice of the track: their twin may come behind them */
};

struct waiting_slice {
	guint64 place;
	guint32 slice;
};

/* Two numbers as one that differs wherever they do, but for one case in 2^64 (splitmix64's finisher). */
static guint64 mix(guint64 a, guint64 b)
{
	guint64 x = a * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15) ^ b;

	x = (x ^ x >> 30) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
	return (x ^ x >> 31) | 1;
}

static gboolean is_unasked(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.flags[slice] & TACHO_SLICE_UNASKED;
}

/* What makes up a place: regions may carry the step's number in their names. */
static gboolean is_of_places(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.kind[slice] == TACHO_SLICE_OP ||
	       timeline->slices.kind[slice] == TACHO_SLICE_MODULE;
}

/* The innermost slice around this one that makes up its place, in the same step; TACHO_NONE: the step itself. */
static guint32 parent_of(const struct twin_search *search, guint32 slice)
{
	guint32 parent = search->timeline->slices.parent[slice];

	while (parent != TACHO_NONE && parent >= search->step_begin &&
	       !is_of_places(search->timeline, parent))
		parent = search->timeline->slices.parent[parent];
	return parent != TACHO_NONE && parent >= search->step_begin ? parent : TACHO_NONE;
}

/* Add `more` to the count of the slice's name below its parent; how it was before. */
static guint64 count(const struct twin_search *search, guint32 slice, guint32 parent, guint64 more)
{
	gpointer key = GSIZE_TO_POINTER(mix(parent, search->timeline->slices.name[slice]));
	guint64 before = GPOINTER_TO_SIZE(g_hash_table_lookup(search->counts, key));

	g_hash_table_insert(search->counts, key, GSIZE_TO_POINTER(before + more));
	return before;
}

static guint64 place_of(const struct twin_search *search, guint32 slice)
{
	guint32 parent = parent_of(search, slice);
	guint64 outer = parent == TACHO_NONE ? 1 : search->places[parent - search->step_begin];

	return mix(mix(outer, search->timeline->slices.name[slice]),
		   count(search, slice, parent, ONE_SEEN));
}

static void keep_asked(struct twin_search *search, guint64 place, guint32 slice)
{
	g_hash_table_insert(search->asked, GSIZE_TO_POINTER(place), GUINT_TO_POINTER(slice + 1));
}

/* The last slice there that was asked; TACHO_NONE: there is none yet. */
static guint32 find_asked(const struct twin_search *search, guint64 place)
{
	gpointer found = g_hash_table_lookup(search->asked, GSIZE_TO_POINTER(place));

	return found ? GPOINTER_TO_UINT(found) - 1 : TACHO_NONE;
}

static void join_slice(struct twin_search *search, guint64 place, guint32 slice)
{
	struct waiting_slice waiting = { place, slice };

	if (search->timeline->slices.kind[slice] != TACHO_SLICE_OP)
		return;
	if (!is_unasked(search->timeline, slice)) {
		keep_asked(search, place, slice);
		return;
	}
	search->twins[slice] = find_asked(search, place);
	if (search->twins[slice] == TACHO_NONE)
		g_array_append_val(search->waiting, waiting);
}

/* The slices [begin, end) of a track are those of one step. */
static void join_step(struct twin_search *search, guint32 begin, guint32 end)
{
	g_autofree guint64 *places = g_new0(guint64, end - begin);

	search->places = places;
	search->step_begin = begin;
	g_hash_table_remove_all(search->counts);
	for (guint32 slice = begin; slice < end; slice++)
		if (is_of_places(search->timeline, slice))
			count(search, slice, parent_of(search, slice), 1);
	for (guint32 slice = begin; slice < end; slice++) {
		if (!is_of_places(search->timeline, slice))
			continue;
		places[slice - begin] = place_of(search, slice);
		join_slice(search, places[slice - begin], slice);
	}
}

static void join_track(struct twin_search *search, const TachoTrack *track)
{
	const gint64 *start_ns = search->timeline->slices.start_ns;
	guint32 begin = track->first_slice, end = begin + track->n_slices;

	g_hash_table_remove_all(search->asked);
	g_array_set_size(search->waiting, 0);
	for (guint i = 0; i < search->step_ends->len; i++) {
		gint64 step_end = g_array_index(search->step_ends, gint64, i);
		guint32 next = PARTITION_POINT(s, begin, end, start_ns[s] < step_end);

		if (next > begin)
			join_step(search, begin, next);
		begin = next;
	}
	if (end > begin)
		join_step(search, begin, end);
	for (guint i = 0; i < search->waiting->len; i++) {
		const struct waiting_slice *waiting =
			&g_array_index(search->waiting, struct waiting_slice, i);

		search->twins[waiting->slice] = find_asked(search, waiting->place);
	}
}

static gboolean has_unasked(const TachoTimeline *timeline, const TachoTrack *track)
{
	for (guint32 i = 0; i < track->n_slices; i++)
		if (is_unasked(timeline, track->first_slice + i))
			return TRUE;
	return FALSE;
}

static void add_step_ends(struct twin_search *search, const TachoTrack *track)
{
	const TachoSlices *slices = &search->timeline->slices;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		gint64 end_ns = slices->start_ns[i] + slices->duration_ns[i];

		if (slices->kind[i] == TACHO_SLICE_ANNOTATION &&
		    region_kind_of(search->timeline, i) == REGION_OPTIMIZER_STEP)
			g_array_append_val(search->step_ends, end_ns);
	}
}

static gint compare_ends(gconstpointer first, gconstpointer second)
{
	return ORDER(*(const gint64 *)first, *(const gint64 *)second);
}

static void join_process(struct twin_search *search, guint32 process, const GArray *tracks)
{
	g_array_set_size(search->step_ends, 0);
	for (guint i = 0; i < tracks->len; i++)
		if (g_array_index(tracks, TachoTrack, i).process == process)
			add_step_ends(search, &g_array_index(tracks, TachoTrack, i));
	g_array_sort(search->step_ends, compare_ends);
	for (guint i = 0; i < tracks->len; i++) {
		const TachoTrack *track = &g_array_index(tracks, TachoTrack, i);

		if (track->process == process && has_unasked(search->timeline, track))
			join_track(search, track);
	}
}

static gboolean any_unasked(const TachoTimeline *timeline)
{
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (is_unasked(timeline, i))
			return TRUE;
	return FALSE;
}

void op_twins_join(TachoTimeline *timeline)
{
	guint32 n = timeline->slices.n;
	struct twin_search search = { .timeline = timeline };

	if (!any_unasked(timeline))
		return;
	search.twins = g_new(guint32, n);
	memset(search.twins, 0xff, n * sizeof(*search.twins)); /* TACHO_NONE */
	search.step_ends = g_array_new(FALSE, FALSE, sizeof(gint64));
	search.waiting = g_array_new(FALSE, FALSE, sizeof(struct waiting_slice));
	search.counts = g_hash_table_new(NULL, NULL);
	search.asked = g_hash_table_new(NULL, NULL);
	for (guint32 process = 0; process < timeline->processes->len; process++)
		join_process(&search, process, timeline->tracks);
	g_array_unref(search.step_ends);
	g_array_unref(search.waiting);
	g_hash_table_unref(search.counts);
	g_hash_table_unref(search.asked);
	tacho_source_take_twins(timeline->source, search.twins, n);
}
