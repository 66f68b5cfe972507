#include "query/query_data.h"

#include "base/for_each.h"
#include "base/partition_point.h"
#include "trace/string_table.h"

/* --- what is made at once --------------------------------------------------------------------- */

static void number_threads(struct query_data *data)
{
	const TachoTimeline *timeline = data->timeline;

	data->utid_of_track = g_new(guint32, MAX(timeline->tracks->len, 1));
	data->threads = g_array_new(FALSE, FALSE, sizeof(guint32));
	for (guint32 track = 0; track < timeline->tracks->len; track++) {
		data->utid_of_track[track] = TACHO_NONE;
		if (tacho_timeline_track(timeline, track)->kind != TACHO_TRACK_THREAD)
			continue;
		data->utid_of_track[track] = data->threads->len;
		g_array_append_val(data->threads, track);
	}
}

static guint32 find_parent(const TachoTimeline *timeline, const TachoProcess *process)
{
	FOR_EACH_AT(const TachoProcess, other, i, timeline->processes)
		if (other != process && other->pid == process->ppid && other->host == process->host)
			return i;
	return TACHO_NONE;
}

static void find_parents(struct query_data *data)
{
	const GArray *processes = data->timeline->processes;

	data->parent_upid = g_new(guint32, MAX(processes->len, 1));
	for (guint32 i = 0; i < processes->len; i++)
		data->parent_upid[i] =
			find_parent(data->timeline, &g_array_index(processes, TachoProcess, i));
}

/* Steps stand by rank and number. */
static void find_steps(struct query_data *data)
{
	const GArray *steps = data->timeline->steps;
	guint32 n_ranks = data->timeline->ranks->len, row = 0;

	data->first_step = g_new(guint32, n_ranks + 1);
	for (guint32 rank = 0; rank <= n_ranks; rank++) {
		while (row < steps->len && g_array_index(steps, TachoStep, row).rank_index < rank)
			row++;
		data->first_step[rank] = row;
	}
}

void query_data_init(struct query_data *data, const TachoTimeline *timeline, sqlite3 *db)
{
	*data = (struct query_data){ .timeline = timeline, .db = db };
	number_threads(data);
	find_parents(data);
	find_steps(data);
	slice_args_init(&data->args);
}

void query_data_release(struct query_data *data)
{
	if (!data->timeline)
		return;
	g_clear_pointer(&data->utid_of_track, g_free);
	g_clear_pointer(&data->parent_upid, g_free);
	g_clear_pointer(&data->first_step, g_free);
	g_clear_pointer(&data->threads, g_array_unref);
	g_clear_pointer(&data->slices_by_name, row_index_free);
	g_clear_pointer(&data->flows_out, row_index_free);
	g_clear_pointer(&data->flows_in, row_index_free);
	g_clear_pointer(&data->members_by_slice, row_index_free);
	g_clear_pointer(&data->messages_by_slice, row_index_free);
	g_clear_pointer(&data->json_leaves, sqlite3_finalize);
	slice_args_release(&data->args);
	data->timeline = NULL;
}

/* --- what is made when needed ----------------------------------------------------------------- */

static guint32 name_of_slice(gconstpointer slices, guint32 row)
{
	return ((const TachoSlices *)slices)->name[row];
}

static guint32 from_of_flow(gconstpointer flows, guint32 row)
{
	return g_array_index((const GArray *)flows, TachoFlow, row).from;
}

static guint32 to_of_flow(gconstpointer flows, guint32 row)
{
	return g_array_index((const GArray *)flows, TachoFlow, row).to;
}

static guint32 slice_of_member(gconstpointer members, guint32 row)
{
	return g_array_index((const GArray *)members, guint32, row);
}

static guint32 slice_of_message(gconstpointer messages, guint32 row)
{
	return g_array_index((const GArray *)messages, TachoMessage, row).slice;
}

const struct row_index *query_data_slices_by_name(struct query_data *data)
{
	const TachoTimeline *timeline = data->timeline;

	if (!data->slices_by_name)
		data->slices_by_name =
			row_index_new(string_table_size(timeline->strings), timeline->slices.n,
				      name_of_slice, &timeline->slices);
	return data->slices_by_name;
}

