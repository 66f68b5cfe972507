/* rocprof_json_import: rocprof's (v1) result.json, a Chrome trace whose pids are sorts of events.
 *
 *     {"ph":"M", process_name "GPU1", "pid":7}     pid 7 has what ran on GPU 1
 *     {"ph":"X", "pid":"7", "args":{"BeginNs", "EndNs", "pid", "tid", ...}}
 *     {"ph":"s", "pid":2, "tid":71, "ts":5} {"ph":"t", "pid":7, ...}   the thread 71 caused it at 5
 *
 * (1) The true process, thread and times in nanoseconds are in args.
 * (2) An arrow says when a thread put into the queue what its end names by pid, tid and time: the call of HIP open then
 *     has launched it (rocm_events.h). So does DispatchNs, more exactly. */
#include <string.h>

#include "base/for_each.h"
#include "import/chrome/chrome_args.h"
#include "import/chrome/chrome_events.h"
#include "import/rocm/rocm_events.h"
#include "import/rocm/rocm_files.h"
#include "import/sniff_evidence.h"
#include "trace/source.h"

enum role { ROLE_OTHER, ROLE_HIP, ROLE_HSA, ROLE_MARKERS, ROLE_COPY, ROLE_GPU };

/* What an arrow ends at. */
struct arrow_end {
	gint64 pid, tid, time_ns;
};

/* A device's event, kept until all arrows are known. */
struct kept_event {
	struct rocm_event event;
	guint32 name; /* string id */
	struct arrow_end key;
};

struct json_file_read {
	struct import *import;
	struct track_book *book;
	struct rocm_events *events;
	guint32 foreign;
	GHashTable *roles;  /* pid -> enum role */
	GHashTable *begins; /* id of an arrow -> when it begins */
	GHashTable *causes; /* struct arrow_end -> when its arrow began */
	GArray *kept;	    /* struct kept_event */
};

static guint hash_end(gconstpointer data)
{
	const struct arrow_end *end = data;
	guint64 hash = (guint64)end->time_ns * 0x9E3779B97F4A7C15u + (guint64)end->pid;

	hash = hash * 0x9E3779B97F4A7C15u + (guint64)end->tid;
	return (guint)(hash ^ hash >> 32);
}

static gboolean is_equal_end(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct arrow_end)) == 0;
}

static void read_metadata(struct json_file_read *file, const struct chrome_event *event)
{
	TachoTimeline *timeline = file->import->timeline;
	enum role role = ROLE_OTHER;
	const gchar *name;
	guint32 text;

	if (strcmp(tacho_timeline_string(timeline, event->name), "process_name") != 0 ||
	    !chrome_event_arg_text(event, "name", timeline, &text))
		return;
	name = tacho_timeline_string(timeline, text);
	if (strstr(name, "HIP API"))
		role = ROLE_HIP;
	else if (strstr(name, "HSA API"))
		role = ROLE_HSA;
	else if (strstr(name, "Marker"))
		role = ROLE_MARKERS;
	else if (strcmp(name, "COPY") == 0)
		role = ROLE_COPY;
	else if (g_str_has_prefix(name, "GPU"))
		role = ROLE_GPU;
	g_hash_table_insert(file->roles, g_memdup2(&event->pid, sizeof(event->pid)),
			    GUINT_TO_POINTER(role));
}

static gint64 arg_or(const struct chrome_event *event, const gchar *key, gint64 otherwise)
{
	chrome_event_arg_integer(event, key, &otherwise);
	return otherwise;
}

static void fill_event(struct json_file_read *file, const struct chrome_event *event,
		       struct rocm_event *filled)
{
	filled->process = track_book_process(file->book, 0, arg_or(event, "pid", 0));
	filled->tid = arg_or(event, "tid", event->tid);
	filled->start_ns = arg_or(event, "BeginNs", event->time_ns);
	filled->end_ns = arg_or(event, "EndNs", event->time_ns + MAX(event->duration_ns, 0));
	filled->device = arg_or(event, "gpu-id", arg_or(event, "dev-id", 0));
	filled->queue = arg_or(event, "queue-id", -1);
	filled->stream = arg_or(event, "stream-id", 0);
	filled->dispatch_ns = arg_or(event, "DispatchNs", 0);
	filled->source =
		event->args_at ? tacho_source_foreign_handle(file->foreign, event->args_offset) : 0;
	filled->name = tacho_timeline_string(file->import->timeline, event->name);
}

