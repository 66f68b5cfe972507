#include "export/exported_rows.h"

#include <string.h>

#include "base/for_each.h"
#include "trace/string_table.h"
#include "trace/told_meaning.h"

struct rows {
	const struct export_scope *scope;
	const TachoTimeline *timeline;
	ImageWriter *writer;
	/* By table and row, where it goes; TACHO_NONE: nowhere. NULL: all rows stay what they are. */
	guint32 *moved[N_IMAGE_TABLES];
	guint32 n_rows[N_IMAGE_TABLES];
};

/* --- which rows, and where they go ---------------------------------------------------------- */

/* NULL: rows of no array, or of one that takes more than copying. */
static const GArray *array_of(const TachoTimeline *timeline, enum image_table table)
{
	switch (table) {
	case IMAGE_COLLECTIVE:
	case IMAGE_MEMBER:
	case IMAGE_BUCKET:
	case IMAGE_GRADIENT:
		return NULL;
	default:
		return run_image_array(timeline, table);
	}
}

static guint32 count_all(const TachoTimeline *timeline, enum image_table table)
{
	const GArray *array = array_of(timeline, table);

	if (array)
		return array->len;
	return table == IMAGE_SLICE	   ? timeline->slices.n
	       : table == IMAGE_COLLECTIVE ? timeline->collectives->len
					   : 0;
}

/* Members of it that go out. */
static guint32 count_members(const struct rows *rows, const TachoCollective *collective)
{
	guint32 n = 0;

	if (!rows->moved[IMAGE_SLICE])
		return collective->n_members;
	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice = g_array_index(rows->timeline->members, guint32,
					      collective->first_member + i);

		n += rows->moved[IMAGE_SLICE][slice] != TACHO_NONE;
	}
	return n;
}

static gboolean goes_out(const struct rows *rows, enum image_table table, guint32 row)
{
	const TachoTimeline *timeline = rows->timeline;

	switch (table) {
	case IMAGE_PROCESS:
		return export_scope_has_process(rows->scope, row);
	case IMAGE_RANK:
		return export_scope_has_process(rows->scope,
						tacho_timeline_rank(timeline, row)->main_process);
	case IMAGE_TRACK:
		return export_scope_has_process(rows->scope,
						tacho_timeline_track(timeline, row)->process);
	case IMAGE_SLICE:
		return export_scope_has_slice(rows->scope, row);
	case IMAGE_COLLECTIVE:
		return count_members(rows, &g_array_index(timeline->collectives, TachoCollective,
							  row)) > 0;
	default:
		return TRUE;
	}
}

/* Numbers the rows of the tables that others refer to; collectives by their slices, which come before. */
static void number_rows(struct rows *rows, gboolean is_part)
{
	static const enum image_table tables[] = { IMAGE_CLOCK, IMAGE_PROCESS, IMAGE_RANK,
						   IMAGE_TRACK, IMAGE_SLICE,   IMAGE_COLLECTIVE };

	for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
		guint32 n_all = count_all(rows->timeline, tables[i]), n = 0;
		guint32 *moved;

		rows->n_rows[tables[i]] = n_all;
		if (!is_part)
			continue;
		moved = g_new(guint32, n_all + 1);
		for (guint32 row = 0; row < n_all; row++)
			moved[row] = goes_out(rows, tables[i], row) ? n++ : TACHO_NONE;
		rows->moved[tables[i]] = moved;
		rows->n_rows[tables[i]] = n;
	}
}

/* Have the row name others by their new numbers; FALSE: it goes nowhere. */
static gboolean renumber(const struct rows *rows, enum image_table table, guint8 *row)
{
	const struct image_table_form *form = &run_image_forms()[table];

	for (guint i = 0; i < form->n_columns; i++) {
		const struct image_column *column = &form->columns[i];
		guint32 *moved = rows->moved[column->target];
		guint32 named;

		if (!image_column_is_row(column) || !moved)
			continue;
		memcpy(&named, row + column->offset, sizeof(named));
		if (named == TACHO_NONE && column->kind != IMAGE_ROW)
			continue;
		named = moved[named];
		if (named == TACHO_NONE && column->kind != IMAGE_ROW_OR_NONE)
			return FALSE;
		memcpy(row + column->offset, &named, sizeof(named));
	}
	return TRUE;
}

