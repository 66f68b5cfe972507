/* A log of messages begins with who writes it, and has a line for the begin and one for the end of each:
 *
 *     role=worker, id=9, is_recovery=0
 *     1650000000300000 true true true 131072 9 8       us, is begin, is push, is request, key, sender, receiver
 *
 * A server's log has the begins and ends of its work on a key, with or without the thread:
 *
 *     1650000000300500: start, 131072, COPY_FIRST, 2
 *
 * (1) An end belongs to the last begin that has all else in common. What has not ended is open at the end of the log.
 * (2) Messages between two nodes are a track for each direction, work of a server one for each thread; slices of a
 *     track may overlap.
 * (3) ps-lite numbers workers 9, 11, 13 ... and servers 8, 10, 12 ... (ps/internal/postoffice.h: WorkerRankToID); the
 *     file of a server's work is called after its number ("server_0.txt").
 * (4) Two messages of a worker are hops: its push of a part and the answer to its pull. All parts of the same
 *     gradients, the first time, the second time ..., are one collective "pushpull", from the first push to the
 *     last answer.
 * (5) A server is no rank: it goes to the first worker's. */
#include "import/byteprofile/byteps_log.h"

#include <string.h>

#include "base/for_each.h"
#include "import/byteprofile/byteprofile_ops.h"
#include "import/byteprofile/byteprofile_tensors.h"
#include "import/byteprofile/byteps_keys.h"
#include "import/read/text_lines.h"
#include "trace/source.h"

enum {
	MAX_TOKENS = 8,
	FIRST_SERVER = 8,
	FIRST_WORKER = 9,
	MAX_NODE = 1 << 16,
};

/* A push or the answer to a pull. */
struct transfer {
	guint32 key, slice;
	gboolean is_pull;
};

struct byteps_log {
	struct import *import;
	const gchar *path;
	struct byteps_job *job;
	guint32 process, foreign;
	gint32 node;	    /* of ps-lite; -1: a server's work, which does not tell it */
	GArray *transfers;  /* struct transfer, of a worker, in the order of their begins */
	GHashTable *open;   /* what identifies a begin -> slice + 1, the last */
	GHashTable *tracks; /* name -> track + 1 */
	gint64 last_ns;
	guint64 n_unmatched, n_broken, broken_offset;
};

/* --- args: the line itself ------------------------------------------------------------------ */

struct log_args {
	struct foreign_reader reader;
	struct text_file *file;
};

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	g_autofree gchar *line = text_file_line(((struct log_args *)reader)->file, place);

	if (!line || strpbrk(line, "\"\\") || !g_utf8_validate(line, -1, NULL))
		return NULL;
	for (gchar *at = line; *at; at++)
		if ((guchar)*at < ' ')
			*at = ' ';
	return g_strdup_printf("{\"line\": \"%s\"}", line);
}

static void free_args(struct foreign_reader *reader)
{
	struct log_args *args = (struct log_args *)reader;

	text_file_free(args->file);
	g_free(args);
}

static struct foreign_reader *new_args(const gchar *path)
{
	struct log_args *args = g_new0(struct log_args, 1);

	args->reader = (struct foreign_reader){ .args_json = get_args_json, .free = free_args };
	args->file = text_file_new(path);
	return &args->reader;
}

/* --- slices --------------------------------------------------------------------------------- */

static guint32 find_track(struct byteps_log *log, const gchar *name)
{
	gpointer known = g_hash_table_lookup(log->tracks, name);
	guint32 track;

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	track = import_add_track(log->import, TACHO_TRACK_ASYNC, log->process, 0, name);
	g_hash_table_insert(log->tracks, g_strdup(name), GUINT_TO_POINTER(track + 1));
	return track;
}

