/* ctf_import: CTF traces that others wrote: LTTng's of programs and of the kernel, barectf's, THAPI's ...
 *
 * Each trace is decoded by processes of its own (ctf_process.h), large ones by several; what they decode is read
 * here, trace after trace. An export of tacho's carries the run that it shows: that is what is read. docs/formats.md says what becomes of events and fields. */
#include "import/ctf/ctf_import.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/byte_stream.h"
#include "base/for_each.h"
#include "import/ctf/ctf_mend.h"
#include "import/exported/exported_run.h"
#include "import/read/device_args.h"
#include "trace/source.h"

enum {
	MAX_AHEAD = 16,		/* traces that are decoded before their turn */
	BYTES_A_PART = 4 << 20, /* of streams that are worth a process of their own */
};

#define CTF_MAGIC      0x75d11d57u /* of metadata in packets */
#define CTF2_SEPARATOR '\x1e'
#define HEAD_BYTES     (4096 + 1)

/* --- args ----------------------------------------------------------------------------------- */

struct ctf_args {
	struct foreign_reader foreign;
	struct ctf_reader *reader;
	struct scratch_folder *scratch; /* where the trace was mended, NULL: it was not */
};

static gchar *get_args_json(struct foreign_reader *foreign, guint64 place)
{
	return ctf_reader_args_json(((struct ctf_args *)foreign)->reader, place);
}

static void free_args(struct foreign_reader *foreign)
{
	struct ctf_args *args = (struct ctf_args *)foreign;

	ctf_reader_free(args->reader);
	scratch_folder_free(args->scratch);
	g_free(args);
}

/* Who answers for the slices of the trace: it takes over the reader and the scratch folder. */
static guint32 take_args(struct ctf_import *ctf, struct ctf_reader *reader,
			 struct scratch_folder *scratch)
{
	struct ctf_args *args = g_new0(struct ctf_args, 1);

	args->foreign.args_json = get_args_json;
	args->foreign.launch_shape = device_args_launch_shape;
	args->foreign.copy = device_args_copy;
	args->foreign.free = free_args;
	args->reader = reader;
	args->scratch = scratch;
	return tacho_source_take_foreign(ctf->timeline->source, &args->foreign);
}

/* --- events --------------------------------------------------------------------------------- */

/* The counter of a thread, or of a core, that came with an event. */
static guint32 counter_track(struct ctf_import *ctf, guint32 name, guint32 core)
{
	struct ctf_thread *thread = ctf->thread;
	const gchar *text = tacho_timeline_string(ctf->timeline, name);
	gboolean is_of_core = g_str_has_prefix(text, "perf_cpu_") && core != G_MAXUINT32;
	g_autofree gchar *label = NULL;
	gpointer known;
	guint32 track;

	if (!is_of_core && thread->counters) {
		known = g_hash_table_lookup(thread->counters, GUINT_TO_POINTER(name));
		if (known)
			return GPOINTER_TO_UINT(known) - 1;
	}
	label = is_of_core ? g_strdup_printf("%s of core %u", text, core)
			   : g_strdup_printf("%s of thread %u", text, thread->tid);
	track = ctf_lane(ctf, thread->owner, TACHO_TRACK_COUNTER, label, 0,
			 is_of_core ? core : thread->tid);
	if (!is_of_core) {
		if (!thread->counters)
			thread->counters = g_hash_table_new(NULL, NULL);
		g_hash_table_insert(thread->counters, GUINT_TO_POINTER(name),
				    GUINT_TO_POINTER(track + 1));
	}
	return track;
}

void ctf_count_event(struct ctf_import *ctf)
{
	ctf->timeline->n_events++;
	ctf->thread->owner->n_events++;
}

static void use_event(struct ctf_import *ctf, struct ctf_event *event)
{
	struct ctf_plan *plan = event->class->plan;

	if (!plan)
		plan = event->class->plan = ctf_plan_new(ctf, event->class);
	if (plan->override_field >= 0)
		event->time_ns = ctf_event_integer(event, plan->override_field);
	else if (plan->clock == CTF_TIME_UNIX_NS)
		event->time_ns = ctf_device_time_ns(ctf, plan, event);
	else if (!(event->stream->flags & CTF_STREAM_HAS_CLOCK))
		ctf->n_unclocked++;
	ctf->first_ns = MIN(ctf->first_ns, event->time_ns);
	ctf->last_ns = MAX(ctf->last_ns, event->time_ns);
	ctf->thread = ctf_find_thread(ctf, plan, event);
	if (!plan->is_of_location)
		ctf_count_event(ctf);
	for (guint i = 0; i < plan->n_perf; i++)
		ctf_add_sample(ctf, counter_track(ctf, plan->perf_names[i], event->cpu),
			       event->time_ns, (gdouble)ctf_event_integer(event, plan->perf[i]));
	plan->handle(ctf, plan, event);
}

