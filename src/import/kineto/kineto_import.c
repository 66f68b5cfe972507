/* kineto_import: PyTorch's profiler traces (Kineto), and what is written like them.
 *
 *     files --kineto_files--> rows in each reader's numbers
 *           --here-----------> processes and tracks; the timeline's numbers; launches
 *
 * (1) A file is one process of one rank, or a later cycle of one (kineto_files.h). A "pid" of host events is a process; "pid"s of device events are
 *     devices, whose streams belong to the process that has most host events.
 * (2) A device event was launched by the runtime call with its correlation id: of several (files merged
 *     naively) the last one before it. If there is none, by the op with its external id.
 * (3) Times are baseTimeNanoseconds + ts. What cannot be (0 among times of day, years apart) is put at the
 *     file's first time and flagged.
 * (4) docs/formats.md says what becomes of each field. */
#include <string.h>

#include "base/worker_pool.h"
#include "import/chrome/chrome_trace.h"
#include "import/function_ids.h"
#include "import/kineto/kineto_merge.h"
#include "trace/launch_index.h"
#include "import/sniff_evidence.h"
#include "trace/slice_columns.h"

#define MAX_SPAN_NS  (G_GINT64_CONSTANT(400) * 24 * 3600 * 1000000000) /* of a trace */
#define MIN_EPOCH_NS (G_GINT64_CONSTANT(3600) * 1000000000) /* times above count from long ago */

/* --- what became of the pieces -------------------------------------------------------------- */

static void sum_up_rows(struct kineto_merge *merge)
{
	for (guint i = 0; i < merge->files.rows->len; i++) {
		struct kineto_rows *rows = kineto_files_rows(&merge->files, i);
		struct kineto_part *part = &merge->parts[rows->file];

		if (!part->n_pieces++)
			part->first_piece = i;
		rows->first_extra = part->extras->len;
		part->n_rows += rows->slices.n;
		part->n_events += rows->n_events;
		part->n_unknown += rows->n_unknown;
		part->n_repaired += rows->elements.n_repaired;
		if (rows->elements.n_broken && !part->n_broken)
			part->broken_offset = rows->elements.broken_offset;
		part->n_broken += rows->elements.n_broken;
		part->has_fraction |= rows->has_fraction;
		part->first_ns = MIN(part->first_ns, rows->first_ns);
		if (rows->elements.is_cut) {
			part->is_cut = TRUE;
			part->cut_offset = rows->elements.cut_offset;
		}
		g_array_append_vals(part->extras, rows->extras.rows, (guint)rows->extras.n);
	}
}

/* Files whose times are years apart were not written by one clock: one counts from the machine's start,
 * another from 1970. Each then begins where the first file does. */
static void settle_clocks(struct kineto_merge *merge)
{
	gint64 reference_ns = G_MAXINT64;

	for (guint i = 0; i < merge->files.n; i++) {
		struct kineto_part *part = &merge->parts[i];
		gint64 begin_ns, apart_ns;

		if (part->first_ns == G_MAXINT64 ||
		    __builtin_add_overflow(part->first_ns, part->base_ns, &begin_ns))
			continue;
		if (reference_ns == G_MAXINT64)
			reference_ns = begin_ns;
		part->is_moved = __builtin_sub_overflow(begin_ns, reference_ns, &apart_ns) ||
				 apart_ns > MAX_SPAN_NS || apart_ns < -MAX_SPAN_NS;
		if (part->is_moved &&
		    __builtin_sub_overflow(reference_ns, part->first_ns, &part->base_ns))
			part->base_ns = reference_ns;
	}
}