static void read_slice(struct json_file_read *file, const struct chrome_event *event)
{
	static const enum rocm_kind kinds[] = {
		[ROLE_OTHER] = ROCM_OTHER,   [ROLE_HIP] = ROCM_CALL,  [ROLE_HSA] = ROCM_CALL,
		[ROLE_MARKERS] = ROCM_RANGE, [ROLE_COPY] = ROCM_COPY, [ROLE_GPU] = ROCM_KERNEL,
	};
	enum role role = GPOINTER_TO_UINT(g_hash_table_lookup(file->roles, &event->pid));
	struct kept_event kept = { .event = { .kind = kinds[role] },
				   .name = event->name,
				   .key = { event->pid, event->tid, event->time_ns } };

	fill_event(file, event, &kept.event);
	if (role == ROLE_COPY || role == ROLE_GPU)
		g_array_append_val(file->kept, kept);
	else
		rocm_events_add(file->events, &kept.event);
}

/* (2): the begin of an arrow comes before its end. */
static void read_arrow(struct json_file_read *file, const struct chrome_event *event)
{
	struct arrow_end end = { event->pid, event->tid, event->time_ns };
	const gint64 *begin_ns;

	if (event->phase == 's') {
		g_hash_table_insert(file->begins, g_memdup2(&event->id, sizeof(event->id)),
				    g_memdup2(&event->time_ns, sizeof(event->time_ns)));
		return;
	}
	begin_ns = g_hash_table_lookup(file->begins, &event->id);
	if (begin_ns)
		g_hash_table_insert(file->causes, g_memdup2(&end, sizeof(end)),
				    g_memdup2(begin_ns, sizeof(*begin_ns)));
}

static void read_event(struct chrome_event *event, gpointer data)
{
	struct json_file_read *file = data;

	switch (event->phase) {
	case 'M':
		read_metadata(file, event);
		break;
	case 'X':
		read_slice(file, event);
		break;
	case 's':
	case 't':
	case 'f':
		read_arrow(file, event);
		break;
	case 0: /* the list begins with {} */
		break;
	default:
		track_book_count_unknown(
			file->book,
			"byte %" G_GUINT64_FORMAT ": an event of the unknown phase '%c'",
			event->offset, g_ascii_isprint(event->phase) ? event->phase : '?');
	}
}

/* Times of arrows are cut to microseconds: the middle of one is meant. */
static void add_kept(struct json_file_read *file)
{
	enum { HALF_US = 500 };

	FOR_EACH(struct kept_event, kept, file->kept) {
		const gint64 *cause_ns = g_hash_table_lookup(file->causes, &kept->key);

		if (!kept->event.dispatch_ns && cause_ns && *cause_ns < G_MAXINT64 - HALF_US)
			kept->event.dispatch_ns = *cause_ns + HALF_US;
		kept->event.name = tacho_timeline_string(file->import->timeline, kept->name);
		rocm_events_add(file->events, &kept->event);
	}
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct json_file_read file = { .import = import };
	struct chrome_file chrome = { 0 };
	gboolean is_read;

	(void)data;
	file.book = track_book_new(import, path);
	file.events = rocm_events_new(file.book);
	file.foreign = tacho_source_take_foreign(import->timeline->source, chrome_args_new(path));
	file.roles = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	file.begins = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	file.causes = g_hash_table_new_full(hash_end, is_equal_end, g_free, g_free);
	file.kept = g_array_new(FALSE, FALSE, sizeof(struct kept_event));
	is_read = chrome_events_read(&chrome, path, import, read_event, &file, error);
	if (is_read) {
		add_kept(&file);
		chrome_file_report(&chrome, import->timeline);
	}
	rocm_events_finish(file.events);
	track_book_finish(file.book, 0);
	chrome_file_release(&chrome);
	g_array_unref(file.kept);
	g_hash_table_unref(file.causes);
	g_hash_table_unref(file.begins);
	g_hash_table_unref(file.roles);
	rocm_events_free(file.events);
	track_book_free(file.book);
	return is_read;
}

/* Its first events name the pids, in the words that rocprof's script has. */
static gboolean sniff(const struct sniff_input *input)
{
	enum { MAX_LOOKED_AT = 4096 };
	static const gchar *const words[] = { "\"CPU HIP API\"", "\"CPU HSA API\"",
					      "\"Markers and Ranges\"", "\"COPY\"", "\"GPU0\"" };
	gsize n = MIN(input->n_head, MAX_LOOKED_AT);

	if (!json_head_has(input, "traceEvents", 1, "[") ||
	    !memmem(input->head, n, "\"sort_index\"", strlen("\"sort_index\"")))
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(words); i++)
		if (memmem(input->head, n, words[i], strlen(words[i])))
			return TRUE;
	return FALSE;
}

static gboolean is_redundant(const struct sniff_input *input)
{
	static const gchar *const better[] = { ".db" };

	return rocm_files_has_better(input, ".json", better, G_N_ELEMENTS(better));
}

const struct import_format import_rocprof_json = {
	.name = "rocprof_json",
	.title = "rocprof (v1), JSON",
	.files = "result.json",
	.sniff = sniff,
	.is_redundant = is_redundant,
	.read_file = read_file,
};
