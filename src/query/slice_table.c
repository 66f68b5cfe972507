/* slice_table: the table `slice`, by far the largest. What a WHERE says of id, track, time, parent and
 * name narrows the walk:
 *
 * (1) Rows are ordered by track, then time (timeline.h (1)): a bound of ts is a range of rows in each
 *     track, found by bisection; the walk goes from track to track.
 * (2) A name is compared as the number of its string; a pattern is tried once on each distinct name.
 *     Who asks for one name again and again, as a join does, gets an index.
 * (3) Children stand behind their parent, on its track, and begin before it ends.
 * (4) Of several processes that read a run together, each has the slices of its own ranks (query_share.h). */
#include "base/partition_point.h"
#include "query/id_range.h"
#include "query/query_functions.h"
#include "query/query_plan.h"
#include "query/query_table.h"
#include "trace/run_share.h"
#include "trace/string_table.h"

enum slice_column {
	SLICE_ID,
	SLICE_TS,
	SLICE_DUR,
	SLICE_TRACK_ID,
	SLICE_CATEGORY,
	SLICE_NAME,
	SLICE_DEPTH,
	SLICE_PARENT_ID,
	SLICE_ARG_SET_ID,
	SLICE_SELF_DUR,
	SLICE_LAUNCH_ID,
	SLICE_RANK,
	SLICE_STEP,
	SLICE_IS_OPEN,
};

static const struct query_column columns[] = {
	[SLICE_ID] = QUERY_ANSWER("id", QUERY_INTEGER, "number of the slice, by track, then ts"),
	[SLICE_TS] = QUERY_ANSWER("ts", QUERY_INTEGER, "begin, ns since the run's origin"),
	[SLICE_DUR] = QUERY_ANSWER("dur", QUERY_INTEGER,
				   "duration, ns; for an open slice, up to the end"),
	[SLICE_TRACK_ID] = QUERY_ANSWER("track_id", QUERY_INTEGER, "its track: track.id"),
	[SLICE_CATEGORY] =
		QUERY_ANSWER("category", QUERY_TEXT,
			     "op, kernel, collective, annotation, module, wait, message ..."),
	[SLICE_NAME] = QUERY_ANSWER("name", QUERY_TEXT, "name"),
	[SLICE_DEPTH] = QUERY_ANSWER("depth", QUERY_INTEGER, "how many slices lie around it"),
	[SLICE_PARENT_ID] = QUERY_ANSWER("parent_id", QUERY_INTEGER,
					 "the slice directly around it; NULL: none"),
	[SLICE_ARG_SET_ID] = QUERY_ANSWER("arg_set_id", QUERY_INTEGER,
					  "its args: args.arg_set_id; NULL: it has none"),
	[SLICE_SELF_DUR] =
		QUERY_ANSWER("self_dur", QUERY_INTEGER, "dur without that of its children, ns"),
	[SLICE_LAUNCH_ID] = QUERY_ANSWER("launch_id", QUERY_INTEGER,
					 "the slice of a thread that queued this one on a device"),
	[SLICE_RANK] = QUERY_ANSWER("rank", QUERY_INTEGER, "rank it was recorded on"),
	[SLICE_STEP] = QUERY_ANSWER("step", QUERY_INTEGER,
				    "number of the training step it begins in; NULL: in no step"),
	[SLICE_IS_OPEN] = QUERY_ANSWER("is_open", QUERY_INTEGER,
				       "1: it was still open when the recording ended"),
};

/* --- planning --------------------------------------------------------------------------------- */

/* Shares of the rows that a constraint is guessed to leave. */
#define TIME_SHARE     0.25
#define PARENT_SHARE   0.001
#define NAME_SHARE     0.02
#define PATTERN_SHARE  0.1
#define CATEGORY_SHARE 0.3
/* What a row costs that the walk looks at, of what one costs that SQLite gets. */
#define LOOK_COST 0.05

