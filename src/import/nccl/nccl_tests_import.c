/* nccl_tests_import: what the programs of nccl-tests (all_reduce_perf ...) and rccl-tests print.
 *
 * (1) A row of the table is two collectives of all ranks, out of place and in place, each as long as the mean of its
 *     iterations. Nothing says when they ran: they stand one after the other.
 * (2) Which collective it was, the program's name tells where it is printed or part of the file's name; else how the
 *     bus bandwidth compares with the algorithm's, and which columns there are.
 * (3) `size` is what nccl-tests calls it; of an all-gather that is what all ranks give together. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/for_each.h"
#include "import/element_type.h"
#include "import/import_format.h"
#include "import/sniff_evidence.h"
#include "import/read/text_lines.h"
#include "trace/source.h"

enum {
	MAX_RANKS = 1 << 16,
	MAX_ROWS = 1 << 20,
	MAX_TOKENS = 24,
};

/* One measurement: half of a row. */
struct measurement {
	guint64 size, count;
	gdouble time_us, algorithm_gb_per_s, bus_gb_per_s;
	guint64 line; /* where its row is */
	const gchar *dtype;
	guint8 dtype_bytes;
	guint8 is_in_place;
	guint8 has_redop, has_root;
	gchar error[16];
};

struct test_rank {
	guint32 pid;
	gint32 device;
	gchar *host, *model;
};

/* A file, and the foreign reader of its rows. */
struct test_log {
	struct foreign_reader reader;
	gchar *path;
	const gchar *collective; /* static; NULL: not known */
	gint64 n_iterations;
	GArray *measurements; /* struct measurement */
	GArray *ranks;	      /* struct test_rank */
	guint n_ranks;
	guint64 n_broken, broken_offset;
};

/* --- names ---------------------------------------------------------------------------------- */

static const gchar *const collectives[] = { "allreduce", "allgather", "reducescatter", "alltoall",
					    "broadcast", "reduce",    "sendrecv",      "hypercube",
					    "gather",	 "scatter" };

/* The collective that a text ("nccl_allreduce.log", "all_reduce_perf") names. */
static const gchar *find_collective(const gchar *text)
{
	g_autofree gchar *plain = g_ascii_strdown(text, -1);
	gsize kept = 0;

	for (gsize i = 0; plain[i]; i++)
		if (g_ascii_isalpha(plain[i]))
			plain[kept++] = plain[i];
	plain[kept] = '\0';
	for (guint i = 0; i < G_N_ELEMENTS(collectives); i++)
		if (strstr(plain, collectives[i]))
			return collectives[i];
	return NULL;
}

/* (2): by the largest that has both figures. */
static const gchar *guess_collective(const struct test_log *log)
{
	const struct measurement *largest = NULL;
	gdouble n = log->n_ranks, ratio;

	FOR_EACH(const struct measurement, at, log->measurements)
		if (at->algorithm_gb_per_s >= 1 && (!largest || at->size >= largest->size))
			largest = at;
	if (!largest)
		return "collective";
	ratio = largest->bus_gb_per_s / largest->algorithm_gb_per_s;
	if (fabs(ratio - 1) < 0.005 && largest->has_root)
		return largest->has_redop ? "reduce" : "broadcast";
	if (n > 2 && fabs(ratio - 2 * (n - 1) / n) < 0.01)
		return "allreduce";
	if (fabs(ratio - (n - 1) / n) < 0.01)
		return largest->has_redop ? "reducescatter" : "allgather";
	return "collective";
}

/* --- rows ----------------------------------------------------------------------------------- */

/* Passes over what a launcher wrote before the line: "[1,0]<stdout>:", "0: ". */
static gchar *pass_launcher(gchar *line)
{
	gchar *at = line;

	if (*at == '[' && (at = strstr(line, "<stdout>:")))
		return at + strlen("<stdout>:");
	at = line + strspn(line, "0123456789");
	return at > line && g_str_has_prefix(at, ": ") ? at + 2 : line;
}

static guint split(gchar *line, gchar **tokens)
{
	gchar *at = line, *token;
	guint n = 0;

	while (n < MAX_TOKENS && (token = strsep(&at, " \t")))
		if (*token)
			tokens[n++] = token;
	return n;
}

static gboolean parse_count(const gchar *token, guint64 *ret_count)
{
	gchar *end;

	if (!g_ascii_isdigit(*token))
		return FALSE;
	*ret_count = g_ascii_strtoull(token, &end, 10);
	return *end == '\0' && *ret_count <= G_MAXINT64;
}

