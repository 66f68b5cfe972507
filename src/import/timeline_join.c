#include "import/timeline_join.h"

#include <string.h>
#include <tacho/import.h>

#include "trace/slice_columns.h"
#include "trace/source.h"
#include "trace/string_table.h"
#include "trace/told_meaning.h"

/* --- args ----------------------------------------------------------------------------------- */

/* Asks the joined timeline, which lives as long; places are its slices. */
struct joined_reader {
	struct foreign_reader reader;
	TachoTimeline *timeline;
	guint32 *strings; /* by its string ids: of the other's */
	guint32 n_strings;
};

static TachoTimeline *timeline_of(struct foreign_reader *reader)
{
	return ((struct joined_reader *)reader)->timeline;
}

static gboolean get_op(struct foreign_reader *reader, guint64 place, TachoOpArgs *args)
{
	return tacho_slice_op(timeline_of(reader), (guint32)place, args);
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *args)
{
	return tacho_slice_kernel(timeline_of(reader), (guint32)place, args);
}

static gboolean get_lead(struct foreign_reader *reader, guint64 place, TachoDeviceLead *lead)
{
	return tacho_slice_lead(timeline_of(reader), (guint32)place, lead);
}

static gboolean get_launch_shape(struct foreign_reader *reader, guint64 place,
				 TachoLaunchShape *shape)
{
	return tacho_slice_launch_shape(timeline_of(reader), (guint32)place, shape);
}

static gboolean get_numbers(struct foreign_reader *reader, guint64 place, guint n,
			    TachoNumbers *numbers)
{
	return tacho_slice_numbers(timeline_of(reader), (guint32)place, n, numbers);
}

static gboolean get_copy(struct foreign_reader *reader, guint64 place, TachoCopyArgs *args)
{
	return tacho_slice_copy(timeline_of(reader), (guint32)place, args);
}

static gboolean get_collective(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *args)
{
	return tacho_slice_collective(timeline_of(reader), (guint32)place, args);
}

static guint get_operation(struct foreign_reader *reader, guint64 place)
{
	return slice_operation(timeline_of(reader), (guint32)place);
}

static gboolean get_message(struct foreign_reader *reader, guint64 place, TachoMessageArgs *args)
{
	return tacho_slice_message(timeline_of(reader), (guint32)place, args);
}

static guint64 get_id(struct foreign_reader *reader, guint64 place)
{
	return tacho_slice_id(timeline_of(reader), (guint32)place);
}

static gboolean get_input(struct foreign_reader *reader, guint64 place, guint32 index,
			  TachoTensor *tensor)
{
	return tacho_slice_input(timeline_of(reader), (guint32)place, index, tensor);
}

static gboolean get_output(struct foreign_reader *reader, guint64 place, guint32 index,
			   TachoTensor *tensor)
{
	return tacho_slice_output(timeline_of(reader), (guint32)place, index, tensor);
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	return tacho_slice_args_json(timeline_of(reader), (guint32)place);
}

static guint32 string_of(struct foreign_reader *reader, guint32 id)
{
	const struct joined_reader *joined = (const struct joined_reader *)reader;

	return id < joined->n_strings ? joined->strings[id] : 0;
}

static gboolean get_told(struct foreign_reader *reader, guint64 place, TachoToldOp *told)
{
	if (!tacho_slice_told(timeline_of(reader), (guint32)place, told))
		return FALSE;
	told->type = string_of(reader, told->type);
	told->tags = string_of(reader, told->tags);
	return TRUE;
}

static guint32 get_maker(struct foreign_reader *reader, guint64 place, guint32 index)
{
	return string_of(reader, tacho_slice_maker(timeline_of(reader), (guint32)place, index));
}

static void free_joined(struct foreign_reader *reader)
{
	struct joined_reader *joined = (struct joined_reader *)reader;

	tacho_timeline_free(joined->timeline);
	g_free(joined->strings);
	g_free(joined);
}

static struct joined_reader *new_reader(TachoTimeline *to, TachoTimeline *timeline)
{
	struct joined_reader *joined = g_new0(struct joined_reader, 1);

	joined->reader = (struct foreign_reader){ .op = get_op,
						  .kernel = get_kernel,
						  .launch_shape = get_launch_shape,
						  .lead = get_lead,
						  .copy = get_copy,
						  .numbers = get_numbers,
						  .collective = get_collective,
						  .input = get_input,
						  .output = get_output,
						  .args_json = get_args_json,
						  .message = get_message,
						  .id = get_id,
						  .told = get_told,
						  .maker = get_maker,
						  .operation = get_operation,
						  .free = free_joined };
	joined->timeline = timeline;
	joined->n_strings = string_table_size(timeline->strings);
	joined->strings = g_new(guint32, joined->n_strings + 1);
	for (guint32 i = 0; i < joined->n_strings; i++)
		joined->strings[i] =
			tacho_timeline_intern(to, tacho_timeline_string(timeline, i), -1);
	return joined;
}

