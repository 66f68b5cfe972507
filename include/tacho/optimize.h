/* optimize: changes of a job that make its steps shorter: looked for on the replay of a recording, ranked, and written as plans that
 * `tacho apply` carries out (docs/optimize.md, docs/plan.md). */
#ifndef TACHO_OPTIMIZE_H
#define TACHO_OPTIMIZE_H

#include <stdio.h>

#include <tacho/plan.h>
#include <tacho/replay.h>

G_BEGIN_DECLS

/* What a change may touch besides the order in which numbers are added. */
typedef enum {
	TACHO_ALLOW_NOTHING = 0,
	TACHO_ALLOW_BATCH = 1 << 0,	  /* how many samples go into an update */
	TACHO_ALLOW_COMPRESSION = 1 << 1, /* in how many bits gradients are sent */
	TACHO_ALLOW_PRECISION = 1 << 2,	  /* in how many bits operations compute */
} TachoAllowed;

/* The best so far is better than what was there before, or a part of the search is over. */
typedef void (*TachoOptimizeProgress)(gdouble best_step_ms, guint64 n_tried, gpointer data);

typedef struct {
	gint64 budget_ms; /* for the search, at most; 0: as long as it gains */
	guint64 max_tried; /* partitions; 0: any number. With it and no budget the result is the same on all machines */
	guint64 seed;
	guint allowed;			/* TachoAllowed */
	guint left_out_passes;		/* bit i: not tacho_optimize_pass(i) */
	guint64 memory_bytes;		/* that a rank's fullest memory may hold; 0: any */
	gint64 first_step, last_step;	/* as of tacho_predict() */
	guint search_ways;		/* bit i: tacho_optimize_way(i); 0: the usual ones */
	gdouble temperature, ucb_gamma; /* of mcmc and mcts; 0: as docs/optimize.md says */
	gboolean ucb_is_max; /* a node of mcts is worth its largest reward, not the mean */
	const gchar *
		state; /* of an earlier search of the same gradients (TachoOptimization.state), to go on from; or NULL */
	const gchar *const *
		plan_paths; /* plans in files, dPRO's too, that are judged beside what is found; NULL-terminated, or NULL */
	const TachoPlan *
		precision_plan; /* of tacho_precision_plan(), ranked by the gain that it says; or NULL */
	const TachoCostModel *
		costs; /* what is known of communication, and of plans that were measured; or NULL */
	TachoOptimizeProgress progress; /* or NULL */
	gpointer progress_data;
} TachoOptimizeOptions;

typedef struct {
	guint32 n_ranks, n_steps, first_step, last_step;
	gdouble measured_step_ms; /* as TachoPrediction has it */
	gdouble replayed_step_ms; /* the same of the replay of what was recorded */
	gdouble baseline_step_ms; /* the same without what recording took: what changes are held against */
	guint32 n_gradients, n_recorded_buckets; /* 0: they are not known */
	guint64 candidates_tried;
	gdouble search_ms;
	gboolean is_exhaustive; /* all partitions of the gradients were tried */
	/* What was found, the shortest step first: "change" (in words), "what_if" (docs/what-if.md), "predicted_step_ms",
	 * "low_ms", "high_ms", "gain_pct", "low_gain_pct", "high_gain_pct", "uncorrected_gain_pct" (without what earlier plans were off by), "needs", "how" (what carries it out),
	 * "is_applicable" (`tacho apply` does) and "peak_memory_bytes" (predicted, of the fullest memory of a rank). Changes that gain nothing are not in it. */
	TachoTable *candidates;
	GPtrArray *plans; /* TachoPlan, one for each row */
	TachoTable *
		tried; /* a row for each change of which a replay was made: "what_if", "predicted_step_ms", "note" */
	TachoTable *
		trajectory; /* "tries", "time_ms", "strategy", "judged_by" (the search's own model, or the replay), "step_ms": whenever the search found a better partition */
	gchar *warning, *advice; /* of the replay (TachoPrediction.baseline_warning); or NULL */
	GPtrArray *notes;	 /* gchar */
	gchar *state; /* what the search has found, as a text for TachoOptimizeOptions.state; NULL: there was none */
} TachoOptimization;

/* Look for changes of the job that was recorded. An error is that it cannot be replayed; that there is nothing to gain is none. */
TachoOptimization *tacho_optimize(const TachoRecording *recordings, guint n_recordings,
				  const TachoOptimizeOptions *options, GError **error);
void tacho_optimization_free(TachoOptimization *optimization);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoOptimization, tacho_optimization_free)

/* What is tried, by number from 0: the pass's name; NULL: there are no more. */
const gchar *tacho_optimize_pass(guint index, const gchar **ret_description);

/* The ways to search, by number from 0: the name; NULL: there are no more. */
const gchar *tacho_optimize_way(guint index);

/* The first row that `tacho apply` carries out; TRUE: there is one. */
gboolean tacho_optimization_best(const TachoOptimization *optimization, guint *ret_row);
/* The first row whose plan can be written as the target (tacho_plan_find_target()), as text in `ret_text`, to be freed with g_free().
 * FALSE: there is none, and why not. */
gboolean tacho_optimization_best_as(const TachoOptimization *optimization, guint target,
				    guint *ret_row, gchar **ret_text, GError **error);
/* The plan that gains most, a row of a table "plan", for those who report on a run: found with few tries, the same each time. NULL: none
 * gains 5 % or more, or the run is too large for that. The replay adds names to the timeline's strings, and changes nothing else of it. */
TachoTable *tacho_optimize_finding(TachoTimeline *timeline, gint64 first_step, gint64 last_step);
/* The trajectory as a picture, SVG. */
void tacho_optimization_print_svg(const TachoOptimization *optimization, FILE *out);
/* One JSON object: the members above under their names (docs/json.md). */
void tacho_optimization_print_json(const TachoOptimization *optimization, FILE *out);

/* By how much less the steps of the second take than those of the first, run in pairs, in percent: of the mean of the logarithms of
 * their quotients, and its 95 % interval by Student's t (NAN: from one pair). `n` is 1 or more, times are above 0. */
typedef struct {
	gdouble gain_pct, low_pct, high_pct;
} TachoPairedGain;
TachoPairedGain tacho_paired_gain(const gdouble *first_ms, const gdouble *second_ms, guint n);

G_END_DECLS

#endif
