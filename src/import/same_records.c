#include "import/same_records.h"

#include <string.h>

#include "base/for_each.h"
#include "trace/slice_columns.h"

/* The run's slices of one kind and name on one thread, or queued by one process. */
struct own_rows {
	GArray *rows; /* guint32, by begin */
	guint next;   /* those before it are paired, or too early for all that follows */
};

struct place {
	guint32 track;	 /* TACHO_NONE: what is queued by the process */
	guint32 process; /* 0 where there is a track */
	guint32 name;
	guint32 kind;
};

static guint hash_place(gconstpointer key)
{
	const struct place *place = key;

	return ((place->track * 31 + place->process) * 31 + place->kind) * 1000003 + place->name;
}

static gboolean is_same_place(gconstpointer first, gconstpointer second)
{
	return memcmp(first, second, sizeof(struct place)) == 0;
}

static void free_rows(gpointer data)
{
	struct own_rows *own = data;

	g_array_unref(own->rows);
	g_free(own);
}

/* Where a slice on `track` of `timeline` is told; FALSE: such a slice is told by nobody else. */
static gboolean find_place(const TachoTimeline *timeline, guint32 track, guint8 kind,
			   struct place *place)
{
	const TachoTrack *row = tacho_timeline_track(timeline, track);

	*place = (struct place){ .kind = kind };
	if (row->kind == TACHO_TRACK_THREAD) {
		place->track = track;
		return TRUE;
	}
	place->track = TACHO_NONE;
	place->process = row->process;
	return row->kind == TACHO_TRACK_ASYNC && kind == TACHO_SLICE_COLLECTIVE;
}

/* The tracks of the other timeline that get slices. */
static gboolean *find_shared(const struct timeline_join *join)
{
	gboolean *is_shared = g_new0(gboolean, join->to->tracks->len + 1);
	g_autofree gboolean *has_process = g_new0(gboolean, join->to->processes->len + 1);

	for (guint i = 0; i < join->from->processes->len; i++)
		if (join->processes[i] != TACHO_NONE)
			has_process[join->processes[i]] = TRUE;
	for (guint i = 0; i < join->from->tracks->len; i++)
		if (join->tracks[i] != TACHO_NONE)
			is_shared[join->tracks[i]] = TRUE;
	for (guint i = 0; i < join->to->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(join->to, i);

		is_shared[i] |= track->kind == TACHO_TRACK_ASYNC && has_process[track->process];
	}
	return is_shared;
}

static GHashTable *collect_own(const struct timeline_join *join, guint32 n_own)
{
	const TachoSlices *slices = &join->to->slices;
	g_autofree gboolean *is_shared = find_shared(join);
	GHashTable *places = g_hash_table_new_full(hash_place, is_same_place, g_free, free_rows);

	for (guint32 i = 0; i < n_own; i++) {
		struct own_rows *own;
		struct place place;

		if (!is_shared[slices->track[i]] ||
		    !find_place(join->to, slices->track[i], slices->kind[i], &place))
			continue;
		place.name = slices->name[i];
		own = g_hash_table_lookup(places, &place);
		if (!own) {
			own = g_new0(struct own_rows, 1);
			own->rows = g_array_new(FALSE, FALSE, sizeof(guint32));
			g_hash_table_insert(places, g_memdup2(&place, sizeof(place)), own);
		}
		g_array_append_val(own->rows, i);
	}
	FOR_EACH_ENTRY(entry, places)
		g_array_sort_with_data(((struct own_rows *)entry.value)->rows, slice_columns_order,
				       (gpointer)slices);
	return places;
}

/* The run's slice that begins then, or TACHO_NONE. Asked in the order of time. */
static guint32 take_pair(const struct timeline_join *join, struct own_rows *own, gint64 start_ns)
{
	while (own->next < own->rows->len) {
		guint32 row = g_array_index(own->rows, guint32, own->next);
		gint64 apart_ns = join->to->slices.start_ns[row] - start_ns;

		if (apart_ns > SAME_RECORDS_NS)
			return TACHO_NONE;
		own->next++;
		if (apart_ns >= -SAME_RECORDS_NS)
			return row;
	}
	return TACHO_NONE;
}

/* Where a slice of the joined timeline would be in the other one. */
static gboolean find_joined_place(const struct timeline_join *join, guint32 slice,
				  struct place *place)
{
	const TachoSlices *slices = &join->from->slices;
	guint32 track = slices->track[slice];

	if (!find_place(join->from, track, slices->kind[slice], place))
		return FALSE;
	if (place->track != TACHO_NONE)
		place->track = join->tracks[track];
	else
		place->process = join->processes[place->process];
	place->name = join->strings[slices->name[slice]];
	return place->track != TACHO_NONE || place->kind == TACHO_SLICE_COLLECTIVE;
}

/* Pair `slice` of the joined timeline; whether it has a twin. */
static gboolean find_twin(struct timeline_join *join, GHashTable *places, guint32 slice)
{
	const TachoSlices *slices = &join->from->slices;
	guint32 process = tacho_timeline_track(join->from, slices->track[slice])->process;
	struct own_rows *own;
	struct place place;

	if (!find_joined_place(join, slice, &place))
		return FALSE;
	own = g_hash_table_lookup(places, &place);
	if (own)
		join->slices[slice] =
			take_pair(join, own, join->move(join, process, slices->start_ns[slice]));
	return join->slices[slice] != TACHO_NONE;
}

/* The slices of a thread are in the order of time; what is queued stands on several tracks. */
guint64 same_records_find(struct timeline_join *join, guint32 n_own)
{
	g_autoptr(GHashTable) places = collect_own(join, n_own);
	g_autoptr(GArray) queued = g_array_new(FALSE, FALSE, sizeof(guint32));
	const TachoSlices *slices = &join->from->slices;
	guint64 n_same = 0;

	if (g_hash_table_size(places) == 0)
		return 0;
	for (guint32 i = 0; i < slices->n; i++) {
		if (tacho_timeline_track(join->from, slices->track[i])->kind == TACHO_TRACK_ASYNC)
			g_array_append_val(queued, i);
		else
			n_same += find_twin(join, places, i);
	}
	g_array_sort_with_data(queued, slice_columns_order, (gpointer)slices);
	for (guint i = 0; i < queued->len; i++)
		n_same += find_twin(join, places, g_array_index(queued, guint32, i));
	return n_same;
}