static const struct row_index *by_slice(struct query_data *data, struct row_index **index,
					const GArray *table, RowKey key_of)
{
	if (!*index)
		*index = row_index_new(data->timeline->slices.n, table->len, key_of, table);
	return *index;
}

const struct row_index *query_data_flows_out(struct query_data *data)
{
	return by_slice(data, &data->flows_out, data->timeline->flows, from_of_flow);
}

const struct row_index *query_data_flows_in(struct query_data *data)
{
	return by_slice(data, &data->flows_in, data->timeline->flows, to_of_flow);
}

const struct row_index *query_data_members_by_slice(struct query_data *data)
{
	return by_slice(data, &data->members_by_slice, data->timeline->members, slice_of_member);
}

const struct row_index *query_data_messages_by_slice(struct query_data *data)
{
	return by_slice(data, &data->messages_by_slice, data->timeline->messages, slice_of_message);
}

gboolean query_rows_of_key(struct query_rows *rows, const struct row_index *index, gint64 key)
{
	*rows = (struct query_rows){ 0 };
	if (index && key >= 0 && key < index->n_keys) {
		rows->rows = index->rows + index->first[key];
		rows->n = index->first[key + 1] - index->first[key];
	}
	return index != NULL;
}

void query_rows_of_track(struct query_rows *rows, const struct query_data *data,
			 query_rows_on_track *rows_on_track, gint64 track)
{
	*rows = (struct query_rows){ 0 };
	if (track >= 0 && track < data->timeline->tracks->len)
		rows->n = rows_on_track(data->timeline, (guint32)track, &rows->first);
}

/* --- looking up ------------------------------------------------------------------------------- */

/* The collective whose members include `member`; their ranges ascend. */
guint32 query_data_collective_of_member(const struct query_data *data, guint32 member)
{
	const GArray *collectives = data->timeline->collectives;
	guint n = ROWS_BEFORE(collectives, TachoCollective, row,
			      row->first_member + row->n_members <= member);

	return n < collectives->len ? n : TACHO_NONE;
}

guint32 query_data_collective(struct query_data *data, guint32 slice)
{
	struct query_rows members;

	query_rows_of_key(&members, query_data_members_by_slice(data), slice);
	return members.n ? query_data_collective_of_member(data, members.rows[0]) : TACHO_NONE;
}

guint32 query_data_step(const struct query_data *data, guint32 process, gint64 time_ns)
{
	const TachoTimeline *timeline = data->timeline;
	guint32 rank = tacho_timeline_process(timeline, process)->rank_index;
	guint32 step;

	if (rank >= timeline->ranks->len)
		return TACHO_NONE;
	step = PARTITION_POINT(i, data->first_step[rank], data->first_step[rank + 1],
			       g_array_index(timeline->steps, TachoStep, i).end_ns <= time_ns);
	if (step == data->first_step[rank + 1] ||
	    g_array_index(timeline->steps, TachoStep, step).start_ns > time_ns)
		return TACHO_NONE;
	return step;
}

gint32 query_data_rank(const struct query_data *data, guint32 process)
{
	const TachoTimeline *timeline = data->timeline;
	const TachoProcess *row = tacho_timeline_process(timeline, process);

	if (row->rank_index < timeline->ranks->len)
		return tacho_timeline_rank(timeline, row->rank_index)->rank;
	return row->rank;
}

gboolean query_data_has_args(const TachoTimeline *timeline, guint32 slice)
{
	const TachoSlices *slices = &timeline->slices;

	return slices->source[slice] || slices->flags[slice] ||
	       slices->kind[slice] == TACHO_SLICE_COLLECTIVE;
}

const struct slice_args *query_data_args(struct query_data *data, guint32 slice)
{
	const TachoTimeline *timeline = data->timeline;
	guint32 collective = TACHO_NONE;

	if (timeline->slices.kind[slice] == TACHO_SLICE_COLLECTIVE)
		collective = query_data_collective(data, slice);
	slice_args_of_slice(&data->args, timeline, slice,
			    collective == TACHO_NONE ? NULL
						     : &g_array_index(timeline->collectives,
								      TachoCollective, collective));
	return &data->args;
}