static gboolean is_binary(sqlite3_index_info *info, int index)
{
	return g_ascii_strcasecmp(sqlite3_vtab_collation(info, index), "BINARY") == 0;
}

/* What of the rows constraint `index` leaves; 1: the walk makes no use of it. */
static gdouble share_left(const struct query_vtab *vtab, sqlite3_index_info *info, int index,
			  gboolean *ret_is_sure)
{
	const struct sqlite3_index_constraint *constraint = &info->aConstraint[index];
	const TachoTimeline *timeline = vtab->data->timeline;
	gboolean is_equal = constraint->op == SQLITE_INDEX_CONSTRAINT_EQ;

	*ret_is_sure = FALSE;
	switch (query_constraint_column(constraint->iColumn)) {
	case SLICE_ID:
		if (!id_range_takes(constraint->op))
			return 1;
		return is_equal ? 1.0 / MAX(timeline->slices.n, 2) : TIME_SHARE;
	case SLICE_TS:
		return id_range_takes(constraint->op) ? TIME_SHARE : 1;
	case SLICE_TRACK_ID:
		return is_equal ? 1.0 / MAX(timeline->tracks->len, 2) : 1;
	case SLICE_PARENT_ID:
		return is_equal ? PARENT_SHARE : 1;
	case SLICE_CATEGORY:
		*ret_is_sure = is_equal && is_binary(info, index);
		return *ret_is_sure ? CATEGORY_SHARE : 1;
	case SLICE_NAME:
		*ret_is_sure = is_equal && is_binary(info, index);
		if (*ret_is_sure)
			return NAME_SHARE;
		return constraint->op == SQLITE_INDEX_CONSTRAINT_GLOB ||
				       constraint->op == SQLITE_INDEX_CONSTRAINT_LIKE ||
				       constraint->op == SQLITE_INDEX_CONSTRAINT_REGEXP
			       ? PATTERN_SHARE
			       : 1;
	default:
		return 1;
	}
}

/* Rows come by id, that is by (track_id, ts); on one track by ts. */
static gboolean is_in_order(const sqlite3_index_info *info, gboolean is_one_track)
{
	int order[] = { SLICE_TRACK_ID, SLICE_TS, SLICE_ID };
	int at = is_one_track && info->aOrderBy[0].iColumn != SLICE_TRACK_ID ? 1 : 0;

	for (int i = 0; i < info->nOrderBy; i++) {
		if (info->aOrderBy[i].desc)
			return FALSE;
		if (query_constraint_column(info->aOrderBy[i].iColumn) == SLICE_ID)
			return TRUE; /* what stands behind it decides nothing */
		if (at >= (int)G_N_ELEMENTS(order) || info->aOrderBy[i].iColumn != order[at++])
			return FALSE;
	}
	return info->nOrderBy > 0;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct query_vtab *vtab = (struct query_vtab *)base;
	gdouble n_rows = vtab->data->timeline->slices.n, n_walked = n_rows;
	gboolean is_one_track = FALSE;
	struct query_plan plan;

	query_plan_init(&plan, info);
	for (int i = 0; i < info->nConstraint; i++) {
		int column = query_constraint_column(info->aConstraint[i].iColumn);
		gboolean is_sure;
		gdouble share;

		if (!info->aConstraint[i].usable)
			continue;
		share = share_left(vtab, info, i, &is_sure);
		if (share >= 1)
			continue;
		query_plan_take(&plan, i, is_sure);
		n_rows *= share;
		if (column != SLICE_CATEGORY &&
		    (column != SLICE_NAME || info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ))
			n_walked *= share;
		is_one_track |= column == SLICE_TRACK_ID;
		if (column == SLICE_ID && info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ)
			info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
	}
	info->orderByConsumed = is_in_order(info, is_one_track);
	return query_plan_finish(&plan, n_rows, 1 + LOOK_COST * n_walked / MAX(n_rows, 1));
}

