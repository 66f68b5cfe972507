/* collective_table: the tables `collective` and `collective_member`: what ranks did together, and each
 * rank's part in it. */
#include "query/query_table.h"

static const TachoCollective *collective_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->collectives, TachoCollective, row);
}

static guint32 member_at(const struct query_data *data, guint32 row)
{
	return g_array_index(data->timeline->members, guint32, row);
}

/* --- collective ------------------------------------------------------------------------------- */

enum collective_column {
	COLLECTIVE_ID,
	COLLECTIVE_TS,
	COLLECTIVE_DUR,
	COLLECTIVE_NAME,
	COLLECTIVE_GROUP_ID,
	COLLECTIVE_SEQUENCE,
	COLLECTIVE_BYTES,
	COLLECTIVE_RANKS,
	COLLECTIVE_EXPECTED_RANKS,
	COLLECTIVE_LAST_BEGIN_TS,
	COLLECTIVE_TRANSFER_DUR,
};

static const struct query_column collective_columns[] = {
	[COLLECTIVE_ID] = { "id", QUERY_INTEGER, "number of the collective" },
	[COLLECTIVE_TS] = { "ts", QUERY_INTEGER, "when the first rank queued it, ns" },
	[COLLECTIVE_DUR] = { "dur", QUERY_INTEGER, "until it was complete on the last rank, ns" },
	[COLLECTIVE_NAME] = { "name", QUERY_TEXT, "name" },
	[COLLECTIVE_GROUP_ID] = { "group_id", QUERY_INTEGER, "number of the process group" },
	[COLLECTIVE_SEQUENCE] = { "sequence", QUERY_INTEGER, "its place in the group" },
	[COLLECTIVE_BYTES] = { "bytes", QUERY_INTEGER, "size of one rank's input" },
	[COLLECTIVE_RANKS] = { "ranks", QUERY_INTEGER, "ranks that were recorded in it" },
	[COLLECTIVE_EXPECTED_RANKS] = { "expected_ranks", QUERY_INTEGER, "ranks in the group" },
	[COLLECTIVE_LAST_BEGIN_TS] = { "last_begin_ts", QUERY_INTEGER,
				       "when the last rank queued it, ns" },
	[COLLECTIVE_TRANSFER_DUR] = { "transfer_dur", QUERY_INTEGER,
				      "from late_ts until it was complete on the last rank, ns" },
};

static guint32 n_collectives(const struct query_data *data)
{
	return data->timeline->collectives->len;
}

static gint64 first_begin_ns(const struct query_data *data, const TachoCollective *collective)
{
	gint64 first_ns = collective->last_begin_ns;

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice = member_at(data, collective->first_member + i);

		first_ns = MIN(first_ns, data->timeline->slices.start_ns[slice]);
	}
	return first_ns;
}

static gint64 last_end_ns(const struct query_data *data, const TachoCollective *collective)
{
	gint64 last_ns = collective->last_begin_ns;

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice = member_at(data, collective->first_member + i);

		last_ns = MAX(last_ns, tacho_slice_end_ns(data->timeline, slice));
	}
	return last_ns;
}

static void collective_cell(struct query_data *data, guint32 row, guint column,
			    sqlite3_context *result)
{
	const TachoCollective *collective = collective_at(data, row);

	switch ((enum collective_column)column) {
	case COLLECTIVE_ID:
		sqlite3_result_int64(result, row);
		break;
	case COLLECTIVE_TS:
		sqlite3_result_int64(result, first_begin_ns(data, collective));
		break;
	case COLLECTIVE_DUR:
		sqlite3_result_int64(result, last_end_ns(data, collective) -
						     first_begin_ns(data, collective));
		break;
	case COLLECTIVE_NAME:
		query_result_string(result, data, collective->name);
		break;
	case COLLECTIVE_GROUP_ID:
		sqlite3_result_int64(result, collective->group);
		break;
	case COLLECTIVE_SEQUENCE:
		sqlite3_result_int64(result, collective->sequence);
		break;
	case COLLECTIVE_BYTES:
		if (collective->bytes) /* else not known: null */
			sqlite3_result_int64(result, (sqlite3_int64)collective->bytes);
		break;
	case COLLECTIVE_RANKS:
		sqlite3_result_int64(result, collective->n_members);
		break;
	case COLLECTIVE_EXPECTED_RANKS:
		sqlite3_result_int64(result, collective->n_expected);
		break;
	case COLLECTIVE_LAST_BEGIN_TS:
		sqlite3_result_int64(result, collective->last_begin_ns);
		break;
	case COLLECTIVE_TRANSFER_DUR:
		sqlite3_result_int64(result,
				     last_end_ns(data, collective) - collective->last_begin_ns);
		break;
	}
}