/* TRUE: it went out. `row` is changed. */
static gboolean put(const struct rows *rows, enum image_table table, gpointer row)
{
	if (rows->moved[IMAGE_SLICE] && !renumber(rows, table, row))
		return FALSE;
	image_writer_row(rows->writer, table, row);
	return TRUE;
}

/* --- tables --------------------------------------------------------------------------------- */

/* Whether what happened at a time did so in scope. */
static gboolean has_moment(const struct rows *rows, enum image_table table, gconstpointer row)
{
	const TachoSample *sample = row;
	const TachoMemoryEvent *memory = row;
	const TachoMark *mark = row;
	const TachoStep *step = row;

	switch (table) {
	case IMAGE_SAMPLE:
		return export_scope_has_moment(rows->scope, sample->track, sample->time_ns);
	case IMAGE_MEMORY:
		return export_scope_has_moment(rows->scope, memory->track, memory->time_ns);
	case IMAGE_MARK:
		return export_scope_has_moment(rows->scope, mark->track, mark->time_ns);
	case IMAGE_STEP:
	case IMAGE_CONTROL_STEP:
		return export_scope_has_step(rows->scope, step);
	default:
		return TRUE;
	}
}

/* Those of a part of a process are counted when it comes back. */
static void tell_events(const struct rows *rows, guint32 row, TachoProcess *process)
{
	if (!export_scope_has_all(rows->scope, row))
		process->n_events = 0;
	else if (!process->n_events)
		process->n_events = TACHO_NO_EVENTS;
}

/* How many of the first `n_first` rows went out. */
static guint32 put_array(const struct rows *rows, enum image_table table, guint32 n_first)
{
	const GArray *array = array_of(rows->timeline, table);
	guint n_bytes = run_image_forms()[table].n_bytes;
	guint32 *moved = rows->moved[table], n = 0;
	guint8 row[256] __attribute__((aligned(8)));

	g_assert(n_bytes <= sizeof(row) && n_bytes == g_array_get_element_size((GArray *)array));
	for (guint32 i = 0; i < array->len; i++) {
		memcpy(row, array->data + (gsize)i * n_bytes, n_bytes);
		if ((moved && moved[i] == TACHO_NONE) || !has_moment(rows, table, row))
			continue;
		if (table == IMAGE_PROCESS)
			tell_events(rows, i, (TachoProcess *)(gpointer)row);
		n += put(rows, table, row) && i < n_first;
	}
	return n;
}

static void put_collectives(const struct rows *rows)
{
	const TachoTimeline *timeline = rows->timeline;

	for (guint32 i = 0; i < timeline->collectives->len; i++) {
		TachoCollective row = g_array_index(timeline->collectives, TachoCollective, i);

		row.n_members = count_members(rows, &row);
		if (!rows->moved[IMAGE_COLLECTIVE] || row.n_members)
			put(rows, IMAGE_COLLECTIVE, &row);
	}
	FOR_EACH(const TachoCollective, row, timeline->collectives) {
		for (guint32 k = 0; k < row->n_members; k++) {
			struct image_member member = { g_array_index(timeline->members, guint32,
								     row->first_member + k) };

			put(rows, IMAGE_MEMBER, &member);
		}
	}
}

static gboolean is_slice_out(const struct rows *rows, guint32 slice)
{
	return rows->moved[IMAGE_SLICE] && rows->moved[IMAGE_SLICE][slice] == TACHO_NONE;
}

static void put_buckets(const struct rows *rows)
{
	const TachoTimeline *timeline = rows->timeline;

	for (guint i = 0; i < timeline->buckets->len; i++) {
		TachoBucket row = g_array_index(timeline->buckets, TachoBucket, i);
		guint32 end = row.first_gradient + row.n_gradients;

		if (is_slice_out(rows, row.slice))
			continue;
		row.n_gradients = 0;
		for (guint32 k = row.first_gradient; k < end; k++) {
			TachoGradient gradient =
				g_array_index(timeline->gradients, TachoGradient, k);

			row.n_gradients += put(rows, IMAGE_GRADIENT, &gradient);
		}
		put(rows, IMAGE_BUCKET, &row);
	}
}

static guint32 put_problems(const struct rows *rows)
{
	FOR_EACH(const TachoProblem, problem, rows->timeline->problems) {
		struct image_problem row = { tacho_problem_name(problem->kind), problem->where,
					     problem->count };

		put(rows, IMAGE_PROBLEM, &row);
	}
	return rows->timeline->n_read_problems;
}

