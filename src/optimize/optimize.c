/* optimize: what could be different in a job, tried on the replay of its recording, and ranked.
 *
 * (1) Every step that is told is a prediction of the whole replay with its interval (prediction.c), of all recordings. What searches
 *     go by is only to choose what is worth that.
 * (2) A change is worth telling if it gains MIN_GAIN_PCT. That it gains less, or why it could not be tried, is in `tried`. */
#include <tacho/optimize.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "optimize/bucket_judge.h"
#include "optimize/bucket_search.h"
#include "optimize/plan_target.h"

/* Less is not told from chance by any job's steps. */
#define MIN_GAIN_PCT 0.5
/* Partitions that a replay judges, at least, whatever the time. */
#define MIN_JUDGED 3
#define MAX_JUDGED 1000
/* A line has two parameters; with a third size, one can see whether it is one. */
#define MIN_SIZES 3

static const TachoColumn candidate_columns[] = {
	TEXT_COLUMN("change", "change", .is_flexible = TRUE),
	NUMBER_COLUMN("predicted_step_ms", "step ms", 3),
	JSON_NUMBER("low_ms"),
	JSON_NUMBER("high_ms"),
	NUMBER_COLUMN("gain_pct", "gain %", 1),
	NUMBER_COLUMN("low_gain_pct", "from", 1),
	NUMBER_COLUMN("high_gain_pct", "to", 1),
	JSON_TEXT("what_if"),
	TEXT_COLUMN("needs", "needs", .is_flexible = TRUE),
	TEXT_COLUMN("how", "how", .is_flexible = TRUE),
	JSON_BOOLEAN("is_applicable"),
};

static const TachoColumn tried_columns[] = {
	TEXT_COLUMN("what_if", "change", .is_flexible = TRUE),
	NUMBER_COLUMN("predicted_step_ms", "step ms", 3),
	TEXT_COLUMN("note", "note", .is_flexible = TRUE),
};

static const TachoColumn trajectory_columns[] = {
	INTEGER_COLUMN("tries", "tries"),	NUMBER_COLUMN("time_ms", "ms", 1),
	TEXT_COLUMN("strategy", "strategy"),	TEXT_COLUMN("judged_by", "judged by"),
	NUMBER_COLUMN("step_ms", "step ms", 3),
};

/* A change, or several, with what is needed to tell of them. */
struct proposal {
	TachoPlan *plan;
	gchar *change, *what_if;  /* what-ifs between ";" */
	const gchar *needs, *how; /* static */
	gboolean is_applicable;
	gdouble step_ms, interval_ms[2];
	gboolean has_interval;
};

struct optimizing {
	const TachoRecording *recordings;
	guint n_recordings;
	const TachoOptimizeOptions *options;
	TachoOptimization *result;
	TachoPrediction *base;
	struct bucket_problem *problem; /* NULL: there are no buckets to plan */
	GArray *proposals;		/* struct proposal */
	gdouble modelled_ms; /* the step with the recorded buckets, by the model of others; NAN: not known */
	gdouble judged_ms; /* the same with the best that was found */
	gint64 begin_us;
};

static void proposal_clear(gpointer data)
{
	struct proposal *proposal = data;

	tacho_plan_free(proposal->plan);
	g_free(proposal->change);
	g_free(proposal->what_if);
}