/* Groups are strings of their readers up to here. */
static void renumber_groups(struct kineto_merge *merge)
{
	for (guint i = 0; i < merge->files.rows->len; i++) {
		struct kineto_rows *rows = kineto_files_rows(&merge->files, i);
		GArray *extras = merge->parts[rows->file].extras;
		const guint32 *strings = kineto_merge_numbers(merge, rows)->strings;

		for (gsize k = 0; k < rows->extras.n; k++) {
			struct kineto_extra *extra =
				&g_array_index(extras, struct kineto_extra, rows->first_extra + k);

			extra->group = strings[extra->group];
		}
		row_buffer_release(&rows->extras);
	}
}

/* --- slices --------------------------------------------------------------------------------- */

static gboolean is_launched(const struct kineto_row *row)
{
	switch ((TachoSliceKind)row->kind) {
	case TACHO_SLICE_KERNEL:
	case TACHO_SLICE_COLLECTIVE:
	case TACHO_SLICE_MEMCPY:
	case TACHO_SLICE_MEMSET:
	case TACHO_SLICE_SYNC:
		return TRUE;
	default:
		return FALSE;
	}
}

static void gather_functions(struct kineto_merge *merge, const struct kineto_rows *rows)
{
	const struct function_id *ids = rows->functions.rows;

	for (gsize k = 0; k < rows->functions.n; k++) {
		struct function_id id = ids[k];

		id.slice += rows->first_row;
		g_array_append_val(merge->import->functions, id);
	}
}

static void gather_graph_nodes(struct kineto_merge *merge, const struct kineto_rows *rows)
{
	const TachoGraphWork *nodes = rows->graph_nodes.rows;

	for (gsize k = 0; k < rows->graph_nodes.n; k++) {
		TachoGraphWork work = nodes[k];

		work.slice += rows->first_row;
		g_array_append_val(merge->timeline->graph_work, work);
	}
}

static gboolean number_rows(struct kineto_merge *merge, guint32 *ret_n, GError **error)
{
	guint64 n_rows = merge->timeline->slices.n; /* those of an importer before us */

	for (guint i = 0; i < merge->files.rows->len; i++) {
		struct kineto_rows *rows = kineto_files_rows(&merge->files, i);

		rows->first_row = (guint32)n_rows;
		n_rows += rows->slices.n;
		if (n_rows >= TACHO_NONE) {
			g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
				    "there are too many slices; open fewer files at once");
			return FALSE;
		}
		if (merge->import->functions)
			gather_functions(merge, rows);
		gather_graph_nodes(merge, rows);
		kineto_ranges_gather(merge, rows);
	}
	*ret_n = (guint32)n_rows;
	return TRUE;
}

static void index_calls(const struct kineto_part *part, const struct kineto_rows *rows)
{
	const struct kineto_row *slices = rows->slices.rows;

	for (gsize k = 0; k < rows->slices.n; k++)
		if (slices[k].kind == TACHO_SLICE_RUNTIME && slices[k].link >= 0)
			launch_index_add(part->calls, slices[k].link, slices[k].start_ns,
					 rows->first_row + (guint32)k);
}

static void index_ops(const struct kineto_part *part, const struct kineto_rows *rows)
{
	const struct kineto_row *slices = rows->slices.rows;

	for (gsize k = 0; k < rows->slices.n; k++)
		if (slices[k].kind == TACHO_SLICE_OP && slices[k].link > 0)
			launch_index_add(part->ops, slices[k].link, slices[k].start_ns,
					 rows->first_row + (guint32)k);
}

/* Whether there are kernels that no runtime call launched, but perhaps an op. */
static gboolean has_unlaunched(const struct kineto_part *part, const struct kineto_rows *rows)
{
	const struct kineto_row *slices = rows->slices.rows;

	for (gsize k = 0; k < rows->slices.n; k++)
		if (is_launched(&slices[k]) && slices[k].external &&
		    launch_index_find(part->calls, slices[k].link, slices[k].start_ns) ==
			    TACHO_NONE)
			return TRUE;
	return FALSE;
}