/* --- slices --------------------------------------------------------------------------------- */

static void put_tensors(const struct rows *rows, guint32 slice, gboolean is_output)
{
	struct image_tensor row; /* large: not cleared for each slice that has none */

	for (guint32 i = 0;; i++) {
		row.slice = slice;
		row.index = i;
		row.is_output = is_output != FALSE;
		if (is_output ? !tacho_slice_output(rows->timeline, slice, i, &row.tensor)
			      : !tacho_slice_input(rows->timeline, slice, i, &row.tensor))
			return;
		put(rows, IMAGE_TENSOR, &row);
	}
}

static void put_message(const struct rows *rows, guint32 slice)
{
	TachoMessageArgs args;
	struct image_sent row = { .slice = slice };

	if (!tacho_slice_message(rows->timeline, slice, &args))
		return;
	row.bytes = args.bytes;
	row.is_receive = args.is_receive != FALSE;
	row.fd = args.fd;
	row.local_port = args.local.port;
	row.peer_port = args.peer.port;
	memcpy(row.local, args.local.address, sizeof(row.local));
	memcpy(row.peer, args.peer.address, sizeof(row.peer));
	put(rows, IMAGE_SENT, &row);
}

static void put_told(const struct rows *rows, guint32 slice)
{
	struct image_told row = { .slice = slice };
	struct image_maker maker;

	if (tacho_slice_told(rows->timeline, slice, &row.told))
		put(rows, IMAGE_TOLD, &row);
	for (guint32 i = 0;; i++) {
		maker = (struct image_maker){ .slice = slice, .index = i };
		maker.name = tacho_slice_maker(rows->timeline, slice, i);
		if (!maker.name)
			return;
		put(rows, IMAGE_MAKER, &maker);
	}
}

/* Many readers answer for any slice, with nothing in the answer. */
static gboolean says_something_op(const TachoOpArgs *args)
{
	return args->sequence >= 0 || args->forward_thread || args->n_inputs || args->n_outputs;
}

static gboolean says_something_kernel(const TachoKernelArgs *args)
{
	return args->flops || args->bytes || args->n_dims || (args->dtype && *args->dtype) ||
	       (args->text && *args->text);
}

static gboolean says_something_call(const TachoCollectiveArgs *args)
{
	return args->bytes || args->group || args->end_tid || args->n_inputs || args->peer ||
	       args->way || args->packing;
}

static gboolean is_work(guint8 kind)
{
	return kind == TACHO_SLICE_KERNEL || kind == TACHO_SLICE_MEMCPY ||
	       kind == TACHO_SLICE_MEMSET;
}

/* What the accessors say of it. */
static void put_args(const struct rows *rows, guint32 slice)
{
	const TachoTimeline *timeline = rows->timeline;
	g_autofree gchar *json = tacho_slice_args_json(timeline, slice);
	struct image_op op = { .slice = slice };
	struct image_kernel kernel = { .slice = slice };
	struct image_call call = { .slice = slice };
	struct image_operation operation = { .slice = slice };
	struct image_id id = { .slice = slice };
	guint8 kind = timeline->slices.kind[slice];
	TachoOpArgs args;

	if (tacho_slice_op(timeline, slice, &args) &&
	    (kind == TACHO_SLICE_OP || says_something_op(&args))) {
		op.n_inputs = args.n_inputs;
		op.n_outputs = args.n_outputs;
		op.sequence = args.sequence;
		op.forward_thread = args.forward_thread;
		put(rows, IMAGE_OP, &op);
	}
	put_tensors(rows, slice, FALSE);
	put_tensors(rows, slice, TRUE);
	if (tacho_slice_kernel(timeline, slice, &kernel.kernel) &&
	    (is_work(kind) || says_something_kernel(&kernel.kernel)))
		put(rows, IMAGE_KERNEL, &kernel);
	if (tacho_slice_collective(timeline, slice, &call.call) &&
	    (kind == TACHO_SLICE_COLLECTIVE || says_something_call(&call.call)))
		put(rows, IMAGE_CALL, &call);
	operation.operation = (guint8)slice_operation(timeline, slice);
	if (operation.operation)
		put(rows, IMAGE_OPERATION, &operation);
	put_message(rows, slice);
	id.id = tacho_slice_id(timeline, slice);
	if (id.id)
		put(rows, IMAGE_ID, &id);
	put_told(rows, slice);
	if (json)
		image_writer_json(
			rows->writer,
			rows->moved[IMAGE_SLICE] ? rows->moved[IMAGE_SLICE][slice] : slice, json);
}

