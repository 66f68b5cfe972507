#include "live/live_state.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/json_writer.h"
#include "base/time_units.h"
#include "live/live_internal.h"

#define CHART_STEPS 240 /* the newest, for the page's chart */

/* A JSON text in the making. */
struct text {
	gchar *bytes;
	gsize length;
	FILE *file;
	JsonWriter *json;
};

static void text_begin(struct text *text)
{
	*text = (struct text){ 0 };
	text->file = open_memstream(&text->bytes, &text->length);
	text->json = json_writer_new(text->file);
}

/* The caller's. */
static gchar *text_end(struct text *text)
{
	gchar *copy;

	json_writer_finish(text->json);
	json_writer_free(text->json);
	fclose(text->file);
	copy = g_strdup(text->bytes);
	free(text->bytes);
	return copy;
}

/* The jobs' rows, each with its id before the columns of the table. */
static gchar *jobs_json(const TachoJobs *jobs, const gchar *host)
{
	g_autoptr(TachoTable) table = tacho_jobs_table(jobs);
	const GPtrArray *all = tacho_jobs_borrow(jobs);
	struct text text;

	text_begin(&text);
	json_writer_begin_array(text.json);
	for (guint i = 0; i < all->len; i++) {
		const TachoJob *job = g_ptr_array_index(all, i);

		json_writer_line(text.json);
		json_writer_begin_object(text.json);
		json_writer_integer(json_writer_key(text.json, "id"), job->id);
		json_writer_string(json_writer_key(text.json, "host"), host);
		table_write_row_members(table, i, text.json);
		json_writer_end_object(text.json);
	}
	json_writer_end_array(text.json);
	return text_end(&text);
}

static void write_step(JsonWriter *json, const TachoLiveStep *step)
{
	gdouble duration_ns = (gdouble)(step->end_unix_ns - step->start_unix_ns);

	json_writer_begin_object(json);
	json_writer_integer(json_writer_key(json, "step"), step->number);
	json_writer_integer(json_writer_key(json, "rank"), step->rank);
	json_writer_number(json_writer_key(json, "duration_ms"), MS(duration_ns));
	json_writer_number(json_writer_key(json, "compute_ms"), MS(step->compute_ns));
	json_writer_number(json_writer_key(json, "exposed_communication_ms"), MS(step->exposed_ns));
	json_writer_number(json_writer_key(json, "wait_ms"), MS(step->wait_ns));
	json_writer_number(json_writer_key(json, "idle_ms"),
			   MS(duration_ns - step->compute_ns - step->exposed_ns - step->wait_ns));
	json_writer_end_object(json);
}

/* The rank whose step lasted longest, of each of the newest steps. */
static void write_steps(JsonWriter *json, const TachoFollow *follow)
{
	const GArray *rows = tacho_follow_borrow_steps(follow, NULL);
	g_autoptr(GPtrArray) longest = g_ptr_array_new();

	for (guint i = rows->len; i-- > 0 && longest->len <= CHART_STEPS;) {
		const TachoLiveStep *row = &g_array_index(rows, TachoLiveStep, i), *last;

		last = longest->len ? g_ptr_array_index(longest, longest->len - 1) : NULL;
		if (!last || last->number != row->number)
			g_ptr_array_add(longest, (gpointer)row);
		else if (row->end_unix_ns - row->start_unix_ns >
			 last->end_unix_ns - last->start_unix_ns)
			longest->pdata[longest->len - 1] = (gpointer)row;
	}
	json_writer_begin_array(json);
	for (guint i = MIN(longest->len, CHART_STEPS); i-- > 0;) {
		json_writer_line(json);
		write_step(json, g_ptr_array_index(longest, i));
	}
	json_writer_end_array(json);
}

/* --- steps of a job: (3) ---------------------------------------------------------------------- */

struct steps_text {
	guint64 n_rows; /* that there ever were */
	guint n_beginnings;
	gchar *json;
};

static void steps_text_free(gpointer pointer)
{
	struct steps_text *steps = pointer;

	g_free(steps->json);
	g_free(steps);
}