static void use_discarded(struct ctf_import *ctf, const struct ctf_discarded *discarded)
{
	g_autofree gchar *stream = g_path_get_basename(discarded->stream->name);
	/* a tracer's count that goes back is wrong */
	gboolean is_known = discarded->is_known && discarded->count <= G_MAXINT64;
	guint64 count = is_known ? discarded->count : 1;

	if (!discarded->is_packets)
		ctf->timeline->n_dropped += count;
	tacho_timeline_add_problem(ctf->timeline, TACHO_PROBLEM_LOST_RECORDS, count,
				   "%s: stream %s: %s that the tracer dropped for lack of room%s",
				   ctf->path, stream, discarded->is_packets ? "packets" : "events",
				   is_known ? "" : "; their number is not known");
}

/* --- one trace ------------------------------------------------------------------------------ */

/* A trace that is being decoded. */
struct decoding {
	struct ctf_process *processes[CTF_MAX_PARTS];
	guint n_parts;	       /* 0: it cannot be */
	gboolean is_of_folder; /* not of records that were there */
	GError *failure;
};

static guint count_cores(void)
{
	return (guint)CLAMP(sysconf(_SC_NPROCESSORS_ONLN), 1, MAX_AHEAD);
}

/* In how many parts to decode the trace: its streams are decoded side by side, where that is worth a process. */
static guint count_parts(const gchar *folder)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	guint64 n_bytes = 0;
	guint n_files = 0;
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);
		GStatBuf status;

		if (g_stat(path, &status) != 0 || !S_ISREG(status.st_mode))
			continue;
		n_bytes += (guint64)status.st_size;
		n_files++;
	}
	/* one of the files is the metadata */
	n_files = MIN(MAX(n_files, 2) - 1, (guint)MIN(n_bytes / BYTES_A_PART, CTF_MAX_PARTS));
	return CLAMP(count_cores(), 1, MAX(n_files, 1));
}

/* The first bytes of a trace's metadata, with a NUL behind them. */
static gssize read_head(const gchar *folder, gchar *head, gsize n_head)
{
	g_autofree gchar *path = g_build_filename(folder, "metadata", NULL);
	g_autoptr(ByteStream) stream = byte_stream_open(path, NULL);
	gssize n = stream ? byte_stream_read(stream, head, n_head - 1, NULL) : -1;

	head[MAX(n, 0)] = '\0';
	return n;
}

/* The metadata of CTF 2 are JSON texts, with a record separator before each; the first is the preamble. */
static gboolean is_version_2(const gchar *head)
{
	return head[0] == CTF2_SEPARATOR && head[1 + strspn(head + 1, " \t\r\n")] == '{' &&
	       strstr(head, "\"preamble\"");
}

static gboolean is_trace_of_version_2(const gchar *folder)
{
	gchar head[HEAD_BYTES];

	return read_head(folder, head, sizeof(head)) > 0 && is_version_2(head);
}

/* Whether libbabeltrace2 reads the trace, as far as its version of CTF goes. */
static gboolean check_version(const gchar *folder, GError **error)
{
	guint major, minor;

	if (!is_trace_of_version_2(folder))
		return TRUE;
	ctf_process_library_version(&major, &minor);
	if (major > 2 || (major == 2 && minor >= 1))
		return TRUE;
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
		    "%s: this trace is in CTF 2, which needs libbabeltrace2 2.1 or later, and this "
		    "tacho has %u.%u; build tacho with a later one, or record in CTF 1.8 (lttng "
		    "create --trace-format=ctf-1.8)",
		    folder, major, minor);
	return FALSE;
}

static void start_trace(struct decoding *decoding, const gchar *folder, guint n_parts)
{
	decoding->is_of_folder = TRUE;
	if (!check_version(folder, &decoding->failure))
		return;
	while (decoding->n_parts < n_parts) {
		struct ctf_process *process =
			ctf_process_start(folder, decoding->n_parts, n_parts, &decoding->failure);

		if (!process)
			break;
		decoding->processes[decoding->n_parts++] = process;
	}
	if (!decoding->failure)
		return;
	while (decoding->n_parts)
		ctf_process_free(decoding->processes[--decoding->n_parts]);
}

