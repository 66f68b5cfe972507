#include "live/fleet_answer.h"

#include <math.h>
#include <string.h>

#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/json_memory.h"
#include "import/read/json_object.h"
#include "live/fleet.h"
#include "live/live_internal.h"

#define MAX_TEXT  4000 /* bytes of a text of an answer */
#define MAX_ROWS  1024 /* of ranks, findings or steps */
#define MAX_JOBS  LIVE_MAX_JOBS
#define NO_NUMBER G_MININT64

/* Of /api/jobs/ID: see live_state.c. */
static const TachoColumn step_columns[] = {
	{ .key = "step", .type = TACHO_COLUMN_INTEGER },
	{ .key = "rank", .type = TACHO_COLUMN_INTEGER },
	{ .key = "duration_ms", .type = TACHO_COLUMN_NUMBER },
	{ .key = "compute_ms", .type = TACHO_COLUMN_NUMBER },
	{ .key = "exposed_communication_ms", .type = TACHO_COLUMN_NUMBER },
	{ .key = "wait_ms", .type = TACHO_COLUMN_NUMBER },
	{ .key = "idle_ms", .type = TACHO_COLUMN_NUMBER },
};

/* --- JSON ------------------------------------------------------------------------------------ */

static gchar *read_text(const struct json_object *object, const gchar *key)
{
	g_autofree gchar *text = json_object_text(object, key);

	return text ? live_series_text(text, MAX_TEXT) : NULL;
}

static void read_cell(TachoTable *table, const TachoColumn *column,
		      const struct json_object *object)
{
	struct json_scan value;
	gint64 integer = json_object_fixed(object, column->key, 0, NO_NUMBER);
	gdouble number;
	g_autofree gchar *text = NULL;

	switch (column->type) {
	case TACHO_COLUMN_INTEGER:
		if (integer == NO_NUMBER)
			tacho_table_null(table);
		else
			tacho_table_integer(table, integer);
		return;
	case TACHO_COLUMN_NUMBER:
		if (!json_object_find(object, column->key, &value) || !json_number(&value, &number))
			number = NAN;
		tacho_table_number(table, number);
		return;
	case TACHO_COLUMN_BOOLEAN:
		tacho_table_boolean(table, json_object_find(object, column->key, &value) &&
						   json_peek(&value) == 't');
		return;
	case TACHO_COLUMN_TEXT:
		text = read_text(object, column->key);
		tacho_table_text(table, text);
	}
}

/* `state`: in place of what the row says; NULL: as it says. */
static void read_row(TachoTable *table, const struct json_object *object, const gchar *state)
{
	tacho_table_row(table);
	for (guint i = 0; tacho_table_key(table, i); i++) {
		const gchar *key = tacho_table_key(table, i);

		if (state && strcmp(key, "state") == 0)
			tacho_table_text(table, state);
		else
			read_cell(table, tacho_table_borrow_column(table, key), object);
	}
}

/* The object that comes next; zeroed: something else, which is passed over. */
static struct json_object next_object(struct json_scan *scan)
{
	struct json_object object = { 0 };
	gboolean is_object = json_peek(scan) == '{';

	object.at = scan->at;
	json_skip(scan);
	object.end = scan->at;
	return is_object && scan->status == JSON_OK ? object : (struct json_object){ 0 };
}

/* A row as /api/jobs has it. The caller's. */
static gchar *write_job(const TachoTable *table, guint row, guint id, const gchar *host)
{
	struct json_memory memory;
	JsonWriter *json = json_memory_begin(&memory);

	if (!json)
		return g_strdup("{}");
	json_writer_begin_object(json);
	json_writer_integer(json_writer_key(json, "id"), id);
	json_writer_string(json_writer_key(json, "host"), host);
	table_write_row_members(table, row, json);
	json_writer_end_object(json);
	return json_memory_take(&memory, json);
}

static void append_job(GString *rows, const struct json_object *object, const gchar *state,
		       guint id, const gchar *host)
{
	g_autoptr(TachoTable) table = live_jobs_table();
	g_autofree gchar *row = NULL;

	read_row(table, object, state);
	row = write_job(table, 0, id, host);
	g_string_append_printf(rows, ",\n%s", row ? row : "{}");
}

