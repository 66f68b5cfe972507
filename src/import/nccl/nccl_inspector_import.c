/* nccl_inspector_import: records of NCCL's Inspector, a plug-in of its profiler: an object a collective and rank, a line
 * each or printed wide.
 *
 * (1) A collective ends when its last kernel did, where the record tells ("event_trace_ts"), else when the record was
 *     made; it began as long before as it took ("coll_exec_time_us").
 * (2) `coll_msg_size_bytes` is what one rank gives, but of a reduce-scatter what one gets. */
#include <string.h>

#include "import/chrome/chrome_events.h"
#include "import/read/json_object.h"
#include "import/nccl/nccl_run.h"
#include "import/sniff_evidence.h"

struct inspector {
	struct nccl_run *run;
	TachoTimeline *timeline;
	guint64 n_unknown, n_records;
};

/* Where what a record tells of is at: a collective or a message. */
static struct json_object find_figures(const struct json_object *record, gboolean *ret_is_message)
{
	struct json_object figures = json_object_member(record, "coll_perf");

	*ret_is_message = !figures.at;
	return figures.at ? figures : json_object_member(record, "p2p_perf");
}

/* The kernels of a record, each of a channel, as slices; returns when the last of them stopped, in ns; 0: not told. */
static gint64 add_channels(struct inspector *inspector, const struct json_object *trace,
			   guint32 member, guint64 offset)
{
	struct json_scan events;
	gint64 last_us = 0;

	if (!json_object_find(trace, "kernel_events", &events) || json_peek(&events) != '[')
		return 0;
	json_take(&events, '[');
	while (json_element(&events)) {
		struct json_object event = { .at = events.at };
		gint64 start_us, stop_us;
		gchar name[32];

		json_skip(&events);
		event.end = events.at;
		if (events.status != JSON_OK)
			break;
		start_us = json_object_fixed(&event, "kernel_start_ts", 0, 0);
		stop_us = json_object_fixed(&event, "kernel_stop_ts", 0, 0);
		if (start_us <= 0 || stop_us < start_us || stop_us > TACHO_MAX_TIME_NS / 1000)
			continue;
		last_us = MAX(last_us, stop_us);
		g_snprintf(name, sizeof(name), "channel %" G_GINT64_FORMAT,
			   json_object_fixed(&event, "channel_id", 0, 0));
		nccl_run_add(inspector->run,
			     &(struct nccl_slice){
				     .member = member,
				     .kind = TACHO_SLICE_EVENT,
				     .track = "channels",
				     .name = tacho_timeline_intern(inspector->timeline, name, -1),
				     .start_ns = start_us * 1000,
				     .duration_ns = (stop_us - start_us) * 1000,
				     .offset = offset });
	}
	return last_us * 1000;
}

static guint32 find_member(struct inspector *inspector, const struct json_object *record)
{
	struct json_object header = json_object_member(record, "header");
	struct json_object metadata = json_object_member(record, "metadata");
	g_autofree gchar *id = json_object_text(&header, "id");
	g_autofree gchar *host = json_object_text(&metadata, "hostname");
	struct nccl_who who = {
		.host = host ? host : "",
		.pid = json_object_fixed(&metadata, "pid", 0, 0),
		.communicator = id ? g_ascii_strtoull(id, NULL, 0) : 0,
		.rank = json_object_fixed(&header, "rank", 0, 0),
		.n_ranks = json_object_fixed(&header, "n_ranks", 0, 0),
	};

	return nccl_run_member(inspector->run, &who);
}

/* (1) */
static gint64 find_end(struct inspector *inspector, const struct json_object *record,
		       const struct json_object *figures, guint32 member, guint64 offset)
{
	struct json_object trace = json_object_member(figures, "event_trace_ts");
	struct json_object metadata = json_object_member(record, "metadata");
	gint64 end_ns = add_channels(inspector, &trace, member, offset);

	if (end_ns <= 0)
		end_ns = json_object_fixed(&metadata, "dump_timestamp_us", 3, 0);
	return end_ns;
}

static void note_record(struct chrome_event *event, gpointer data)
{
	struct inspector *inspector = data;
	struct json_object record = { event->at, event->end };
	struct json_object header = json_object_member(&record, "header");
	gboolean is_message;
	struct json_object figures = find_figures(&record, &is_message);
	const gchar *prefix = is_message ? "p2p" : "coll";
	g_autofree gchar *size_key = g_strconcat(prefix, "_msg_size_bytes", NULL);
	g_autofree gchar *time_key = g_strconcat(prefix, "_exec_time_us", NULL);
	g_autofree gchar *name = figures.at ? json_object_text(&figures, prefix) : NULL;
	struct nccl_slice slice = { .kind = TACHO_SLICE_COLLECTIVE, .track = "collectives" };
	gint64 size;

	if (!name || !header.at) {
		inspector->n_unknown++;
		return;
	}
	inspector->n_records++;
	slice.member = find_member(inspector, &record);
	slice.name = nccl_collective_name(inspector->timeline, name, strlen(name));
	slice.duration_ns = json_object_fixed(&figures, time_key, 3, -1);
	slice.offset = event->offset;
	slice.start_ns = find_end(inspector, &record, &figures, slice.member, event->offset);
	if (__builtin_sub_overflow(slice.start_ns, MAX(slice.duration_ns, 0), &slice.start_ns))
		slice.start_ns = 0;
	size = json_object_fixed(&figures, size_key, 0, 0);
	slice.bytes = nccl_input_bytes(tacho_timeline_string(inspector->timeline, slice.name),
				       (guint64)MAX(size, 0),
				       json_object_fixed(&header, "n_ranks", 0, 0));
	nccl_run_add(inspector->run, &slice);
}

static gboolean read_inspector(struct import *import, const gchar *const *paths, guint n_paths,
			       GError **error)
{
	struct inspector inspector = { .run = nccl_run_new(import), .timeline = import->timeline };
	guint n_read = 0;

	for (guint i = 0; i < n_paths; i++) {
		g_autoptr(GError) failure = NULL;
		struct chrome_file file;

		import_begin_path(import, i, n_paths);
		nccl_run_begin_file(inspector.run, paths[i]);
		if (chrome_events_read(&file, paths[i], import, note_record, &inspector,
				       &failure)) {
			chrome_file_report(&file, import->timeline);
			n_read++;
		} else if (i + 1 == n_paths && !n_read) {
			g_propagate_error(error, g_steal_pointer(&failure));
		} else {
			tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_UNREADABLE_FILE,
						   1, "%s", failure->message);
		}
		chrome_file_release(&file);
	}
	nccl_run_finish(inspector.run);
	nccl_run_free(inspector.run);
	if (inspector.n_unknown)
		tacho_timeline_add_problem(
			import->timeline, TACHO_PROBLEM_UNKNOWN_RECORD, inspector.n_unknown,
			"%s: records of neither a collective nor a message", paths[0]);
	return n_read > 0;
}

static gboolean sniff_inspector(const struct sniff_input *input)
{
	return json_head_has(input, "coll_perf", 3, "{") ||
	       json_head_has(input, "p2p_perf", 3, "{") ||
	       json_head_has(input, "inspector_output_format_version", 3, "\"");
}

const struct import_format import_nccl_inspector = {
	.name = "nccl_inspector",
	.title = "records of NCCL's Inspector",
	.files = "*.log, *.json, *.jsonl",
	.sniff = sniff_inspector,
	.read = read_inspector,
};