const struct query_table query_table_collective = {
	.name = "collective",
	.meaning = "collective operations, one row for all ranks of each",
	.columns = collective_columns,
	.n_columns = G_N_ELEMENTS(collective_columns),
	.module = &query_row_module,
	.n_rows = n_collectives,
	.cell = collective_cell,
};

/* --- collective_member ------------------------------------------------------------------------ */

enum member_column {
	MEMBER_ID,
	MEMBER_COLLECTIVE_ID,
	MEMBER_SLICE_ID,
	MEMBER_RANK,
	MEMBER_WAIT_DUR,
	MEMBER_TRANSFER_DUR,
};

static const struct query_column member_columns[] = {
	[MEMBER_ID] = { "id", QUERY_INTEGER, "number of the row" },
	[MEMBER_COLLECTIVE_ID] = { "collective_id", QUERY_INTEGER, "collective.id" },
	[MEMBER_SLICE_ID] = { "slice_id", QUERY_INTEGER, "the rank's slice: slice.id" },
	[MEMBER_RANK] = { "rank", QUERY_INTEGER, "rank" },
	[MEMBER_WAIT_DUR] = { "wait_dur", QUERY_INTEGER,
			      "from its begin until the last rank had begun, ns" },
	[MEMBER_TRANSFER_DUR] = { "transfer_dur", QUERY_INTEGER, "the rest of its dur, ns" },
};

static guint32 n_members(const struct query_data *data)
{
	return data->timeline->members->len;
}

static gint64 wait_ns(const struct query_data *data, const TachoCollective *collective,
		      guint32 slice)
{
	const TachoSlices *slices = &data->timeline->slices;

	return CLAMP(collective->last_begin_ns - slices->start_ns[slice], 0,
		     slices->duration_ns[slice]);
}

static void member_cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoTimeline *timeline = data->timeline;
	guint32 slice = member_at(data, row);
	guint32 collective = query_data_collective_of_member(data, row);
	gint64 waited_ns = collective == TACHO_NONE
				   ? 0
				   : wait_ns(data, collective_at(data, collective), slice);

	switch ((enum member_column)column) {
	case MEMBER_ID:
		sqlite3_result_int64(result, row);
		break;
	case MEMBER_COLLECTIVE_ID:
		query_result_id(result, collective);
		break;
	case MEMBER_SLICE_ID:
		sqlite3_result_int64(result, slice);
		break;
	case MEMBER_RANK:
		query_result_optional(
			result,
			query_data_rank(
				data, tacho_timeline_track(timeline, timeline->slices.track[slice])
					      ->process));
		break;
	case MEMBER_WAIT_DUR:
		sqlite3_result_int64(result, waited_ns);
		break;
	case MEMBER_TRANSFER_DUR:
		sqlite3_result_int64(result, timeline->slices.duration_ns[slice] - waited_ns);
		break;
	}
}

static gboolean find_members(struct query_data *data, guint column, gint64 value,
			     struct query_rows *rows)
{
	if (column == MEMBER_SLICE_ID)
		return query_find_by_key(data, query_data_members_by_slice, value, rows);
	if (column != MEMBER_COLLECTIVE_ID)
		return FALSE;
	if (!rows)
		return TRUE;
	*rows = (struct query_rows){ 0 };
	if (value >= 0 && value < n_collectives(data)) {
		rows->first = collective_at(data, (guint32)value)->first_member;
		rows->n = collective_at(data, (guint32)value)->n_members;
	}
	return TRUE;
}

const struct query_table query_table_collective_member = {
	.name = "collective_member",
	.meaning = "each rank's part in a collective",
	.columns = member_columns,
	.n_columns = G_N_ELEMENTS(member_columns),
	.module = &query_row_module,
	.n_rows = n_members,
	.cell = member_cell,
	.find = find_members,
};