static guint32 begin_slice(struct byteps_log *log, const gchar *track, const gchar *name,
			   const gchar *key, gint64 time_ns, guint64 offset)
{
	TachoTimeline *timeline = log->import->timeline;
	guint32 slice = tacho_timeline_add_slice(
		timeline, TACHO_SLICE_EVENT, find_track(log, track),
		tacho_timeline_intern(timeline, name, -1), time_ns, 0, TACHO_SLICE_OPEN,
		tacho_source_foreign_handle(log->foreign, offset));

	g_hash_table_insert(log->open, g_strdup_printf("%s %s %s", track, name, key),
			    GUINT_TO_POINTER(slice + 1));
	return slice;
}

static void end_slice(struct byteps_log *log, const gchar *track, const gchar *name,
		      const gchar *key, gint64 time_ns)
{
	TachoSlices *slices = &log->import->timeline->slices;
	g_autofree gchar *identity = g_strdup_printf("%s %s %s", track, name, key);
	guint32 slice = GPOINTER_TO_UINT(g_hash_table_lookup(log->open, identity)) - 1;

	if (slice == TACHO_NONE) {
		log->n_unmatched++;
		return;
	}
	slices->duration_ns[slice] = MAX(time_ns - slices->start_ns[slice], 0);
	slices->flags[slice] &= (guint8)~TACHO_SLICE_OPEN;
	g_hash_table_remove(log->open, identity);
}

static void end_open(struct byteps_log *log)
{
	TachoSlices *slices = &log->import->timeline->slices;

	FOR_EACH_ENTRY(entry, log->open) {
		guint32 slice = GPOINTER_TO_UINT(entry.value) - 1;

		slices->duration_ns[slice] = MAX(log->last_ns - slices->start_ns[slice], 0);
	}
}

/* --- lines ---------------------------------------------------------------------------------- */

static guint split(gchar *line, gchar **tokens)
{
	gchar *token;
	guint n = 0;

	while (n < MAX_TOKENS && (token = strsep(&line, " \t,:")))
		if (*token)
			tokens[n++] = token;
	return n;
}

static gboolean parse_time(const gchar *text, gint64 *ret_ns)
{
	gchar *end;
	guint64 us = g_ascii_strtoull(text, &end, 10);

	if (end == text || *end || us > TACHO_MAX_TIME_NS / 1000)
		return FALSE;
	*ret_ns = (gint64)us * 1000;
	return TRUE;
}

