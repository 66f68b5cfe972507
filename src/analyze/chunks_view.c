/* chunks_view: what allocators hold at the end of the recording: segments, and the chunks that they are cut into,
 * a row for each pool or bin of each memory.
 *
 * (1) free_pct is how much of what is reserved nobody has. fragmentation_pct is how much of what is free is not in
 *     the largest free chunk: 0, all that is free is in one piece; near 100, no request of any size fits.
 * (2) rounding_bytes is what chunks in use have above what was asked for, where that is told. */
#include <tacho/analyze.h>

#include <string.h>

#include "analyze/memory_blocks.h"
#include "analyze/selection.h"

static const TachoColumn columns[] = {
	{ .key = "rank", .title = "rank", .type = TACHO_COLUMN_INTEGER },
	{ .key = "memory", .title = "memory", .type = TACHO_COLUMN_TEXT },
	{ .key = "pool", .title = "pool", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "segments", .title = "segments", .type = TACHO_COLUMN_INTEGER },
	{ .key = "reserved_bytes", .title = "reserved B", .type = TACHO_COLUMN_NUMBER },
	{ .key = "used_chunks", .title = "chunks", .type = TACHO_COLUMN_INTEGER },
	{ .key = "used_bytes", .title = "in use B", .type = TACHO_COLUMN_NUMBER },
	{ .key = "rounding_bytes", .title = "rounding B", .type = TACHO_COLUMN_NUMBER },
	{ .key = "pending_bytes", .title = "pending B", .type = TACHO_COLUMN_NUMBER },
	{ .key = "free_chunks", .title = "free", .type = TACHO_COLUMN_INTEGER },
	{ .key = "free_bytes", .title = "free B", .type = TACHO_COLUMN_NUMBER },
	{ .key = "free_pct",
	  .title = "%",
	  .type = TACHO_COLUMN_NUMBER,
	  .decimals = 1,
	  .is_share = TRUE },
	{ .key = "largest_free_bytes", .title = "largest free B", .type = TACHO_COLUMN_NUMBER },
	{ .key = "fragmentation_pct",
	  .title = "fragm. %",
	  .type = TACHO_COLUMN_NUMBER,
	  .decimals = 1 },
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

static struct pool *find_pool(GArray *pools, guint32 rank_index, const TachoChunk *chunk)
{
	struct pool pool = { .rank_index = rank_index,
			     .device = chunk->device,
			     .name = chunk->pool };

	for (guint i = 0; i < pools->len; i++) {
		struct pool *known = &g_array_index(pools, struct pool, i);

		if (known->rank_index == rank_index && known->device == chunk->device &&
		    known->name == chunk->pool)
			return known;
	}
	g_array_append_val(pools, pool);
	return &g_array_index(pools, struct pool, pools->len - 1);
}

static void add_share(TachoTable *table, gdouble part, gdouble whole)
{
	if (whole > 0)
		tacho_table_number(table, 100.0 * part / whole);
	else
		tacho_table_null(table);
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
	tacho_table_integer(table,
			    g_array_index(timeline->ranks, TachoRank, pool->rank_index).rank);
	tacho_table_text(table, label);
	tacho_table_text(table, name);
	tacho_table_integer(table, (gint64)pool->n_segments);
	tacho_table_number(table, pool->reserved);
	tacho_table_integer(table, (gint64)pool->n_used);
	tacho_table_number(table, pool->used);
	if (pool->is_requested_known)
		tacho_table_number(table, pool->used - pool->requested);
	else
		tacho_table_null(table);
	tacho_table_number(table, pool->pending);
	tacho_table_integer(table, (gint64)pool->n_free);
	tacho_table_number(table, pool->free);
	add_share(table, pool->free, pool->reserved);
	tacho_table_number(table, pool->largest_free);
	add_share(table, pool->free - pool->largest_free, pool->free);
}

TachoTable *tacho_view_chunks(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("chunks", columns, G_N_ELEMENTS(columns));
	g_autoptr(GArray) pools = g_array_new(FALSE, TRUE, sizeof(struct pool));
	struct selection selection;

	selection_init(&selection, timeline, filter);
	for (guint i = 0; i < timeline->chunks->len; i++) {
		const TachoChunk *chunk = &g_array_index(timeline->chunks, TachoChunk, i);
		guint32 rank_index =
			g_array_index(timeline->processes, TachoProcess, chunk->process).rank_index;

		if (selection_takes_rank(&selection, rank_index))
			count_chunk(find_pool(pools, rank_index, chunk), chunk);
	}
	for (guint i = 0; i < pools->len; i++)
		add_pool(table, &selection, &g_array_index(pools, struct pool, i));
	tacho_table_sort(table, "reserved_bytes", TRUE);
	if (tacho_table_n_rows(table))
		tacho_table_note(table,
				 "The table shows the allocators at the end of the recording.");
	else
		tacho_table_note(table,
				 "No state of an allocator was recorded in the chosen memories.");
	selection_release(&selection);
	return table;
}