static gboolean parse_figure(const gchar *token, gdouble *ret_figure)
{
	gchar *end;

	*ret_figure = g_ascii_strtod(token, &end);
	return end > token && *end == '\0' && isfinite(*ret_figure) && *ret_figure >= 0;
}

/* time, algbw, busbw, error */
static gboolean parse_measurement(gchar **tokens, struct measurement *measurement)
{
	if (!parse_figure(tokens[0], &measurement->time_us) ||
	    measurement->time_us > (gdouble)TACHO_MAX_TIME_NS / 1e6 ||
	    !parse_figure(tokens[1], &measurement->algorithm_gb_per_s) ||
	    !parse_figure(tokens[2], &measurement->bus_gb_per_s))
		return FALSE;
	g_strlcpy(measurement->error, tokens[3], sizeof(measurement->error));
	return TRUE;
}

/* size count type [redop] [root] and twice four figures. */
static gboolean parse_row(struct test_log *log, gchar *line, guint64 offset)
{
	struct measurement row = { .line = offset }, in_place;
	gchar *tokens[MAX_TOKENS];
	guint n = split(line, tokens), n_names;
	guint64 root;

	if (n < 11 || n > 13 || !parse_count(tokens[0], &row.size) ||
	    !parse_count(tokens[1], &row.count))
		return FALSE;
	n_names = n - 8;
	row.dtype = element_type_name(tokens[2], -1, &row.dtype_bytes);
	for (guint i = 3; i < n_names; i++) {
		gboolean is_root = parse_count(tokens[i], &root) || strcmp(tokens[i], "-1") == 0;

		row.has_root |= is_root && tokens[i][0] != '-';
		row.has_redop |= !is_root && strcmp(tokens[i], "none") != 0;
	}
	in_place = row;
	in_place.is_in_place = TRUE;
	if (!parse_measurement(tokens + n_names, &row) ||
	    !parse_measurement(tokens + n_names + 4, &in_place))
		return FALSE;
	if (log->measurements->len < MAX_ROWS) {
		g_array_append_val(log->measurements, row);
		g_array_append_val(log->measurements, in_place);
	}
	return TRUE;
}

/* "#  Rank  0 Group  0 Pid 112424 on localhost device  0 [0x00] A100" */
static void parse_rank(struct test_log *log, gchar *line)
{
	struct test_rank rank = { .device = -1 };
	gchar *tokens[MAX_TOKENS];
	guint n = split(line, tokens);

	for (guint i = 0; i + 1 < n; i++) {
		if (strcmp(tokens[i], "Pid") == 0)
			rank.pid = (guint32)g_ascii_strtoull(tokens[i + 1], NULL, 10);
		else if (strcmp(tokens[i], "on") == 0 && !rank.host)
			rank.host = g_strdup(tokens[i + 1]);
		else if (strcmp(tokens[i], "device") == 0)
			rank.device = (gint32)g_ascii_strtoll(tokens[i + 1], NULL, 10);
		else if (tokens[i][0] == '[' && !rank.model)
			rank.model = g_strjoinv(" ", (gchar *[]){ tokens[i + 1],
								  i + 2 < n ? tokens[i + 2] : NULL,
								  NULL });
	}
	if (rank.host && log->ranks->len < MAX_RANKS) {
		g_array_append_val(log->ranks, rank);
	} else {
		g_free(rank.host);
		g_free(rank.model);
	}
}

static void parse_comment(struct test_log *log, gchar *line)
{
	const gchar *iterations = strstr(line, " iters: "), *found;

	if (iterations &&
	    (found = strstr(iterations + 1, " iters: "))) /* "warmup iters: 5 iters: 20" */
		log->n_iterations = g_ascii_strtoll(found + strlen(" iters: "), NULL, 10);
	if (!log->collective && strstr(line, "_perf"))
		log->collective = find_collective(line);
	if (strstr(line, "Rank ") && strstr(line, " Pid ") && strstr(line, " device "))
		parse_rank(log, line);
}

static void parse_line(struct test_log *log, gchar *line, guint64 offset)
{
	gchar *at = pass_launcher(line);

	at += strspn(at, " \t");
	if (*at == '#') {
		parse_comment(log, at);
	} else if (g_ascii_isdigit(*at) && !parse_row(log, at, offset)) {
		if (log->n_broken++ == 0)
			log->broken_offset = offset;
	}
}

