/* info: what a run holds, and how far it can be trusted. */
#ifndef TACHO_INFO_H
#define TACHO_INFO_H

#include <tacho/table.h>
#include <tacho/timeline.h>

G_BEGIN_DECLS

/* Strings are the timeline's, the tables are ours. Columns are documented in docs/json.md. */
typedef struct {
	const gchar *command; /* of the first rank */
	const gchar *job;     /* "": none */
	gint64 start_unix_ns;
	gint64 duration_ns;
	guint n_hosts, n_ranks;
	gint expected_ranks;	  /* -1: not known */
	guint n_steps;		  /* of a rank, complete ones */
	const gchar *steps_found; /* "annotated", "optimizer", "period", "none" */
	gdouble step_median_ms;	  /* over the ranks' steps, warm-up left out; NaN: no steps */
	guint64 n_events, n_dropped;
	gdouble record_cost_pct;      /* of the processes' time */
	gdouble record_cost_step_pct; /* of a step; NaN: no steps */
	gdouble record_excess_pct;    /* as control steps show it; NaN: there are none */
	gdouble record_excess_error_pct;
	guint n_control_steps; /* that it comes from */
	guint trust_score;     /* 0 to 100 */
	guint present_score;   /* the same of what is there, whatever is missing */
	gboolean has_exit;     /* the job's end was seen: ... */
	gint64 exit;	       /* ... its exit status, or the signal with a minus */
	gchar *job_end;	       /* a sentence on how it failed; NULL: it did not, or nobody knows */
	TachoTable *failures;  /* ranks and processes that failed, the first to fail first */
	gchar *hosts;	       /* "a, b" */
	TachoTable *clocks;    /* how times of different hosts came to compare */
	TachoTable *processes;
	TachoTable *problems;
	/* those problems that tell of something missing, and what is not known then */
	TachoTable *missing;
	TachoTable *kinds;	 /* how many of each kind of thing */
	TachoTable *open_slices; /* in processes that have not ended in an orderly way */
} TachoInfo;

/* The facts of a correlated timeline, which must outlive them. */
TachoInfo *tacho_info_new(const TachoTimeline *timeline);
void tacho_info_free(TachoInfo *info);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoInfo, tacho_info_free)

/* One JSON object: docs/json.md. */
void tacho_info_print_json(const TachoInfo *info, FILE *out);
/* One JSON object: "info", then each table's rows under its name, then "notes". */
void tacho_report_print_json(const TachoInfo *info, const TachoTable *const *tables, guint n_tables,
			     FILE *out);

/* `text` fit for a terminal: bad UTF-8 and all but printable characters become U+FFFD. The caller's,
 * to be freed with g_free(). */
gchar *tacho_printable(const gchar *text);

G_END_DECLS

#endif