/* --- rows ----------------------------------------------------------------------------------- */

static gint64 move_time(const struct timeline_join *join, guint32 track, gint64 time_ns)
{
	return join->move(join, tacho_timeline_track(join->from, track)->process, time_ns);
}

/* (3) */
static gboolean is_left_out(const struct timeline_join *join, guint32 track)
{
	return join->processes[tacho_timeline_track(join->from, track)->process] == TACHO_NONE;
}

static guint32 move_slice(const struct timeline_join *join, guint32 slice)
{
	return slice == TACHO_NONE ? TACHO_NONE : join->slices[slice];
}

/* What importers said that names mean. */
static void join_meanings(const struct timeline_join *join)
{
	for (guint32 id = 0; id < join->n_strings; id++)
		told_meaning_copy(join->to, join->strings[id], join->from, id);
}

TachoProcess timeline_join_process(const struct timeline_join *join, guint32 process)
{
	TachoProcess row = *tacho_timeline_process(join->from, process);

	row.host = join->strings[row.host];
	row.command = join->strings[row.command];
	row.job = join->strings[row.job];
	row.clock = 0;
	row.start_ns = join->move(join, process, row.start_ns);
	row.end_ns = join->move(join, process, row.end_ns);
	return row;
}

static void join_children(const struct timeline_join *join)
{
	for (guint i = 0; i < join->from->children->len; i++) {
		TachoChild row = g_array_index(join->from->children, TachoChild, i);

		row.command = join->strings[row.command];
		g_array_append_val(join->to->children, row);
	}
}

static void join_tracks(const struct timeline_join *join)
{
	for (guint i = 0; i < join->from->tracks->len; i++) {
		TachoTrack row = g_array_index(join->from->tracks, TachoTrack, i);

		if (join->tracks[i] != TACHO_NONE || is_left_out(join, i))
			continue;
		join->tracks[i] = join->to->tracks->len;
		row.process = join->processes[row.process];
		row.name = join->strings[row.name];
		row.role = TACHO_ROLE_NONE;
		row.first_slice = row.n_slices = 0;
		row.first_ns = row.last_ns = 0;
		g_array_append_val(join->to->tracks, row);
	}
}

static void join_devices(const struct timeline_join *join)
{
	for (guint i = 0; i < join->from->devices->len; i++) {
		TachoDevice row = g_array_index(join->from->devices, TachoDevice, i);

		if (join->processes[row.process] == TACHO_NONE)
			continue;
		row.process = join->processes[row.process];
		row.name = join->strings[row.name];
		row.architecture = join->strings[row.architecture];
		g_array_append_val(join->to->devices, row);
	}
}

static void join_slices(const struct timeline_join *join)
{
	const TachoSlices *slices = &join->from->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		if (join->slices[i] != TACHO_NONE || is_left_out(join, slices->track[i]))
			continue;
		join->slices[i] = tacho_timeline_add_slice(
			join->to, (TachoSliceKind)slices->kind[i], join->tracks[slices->track[i]],
			join->strings[slices->name[i]],
			move_time(join, slices->track[i], slices->start_ns[i]),
			slices->duration_ns[i], slices->flags[i] & (guint8)~TACHO_SLICE_CRITICAL,
			slices->source[i] ? tacho_source_foreign_handle(join->foreign, i) : 0);
	}
	for (guint32 i = 0; i < slices->n; i++)
		if (slices->launch[i] != TACHO_NONE && join->slices[i] != TACHO_NONE)
			join->to->slices.launch[join->slices[i]] = join->slices[slices->launch[i]];
}

#define JOIN_MOMENTS(type, table)                                                                  \
	for (guint i = 0; i < join->from->table->len; i++) {                                       \
		type row = g_array_index(join->from->table, type, i);                              \
                                                                                                   \
		if (is_left_out(join, row.track))                                                  \
			continue;                                                                  \
		row.time_ns = move_time(join, row.track, row.time_ns);                             \
		row.track = join->tracks[row.track];                                               \
		g_array_append_val(join->to->table, row);                                          \
	}

static void join_moments(const struct timeline_join *join)
{
	guint first_mark = join->to->marks->len;

	JOIN_MOMENTS(TachoSample, samples)
	JOIN_MOMENTS(TachoMemoryEvent, memory)
	JOIN_MOMENTS(TachoMark, marks)
	for (guint i = first_mark; i < join->to->marks->len; i++) {
		TachoMark *mark = &g_array_index(join->to->marks, TachoMark, i);

		mark->name = join->strings[mark->name];
		mark->text = join->strings[mark->text];
	}
}

