#include "trace/slice_columns.h"

#include <string.h>

#include "base/huge_pages.h"
#include "base/order.h"
#include "base/partition_point.h"

gboolean slice_columns_reserve(TachoSlices *slices, guint32 capacity)
{
	if (capacity <= slices->capacity)
		return TRUE;
#define RESERVE_COLUMN(type, name)                                                                 \
	do {                                                                                       \
		type *room = g_try_realloc_n(slices->name, capacity, sizeof(type));                \
		if (!room)                                                                         \
			return FALSE;                                                              \
		slices->name = room;                                                               \
		huge_pages_want(room, (gsize)capacity * sizeof(type));                             \
	} while (0);
	SLICE_COLUMNS(RESERVE_COLUMN)
#undef RESERVE_COLUMN
	slices->capacity = capacity;
	return TRUE;
}

TachoSlices slice_columns_view(const TachoSlices *slices, guint32 first, guint32 n)
{
	TachoSlices view = { .capacity = n };

	g_assert(first <= slices->capacity && n <= slices->capacity - first);
#define VIEW_COLUMN(type, name) view.name = slices->name ? slices->name + first : NULL;
	SLICE_COLUMNS(VIEW_COLUMN)
#undef VIEW_COLUMN
	return view;
}

void slice_columns_move(TachoSlices *slices, guint32 to, guint32 from, guint32 n)
{
	g_assert(MAX(to, from) <= slices->capacity && n <= slices->capacity - MAX(to, from));
#define MOVE_COLUMN(type, name)                                                                    \
	if (n)                                                                                     \
		memmove(slices->name + to, slices->name + from, n * sizeof(type));
	SLICE_COLUMNS(MOVE_COLUMN)
#undef MOVE_COLUMN
}

void slice_columns_release(TachoSlices *slices)
{
#define FREE_COLUMN(type, name) g_free(slices->name);
	SLICE_COLUMNS(FREE_COLUMN)
#undef FREE_COLUMN
	memset(slices, 0, sizeof(*slices));
}

enum nest_rule nest_rule_of(TachoTrackKind kind)
{
	switch (kind) {
	case TACHO_TRACK_THREAD:
		return NEST_CALLS;
	case TACHO_TRACK_STREAM:
	case TACHO_TRACK_SAMPLED:
		return NEST_WITHIN;
	default:
		return NEST_NONE;
	}
}

static inline gint64 end_of(const TachoSlices *slices, guint32 row)
{
	return slices->start_ns[row] + slices->duration_ns[row];
}

/* Whether a thread runs such slices one inside the other; the others are named regions, which may begin
 * within a function and end behind it. */
static gboolean is_call(guint8 kind)
{
	switch (kind) {
	case TACHO_SLICE_ANNOTATION:
	case TACHO_SLICE_MODULE:
	case TACHO_SLICE_WAIT:
	case TACHO_SLICE_STEP:
	case TACHO_SLICE_FUNCTION:
		return FALSE;
	default:
		return TRUE;
	}
}

/* `row` outlasts `around`, in which it began. False: it was cut, and lies within it now. */
static gboolean outlasts(TachoSlices *slices, guint32 row, guint32 around, gint64 resolution_ns,
			 struct nest_count *count)
{
	gboolean is_open = slices->flags[row] & TACHO_SLICE_OPEN;

	if (!is_open && end_of(slices, row) - end_of(slices, around) > resolution_ns)
		return TRUE;
	slices->duration_ns[row] = end_of(slices, around) - slices->start_ns[row];
	count->n_rounded += !is_open;
	if (!is_open)
		return FALSE;
	count->n_cut++;
	slices->flags[row] |= TACHO_SLICE_REPAIRED;
	slices->flags[row] &= (guint8)~TACHO_SLICE_OPEN;
	return FALSE;
}

/* The parents of the row before are all that is open, but for what began earlier, ends earlier and so is
 * around nothing any more. A row that outlasts them leaves them, so that each is left once. */
void slice_columns_nest(TachoSlices *slices, guint32 first, guint32 n, enum nest_rule rule,
			gint64 resolution_ns, struct nest_count *count)
{
	guint32 innermost = TACHO_NONE;

	for (guint32 row = first; row < first + n; row++) {
		gboolean outlasts_call = FALSE;
		guint32 parent;

		while (innermost != TACHO_NONE &&
		       end_of(slices, innermost) <= slices->start_ns[row])
			innermost = slices->parent[innermost];
		parent = rule == NEST_NONE ? TACHO_NONE : innermost;
		while (parent != TACHO_NONE && end_of(slices, parent) < end_of(slices, row) &&
		       (rule == NEST_WITHIN ||
			outlasts(slices, row, parent, resolution_ns, count))) {
			outlasts_call |= is_call(slices->kind[parent]);
			parent = slices->parent[parent];
		}
		if (outlasts_call && rule == NEST_CALLS)
			count->n_beside += is_call(slices->kind[row]);
		slices->parent[row] = parent;
		slices->depth[row] = 0;
		if (parent != TACHO_NONE)
			slices->depth[row] = (guint16)MIN(slices->depth[parent] + 1, G_MAXUINT16);
		innermost = row;
	}
}

