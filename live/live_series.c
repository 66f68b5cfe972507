#include "live/live_series.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "live/live_internal.h"
#include "live/recent_steps.h"

#define NEWEST	   10 /* steps that gauges are made of */
#define IS_gauge   FALSE
#define IS_counter TRUE

/* What a point of a job is added with. */
struct place {
	LiveSeries *series;
	guint job;
	gint64 steps_since_ns, findings_since_ns;
};

const struct live_series_kind *live_series_kind(enum live_series series)
{
#define SERIES_KIND(name, type, otlp_name, unit, help) { #name, otlp_name, unit, help, IS_##type },
	static const struct live_series_kind kinds[] = { LIVE_SERIES(SERIES_KIND) };
#undef SERIES_KIND

	return &kinds[series];
}

static void add_point(LiveSeries *series, enum live_series kind, const struct live_point *point)
{
	if (isfinite(point->value))
		g_array_append_vals(series->points[kind], point, 1);
}

void live_series_add(LiveSeries *series, enum live_series kind, const gchar *key, const gchar *text,
		     gdouble value, gint64 since_unix_ns)
{
	add_point(series, kind,
		  &(struct live_point){ .job = LIVE_NO_JOB,
					.key = key,
					.text = text,
					.value = value,
					.since_unix_ns = since_unix_ns });
}

static void add(const struct place *place, enum live_series kind, gdouble value)
{
	add_point(place->series, kind,
		  &(struct live_point){ .job = place->job,
					.value = value,
					.since_unix_ns = place->steps_since_ns });
}

static void add_text(const struct place *place, enum live_series kind, const gchar *key,
		     const gchar *text, gdouble value)
{
	add_point(place->series, kind,
		  &(struct live_point){ .job = place->job,
					.key = key,
					.text = text,
					.value = value,
					.since_unix_ns = place->findings_since_ns });
}

static void add_rank(const struct place *place, enum live_series kind, gint32 rank, gdouble value)
{
	add_point(place->series, kind,
		  &(struct live_point){ .job = place->job,
					.key = "rank",
					.number = rank,
					.value = value,
					.since_unix_ns = place->steps_since_ns });
}

static void add_findings(const struct place *place, const TachoJob *job)
{
	guint n[TACHO_N_FINDINGS] = { 0 }, n_open[TACHO_N_FINDINGS] = { 0 };

	FOR_EACH_POINTER(const TachoFinding, finding,
			 tacho_detector_borrow_findings(job->detector)) {
		n[finding->kind]++;
		n_open[finding->kind] += !finding->is_over && !job->is_over;
	}
	for (guint kind = 0; kind < TACHO_N_FINDINGS; kind++) {
		add_text(place, SERIES_tacho_job_finding, "kind", tacho_finding_name(kind),
			 n_open[kind] > 0);
		add_text(place, SERIES_tacho_job_findings_total, "kind", tacho_finding_name(kind),
			 n[kind]);
	}
}

static void add_ranks(const struct place *place, const TachoJob *job)
{
	const GArray *ranks = tacho_follow_borrow_ranks(job->follow);
	g_autoptr(GArray) means = recent_steps_means(job->follow, NEWEST, 0);

	for (guint i = 0; i < MIN(ranks->len, LIVE_MAX_RANKS); i++) {
		const TachoLiveRank *rank = &g_array_index(ranks, TachoLiveRank, i);

		add_rank(place, SERIES_tacho_rank_up, rank->rank, rank->end == TACHO_END_RUNNING);
		add_rank(place, SERIES_tacho_rank_steps_total, rank->rank, rank->n_steps);
		if (rank->anonymous_bytes >= 0)
			add_rank(place, SERIES_tacho_rank_memory_bytes, rank->rank,
				 (gdouble)rank->anonymous_bytes);
		FOR_EACH(const struct recent_rank, recent, means) {
			if (recent->rank != rank->rank)
				continue;
			add_rank(place, SERIES_tacho_rank_own_seconds, rank->rank,
				 recent->own_ns / 1e9);
			if (recent->memory_bytes >= 0)
				add_rank(place, SERIES_tacho_rank_allocated_bytes, rank->rank,
					 (gdouble)recent->memory_bytes);
		}
	}
}

static const gchar *const part_names[] = { "compute", "exposed_communication", "wait", "idle",
					   "data_wait" };

static void add_parts(const struct place *place, const TachoJobSummary *summary)
{
	const gdouble percents[] = { summary->compute_pct, summary->exposed_pct, summary->wait_pct,
				     summary->idle_pct, summary->data_wait_pct };

	for (guint i = 0; summary->n_steps && i < G_N_ELEMENTS(percents); i++)
		add_text(place, SERIES_tacho_job_part_ratio, "part", part_names[i],
			 percents[i] / 100);
}