/* What importers tell of slices; correlate finds the rest. What queued a collective that was there, its own timeline tells. */
static void join_flows(const struct timeline_join *join, guint32 n_before)
{
	const TachoTimeline *from = join->from;
	guint n = from->is_correlated ? from->n_read_flows : from->flows->len;

	for (guint i = 0; i < n; i++) {
		TachoFlow row = g_array_index(from->flows, TachoFlow, i);

		row.from = join->slices[row.from];
		row.to = join->slices[row.to];
		if (row.from == TACHO_NONE || row.to == TACHO_NONE ||
		    (row.kind == TACHO_FLOW_QUEUE_COLLECTIVE && row.to < n_before &&
		     row.from >= n_before))
			continue;
		g_array_append_val(join->to->flows, row);
	}
}

/* `n_before`: the rows that the other timeline had. */
static void join_links(const struct timeline_join *join, guint32 n_before)
{
	const TachoTimeline *from = join->from;

	join_flows(join, n_before);
	for (guint i = 0; i < from->graph_work->len; i++) {
		TachoGraphWork row = g_array_index(from->graph_work, TachoGraphWork, i);

		row.slice = join->slices[row.slice];
		row.capture = move_slice(join, row.capture);
		if (row.node && row.slice != TACHO_NONE)
			g_array_append_val(join->to->graph_work, row);
	}
	for (guint i = 0; i < from->hops->len; i++) {
		TachoHop row = g_array_index(from->hops, TachoHop, i);

		row.slice = move_slice(join, row.slice);
		row.collective = move_slice(join, row.collective);
		g_array_append_val(join->to->hops, row);
	}
	for (guint i = 0; i < from->chunks->len; i++) {
		TachoChunk row = g_array_index(from->chunks, TachoChunk, i);

		if (join->processes[row.process] == TACHO_NONE)
			continue;
		row.process = join->processes[row.process];
		row.pool = join->strings[row.pool];
		g_array_append_val(join->to->chunks, row);
	}
}

/* But for those that finishing the timeline tells again. */
static void join_problems(const struct timeline_join *join)
{
	const TachoTimeline *from = join->from;
	guint n = from->is_correlated ? from->n_read_problems : from->problems->len;

	for (guint i = 0; i < n; i++) {
		const TachoProblem *row = &g_array_index(from->problems, TachoProblem, i);

		if (row->kind != TACHO_PROBLEM_OVERLAP && row->kind != TACHO_PROBLEM_MISSING_RANK)
			tacho_timeline_add_problem(join->to, row->kind, row->count, "%s",
						   row->where);
	}
}

void timeline_join_rows(struct timeline_join *join)
{
	TachoTimeline *to = join->to;
	guint32 n_before = to->slices.n;

	join_meanings(join);
	join_children(join);
	join_tracks(join);
	join_devices(join);
	join_slices(join);
	join_moments(join);
	join_links(join, n_before);
	join_problems(join);
	to->expected_ranks = MAX(to->expected_ranks, join->from->expected_ranks);
	to->resolution_ns = MAX(to->resolution_ns, join->from->resolution_ns);
	to->n_dropped += join->from->n_dropped;
}

/* --- the join ------------------------------------------------------------------------------- */

static guint32 *new_rows(guint32 n)
{
	guint32 *rows = g_try_new(guint32, (gsize)n + 1);

	if (rows)
		memset(rows, 0xff, ((gsize)n + 1) * sizeof(*rows)); /* TACHO_NONE */
	return rows;
}

static gboolean make_room(struct timeline_join *join)
{
	const TachoTimeline *from = join->from;
	guint32 n = join->to->slices.n;

	join->processes = new_rows(from->processes->len);
	join->tracks = new_rows(from->tracks->len);
	join->slices = new_rows(from->slices.n);
	return join->processes && join->tracks && join->slices && from->slices.n < TACHO_NONE - n &&
	       slice_columns_reserve(&join->to->slices, n + from->slices.n);
}

gboolean timeline_join_begin(struct timeline_join *join, TachoTimeline *to, TachoTimeline *from,
			     GError **error)
{
	struct joined_reader *reader = new_reader(to, from);

	*join = (struct timeline_join){
		.to = to, .from = from, .strings = reader->strings, .n_strings = reader->n_strings
	};
	if (make_room(join)) {
		join->foreign = tacho_source_take_foreign(to->source, &reader->reader);
		if (join->foreign < SOURCE_MAX_FOREIGN)
			return TRUE;
	} else {
		free_joined(&reader->reader);
	}
	g_set_error_literal(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
			    "more files, or slices in them, than can be read at once");
	return FALSE;
}

void timeline_join_release(struct timeline_join *join)
{
	g_clear_pointer(&join->processes, g_free);
	g_clear_pointer(&join->tracks, g_free);
	g_clear_pointer(&join->slices, g_free);
}