static gboolean is_truth(const gchar *text)
{
	return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

const gchar *byteps_message_name(gboolean is_push, gboolean is_request)
{
	if (is_push)
		return is_request ? "push request" : "push response";
	return is_request ? "pull request" : "pull response";
}

/* (4) */
static void note_transfer(struct byteps_log *log, gchar **tokens, guint32 slice)
{
	gboolean is_push = tokens[2][0] == 't', is_request = tokens[3][0] == 't';
	struct transfer transfer = { .slice = slice, .is_pull = !is_push };
	guint64 key;

	if (log->node < FIRST_WORKER || is_push != is_request ||
	    g_ascii_strtoll(tokens[is_push ? 5 : 6], NULL, 10) != log->node ||
	    !g_ascii_string_to_unsigned(tokens[4], 10, 0, G_MAXUINT32 - 1, &key, NULL))
		return;
	transfer.key = (guint32)key;
	g_array_append_val(log->transfers, transfer);
}

/* (3): how many workers there are, as far as messages tell. */
static void note_node(struct byteps_log *log, const gchar *text)
{
	guint64 node;

	if (g_ascii_string_to_unsigned(text, 10, FIRST_WORKER, MAX_NODE, &node, NULL) && node % 2)
		log->job->n_workers =
			MAX(log->job->n_workers, (guint32)(node - FIRST_WORKER) / 2 + 1);
}

static gboolean read_message(struct byteps_log *log, gchar **tokens, gint64 time_ns, guint64 offset)
{
	g_autofree gchar *track = NULL;
	const gchar *name;

	if (!is_truth(tokens[1]) || !is_truth(tokens[2]) || !is_truth(tokens[3]))
		return FALSE;
	track = g_strdup_printf("%s -> %s", tokens[5], tokens[6]);
	name = byteps_message_name(tokens[2][0] == 't', tokens[3][0] == 't');
	note_node(log, tokens[5]);
	note_node(log, tokens[6]);
	if (tokens[1][0] == 't')
		note_transfer(log, tokens,
			      begin_slice(log, track, name, tokens[4], time_ns, offset));
	else
		end_slice(log, track, name, tokens[4], time_ns);
	return TRUE;
}

static gboolean read_work(struct byteps_log *log, gchar **tokens, guint n, gint64 time_ns,
			  guint64 offset)
{
	g_autofree gchar *track = g_strdup_printf("thread %s", n > 4 ? tokens[4] : "0");

	if (strcmp(tokens[1], "start") == 0)
		begin_slice(log, track, tokens[3], tokens[2], time_ns, offset);
	else if (strcmp(tokens[1], "stop") == 0)
		end_slice(log, track, tokens[3], tokens[2], time_ns);
	else
		return FALSE;
	return TRUE;
}

static gboolean read_line(struct byteps_log *log, gchar *line, guint64 offset)
{
	gchar *tokens[MAX_TOKENS];
	guint n = split(line, tokens);
	gboolean is_read = FALSE;
	gint64 time_ns;

	if (!n)
		return TRUE;
	if (!parse_time(tokens[0], &time_ns))
		return FALSE;
	if (n == 7)
		is_read = read_message(log, tokens, time_ns, offset);
	else if (n == 4 || n == 5)
		is_read = read_work(log, tokens, n, time_ns, offset);
	if (is_read)
		log->last_ns = MAX(log->last_ns, time_ns);
	return is_read;
}

/* --- collectives ---------------------------------------------------------------------------- */

/* A collective of a worker. */
struct pushpull {
	const gchar *tensors;
	guint32 nth;
	gint64 first_ns, last_ns;
	guint32 slice; /* once it is there */
	gboolean has_pull;
};

/* How often each key has been pushed, or pulled, before. */
static guint32 count_up(GHashTable *counts, const struct transfer *transfer)
{
	gint64 key = (gint64)transfer->key * 2 + transfer->is_pull;
	guint32 n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, &key));

	g_hash_table_insert(counts, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(n + 1));
	return n;
}

/* What goes as one with the key. */
static const gchar *tensors_of(const struct byteps_log *log, guint32 key)
{
	const struct byteps_key *known =
		log->job->keys ? g_hash_table_lookup(log->job->keys, GUINT_TO_POINTER(key)) : NULL;
	g_autofree gchar *alone = g_strdup_printf("key %u", key);

	return g_intern_string(known ? known->tensors : alone);
}

static void free_pushpull(gpointer data)
{
	g_free(data);
}

static struct pushpull *take_pushpull(GHashTable *pushpulls, GPtrArray *order, const gchar *tensors,
				      guint32 nth)
{
	g_autofree gchar *key = g_strdup_printf("%s %u", tensors, nth);
	struct pushpull *pushpull = g_hash_table_lookup(pushpulls, key);

	if (pushpull)
		return pushpull;
	pushpull = g_new(struct pushpull, 1);
	*pushpull = (struct pushpull){ tensors, nth, G_MAXINT64, G_MININT64, TACHO_NONE, FALSE };
	g_hash_table_insert(pushpulls, g_steal_pointer(&key), pushpull);
	g_ptr_array_add(order, pushpull);
	return pushpull;
}

