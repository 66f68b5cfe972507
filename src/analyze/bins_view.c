/* bins_view: what an allocator that sorts its chunks into bins, by size, holds in each at the end of the recording.
 *
 * TensorFlow's best-fit allocator (BFC) tells it event by event; importers make counters of that (trace/counter_kind.h).
 * A row is an allocator's bin, or all of it.
 *
 * (1) Bin N holds chunks of at least 256 << N bytes: BinNumToSize() of tsl/framework/bfc_allocator.h, which
 *     has 21 of them; for bins beyond, no size is told.
 * (2) A counter that was never sampled is not known: NaN. */
#include <tacho/analyze.h>

#include <math.h>
#include <string.h>

#include "analyze/keyed_rows.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/order.h"
#include "trace/counter_kind.h"

enum {
	N_BINS = 21,
	LEAST_BIN_BYTES = 256,
};

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("allocator", "allocator", .is_flexible = TRUE),
	IDENTIFIER_COLUMN("bin", "bin"),
	NUMBER_COLUMN("least_bytes", "from B", 0),
	NUMBER_COLUMN("chunks", "chunks", 0),
	NUMBER_COLUMN("used_chunks", "in use", 0),
	NUMBER_COLUMN("bytes", "total B", 0),
	NUMBER_COLUMN("used_bytes", "in use B", 0),
	NUMBER_COLUMN("most_used_bytes", "most B", 0),
	NUMBER_COLUMN("rounding_bytes", "rounding B", 0),
	NUMBER_COLUMN("free_bytes", "free B", 0),
	SHARE_COLUMN("free_pct", "%", 1),
};

struct bin {
	guint32 rank_index;
	gint number;			 /* -1: all of the allocator */
	const gchar *allocator;		 /* part of a counter's name, the timeline's */
	gdouble last[N_COUNTER_FIGURES]; /* by figure: its kind less COUNTER_BIN_CHUNKS */
	gdouble most_used;
};

static void count_counter(const struct selection *selection, struct keyed_rows *bins,
			  guint32 track_index)
{
	const TachoTimeline *timeline = selection->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, track_index);
	struct bin wanted = { .most_used = NAN }, *bin;
	enum counter_kind kind = counter_kind_of_name(timeline, track->name);
	guint first, n;

	for (guint i = 0; i < N_COUNTER_FIGURES; i++)
		wanted.last[i] = NAN;
	wanted.rank_index = tacho_track_process(timeline, track)->rank_index;
	n = tacho_track_samples(timeline, track_index, &first);
	if (n == 0 || !selection_takes_rank(selection, wanted.rank_index) ||
	    kind < COUNTER_BIN_CHUNKS)
		return;
	wanted.number = counter_bin(timeline, track->name, &wanted.allocator);
	bin = keyed_rows_find(bins, &wanted, "%u:%d:%s", wanted.rank_index, wanted.number,
			      wanted.allocator);
	for (guint i = first; i < first + n; i++) {
		gdouble value = g_array_index(timeline->samples, TachoSample, i).value;

		bin->last[kind - COUNTER_BIN_CHUNKS] = value;
		if (kind == COUNTER_BIN_USED_BYTES) /* NaN is less than nothing */
			bin->most_used = fmax(bin->most_used, value);
	}
}

static gint compare_bins(gconstpointer a, gconstpointer b)
{
	const struct bin *x = a, *y = b;

	return ORDER(x->rank_index, y->rank_index) ?: strcmp(x->allocator, y->allocator) ?:
	       x->number - y->number;
}

static gdouble last_of(const struct bin *bin, enum counter_kind kind)
{
	return bin->last[kind - COUNTER_BIN_CHUNKS];
}

static void add_row(TachoTable *table, const TachoTimeline *timeline, const struct bin *bin)
{
	gdouble bytes = last_of(bin, COUNTER_BIN_BYTES);
	gdouble used_bytes = last_of(bin, COUNTER_BIN_USED_BYTES);
	gdouble free_bytes = bytes - used_bytes;

	tacho_table_row(table);
	table_rank(table, timeline, bin->rank_index);
	tacho_table_text(table, bin->allocator);
	table_integer_if(table, bin->number >= 0, bin->number);
	table_number_if(table, bin->number >= 0 && bin->number < N_BINS,
			ldexp(LEAST_BIN_BYTES, bin->number));
	tacho_table_number(table, last_of(bin, COUNTER_BIN_CHUNKS));
	tacho_table_number(table, last_of(bin, COUNTER_BIN_USED_CHUNKS));
	tacho_table_number(table, bytes);
	tacho_table_number(table, used_bytes);
	tacho_table_number(table, bin->most_used);
	tacho_table_number(table, used_bytes - last_of(bin, COUNTER_BIN_REQUESTED_BYTES));
	tacho_table_number(table, free_bytes);
	table_share(table, free_bytes, bytes);
}

TachoTable *tacho_view_bins(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("bins", columns, G_N_ELEMENTS(columns));
	struct selection selection;
	struct keyed_rows bins;

	keyed_rows_init(&bins, sizeof(struct bin));
	selection_init(&selection, timeline, filter);
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (tacho_timeline_track(timeline, i)->kind == TACHO_TRACK_COUNTER)
			count_counter(&selection, &bins, i);
	g_array_sort(bins.rows, compare_bins);
	FOR_EACH(const struct bin, bin, bins.rows)
		if (selection_takes_name(&selection, bin->allocator))
			add_row(table, timeline, bin);
	if (tacho_table_n_rows(table))
		tacho_table_note(table, "The table shows the allocators at the end of the "
					"recording; 'most' is the maximum over all of it.");
	else
		tacho_table_note(table, "No bins (size classes) of an allocator were recorded.");
	selection_release(&selection);
	keyed_rows_release(&bins);
	return table;
}
