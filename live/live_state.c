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

/* The rank whose step lasted longest, of each of the newest steps: TachoLiveStep, the newest first. */
static GArray *find_longest(const TachoFollow *follow)
{
	const GArray *rows = tacho_follow_borrow_steps(follow, NULL);
	GArray *longest = g_array_sized_new(FALSE, FALSE, sizeof(TachoLiveStep), CHART_STEPS + 1);

	for (guint i = rows->len; i-- > 0 && longest->len <= CHART_STEPS;) {
		const TachoLiveStep *row = &g_array_index(rows, TachoLiveStep, i);
		TachoLiveStep *last =
			longest->len ? &g_array_index(longest, TachoLiveStep, longest->len - 1)
				     : NULL;

		if (!last || last->number != row->number)
			g_array_append_vals(longest, row, 1);
		else if (row->end_unix_ns - row->start_unix_ns >
			 last->end_unix_ns - last->start_unix_ns)
			*last = *row;
	}
	if (longest->len > CHART_STEPS)
		g_array_set_size(longest, CHART_STEPS);
	return longest;
}

/* --- a job: (3) ------------------------------------------------------------------------------- */

struct job_state {
	guint64 n_rows; /* that there ever were */
	guint n_beginnings;
	gchar *object;	 /* JSON, without its steps */
	GArray *longest; /* of find_longest(); that of the state before, too, where nothing is new */
};

static void job_state_free(gpointer pointer)
{
	struct job_state *job = pointer;

	g_free(job->object);
	g_array_unref(job->longest);
	g_free(job);
}

static gchar *job_object(const TachoJob *job)
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
	return text_end(&text);
}

static struct job_state *make_job(const TachoJob *job, const struct job_state *before)
{
	struct job_state *state = g_new0(struct job_state, 1);
	guint64 n_dropped;

	state->n_rows = tacho_follow_borrow_steps(job->follow, &n_dropped)->len + n_dropped;
	state->n_beginnings = tacho_follow_n_beginnings(job->follow);
	state->object = job_object(job);
	if (before && before->n_rows == state->n_rows &&
	    before->n_beginnings == state->n_beginnings)
		state->longest = g_array_ref(before->longest);
	else
		state->longest = find_longest(job->follow);
	return state;
}

gchar *live_state_job(const LiveState *state, guint id)
{
	const struct job_state *job = g_hash_table_lookup(state->job, GUINT_TO_POINTER(id));
	g_autofree gchar *steps = NULL, *object = NULL;
	struct text text;

	if (!job)
		return NULL;
	text_begin(&text);
	json_writer_begin_array(text.json);
	for (guint i = job->longest->len; i-- > 0;) {
		json_writer_line(text.json);
		write_step(text.json, &g_array_index(job->longest, TachoLiveStep, i));
	}
	json_writer_end_array(text.json);
	steps = text_end(&text);
	object = g_strdup(job->object);
	*strrchr(object, '}') = '\0';
	return g_strconcat(object, ",\"steps\":", steps, "}\n", NULL);
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
	state->job = g_hash_table_new_full(NULL, NULL, NULL, job_state_free);
	FOR_EACH_POINTER(const TachoJob, job, tacho_jobs_borrow(jobs)) {
		gpointer id = GUINT_TO_POINTER(job->id);

		g_hash_table_insert(
			state->job, id,
			make_job(job, before ? g_hash_table_lookup(before->job, id) : NULL));
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
	g_free(state);
}
