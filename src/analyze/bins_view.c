/* bins_view: what an allocator that sorts its chunks into bins, by size, holds in each at the end of the recording.
 *
 * TensorFlow's best-fit allocator (BFC) tells it event by event; importers make counters of that, named "FIELD of
 * bin N of ALLOCATOR", and, of all bins together, "FIELD of ALLOCATOR". A row is an allocator's bin, or all of it.
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
#include "base/order.h"

enum {
	N_BINS = 21,
	LEAST_BIN_BYTES = 256,
};

/* FIGURE(enumerator, as a counter of a bin calls it, as one of the whole allocator does) */
#define BIN_FIGURES(FIGURE)                                                                        \
	FIGURE(CHUNKS, "total_chunks_in_bin", "chunks")                                            \
	FIGURE(USED_CHUNKS, "total_chunks_in_use", "in_use_chunks")                                \
	FIGURE(BYTES, "total_bytes_in_bin", "total_bytes")                                         \
	FIGURE(USED_BYTES, "total_bytes_in_use", "total_bytes_in_use")                             \
	FIGURE(REQUESTED_BYTES, "total_requested_bytes_in_use", "total_requested_bytes_in_use")

enum bin_figure {
#define BIN_FIGURE(enumerator, of_bin, of_all) FIGURE_##enumerator,
	BIN_FIGURES(BIN_FIGURE)
#undef BIN_FIGURE
		N_FIGURES
};

static const struct {
	const gchar *of_bin, *of_all;
} figures[] = {
#define BIN_FIGURE(enumerator, of_bin, of_all) { of_bin, of_all },
	BIN_FIGURES(BIN_FIGURE)
#undef BIN_FIGURE
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
	gint number;		/* -1: all of the allocator */
	const gchar *allocator; /* part of a counter's name, the timeline's */
	gdouble last[N_FIGURES];
	gdouble most_used;
};

/* What a counter's name says; FALSE: it is no such counter. */
static gboolean parse_name(const gchar *name, enum bin_figure *ret_figure, struct bin *ret_bin)
{
	static const gchar of_bin[] = " of bin ", of[] = " of ";
	const gchar *at = strstr(name, of);
	guint64 number;
	gchar *end;
	guint i = 0;

	if (!at)
		return FALSE;
	ret_bin->number = -1;
	ret_bin->allocator = at + strlen(of);
	if (g_str_has_prefix(at, of_bin)) {
		number = g_ascii_strtoull(at + strlen(of_bin), &end, 10);
		if (end == at + strlen(of_bin) || number > G_MAXINT || !g_str_has_prefix(end, of))
			return FALSE;
		ret_bin->number = (gint)number;
		ret_bin->allocator = end + strlen(of);
	}
	for (; i < N_FIGURES; i++) {
		const gchar *word = ret_bin->number < 0 ? figures[i].of_all : figures[i].of_bin;

		if (strlen(word) == (gsize)(at - name) && strncmp(name, word, strlen(word)) == 0)
			break;
	}
	*ret_figure = (enum bin_figure)i;
	return i < N_FIGURES;
}

static void count_counter(const struct selection *selection, struct keyed_rows *bins,
			  guint32 track_index)
{
	const TachoTimeline *timeline = selection->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, track_index);
	struct bin wanted = { .most_used = NAN }, *bin;
	enum bin_figure figure;
	guint first, n;

	for (guint i = 0; i < N_FIGURES; i++)
		wanted.last[i] = NAN;
	wanted.rank_index =
		g_array_index(timeline->processes, TachoProcess, track->process).rank_index;
	n = tacho_track_samples(timeline, track_index, &first);
	if (n == 0 || !selection_takes_rank(selection, wanted.rank_index) ||
	    !parse_name(tacho_timeline_string(timeline, track->name), &figure, &wanted))
		return;
	bin = keyed_rows_find(bins, &wanted, "%u:%d:%s", wanted.rank_index, wanted.number,
			      wanted.allocator);
	for (guint i = first; i < first + n; i++) {
		bin->last[figure] = g_array_index(timeline->samples, TachoSample, i).value;
		if (figure == FIGURE_USED_BYTES) /* NaN is less than nothing */
			bin->most_used = fmax(bin->most_used, bin->last[figure]);
	}
}

static gint compare_bins(gconstpointer a, gconstpointer b)
{
	const struct bin *x = a, *y = b;

	return ORDER(x->rank_index, y->rank_index) ?: strcmp(x->allocator, y->allocator) ?:
	       x->number - y->number;
}

static void add_row(TachoTable *table, const TachoTimeline *timeline, const struct bin *bin)
{
	const gdouble *last = bin->last;
	gdouble free_bytes = last[FIGURE_BYTES] - last[FIGURE_USED_BYTES];

	tacho_table_row(table);
	table_rank(table, timeline, bin->rank_index);
	tacho_table_text(table, bin->allocator);
	table_integer_if(table, bin->number >= 0, bin->number);
	table_number_if(table, bin->number >= 0 && bin->number < N_BINS,
			ldexp(LEAST_BIN_BYTES, bin->number));
	tacho_table_number(table, last[FIGURE_CHUNKS]);
	tacho_table_number(table, last[FIGURE_USED_CHUNKS]);
	tacho_table_number(table, last[FIGURE_BYTES]);
	tacho_table_number(table, last[FIGURE_USED_BYTES]);
	tacho_table_number(table, bin->most_used);
	tacho_table_number(table, last[FIGURE_USED_BYTES] - last[FIGURE_REQUESTED_BYTES]);
	tacho_table_number(table, free_bytes);
	table_share(table, free_bytes, last[FIGURE_BYTES]);
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
	for (guint i = 0; i < bins.rows->len; i++) {
		const struct bin *bin = &g_array_index(bins.rows, struct bin, i);

		if (selection_takes_name(&selection, bin->allocator))
			add_row(table, timeline, bin);
	}
	if (tacho_table_n_rows(table))
		tacho_table_note(table, "The table shows the allocators at the end of the "
					"recording; 'most' is the maximum over all of it.");
	else
		tacho_table_note(table, "No bins (size classes) of an allocator were recorded.");
	selection_release(&selection);
	keyed_rows_release(&bins);
	return table;
}
