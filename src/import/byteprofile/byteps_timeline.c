/* Begins and ends, as Chrome has them:
 *
 *     process "worker_0 -> server_1"    "3+4~PART1.PUSH"            a request; from the server a response
 *     process "server_1", thread 2      "3+4~PART1.COPY_FIRST"
 *
 * (1) What the gradients are called by, and the part, stand for the key that the logs have.
 * (2) Messages are those of their worker, in the order of their begins. */
#include "import/byteprofile/byteps_timeline.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "import/byteprofile/byteps_keys.h"
#include "import/chrome/chrome_trace.h"
#include "trace/source.h"

#define MAX_NODES 4096

static const gchar arrow[] = " -> ", part_mark[] = "~PART";

/* A message, before the worker's log is made of it. */
struct message {
	gint64 start_ns, duration_ns;
	guint32 worker, server, key;
	gboolean is_push, is_request, is_open;
	guint64 place;
};

struct timeline {
	struct byteps_job *job;
	GHashTable *keys;    /* as byteps_keys.h says: (1) */
	GHashTable *by_name; /* "3+4~PART1" -> key + 1 */
	GHashTable *n_parts; /* "3+4" -> how many */
	GArray *messages;    /* struct message */
	GHashTable *tracks;  /* server and thread -> track + 1 */
};

/* --- names -------------------------------------------------------------------------------------- */

/* The number of a node ("server_12"); -1: it is none of that role. */
static gint32 node_number(const gchar *text, const gchar *role)
{
	gsize n = strlen(role), digits;

	if (!g_str_has_prefix(text, role) || text[n] != '_')
		return -1;
	digits = strspn(text + n + 1, "0123456789");
	if (!digits || digits > 4 || (text[n + 1 + digits] && text[n + 1 + digits] != ' '))
		return -1;
	return (gint32)MIN(g_ascii_strtoull(text + n + 1, NULL, 10), MAX_NODES);
}

static void free_key(gpointer data)
{
	struct byteps_key *key = data;

	g_free(key->tensors);
	g_free(key);
}

/* (1): the key of "Comm.3+4~PART1" or "3+4". */
static guint32 find_key(struct timeline *timeline, const gchar *name)
{
	const gchar *tensors = g_str_has_prefix(name, "Comm.") ? name + strlen("Comm.") : name;
	const gchar *mark = strstr(tensors, part_mark);
	gpointer known = g_hash_table_lookup(timeline->by_name, tensors);
	struct byteps_key *key;
	guint32 number, n_parts;

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	key = g_new0(struct byteps_key, 1);
	key->tensors = mark ? g_strndup(tensors, (gsize)(mark - tensors)) : g_strdup(tensors);
	if (mark)
		key->part = (guint32)MIN(g_ascii_strtoull(mark + strlen(part_mark), NULL, 10),
					 G_MAXINT32 - 1);
	number = g_hash_table_size(timeline->keys);
	n_parts = GPOINTER_TO_UINT(g_hash_table_lookup(timeline->n_parts, key->tensors));
	g_hash_table_insert(timeline->n_parts, g_strdup(key->tensors),
			    GUINT_TO_POINTER(MAX(n_parts, key->part + 1)));
	g_hash_table_insert(timeline->keys, GUINT_TO_POINTER(number), key);
	g_hash_table_insert(timeline->by_name, g_strdup(tensors), GUINT_TO_POINTER(number + 1));
	return number;
}

static void count_parts(struct timeline *timeline)
{
	FOR_EACH_ENTRY(entry, timeline->keys) {
		struct byteps_key *key = entry.value;

		key->n_parts =
			GPOINTER_TO_UINT(g_hash_table_lookup(timeline->n_parts, key->tensors));
	}
}

/* --- messages ----------------------------------------------------------------------------------- */

static gint compare_messages(gconstpointer first, gconstpointer second)
{
	const struct message *a = first, *b = second;

	return ORDER(a->worker, b->worker) ?: ORDER(a->start_ns, b->start_ns) ?:
	       ORDER(a->place, b->place);
}

/* False: it is none. */
static gboolean note_message(struct timeline *timeline, const gchar *link, const gchar *name,
			     struct message message)
{
	const gchar *to = strstr(link, arrow), *what = strrchr(name, '.');
	g_autofree gchar *tensors = what ? g_strndup(name, (gsize)(what - name)) : NULL;
	gint32 worker, server;

	if (!to || !what || (strcmp(what, ".PUSH") != 0 && strcmp(what, ".PULL") != 0))
		return FALSE;
	message.is_push = strcmp(what, ".PUSH") == 0;
	message.is_request = g_str_has_prefix(link, "worker");
	worker = node_number(message.is_request ? link : to + strlen(arrow), "worker");
	server = node_number(message.is_request ? to + strlen(arrow) : link, "server");
	if (worker < 0 || server < 0)
		return FALSE;
	message.worker = (guint32)worker;
	message.server = (guint32)server;
	message.key = find_key(timeline, tensors);
	g_array_append_val(timeline->messages, message);
	return TRUE;
}