struct sort_key {
	gint64 start_ns, duration_ns;
	guint32 row;
};

static gint compare_keys(gconstpointer first, gconstpointer second, gpointer data)
{
	const struct sort_key *a = first, *b = second;

	(void)data;
	return ORDER(a->start_ns, b->start_ns) ?: ORDER(b->duration_ns, a->duration_ns) ?:
	       ORDER(a->row, b->row);
}

static struct sort_key key_of(const TachoSlices *slices, guint32 row)
{
	return (struct sort_key){ slices->start_ns[row], slices->duration_ns[row], row };
}

static gboolean is_track_sorted(const TachoSlices *slices, const guint32 *order, guint32 n)
{
	for (guint32 i = 1; i < n; i++) {
		struct sort_key before = key_of(slices, order[i - 1]);
		struct sort_key key = key_of(slices, order[i]);

		if (compare_keys(&before, &key, NULL) > 0)
			return FALSE;
	}
	return TRUE;
}

/* Sort order[0 .. n), rows of one track, by time; most tracks come sorted. */
static void sort_track(const TachoSlices *slices, guint32 *order, guint32 n)
{
	g_autofree struct sort_key *keys = NULL;

	if (is_track_sorted(slices, order, n))
		return;
	keys = g_new(struct sort_key, n);
	for (guint32 i = 0; i < n; i++)
		keys[i] = key_of(slices, order[i]);
	g_qsort_with_data(keys, (gint)n, sizeof(*keys), compare_keys, NULL);
	for (guint32 i = 0; i < n; i++)
		order[i] = keys[i].row;
}

/* order[i] is the row that comes i-th: rows by track, then by time. */
static guint32 *find_order(const TachoSlices *slices, guint32 n_tracks)
{
	guint32 *order = g_new(guint32, slices->n);
	g_autofree guint32 *next = g_new0(guint32, (gsize)n_tracks + 1);

	for (guint32 row = 0; row < slices->n; row++)
		next[slices->track[row] + 1]++;
	for (guint32 track = 0; track < n_tracks; track++)
		next[track + 1] += next[track];
	for (guint32 row = 0; row < slices->n; row++)
		order[next[slices->track[row]]++] = row;
	for (guint32 track = 0; track < n_tracks; track++) {
		guint32 first = track ? next[track - 1] : 0;

		if (next[track] > first)
			sort_track(slices, order + first, next[track] - first);
	}
	return order;
}

guint32 *slice_columns_sort(TachoSlices *slices, guint32 n_tracks)
{
	g_autofree guint32 *order = find_order(slices, n_tracks);
	guint32 *moved = g_new(guint32, slices->n);
	g_autofree guint64 *room = NULL; /* one for all columns: its pages are touched once */
	gboolean is_sorted = TRUE;

	for (guint32 i = 0; i < slices->n; i++) {
		moved[order[i]] = i;
		is_sorted &= order[i] == i;
	}
	if (is_sorted)
		return moved;
	room = g_new(guint64, slices->n);
	huge_pages_want(room, slices->n * sizeof(*room));
#define PERMUTE_COLUMN(type, name)                                                                 \
	do {                                                                                       \
		type *column = (gpointer)room;                                                     \
		G_STATIC_ASSERT(sizeof(type) <= sizeof(*room));                                    \
		for (guint32 i = 0; i < slices->n; i++)                                            \
			column[i] = slices->name[order[i]];                                        \
		memcpy(slices->name, column, slices->n * sizeof(type));                            \
	} while (0);
	SLICE_COLUMNS(PERMUTE_COLUMN)
#undef PERMUTE_COLUMN
	return moved;
}

gint slice_columns_order(gconstpointer a, gconstpointer b, gpointer slices)
{
	const gint64 *start_ns = ((const TachoSlices *)slices)->start_ns;
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;

	return ORDER(start_ns[x], start_ns[y]) ?: ORDER(x, y);
}

guint32 slice_columns_find_open(const TachoSlices *slices, guint32 first, guint32 n, gint64 time_ns)
{
	guint32 next = PARTITION_POINT(i, first, first + n, slices->start_ns[i] <= time_ns);

	if (next == first)
		return TACHO_NONE;
	for (guint32 row = next - 1; row != TACHO_NONE; row = slices->parent[row])
		if (time_ns < end_of(slices, row))
			return row;
	return TACHO_NONE;
}