/* --- walking ---------------------------------------------------------------------------------- */

struct slice_cursor {
	sqlite3_vtab_cursor base;
	guint32 row, end; /* of the range that is walked */
	gboolean is_end;

	/* Tracks still to walk, and what of each. */
	guint32 track, end_track;
	struct id_range ts;
	guint32 first_row, end_row;

	/* Or rows that an index has. */
	const guint32 *indexed, *indexed_end;

	/* What a row must be; see passes(). */
	gboolean has_filter;
	guint32 name, parent; /* TACHO_NONE: any */
	guint8 *has_name;     /* of each string id; NULL: any */
	guint32 kinds;	      /* a bit each */
};

#define ALL_KINDS G_MAXUINT32
G_STATIC_ASSERT(TACHO_N_SLICE_KINDS <= 32);

static const TachoTimeline *timeline_of(const struct slice_cursor *cursor)
{
	return ((const struct query_vtab *)cursor->base.pVtab)->data->timeline;
}

static gboolean passes(const struct slice_cursor *cursor, const TachoSlices *slices, guint32 row)
{
	return (cursor->name == TACHO_NONE || slices->name[row] == cursor->name) &&
	       (!cursor->has_name || cursor->has_name[slices->name[row]]) &&
	       (cursor->kinds & 1u << slices->kind[row]) &&
	       (cursor->parent == TACHO_NONE || slices->parent[row] == cursor->parent);
}

static void limit_to_time(struct slice_cursor *cursor, const TachoSlices *slices)
{
	if (cursor->ts.first > G_MININT64)
		cursor->row = PARTITION_POINT(i, cursor->row, cursor->end,
					      slices->start_ns[i] < cursor->ts.first);
	if (cursor->ts.last < G_MAXINT64)
		cursor->end = PARTITION_POINT(i, cursor->row, cursor->end,
					      slices->start_ns[i] <= cursor->ts.last);
}

/* Begin the next track's range; false: there is none. */
static gboolean next_range(struct slice_cursor *cursor)
{
	const TachoTimeline *timeline = timeline_of(cursor);

	while (cursor->track < cursor->end_track) {
		const TachoTrack *track = tacho_timeline_track(timeline, cursor->track++);

		cursor->row = MAX(track->first_slice, cursor->first_row);
		cursor->end = MIN(track->first_slice + track->n_slices, cursor->end_row);
		if (cursor->row >= cursor->end || !run_share_owns(timeline, track->process))
			continue;
		limit_to_time(cursor, &timeline->slices);
		if (cursor->row < cursor->end)
			return TRUE;
	}
	return FALSE;
}

/* From `row` on to the next one that is wanted. */
static void settle(struct slice_cursor *cursor)
{
	const TachoSlices *slices = &timeline_of(cursor)->slices;

	do {
		guint32 row = cursor->row, end = cursor->end;

		while (row < end && cursor->has_filter && !passes(cursor, slices, row))
			row++;
		cursor->row = row;
		if (row < end)
			return;
	} while (next_range(cursor));
	cursor->is_end = TRUE;
}

static gboolean is_in_range(const struct slice_cursor *cursor, const TachoSlices *slices,
			    guint32 row)
{
	const TachoTimeline *timeline = timeline_of(cursor);
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[row]);

	return run_share_owns(timeline, track->process) && row >= cursor->first_row &&
	       row < cursor->end_row && slices->start_ns[row] >= cursor->ts.first &&
	       slices->start_ns[row] <= cursor->ts.last && slices->track[row] >= cursor->track &&
	       slices->track[row] < cursor->end_track;
}

