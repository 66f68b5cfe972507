/* kineto_merge: what the files share that make rows of the timeline of rows in their readers' numbers.
 *
 * (1) The result is the same however many readers there were, and whichever read what: strings and tracks
 *     are sorted before they get their numbers, rows are in the order of the files. */
#ifndef TACHO_KINETO_MERGE_H
#define TACHO_KINETO_MERGE_H

#include "import/import_format.h"
#include "import/kineto/kineto_files.h"

/* A file, as part of the timeline. */
struct kineto_part {
	struct kineto_file *file;
	guint number;	      /* for import.c */
	guint32 host;	      /* string id */
	guint8 clock_scope;   /* TachoClockScope */
	guint32 main_process; /* row, TACHO_NONE: none yet */
	guint32 aside;	      /* track of what is told of the whole file, TACHO_NONE: none yet */
	guint32 foreign;      /* index of the reader of its args */
	GArray *extras;	      /* struct kineto_extra */
	gint64 first_ns;      /* of its slices, G_MAXINT64: none */
	gint64 base_ns;	      /* what its times are since */
	GArray *event_waits;  /* for kineto_event_waits.c */
	GArray *ranges;	      /* guint32 rows, for kineto_ranges.c */
	guint first_piece, n_pieces; /* its rows */
	/* While its rows are placed: */
	struct launch_index *calls; /* by correlation id */
	struct launch_index *ops;   /* by external id; NULL: not needed */
	guint64 n_rows, n_events, n_unknown, n_impossible, n_repaired, n_broken;
	guint64 broken_offset, cut_offset;
	gboolean has_fraction, is_cut, is_moved;
};

/* The timeline's numbers of a reader's. */
struct kineto_numbers {
	guint32 *strings, *tracks;
};

struct kineto_merge {
	struct import *import;
	TachoTimeline *timeline;
	struct kineto_files files;
	struct kineto_part *parts;	/* by file */
	struct kineto_numbers *numbers; /* by reader */
	GHashTable *processes;		/* struct kineto_key, tid 0 -> row + 1 */
	GHashTable *tracks;		/* struct kineto_key -> row + 1 */
	guint64 n_bad_texts;
};

static inline const struct kineto_reader *kineto_merge_reader(const struct kineto_merge *merge,
							      guint i)
{
	return g_ptr_array_index(merge->files.readers, i);
}

/* The numbers that go with a piece's rows. */
static inline const struct kineto_numbers *kineto_merge_numbers(const struct kineto_merge *merge,
								const struct kineto_rows *rows)
{
	guint i = 0;

	while (kineto_merge_reader(merge, i) != rows->reader)
		i++;
	return &merge->numbers[i];
}

/* kineto_tracks.c: fill `numbers`, and add the processes and tracks they stand for, with their names. */
void kineto_tracks_merge(struct kineto_merge *merge);
/* The process that a file's device events and counters belong to. */
guint32 kineto_tracks_main_process(struct kineto_merge *merge, guint part);

/* kineto_collectives.c: fill in how many bytes the collectives of a file are of, in its extras; when the rows
 * have their numbers and the calls are indexed. Several threads may, for different files. */
void kineto_collectives_fill(struct kineto_merge *merge, const struct kineto_part *part);

/* kineto_event_waits.c: note the waits for events (TACHO_FLOW_EVENT_WAIT) among the rows of a piece, by
 * number, while they are there; then, when the timeline has all rows, say what they wait for. */
GArray *kineto_event_waits_new(void);
void kineto_event_waits_note(struct kineto_part *part, const struct kineto_rows *rows);
void kineto_event_waits_link(struct kineto_merge *merge);

/* kineto_ranges.c: note the ranges in which CUPTI counted, when the rows of a piece have their numbers; then, when the timeline has
 * all rows, say which launch each is of. */
void kineto_ranges_gather(struct kineto_merge *merge, const struct kineto_rows *rows);
void kineto_ranges_link(struct kineto_merge *merge);

/* kineto_marks.c: what the files tell beside their events, as marks; after the parts' times are known. */
void kineto_marks_merge(struct kineto_merge *merge);

#endif