/* Index those of a file's rows that launch others, and find what stands in several of its rows. */
static void relate_rows(struct kineto_merge *merge, struct kineto_part *part)
{
	guint end = part->first_piece + part->n_pieces;

	part->calls = launch_index_new();
	for (guint i = part->first_piece; i < end; i++)
		index_calls(part, kineto_files_rows(&merge->files, i));
	for (guint i = part->first_piece; i < end && !part->ops; i++)
		if (has_unlaunched(part, kineto_files_rows(&merge->files, i)))
			part->ops = launch_index_new();
	for (guint i = part->first_piece; i < end && part->ops; i++)
		index_ops(part, kineto_files_rows(&merge->files, i));
	kineto_collectives_fill(merge, part);
	for (guint i = part->first_piece; i < end; i++)
		kineto_event_waits_note(part, kineto_files_rows(&merge->files, i));
}

/* (2) */
static guint32 find_launch(const struct kineto_part *part, const struct kineto_row *row)
{
	guint32 launch = TACHO_NONE;

	if (!is_launched(row))
		return TACHO_NONE;
	if (row->link >= 0)
		launch = launch_index_find(part->calls, row->link, row->start_ns);
	if (launch == TACHO_NONE && row->external && part->ops)
		launch = launch_index_find(part->ops, row->external, row->start_ns);
	return launch;
}

static guint64 source_of(const struct kineto_part *part, const struct kineto_rows *rows,
			 const struct kineto_row *row)
{
	guint64 place = row->place;

	if (!place)
		return 0;
	if (place & KINETO_PLACE_EXTRA)
		place += rows->first_extra;
	return tacho_source_foreign_handle(part->foreign, place);
}

/* (3): the time of day; true: it had to be mended. */
static gboolean find_time(const struct kineto_part *part, gint64 time_ns, gint64 *ret_ns)
{
	gboolean is_wrong =
		(time_ns <= 0 && part->first_ns > MIN_EPOCH_NS && part->first_ns != G_MAXINT64) ||
		(part->first_ns != G_MAXINT64 && time_ns > 0 &&
		 time_ns - part->first_ns > MAX_SPAN_NS);
	gint64 base_ns = part->base_ns;

	if (is_wrong)
		time_ns = part->first_ns;
	if (__builtin_add_overflow(time_ns, base_ns, ret_ns)) {
		*ret_ns = base_ns;
		return TRUE;
	}
	return is_wrong;
}

static void place_row(struct kineto_merge *merge, struct kineto_rows *rows, gsize k,
		      const struct kineto_numbers *numbers, guint64 *n_impossible)
{
	const struct kineto_row *row = (const struct kineto_row *)rows->slices.rows + k;
	const struct kineto_part *part = &merge->parts[rows->file];
	TachoSlices *slices = &merge->timeline->slices;
	guint32 to = rows->first_row + (guint32)k;
	gboolean is_mended = find_time(part, row->start_ns, &slices->start_ns[to]);

	slices->duration_ns[to] = row->duration_ns;
	if (row->duration_ns < 0 || row->duration_ns > MAX_SPAN_NS) {
		slices->duration_ns[to] = 0;
		is_mended = TRUE;
	}
	slices->source[to] = source_of(part, rows, row);
	slices->name[to] = numbers->strings[row->name];
	slices->track[to] = numbers->tracks[row->track];
	slices->parent[to] = TACHO_NONE;
	slices->launch[to] = find_launch(part, row);
	slices->kind[to] = row->kind;
	slices->flags[to] = row->flags | (is_mended ? TACHO_SLICE_REPAIRED : 0);
	slices->depth[to] = 0;
	*n_impossible += is_mended;
}

static void place_rows(struct kineto_merge *merge, struct kineto_rows *rows)
{
	const struct kineto_numbers *numbers = kineto_merge_numbers(merge, rows);
	guint64 n_impossible = 0;

	for (gsize k = 0; k < rows->slices.n; k++)
		place_row(merge, rows, k, numbers, &n_impossible);
	row_buffer_release(&rows->slices);
	__atomic_fetch_add(&merge->parts[rows->file].n_impossible, n_impossible, __ATOMIC_RELAXED);
}