static void end_trace(struct ctf_import *ctf)
{
	for (guint i = 0; i < ctf->all_threads->len; i++)
		ctf_end_frames(ctf, ctf->all_threads->pdata[i], ctf->last_ns);
	ctf_kernel_end_trace(ctf);
	ctf_otf2_end_trace(ctf);
	ctf_exported_end_trace(ctf);
	if (ctf->n_unclocked)
		tacho_timeline_add_problem(
			ctf->timeline, TACHO_PROBLEM_NO_TIMES, 1,
			"%s: %" G_GUINT64_FORMAT
			" events have no clock; their order is known, but not their times",
			ctf->path, ctf->n_unclocked);
}

/* Whether a file is named already ("FILE: why"). */
static gboolean is_told(const GPtrArray *unread, const gchar *failure)
{
	const gchar *end = strstr(failure, ": ");

	for (guint i = 0; end && i < unread->len; i++)
		if (strncmp(unread->pdata[i], failure, (gsize)(end - failure) + 2) == 0)
			return TRUE;
	return FALSE;
}

/* What cannot be read, as often as several processes say it, once. It is told of the trace, wherever its mended copy
 * is; that a file of that cannot be read on where it was cut is no news. */
static void note_unread(const struct ctf_import *ctf, GPtrArray *unread, const gchar *failure,
			const gchar *mended)
{
	g_autoptr(GString) text = g_string_new(failure);

	if (mended)
		g_string_replace(text, mended, ctf->path, 0);
	if (mended ? is_told(unread, text->str)
		   : g_ptr_array_find_with_equal_func(unread, text->str, g_str_equal, NULL))
		return;
	g_ptr_array_add(unread, g_strdup(text->str));
}

/* Read what the processes decode. `scratch` is taken over. */
static gboolean read_decoded(struct ctf_import *ctf, const struct decoding *decoding,
			     struct scratch_folder *scratch, GPtrArray *unread, GError **error)
{
	g_autofree gchar *mended = scratch ? ctf_mended_folder(scratch->path) : NULL;
	struct ctf_discarded discarded;
	struct ctf_event event = { 0 };
	enum ctf_next next;

	ctf->reader = ctf_reader_new(decoding->processes, decoding->n_parts);
	ctf->foreign = take_args(ctf, ctf->reader, scratch);
	if (ctf->foreign >= SOURCE_MAX_FOREIGN) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
			    "%s: there are more traces than can be read at once; name fewer",
			    ctf->path);
		return FALSE;
	}
	while ((next = ctf_reader_next(ctf->reader, &event, &discarded)) != CTF_NEXT_END) {
		if (next == CTF_NEXT_EVENT)
			use_event(ctf, &event);
		else if (next == CTF_NEXT_DISCARDED)
			use_discarded(ctf, &discarded);
		else
			note_unread(ctf, unread, ctf_reader_failure(ctf->reader), mended);
	}
	return TRUE;
}

/* Have the trace mended, and read what can be read of it. False: nothing can. */
static gboolean read_mended(struct ctf_import *ctf, GPtrArray *unread)
{
	struct scratch_folder *scratch = ctf_scratch_new();
	g_autofree gchar *folder = scratch ? ctf_mended_folder(scratch->path) : NULL;
	struct ctf_process *mender =
		scratch ? ctf_process_start_mending(ctf->path, scratch->path, NULL) : NULL;
	struct ctf_reader *said = mender ? ctf_reader_new(&mender, 1) : NULL;
	struct decoding decoding = { 0 };
	struct ctf_discarded discarded;
	struct ctf_event event;
	enum ctf_next next;

	while (said && (next = ctf_reader_next(said, &event, &discarded)) != CTF_NEXT_END)
		if (next == CTF_NEXT_FAILURE)
			note_unread(ctf, unread, ctf_reader_failure(said), NULL);
	ctf_reader_free(said);
	if (unread->len)
		start_trace(&decoding, folder, count_parts(folder));
	g_clear_error(&decoding.failure);
	if (decoding.n_parts)
		return read_decoded(ctf, &decoding, scratch, unread, NULL);
	scratch_folder_free(scratch);
	return FALSE;
}

/* Most of what cannot be read names its file. */
static void report_unread(struct ctf_import *ctf, const GPtrArray *unread)
{
	FOR_EACH_POINTER(const gchar, text, unread) {
		gboolean is_named = g_str_has_prefix(text, ctf->path);

		tacho_timeline_add_problem(ctf->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1, "%s%s%s",
					   is_named ? "" : ctf->path, is_named ? "" : ": ", text);
	}
}

