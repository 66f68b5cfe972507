/* ctf_export: a timeline as a trace in the Common Trace Format 1.8: a folder with the metadata and a stream a process.
 *
 * (1) A stream holds what happened in a process in the order of time (ctf_moments.c), slices as begins and ends.
 *     Every begin has its end; what had not ended when the recording did is marked `open`.
 * (2) A process and a track are described by an event of theirs before the first other one, so that a stream can be
 *     read from its beginning with nothing else at hand.
 * (3) Ids in the context are those that viewers get (viewer_ids.h): real where they are unique; the descriptions
 *     have the real ones. 0 and -1: of no thread, of no track.
 * (4) Our importer reads all of it (import/ctf_exported.c).
 * The format: "Common Trace Format v1.8.3", diamon.org/ctf. */
#include <tacho/export.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/for_each.h"
#include "base/number.h"
#include "correlate/member_index.h"
#include "export/ctf_classes.h"
#include "export/ctf_moments.h"
#include "export/ctf_packets.h"
#include "export/exported_rows.h"
#include "export/viewer_ids.h"

#define PROGRESS_EVERY 16384 /* events */
#define NO_TRACK       -1

struct ctf_export {
	const TachoTimeline *timeline;
	const TachoExportOptions *options;
	struct export_scope scope;
	struct viewer_ids ids;
	struct slice_args args;
	struct member_index *members;
	CtfMoments *moments;
	CtfClasses *classes;
	guint8 *is_described; /* by track */
	struct ctf_trace_facts facts;
	gint64 earliest_ns; /* what times in the streams are since, since the run's origin */
	guint32 n_streams;  /* processes that go out */
	guint64 n_done, n_all;
	/* The process that is being written: */
	guint32 process;
	gchar *program;
	CtfPackets *packets;
	gint64 time_ns; /* of the moment */
};

/* --- an event ------------------------------------------------------------------------------- */

static gboolean is_thread(const struct ctf_export *export, gint64 track)
{
	return track >= 0 &&
	       tacho_timeline_track(export->timeline, (guint32)track)->kind == TACHO_TRACK_THREAD;
}

/* Header and context. */
static void begin_event(struct ctf_export *export, const struct ctf_class_key *key,
			const struct slice_args *args, gint64 track)
{
	const TachoTimeline *timeline = export->timeline;
	const TachoProcess *process = tacho_timeline_process(timeline, export->process);
	const TachoRank *rank = tacho_timeline_rank(timeline, process->rank_index);
	const gchar *name = export->program;
	guint32 tid = 0;

	if (is_thread(export, track)) {
		const TachoTrack *row = tacho_timeline_track(timeline, (guint32)track);

		tid = (guint32) export->ids.tids[track];
		name = row->name ? tacho_timeline_string(timeline, row->name) : name;
	}
	ctf_packets_event(export->packets, ctf_classes_id(export->classes, key, args),
			  (guint64) export->time_ns - (guint64) export->earliest_ns);
	ctf_packets_u32(export->packets, (guint32) export->ids.pids[export->process]);
	ctf_packets_u32(export->packets, tid);
	ctf_packets_u32(export->packets, (guint32)rank->rank);
	ctf_packets_u32(export->packets, (guint32)track);
	ctf_packets_string(export->packets, name);
	ctf_packets_string(export->packets, tacho_timeline_string(timeline, process->host));
}

static void begin_simple(struct ctf_export *export, enum ctf_event_kind kind, gint64 track)
{
	struct ctf_class_key key = { .event = (guint8)kind };

	begin_event(export, &key, NULL, track);
}

static guint64 mask_of(const struct slice_args *args)
{
	guint64 mask = 0;

	for (guint i = 0; i < args->n; i++)
		mask |= G_GUINT64_CONSTANT(1) << args->args[i].key;
	return mask;
}

static void write_args(struct ctf_export *export)
{
	for (guint i = 0; i < export->args.n; i++) {
		const struct slice_arg *arg = &export->args.args[i];

		switch (arg->type) {
		case SLICE_ARG_TYPE_TRUE:
			ctf_packets_u8(export->packets, 1);
			break;
		case SLICE_ARG_TYPE_INTEGER:
			ctf_packets_u64(export->packets, (guint64)arg->integer);
			break;
		case SLICE_ARG_TYPE_UNSIGNED:
			ctf_packets_u64(export->packets, arg->number);
			break;
		case SLICE_ARG_TYPE_STRING:
			ctf_packets_string(export->packets, arg->string);
			break;
		}
	}
}

