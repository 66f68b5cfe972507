/* optimizing: what the passes of optimize share: the recording, what was found so far, and how it is told.
 *
 * A pass is a function in a file of its own, pass_*.c, and a line of passes.def. It tries changes on the replay and proposes those
 * that may gain; optimizing_propose() predicts them and keeps what does. */
#ifndef TACHO_OPTIMIZING_H
#define TACHO_OPTIMIZING_H

#include <tacho/optimize.h>

#include "optimize/bucket_search.h"
#include "optimize/plan.h"

/* Less is not told from chance by any job's steps. */
#define MIN_GAIN_PCT 0.5

/* A change, or several, with what is needed to tell of them. */
struct proposal {
	TachoPlan *plan;
	gchar *change, *what_if;  /* what-ifs between ";" */
	const gchar *needs, *how; /* static */
	gboolean is_applicable;
	gdouble step_ms, interval_ms[2];
	gint64 peak_memory_bytes; /* predicted; -1: not known */
	gboolean has_interval;
	gdouble uncorrected_ms; /* the step without what earlier plans were off by */
	guint n_passes;		/* of which the step has so many times the samples; 0: one */
	gboolean is_kept;	/* though it gains nothing */
};

struct optimizing {
	const TachoRecording *recordings;
	guint n_recordings;
	const TachoOptimizeOptions *options;
	TachoOptimization *result;
	TachoPrediction *base;
	struct bucket_problem *problem; /* NULL: there are no buckets to plan */
	struct bucket_trial *trial; /* of its partitions; NULL: none now, or each must be built */
	GArray *proposals;	    /* struct proposal */
	TachoPlan *always;   /* what every plan changes, so that the job fits into its memory */
	guint32 *best_ends;  /* the best buckets that were found ... */
	guint32 n_best_ends; /* ... 0: none are better than those recorded */
	gdouble bucket_shift_ms; /* what the model of all buckets says of these beyond the prediction of them alone */
	gdouble modelled_ms; /* the step with the recorded buckets, by the model of others; NAN: not known */
	gdouble judged_ms; /* the same with the best that was found */
	gint64 begin_us;
	GError *error; /* the options do not fit the job; NULL: they do */
};

/* Who carries a plan out. */
#define OPTIMIZING_BY_APPLY	"tacho apply PLAN -- COMMAND"
#define OPTIMIZING_BY_FRAMEWORK "tacho optimize RUN --to FORMAT"

void optimizing_note(struct optimizing *optimizing, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
void optimizing_note_tried(struct optimizing *optimizing, const gchar *what_if, gdouble step_ms,
			   const gchar *why);
void optimizing_tell_progress(const struct optimizing *optimizing, gdouble best_ms);
gint64 optimizing_left_us(const struct optimizing *optimizing);
gboolean optimizing_is_over(const struct optimizing *optimizing);

/* The whole prediction with what-ifs between ";"; the caller's. */
TachoPrediction *optimizing_predict(const struct optimizing *optimizing, const gchar *what_ifs,
				    GError **error);
/* The job, as a plan names it, with the changes that every plan has; the caller's. */
TachoPlan *optimizing_new_plan(const struct optimizing *optimizing);
gdouble optimizing_gain_pct(const struct optimizing *optimizing, gdouble step_ms);
/* Give the search what the options say of ways. */
void optimizing_set_search(const struct optimizing *optimizing, struct bucket_search *search);
/* Read the buckets off the graph, or say why they cannot be planned. */
void optimizing_read_problem(struct optimizing *optimizing);
/* The recorded buckets by the model of others (modelled_ms); what keeps it from that is noted. Needs the problem. */
void optimizing_judge_recorded(struct optimizing *optimizing);
/* The what-if of the best buckets, or NULL; the caller's. */
gchar *optimizing_best_fusion(const struct optimizing *optimizing);
/* How the gradients were packed when they were recorded (TachoPacking). */
guint optimizing_packing(const struct optimizing *optimizing);
/* Correct what is predicted of a proposal by what plans of its kind were off by, on the same host and device (plan_correction.c). */
void optimizing_correct(struct optimizing *optimizing, struct proposal *proposal);
/* Predict the plan, which is taken over with the text; keep it if it gains. `needs` and `how` are static. */
gboolean optimizing_propose(struct optimizing *optimizing, TachoPlan *plan, gchar *change,
			    const gchar *needs, const gchar *how, gboolean is_applicable);
/* The same of a plan whose steps have `n` times the samples: what they take for as many samples as a step has now is what counts. */
gboolean optimizing_propose_per_sample(struct optimizing *optimizing, TachoPlan *plan,
				       gchar *change, guint n, const gchar *needs, const gchar *how,
				       gboolean is_applicable);
/* The same of what no plan says, by its what-ifs, which are taken over. */
gboolean optimizing_propose_what_if(struct optimizing *optimizing, gchar *what_ifs, gchar *change,
				    guint n, const gchar *needs, const gchar *how);
/* The same of what the job needs, so that it is kept whether it gains or not. */
gboolean optimizing_propose_always(struct optimizing *optimizing, TachoPlan *plan, gchar *change,
				   const gchar *needs, const gchar *how, gboolean is_applicable);
/* Judge the plans in the files of the options. FALSE: one is no plan, or for another job. */
gboolean optimizing_judge_files(struct optimizing *optimizing, GError **error);

typedef void OptimizePass(struct optimizing *optimizing);
#define PASS(name, function, description) OptimizePass function;
#include "optimize/passes.def"
#undef PASS

#endif