/* What is known of the gradients; 0: nothing. */
static guint64 keep_gradients(const struct byteps_log *log, const gchar *tensors,
			      guint64 *ret_bytes)
{
	g_autoptr(GArray) inputs = g_array_new(FALSE, FALSE, sizeof(TachoTensor));
	TachoCollectiveArgs args = { .packing = TACHO_PACKED_IN_PARTS };

	args.bytes = byteprofile_tensors_sum(log->job->tensors, tensors, strlen(tensors));
	*ret_bytes = args.bytes;
	while (args.bytes && g_ascii_isdigit(*tensors)) {
		gchar *end;
		guint64 number = g_ascii_strtoull(tensors, &end, 10);
		TachoTensor tensor = byteprofile_tensors_find(log->job->tensors, number)->tensor;

		if (log->job->ops)
			tensor.storage = byteprofile_ops_gradient(log->job->ops, number);
		g_array_append_val(inputs, tensor);
		tensors = *end == '+' ? end + 1 : "";
	}
	args.n_inputs = inputs->len;
	if (!inputs->len)
		return 0;
	return tacho_timeline_keep_collective(log->import->timeline, &args,
					      (const TachoTensor *)inputs->data);
}

static void add_pushpulls(struct byteps_log *log, GPtrArray *order)
{
	TachoTimeline *timeline = log->import->timeline;

	FOR_EACH_POINTER(struct pushpull, pushpull, order) {
		g_autofree gchar *track = g_strdup_printf("Comm.%s", pushpull->tensors);
		guint64 bytes;

		if (!pushpull->has_pull) /* the log ends before it does */
			continue;
		pushpull->slice = tacho_timeline_add_slice(
			timeline, TACHO_SLICE_COLLECTIVE, find_track(log, track),
			tacho_timeline_intern(timeline, "pushpull", -1), pushpull->first_ns,
			pushpull->last_ns - pushpull->first_ns, 0,
			keep_gradients(log, pushpull->tensors, &bytes));
	}
}

static void add_hop(struct byteps_log *log, const struct transfer *transfer,
		    const struct pushpull *pushpull)
{
	const struct byteps_key *known =
		log->job->keys
			? g_hash_table_lookup(log->job->keys, GUINT_TO_POINTER(transfer->key))
			: NULL;
	TachoHop hop = { .slice = transfer->slice,
			 .collective = pushpull->slice,
			 .peer = -1,
			 .fed_by = -1,
			 .part = transfer->key,
			 .step = transfer->is_pull,
			 .is_receive = transfer->is_pull != 0,
			 .way = TACHO_HOP_SERVER };

	if (pushpull->slice == TACHO_NONE)
		return;
	hop.bytes = byteprofile_tensors_sum(log->job->tensors, pushpull->tensors,
					    strlen(pushpull->tensors)) /
		    (known ? known->n_parts : 1);
	g_array_append_val(log->import->timeline->hops, hop);
}

/* (4) */
static void add_collectives(struct byteps_log *log)
{
	const TachoSlices *slices = &log->import->timeline->slices;
	g_autoptr(GHashTable) counts =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autoptr(GHashTable) pushpulls =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_pushpull);
	g_autoptr(GPtrArray) order = g_ptr_array_new();
	g_autofree struct pushpull **of = g_new(struct pushpull *, MAX(log->transfers->len, 1u));

	FOR_EACH_AT(const struct transfer, transfer, i, log->transfers) {
		struct pushpull *at =
			take_pushpull(pushpulls, order, tensors_of(log, transfer->key),
				      count_up(counts, transfer));

		of[i] = at;
		at->first_ns = MIN(at->first_ns, slices->start_ns[transfer->slice]);
		at->last_ns = MAX(at->last_ns, slices->start_ns[transfer->slice] +
						       slices->duration_ns[transfer->slice]);
		at->has_pull |= transfer->is_pull;
	}
	add_pushpulls(log, order);
	for (guint i = 0; i < log->transfers->len; i++)
		add_hop(log, &g_array_index(log->transfers, struct transfer, i), of[i]);
}

/* --- the file ------------------------------------------------------------------------------- */