static void settle_indexed(struct slice_cursor *cursor)
{
	const TachoSlices *slices = &timeline_of(cursor)->slices;

	for (; cursor->indexed < cursor->indexed_end; cursor->indexed++) {
		cursor->row = *cursor->indexed;
		if (is_in_range(cursor, slices, cursor->row) && passes(cursor, slices, cursor->row))
			return;
	}
	cursor->is_end = TRUE;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct slice_cursor *cursor = (struct slice_cursor *)base;

	if (cursor->indexed) {
		cursor->indexed++;
		settle_indexed(cursor);
		return SQLITE_OK;
	}
	cursor->row++;
	if (cursor->has_filter || cursor->row >= cursor->end)
		settle(cursor);
	return SQLITE_OK;
}

/* --- what the WHERE says ---------------------------------------------------------------------- */

static void want_nothing(struct slice_cursor *cursor)
{
	cursor->end_row = cursor->first_row = 0;
}

static void limit_to_rows(struct slice_cursor *cursor, guint32 first, guint32 end)
{
	cursor->first_row = MAX(cursor->first_row, first);
	cursor->end_row = MIN(cursor->end_row, end);
}

static void limit_to_track(struct slice_cursor *cursor, sqlite3_value *value)
{
	struct id_range range = ID_RANGE_ALL;
	guint32 first, end;

	id_range_narrow(&range, SQLITE_INDEX_CONSTRAINT_EQ, value);
	id_range_rows(&range, timeline_of(cursor)->tracks->len, &first, &end);
	cursor->track = MAX(cursor->track, first);
	cursor->end_track = MIN(cursor->end_track, end);
}

/* See (3); a slice of no length may begin where its parent ends. */
static void limit_to_parent(struct slice_cursor *cursor, sqlite3_value *value)
{
	const TachoTimeline *timeline = timeline_of(cursor);
	const TachoTrack *track;
	struct id_range range = ID_RANGE_ALL;

	id_range_narrow(&range, SQLITE_INDEX_CONSTRAINT_EQ, value);
	if (range.first < range.last)
		return; /* not a number: SQLite will see */
	if (range.first > range.last || range.first < 0 || range.first >= timeline->slices.n) {
		want_nothing(cursor);
		return;
	}
	cursor->parent = (guint32)range.first;
	track = tacho_timeline_track(timeline, timeline->slices.track[cursor->parent]);
	limit_to_rows(cursor, cursor->parent + 1, track->first_slice + track->n_slices);
	cursor->ts.last = MIN(cursor->ts.last, tacho_slice_end_ns(timeline, cursor->parent));
}

/* A text that no slice has, or no text: nothing. Numbers compare as their digits with a TEXT column. */
static void limit_to_name(struct slice_cursor *cursor, sqlite3_value *value)
{
	gboolean is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
	const gchar *text = (const gchar *)sqlite3_value_text(value); /* changes the type */
	guint32 id;

	if (is_blob || !text || (gsize)sqlite3_value_bytes(value) != strlen(text) ||
	    !string_table_find(timeline_of(cursor)->strings, text, -1, &id) || id == 0 ||
	    (cursor->name != TACHO_NONE && cursor->name != id))
		want_nothing(cursor);
	else
		cursor->name = id;
}

static void limit_to_category(struct slice_cursor *cursor, sqlite3_value *value)
{
	gboolean is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
	const gchar *text = (const gchar *)sqlite3_value_text(value);
	guint32 kinds = 0;

	for (guint kind = 0; text && !is_blob && kind < TACHO_N_SLICE_KINDS; kind++)
		if (strcmp(tacho_slice_kind_name((TachoSliceKind)kind), text) == 0)
			kinds |= 1u << kind;
	cursor->kinds &= kinds;
	if (!cursor->kinds)
		want_nothing(cursor);
}

static gboolean matches(unsigned char op, const gchar *pattern, GRegex *regex, const gchar *name)
{
	if (op == SQLITE_INDEX_CONSTRAINT_GLOB)
		return sqlite3_strglob(pattern, name) == 0;
	if (op == SQLITE_INDEX_CONSTRAINT_LIKE)
		return sqlite3_strlike(pattern, name, 0) == 0;
	return query_regex_matches(regex, name);
}