static void note(struct optimizing *optimizing, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static void note(struct optimizing *optimizing, const gchar *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_ptr_array_add(optimizing->result->notes, g_strdup_vprintf(format, arguments));
	va_end(arguments);
}

static void note_tried(struct optimizing *optimizing, const gchar *what_if, gdouble step_ms,
		       const gchar *why)
{
	TachoTable *tried = optimizing->result->tried;

	tacho_table_row(tried);
	tacho_table_text(tried, what_if);
	tacho_table_number(tried, step_ms);
	tacho_table_text(tried, why);
}

static void tell_progress(const struct optimizing *optimizing, gdouble best_ms)
{
	const TachoOptimizeOptions *options = optimizing->options;

	if (options->progress)
		options->progress(best_ms, optimizing->result->candidates_tried,
				  options->progress_data);
}

static gint64 left_us(const struct optimizing *optimizing)
{
	return optimizing->options->budget_ms * 1000 -
	       (g_get_monotonic_time() - optimizing->begin_us);
}

static gboolean is_over(const struct optimizing *optimizing)
{
	return optimizing->options->budget_ms > 0 && left_us(optimizing) <= 0;
}

/* --- proposals ------------------------------------------------------------------------------------ */

static TachoPrediction *predict(const struct optimizing *optimizing, const gchar *what_ifs,
				GError **error)
{
	g_auto(GStrv) list = g_strsplit(what_ifs, ";", -1);
	TachoPredictOptions how = { .what_ifs = (const gchar *const *)list,
				    .n_what_ifs = *what_ifs ? g_strv_length(list) : 0,
				    .first_step = optimizing->options->first_step,
				    .last_step = optimizing->options->last_step };

	return tacho_predict_together(optimizing->recordings, optimizing->n_recordings, &how,
				      error);
}

/* The job, as a plan names it. */
static TachoPlan *new_plan(const struct optimizing *optimizing)
{
	const struct bucket_problem *problem = optimizing->problem;
	TachoPlan *plan = plan_new(optimizing->result->n_ranks);

	for (guint32 i = 0; problem && i < problem->n; i++) {
		struct plan_gradient gradient = { problem->bytes[i], problem->dtype[i] };

		g_array_append_val(plan->gradients, gradient);
	}
	return plan;
}

/* The plan's changes as what-ifs between ";"; NULL: one of them has none. */
static gchar *what_ifs_of(const TachoPlan *plan)
{
	g_autoptr(GString) text = g_string_new(NULL);

	FOR_EACH(const struct plan_change, change, plan->changes) {
		g_autofree gchar *what_if = plan_change_what_if(change);

		if (!what_if)
			return NULL;
		g_string_append_printf(text, "%s%s", text->len ? ";" : "", what_if);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static gdouble gain_pct(const struct optimizing *optimizing, gdouble step_ms)
{
	gdouble baseline_ms = optimizing->result->baseline_step_ms;

	return baseline_ms > 0 ? 100 * (1 - step_ms / baseline_ms) : 0;
}

/* What is predicted of the plan. A partition of gradients is held against the recorded one by the model of both: what the recorded
 * collectives took beyond that, for whatever reason, others will take, too. FALSE: the error is set. */
static gboolean predict_proposal(struct optimizing *optimizing, struct proposal *proposal,
				 GError **error)
{
	g_autoptr(TachoPrediction) prediction = NULL;
	gdouble shift = 1;

	if (!proposal->what_if) {
		g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
				    "the replay has no model of a change in the plan");
		return FALSE;
	}
	prediction = predict(optimizing, proposal->what_if, error);
	if (!prediction)
		return FALSE;
	proposal->step_ms = prediction->predicted_step_ms;
	if (plan_find(proposal->plan, PLAN_BUCKETS) && proposal->step_ms > 0 &&
	    isfinite(optimizing->modelled_ms) && isfinite(optimizing->judged_ms)) {
		proposal->step_ms = optimizing->result->baseline_step_ms + optimizing->judged_ms -
				    optimizing->modelled_ms;
		shift = proposal->step_ms / prediction->predicted_step_ms;
	}
	proposal->has_interval = prediction->has_interval;
	for (guint i = 0; i < 2; i++)
		proposal->interval_ms[i] = prediction->interval_ms[i] * shift;
	return TRUE;
}

/* Predict the plan, which is taken over with the text; keep it if it gains. */
static gboolean propose(struct optimizing *optimizing, TachoPlan *plan, gchar *change,
			const gchar *needs, const gchar *how, gboolean is_applicable)
{
	g_autoptr(GError) error = NULL;
	struct proposal proposal = { .plan = plan,
				     .change = change,
				     .what_if = what_ifs_of(plan),
				     .needs = needs,
				     .how = how,
				     .is_applicable = is_applicable,
				     .step_ms = NAN };
	gboolean is_predicted = predict_proposal(optimizing, &proposal, &error);

	optimizing->result->candidates_tried++;
	plan->baseline_step_ms = optimizing->result->baseline_step_ms;
	plan->predicted_step_ms = proposal.step_ms;
	plan->has_interval = proposal.has_interval;
	memcpy(plan->interval_ms, proposal.interval_ms, sizeof(plan->interval_ms));
	if (is_predicted && gain_pct(optimizing, proposal.step_ms) >= MIN_GAIN_PCT) {
		note_tried(optimizing, proposal.what_if, proposal.step_ms, "proposed");
		g_array_append_val(optimizing->proposals, proposal);
		return TRUE;
	}
	note_tried(optimizing, proposal.what_if ? proposal.what_if : change, proposal.step_ms,
		   error ? error->message : "gains nothing that could be told from chance");
	proposal_clear(&proposal);
	return FALSE;
}

/* --- buckets -------------------------------------------------------------------------------------- */

static void see_progress(const struct bucket_search *search, gpointer data)
{
	struct optimizing *optimizing = data;

	tell_progress(optimizing, search->kept[0].step_ns * 1e-6);
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
	gdouble step_ms = bucket_judge_fusion_ms(optimizing->base->graph, what_if, &error);

	optimizing->result->candidates_tried++;
	note_tried(optimizing, what_if, step_ms, error ? error->message : "by the model");
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
		tell_progress(optimizing, judged->kept[0].step_ns * 1e-6);
	}
	if (judged->n_kept > 0 && isfinite(judged->kept[0].step_ns))
		search_greedy(judged);
}

/* The recorded buckets by the model. Where they are no partition in order, there is nothing like it. */
static void judge_recorded(struct optimizing *optimizing)
{
	const struct bucket_problem *problem = optimizing->problem;
	g_autofree gchar *what_if = NULL;
	g_autoptr(GError) error = NULL;

	if (!problem->recorded_ends) {
		note(optimizing,
		     "the recorded buckets do not hold gradients in the order in which they "
		     "came, so gains of other buckets are not held against the model's error");
		return;
	}
	what_if = fusion_of(problem->recorded_ends, problem->n_recorded);
	optimizing->modelled_ms = bucket_judge_fusion_ms(optimizing->base->graph, what_if, &error);
	note_tried(optimizing, what_if, optimizing->modelled_ms,
		   error ? error->message : "as recorded, by the model");
}

static const gchar *const apply_how = "tacho apply PLAN -- COMMAND";
static const gchar *const by_framework = "tacho optimize RUN --to FORMAT";

static void propose_buckets(struct optimizing *optimizing, const struct bucket_candidate *candidate)
{
	TachoPlan *plan = new_plan(optimizing);

	plan_add_buckets(plan, candidate->ends, candidate->n_buckets);
	propose(optimizing, plan,
		g_strdup_printf("%u gradients in %u buckets", optimizing->problem->n,
				candidate->n_buckets),
		"PyTorch's DistributedDataParallel", apply_how, TRUE);
}

static gboolean is_recorded(const struct bucket_problem *problem,
			    const struct bucket_candidate *candidate)
{
	return problem->recorded_ends && problem->n_recorded == candidate->n_buckets &&
	       memcmp(problem->recorded_ends, candidate->ends,
		      candidate->n_buckets * sizeof(*candidate->ends)) == 0;
}

static void search_buckets(struct optimizing *optimizing)
{
	const TachoOptimizeOptions *options = optimizing->options;
	struct bucket_search search, judged;
	gboolean is_timed = options->budget_ms > 0;

	/* the rest of the time is for replays */
	bucket_search_init(&search, optimizing->problem, options->seed,
			   is_timed ? MAX(left_us(optimizing) / 3, 1) : 0, options->max_tried);
	search.progress = see_progress;
	search.progress_data = optimizing;
	bucket_search_run(&search);
	optimizing->result->candidates_tried += search.tries;
	optimizing->result->is_exhaustive =
		optimizing->problem->n <= SEARCH_MAX_EXHAUSTIVE && !bucket_search_is_over(&search);
	write_trajectory(optimizing, &search, "model");
	bucket_search_init(&judged, optimizing->problem, options->seed,
			   is_timed ? MAX(left_us(optimizing) * 2 / 3, 1) : 0, MAX_JUDGED);
	judge_kept(optimizing, &search, &judged);
	write_trajectory(optimizing, &judged, "replay");
	if (judged.n_kept > 0 && isfinite(judged.kept[0].step_ns) &&
	    !is_recorded(optimizing->problem, &judged.kept[0])) {
		optimizing->judged_ms = judged.kept[0].step_ns * 1e-6;
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
	guint best = 0;

	for (guint i = 0; i < G_N_ELEMENTS(caps_mib) && !is_over(optimizing); i++) {
		g_autofree gchar *what_if = g_strdup_printf("bucket_mb=%u", caps_mib[i]);
		g_autoptr(GError) error = NULL;
		gdouble step_ms = bucket_judge_fusion_ms(optimizing->base->graph, what_if, &error);

		optimizing->result->candidates_tried++;
		note_tried(optimizing, what_if, step_ms, error ? error->message : "rules");
		if (step_ms < best_ms) {
			best_ms = step_ms;
			best = caps_mib[i];
		}
	}
	if (best > 0 && best_ms < before_ms * (1 - MIN_GAIN_PCT / 100))
		note(optimizing,
		     "by hand: of DistributedDataParallel's bucket_cap_mb 1, 2, 4, 8, 16, 25, 50 "
		     "and 100, %u is best, and gains %.1f %%",
		     best, 100 * (before_ms - best_ms) / optimizing->result->baseline_step_ms);
}

/* A line through few points says little of others: what waits take and what bytes take cannot be told apart, where buckets were under
 * way together. */
static void note_sizes(struct optimizing *optimizing)
{
	const struct bucket_problem *problem = optimizing->problem;
	guint n_sizes = graph_group_at(problem->graph, problem->group)->cost.n_sizes;

	if (n_sizes < MIN_SIZES)
		note(optimizing,
		     "collectives of %u size%s were recorded, so what buckets of other sizes take "
		     "is "
		     "uncertain; record the job with a smaller bucket_cap_mb, too, or measure the "
		     "plan "
		     "(tacho optimize --verify)",
		     n_sizes, n_sizes == 1 ? "" : "s");
}

static void plan_buckets(struct optimizing *optimizing)
{
	g_autoptr(GError) error = NULL;

	optimizing->problem = bucket_problem_new(optimizing->base->graph, &error);
	if (!optimizing->problem) {
		g_autoptr(GError) reason = NULL; /* more particular, where there is one */

		bucket_judge_step_ms(optimizing->base->graph, "bucket_mb=25", &reason);
		note(optimizing, "buckets of gradients cannot be planned: %s",
		     reason ? reason->message : error->message);
		return;
	}
	optimizing->result->n_gradients = optimizing->problem->n;
	optimizing->result->n_recorded_buckets = optimizing->problem->n_recorded;
	note_sizes(optimizing);
	judge_recorded(optimizing);
	search_buckets(optimizing);
	note_caps(optimizing);
}

/* --- what else there is --------------------------------------------------------------------------- */

static const gchar *const by_hand = "by hand: DataLoader(num_workers=N)";

/* So many workers gain more than the fewer ones before, with which the step took *best_ms. */
static gboolean gains_more(const struct optimizing *optimizing, guint32 n_workers, gdouble *best_ms)
{
	g_autofree gchar *what_if = g_strdup_printf("workers=%u", n_workers);
	gdouble step_ms = bucket_judge_step_ms(optimizing->base->graph, what_if, NULL);

	if (!(step_ms < *best_ms * (1 - MIN_GAIN_PCT / 100)))
		return FALSE;
	*best_ms = step_ms;
	return TRUE;
}

/* More workers, as long as each doubling gains. */
static void try_workers(struct optimizing *optimizing)
{
	static const guint32 counts[] = { 1, 2, 4, 8, 16 };
	gdouble best_ms = optimizing->result->baseline_step_ms;
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) none = predict(optimizing, "drop:loader", &error);

	if (!none || gain_pct(optimizing, none->predicted_step_ms) < MIN_GAIN_PCT) {
		note_tried(optimizing, "drop:loader", none ? none->predicted_step_ms : NAN,
			   error ? error->message : "loading data holds up nothing");
		return;
	}
	for (guint i = 0; i < G_N_ELEMENTS(counts) && !is_over(optimizing); i++) {
		TachoPlan *plan;

		if (!gains_more(optimizing, counts[i], &best_ms))
			continue;
		plan = new_plan(optimizing);
		plan_add_count(plan, PLAN_WORKERS, counts[i]);
		propose(optimizing, plan,
			g_strdup_printf("data is loaded by %u worker%s", counts[i],
					counts[i] == 1 ? "" : "s"),
			"a core for each worker", by_hand, FALSE);
	}
}

static void try_accumulation(struct optimizing *optimizing)
{
	static const guint32 counts[] = { 2, 4 };

	if (!(optimizing->options->allowed & TACHO_ALLOW_BATCH) || !optimizing->problem)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(counts) && !is_over(optimizing); i++) {
		g_autofree gchar *what_if = g_strdup_printf("accumulate=%u", counts[i]);
		g_autoptr(GError) error = NULL;
		gdouble step_ms = bucket_judge_step_ms(optimizing->base->graph, what_if, &error);

		optimizing->result->candidates_tried++;
		note_tried(optimizing, what_if, step_ms / counts[i],
			   error ? error->message : "for as many samples as a step has now");
		if (gain_pct(optimizing, step_ms / counts[i]) >= MIN_GAIN_PCT)
			note(optimizing,
			     "with %u passes an update (no_sync() around all but the last), as "
			     "many samples as a step has now take %.3f ms (%+.1f %%)",
			     counts[i], step_ms / counts[i],
			     -gain_pct(optimizing, step_ms / counts[i]));
	}
}