/* An event that has the args as its last fields. */
static void begin_with_args(struct ctf_export *export, enum ctf_event_kind kind, gint64 track)
{
	struct ctf_class_key key = { .event = (guint8)kind, .args = mask_of(&export->args) };

	begin_event(export, &key, &export->args, track);
}

/* --- descriptions --------------------------------------------------------------------------- */

static void describe_process(struct ctf_export *export)
{
	const TachoTimeline *timeline = export->timeline;
	const TachoProcess *process = tacho_timeline_process(timeline, export->process);

	begin_simple(export, CTF_EVENT_PROCESS, NO_TRACK);
	ctf_packets_u32(export->packets, process->pid);
	ctf_packets_u32(export->packets, process->ppid);
	ctf_packets_u32(export->packets, (guint32)process->local_rank);
	ctf_packets_u32(export->packets, (guint32)process->world_size);
	ctf_packets_u8(export->packets, process->is_main != 0);
	ctf_packets_string(export->packets, tacho_timeline_string(timeline, process->command));
	ctf_packets_string(export->packets, tacho_timeline_string(timeline, process->job));
}

static void describe_track(struct ctf_export *export, guint32 track)
{
	static const gchar *const kinds[] = {
		[TACHO_TRACK_THREAD] = "thread",   [TACHO_TRACK_ASYNC] = "async",
		[TACHO_TRACK_STREAM] = "device",   [TACHO_TRACK_COUNTER] = "counter",
		[TACHO_TRACK_SAMPLED] = "sampled",
	};
	const TachoTrack *row = tacho_timeline_track(export->timeline, track);

	if (export->is_described[track])
		return;
	export->is_described[track] = TRUE;
	begin_simple(export, CTF_EVENT_TRACK, track);
	ctf_packets_string(export->packets, kinds[row->kind]);
	ctf_packets_string(export->packets, tacho_timeline_string(export->timeline, row->name));
	ctf_packets_u32(export->packets, row->tid);
	ctf_packets_u32(export->packets, (guint32)row->device);
	ctf_packets_u32(export->packets, row->parent_tid);
}

/* --- moments -------------------------------------------------------------------------------- */

static struct ctf_class_key slice_key(const struct ctf_export *export, guint32 slice,
				      enum ctf_event_kind kind)
{
	const TachoSlices *slices = &export->timeline->slices;

	return (struct ctf_class_key){
		.event = (guint8)kind,
		.slice = slices->kind[slice],
		.track = (guint8)tacho_timeline_track(export->timeline, slices->track[slice])->kind,
	};
}

static const TachoCollective *membership_of(const struct ctf_export *export, guint32 slice)
{
	guint32 row = member_index_row(export->members, slice);

	return row == TACHO_NONE
		       ? NULL
		       : &g_array_index(export->timeline->collectives, TachoCollective, row);
}

static void write_begin(struct ctf_export *export, guint32 slice)
{
	const TachoTimeline *timeline = export->timeline;
	guint32 track = timeline->slices.track[slice];
	const TachoTrack *row = tacho_timeline_track(timeline, track);
	struct ctf_class_key key = slice_key(export, slice, CTF_EVENT_BEGIN);
	TachoOpArgs op = { 0 };

	describe_track(export, track);
	slice_args_of_slice(&export->args, timeline, slice, membership_of(export, slice));
	key.args = mask_of(&export->args);
	key.has_queue = row->kind == TACHO_TRACK_STREAM;
	key.has_forward_thread = (timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD) != 0;
	begin_event(export, &key, &export->args, track);
	ctf_packets_u32(export->packets, slice);
	ctf_packets_string(export->packets, tacho_slice_name(timeline, slice));
	if (key.has_queue) {
		ctf_packets_u32(export->packets, (guint32)row->device);
		ctf_packets_u32(export->packets, row->tid);
	}
	if (key.has_forward_thread) {
		tacho_slice_op(timeline, slice, &op);
		ctf_packets_u64(export->packets, (guint64)op.forward_thread);
	}
	write_args(export);
}