/* As many files as there are cores: what is known of their rows is in memory at once. */
struct batch {
	struct kineto_merge *merge;
	guint first_file, first_piece;
};

static void relate_file(guint index, gpointer data)
{
	const struct batch *batch = data;

	relate_rows(batch->merge, &batch->merge->parts[batch->first_file + index]);
}

static void place_piece(guint index, gpointer data)
{
	const struct batch *batch = data;

	place_rows(batch->merge,
		   kineto_files_rows(&batch->merge->files, batch->first_piece + index));
}

static void forget_relations(struct kineto_part *part)
{
	g_clear_pointer(&part->calls, launch_index_free);
	g_clear_pointer(&part->ops, launch_index_free);
}

static void place_files(struct kineto_merge *merge, guint first, guint end)
{
	struct batch batch = { merge, first, merge->parts[first].first_piece };
	guint n_pieces = 0;

	for (guint i = first; i < end; i++) {
		if (!n_pieces)
			batch.first_piece = merge->parts[i].first_piece;
		n_pieces += merge->parts[i].n_pieces;
	}
	worker_pool_run(end - first, relate_file, &batch);
	worker_pool_run(n_pieces, place_piece, &batch);
	for (guint i = first; i < end; i++)
		forget_relations(&merge->parts[i]);
}

static gboolean merge_slices(struct kineto_merge *merge, GError **error)
{
	TachoSlices *slices = &merge->timeline->slices;
	guint n_files = merge->files.n, n_at_once = worker_pool_n_workers();
	guint32 n_rows;

	if (!number_rows(merge, &n_rows, error))
		return FALSE;
	if (!slice_columns_reserve(slices, n_rows)) {
		g_set_error_literal(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
				    "there is not enough memory for the trace's slices");
		return FALSE;
	}
	slices->n = n_rows;
	for (guint first = 0; first < n_files; first += n_at_once)
		place_files(merge, first, MIN(first + n_at_once, n_files));
	kineto_event_waits_link(merge);
	kineto_ranges_link(merge);
	return TRUE;
}

/* --- moments -------------------------------------------------------------------------------- */

static void merge_moments(struct kineto_merge *merge)
{
	for (guint i = 0; i < merge->files.rows->len; i++) {
		struct kineto_rows *rows = kineto_files_rows(&merge->files, i);
		struct kineto_part *part = &merge->parts[rows->file];
		const struct kineto_numbers *numbers = kineto_merge_numbers(merge, rows);
		TachoMemoryEvent *memory = rows->memory.rows;
		TachoSample *samples = rows->samples.rows;
		TachoMark *marks = rows->marks.rows;

		for (gsize k = 0; k < rows->memory.n; k++) {
			part->n_impossible +=
				find_time(part, memory[k].time_ns, &memory[k].time_ns);
			memory[k].track = numbers->tracks[memory[k].track];
		}
		for (gsize k = 0; k < rows->samples.n; k++) {
			part->n_impossible +=
				find_time(part, samples[k].time_ns, &samples[k].time_ns);
			samples[k].track = numbers->tracks[samples[k].track];
		}
		for (gsize k = 0; k < rows->marks.n; k++) {
			part->n_impossible += find_time(part, marks[k].time_ns, &marks[k].time_ns);
			marks[k].track = numbers->tracks[marks[k].track];
			marks[k].name = numbers->strings[marks[k].name];
			marks[k].text = numbers->strings[marks[k].text];
		}
		g_array_append_vals(merge->timeline->memory, memory, (guint)rows->memory.n);
		g_array_append_vals(merge->timeline->samples, samples, (guint)rows->samples.n);
		g_array_append_vals(merge->timeline->marks, marks, (guint)rows->marks.n);
	}
}

/* --- problems ------------------------------------------------------------------------------- */

