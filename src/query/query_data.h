/* query_data: a timeline together with what queries look up in it again and again.
 *
 * (1) What costs a walk over slices or flows is made when it is first needed.
 * (2) Used by one thread at a time. */
#ifndef TACHO_QUERY_DATA_H
#define TACHO_QUERY_DATA_H

#include <sqlite3.h>

#include "query/row_index.h"
#include "trace/slice_args.h"

/* Some rows of a table, in order: rows[0 .. n), or first, first + 1 ... where `rows` is NULL. */
struct query_rows {
	const guint32 *rows;
	guint32 first, n;
};

struct query_data {
	const TachoTimeline *timeline;
	sqlite3 *db;
	guint32 *utid_of_track; /* TACHO_NONE: not a thread */
	GArray *threads;	/* guint32 tracks, by utid */
	guint32 *parent_upid;	/* by upid; TACHO_NONE: not in the run */
	guint32 *first_step;	/* of each rank; one more than ranks */
	guint n_name_walks;	/* walks that looked for one name */

	/* Made when needed; see the functions below. */
	struct row_index *slices_by_name, *flows_out, *flows_in, *members_by_slice,
		*messages_by_slice;
	struct slice_args args;	   /* of the slice asked for last */
	sqlite3_stmt *json_leaves; /* of ?1: fullkey, type, atom */
};

void query_data_init(struct query_data *data, const TachoTimeline *timeline, sqlite3 *db);
void query_data_release(struct query_data *data);

const struct row_index *query_data_slices_by_name(struct query_data *data);
const struct row_index *query_data_flows_out(struct query_data *data);
const struct row_index *query_data_flows_in(struct query_data *data);
const struct row_index *query_data_members_by_slice(struct query_data *data);
const struct row_index *query_data_messages_by_slice(struct query_data *data);

/* The rows that an index has under `key`; none for a key that is none. False: `index` is NULL, for lack of
 * memory. */
gboolean query_rows_of_key(struct query_rows *rows, const struct row_index *index, gint64 key);
/* A function of <tacho/timeline.h> that tells the rows of a track, and those of `track` by it: none for
 * a number that is no track's. */
typedef guint query_rows_on_track(const TachoTimeline *timeline, guint32 track, guint *ret_first);
void query_rows_of_track(struct query_rows *rows, const struct query_data *data,
			 query_rows_on_track *rows_on_track, gint64 track);

/* The collective that `slice` is a member of, TACHO_NONE: none. */
guint32 query_data_collective(struct query_data *data, guint32 slice);
/* The same of a row of the timeline's members. */
guint32 query_data_collective_of_member(const struct query_data *data, guint32 member);
/* The row of the step in which `time_ns` lies on the rank of `process`, TACHO_NONE: none. */
guint32 query_data_step(const struct query_data *data, guint32 process, gint64 time_ns);
/* The rank of a process; -1: no launcher said. */
gint32 query_data_rank(const struct query_data *data, guint32 process);
/* Whether there may be args for `slice`. */
gboolean query_data_has_args(const TachoTimeline *timeline, guint32 slice);
/* What is known of `slice` without its foreign args and single tensors, good until the next call. */
const struct slice_args *query_data_args(struct query_data *data, guint32 slice);

#endif