/* (2) */
static void add_messages(struct chrome_trace *trace, struct timeline *timeline)
{
	struct byteps_job job = *timeline->job;
	struct byteps_log *log = NULL;

	job.keys = timeline->keys;
	count_parts(timeline);
	g_array_sort(timeline->messages, compare_messages);
	FOR_EACH_AT(const struct message, message, i, timeline->messages) {
		guint32 slice;

		if (i == 0 || message->worker != message[-1].worker) {
			byteps_log_end_worker(log);
			log = byteps_log_begin_worker(trace->import, trace->file.path, &job,
						      message->worker, trace->foreign);
		}
		slice = tacho_timeline_add_slice(
			trace->timeline, TACHO_SLICE_EVENT,
			byteps_log_track(log, message->is_request, message->server),
			tacho_timeline_intern(
				trace->timeline,
				byteps_message_name(message->is_push, message->is_request), -1),
			message->start_ns, message->duration_ns,
			message->is_open ? TACHO_SLICE_OPEN : 0, message->place);
		byteps_log_add_message(log, message->is_push, message->is_request, message->key,
				       slice);
	}
	byteps_log_end_worker(log);
	timeline->job->n_workers = MAX(timeline->job->n_workers, job.n_workers);
}

/* --- servers ------------------------------------------------------------------------------------ */

static gboolean add_work(struct chrome_trace *trace, struct timeline *timeline,
			 const struct chrome_row *row, const struct message *times)
{
	gint32 server = node_number(chrome_trace_process_name(trace, row->thread), "server");
	const gchar *what = strrchr(tacho_timeline_string(trace->timeline, row->name), '.');
	gint64 thread = chrome_trace_thread(trace, row->thread)->tid;
	g_autofree gchar *key = g_strdup_printf("%d %" G_GINT64_FORMAT, server, thread);
	gpointer known = g_hash_table_lookup(timeline->tracks, key);

	if (server < 0 || !what)
		return FALSE;
	if (!known) {
		const gchar *text = chrome_id_text(trace->timeline, thread);
		g_autofree gchar *name =
			text ? g_strdup(text) : g_strdup_printf("thread %" G_GINT64_FORMAT, thread);
		guint32 process = byteps_job_take_server(trace->import, trace->file.path,
							 timeline->job, server);

		known = GUINT_TO_POINTER(
			import_add_track(trace->import, TACHO_TRACK_ASYNC, process, 0, name) + 1);
		g_hash_table_insert(timeline->tracks, g_steal_pointer(&key), known);
	}
	tacho_timeline_add_slice(trace->timeline, TACHO_SLICE_EVENT, GPOINTER_TO_UINT(known) - 1,
				 tacho_timeline_intern(trace->timeline, what + 1, -1),
				 times->start_ns, times->duration_ns,
				 times->is_open ? TACHO_SLICE_OPEN : 0, times->place);
	return TRUE;
}

/* --- the file ----------------------------------------------------------------------------------- */

static void judge(struct chrome_trace *trace, const struct chrome_row *row,
		  struct chrome_verdict *verdict)
{
	(void)trace;
	(void)row;
	verdict->place = CHROME_NOWHERE; /* finish() has all of them */
}

static void finish(struct chrome_trace *trace)
{
	struct timeline *timeline = (struct timeline *)trace->context;
	guint64 n_unknown = 0;

	for (gsize i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = chrome_trace_row(trace, i);
		struct message times = { .duration_ns = MAX(row->duration_ns, 0),
					 .is_open = row->is_open };

		if (__builtin_add_overflow(row->start_ns, trace->base_ns, &times.start_ns) ||
		    times.duration_ns > TACHO_MAX_TIME_NS) {
			n_unknown++;
			continue;
		}
		times.place = row->args_offset ? tacho_source_foreign_handle(trace->foreign,
									     row->args_offset)
					       : 0;
		if (!note_message(timeline, chrome_trace_process_name(trace, row->thread),
				  tacho_timeline_string(trace->timeline, row->name), times) &&
		    !add_work(trace, timeline, row, &times))
			n_unknown++;
	}
	if (n_unknown)
		tacho_timeline_add_problem(
			trace->timeline, TACHO_PROBLEM_UNKNOWN_RECORD, n_unknown,
			"%s: neither a message between a worker and a server nor work of a server",
			trace->file.path);
	if (timeline->messages->len)
		add_messages(trace, timeline);
}

static const struct chrome_dialect dialect = { .judge = judge, .finish = finish };

gboolean byteps_timeline_is_of_servers(const gchar *head)
{
	return strstr(head, "\"server_") && !strstr(head, " -> worker_") &&
	       (strstr(head, ".COPY_FIRST\"") || strstr(head, ".SUM\"") ||
		strstr(head, ".COPY_MERGED\""));
}

gboolean byteps_timeline_sniff(const gchar *head)
{
	if (!strstr(head, "\"ph\""))
		return FALSE;
	return byteps_timeline_is_of_servers(head) ||
	       (strstr(head, "\"worker_") && strstr(head, " -> server_") &&
		(strstr(head, ".PUSH\"") || strstr(head, ".PULL\"")));
}

gboolean byteps_timeline_read(struct import *import, const gchar *path, struct byteps_job *job,
			      GError **error)
{
	struct timeline timeline = { .job = job };
	gboolean is_read;

	timeline.keys = g_hash_table_new_full(NULL, NULL, NULL, free_key);
	timeline.by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	timeline.n_parts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	timeline.tracks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	timeline.messages = g_array_new(FALSE, FALSE, sizeof(struct message));
	is_read = chrome_trace_read(import, path, &dialect, &timeline, error);
	g_array_unref(timeline.messages);
	g_hash_table_unref(timeline.tracks);
	g_hash_table_unref(timeline.n_parts);
	g_hash_table_unref(timeline.by_name);
	g_hash_table_unref(timeline.keys);
	return is_read;
}