/* --- plans of others ------------------------------------------------------------------------------ */

static gboolean is_same_job(const TachoPlan *plan, const TachoPlan *job)
{
	if (plan->n_ranks != job->n_ranks)
		return FALSE;
	if (plan->gradients->len != job->gradients->len)
		return plan->gradients->len == 0;
	for (guint i = 0; i < job->gradients->len; i++) {
		const struct plan_gradient *a =
			&g_array_index(plan->gradients, struct plan_gradient, i);
		const struct plan_gradient *b =
			&g_array_index(job->gradients, struct plan_gradient, i);

		if (a->bytes != b->bytes || strcmp(a->dtype, b->dtype) != 0)
			return FALSE;
	}
	return TRUE;
}

/* The step with the plan's buckets by the model, for predict_proposal(). */
static void judge_buckets_of(struct optimizing *optimizing, const TachoPlan *plan)
{
	const struct plan_change *buckets = plan_find(plan, PLAN_BUCKETS);
	g_autofree gchar *what_if = buckets ? plan_change_what_if(buckets) : NULL;

	if (what_if)
		optimizing->judged_ms =
			bucket_judge_fusion_ms(optimizing->base->graph, what_if, NULL);
}

/* FALSE: it is no plan, or one for another job. */
static gboolean judge_file(struct optimizing *optimizing, const gchar *path, GError **error)
{
	g_autoptr(TachoPlan) job = new_plan(optimizing);
	g_autoptr(TachoPlan) plan = plan_read_any(path, job, error);
	g_autofree gchar *name = g_path_get_basename(path);
	gdouble judged_ms = optimizing->judged_ms;
	gboolean is_applicable;

	if (!plan)
		return FALSE;
	if (!is_same_job(plan, job)) {
		g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT,
			    "%s: the plan is for another job than the recorded one", path);
		return FALSE;
	}
	is_applicable = tacho_plan_check_applicable(plan, NULL);
	judge_buckets_of(optimizing, plan);
	if (!propose(optimizing, g_steal_pointer(&plan), g_strdup_printf("the plan %s", name),
		     "what the file says", is_applicable ? apply_how : by_framework, is_applicable))
		note(optimizing, "the plan %s gains nothing, or cannot be judged; --all says which",
		     path);
	optimizing->judged_ms = judged_ms;
	return TRUE;
}

