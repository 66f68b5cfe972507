/* pass_buckets: which gradients go out together: searched on a small model, judged by the replay. */
#include "optimize/optimizing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/for_each.h"
#include "optimize/bucket_judge.h"
#include "optimize/bucket_trial.h"
#include "optimize/search_state.h"

/* Partitions that a replay judges, at least, whatever the time. */
#define MIN_JUDGED 3
#define MAX_JUDGED 1000
/* A line has two parameters; with a third size, one can see whether it is one. */
#define MIN_SIZES 3

static void see_progress(const struct bucket_search *search, gpointer data)
{
	struct optimizing *optimizing = data;

	optimizing_tell_progress(optimizing, search->kept[0].step_ns * 1e-6);
}

static void write_trajectory(const struct optimizing *optimizing,
			     const struct bucket_search *search, const gchar *judge)
{
	TachoTable *table = optimizing->result->trajectory;

	FOR_EACH(const struct search_point, point, search->points) {
		tacho_table_row(table);
		tacho_table_integer(table, (gint64)point->tries);
		tacho_table_number(table, (gdouble)point->time_us * 1e-3);
		tacho_table_text(table, point->strategy);
		tacho_table_text(table, judge);
		tacho_table_number(table, point->step_ns * 1e-6);
	}
}

static gchar *fusion_of(const guint32 *ends, guint32 n_buckets)
{
	g_autoptr(GString) text = g_string_new("fusion=");

	for (guint32 i = 0; i < n_buckets; i++)
		g_string_append_printf(text, "%s%u", i ? "," : "", ends[i] - (i ? ends[i - 1] : 0));
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* What the replay says of a partition, ns. */
static gdouble judge(const guint32 *ends, guint32 n_buckets, gpointer data)
{
	struct optimizing *optimizing = data;
	g_autofree gchar *what_if = fusion_of(ends, n_buckets);
	g_autoptr(GError) error = NULL;
	gdouble step_ms =
		optimizing->trial
			? bucket_trial_step_ms(optimizing->trial, ends, n_buckets, &error)
			: bucket_judge_fusion_ms(optimizing->base->graph, what_if, &error);

	optimizing->result->candidates_tried++;
	optimizing_note_tried(optimizing, what_if, step_ms,
			      error ? error->message : "by the model");
	return isnan(step_ms) ? INFINITY : step_ms * 1e6;
}

/* The recorded partition, which the search's model may have thought little of, and what the search kept are judged by the replay.
 * From the best of them on the greedy walk goes on, judged by the replay, too. */
static void judge_kept(struct optimizing *optimizing, const struct bucket_search *search,
		       struct bucket_search *judged)
{
	judged->judge = judge;
	judged->judge_data = optimizing;
	if (optimizing->problem->recorded_ends)
		bucket_search_try(judged, "recorded", optimizing->problem->recorded_ends,
				  optimizing->problem->n_recorded);
	for (guint i = 0; i < search->n_kept; i++) {
		if (i >= MIN_JUDGED && bucket_search_is_over(judged))
			return;
		bucket_search_try(judged, search->kept[i].strategy, search->kept[i].ends,
				  search->kept[i].n_buckets);
		optimizing_tell_progress(optimizing, judged->kept[0].step_ns * 1e-6);
	}
	if (judged->n_kept > 0 && isfinite(judged->kept[0].step_ns))
		search_greedy(judged);
}

/* The recorded buckets by the model. Where they are no partition in order, there is nothing like it. */
void optimizing_judge_recorded(struct optimizing *optimizing)
{
	const struct bucket_problem *problem = optimizing->problem;
	g_autofree gchar *what_if = NULL;
	g_autoptr(GError) error = NULL;

	if (!problem->recorded_ends) {
		optimizing_note(
			optimizing,
			"the recorded buckets do not hold gradients in the order in which they "
			"came, so gains of other buckets are not held against the model's error");
		return;
	}
	what_if = fusion_of(problem->recorded_ends, problem->n_recorded);
	optimizing->modelled_ms = bucket_judge_fusion_ms(optimizing->base->graph, what_if, &error);
	optimizing_note_tried(optimizing, what_if, optimizing->modelled_ms,
			      error ? error->message : "as recorded, by the model");
}

static void propose_buckets(struct optimizing *optimizing, const struct bucket_candidate *candidate)
{
	gboolean is_ddp = optimizing_packing(optimizing) == TACHO_PACKED_UNKNOWN;
	TachoPlan *plan = optimizing_new_plan(optimizing);

	plan_add_buckets(plan, candidate->ends, candidate->n_buckets);
	optimizing_propose(optimizing, plan,
			   g_strdup_printf("%u gradients in %u buckets", optimizing->problem->n,
					   candidate->n_buckets),
			   is_ddp ? "PyTorch's DistributedDataParallel"
				  : "a framework that takes groups of tensors, as dPRO's Horovod",
			   is_ddp ? OPTIMIZING_BY_APPLY : OPTIMIZING_BY_FRAMEWORK, is_ddp);
}

static gboolean is_recorded(const struct bucket_problem *problem,
			    const struct bucket_candidate *candidate)
{
	return problem->recorded_ends && problem->n_recorded == candidate->n_buckets &&
	       memcmp(problem->recorded_ends, candidate->ends,
		      candidate->n_buckets * sizeof(*candidate->ends)) == 0;
}

/* FALSE: what was found before is of another job, which is noted as the error of all. */
static gboolean resume(struct optimizing *optimizing, struct bucket_search *search)
{
	const gchar *state = optimizing->options->state;

	if (!state || search_state_read(search, state, &optimizing->error))
		return TRUE;
	g_prefix_error(&optimizing->error, "the search cannot go on from what was found before: ");
	bucket_search_release(search);
	return FALSE;
}

static void keep_state(struct optimizing *optimizing, const struct bucket_search *search)
{
	gsize n;
	gchar *text = NULL;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return;
	search_state_write(search, out);
	fclose(out);
	optimizing->result->state = g_strdup(text);
	free(text);
}

void optimizing_set_search(const struct optimizing *optimizing, struct bucket_search *search)
{
	const TachoOptimizeOptions *options = optimizing->options;

	search->ways = options->search_ways;
	search->ucb_is_max = options->ucb_is_max;
	if (options->temperature > 0)
		search->temperature = options->temperature;
	if (options->ucb_gamma > 0)
		search->ucb_gamma = options->ucb_gamma;
}

static void search_buckets(struct optimizing *optimizing)
{
	const TachoOptimizeOptions *options = optimizing->options;
	struct bucket_search search, judged;
	gboolean is_timed = options->budget_ms > 0;

	/* the rest of the time is for replays */
	bucket_search_init(&search, optimizing->problem, options->seed,
			   is_timed ? MAX(optimizing_left_us(optimizing) / 3, 1) : 0,
			   options->max_tried);
	search.progress = see_progress;
	search.progress_data = optimizing;
	optimizing_set_search(optimizing, &search);
	if (!resume(optimizing, &search))
		return;
	bucket_search_run(&search);
	keep_state(optimizing, &search);
	optimizing->result->candidates_tried += search.tries;
	optimizing->result->is_exhaustive =
		optimizing->problem->n <= SEARCH_MAX_EXHAUSTIVE && !bucket_search_is_over(&search);
	write_trajectory(optimizing, &search, "model");
	bucket_search_init(&judged, optimizing->problem, options->seed,
			   is_timed ? MAX(optimizing_left_us(optimizing) * 2 / 3, 1) : 0,
			   MAX_JUDGED);
	optimizing->trial = bucket_trial_new(optimizing->base->graph, optimizing->problem);
	judge_kept(optimizing, &search, &judged);
	g_clear_pointer(&optimizing->trial, bucket_trial_free);
	write_trajectory(optimizing, &judged, "replay");
	if (judged.n_kept > 0 && isfinite(judged.kept[0].step_ns) &&
	    !is_recorded(optimizing->problem, &judged.kept[0])) {
		optimizing->judged_ms = judged.kept[0].step_ns * 1e-6;
		optimizing->n_best_ends = judged.kept[0].n_buckets;
		optimizing->best_ends =
			g_memdup2(judged.kept[0].ends, judged.kept[0].n_buckets * sizeof(guint32));
		propose_buckets(optimizing, &judged.kept[0]);
	}
	bucket_search_release(&search);
	bucket_search_release(&judged);
}

/* What a person can write: an argument of DistributedDataParallel. */
static void note_caps(struct optimizing *optimizing)
{
	static const guint caps_mib[] = { 1, 2, 4, 8, 16, 25, 50, 100 };
	gdouble best_ms = INFINITY, before_ms = isfinite(optimizing->modelled_ms)
							? optimizing->modelled_ms
							: optimizing->result->baseline_step_ms;
	gboolean is_ddp = optimizing_packing(optimizing) == TACHO_PACKED_UNKNOWN;
	guint best = 0;

	for (guint i = 0; i < G_N_ELEMENTS(caps_mib) && !optimizing_is_over(optimizing); i++) {
		g_autofree gchar *what_if = g_strdup_printf("bucket_mb=%u", caps_mib[i]);
		g_autoptr(GError) error = NULL;
		gdouble step_ms = bucket_judge_fusion_ms(optimizing->base->graph, what_if, &error);

		optimizing->result->candidates_tried++;
		optimizing_note_tried(optimizing, what_if, step_ms,
				      error ? error->message : "rules");
		if (step_ms < best_ms) {
			best_ms = step_ms;
			best = caps_mib[i];
		}
	}
	if (best > 0 && best_ms < before_ms * (1 - MIN_GAIN_PCT / 100))
		optimizing_note(optimizing,
				"by hand: of %s 1, 2, 4, 8, 16, 25, 50 and 100%s, %u is best, and "
				"gains %.1f %%",
				is_ddp ? "DistributedDataParallel's bucket_cap_mb"
				       : "Horovod's HOROVOD_FUSION_THRESHOLD",
				is_ddp ? "" : " MiB", best,
				100 * (before_ms - best_ms) / optimizing->result->baseline_step_ms);
}

/* A line through few points says little of others: what waits take and what bytes take cannot be told apart, where buckets were under
 * way together. */
static void note_sizes(struct optimizing *optimizing)
{
	const struct bucket_problem *problem = optimizing->problem;
	guint n_sizes = graph_group_at(problem->graph, problem->group)->cost.n_sizes;

	if (n_sizes < MIN_SIZES)
		optimizing_note(optimizing,
				"collectives of %u size%s were recorded, so what buckets of other "
				"sizes take "
				"is "
				"uncertain; record the job with a smaller bucket_cap_mb, too, or "
				"measure the "
				"plan "
				"(tacho optimize --verify)",
				n_sizes, n_sizes == 1 ? "" : "s");
}

/* What other passes need, too. */
void optimizing_read_problem(struct optimizing *optimizing)
{
	g_autoptr(GError) error = NULL;

	optimizing->problem = bucket_problem_new(optimizing->base->graph, &error);
	if (!optimizing->problem) {
		g_autoptr(GError) reason = NULL; /* more particular, where there is one */

		bucket_judge_step_ms(optimizing->base->graph, "bucket_mb=25", &reason);
		optimizing_note(optimizing, "buckets of gradients cannot be planned: %s",
				reason ? reason->message : error->message);
		return;
	}
	optimizing->result->n_gradients = optimizing->problem->n;
	optimizing->result->n_recorded_buckets = optimizing->problem->n_recorded;
}

void pass_buckets(struct optimizing *optimizing)
{
	if (!optimizing->problem)
		return;
	note_sizes(optimizing);
	optimizing_judge_recorded(optimizing);
	search_buckets(optimizing);
	note_caps(optimizing);
}
