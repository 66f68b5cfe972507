/* member_index: of which collective a slice is a member, and which member another process has. */
#include "correlate/member_index.h"

struct member_index {
	const TachoTimeline *timeline;
	GHashTable *rows;   /* slice -> row of collectives + 1 */
	GHashTable *slices; /* row << 32 | process -> slice + 1 */
};

static gpointer member_key(guint32 row, guint32 process)
{
	return GSIZE_TO_POINTER((gsize)row << 32 | process);
}

static void add_collective(struct member_index *index, guint32 row)
{
	const TachoTimeline *timeline = index->timeline;
	const TachoCollective *collective =
		&g_array_index(timeline->collectives, TachoCollective, row);

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice =
			g_array_index(timeline->members, guint32, collective->first_member + i);
		const TachoTrack *track =
			tacho_timeline_track(timeline, timeline->slices.track[slice]);

		g_hash_table_insert(index->rows, GSIZE_TO_POINTER((gsize)slice),
				    GSIZE_TO_POINTER((gsize)row + 1));
		g_hash_table_insert(index->slices, member_key(row, track->process),
				    GSIZE_TO_POINTER((gsize)slice + 1));
	}
}

struct member_index *member_index_new(const TachoTimeline *timeline)
{
	struct member_index *index = g_new0(struct member_index, 1);

	index->timeline = timeline;
	index->rows = g_hash_table_new(NULL, NULL);
	index->slices = g_hash_table_new(NULL, NULL);
	for (guint32 row = 0; row < timeline->collectives->len; row++)
		add_collective(index, row);
	return index;
}

void member_index_free(struct member_index *index)
{
	if (!index)
		return;
	g_hash_table_unref(index->rows);
	g_hash_table_unref(index->slices);
	g_free(index);
}

guint32 member_index_row(const struct member_index *index, guint32 slice)
{
	gpointer row = g_hash_table_lookup(index->rows, GSIZE_TO_POINTER((gsize)slice));

	return row ? (guint32)(GPOINTER_TO_SIZE(row) - 1) : TACHO_NONE;
}

guint32 member_index_in(const struct member_index *index, guint32 slice, guint32 process)
{
	guint32 row = member_index_row(index, slice);
	gpointer member = row == TACHO_NONE
				  ? NULL
				  : g_hash_table_lookup(index->slices, member_key(row, process));

	return member ? (guint32)(GPOINTER_TO_SIZE(member) - 1) : TACHO_NONE;
}