static gboolean judge_files(struct optimizing *optimizing, GError **error)
{
	const gchar *const *paths = optimizing->options->plan_paths;

	for (guint i = 0; paths && paths[i]; i++)
		if (!judge_file(optimizing, paths[i], error))
			return FALSE;
	return TRUE;
}

/* --- the answer ------------------------------------------------------------------------------------ */

static gint compare_proposals(gconstpointer a, gconstpointer b)
{
	const struct proposal *x = a, *y = b;

	return x->step_ms < y->step_ms ? -1 : x->step_ms > y->step_ms;
}

static void write_proposal(const struct optimizing *optimizing, struct proposal *proposal)
{
	TachoTable *table = optimizing->result->candidates;
	const gdouble *interval_ms = proposal->interval_ms;
	gboolean has_interval = proposal->has_interval;

	tacho_table_row(table);
	tacho_table_text(table, proposal->change);
	tacho_table_number(table, proposal->step_ms);
	tacho_table_number(table, has_interval ? interval_ms[0] : NAN);
	tacho_table_number(table, has_interval ? interval_ms[1] : NAN);
	tacho_table_number(table, gain_pct(optimizing, proposal->step_ms));
	tacho_table_number(table, has_interval ? gain_pct(optimizing, interval_ms[1]) : NAN);
	tacho_table_number(table, has_interval ? gain_pct(optimizing, interval_ms[0]) : NAN);
	tacho_table_text(table, proposal->what_if);
	tacho_table_text(table, proposal->needs);
	tacho_table_text(table, proposal->how);
	tacho_table_boolean(table, proposal->is_applicable);
	g_ptr_array_add(optimizing->result->plans, g_steal_pointer(&proposal->plan));
}

