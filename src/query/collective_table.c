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

static void first_begin(struct query_data *data, guint32 row, sqlite3_context *result)
{
	sqlite3_result_int64(result, first_begin_ns(data, collective_at(data, row)));
}

static void duration(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const TachoCollective *collective = collective_at(data, row);

	sqlite3_result_int64(result,
			     last_end_ns(data, collective) - first_begin_ns(data, collective));
}

static void transfer(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const TachoCollective *collective = collective_at(data, row);

	sqlite3_result_int64(result, last_end_ns(data, collective) - collective->last_begin_ns);
}

static const struct query_column collective_columns[] = {
	ROW_ID("id", "number of the collective"),
	CELL("ts", QUERY_INTEGER, first_begin, "when the first rank queued it, ns"),
	CELL("dur", QUERY_INTEGER, duration, "until it was complete on the last rank, ns"),
	STRING("name", TachoCollective, name, "name"),
	INTEGER("group_id", TachoCollective, group, "number of the process group"),
	INTEGER("sequence", TachoCollective, sequence, "its place in the group"),
	KNOWN("bytes", TachoCollective, bytes, "size of one rank's input"),
	INTEGER("ranks", TachoCollective, n_members, "ranks that were recorded in it"),
	INTEGER("expected_ranks", TachoCollective, n_expected, "ranks in the group"),
	INTEGER("last_begin_ts", TachoCollective, last_begin_ns,
		"when the last rank queued it, ns"),
	CELL("transfer_dur", QUERY_INTEGER, transfer,
	     "from late_ts until it was complete on the last rank, ns"),
};

const struct query_table query_table_collective = {
	.name = "collective",
	.meaning = "collective operations, one row for all ranks of each",
	.columns = collective_columns,
	.n_columns = G_N_ELEMENTS(collective_columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, collectives),
};

/* --- collective_member ------------------------------------------------------------------------ */

static gint64 wait_ns(const struct query_data *data, guint32 member)
{
	const TachoSlices *slices = &data->timeline->slices;
	guint32 collective = query_data_collective_of_member(data, member);
	guint32 slice = member_at(data, member);

	if (collective == TACHO_NONE)
		return 0;
	return CLAMP(collective_at(data, collective)->last_begin_ns - slices->start_ns[slice], 0,
		     slices->duration_ns[slice]);
}

static void collective_id(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_id(result, query_data_collective_of_member(data, row));
}

static void slice_id(struct query_data *data, guint32 row, sqlite3_context *result)
{
	sqlite3_result_int64(result, member_at(data, row));
}

static void rank(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_rank_of_slice(result, data, member_at(data, row));
}

static void wait(struct query_data *data, guint32 row, sqlite3_context *result)
{
	sqlite3_result_int64(result, wait_ns(data, row));
}

static void rest(struct query_data *data, guint32 row, sqlite3_context *result)
{
	gint64 duration_ns = data->timeline->slices.duration_ns[member_at(data, row)];

	sqlite3_result_int64(result, duration_ns - wait_ns(data, row));
}

static gboolean find_by_slice(struct query_data *data, gint64 value, struct query_rows *rows)
{
	return query_rows_of_key(rows, query_data_members_by_slice(data), value);
}

static gboolean find_by_collective(struct query_data *data, gint64 value, struct query_rows *rows)
{
	*rows = (struct query_rows){ 0 };
	if (value >= 0 && value < data->timeline->collectives->len) {
		rows->first = collective_at(data, (guint32)value)->first_member;
		rows->n = collective_at(data, (guint32)value)->n_members;
	}
	return TRUE;
}

static const struct query_column member_columns[] = {
	ROW_ID("id", "number of the row"),
	CELL("collective_id", QUERY_INTEGER, collective_id, "collective.id",
	     .find = find_by_collective),
	CELL("slice_id", QUERY_INTEGER, slice_id, "the rank's slice: slice.id",
	     .find = find_by_slice),
	CELL("rank", QUERY_INTEGER, rank, "rank"),
	CELL("wait_dur", QUERY_INTEGER, wait, "from its begin until the last rank had begun, ns"),
	CELL("transfer_dur", QUERY_INTEGER, rest, "the rest of its dur, ns"),
};

const struct query_table query_table_collective_member = {
	.name = "collective_member",
	.meaning = "each rank's part in a collective",
	.columns = member_columns,
	.n_columns = G_N_ELEMENTS(member_columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, members),
};