/* SQLite will check again, and complain of a broken pattern. */
static void limit_to_pattern(struct slice_cursor *cursor, unsigned char op, sqlite3_value *value)
{
	const TachoTimeline *timeline = timeline_of(cursor);
	const gchar *pattern = (const gchar *)sqlite3_value_text(value);
	guint32 n_names = string_table_size(timeline->strings);
	g_autoptr(GRegex) regex = NULL;

	if (!pattern)
		return;
	if (op == SQLITE_INDEX_CONSTRAINT_REGEXP && !(regex = query_regex_new(pattern, NULL)))
		return;
	if (!cursor->has_name) {
		cursor->has_name = g_try_malloc(n_names);
		if (!cursor->has_name)
			return;
		memset(cursor->has_name, 1, n_names);
		cursor->has_name[0] = 0; /* no name is NULL, which matches nothing */
	}
	for (guint32 id = 1; id < n_names; id++)
		if (cursor->has_name[id])
			cursor->has_name[id] = (guint8)matches(op, pattern, regex,
							       tacho_timeline_string(timeline, id));
}

static void apply(struct slice_cursor *cursor, int column, unsigned char op, sqlite3_value *value)
{
	struct id_range ids = ID_RANGE_ALL;
	guint32 first, end;

	switch (column) {
	case SLICE_ID:
		id_range_narrow(&ids, op, value);
		id_range_rows(&ids, timeline_of(cursor)->slices.n, &first, &end);
		limit_to_rows(cursor, first, end);
		break;
	case SLICE_TS:
		id_range_narrow(&cursor->ts, op, value);
		break;
	case SLICE_TRACK_ID:
		limit_to_track(cursor, value);
		break;
	case SLICE_PARENT_ID:
		limit_to_parent(cursor, value);
		break;
	case SLICE_CATEGORY:
		limit_to_category(cursor, value);
		break;
	default:
		if (op == SQLITE_INDEX_CONSTRAINT_EQ)
			limit_to_name(cursor, value);
		else
			limit_to_pattern(cursor, op, value);
	}
}

/* Rows are all on the tracks from that of first_row to that of the last one. */
static void limit_tracks(struct slice_cursor *cursor, const TachoSlices *slices)
{
	if (cursor->first_row >= cursor->end_row) {
		cursor->end_track = cursor->track;
		return;
	}
	cursor->track = MAX(cursor->track, slices->track[cursor->first_row]);
	cursor->end_track = MIN(cursor->end_track, slices->track[cursor->end_row - 1] + 1);
}

/* The first walk for a name looks at all rows that are in question; the next ones use the index. */
static void use_index(struct slice_cursor *cursor, struct query_data *data)
{
	struct query_rows rows;

	if (cursor->name == TACHO_NONE || cursor->end_row - cursor->first_row < 2 ||
	    cursor->parent != TACHO_NONE || data->n_name_walks++ == 0)
		return;
	if (!query_rows_of_key(&rows, query_data_slices_by_name(data), cursor->name))
		return;
	cursor->indexed = rows.rows;
	cursor->indexed_end = rows.rows + rows.n;
}