static void write_end(struct ctf_export *export, guint32 slice)
{
	struct ctf_class_key key = slice_key(export, slice, CTF_EVENT_END);

	begin_event(export, &key, NULL, export->timeline->slices.track[slice]);
	ctf_packets_u32(export->packets, slice);
}

static void write_step(struct ctf_export *export, const TachoStep *step, gboolean is_begin)
{
	if (!is_begin) {
		begin_simple(export, CTF_EVENT_STEP_END, NO_TRACK);
		ctf_packets_u32(export->packets, step->number);
		return;
	}
	slice_args_of_step(&export->args, step);
	begin_with_args(export, CTF_EVENT_STEP_BEGIN, NO_TRACK);
	ctf_packets_u64(export->packets, (guint64)MAX(0, step->end_ns - step->start_ns));
	write_args(export);
}

static void write_mark(struct ctf_export *export, const TachoMark *mark)
{
	describe_track(export, mark->track);
	slice_args_of_mark(&export->args, export->timeline, mark);
	begin_with_args(export, CTF_EVENT_MARK, mark->track);
	ctf_packets_string(export->packets, tacho_timeline_string(export->timeline, mark->name));
	write_args(export);
}

static void write_sample(struct ctf_export *export, const TachoSample *sample)
{
	const TachoTrack *row = tacho_timeline_track(export->timeline, sample->track);
	gboolean is_whole = number_is_whole(sample->value);

	describe_track(export, sample->track);
	begin_simple(export, is_whole ? CTF_EVENT_COUNTER : CTF_EVENT_FRACTION, sample->track);
	ctf_packets_string(export->packets, tacho_timeline_string(export->timeline, row->name));
	if (is_whole)
		ctf_packets_u64(export->packets, (guint64)(gint64)sample->value);
	else
		ctf_packets_double(export->packets, sample->value);
}

static void write_memory(struct ctf_export *export, const TachoMemoryEvent *event)
{
	gboolean is_alloc = event->bytes > 0;

	describe_track(export, event->track);
	begin_simple(export, is_alloc ? CTF_EVENT_ALLOC : CTF_EVENT_FREE, event->track);
	ctf_packets_u64(export->packets, event->address);
	ctf_packets_u64(export->packets, is_alloc ? (guint64)event->bytes : -(guint64)event->bytes);
	ctf_packets_u32(export->packets, event->device - 1); /* -1: the host's */
	ctf_packets_u8(export->packets, event->layer);
}

static void write_flow(struct ctf_export *export, const TachoFlow *flow)
{
	const TachoSlices *slices = &export->timeline->slices;
	guint32 later =
		slices->start_ns[flow->from] > slices->start_ns[flow->to] ? flow->from : flow->to;

	describe_track(export, slices->track[later]);
	begin_simple(export, CTF_EVENT_FLOW, slices->track[later]);
	ctf_packets_string(export->packets, tacho_flow_kind_name((TachoFlowKind)flow->kind));
	ctf_packets_u32(export->packets, flow->from);
	ctf_packets_u32(export->packets, flow->to);
	ctf_packets_u8(export->packets, flow->is_exact);
}

static void write_process_end(struct ctf_export *export, const TachoProcess *process)
{
	static const gchar *const ends[] = {
		[TACHO_END_RUNNING] = "running", [TACHO_END_EXITED] = "exited",
		[TACHO_END_KILLED] = "killed",	 [TACHO_END_UNKNOWN] = "unknown",
		[TACHO_END_STOPPED] = "stopped",
	};

	begin_simple(export, CTF_EVENT_PROCESS_END, NO_TRACK);
	ctf_packets_string(export->packets, ends[process->end]);
	ctf_packets_u32(export->packets, (guint32)process->exit_status);
}