/* Whether the file begins a process, and is no later cycle of one. */
static gboolean is_owner(const struct kineto_merge *merge, const struct kineto_file *file)
{
	return file->is_opened && !file->is_duplicate && file == &merge->files.files[file->owner];
}

static guint count_owners(const struct kineto_merge *merge)
{
	guint n = 0;

	for (guint i = 0; i < merge->files.n; i++)
		n += is_owner(merge, &merge->files.files[i]);
	return n;
}

static void report_file(struct kineto_merge *merge, const struct kineto_part *part)
{
	TachoTimeline *timeline = merge->timeline;
	const struct kineto_file *file = part->file;

	if (file->is_duplicate)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_DUPLICATE_RANK, 1,
					   "%s: another file of rank %d already covers these "
					   "times; this one is left out",
					   file->path, kineto_file_rank(file));
	if (file->failure)
		tacho_timeline_add_problem(timeline,
					   part->n_events ? TACHO_PROBLEM_TRUNCATED_FILE
							  : TACHO_PROBLEM_UNREADABLE_FILE,
					   1, "%s", file->failure->message);
	else if (part->is_cut)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": the file ends inside this event",
					   file->path, part->cut_offset);
	else if (file->is_opened && !file->is_duplicate && !file->has_end &&
		 file->facts.is_object &&
		 !part->n_broken) /* an end may be in what is passed over */
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s: the file ends inside its list of events",
					   file->path);
	else if (file->is_opened && !file->is_duplicate && !part->n_events && merge->files.n > 1)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_EMPTY_RUN, 1,
					   "%s: the file has no events", file->path);
	if (file->is_tail_broken)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": the JSON behind the events is not valid",
					   file->path, file->tail_offset);
	if (part->n_broken)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_CORRUPT_RECORD, part->n_broken,
			"%s: byte %" G_GUINT64_FORMAT
			": the JSON is not valid; the events around this place are left out",
			file->path, part->broken_offset);
	if (part->n_repaired)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_BAD_TEXT, part->n_repaired,
					   "%s: texts with quotes that are not escaped",
					   file->path);
	if (part->n_unknown)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD, part->n_unknown,
					   "%s: events of an unknown phase, or without a time",
					   file->path);
	if (part->is_moved)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1,
					   "%s: its clock is years away from the clocks of the "
					   "other files; it is placed to begin with them",
					   file->path);
	if (part->n_impossible)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME,
					   part->n_impossible,
					   "%s: times of 0, times years away from the others, or "
					   "events without a duration",
					   file->path);
	if (is_owner(merge, file) && kineto_file_rank(file) < 0 &&
	    (file->facts.has_distributed_info || count_owners(merge) > 1))
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RANK, 1,
					   "%s: the trace does not say which rank it belongs to",
					   file->path);
}

static void report(struct kineto_merge *merge)
{
	for (guint i = 0; i < merge->files.n; i++)
		report_file(merge, &merge->parts[i]);
	if (merge->n_bad_texts)
		tacho_timeline_add_problem(merge->timeline, TACHO_PROBLEM_BAD_TEXT,
					   merge->n_bad_texts, "names that are not UTF-8");
}

/* --- all of it ------------------------------------------------------------------------------ */

static void begin_merge(struct kineto_merge *merge)
{
	merge->parts = g_new0(struct kineto_part, merge->files.n);
	merge->numbers = g_new0(struct kineto_numbers, merge->files.readers->len);
	for (guint i = 0; i < merge->files.n; i++) {
		struct kineto_part *part = &merge->parts[i];

		part->file = &merge->files.files[i];
		part->number = import_new_file(merge->import);
		part->main_process = part->aside = TACHO_NONE;
		part->extras = g_array_new(FALSE, FALSE, sizeof(struct kineto_extra));
		part->first_ns = G_MAXINT64;
		part->base_ns = part->file->facts.base_ns;
		part->event_waits = kineto_event_waits_new();
		part->ranges = g_array_new(FALSE, FALSE, sizeof(guint32));
		part->foreign = tacho_source_take_foreign(
			merge->timeline->source, kineto_args_new(part->file->path, part->extras));
	}
}