/* A trace of which nothing can be read is an error. */
static gboolean read_trace(struct ctf_import *ctf, const gchar *path, struct decoding *decoding,
			   GError **error)
{
	g_autoptr(GPtrArray) unread = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) mended = g_ptr_array_new_with_free_func(g_free);
	guint64 n_before = ctf->timeline->n_events;

	ctf->path = path;
	ctf->first_ns = G_MAXINT64;
	ctf->last_ns = G_MININT64;
	ctf->n_unclocked = 0;
	if (!read_decoded(ctf, decoding, NULL, unread, error))
		return FALSE;
	if (unread->len && ctf->timeline->n_events == n_before && decoding->is_of_folder)
		read_mended(ctf, mended);
	end_trace(ctf);
	report_unread(ctf, mended->len ? mended : unread);
	if (!unread->len || ctf->timeline->n_events > n_before)
		return TRUE;
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT, "%s: %s", path,
		    (const gchar *)(mended->len ? mended : unread)->pdata[0]);
	return FALSE;
}

/* --- all traces ----------------------------------------------------------------------------- */

static void report_launches(struct ctf_import *ctf)
{
	guint64 n_lost = ctf->n_kernels_without_launch + ctf->n_launches_without_kernel;

	if (n_lost)
		tacho_timeline_add_problem(
			ctf->timeline, TACHO_PROBLEM_ORPHAN_KERNEL, n_lost,
			"%" G_GUINT64_FORMAT " kernels without a launch (%.3f ms of devices' "
			"time), %" G_GUINT64_FORMAT " launches without a kernel",
			ctf->n_kernels_without_launch, (gdouble)ctf->unlaunched_ns / 1e6,
			ctf->n_launches_without_kernel);
	if (ctf->n_guessed_launches)
		tacho_timeline_add_problem(ctf->timeline, TACHO_PROBLEM_GUESSED_LAUNCH,
					   ctf->n_guessed_launches,
					   "kernels that were matched to launches by their order "
					   "alone, although their numbers differ");
}

static void report(struct ctf_import *ctf)
{
	if (ctf->n_unmatched)
		tacho_timeline_add_problem(ctf->timeline, TACHO_PROBLEM_UNMATCHED_END,
					   ctf->n_unmatched,
					   "end events without a begin event, kept as moments");
	if (ctf->n_unended)
		tacho_timeline_add_problem(
			ctf->timeline, TACHO_PROBLEM_UNMATCHED_BEGIN, ctf->n_unended,
			"intervals without an end; each ends with the interval around it");
	if (ctf->n_bad_times)
		tacho_timeline_add_problem(ctf->timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME,
					   ctf->n_bad_times,
					   "device times that are hours away from the event that "
					   "reports them; the event's time is used");
	report_launches(ctf);
	if (ctf->is_out_of_memory)
		tacho_timeline_add_problem(ctf->timeline, TACHO_PROBLEM_UNKNOWN_RECORD, 1,
					   "there are more than %u slices; the others are left out",
					   TACHO_NONE - 1);
}

static void free_queue(gpointer queue)
{
	g_queue_free_full(queue, g_free);
}

static void begin(struct ctf_import *ctf, struct import *import)
{
	ctf->import = import;
	ctf->timeline = import->timeline;
	ctf_threads_init(ctf);
	ctf->pending = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_queue);
	ctf->device_numbers = g_hash_table_new(NULL, NULL);
	ctf->requests = ctf_requests_new();
	ctf->request_steps = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	ctf->sessions = ctf_sessions_new();
	ctf->allocations = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

static void release(struct ctf_import *ctf)
{
	ctf_threads_release(ctf);
	g_hash_table_unref(ctf->pending);
	g_hash_table_unref(ctf->device_numbers);
	g_array_unref(ctf->requests);
	g_hash_table_unref(ctf->request_steps);
	g_array_unref(ctf->sessions);
	g_hash_table_unref(ctf->allocations);
}

/* Traces that cannot be read are problems as long as one can. */
static void note_failure(struct ctf_import *ctf, GError *failure, GError **first)
{
	if (*first)
		tacho_timeline_add_problem(ctf->timeline, TACHO_PROBLEM_UNREADABLE_FILE, 1, "%s",
					   failure->message);
	else
		*first = g_error_copy(failure);
	g_error_free(failure);
}

