#include "analyze/memory_gaps.h"

#include "analyze/memory_blocks.h"
#include "base/for_each.h"
#include "base/hash_mix.h"
#include "base/order.h"
#include "base/partition_point.h"

static gint compare_starts(gconstpointer a, gconstpointer b)
{
	const TachoStep *x = a, *y = b;

	return ORDER(x->start_ns, y->start_ns);
}

/* The control steps of the rank whose main process it is, in order of time; the caller's. */
static GArray *gaps_of_process(const TachoTimeline *timeline, guint32 process)
{
	GArray *gaps = g_array_new(FALSE, FALSE, sizeof(TachoStep));

	FOR_EACH(const TachoStep, step, timeline->control_steps)
		if (tacho_timeline_rank(timeline, step->rank_index)->main_process == process)
			g_array_append_vals(gaps, step, 1);
	g_array_sort(gaps, compare_starts);
	return gaps;
}

/* The first gap that ends behind the block's begin, and begins before its end; NULL: there is none. */
static const TachoStep *first_gap(const GArray *gaps, const struct memory_block *block)
{
	guint i = ROWS_BEFORE(gaps, TachoStep, gap, gap->end_ns <= block->begin_ns);
	const TachoStep *gap = i < gaps->len ? &g_array_index(gaps, TachoStep, i) : NULL;

	return gap && gap->start_ns < block->end_ns ? gap : NULL;
}

/* What likes have in common. */
static guint64 likeness_of(const TachoTimeline *timeline, const struct memory_block *block)
{
	const TachoSlices *slices = &timeline->slices;
	guint64 hash = hash_mix(HASH_MIX_START, (guint64)block->bytes);

	hash = hash_mix(hash_mix(hash, block->device), block->layer);
	for (guint32 i = block->slice; i != TACHO_NONE; i = slices->parent[i])
		if (slices->kind[i] == TACHO_SLICE_OP)
			hash = hash_mix(hash, slices->name[i]);
	return hash;
}

/* Likeness (borrowed) -> the longest life, in ns, of those given back within one recorded stretch. */
static GHashTable *find_lives(const GArray *gaps, const GArray *blocks, const guint64 *likeness)
{
	GHashTable *lives = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);

	FOR_EACH_AT(const struct memory_block, block, i, blocks) {
		gint64 *longest;

		if (block->end_ns == G_MAXINT64 || first_gap(gaps, block))
			continue;
		longest = g_hash_table_lookup(lives, &likeness[i]);
		if (!longest) {
			longest = g_new0(gint64, 1);
			g_hash_table_insert(lives, (gpointer)&likeness[i], longest);
		}
		*longest = MAX(*longest, block->end_ns - block->begin_ns);
	}
	return lives;
}

void memory_gaps_end_blocks(const TachoTimeline *timeline, guint32 process, GArray *blocks)
{
	g_autoptr(GArray) gaps = gaps_of_process(timeline, process);
	g_autofree guint64 *likeness = NULL;
	g_autoptr(GHashTable) lives = NULL;

	if (gaps->len == 0)
		return;
	likeness = g_new(guint64, MAX(blocks->len, 1u));
	FOR_EACH_AT(const struct memory_block, block, i, blocks)
		likeness[i] = likeness_of(timeline, block);
	lives = find_lives(gaps, blocks, likeness);
	FOR_EACH_AT(struct memory_block, block, i, blocks) {
		const TachoStep *gap = first_gap(gaps, block);
		const gint64 *longest = gap ? g_hash_table_lookup(lives, &likeness[i]) : NULL;
		gint64 end_ns = MIN(block->end_ns, timeline->duration_ns);

		if (!longest || end_ns - block->begin_ns <= *longest)
			continue;
		block->end_ns = MAX(gap->start_ns, block->begin_ns);
		block->end_track = block->begin_track;
	}
}