static void reset(struct slice_cursor *cursor, const TachoTimeline *timeline)
{
	struct slice_cursor fresh = {
		.base = cursor->base,
		.end_track = timeline->tracks->len,
		.ts = ID_RANGE_ALL,
		.end_row = timeline->slices.n,
		.name = TACHO_NONE,
		.parent = TACHO_NONE,
		.kinds = ALL_KINDS,
	};

	g_free(cursor->has_name);
	*cursor = fresh;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
		  sqlite3_value **argv)
{
	struct slice_cursor *cursor = (struct slice_cursor *)base;
	struct query_data *data = ((struct query_vtab *)base->pVtab)->data;

	(void)number;
	reset(cursor, data->timeline);
	for (int i = 0; i < argc; i++)
		apply(cursor, query_plan_column(plan, i), query_plan_operator(plan, i), argv[i]);
	cursor->has_filter = cursor->name != TACHO_NONE || cursor->has_name ||
			     cursor->parent != TACHO_NONE || cursor->kinds != ALL_KINDS;
	limit_tracks(cursor, &data->timeline->slices);
	use_index(cursor, data);
	if (cursor->indexed)
		settle_indexed(cursor);
	else
		settle(cursor);
	return SQLITE_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

/* What is left of the row by those that begin while it is open (trace/own_time.h). */
static gint64 self_ns(const TachoTimeline *timeline, guint32 row)
{
	const TachoSlices *slices = &timeline->slices;
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[row]);
	guint32 end = track->first_slice + track->n_slices;
	gint64 self = 0, at_ns = slices->start_ns[row], end_ns = tacho_slice_end_ns(timeline, row);

	if (track->kind == TACHO_TRACK_ASYNC)
		return slices->duration_ns[row];
	for (guint32 next = row + 1; next < end && slices->start_ns[next] < end_ns; next++) {
		self += MAX(slices->start_ns[next] - at_ns, 0);
		at_ns = MAX(at_ns, tacho_slice_end_ns(timeline, next));
	}
	return self + MAX(end_ns - at_ns, 0);
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoTimeline *timeline = data->timeline;
	const TachoSlices *slices = &timeline->slices;

	switch ((enum slice_column)column) {
	case SLICE_ID:
		sqlite3_result_int64(result, row);
		break;
	case SLICE_TS:
		sqlite3_result_int64(result, slices->start_ns[row]);
		break;
	case SLICE_DUR:
		sqlite3_result_int64(result, slices->duration_ns[row]);
		break;
	case SLICE_TRACK_ID:
		sqlite3_result_int64(result, slices->track[row]);
		break;
	case SLICE_CATEGORY:
		query_result_text(result, tacho_slice_kind_name((TachoSliceKind)slices->kind[row]));
		break;
	case SLICE_NAME:
		query_result_string(result, data, slices->name[row]);
		break;
	case SLICE_DEPTH:
		sqlite3_result_int64(result, slices->depth[row]);
		break;
	case SLICE_PARENT_ID:
		query_result_id(result, slices->parent[row]);
		break;
	case SLICE_ARG_SET_ID:
		if (query_data_has_args(timeline, row))
			sqlite3_result_int64(result, row);
		break;
	case SLICE_SELF_DUR:
		sqlite3_result_int64(result, self_ns(timeline, row));
		break;
	case SLICE_LAUNCH_ID:
		query_result_id(result, slices->launch[row]);
		break;
	case SLICE_RANK:
		query_result_rank_of_slice(result, data, row);
		break;
	case SLICE_STEP:
		query_result_step(result, data,
				  tacho_timeline_track(timeline, slices->track[row])->process,
				  slices->start_ns[row]);
		break;
	case SLICE_IS_OPEN:
		sqlite3_result_int(result, (slices->flags[row] & TACHO_SLICE_OPEN) != 0);
		break;
	}
}

static int column_value(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
	cell(((struct query_vtab *)base->pVtab)->data, ((struct slice_cursor *)base)->row,
	     (guint)column, result);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
	*ret_rowid = ((struct slice_cursor *)cursor)->row;
	return SQLITE_OK;
}

static int is_end(sqlite3_vtab_cursor *cursor)
{
	return ((struct slice_cursor *)cursor)->is_end;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret_cursor)
{
	struct slice_cursor *cursor = g_new0(struct slice_cursor, 1);

	(void)vtab;
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct slice_cursor *cursor = (struct slice_cursor *)base;

	g_free(cursor->has_name);
	g_free(cursor);
	return SQLITE_OK;
}

static const sqlite3_module slice_module = QUERY_MODULE;

const struct query_table query_table_slice = {
	.name = "slice",
	.meaning = "what happened: operations, kernels, collectives ...",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &slice_module,
};