/* --- args ----------------------------------------------------------------------------------- */

static const struct measurement *find_measurement(const struct foreign_reader *reader,
						  guint64 place)
{
	const struct test_log *log = (const struct test_log *)reader;

	return place < log->measurements->len
		       ? &g_array_index(log->measurements, struct measurement, place)
		       : NULL;
}

/* (3): of one rank's input. */
static guint64 input_bytes(const struct test_log *log, const struct measurement *measurement)
{
	gboolean is_of_all =
		strcmp(log->collective, "allgather") == 0 || strcmp(log->collective, "gather") == 0;

	return is_of_all ? measurement->size / MAX(log->n_ranks, 1u) : measurement->size;
}

static gboolean get_collective(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *args)
{
	const struct measurement *measurement = find_measurement(reader, place);

	if (!measurement)
		return FALSE;
	*args = (TachoCollectiveArgs){ .bytes = input_bytes((const struct test_log *)reader,
							    measurement) };
	return TRUE;
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	const struct test_log *log = (const struct test_log *)reader;
	const struct measurement *measurement = find_measurement(reader, place);
	gchar figures[3][G_ASCII_DTOSTR_BUF_SIZE];

	if (!measurement)
		return NULL;
	g_ascii_formatd(figures[0], sizeof(figures[0]), "%.6g", measurement->time_us);
	g_ascii_formatd(figures[1], sizeof(figures[1]), "%.6g", measurement->algorithm_gb_per_s);
	g_ascii_formatd(figures[2], sizeof(figures[2]), "%.6g", measurement->bus_gb_per_s);
	return g_strdup_printf(
		"{\"size\": %" G_GUINT64_FORMAT ", \"count\": %" G_GUINT64_FORMAT
		", \"dtype\": \"%s\", \"in_place\": %s, \"time_us\": %s, "
		"\"algbw_gb_per_s\": %s, \"busbw_gb_per_s\": %s, \"wrong\": \"%s\", "
		"\"iterations\": %" G_GINT64_FORMAT "}",
		measurement->size, measurement->count, measurement->dtype,
		measurement->is_in_place ? "true" : "false", figures[0], figures[1], figures[2],
		strpbrk(measurement->error, "\"\\") ? "" : measurement->error, log->n_iterations);
}

static void clear_rank(gpointer data)
{
	struct test_rank *rank = data;

	g_free(rank->host);
	g_free(rank->model);
}

static void free_log(struct foreign_reader *reader)
{
	struct test_log *log = (struct test_log *)reader;

	g_array_unref(log->measurements);
	g_array_unref(log->ranks);
	g_free(log->path);
	g_free(log);
}

static struct test_log *new_log(const gchar *path)
{
	struct test_log *log = g_new0(struct test_log, 1);

	log->reader = (struct foreign_reader){ .collective = get_collective,
					       .args_json = get_args_json,
					       .free = free_log };
	log->path = g_strdup(path);
	log->measurements = g_array_new(FALSE, FALSE, sizeof(struct measurement));
	log->ranks = g_array_new(FALSE, FALSE, sizeof(struct test_rank));
	g_array_set_clear_func(log->ranks, clear_rank);
	return log;
}

/* --- the timeline --------------------------------------------------------------------------- */

static guint32 add_rank(struct import *import, const struct test_log *log, guint rank, guint file)
{
	TachoTimeline *timeline = import->timeline;
	const struct test_rank *known =
		rank < log->ranks->len ? &g_array_index(log->ranks, struct test_rank, rank) : NULL;
	TachoProcess process = {
		.rank = (gint32)rank,
		.local_rank = -1,
		.world_size = (gint32)log->n_ranks,
		.end = TACHO_END_UNKNOWN,
		.path = log->path,
	};
	guint32 track;

	process.host = tacho_timeline_intern(timeline, known ? known->host : "unknown", -1);
	process.command = tacho_timeline_intern(timeline, "nccl-tests", -1);
	process.pid = known ? known->pid : 0;
	track = import_add_track(import, TACHO_TRACK_STREAM,
				 import_add_process(import, &process, file), 0,
				 known && known->model ? known->model : "");
	g_array_index(timeline->tracks, TachoTrack, track).device =
		known && known->device >= 0 ? known->device : (gint32)rank;
	return track;
}