static struct steps_text *make_steps(const TachoJob *job, const struct steps_text *before)
{
	struct steps_text *steps = g_new0(struct steps_text, 1);
	guint64 n_dropped;
	struct text text;

	steps->n_rows = tacho_follow_borrow_steps(job->follow, &n_dropped)->len + n_dropped;
	steps->n_beginnings = tacho_follow_n_beginnings(job->follow);
	if (before && before->n_rows == steps->n_rows &&
	    before->n_beginnings == steps->n_beginnings) {
		steps->json = g_strdup(before->json);
		return steps;
	}
	text_begin(&text);
	write_steps(text.json, job->follow);
	steps->json = text_end(&text);
	return steps;
}

/* The object, with its steps as its last member. The caller's. */
static gchar *add_steps(gchar *object, const struct steps_text *steps)
{
	gchar *json;

	*strrchr(object, '}') = '\0';
	json = g_strconcat(object, ",\"steps\":", steps->json, "}\n", NULL);
	g_free(object);
	return json;
}

static gchar *job_json(const TachoJob *job, const struct steps_text *steps)
{
	g_autoptr(TachoTable) ranks = tacho_job_ranks_table(job);
	g_autoptr(TachoTable) findings = tacho_job_findings_table(job);
	struct text text;

	text_begin(&text);
	json_writer_begin_object(text.json);
	json_writer_integer(json_writer_key(text.json, "id"), job->id);
	json_writer_string(json_writer_key(text.json, "run"), job->path);
	json_writer_string(json_writer_key(text.json, "command"), job->command);
	json_writer_string(json_writer_key(text.json, "error"), job->error);
	json_writer_key(text.json, "ranks");
	table_write_json(ranks, text.json);
	json_writer_key(text.json, "findings");
	table_write_json(findings, text.json);
	json_writer_end_object(text.json);
	return add_steps(text_end(&text), steps);
}

/* Rows of other hosts behind our own. */
static gchar *all_jobs_json(const gchar *own, Fleet *fleet)
{
	GString *json = g_string_new(own);
	gsize n;

	g_string_truncate(json, (gsize)(strrchr(own, ']') - own));
	n = json->len;
	while (n && g_ascii_isspace(json->str[n - 1]))
		n--;
	g_string_truncate(json, n);
	fleet_append_jobs(fleet, json);
	if (json->len > n && json->str[n - 1] == '[')
		g_string_erase(json, (gssize)n, 1); /* the comma before the first */
	g_string_append(json, "]\n");
	return g_string_free(json, FALSE);
}

LiveState *live_state_new(const TachoJobs *jobs, const gchar *host, const LiveSeries *own,
			  const LiveSeries *all, Fleet *fleet, const LiveState *before)
{
	LiveState *state = g_new0(LiveState, 1);

	state->n_users = 1;
	state->own_jobs = jobs_json(jobs, host);
	state->own_metrics = live_metrics_text(own);
	if (fleet) {
		state->jobs = all_jobs_json(state->own_jobs, fleet);
		state->metrics = live_metrics_text(all);
		state->hosts = fleet_hosts_json(fleet);
	}
	state->job = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	state->steps = g_hash_table_new_full(NULL, NULL, NULL, steps_text_free);
	FOR_EACH_POINTER(const TachoJob, job, tacho_jobs_borrow(jobs)) {
		gpointer id = GUINT_TO_POINTER(job->id);
		struct steps_text *steps =
			make_steps(job, before ? g_hash_table_lookup(before->steps, id) : NULL);

		g_hash_table_insert(state->steps, id, steps);
		g_hash_table_insert(state->job, id, job_json(job, steps));
	}
	return state;
}

LiveState *live_state_ref(LiveState *state)
{
	g_atomic_int_inc(&state->n_users);
	return state;
}

void live_state_unref(LiveState *state)
{
	if (!state || !g_atomic_int_dec_and_test(&state->n_users))
		return;
	g_free(state->jobs);
	g_free(state->own_jobs);
	g_free(state->metrics);
	g_free(state->own_metrics);
	g_free(state->hosts);
	g_hash_table_unref(state->job);
	g_hash_table_unref(state->steps);
	g_free(state);
}
