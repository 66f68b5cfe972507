/* live_metrics: the jobs of this host as series of Prometheus, version 0.0.4 of its text format.
 *
 * (1) Series are bounded: live_state.h (2). A job that has gone has none.
 * (2) Labels are valid whatever a job is called: UTF-8, without control characters, at most LABEL_BYTES. */
#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "live/live_internal.h"
#include "live/live_state.h"
#include "live/recent_steps.h"

#define LABEL_BYTES 200
#define NEWEST	    10 /* steps that gauges are made of */

/* GAUGE(name, type, help): all series there are. */
#define SERIES(SERIES)                                                                             \
	SERIES(tacho_build_info, gauge, "1; the labels say which tacho this is.")                  \
	SERIES(tacho_jobs, gauge, "Jobs that are being recorded, or were a minute ago.")           \
	SERIES(tacho_jobs_left_out, gauge,                                                         \
	       "Jobs without series of their own, for there are too "                              \
	       "many.")                                                                            \
	SERIES(tacho_job_running, gauge, "1 while the job is being recorded.")                     \
	SERIES(tacho_job_ranks, gauge, "Ranks of the job.")                                        \
	SERIES(tacho_job_steps_total, counter, "Steps that have ended.")                           \
	SERIES(tacho_job_step_seconds, gauge, "Median of the newest steps.")                       \
	SERIES(tacho_job_part_ratio, gauge, "What part of the newest steps went to what.")         \
	SERIES(tacho_job_finding, gauge, "1 while the job has such a finding.")                    \
	SERIES(tacho_job_findings_total, counter, "Findings so far.")                              \
	SERIES(tacho_job_last_record_timestamp_seconds, gauge, "When the last record was made.")   \
	SERIES(tacho_rank_up, gauge, "1 while the rank's process runs.")                           \
	SERIES(tacho_rank_steps_total, counter, "Steps that have ended.")                          \
	SERIES(tacho_rank_own_seconds, gauge,                                                      \
	       "What the rank takes of a step by itself, without "                                 \
	       "communication and waiting.")                                                       \
	SERIES(tacho_rank_memory_bytes, gauge, "Anonymous memory of the rank's process.")          \
	SERIES(tacho_rank_allocated_bytes, gauge, "What the framework has allocated.")

struct metrics {
	GString *texts[32]; /* a family each, in the order of the list */
	guint n;
};

enum series {
#define SERIES_ENUM(name, type, help) SERIES_##name,
	SERIES(SERIES_ENUM)
#undef SERIES_ENUM
		N_SERIES
};

static GString *begin_family(const gchar *name, const gchar *type, const gchar *help)
{
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
	return text;
}

static const gchar *series_name(enum series series)
{
	static const gchar *const names[] = {
#define SERIES_NAME(name, type, help) #name,
		SERIES(SERIES_NAME)
#undef SERIES_NAME
	};

	return names[series];
}

/* (2) */
static void append_label(GString *text, const gchar *value)
{
	g_autofree gchar *valid = tacho_printable(value ? value : "");
	const gchar *at = valid;

	for (; *at && at - valid < LABEL_BYTES; at = g_utf8_next_char(at)) {
		if (*at == '\\' || *at == '"')
			g_string_append_c(text, '\\');
		g_string_append_len(text, at, g_utf8_next_char(at) - at);
	}
}