static void write_proposals(struct optimizing *optimizing)
{
	g_array_sort(optimizing->proposals, compare_proposals);
	FOR_EACH(struct proposal, proposal, optimizing->proposals)
		write_proposal(optimizing, proposal);
	if (optimizing->proposals->len == 0)
		note(optimizing,
		     "no change that was tried makes the step shorter by %.1f %% or more",
		     MIN_GAIN_PCT);
}

static void result_init(struct optimizing *optimizing)
{
	TachoOptimization *result = g_new0(TachoOptimization, 1);

	result->notes = g_ptr_array_new_with_free_func(g_free);
	result->plans = g_ptr_array_new_with_free_func((GDestroyNotify)tacho_plan_free);
	result->candidates =
		tacho_table_new("candidates", candidate_columns, G_N_ELEMENTS(candidate_columns));
	result->tried = tacho_table_new("tried", tried_columns, G_N_ELEMENTS(tried_columns));
	result->trajectory =
		tacho_table_new("trajectory", trajectory_columns, G_N_ELEMENTS(trajectory_columns));
	optimizing->result = result;
}

static void take_base(struct optimizing *optimizing)
{
	const TachoPrediction *base = optimizing->base;
	TachoOptimization *result = optimizing->result;

	result->n_ranks = base->n_ranks;
	result->n_steps = base->n_steps;
	result->first_step = base->first_step;
	result->last_step = base->last_step;
	result->measured_step_ms = base->measured_step_ms;
	result->replayed_step_ms = base->baseline_step_ms;
	result->baseline_step_ms = base->unrecorded_step_ms;
	result->warning = g_strdup(base->baseline_warning);
	result->advice = g_strdup(base->baseline_advice);
	FOR_EACH_POINTER(const gchar, text, base->notes)
		note(optimizing, "%s", text);
}

