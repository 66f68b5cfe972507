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
 *     track may overlap. */
#include "import/byteps_log.h"

#include <string.h>

#include "import/text_lines.h"
#include "trace/source.h"

enum {
	MAX_TOKENS = 8,
};

struct byteps_log {
	struct import *import;
	const gchar *path;
	guint32 process, foreign;
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

static void begin_slice(struct byteps_log *log, const gchar *track, const gchar *name,
			const gchar *key, gint64 time_ns, guint64 offset)
{
	TachoTimeline *timeline = log->import->timeline;
	guint32 slice = tacho_timeline_add_slice(
		timeline, TACHO_SLICE_EVENT, find_track(log, track),
		tacho_timeline_intern(timeline, name, -1), time_ns, 0, TACHO_SLICE_OPEN,
		tacho_source_foreign_handle(log->foreign, offset));

	g_hash_table_insert(log->open, g_strdup_printf("%s %s %s", track, name, key),
			    GUINT_TO_POINTER(slice + 1));
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
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, log->open);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		guint32 slice = GPOINTER_TO_UINT(value) - 1;

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

static gboolean read_message(struct byteps_log *log, gchar **tokens, gint64 time_ns, guint64 offset)
{
	g_autofree gchar *track = NULL;
	const gchar *name;

	if (!is_truth(tokens[1]) || !is_truth(tokens[2]) || !is_truth(tokens[3]))
		return FALSE;
	track = g_strdup_printf("%s -> %s", tokens[5], tokens[6]);
	name = tokens[2][0] == 't'   ? (tokens[3][0] == 't' ? "push request" : "push response")
	       : tokens[3][0] == 't' ? "pull request"
				     : "pull response";
	if (tokens[1][0] == 't')
		begin_slice(log, track, name, tokens[4], time_ns, offset);
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

/* --- the file ------------------------------------------------------------------------------- */

static void begin_log(struct byteps_log *log, struct import *import, const gchar *path,
		      const gchar *header)
{
	TachoTimeline *timeline = import->timeline;
	g_autofree gchar *command =
		header ? g_strdup_printf("byteps %s", header) : g_strdup("byteps server");
	TachoProcess process = {
		.host = tacho_timeline_intern(timeline, "unknown", -1),
		.command = tacho_timeline_intern(timeline, command, -1),
		.rank = -1,
		.local_rank = -1,
		.world_size = -1,
		.end = TACHO_END_UNKNOWN,
		.path = (gchar *)path,
	};

	*log = (struct byteps_log){ .import = import, .path = path };
	log->open = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	log->tracks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	log->process = import_add_process(import, &process, import_new_file(import));
	log->foreign = tacho_source_take_foreign(timeline->source, new_args(path));
}

static void report(const struct byteps_log *log)
{
	if (log->n_broken)
		tacho_timeline_add_problem(log->import->timeline, "corrupt_record", log->n_broken,
					   "%s: byte %" G_GUINT64_FORMAT ": no line of such a log",
					   log->path, log->broken_offset);
	if (log->n_unmatched)
		tacho_timeline_add_problem(log->import->timeline, "unknown_record",
					   log->n_unmatched, "%s: ends of what has not begun",
					   log->path);
}

gboolean byteps_log_sniff(const gchar *head)
{
	gsize digits = strspn(head, "0123456789");

	if (g_str_has_prefix(head, "role=") && strstr(head, ", id="))
		return TRUE;
	return digits >= 10 && (g_str_has_prefix(head + digits, ": start, ") ||
				g_str_has_prefix(head + digits, ": stop, "));
}

gboolean byteps_log_read(struct import *import, const gchar *path, GError **error)
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
	begin_log(&log, import, path, line && g_str_has_prefix(line, "role=") ? line : NULL);
	for (; line; line = text_lines_next(lines, &n, &offset, &failure))
		if (!g_str_has_prefix(line, "role=") && !read_line(&log, line, offset) &&
		    log.n_broken++ == 0)
			log.broken_offset = offset;
	if (failure)
		tacho_timeline_add_problem(import->timeline, "truncated_file", 1, "%s",
					   failure->message);
	end_open(&log);
	report(&log);
	g_hash_table_unref(log.open);
	g_hash_table_unref(log.tracks);
	return TRUE;
}