static guint read_all(struct ctf_import *ctf, const gchar *const *paths, guint n_paths,
		      GError **first_failure)
{
	g_autofree struct decoding *traces = g_new0(struct decoding, n_paths);
	guint n_started = 0, n_read = 0, n_ahead = MIN(n_paths, count_cores());

	for (guint i = 0; i < n_paths; i++) {
		for (; n_started < n_paths && n_started < i + n_ahead; n_started++)
			start_trace(&traces[n_started], paths[n_started],
				    count_parts(paths[n_started]));
		if (traces[i].n_parts && read_trace(ctf, paths[i], &traces[i], &traces[i].failure))
			n_read++;
		else
			note_failure(ctf, traces[i].failure, first_failure);
		if (ctf->import->progress)
			ctf->import->progress((gdouble)(i + 1) / n_paths,
					      ctf->import->progress_data);
	}
	return n_read;
}

static void finish(struct ctf_import *ctf)
{
	ctf_sessions_finish(ctf);
	ctf_device_finish(ctf);
	ctf_counters_finish(ctf);
	ctf_pair_requests(ctf);
	ctf_threads_finish(ctf);
	report(ctf);
}

static gboolean read_one(struct import *import, const gchar *path, struct decoding *decoding,
			 GError **error)
{
	struct ctf_import ctf = { 0 };
	gboolean is_read;

	begin(&ctf, import);
	is_read = read_trace(&ctf, path, decoding, error);
	if (is_read)
		finish(&ctf);
	release(&ctf);
	return is_read;
}

gboolean ctf_read_records(struct import *import, gpointer process, GError **error)
{
	struct decoding decoding = { .processes = { process }, .n_parts = 1 };

	return read_one(import, "records", &decoding, error);
}

gboolean ctf_read_parts(struct import *import, gpointer data, GError **error)
{
	const struct ctf_parts *parts = data;
	struct decoding decoding = { 0 };

	start_trace(&decoding, parts->folder, parts->n_parts);
	if (decoding.n_parts)
		return read_one(import, parts->folder, &decoding, error);
	g_propagate_error(error, decoding.failure);
	return FALSE;
}

/* Read those that are exports of tacho's and carry their run; the others, in `ret_others`, are left. */
static gboolean read_exports(struct import *import, const gchar *const *paths, guint n_paths,
			     GPtrArray *ret_others, GError **error)
{
	for (guint i = 0; i < n_paths; i++) {
		gboolean is_read;

		if (!exported_ctf_read(import, paths[i], &is_read, error))
			return FALSE;
		if (!is_read)
			g_ptr_array_add(ret_others, (gpointer)paths[i]);
	}
	return TRUE;
}

static gboolean read_traces(struct import *import, const gchar *const *paths, guint n_paths,
			    GError **error)
{
	g_autoptr(GError) failure = NULL;
	struct ctf_import ctf = { 0 };
	guint n_read;

#ifndef TACHO_HAVE_BABELTRACE
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
		    "%s: this tacho was built without libbabeltrace2, which reads CTF; build it "
		    "with that library",
		    paths[0]);
	return FALSE;
#endif
	begin(&ctf, import);
	n_read = read_all(&ctf, paths, n_paths, &failure);
	if (n_read) {
		if (failure)
			tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_UNREADABLE_FILE,
						   1, "%s", failure->message);
		finish(&ctf);
	} else {
		g_propagate_error(error, g_steal_pointer(&failure));
	}
	release(&ctf);
	return n_read > 0;
}

static gboolean read_ctf(struct import *import, const gchar *const *paths, guint n_paths,
			 GError **error)
{
	g_autoptr(GPtrArray) others = g_ptr_array_new();

	return read_exports(import, paths, n_paths, others, error) &&
	       (!others->len ||
		read_traces(import, (const gchar *const *)others->pdata, others->len, error));
}

gboolean ctf_is_trace(const gchar *folder)
{
	gchar head[HEAD_BYTES];
	guint32 magic;

	if (read_head(folder, head, sizeof(head)) < (gssize)sizeof(magic))
		return FALSE;
	memcpy(&magic, head, sizeof(magic));
	if (magic == CTF_MAGIC || magic == GUINT32_SWAP_LE_BE(CTF_MAGIC) || is_version_2(head))
		return TRUE;
	return g_str_has_prefix(head, "/* CTF") || strstr(head, "typealias ") ||
	       strstr(head, "trace {") || strstr(head, "clock {");
}

static gboolean sniff_ctf(const struct sniff_input *input)
{
	return input->is_folder && ctf_is_trace(input->path);
}

const struct import_format import_ctf = {
	.name = "ctf",
	.title = "Common Trace Format 1.8: LTTng (programs and kernel), barectf, THAPI",
	.files = "a folder with metadata",
	.sniff = sniff_ctf,
	.read = read_ctf,
};