TachoOptimization *tacho_optimize(const TachoRecording *recordings, guint n_recordings,
				  const TachoOptimizeOptions *options, GError **error)
{
	struct optimizing optimizing = { .modelled_ms = NAN,
					 .judged_ms = NAN,
					 .recordings = recordings,
					 .n_recordings = n_recordings,
					 .options = options,
					 .begin_us = g_get_monotonic_time() };
	gboolean is_judged;

	optimizing.base = predict(&optimizing, "", error);
	if (!optimizing.base)
		return NULL;
	result_init(&optimizing);
	optimizing.proposals = g_array_new(FALSE, TRUE, sizeof(struct proposal));
	g_array_set_clear_func(optimizing.proposals, proposal_clear);
	take_base(&optimizing);
	plan_buckets(&optimizing);
	try_workers(&optimizing);
	try_accumulation(&optimizing);
	is_judged = judge_files(&optimizing, error);
	write_proposals(&optimizing);
	optimizing.result->search_ms =
		(gdouble)(g_get_monotonic_time() - optimizing.begin_us) * 1e-3;
	g_array_unref(optimizing.proposals);
	bucket_problem_free(optimizing.problem);
	tacho_prediction_free(optimizing.base);
	if (!is_judged)
		g_clear_pointer(&optimizing.result, tacho_optimization_free);
	return optimizing.result;
}

void tacho_optimization_free(TachoOptimization *optimization)
{
	if (!optimization)
		return;
	g_ptr_array_unref(optimization->notes);
	g_ptr_array_unref(optimization->plans);
	tacho_table_free(optimization->candidates);
	tacho_table_free(optimization->tried);
	tacho_table_free(optimization->trajectory);
	g_free(optimization->warning);
	g_free(optimization->advice);
	g_free(optimization);
}

gboolean tacho_optimization_best(const TachoOptimization *optimization, guint *ret_row)
{
	for (guint row = 0; row < optimization->plans->len; row++)
		if (tacho_table_cell_number(optimization->candidates, row, "is_applicable") != 0) {
			*ret_row = row;
			return TRUE;
		}
	return FALSE;
}

gboolean tacho_optimization_best_as(const TachoOptimization *optimization, guint target,
				    guint *ret_row, gchar **ret_text, GError **error)
{
	g_autoptr(GError) why = NULL;

	for (guint row = 0; row < optimization->plans->len; row++) {
		gchar *text = NULL;
		gsize n;
		FILE *out = open_memstream(&text, &n);
		gboolean is_written;

		g_clear_error(&why);
		is_written = out && tacho_plan_write_as(optimization->plans->pdata[row], target,
							out, &why);
		if (out)
			fclose(out);
		if (is_written) {
			*ret_row = row;
			*ret_text = text;
			return TRUE;
		}
		free(text);
	}
	if (why)
		g_propagate_error(error, g_steal_pointer(&why));
	else
		g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
				    "nothing that was tried gains anything");
	return FALSE;
}