const gchar *live_series_label(const gchar *key, const gchar *value, gint *ret_place)
{
	gboolean is_kind = strcmp(key, "kind") == 0;
	guint n = is_kind ? (guint)TACHO_N_FINDINGS : G_N_ELEMENTS(part_names);

	for (guint i = 0; i < n; i++) {
		const gchar *name = is_kind ? tacho_finding_name(i) : part_names[i];

		if (strcmp(name, value) == 0) {
			*ret_place = (gint)i;
			return name;
		}
	}
	return NULL;
}

gchar *live_series_text(const gchar *text, gsize max_bytes)
{
	gchar *valid = tacho_printable(text), *at = valid;

	while (*at && (gsize)(g_utf8_next_char(at) - valid) <= max_bytes)
		at = g_utf8_next_char(at);
	*at = '\0';
	return valid;
}

static void add_job(LiveSeries *series, const TachoJob *job, const gchar *host)
{
	g_autofree gchar *name = g_path_get_basename(job->path);
	struct live_series_job labels = { .id = job->id,
					  .run = live_series_text(name, LIVE_LABEL_BYTES),
					  .host = g_strdup(host) };
	struct place place = { .series = series,
			       .job = series->jobs->len,
			       .steps_since_ns = job->counted_unix_ns,
			       .findings_since_ns = job->seen_unix_ns };
	gint64 last_ns = tacho_follow_last_unix_ns(job->follow);
	TachoJobSummary summary;

	g_array_append_val(series->jobs, labels);
	tacho_job_summarize(job->follow, &summary);
	add(&place, SERIES_tacho_job_running, !job->is_over && !job->error);
	add(&place, SERIES_tacho_job_ranks, tacho_follow_borrow_ranks(job->follow)->len);
	add(&place, SERIES_tacho_job_steps_total, summary.n_steps);
	add(&place, SERIES_tacho_job_step_seconds, summary.step_ms / 1e3);
	add_parts(&place, &summary);
	if (last_ns)
		add(&place, SERIES_tacho_job_last_record_timestamp_seconds, (gdouble)last_ns / 1e9);
	add_findings(&place, job);
	add_ranks(&place, job);
}

static void clear_job(gpointer pointer)
{
	struct live_series_job *job = pointer;

	g_free(job->run);
	g_free(job->host);
}

LiveSeries *live_series_new_empty(void)
{
	LiveSeries *series = g_new0(LiveSeries, 1);

	series->unix_ns = g_get_real_time() * 1000;
	series->jobs = g_array_new(FALSE, FALSE, sizeof(struct live_series_job));
	g_array_set_clear_func(series->jobs, clear_job);
	for (guint i = 0; i < N_LIVE_SERIES; i++)
		series->points[i] = g_array_new(FALSE, FALSE, sizeof(struct live_point));
	return series;
}

LiveSeries *live_series_new(const TachoJobs *jobs, const gchar *host)
{
	const GPtrArray *all = tacho_jobs_borrow(jobs);
	LiveSeries *series = live_series_new_empty();

	live_series_add(series, SERIES_tacho_build_info, "version", TACHO_VERSION, 1, 0);
	live_series_add(series, SERIES_tacho_jobs, NULL, NULL, all->len, 0);
	live_series_add(series, SERIES_tacho_jobs_left_out, NULL, NULL,
			all->len > LIVE_MAX_JOBS ? all->len - LIVE_MAX_JOBS : 0, 0);
	for (guint i = 0; i < MIN(all->len, LIVE_MAX_JOBS); i++)
		add_job(series, g_ptr_array_index(all, i), host);
	return series;
}

void live_series_append(LiveSeries *series, const LiveSeries *other)
{
	guint first = series->jobs->len;

	FOR_EACH(const struct live_series_job, job, other->jobs) {
		struct live_series_job copy = { .id = job->id,
						.run = g_strdup(job->run),
						.host = g_strdup(job->host) };

		g_array_append_val(series->jobs, copy);
	}
	for (guint i = 0; i < N_LIVE_SERIES; i++)
		FOR_EACH(const struct live_point, point, other->points[i]) {
			struct live_point copy = *point;

			if (copy.job != LIVE_NO_JOB)
				copy.job += first;
			g_array_append_val(series->points[i], copy);
		}
}

void live_series_free(LiveSeries *series)
{
	if (!series)
		return;
	g_array_unref(series->jobs);
	for (guint i = 0; i < N_LIVE_SERIES; i++)
		g_array_unref(series->points[i]);
	g_free(series);
}