FleetJobs *fleet_jobs_read(const gchar *bytes, gsize n, const gchar *host, guint first_id)
{
	g_autofree gchar *padded = json_padded(bytes, n);
	struct json_scan scan = { .at = padded, .end = padded + n };
	GString *rows = g_string_new(NULL), *silent_rows = g_string_new(NULL);
	FleetJobs *jobs = g_new0(FleetJobs, 1);
	gint64 last = 0;
	gboolean is_list = json_enter(&scan, '[');

	jobs->ids = g_array_new(FALSE, FALSE, sizeof(guint));
	while (is_list && json_element(&scan)) {
		struct json_object object = next_object(&scan);
		gint64 id = json_object_fixed(&object, "id", 0, 0);
		guint number = (guint)id;

		if (!object.at || id <= last || id >= FLEET_IDS)
			continue;
		last = id;
		if (jobs->ids->len == MAX_JOBS) {
			jobs->n_left_out++;
			continue;
		}
		append_job(rows, &object, NULL, first_id + number, host);
		append_job(silent_rows, &object, "silent", first_id + number, host);
		g_array_append_val(jobs->ids, number);
	}
	jobs->rows = g_string_free(rows, FALSE);
	jobs->silent_rows = g_string_free(silent_rows, FALSE);
	if (is_list && scan.status == JSON_OK)
		return jobs;
	fleet_jobs_free(jobs);
	return NULL;
}

void fleet_jobs_free(FleetJobs *jobs)
{
	if (!jobs)
		return;
	g_free(jobs->rows);
	g_free(jobs->silent_rows);
	g_array_unref(jobs->ids);
	g_free(jobs);
}

/* Rows of an array that is a member, into a table of its own. */
static void write_rows(JsonWriter *json, const struct json_object *object, const gchar *key,
		       TachoTable *table)
{
	struct json_scan scan;

	if (json_object_find(object, key, &scan) && json_enter(&scan, '['))
		for (guint i = 0; i < MAX_ROWS && json_element(&scan);) {
			struct json_object row = next_object(&scan);

			if (!row.at)
				continue;
			read_row(table, &row, NULL);
			i++;
		}
	json_writer_key(json, key);
	table_write_json(table, json);
}

gchar *fleet_job_read(const gchar *bytes, gsize n, const gchar *host, guint id)
{
	g_autofree gchar *padded = json_padded(bytes, n);
	struct json_scan scan = { .at = padded, .end = padded + n };
	struct json_object object = next_object(&scan);
	g_autoptr(TachoTable) ranks = live_ranks_table();
	g_autoptr(TachoTable) findings = live_findings_table();
	g_autoptr(TachoTable) steps =
		tacho_table_new("steps", step_columns, G_N_ELEMENTS(step_columns));
	static const gchar *const texts[] = { "run", "command", "error" };
	struct json_memory memory;
	JsonWriter *json;

	if (!object.at || !(json = json_memory_begin(&memory)))
		return NULL;
	json_writer_begin_object(json);
	json_writer_integer(json_writer_key(json, "id"), id);
	json_writer_string(json_writer_key(json, "host"), host);
	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree gchar *text = read_text(&object, texts[i]);

		json_writer_string(json_writer_key(json, texts[i]), text);
	}
	write_rows(json, &object, "ranks", ranks);
	write_rows(json, &object, "findings", findings);
	write_rows(json, &object, "steps", steps);
	json_writer_end_object(json);
	return json_memory_take(&memory, json);
}

/* --- series ---------------------------------------------------------------------------------- */

/* A line of a series, taken apart. */
struct line {
	guint kind; /* enum live_series; N_LIVE_SERIES: none of a job */
	guint id;
	gchar *run;
	const gchar *key, *text; /* as of a live_point */
	gint32 number;
	gint sub; /* place of its own label among those of the job */
	gdouble value;
};

static guint find_kind(const gchar *name, gsize n)
{
	if (!g_str_has_prefix(name, "tacho_job_") && !g_str_has_prefix(name, "tacho_rank_"))
		return N_LIVE_SERIES;
	for (guint i = 0; i < N_LIVE_SERIES; i++) {
		const gchar *known = live_series_kind(i)->name;

		if (strlen(known) == n && strncmp(known, name, n) == 0)
			return i;
	}
	return N_LIVE_SERIES;
}

/* A label's value up to its quote, which is passed over; NULL: there is none. The caller's. */
static gchar *read_value(const gchar **at)
{
	GString *value = g_string_new(NULL);

	for (; **at && **at != '"' && **at != '\n'; ++*at) {
		if (**at == '\\' && (*at)[1])
			++*at;
		g_string_append_c(value, **at);
	}
	if (**at != '"') {
		g_string_free(value, TRUE);
		return NULL;
	}
	++*at;
	return g_string_free(value, FALSE);
}

