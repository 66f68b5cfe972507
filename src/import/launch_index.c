/* Open addressing with linear probing, at most half full. Entries with one id follow each other on its
 * probe path. */
#include "import/launch_index.h"

#include <tacho/timeline.h>

enum { MAX_CALLS_OF_ID = 64 };

struct entry {
	gint64 id, start_ns;
	guint32 row; /* TACHO_NONE: empty */
};

struct launch_index {
	struct entry *entries;
	gsize n, n_entries; /* n_entries: a power of two */
};

static void clear(struct entry *entries, gsize n)
{
	for (gsize i = 0; i < n; i++)
		entries[i].row = TACHO_NONE;
}

struct launch_index *launch_index_new(void)
{
	struct launch_index *index = g_new0(struct launch_index, 1);

	index->n_entries = 256;
	index->entries = g_new(struct entry, index->n_entries);
	clear(index->entries, index->n_entries);
	return index;
}

void launch_index_free(struct launch_index *index)
{
	if (!index)
		return;
	g_free(index->entries);
	g_free(index);
}

static gsize first_place(const struct launch_index *index, gint64 id)
{
	return (gsize)(((guint64)id * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)) >> 32) &
	       (index->n_entries - 1);
}

static void put(struct launch_index *index, const struct entry *entry)
{
	gsize at = first_place(index, entry->id), n_same = 0;

	for (; index->entries[at].row != TACHO_NONE; at = (at + 1) & (index->n_entries - 1)) {
		if (index->entries[at].id == entry->id && ++n_same == MAX_CALLS_OF_ID)
			return;
	}
	index->entries[at] = *entry;
	index->n++;
}

static void grow(struct launch_index *index)
{
	struct entry *old = index->entries;
	gsize n_old = index->n_entries;

	index->n_entries *= 2;
	index->entries = g_new(struct entry, index->n_entries);
	clear(index->entries, index->n_entries);
	index->n = 0;
	for (gsize i = 0; i < n_old; i++)
		if (old[i].row != TACHO_NONE)
			put(index, &old[i]);
	g_free(old);
}

void launch_index_add(struct launch_index *index, gint64 id, gint64 start_ns, guint32 row)
{
	struct entry entry = { id, start_ns, row };

	if (index->n >= index->n_entries / 2)
		grow(index);
	put(index, &entry);
}

/* Whether `a` is a better answer than `b`. */
static gboolean is_better(const struct entry *a, const struct entry *b, gint64 time_ns)
{
	gboolean a_is_before = a->start_ns <= time_ns, b_is_before = b->start_ns <= time_ns;

	if (a_is_before != b_is_before)
		return a_is_before;
	return a_is_before ? a->start_ns > b->start_ns : a->start_ns < b->start_ns;
}

guint32 launch_index_find(const struct launch_index *index, gint64 id, gint64 time_ns)
{
	const struct entry *best = NULL;

	for (gsize at = first_place(index, id); index->entries[at].row != TACHO_NONE;
	     at = (at + 1) & (index->n_entries - 1)) {
		const struct entry *entry = &index->entries[at];

		if (entry->id == id && (!best || is_better(entry, best, time_ns)))
			best = entry;
	}
	return best ? best->row : TACHO_NONE;
}
