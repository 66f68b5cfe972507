/* chunks_view: what allocators hold at the end of the recording: segments, and the chunks that they are cut into,
 * a row for each pool or bin of each memory.
 *
 * (1) free_pct is how much of what is reserved nobody has. fragmentation_pct is how much of what is free is not in
 *     the largest free chunk: 0, all that is free is in one piece; near 100, no request of any size fits.
 * (2) rounding_bytes is what chunks in use have above what was asked for, where that is told. */
#include <tacho/analyze.h>

#include <string.h>

#include "analyze/keyed_rows.h"
#include "analyze/memory_blocks.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("memory", "memory"),
	TEXT_COLUMN("pool", "pool", .is_flexible = TRUE),
	INTEGER_COLUMN("segments", "segments"),
	NUMBER_COLUMN("reserved_bytes", "reserved B", 0),
	INTEGER_COLUMN("used_chunks", "chunks"),
	NUMBER_COLUMN("used_bytes", "in use B", 0),
	NUMBER_COLUMN("rounding_bytes", "rounding B", 0),
	NUMBER_COLUMN("pending_bytes", "pending B", 0),
	INTEGER_COLUMN("free_chunks", "free"),
	NUMBER_COLUMN("free_bytes", "free B", 0),
	SHARE_COLUMN("free_pct", "%", 1),
	NUMBER_COLUMN("largest_free_bytes", "largest free B", 0),
	NUMBER_COLUMN("fragmentation_pct", "fragm. %", 1),
};

/* Bytes are doubles, so that no sum of what a broken trace holds overflows. */
struct pool {
	guint32 rank_index, device, name;
	guint64 n_segments, n_used, n_free;
	gdouble reserved, used, requested, pending, free, largest_free;
	gboolean is_requested_known;
};

static void count_chunk(struct pool *pool, const TachoChunk *chunk)
{
	gdouble bytes = (gdouble)chunk->bytes;

	switch ((TachoChunkState)chunk->state) {
	case TACHO_CHUNK_SEGMENT:
		pool->n_segments++;
		pool->reserved += bytes;
		break;
	case TACHO_CHUNK_USED:
		pool->n_used++;
		pool->used += bytes;
		pool->is_requested_known |= chunk->requested_bytes != 0;
		pool->requested += chunk->requested_bytes ? (gdouble)chunk->requested_bytes : bytes;
		break;
	case TACHO_CHUNK_PENDING:
		pool->pending += bytes;
		break;
	case TACHO_CHUNK_FREE:
		pool->n_free++;
		pool->free += bytes;
		pool->largest_free = MAX(pool->largest_free, bytes);
		break;
	}
}

static struct pool *find_pool(struct keyed_rows *pools, guint32 rank_index, const TachoChunk *chunk)
{
	struct pool pool = { .rank_index = rank_index,
			     .device = chunk->device,
			     .name = chunk->pool };

	return keyed_rows_find(pools, &pool, "%u %u %u", rank_index, chunk->device, chunk->pool);
}

static void add_pool(TachoTable *table, const struct selection *selection, const struct pool *pool)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autofree gchar *label = memory_label(pool->device);
	const gchar *name = tacho_timeline_string(timeline, pool->name);
	GRegex *regex = selection->filter->device;

	if ((regex && !g_regex_match(regex, label, 0, NULL)) ||
	    !selection_takes_name(selection, name))
		return;
	tacho_table_row(table);
	table_rank(table, timeline, pool->rank_index);
	tacho_table_text(table, label);
	tacho_table_text(table, name);
	tacho_table_integer(table, (gint64)pool->n_segments);
	tacho_table_number(table, pool->reserved);
	tacho_table_integer(table, (gint64)pool->n_used);
	tacho_table_number(table, pool->used);
	table_number_if(table, pool->is_requested_known, pool->used - pool->requested);
	tacho_table_number(table, pool->pending);
	tacho_table_integer(table, (gint64)pool->n_free);
	tacho_table_number(table, pool->free);
	table_share(table, pool->free, pool->reserved);
	tacho_table_number(table, pool->largest_free);
	table_share(table, pool->free - pool->largest_free, pool->free);
}

TachoTable *tacho_view_chunks(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("chunks", columns, G_N_ELEMENTS(columns));
	struct selection selection;
	struct keyed_rows pools;

	keyed_rows_init(&pools, sizeof(struct pool));
	selection_init(&selection, timeline, filter);
	FOR_EACH(const TachoChunk, chunk, timeline->chunks) {
		guint32 rank_index = tacho_timeline_process(timeline, chunk->process)->rank_index;

		if (selection_takes_rank(&selection, rank_index))
			count_chunk(find_pool(&pools, rank_index, chunk), chunk);
	}
	for (guint i = 0; i < pools.rows->len; i++)
		add_pool(table, &selection, &g_array_index(pools.rows, struct pool, i));
	tacho_table_sort(table, "reserved_bytes", TRUE);
	if (tacho_table_n_rows(table))
		tacho_table_note(table,
				 "The table shows the allocators at the end of the recording.");
	else
		tacho_table_note(table,
				 "No state of an allocator was recorded in the chosen memories.");
	selection_release(&selection);
	keyed_rows_release(&pools);
	return table;
}