static void write_moment(struct ctf_export *export, const struct ctf_moment *moment)
{
	const TachoTimeline *timeline = export->timeline;
	guint32 row = moment->row;

	export->time_ns = moment->time_ns;
	switch ((enum ctf_moment_kind)moment->kind) {
	case CTF_MOMENT_BEGIN:
		write_begin(export, row);
		break;
	case CTF_MOMENT_END:
		write_end(export, row);
		break;
	case CTF_MOMENT_STEP_BEGIN:
	case CTF_MOMENT_STEP_END:
		write_step(export, &g_array_index(timeline->steps, TachoStep, row),
			   moment->kind == CTF_MOMENT_STEP_BEGIN);
		break;
	case CTF_MOMENT_MARK:
		write_mark(export, &g_array_index(timeline->marks, TachoMark, row));
		break;
	case CTF_MOMENT_SAMPLE:
		write_sample(export, &g_array_index(timeline->samples, TachoSample, row));
		break;
	case CTF_MOMENT_MEMORY:
		write_memory(export, &g_array_index(timeline->memory, TachoMemoryEvent, row));
		break;
	case CTF_MOMENT_FLOW:
		write_flow(export, &g_array_index(timeline->flows, TachoFlow, row));
		break;
	}
}

/* --- streams and metadata ------------------------------------------------------------------- */

static void report_progress(struct ctf_export *export)
{
	if (export->n_done++ % PROGRESS_EVERY == 0 && export->options->progress)
		export->options->progress((gdouble) export->n_done / (gdouble)(export->n_all + 1),
					  export->options->progress_data);
}

/* What the process is called where its threads have no names: its program. */
static gchar *program_of(const TachoTimeline *timeline, guint32 process)
{
	const TachoProcess *row = tacho_timeline_process(timeline, process);
	const gchar *command = tacho_timeline_string(timeline, row->command);
	g_autofree gchar *program = g_strndup(command, strcspn(command, " "));

	return *program ? g_path_get_basename(program) : g_strdup("");
}

/* From the process's begin to its end; of some of its steps, from the first moment to the last. */
static void write_moments(struct ctf_export *export, const TachoProcess *process,
			  const struct ctf_moment *all, guint n)
{
	gboolean is_whole = export->options->first_step < 0 && export->options->last_step < 0;
	gint64 first_ns = n ? all[0].time_ns : process->start_ns;
	gint64 last_ns = n ? all[n - 1].time_ns : process->start_ns;

	export->time_ns = is_whole ? MIN(first_ns, process->start_ns) : first_ns;
	describe_process(export);
	for (guint i = 0; i < n && !ctf_packets_failed(export->packets); i++) {
		write_moment(export, &all[i]);
		report_progress(export);
	}
	export->time_ns = is_whole ? MAX(last_ns, process->end_ns) : last_ns;
	write_process_end(export, process);
}

static gboolean write_stream(struct ctf_export *export, const gchar *folder, guint32 process,
			     GError **error)
{
	const TachoProcess *row = tacho_timeline_process(export->timeline, process);
	g_autofree gchar *name = g_strdup_printf("stream_%u", export->n_streams);
	g_autofree gchar *path = g_build_filename(folder, name, NULL);
	const struct ctf_moment *all;
	guint n;

	export->packets = ctf_packets_open(path, export->facts.uuid, export->n_streams++, error);
	if (!export->packets)
		return FALSE;
	export->process = process;
	export->program = program_of(export->timeline, process);
	all = ctf_moments_of(export->moments, process, &n);
	write_moments(export, row, all, n);
	g_clear_pointer(&export->program, g_free);
	return ctf_packets_finish(g_steal_pointer(&export->packets), row->n_dropped, error);
}

static gboolean write_metadata(const struct ctf_export *export, const gchar *folder, GError **error)
{
	g_autofree gchar *path = g_build_filename(folder, "metadata", NULL);
	g_autofree gchar *text = ctf_classes_metadata(export->classes, &export->facts);
	g_autoptr(GError) failure = NULL;

	if (g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, &failure))
		return TRUE;
	g_set_error_literal(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO, failure->message);
	return FALSE;
}

static void write_block(const guint8 *block, gsize n_bytes, gpointer data)
{
	guint32 n = GUINT32_TO_LE((guint32)n_bytes);

	fwrite(&n, sizeof(n), 1, data);
	fwrite(block, 1, n_bytes, data);
}