static gboolean take_label(struct line *line, const gchar *key, gsize n, gchar *value)
{
	guint64 number;
	gboolean is_number = g_ascii_string_to_unsigned(value, 10, 0, G_MAXINT32, &number, NULL);

	if (n == 2 && strncmp(key, "id", n) == 0) {
		line->id = is_number ? (guint)number : 0;
		return is_number;
	}
	if (n == 3 && strncmp(key, "run", n) == 0) {
		g_free(line->run);
		line->run = g_strdup(value);
		return TRUE;
	}
	if (n == 4 && strncmp(key, "rank", n) == 0) {
		line->key = "rank";
		line->number = line->sub = is_number ? (gint)number : -1;
		return is_number;
	}
	if (n == 4 && strncmp(key, "host", n) == 0)
		return TRUE; /* as it calls itself */
	if (n == 4 && strncmp(key, "kind", n) == 0)
		line->key = "kind";
	else if (n == 4 && strncmp(key, "part", n) == 0)
		line->key = "part";
	else
		return FALSE;
	line->text = live_series_label(line->key, value, &line->sub);
	return line->text != NULL;
}

/* Whether `text` up to its end of line is one of a job's series; then `line` has it, and its run is the caller's. */
static gboolean read_line(const gchar *text, struct line *line)
{
	gsize n = strcspn(text, "{ \n");
	const gchar *at = text + n;

	*line = (struct line){ .kind = find_kind(text, n), .sub = -1 };
	if (line->kind == N_LIVE_SERIES || *at != '{')
		return FALSE;
	do {
		const gchar *key = ++at;
		gsize length = strcspn(key, "=}\n");
		g_autofree gchar *value = NULL;

		at = key + length;
		if (at[0] != '=' || at[1] != '"')
			return FALSE;
		at += 2;
		value = read_value(&at);
		if (!value || !take_label(line, key, length, value))
			return FALSE;
	} while (*at == ',');
	if (at[0] != '}' || at[1] != ' ' || !line->id || line->id >= FLEET_IDS || !line->run)
		return FALSE;
	line->value = g_ascii_strtod(at + 2, NULL);
	return isfinite(line->value);
}

/* The index of the host's job among those of `series`, where its jobs begin at `first`; they come in the order of ids. */
static guint find_job(LiveSeries *series, guint first, const struct line *line, const gchar *host,
		      guint first_id)
{
	struct live_series_job job;

	for (guint i = first; i < series->jobs->len; i++)
		if (g_array_index(series->jobs, struct live_series_job, i).id ==
		    first_id + line->id)
			return i;
	if (series->jobs->len - first >= LIVE_MAX_JOBS)
		return LIVE_NO_JOB;
	job = (struct live_series_job){ .id = first_id + line->id,
					.run = live_series_text(line->run, LIVE_LABEL_BYTES),
					.host = g_strdup(host) };
	g_array_append_val(series->jobs, job);
	return series->jobs->len - 1;
}

/* Our own are written in the order of ids, and of a job's own labels: so what does not ascend is there twice, or of somebody else. */
void fleet_metrics_read(const gchar *text, const gchar *host, guint first_id, LiveSeries *series)
{
	guint first = series->jobs->len, kind = N_LIVE_SERIES, id = 0;
	guint seen[N_LIVE_SERIES] = { 0 }; /* points of each */
	gint sub = -1;

	for (const gchar *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		struct line line = { 0 };
		struct live_point point;

		if (read_line(at, &line)) {
			if (line.kind != kind && !seen[line.kind]) {
				kind = line.kind;
				id = 0;
				sub = -1;
			}
			point = (struct live_point){ .job = find_job(series, first, &line, host,
								     first_id),
						     .key = line.key,
						     .text = line.text,
						     .number = line.number,
						     .value = line.value };
			if (line.kind == kind && point.job != LIVE_NO_JOB &&
			    (line.id > id || (line.id == id && line.sub > sub)) &&
			    seen[kind] < LIVE_MAX_JOBS * LIVE_MAX_RANKS) {
				g_array_append_val(series->points[kind], point);
				seen[kind]++;
				id = line.id;
				sub = line.sub;
			}
		}
		g_free(line.run);
	}
}
