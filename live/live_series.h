/* live_series: the figures of all jobs as numbers with labels, from which /metrics is made and what is pushed.
 *
 * (1) Series are bounded: LIVE_MAX_JOBS jobs and LIVE_MAX_RANKS ranks of each have series of their own, the rest are counted. A job
 *     that has gone has none.
 * (2) Texts are valid whatever a job is called: UTF-8, without control characters, at most LIVE_LABEL_BYTES.
 * (3) Names are such that an OpenTelemetry collector, which makes Prometheus's names of its own and the unit, makes those of
 *     /metrics: tacho.job.step in s is tacho_job_step_seconds. */
#ifndef TACHO_LIVE_SERIES_H
#define TACHO_LIVE_SERIES_H

#include <tacho/live.h>

#define LIVE_MAX_JOBS	 64
#define LIVE_MAX_RANKS	 64
#define LIVE_LABEL_BYTES 200

/* SERIES(name, type, OpenTelemetry's name, unit (UCUM), help): all that there are. A counter never falls. */
#define LIVE_SERIES(SERIES)                                                                        \
	SERIES(tacho_build_info, gauge, "tacho.build_info", "",                                    \
	       "1; the labels say which tacho this is.")                                           \
	SERIES(tacho_jobs, gauge, "tacho.jobs", "{job}",                                           \
	       "Jobs that are being recorded, or were a minute ago.")                              \
	SERIES(tacho_jobs_left_out, gauge, "tacho.jobs_left_out", "{job}",                         \
	       "Jobs without series of their own, for there are too many.")                        \
	SERIES(tacho_job_running, gauge, "tacho.job.running", "",                                  \
	       "1 while the job is being recorded.")                                               \
	SERIES(tacho_job_ranks, gauge, "tacho.job.ranks", "{rank}", "Ranks of the job.")           \
	SERIES(tacho_job_steps_total, counter, "tacho.job.steps", "{step}",                        \
	       "Steps that have ended.")                                                           \
	SERIES(tacho_job_step_seconds, gauge, "tacho.job.step", "s",                               \
	       "Median of the newest steps.")                                                      \
	SERIES(tacho_job_part_ratio, gauge, "tacho.job.part", "1",                                 \
	       "What part of the newest steps went to what.")                                      \
	SERIES(tacho_job_finding, gauge, "tacho.job.finding", "",                                  \
	       "1 while the job has such a finding.")                                              \
	SERIES(tacho_job_findings_total, counter, "tacho.job.findings", "{finding}",               \
	       "Findings so far.")                                                                 \
	SERIES(tacho_job_last_record_timestamp_seconds, gauge, "tacho.job.last_record.timestamp",  \
	       "s", "When the last record was made.")                                              \
	SERIES(tacho_rank_up, gauge, "tacho.rank.up", "", "1 while the rank's process runs.")      \
	SERIES(tacho_rank_steps_total, counter, "tacho.rank.steps", "{step}",                      \
	       "Steps that have ended.")                                                           \
	SERIES(tacho_rank_own_seconds, gauge, "tacho.rank.own", "s",                               \
	       "What the rank takes of a step by itself, without communication and waiting.")      \
	SERIES(tacho_rank_memory_bytes, gauge, "tacho.rank.memory", "By",                          \
	       "Anonymous memory of the rank's process.")                                          \
	SERIES(tacho_rank_allocated_bytes, gauge, "tacho.rank.allocated", "By",                    \
	       "What the framework has allocated.")                                                \
	SERIES(tacho_pushes_total, counter, "tacho.pushes", "{request}",                           \
	       "Requests that a receiver of OTLP took, refused, or that were dropped.")            \
	SERIES(tacho_pushes_waiting, gauge, "tacho.pushes_waiting", "{request}",                   \
	       "Requests that wait for the receiver.")                                             \
	SERIES(tacho_host_up, gauge, "tacho.host.up", "",                                          \
	       "1 while the host, whose jobs are gathered, answers.")                              \
	SERIES(tacho_host_answer_timestamp_seconds, gauge, "tacho.host.answer.timestamp", "s",     \
	       "When the host answered last.")

enum live_series {
#define LIVE_SERIES_ENUM(name, type, otlp_name, unit, help) SERIES_##name,
	LIVE_SERIES(LIVE_SERIES_ENUM)
#undef LIVE_SERIES_ENUM
		N_LIVE_SERIES
};

struct live_series_kind {
	const gchar *name, *otlp_name, *unit, *help;
	gboolean is_counter;
};

/* A job's labels. */
struct live_series_job {
	guint id;
	gchar *run;
	gchar *host; /* NULL: nothing is gathered from other hosts */
};

#define LIVE_NO_JOB G_MAXUINT

/* One number of a series. */
struct live_point {
	guint job; /* whose labels it has: index of `jobs`, or LIVE_NO_JOB */
	const gchar *key,
		*text; /* its own label; no key: none, no text: `number` is its value; not owned */
	gint32 number;
	gint64 since_unix_ns; /* of a counter: when it was 0; 0: not known */
	gdouble value;	      /* finite */
};

typedef struct {
	gint64 unix_ns; /* when the figures were these */
	GArray *jobs;	/* struct live_series_job */
	GArray *points[N_LIVE_SERIES];
} LiveSeries;

/* What the jobs are now, on the host of that name (NULL: it is not told). The result is the caller's. */
LiveSeries *live_series_new(const TachoJobs *jobs, const gchar *host);
LiveSeries *live_series_new_empty(void);
void live_series_free(LiveSeries *series);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LiveSeries, live_series_free)

/* Add those of `other`, whose texts, but those of jobs, must stay. */
void live_series_append(LiveSeries *series, const LiveSeries *other);
/* A number of no job, with a label of its own or NULL; texts must stay as long as the series. */
void live_series_add(LiveSeries *series, enum live_series kind, const gchar *key, const gchar *text,
		     gdouble value, gint64 since_unix_ns);

/* (2): `text` as a label, or as any text of so many bytes. The caller's. */
gchar *live_series_text(const gchar *text, gsize max_bytes);
/* Of a label of findings or parts, "kind" or "part", the static text of a value and its place among them; NULL: there is none such. */
const gchar *live_series_label(const gchar *key, const gchar *value, gint *ret_place);

const struct live_series_kind *live_series_kind(enum live_series series);

/* All series in Prometheus's text format, version 0.0.4. The caller's. */
gchar *live_metrics_text(const LiveSeries *series);

#endif