/* What tacho knows of the run, for tacho (import/exported_run.h). */
static gboolean write_run(const struct ctf_export *export, const gchar *folder, GError **error)
{
	g_autofree gchar *path = g_build_filename(folder, RUN_IMAGE_FILE, NULL);
	int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
	gboolean is_written = FALSE;
	guint64 n_bytes;
	guint32 crc;

	if (file && run_image_sum_folder(folder, &n_bytes, &crc)) {
		fprintf(file, RUN_IMAGE_LINE, n_bytes, crc);
		if (!exported_rows_write(export->timeline, export->options, write_block, file,
					 error)) {
			fclose(file);
			return FALSE;
		}
		is_written = !ferror(file);
	}
	if (file && fclose(file) != 0)
		is_written = FALSE;
	if (!is_written)
		g_set_error_literal(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO,
				    g_strerror(errno ? errno : EIO));
	return is_written;
}

static gboolean write_all(struct ctf_export *export, const gchar *folder, GError **error)
{
	for (guint32 i = 0; i < export->timeline->processes->len; i++)
		if (export_scope_has_process(&export->scope, i) &&
		    !write_stream(export, folder, i, error))
			return FALSE;
	if (!write_metadata(export, folder, error) || !write_run(export, folder, error))
		return FALSE;
	if (export->options->progress)
		export->options->progress(1.0, export->options->progress_data);
	return TRUE;
}

/* --- the whole ------------------------------------------------------------------------------ */

/* The same for the same run and options, as all that is written. */
static void make_uuid(struct ctf_export *export)
{
	const TachoTimeline *timeline = export->timeline;
	const TachoExportOptions *options = export->options;
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autofree gchar *text = g_strdup_printf(
		"%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %u %u %d %" G_GINT64_FORMAT
		" %" G_GINT64_FORMAT,
		timeline->origin_unix_ns, timeline->duration_ns, timeline->slices.n,
		timeline->tracks->len, options->rank, options->first_step, options->last_step);
	guint8 digest[32];
	gsize n = sizeof(digest);

	g_checksum_update(sum, (const guchar *)text, -1);
	g_checksum_get_digest(sum, digest, &n);
	memcpy(export->facts.uuid, digest, CTF_UUID_BYTES);
	export->facts.uuid[6] = (export->facts.uuid[6] & 0x0f) | 0x50; /* RFC 4122: of a name */
	export->facts.uuid[8] = (export->facts.uuid[8] & 0x3f) | 0x80;
}

/* The host of all that goes out; NULL: there are several. */
static const gchar *only_host(const struct ctf_export *export)
{
	const TachoTimeline *timeline = export->timeline;
	guint32 host = TACHO_NONE;

	FOR_EACH_AT(const TachoProcess, row, i, timeline->processes) {
		if (!export_scope_has_process(&export->scope, i))
			continue;
		if (host != TACHO_NONE && host != row->host)
			return NULL;
		host = row->host;
	}
	return host == TACHO_NONE || !host ? NULL : tacho_timeline_string(timeline, host);
}

static void begin(struct ctf_export *export)
{
	const TachoTimeline *timeline = export->timeline;

	viewer_ids_init(&export->ids, timeline);
	slice_args_init(&export->args);
	export->members = member_index_new(timeline);
	export->moments = ctf_moments_new(&export->scope);
	export->classes = ctf_classes_new();
	export->is_described = g_new0(guint8, timeline->tracks->len + 1);
	export->earliest_ns = ctf_moments_earliest(timeline);
	export->n_all = 2 * (guint64)timeline->slices.n + timeline->memory->len +
			timeline->samples->len + timeline->flows->len;
	export->facts.host = only_host(export);
	export->facts.world_size = timeline->expected_ranks;
	if (__builtin_add_overflow(timeline->origin_unix_ns, export->earliest_ns,
				   &export->facts.origin_unix_ns))
		export->facts.origin_unix_ns = 0;
	make_uuid(export);
}

static void release(struct ctf_export *export)
{
	ctf_packets_abandon(export->packets);
	g_free(export->is_described);
	ctf_classes_free(export->classes);
	ctf_moments_free(export->moments);
	member_index_free(export->members);
	slice_args_release(&export->args);
	viewer_ids_release(&export->ids);
	export_scope_release(&export->scope);
}

gboolean tacho_export_ctf(const TachoTimeline *timeline, const TachoExportOptions *options,
			  const gchar *folder, GError **error)
{
	struct ctf_export export = { .timeline = timeline, .options = options };
	gboolean is_written;

	if (!export_scope_init(&export.scope, timeline, options, error))
		return FALSE;
	begin(&export);
	is_written = write_all(&export, folder, error);
	release(&export);
	return is_written;
}