/* "role=worker, id=9, ...": 9; -1: not told. */
static gint32 node_of(const gchar *header)
{
	const gchar *id = header ? strstr(header, "id=") : NULL;

	if (!id || !g_ascii_isdigit(id[3]))
		return -1;
	return (gint32)MIN(g_ascii_strtoull(id + 3, NULL, 10), MAX_NODE);
}

static gint32 server_number(const gchar *path, gint32 node)
{
	g_autofree gchar *name = g_path_get_basename(path);
	const gchar *digits = strrchr(name, '_');

	if (node >= FIRST_SERVER)
		return (node - FIRST_SERVER) / 2;
	return digits ? (gint32)MIN(g_ascii_strtoull(digits + 1, NULL, 10), MAX_NODE) : 0;
}

static guint32 add_process(const struct byteps_log *log, const gchar *role, gint32 number,
			   gint32 rank, guint file)
{
	TachoTimeline *timeline = log->import->timeline;
	g_autofree gchar *host = g_strdup_printf("%s_%d", role, number);
	g_autofree gchar *command = g_strdup_printf("byteps %s", role);
	TachoProcess process = {
		.host = tacho_timeline_intern(timeline, host, -1),
		.command = tacho_timeline_intern(timeline, command, -1),
		.rank = rank,
		.local_rank = -1,
		.world_size = -1,
		.end = TACHO_END_UNKNOWN,
		.path = (gchar *)log->path,
	};

	return import_add_process(log->import, &process, file);
}

static guint32 take_server(const struct byteps_log *log, gint32 number)
{
	const struct import *import = log->import;
	GHashTable *servers = log->job->servers;
	gpointer key = GINT_TO_POINTER(number);
	gpointer known = servers ? g_hash_table_lookup(servers, key) : NULL;
	guint32 process;

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	process = add_process(log, "server", number, -1, /* (5) */
			      import->files->len ? g_array_index(import->files, guint, 0)
						 : import_new_file(log->import));
	if (servers)
		g_hash_table_insert(servers, key, GUINT_TO_POINTER(process + 1));
	return process;
}

static guint32 take_worker(const struct byteps_log *log, gint32 number)
{
	const GArray *workers = log->job->workers;

	if (workers && (guint)number < workers->len)
		return g_array_index(workers, guint32, number);
	return add_process(log, "worker", number, number, import_new_file(log->import));
}

static void init_tables(struct byteps_log *log)
{
	log->open = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	log->tracks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	log->transfers = g_array_new(FALSE, FALSE, sizeof(struct transfer));
}

static void begin_log(struct byteps_log *log, struct import *import, const gchar *path,
		      struct byteps_job *job, const gchar *header)
{
	*log = (struct byteps_log){
		.import = import, .path = path, .job = job, .node = node_of(header)
	};
	init_tables(log);
	if (byteps_log_is_of_server(header ? header : ""))
		log->process = take_server(log, server_number(path, log->node));
	else
		log->process = take_worker(log, MAX(log->node - FIRST_WORKER, 0) / 2);
	if (log->node >= FIRST_WORKER && log->node % 2 == 0)
		log->node = -1;
	log->foreign = tacho_source_take_foreign(import->timeline->source, new_args(path));
}

/* --- messages that something else tells ----------------------------------------------------- */

static void release_log(struct byteps_log *log)
{
	g_array_unref(log->transfers);
	g_hash_table_unref(log->open);
	g_hash_table_unref(log->tracks);
}

struct byteps_log *byteps_log_begin_worker(struct import *import, const gchar *path,
					   struct byteps_job *job, guint worker, guint32 foreign)
{
	struct byteps_log *log = g_new0(struct byteps_log, 1);

	*log = (struct byteps_log){ .import = import,
				    .path = path,
				    .job = job,
				    .node = (gint32)(FIRST_WORKER + 2 * worker),
				    .foreign = foreign };
	init_tables(log);
	log->process = take_worker(log, (gint32)worker);
	job->n_workers = MAX(job->n_workers, worker + 1);
	return log;
}

