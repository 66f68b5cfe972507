/* row_buckets: the rows of a table with a time and a track each, put in order of a bucket (a track,
 * a process) and, within one, of time. */
#ifndef TACHO_ROW_BUCKETS_H
#define TACHO_ROW_BUCKETS_H

#include <tacho/timeline.h>

struct row_buckets {
	guint32 *rows;	/* row numbers, bucket by bucket */
	guint32 *first; /* bucket b has rows[first[b]] to rows[first[b + 1] - 1] */
	guint32 n_buckets;
};

/* `table` is the timeline's samples, memory or marks; `track_offset` where in its element the track
 * is. `bucket_of_track` has the bucket of each track, NULL: the track itself. */
void row_buckets_init(struct row_buckets *buckets, const GArray *table, gsize track_offset,
		      const guint32 *bucket_of_track, guint32 n_buckets);
void row_buckets_release(struct row_buckets *buckets);

#endif
