/* page_timeline: a timeline as the page of the html export draws it: tracks in JSON, what is on them in columns.
 *
 *     slices    by track and begin, in the order of export_walk.h: `track`, `begin` (since the begin before it on
 *               its track; ns), `duration` (ns), `name` (string), `kind` (string), `depth`, `state` (enum
 *               page_slice_state), `args` (bytes of arg_bytes that are its args)
 *     arg_bytes an arg is a byte, its key times 4 plus its type, and its value: nothing for true, a number, or the
 *               number of a string
 *     counts    `count_time`, `count_value`: differences to the one before of the counter, zigzag
 *     flows     `flow_from`, `flow_to` (slices), `flow_kind`
 *
 * (1) The page opens and stays fluid: no more than PAGE_MAX_SLICES slices, the longest there are, and
 *     PAGE_MAX_COUNTS values a counter, the lowest and highest of what lies near to each other. What is left out
 *     is told.
 * (2) Strings are valid UTF-8, numbered as they come. */
#ifndef TACHO_PAGE_TIMELINE_H
#define TACHO_PAGE_TIMELINE_H

#include <tacho/export.h>

#include "base/json_writer.h"
#include "export/page_column.h"

#define PAGE_MAX_SLICES		2000000
#define PAGE_MAX_COUNTS		100000 /* of one counter */
#define PAGE_COUNT_DIGITS	7      /* of the largest value of a counter with fractions */
#define PAGE_MAX_COUNT_DECIMALS 15

enum page_slice_state {
	PAGE_SLICE_OPEN = 1 << 0,   /* had not ended when the recording did */
	PAGE_SLICE_MOMENT = 1 << 1, /* no slice, but a mark */
};

/* PAGE_COLUMN(name) */
#define PAGE_COLUMNS(PAGE_COLUMN)                                                                  \
	PAGE_COLUMN(track)                                                                         \
	PAGE_COLUMN(begin)                                                                         \
	PAGE_COLUMN(duration)                                                                      \
	PAGE_COLUMN(name)                                                                          \
	PAGE_COLUMN(kind)                                                                          \
	PAGE_COLUMN(depth)                                                                         \
	PAGE_COLUMN(state)                                                                         \
	PAGE_COLUMN(args)                                                                          \
	PAGE_COLUMN(count_time)                                                                    \
	PAGE_COLUMN(count_value)                                                                   \
	PAGE_COLUMN(flow_from)                                                                     \
	PAGE_COLUMN(flow_to)                                                                       \
	PAGE_COLUMN(flow_kind)

struct page_timeline {
#define PAGE_COLUMN_MEMBER(name) struct page_column name;
	PAGE_COLUMNS(PAGE_COLUMN_MEMBER)
#undef PAGE_COLUMN_MEMBER
	GByteArray *arg_bytes;
	GArray *tracks;	    /* struct page_track */
	GPtrArray *strings; /* gchar *, ours */
	GHashTable *string_numbers;
	guint64 n_left_out;	  /* slices */
	gint64 shortest_ns;	  /* of the slices that are not left out */
	guint64 n_counts_thinned; /* counters of which not all is there */
};

/* False: the run has no such rank or steps. `max_slices` is PAGE_MAX_SLICES but in tests. */
gboolean page_timeline_init(struct page_timeline *page, const TachoTimeline *timeline,
			    const TachoExportOptions *options, guint max_slices, GError **error);
void page_timeline_release(struct page_timeline *page);

/* What is in no column, as members of the object that is open. */
void page_timeline_write_json(const struct page_timeline *page, const TachoTimeline *timeline,
			      JsonWriter *json);

#endif