guint32 byteps_log_track(struct byteps_log *log, gboolean is_request, guint server)
{
	guint node = FIRST_SERVER + 2 * server;
	g_autofree gchar *name = is_request ? g_strdup_printf("%d -> %u", log->node, node)
					    : g_strdup_printf("%u -> %d", node, log->node);

	return find_track(log, name);
}

void byteps_log_add_message(struct byteps_log *log, gboolean is_push, gboolean is_request,
			    guint32 key, guint32 slice)
{
	struct transfer transfer = { .key = key, .slice = slice, .is_pull = !is_push };

	if (is_push == is_request)
		g_array_append_val(log->transfers, transfer);
}

void byteps_log_end_worker(struct byteps_log *log)
{
	if (!log)
		return;
	add_collectives(log);
	release_log(log);
	g_free(log);
}

guint32 byteps_job_take_server(struct import *import, const gchar *path,
			       const struct byteps_job *job, gint32 server)
{
	struct byteps_log log = { .import = import, .path = path, .job = (struct byteps_job *)job };

	return take_server(&log, server);
}

/* --- a log ----------------------------------------------------------------------------------- */

static void report(const struct byteps_log *log)
{
	if (log->n_broken)
		tacho_timeline_add_problem(
			log->import->timeline, TACHO_PROBLEM_CORRUPT_RECORD, log->n_broken,
			"%s: byte %" G_GUINT64_FORMAT ": this is not a line of a BytePS log",
			log->path, log->broken_offset);
	if (log->n_unmatched)
		tacho_timeline_add_problem(log->import->timeline, TACHO_PROBLEM_UNKNOWN_RECORD,
					   log->n_unmatched, "%s: end events without a begin event",
					   log->path);
}

gboolean byteps_log_sniff(const gchar *head)
{
	gsize digits = strspn(head, "0123456789");

	if (g_str_has_prefix(head, "role=")) {
		const gchar *id = head + strcspn(head, ",\n");

		return g_str_has_prefix(id, ", id=") && g_ascii_isdigit(id[strlen(", id=")]);
	}
	return digits >= 10 && (g_str_has_prefix(head + digits, ": start, ") ||
				g_str_has_prefix(head + digits, ": stop, "));
}

gboolean byteps_log_is_of_server(const gchar *head)
{
	return !g_str_has_prefix(head, "role=") || g_str_has_prefix(head, "role=server");
}

void byteps_job_check(struct import *import, const struct byteps_job *job)
{
	for (guint i = 0; i < import->timeline->processes->len; i++)
		if (tacho_timeline_process(import->timeline, i)->rank >= 0)
			return;
	if (import->timeline->processes->len)
		tacho_timeline_add_problem(
			import->timeline, TACHO_PROBLEM_MISSING_RANK, MAX(job->n_workers, 1u),
			"only BytePS servers were recorded, and they are shown as rank 0; add the "
			"workers' traces or logs to see the ranks");
}

gboolean byteps_log_read(struct import *import, const gchar *path, struct byteps_job *job,
			 GError **error)
{
	g_autoptr(TextLines) lines = text_lines_open(path, error);
	g_autoptr(GError) failure = NULL;
	struct byteps_log log;
	guint64 offset;
	gchar *line;
	gsize n;

	if (!lines)
		return FALSE;
	line = text_lines_next(lines, &n, &offset, &failure);
	begin_log(&log, import, path, job, line && g_str_has_prefix(line, "role=") ? line : NULL);
	for (; line; line = text_lines_next(lines, &n, &offset, &failure))
		if (!g_str_has_prefix(line, "role=") && !read_line(&log, line, offset) &&
		    log.n_broken++ == 0)
			log.broken_offset = offset;
	if (failure)
		tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1, "%s",
					   failure->message);
	end_open(&log);
	add_collectives(&log);
	report(&log);
	release_log(&log);
	return TRUE;
}
