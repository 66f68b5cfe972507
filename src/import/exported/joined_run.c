/* A run that came back from an export as one of several that are read together. */
#include "import/exported/restored_run.h"
#include "trace/source.h"
#include "trace/string_table.h"
#include "trace/told_meaning.h"

/* Asks the timeline that came back, which lives as long; places are its slices. */
struct joined_reader {
	struct foreign_reader reader;
	TachoTimeline *timeline;
	guint32 *strings; /* by its string ids: ids of the import's */
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

static struct joined_reader *new_reader(struct import *import, TachoTimeline *timeline)
{
	struct joined_reader *joined = g_new0(struct joined_reader, 1);

	joined->reader = (struct foreign_reader){ .op = get_op,
						  .kernel = get_kernel,
						  .launch_shape = get_launch_shape,
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
		joined->strings[i] = tacho_timeline_intern(import->timeline,
							   tacho_timeline_string(timeline, i), -1);
	return joined;
}

/* --- tables --------------------------------------------------------------------------------- */

/* Where the rows of the run that came back begin in the import's tables. */
struct join {
	struct import *import;
	const TachoTimeline *from;
	TachoTimeline *to;
	const guint32 *strings;
	guint32 first_process, first_track, first_slice;
	guint32 foreign;
};

static gint64 move_time(const struct join *join, gint64 time_ns)
{
	return time_ns + join->from->origin_unix_ns; /* both within TACHO_MAX_TIME_NS */
}

static guint32 move_row(guint32 row, guint32 first)
{
	return row == TACHO_NONE ? TACHO_NONE : first + row;
}

/* What importers said that names mean. */
static void join_meanings(const struct join *join)
{
	guint32 n = string_table_size(join->from->strings);

	for (guint32 id = 0; id < n; id++)
		told_meaning_copy(join->to, join->strings[id], join->from, id);
}

static void join_processes(const struct join *join)
{
	guint file = import_new_file(join->import);

	for (guint i = 0; i < join->from->processes->len; i++) {
		TachoProcess row = g_array_index(join->from->processes, TachoProcess, i);

		row.host = join->strings[row.host];
		row.command = join->strings[row.command];
		row.job = join->strings[row.job];
		row.clock = 0;
		row.start_ns = move_time(join, row.start_ns);
		row.end_ns = move_time(join, row.end_ns);
		import_add_process(join->import, &row, file);
	}
	for (guint i = 0; i < join->from->children->len; i++) {
		TachoChild row = g_array_index(join->from->children, TachoChild, i);

		row.command = join->strings[row.command];
		g_array_append_val(join->to->children, row);
	}
}

static void join_tracks(const struct join *join)
{
	for (guint i = 0; i < join->from->tracks->len; i++) {
		TachoTrack row = g_array_index(join->from->tracks, TachoTrack, i);

		row.process += join->first_process;
		row.name = join->strings[row.name];
		row.role = TACHO_ROLE_NONE;
		row.first_slice = row.n_slices = 0;
		row.first_ns = row.last_ns = 0;
		g_array_append_val(join->to->tracks, row);
	}
}

static void join_devices(const struct join *join)
{
	for (guint i = 0; i < join->from->devices->len; i++) {
		TachoDevice row = g_array_index(join->from->devices, TachoDevice, i);

		row.process += join->first_process;
		row.name = join->strings[row.name];
		row.architecture = join->strings[row.architecture];
		g_array_append_val(join->to->devices, row);
	}
}

static void join_slices(const struct join *join)
{
	const TachoSlices *slices = &join->from->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		guint32 row = tacho_timeline_add_slice(
			join->to, (TachoSliceKind)slices->kind[i],
			slices->track[i] + join->first_track, join->strings[slices->name[i]],
			move_time(join, slices->start_ns[i]), slices->duration_ns[i],
			slices->flags[i] & (guint8)~TACHO_SLICE_CRITICAL,
			slices->source[i] ? tacho_source_foreign_handle(join->foreign, i) : 0);

		join->to->slices.launch[row] = move_row(slices->launch[i], join->first_slice);
	}
}

static void join_moments(const struct join *join)
{
	const TachoTimeline *from = join->from;

	for (guint i = 0; i < from->samples->len; i++) {
		TachoSample row = g_array_index(from->samples, TachoSample, i);

		row.track += join->first_track;
		row.time_ns = move_time(join, row.time_ns);
		g_array_append_val(join->to->samples, row);
	}
	for (guint i = 0; i < from->memory->len; i++) {
		TachoMemoryEvent row = g_array_index(from->memory, TachoMemoryEvent, i);

		row.track += join->first_track;
		row.time_ns = move_time(join, row.time_ns);
		g_array_append_val(join->to->memory, row);
	}
	for (guint i = 0; i < from->marks->len; i++) {
		TachoMark row = g_array_index(from->marks, TachoMark, i);

		row.track += join->first_track;
		row.time_ns = move_time(join, row.time_ns);
		row.name = join->strings[row.name];
		row.text = join->strings[row.text];
		g_array_append_val(join->to->marks, row);
	}
}

/* What importers tell of slices; correlate finds the rest. */
static void join_links(const struct join *join)
{
	const TachoTimeline *from = join->from;

	for (guint i = 0; i < from->n_read_flows; i++) {
		TachoFlow row = g_array_index(from->flows, TachoFlow, i);

		row.from += join->first_slice;
		row.to += join->first_slice;
		g_array_append_val(join->to->flows, row);
	}
	for (guint i = 0; i < from->graph_work->len; i++) {
		TachoGraphWork row = g_array_index(from->graph_work, TachoGraphWork, i);

		row.slice += join->first_slice;
		row.capture = move_row(row.capture, join->first_slice);
		if (row.node)
			g_array_append_val(join->to->graph_work, row);
	}
	for (guint i = 0; i < from->hops->len; i++) {
		TachoHop row = g_array_index(from->hops, TachoHop, i);

		row.slice = move_row(row.slice, join->first_slice);
		row.collective = move_row(row.collective, join->first_slice);
		g_array_append_val(join->to->hops, row);
	}
	for (guint i = 0; i < from->chunks->len; i++) {
		TachoChunk row = g_array_index(from->chunks, TachoChunk, i);

		row.process += join->first_process;
		row.pool = join->strings[row.pool];
		g_array_append_val(join->to->chunks, row);
	}
}

/* But for those that putting a timeline together tells again. */
static void join_problems(const struct join *join)
{
	for (guint i = 0; i < join->from->n_read_problems; i++) {
		const TachoProblem *row = &g_array_index(join->from->problems, TachoProblem, i);

		if (row->kind != TACHO_PROBLEM_OVERLAP && row->kind != TACHO_PROBLEM_MISSING_RANK)
			tacho_timeline_add_problem(join->to, row->kind, row->count, "%s",
						   row->where);
	}
}

static void join_all(const struct join *join)
{
	TachoTimeline *to = join->to;

	join_meanings(join);
	join_processes(join);
	join_tracks(join);
	join_devices(join);
	join_slices(join);
	join_moments(join);
	join_links(join);
	join_problems(join);
	to->expected_ranks = MAX(to->expected_ranks, join->from->expected_ranks);
	to->resolution_ns = MAX(to->resolution_ns, join->from->resolution_ns);
	to->n_dropped += join->from->n_dropped;
}

static gboolean join_run(struct import *import, TachoTimeline *timeline, GError **error)
{
	struct joined_reader *reader = new_reader(import, timeline);
	struct join join = { .import = import,
			     .from = timeline,
			     .to = import->timeline,
			     .strings = reader->strings,
			     .first_process = import->timeline->processes->len,
			     .first_track = import->timeline->tracks->len,
			     .first_slice = import->timeline->slices.n };
	gboolean is_too_much = timeline->slices.n >= TACHO_NONE - join.first_slice;

	join.foreign = is_too_much ? SOURCE_MAX_FOREIGN
				   : tacho_source_take_foreign(join.to->source, &reader->reader);
	if (join.foreign < SOURCE_MAX_FOREIGN) {
		join_all(&join);
		return TRUE;
	}
	if (is_too_much)
		free_joined(&reader->reader);
	g_set_error_literal(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
			    "more files, or slices in them, than can be read at once");
	return FALSE;
}

gboolean restored_run_import(struct import *import, TachoTimeline *timeline, GError **error)
{
	if (!import->is_alone)
		return join_run(import, timeline, error);
	import->restored = timeline;
	return TRUE;
}
