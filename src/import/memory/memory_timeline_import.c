/* memory_timeline_import: what PyTorch's profiler exports of memory by category (export_memory_timeline()):
 *
 *     raw    [[time, action, bytes, category], ...]
 *     JSON   [[time, ...], [[0, bytes of category 0, ...], ...]]
 *
 * Each category is a counter: how many bytes of it are held, at each time. Times are in nanoseconds since 1970; -1, in the
 * raw form, is before the recording, which is put at its first time. */
#include <math.h>
#include <string.h>

#include "import/import_format.h"
#include "import/read/json_chunks.h"
#include "import/read/json_elements.h"
#include "trace/counter_kind.h"

#define EARLIEST_NS 1e17 /* 1973: these tools are of later years */

enum { N_CATEGORIES = N_COUNTER_CATEGORIES };

struct reading {
	struct import *import;
	const gchar *path;
	struct json_elements elements;
	guint32 tracks[N_CATEGORIES];
	gint64 held[N_CATEGORIES];
	gint64 first_ns;		    /* of the recording; G_MAXINT64: not seen yet */
	gboolean are_counted[N_CATEGORIES]; /* before the recording */
	guint64 n_unknown, n_rows;
	GArray *times;	   /* gint64, of the JSON form */
	gboolean is_table; /* the JSON form's second list */
	gsize head_offset;
	GError *failure;
};

static void add_sample(struct reading *reading, guint category, gint64 time_ns)
{
	TachoSample sample = { .time_ns = time_ns,
			       .track = reading->tracks[category],
			       .value = (gdouble)reading->held[category] };

	g_array_append_val(reading->import->timeline->samples, sample);
}

/* What was there before is told at the first time. */
static void begin_recording(struct reading *reading, gint64 time_ns)
{
	if (reading->first_ns != G_MAXINT64)
		return;
	reading->first_ns = time_ns;
	for (guint i = 0; i < N_CATEGORIES; i++)
		if (reading->are_counted[i])
			add_sample(reading, i, time_ns);
}

static void use_row(struct reading *reading, const gint64 *row, guint n)
{
	gint64 *held;

	reading->n_rows++;
	if (n != 4 || row[3] < 0 || row[3] >= N_CATEGORIES) {
		reading->n_unknown++;
		return;
	}
	held = &reading->held[row[3]];
	if (__builtin_add_overflow(*held, row[2], held)) {
		*held = 0;
		reading->n_unknown++;
	}
	if (row[0] < 0) {
		reading->are_counted[row[3]] = TRUE;
		return;
	}
	begin_recording(reading, row[0]);
	add_sample(reading, (guint)row[3], row[0]);
}

/* A row of the JSON form's table: a 0, then the categories. */
static void use_table_row(struct reading *reading, const gint64 *row, guint n)
{
	guint64 index = reading->n_rows++;

	if (n != N_CATEGORIES + 1 || index >= reading->times->len) {
		reading->n_unknown++;
		return;
	}
	for (guint i = 0; i < N_CATEGORIES; i++) {
		reading->held[i] = row[i + 1];
		add_sample(reading, i, g_array_index(reading->times, gint64, index));
	}
}

/* [1, 2, 3]; of more than `n_room` numbers those that fit. */
static gboolean read_numbers(struct json_scan *scan, gint64 *numbers, guint n_room, guint *ret_n)
{
	gint64 number;

	*ret_n = 0;
	if (!json_take(scan, '['))
		return FALSE;
	while (json_element(scan)) {
		if (!json_fixed(scan, 0, &number))
			number = 0;
		if (*ret_n < n_room)
			numbers[*ret_n] = number;
		(*ret_n)++;
	}
	return scan->status == JSON_OK;
}

static gboolean read_row(struct json_scan *scan, gpointer data)
{
	struct reading *reading = data;
	gint64 row[N_CATEGORIES + 2];
	guint n;

	if (json_peek(scan) != '[') {
		json_skip(scan);
		reading->n_unknown += scan->status == JSON_OK;
		return scan->status == JSON_OK;
	}
	if (!read_numbers(scan, row, G_N_ELEMENTS(row), &n))
		return FALSE;
	if (reading->is_table)
		use_table_row(reading, row, n);
	else
		use_row(reading, row, n);
	return TRUE;
}

/* '[' of the rows; of the JSON form, which begins with a long list, the times and the next '['. */
static gboolean read_head(const gchar *bytes, gsize n, gboolean is_all, gpointer data,
			  gsize *ret_n_head)
{
	struct reading *reading = data;
	g_autofree gchar *padded = g_malloc(n + JSON_PADDING);
	struct json_scan scan = { .at = padded, .end = padded + n };
	gsize n_rows;
	guint n_first;
	gint64 first[5];
	struct json_scan trial;

	memcpy(padded, bytes, n);
	memset(padded + n, '"', JSON_PADDING);
	json_take(&scan, '[');
	n_rows = (gsize)(scan.at - padded);
	trial = scan;
	*ret_n_head = reading->head_offset = n_rows;
	if (json_peek(&scan) != '[')
		return is_all && scan.status == JSON_OK;
	if (read_numbers(&trial, first, G_N_ELEMENTS(first), &n_first) && n_first == 4)
		return TRUE;
	if (trial.status != JSON_OK)
		return FALSE;
	g_array_set_size(reading->times, 0);
	json_take(&scan, '[');
	while (json_element(&scan)) {
		gint64 time_ns = 0;

		json_fixed(&scan, 0, &time_ns);
		g_array_append_val(reading->times, time_ns);
	}
	json_peek(&scan);
	if (scan.at < scan.end && *scan.at == ',')
		scan.at++;
	reading->is_table = json_peek(&scan) == '[' && json_take(&scan, '[');
	*ret_n_head = reading->head_offset = (gsize)(scan.at - padded);
	return reading->is_table;
}