static void end_merge(struct kineto_merge *merge)
{
	for (guint i = 0; i < merge->files.readers->len; i++) {
		g_free(merge->numbers[i].strings);
		g_free(merge->numbers[i].tracks);
	}
	for (guint i = 0; i < merge->files.n; i++) {
		forget_relations(&merge->parts[i]);
		g_array_unref(merge->parts[i].event_waits);
		g_array_unref(merge->parts[i].ranges);
		g_array_unref(merge->parts[i].extras);
	}
	g_hash_table_unref(merge->processes);
	g_hash_table_unref(merge->tracks);
	g_free(merge->numbers);
	g_free(merge->parts);
}

static gboolean merge_files(struct kineto_merge *merge, GError **error)
{
	TachoTimeline *timeline = merge->timeline;

	kineto_tracks_merge(merge);
	sum_up_rows(merge);
	settle_clocks(merge);
	renumber_groups(merge);
	if (!merge_slices(merge, error))
		return FALSE;
	merge_moments(merge);
	kineto_marks_merge(merge);
	for (guint i = 0; i < merge->files.n; i++)
		if (merge->parts[i].n_rows && !merge->parts[i].has_fraction)
			timeline->resolution_ns = MAX(timeline->resolution_ns, 1000);
	report(merge);
	return TRUE;
}

/* Whether any file could be opened; else why not. */
static gboolean check_opened(const struct kineto_files *files, GError **error)
{
	for (guint i = 0; i < files->n; i++)
		if (files->files[i].is_opened)
			return TRUE;
	if (files->files[0].failure) {
		*error = g_error_copy(files->files[0].failure);
		return FALSE;
	}
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
		    "%s: byte %" G_GSIZE_FORMAT
		    ": the JSON is not valid, or has no list of events up to here",
		    files->files[0].path, files->files[0].facts.head_offset);
	return FALSE;
}

static gboolean read_kineto(struct import *import, const gchar *const *paths, guint n_paths,
			    GError **error)
{
	struct kineto_merge merge = { .import = import, .timeline = import->timeline };
	gboolean is_read = FALSE;

	kineto_files_read(&merge.files, paths, n_paths, import);
	if (merge.files.is_out_of_memory) {
		g_set_error_literal(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
				    "there is not enough memory for the trace's events");
	} else if (check_opened(&merge.files, error)) {
		begin_merge(&merge);
		is_read = merge_files(&merge, error);
		end_merge(&merge);
	}
	kineto_files_release(&merge.files);
	return is_read;
}

/* An object with Kineto's members, or a list of events with its categories. */
static gboolean sniff_kineto(const struct sniff_input *input)
{
	static const gchar *const marks[] = {
		"\"schemaVersion\"",   "\"deviceProperties\"", "\"distributedInfo\"",
		"\"cpu_op\"",	       "\"Operator\"",	       "\"cuda_runtime\"",
		"\"user_annotation\"", "\"python_function\"",  "\"gpu_memcpy\"",
		"\"gpu_memset\"",      "\"Runtime\"",	       "\"Kernel\"",
		"\"kernel\"",
	};
	const gchar *at = input->head;

	if (!json_head_has(input, "deviceProperties", 1, "[") &&
	    !json_head_has(input, "distributedInfo", 1, "{") && !chrome_trace_sniff(input))
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(marks); i++)
		if (strstr(at, marks[i]))
			return TRUE;
	return FALSE;
}

const struct import_format import_kineto = {
	.name = "kineto",
	.title = "PyTorch profiler (Kineto), Chrome JSON, also gzip or zstd",
	.files = "*.pt.trace.json, *.json, *.json.gz, *.json.zst",
	.sniff = sniff_kineto,
	.read = read_kineto,
};
