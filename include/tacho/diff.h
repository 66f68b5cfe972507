/* diff: what became longer, shorter, more or fewer between runs, and whether that can be chance.
 *
 * A run is first summed up, so that of many runs only one timeline is in memory at a time; then one
 * side, of one run or more, is compared with another. docs/diff.md defines every figure. */
#ifndef TACHO_DIFF_H
#define TACHO_DIFF_H

#include <tacho/analyze.h>

G_BEGIN_DECLS

/* DIFF_VIEW(name, what it compares) */
#define TACHO_DIFF_VIEWS(DIFF_VIEW)                                                                \
	DIFF_VIEW(step, "the parts of a step: compute, communication, waiting, idle")              \
	DIFF_VIEW(op, "framework operations, by name: time in themselves")                         \
	DIFF_VIEW(kernel, "kernels, copies and fills, by name")                                    \
	DIFF_VIEW(device, "work of devices, by the operation that launched it")                    \
	DIFF_VIEW(comm, "collectives, by name: from queued to complete")                           \
	DIFF_VIEW(runtime, "calls of a device's runtime or driver, by name")                       \
	DIFF_VIEW(region, "named regions and modules, by name: with all that is inside")

typedef enum {
#define TACHO_DIFF_VIEW_ENUM(name, description) TACHO_DIFF_##name,
	TACHO_DIFF_VIEWS(TACHO_DIFF_VIEW_ENUM)
#undef TACHO_DIFF_VIEW_ENUM
		TACHO_N_DIFF_VIEWS
} TachoDiffView;

#define TACHO_DIFF_ERROR tacho_diff_error_quark()
GQuark tacho_diff_error_quark(void);
typedef enum {
	TACHO_DIFF_ERROR_NO_RANK, /* the rank asked for is not in the run */
	TACHO_DIFF_ERROR_NO_STEP, /* nor is any complete step */
} TachoDiffError;

typedef struct _TachoDiffRun TachoDiffRun;

/* Sum up a correlated timeline, of which nothing is kept. The filter counts with its name (not for
 * the step view), rank and steps. `label` is what the run shall be called. `views` has bit 1 << view of each
 * that will be compared. The result is the caller's. */
TachoDiffRun *tacho_diff_run_new(const TachoTimeline *timeline, const TachoFilter *filter,
				 guint views, const gchar *label, GError **error);
void tacho_diff_run_free(TachoDiffRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoDiffRun, tacho_diff_run_free)

typedef struct {
	const gchar *label;	/* borrowed from the run */
	guint n_ranks, n_steps; /* chosen; no steps: the run has none and counts as a single one */
	guint trust_score;
	gdouble step_ms; /* mean over steps and ranks */
} TachoDiffRunFacts;
TachoDiffRunFacts tacho_diff_run_facts(const TachoDiffRun *run);

/* What a difference was measured against. */
typedef enum {
	TACHO_SPREAD_NONE, /* a single run a side: nothing says what is chance */
	TACHO_SPREAD_RUNS, /* a side has several runs: each run's mean is one value */
} TachoSpread;

/* Runs a side to record where nothing is known of how much runs differ, and the fewest that are of use. */
#define TACHO_DIFF_GOOD_RUNS   5
#define TACHO_DIFF_FEWEST_RUNS 3

typedef struct {
	gdouble base_ms, ms;	 /* means a step */
	gdouble difference_ms;	 /* ms - base_ms */
	gdouble low_ms, high_ms; /* 95 % interval of it; NaN: not known */
	gdouble p_value;	 /* NaN: not known */
	gboolean is_significant; /* p_value <= 0.05 */
	TachoSpread spread;
	guint n_base, n; /* runs of each side */
	guint runs_needed; /* runs a side that would tell such a difference from chance; 0: it is told, is
			    * none, or would take over a thousand */
} TachoStepDifference;

/* `runs`, of which there are `n_runs` > 0, were summed up with the same filter and views. */
typedef struct {
	const TachoDiffRun *const *runs;
	guint n_runs;
} TachoDiffSide;

TachoStepDifference tacho_diff_step_time(TachoDiffSide base, TachoDiffSide other);

/* One view of the comparison, largest difference first; never NULL. The view was among those that
 * the runs were summed up with. */
TachoTable *tacho_diff_table(TachoDiffView view, TachoDiffSide base, TachoDiffSide other);

/* One other side with its tables, as many as there are views asked for. */
typedef struct {
	TachoDiffSide side;
	const TachoTable *const *tables;
	guint n_tables;
} TachoComparison;

/* One JSON object: docs/json.md. */
void tacho_diff_print_json(TachoDiffSide base, const TachoComparison *comparisons,
			   guint n_comparisons, FILE *out);

G_END_DECLS

#endif
