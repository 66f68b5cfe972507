/* slice_columns: the columns of TachoSlices as one growing table, and the nesting of the slices of
 * a track. The timeline's own table is one; the run reader fills a view of it for each thread.
 *
 * (1) All columns have room for `capacity` rows; the first `n` are in use.
 * (2) Growing never aborts: what cannot be allocated is told to the caller.
 * (3) A view is a range of another table's rows under numbers of its own. It is filled and sorted like a
 *     table, but never grown or released, and ends with its table. */
#ifndef TACHO_SLICE_COLUMNS_H
#define TACHO_SLICE_COLUMNS_H

#include <tacho/timeline.h>

/* COLUMN(type, name): every column of TachoSlices. */
#define SLICE_COLUMNS(COLUMN)                                                                      \
	COLUMN(gint64, start_ns)                                                                   \
	COLUMN(gint64, duration_ns)                                                                \
	COLUMN(guint64, source)                                                                    \
	COLUMN(guint32, name)                                                                      \
	COLUMN(guint32, track)                                                                     \
	COLUMN(guint32, parent)                                                                    \
	COLUMN(guint32, launch)                                                                    \
	COLUMN(guint8, kind)                                                                       \
	COLUMN(guint8, flags)                                                                      \
	COLUMN(guint16, depth)

/* Make room for `capacity` rows in all; false: no memory, nothing changed but perhaps the room. */
gboolean slice_columns_reserve(TachoSlices *slices, guint32 capacity);
/* Rows [first, first + n) of the table as a view, empty, with that room. */
TachoSlices slice_columns_view(const TachoSlices *slices, guint32 first, guint32 n);
/* Move rows [from, from + n) to `to`: nothing but the values, which may name rows, too. */
void slice_columns_move(TachoSlices *slices, guint32 to, guint32 from, guint32 n);
/* Free the columns; the table is then empty and may be used again. */
void slice_columns_release(TachoSlices *slices);

/* Room for one more row, in doubling steps. */
static inline gboolean slice_columns_grow(TachoSlices *slices)
{
	if (G_LIKELY(slices->n < slices->capacity))
		return TRUE;
	if (slices->capacity > G_MAXUINT32 / 2)
		return FALSE;
	return slice_columns_reserve(slices, MAX(1024, slices->capacity * 2));
}

/* How the slices of one track lie within each other. */
enum nest_rule {
	NEST_CALLS, /* THREAD: as WITHIN, but for ends that say nothing; see struct nest_count */
	NEST_WITHIN, /* STREAM, SAMPLED: the parent is the innermost that contains the slice, if any */
	NEST_NONE, /* ASYNC: no parents */
};
enum nest_rule nest_rule_of(TachoTrackKind kind);

/* What was found on a track of NEST_CALLS where a slice outlasts the one it began in. Its times stay as
 * they are, and its parent is the innermost that contains it, with two exceptions that are cut to the end of
 * the one they began in. */
struct nest_count {
	guint32 n_cut; /* OPEN slices: nobody saw their end. Flagged REPAIRED, and OPEN no more */
	guint32 n_rounded; /* those that outlast it by no more than times were rounded to */
	guint32 n_beside;  /* calls that outlast a call and stay as they are */
};

/* Add to the timeline's problems what was counted on the track of `who`. */
void nest_count_report(TachoTimeline *timeline, const struct nest_count *count, const gchar *who);

/* Set parent and depth of rows [first, first + n), which are in timeline order; add to `count` (not NULL
 * with NEST_CALLS). */
void slice_columns_nest(TachoSlices *slices, guint32 first, guint32 n, enum nest_rule rule,
			gint64 resolution_ns, struct nest_count *count);

/* Bring all rows into timeline order (timeline.h (1)); equal rows keep their order. Returns where
 * each row went, to be freed with g_free(). */
guint32 *slice_columns_sort(TachoSlices *slices, guint32 n_tracks);

/* For g_array_sort_with_data() of rows, guint32, with the TachoSlices: by begin. */
gint slice_columns_order(gconstpointer a, gconstpointer b, gpointer slices);

/* The innermost slice of [first, first + n), nested rows in timeline order, that is open at
 * `time_ns`; TACHO_NONE: none is. */
guint32 slice_columns_find_open(const TachoSlices *slices, guint32 first, guint32 n,
				gint64 time_ns);

#endif