static void put_slices(const struct rows *rows)
{
	const TachoSlices *slices = &rows->timeline->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		struct image_slice row = { .start_ns = slices->start_ns[i],
					   .duration_ns = slices->duration_ns[i],
					   .name = slices->name[i],
					   .track = slices->track[i],
					   .launch = slices->launch[i],
					   .kind = slices->kind[i],
					   .flags = slices->flags[i] };

		if (is_slice_out(rows, i))
			continue;
		put(rows, IMAGE_SLICE, &row);
		if (slices->source[i])
			put_args(rows, i);
	}
}

/* --- the whole ------------------------------------------------------------------------------ */

/* What importers said that these names mean. */
static void put_meanings(const struct rows *rows, const guint8 *is_used)
{
	guint32 n = string_table_size(rows->timeline->strings);
	struct told_words told[N_NAMES_OF];

	for (guint32 id = 0; id < n; id++) {
		guint n_told = is_used[id] ? told_meaning_list(rows->timeline, id, told) : 0;

		for (guint i = 0; i < n_told; i++) {
			struct image_meaning row = { id, told[i].of, told[i].meaning };

			put(rows, IMAGE_MEANING, &row);
		}
	}
}

/* Names of slices, in the order of their ids: rows of views that are equal in all else stand by these. */
static void put_strings(const struct rows *rows)
{
	const TachoSlices *slices = &rows->timeline->slices;
	guint32 n = string_table_size(rows->timeline->strings);
	g_autofree guint8 *is_used = g_new0(guint8, n + 1);

	for (guint32 i = 0; i < slices->n; i++)
		is_used[slices->name[i]] |= !is_slice_out(rows, i);
	for (guint32 id = 0; id < n; id++)
		if (is_used[id])
			image_writer_string(rows->writer, id);
	put_meanings(rows, is_used);
}

static void put_all(const struct rows *rows)
{
	static const enum image_table before[] = { IMAGE_CLOCK, IMAGE_PROCESS, IMAGE_CHILD,
						   IMAGE_RANK,	IMAGE_TRACK,   IMAGE_DEVICE };
	static const enum image_table after[] = { IMAGE_SAMPLE,	      IMAGE_MEMORY,  IMAGE_CHUNK,
						  IMAGE_GRAPH_WORK,   IMAGE_MARK,    IMAGE_STEP,
						  IMAGE_CONTROL_STEP, IMAGE_MESSAGE, IMAGE_HOP };
	const TachoTimeline *timeline = rows->timeline;
	struct image_run run = { timeline->origin_unix_ns,
				 timeline->duration_ns,
				 timeline->resolution_ns,
				 timeline->step_source,
				 timeline->expected_ranks,
				 timeline->n_events,
				 timeline->n_dropped,
				 0,
				 0 };

	if (rows->moved[IMAGE_SLICE]) /* they follow from the processes */
		run.duration_ns = 0, run.n_events = 0;
	put_strings(rows);
	for (guint i = 0; i < G_N_ELEMENTS(before); i++)
		put_array(rows, before[i], 0);
	image_writer_flush(rows->writer);
	put_slices(rows);
	for (guint i = 0; i < G_N_ELEMENTS(after); i++)
		put_array(rows, after[i], 0);
	run.n_read_flows = put_array(rows, IMAGE_FLOW, timeline->n_read_flows);
	put_collectives(rows);
	put_buckets(rows);
	run.n_read_problems = put_problems(rows);
	put(rows, IMAGE_RUN, &run);
}

gboolean exported_rows_write(const TachoTimeline *timeline, const TachoExportOptions *options,
			     ImageSink sink, gpointer data, GError **error)
{
	struct export_scope scope;
	struct rows rows = { .scope = &scope, .timeline = timeline };
	g_autoptr(ImageWriter) writer = NULL;

	if (!export_scope_init(&scope, timeline, options, error))
		return FALSE;
	number_rows(&rows, !export_scope_is_whole(&scope));
	writer = image_writer_new(timeline, rows.n_rows, sink, data);
	rows.writer = writer;
	put_all(&rows);
	image_writer_finish(writer);
	for (guint i = 0; i < N_IMAGE_TABLES; i++)
		g_free(rows.moved[i]);
	export_scope_release(&scope);
	return TRUE;
}