static gint64 duration_ns(const struct measurement *measurement)
{
	return llround(measurement->time_us * 1000);
}

/* (1) */
static gint64 add_log(struct import *import, struct test_log *log, gint64 begin_ns)
{
	TachoTimeline *timeline = import->timeline;
	g_autofree gchar *in_place = g_strconcat(log->collective, " in place", NULL);
	guint32 names[2], foreign = tacho_source_take_foreign(timeline->source, &log->reader);
	gint64 end_ns = begin_ns;
	guint file = import_new_file(import);

	if (foreign == SOURCE_MAX_FOREIGN) { /* `log` is gone then */
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNREADABLE_FILE, 1,
					   "there are too many files, so this one is left out");
		return begin_ns;
	}
	names[0] = tacho_timeline_intern(timeline, log->collective, -1);
	names[1] = tacho_timeline_intern(timeline, in_place, -1);
	for (guint rank = 0; rank < log->n_ranks; rank++) {
		guint32 track = add_rank(import, log, rank, file);

		end_ns = begin_ns;
		FOR_EACH_AT(const struct measurement, measurement, i, log->measurements) {
			tacho_timeline_add_slice(timeline, TACHO_SLICE_COLLECTIVE, track,
						 names[measurement->is_in_place], end_ns,
						 duration_ns(measurement), 0,
						 tacho_source_foreign_handle(foreign, i));
			end_ns += duration_ns(measurement);
		}
	}
	timeline->expected_ranks = MAX(timeline->expected_ranks, (gint32)log->n_ranks);
	return end_ns;
}

static struct test_log *read_log(struct import *import, const gchar *path, GError **error)
{
	g_autoptr(TextLines) lines = text_lines_open(path, error);
	g_autofree gchar *name = g_path_get_basename(path);
	g_autoptr(GError) failure = NULL;
	struct test_log *log;
	guint64 offset;
	gchar *line;
	gsize n;

	if (!lines)
		return NULL;
	log = new_log(path);
	while ((line = text_lines_next(lines, &n, &offset, &failure)))
		parse_line(log, line, offset);
	if (failure)
		tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1, "%s",
					   failure->message);
	if (log->n_broken)
		tacho_timeline_add_problem(
			import->timeline, TACHO_PROBLEM_CORRUPT_RECORD, log->n_broken,
			"%s: byte %" G_GUINT64_FORMAT ": this is not a row of the table", path,
			log->broken_offset);
	log->n_ranks = MAX(log->ranks->len, 1u);
	if (!log->collective)
		log->collective = find_collective(name);
	if (!log->collective)
		log->collective = guess_collective(log);
	return log;
}

static gboolean read_nccl_tests(struct import *import, const gchar *const *paths, guint n_paths,
				GError **error)
{
	gint64 begin_ns = 0;
	guint n_read = 0;

	for (guint i = 0; i < n_paths; i++) {
		g_autoptr(GError) failure = NULL;
		struct test_log *log = read_log(import, paths[i], &failure);

		if (log) {
			begin_ns = add_log(import, log, begin_ns);
			n_read++;
		} else if (i + 1 == n_paths && !n_read) {
			g_propagate_error(error, g_steal_pointer(&failure));
		} else {
			tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_UNREADABLE_FILE,
						   1, "%s", failure->message);
		}
	}
	return n_read > 0;
}

/* "# nThread 1 nGpus 8 minBytes 1 maxBytes 8589934592 step: 2(factor) ..." */
static gboolean is_parameters(gchar *line)
{
	guint64 n_threads, n_gpus, min_bytes;

	return sscanf(line,
		      "# nThread %" G_GUINT64_FORMAT " nGpus %" G_GUINT64_FORMAT
		      " minBytes %" G_GUINT64_FORMAT " maxBytes ",
		      &n_threads, &n_gpus, &min_bytes) == 3 &&
	       strstr(line, " maxBytes ");
}

static gboolean sniff_nccl_tests(const struct sniff_input *input)
{
	static const gchar *const marks[] = { "# nThread " };

	return sniff_log_lines(input, marks, G_N_ELEMENTS(marks), 1, 0, is_parameters);
}

const struct import_format import_nccl_tests = {
	.name = "nccl_tests",
	.title = "what nccl-tests and rccl-tests print",
	.files = "*.log, *.txt",
	.sniff = sniff_nccl_tests,
	.read = read_nccl_tests,
};
