/* Calls stand in one array, in the order they came; a table of places in it, by id, is open addressing with
 * linear probing, at most half full: 24 bytes a call and 8 to 16 in the table. Calls with one id follow each
 * other on its probe path. */
#include "trace/launch_index.h"

#include <string.h>

#include <tacho/timeline.h>

#include "base/row_buffer.h"

enum { MAX_CALLS_OF_ID = 64 };

struct call {
	gint64 id, start_ns;
	guint32 row;
};

struct launch_index {
	struct row_buffer calls;
	guint32 *places; /* in `calls`; TACHO_NONE: empty */
	gsize n_places;	 /* a power of two */
};

static void clear_places(struct launch_index *index, gsize n)
{
	g_free(index->places);
	index->places = g_new(guint32, n);
	index->n_places = n;
	memset(index->places, 0xff, n * sizeof(guint32));
}

struct launch_index *launch_index_new(void)
{
	struct launch_index *index = g_new0(struct launch_index, 1);

	clear_places(index, 256);
	return index;
}

void launch_index_free(struct launch_index *index)
{
	if (!index)
		return;
	row_buffer_release(&index->calls);
	g_free(index->places);
	g_free(index);
}

static inline const struct call *call_at(const struct launch_index *index, gsize place)
{
	return (const struct call *)index->calls.rows + index->places[place];
}

static gsize first_place(const struct launch_index *index, gint64 id)
{
	return (gsize)(((guint64)id * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)) >> 32) &
	       (index->n_places - 1);
}

/* Where another call with `id` goes, G_MAXSIZE: there are enough of it. */
static gsize find_room(const struct launch_index *index, gint64 id)
{
	gsize at = first_place(index, id), n_same = 0;

	for (; index->places[at] != TACHO_NONE; at = (at + 1) & (index->n_places - 1))
		if (call_at(index, at)->id == id && ++n_same == MAX_CALLS_OF_ID)
			return G_MAXSIZE;
	return at;
}

static void grow(struct launch_index *index)
{
	const struct call *calls = index->calls.rows;

	clear_places(index, index->n_places * 2);
	for (gsize i = 0; i < index->calls.n; i++)
		index->places[find_room(index, calls[i].id)] = (guint32)i;
}

void launch_index_add(struct launch_index *index, gint64 id, gint64 start_ns, guint32 row)
{
	struct call *call;
	gsize place;

	if (index->calls.n >= index->n_places / 2)
		grow(index);
	place = find_room(index, id);
	if (place == G_MAXSIZE)
		return;
	call = row_buffer_add(&index->calls, sizeof(*call));
	if (!call)
		return;
	*call = (struct call){ id, start_ns, row };
	index->places[place] = (guint32)(index->calls.n - 1);
}

/* Whether `a` is a better answer than `b`. */
static gboolean is_better(const struct call *a, const struct call *b, gint64 time_ns)
{
	gboolean a_is_before = a->start_ns <= time_ns, b_is_before = b->start_ns <= time_ns;

	if (a_is_before != b_is_before)
		return a_is_before;
	return a_is_before ? a->start_ns > b->start_ns : a->start_ns < b->start_ns;
}

guint32 launch_index_find(const struct launch_index *index, gint64 id, gint64 time_ns)
{
	const struct call *best = NULL;

	for (gsize at = first_place(index, id); index->places[at] != TACHO_NONE;
	     at = (at + 1) & (index->n_places - 1)) {
		const struct call *call = call_at(index, at);

		if (call->id == id && (!best || is_better(call, best, time_ns)))
			best = call;
	}
	return best ? best->row : TACHO_NONE;
}