static void append_value(GString *text, gdouble value)
{
	gchar digits[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append_printf(text, " %s\n", g_ascii_dtostr(digits, sizeof(digits), value));
}

/* A job's labels, made once. */
static gchar *make_labels(const TachoJob *job)
{
	GString *labels = g_string_new(NULL);
	g_autofree gchar *run = g_path_get_basename(job->path);

	g_string_append_printf(labels, "id=\"%u\",run=\"", job->id);
	append_label(labels, run);
	g_string_append(labels, "\"");
	return g_string_free(labels, FALSE);
}

static void add(struct metrics *metrics, enum series series, const gchar *labels, gdouble value)
{
	if (!isfinite(value))
		return;
	g_string_append_printf(metrics->texts[series], "%s%s%s%s", series_name(series),
			       labels ? "{" : "", labels ? labels : "", labels ? "}" : "");
	append_value(metrics->texts[series], value);
}

static void add_with(struct metrics *metrics, enum series series, const gchar *labels,
		     const gchar *key, const gchar *value, gdouble number)
{
	g_autofree gchar *all = g_strdup_printf("%s,%s=\"%s\"", labels, key, value);

	add(metrics, series, all, number);
}

static void add_findings(struct metrics *metrics, const TachoJob *job, const gchar *labels)
{
	guint n[TACHO_N_FINDINGS] = { 0 }, n_open[TACHO_N_FINDINGS] = { 0 };

	FOR_EACH_POINTER(const TachoFinding, finding,
			 tacho_detector_borrow_findings(job->detector)) {
		n[finding->kind]++;
		n_open[finding->kind] += !finding->is_over && !job->is_over;
	}
	for (guint kind = 0; kind < TACHO_N_FINDINGS; kind++) {
		add_with(metrics, SERIES_tacho_job_finding, labels, "kind",
			 tacho_finding_name(kind), n_open[kind] > 0);
		add_with(metrics, SERIES_tacho_job_findings_total, labels, "kind",
			 tacho_finding_name(kind), n[kind]);
	}
}

static void add_ranks(struct metrics *metrics, const TachoJob *job, const gchar *labels)
{
	const GArray *ranks = tacho_follow_borrow_ranks(job->follow);
	g_autoptr(GArray) means = recent_steps_means(job->follow, NEWEST, 0);

	for (guint i = 0; i < MIN(ranks->len, LIVE_MAX_RANKS); i++) {
		const TachoLiveRank *rank = &g_array_index(ranks, TachoLiveRank, i);
		g_autofree gchar *own = g_strdup_printf("%s,rank=\"%d\"", labels, rank->rank);

		add(metrics, SERIES_tacho_rank_up, own, rank->end == TACHO_END_RUNNING);
		add(metrics, SERIES_tacho_rank_steps_total, own, rank->n_steps);
		if (rank->anonymous_bytes >= 0)
			add(metrics, SERIES_tacho_rank_memory_bytes, own,
			    (gdouble)rank->anonymous_bytes);
		FOR_EACH(const struct recent_rank, recent, means) {
			if (recent->rank != rank->rank)
				continue;
			add(metrics, SERIES_tacho_rank_own_seconds, own, recent->own_ns / 1e9);
			if (recent->memory_bytes >= 0)
				add(metrics, SERIES_tacho_rank_allocated_bytes, own,
				    (gdouble)recent->memory_bytes);
		}
	}
}

static void add_job(struct metrics *metrics, const TachoJob *job)
{
	g_autofree gchar *labels = make_labels(job);
	TachoJobSummary summary;
	gint64 last_ns = tacho_follow_last_unix_ns(job->follow);

	tacho_job_summarize(job->follow, &summary);
	add(metrics, SERIES_tacho_job_running, labels, !job->is_over && !job->error);
	add(metrics, SERIES_tacho_job_ranks, labels, tacho_follow_borrow_ranks(job->follow)->len);
	add(metrics, SERIES_tacho_job_steps_total, labels, summary.n_steps);
	add(metrics, SERIES_tacho_job_step_seconds, labels, summary.step_ms / 1e3);
	if (summary.n_steps) {
		add_with(metrics, SERIES_tacho_job_part_ratio, labels, "part", "compute",
			 summary.compute_pct / 100);
		add_with(metrics, SERIES_tacho_job_part_ratio, labels, "part",
			 "exposed_communication", summary.exposed_pct / 100);
		add_with(metrics, SERIES_tacho_job_part_ratio, labels, "part", "wait",
			 summary.wait_pct / 100);
		add_with(metrics, SERIES_tacho_job_part_ratio, labels, "part", "idle",
			 summary.idle_pct / 100);
		add_with(metrics, SERIES_tacho_job_part_ratio, labels, "part", "data_wait",
			 summary.data_wait_pct / 100);
	}
	if (last_ns)
		add(metrics, SERIES_tacho_job_last_record_timestamp_seconds, labels,
		    (gdouble)last_ns / 1e9);
	add_findings(metrics, job, labels);
	add_ranks(metrics, job, labels);
}

gchar *live_metrics_text(const TachoJobs *jobs)
{
	struct metrics metrics = { .n = N_SERIES };
	const GPtrArray *all = tacho_jobs_borrow(jobs);
	GString *text = g_string_new(NULL);

#define BEGIN_FAMILY(name, type, help)                                                             \
	metrics.texts[SERIES_##name] = begin_family(#name, #type, help);
	SERIES(BEGIN_FAMILY)
#undef BEGIN_FAMILY
	add(&metrics, SERIES_tacho_build_info, "version=\"" TACHO_VERSION "\"", 1);
	add(&metrics, SERIES_tacho_jobs, NULL, all->len);
	add(&metrics, SERIES_tacho_jobs_left_out, NULL,
	    all->len > LIVE_MAX_JOBS ? all->len - LIVE_MAX_JOBS : 0);
	for (guint i = 0; i < MIN(all->len, LIVE_MAX_JOBS); i++)
		add_job(&metrics, g_ptr_array_index(all, i));
	for (guint i = 0; i < N_SERIES; i++) {
		g_string_append(text, metrics.texts[i]->str);
		g_string_free(metrics.texts[i], TRUE);
	}
	return g_string_free(text, FALSE);
}