static gboolean read_rows(struct reading *reading, GError **error)
{
	GError *failure = NULL;
	g_autoptr(JsonChunks) chunks =
		json_chunks_open(reading->path, TRUE, read_head, reading, &failure);
	struct json_chunk chunk = { 0 };

	if (!chunks) {
		if (failure)
			g_propagate_error(error, failure);
		else
			g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
				    "%s: byte %" G_GSIZE_FORMAT
				    ": there is no list of rows up to here",
				    reading->path, reading->head_offset);
		return FALSE;
	}
	while (!reading->elements.is_end && json_chunks_next(chunks, &chunk, &reading->failure)) {
		gsize n_used =
			json_elements_read(&chunk, TRUE, read_row, reading, &reading->elements);

		if (chunk.is_last)
			break;
		json_chunks_give_back(chunks, &chunk, n_used);
	}
	json_chunk_release(&chunk);
	return TRUE;
}

static void report(const struct reading *reading)
{
	TachoTimeline *timeline = reading->import->timeline;

	json_elements_report(&reading->elements, timeline, reading->path, "row", reading->failure,
			     TRUE);
	if (reading->n_unknown)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_UNKNOWN_RECORD, reading->n_unknown,
			"%s: rows of another length, or of an unknown category", reading->path);
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct reading reading = { .import = import, .path = path, .first_ns = G_MAXINT64 };
	TachoProcess process = {
		.rank = import_rank_of_name(path),
		.local_rank = -1,
		.world_size = -1,
		.end = TACHO_END_UNKNOWN,
		.path = (gchar *)path,
	};
	guint32 row;
	gboolean is_read;

	(void)data;
	process.host = tacho_timeline_intern(import->timeline, "unknown", -1);
	row = import_add_process(import, &process, import_new_file(import));
	for (guint i = 0; i < N_CATEGORIES; i++) {
		g_autofree gchar *name =
			counter_category_name((enum counter_kind)(COUNTER_PARAMETER + i));

		reading.tracks[i] = import_add_track(import, TACHO_TRACK_COUNTER, row, 0, name);
	}
	reading.times = g_array_new(FALSE, FALSE, sizeof(gint64));
	is_read = read_rows(&reading, error);
	if (is_read) {
		begin_recording(&reading, 0);
		report(&reading);
	}
	g_array_unref(reading.times);
	g_clear_error(&reading.failure);
	return is_read;
}

/* A list that begins with a list of numbers: of four, or long. */
/* The numbers of a list that begins behind `at`, as far as the head has them and `n_most`; *ret_next: behind them. */
static guint sniff_numbers(const gchar *at, gdouble *numbers, guint n_most, const gchar **ret_next)
{
	guint n = 0;

	while (n < n_most) {
		gchar *end;

		numbers[n] = g_ascii_strtod(at, &end);
		if (end == at)
			break;
		n++;
		at = end + strspn(end, " \t\r\n");
		if (*at != ',')
			break;
		at++;
	}
	*ret_next = at + strspn(at, " \t\r\n");
	return n;
}

static gboolean is_time(gdouble ns, gboolean is_told_by_name)
{
	return ns == -1 || (ns >= (is_told_by_name ? 0 : EARLIEST_NS) && ns == floor(ns));
}

/* "[time, action, bytes, category]", from behind its bracket. */
static gboolean is_raw_row(const gdouble *numbers, guint n, gboolean is_told_by_name)
{
	return n == 4 && is_time(numbers[0], is_told_by_name) && numbers[1] >= 0 &&
	       numbers[1] <= 4 && numbers[2] == floor(numbers[2]) && numbers[3] >= 0 &&
	       numbers[3] < N_CATEGORIES;
}

/* Any matrix of numbers begins alike: times must be of our days, where the name does not tell what it is. */
static gboolean sniff_memory_timeline(const struct sniff_input *input)
{
	gboolean is_told_by_name = strstr(input->name, "mem") || strstr(input->name, ".raw.json");
	const gchar *at = input->head;
	gdouble numbers[5];
	guint n;

	if (input->is_folder)
		return FALSE;
	for (guint brackets = 0; brackets < 2; brackets++) {
		while (g_ascii_isspace(*at))
			at++;
		if (*at++ != '[')
			return FALSE;
	}
	n = sniff_numbers(at, numbers, G_N_ELEMENTS(numbers), &at);
	if (*at == ']' && is_raw_row(numbers, n, is_told_by_name))
		return TRUE;
	for (guint i = 0; i < n; i++)
		if (!is_time(numbers[i], is_told_by_name))
			return FALSE;
	if (!n)
		return FALSE;
	/* the second list is of lists */
	at = strchr(at, ']');
	if (!at)
		return input->n_head > 4096;
	at += 1 + strspn(at + 1, " \t\r\n,");
	return *at == '[' && at[1 + strspn(at + 1, " \t\r\n")] == '[';
}

const struct import_format import_memory_timeline = {
	.name = "memory_timeline",
	.title = "PyTorch memory timeline by category, also gzip or zstd",
	.files = "*.raw.json.gz, *.json",
	.sniff = sniff_memory_timeline,
	.read_file = read_file,
};
