/* optimize: what could be different in a job, tried on the replay of its recording, and ranked.
 *
 * (1) Every step that is told is a prediction of the whole replay with its interval (prediction.c), of all recordings. What searches
 *     go by is only to choose what is worth that.
 * (2) A change is worth telling if it gains MIN_GAIN_PCT. That it gains less, or why it could not be tried, is in `tried`. */
#include "optimize/optimizing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "optimize/plan_target.h"

static const TachoColumn candidate_columns[] = {
	TEXT_COLUMN("change", "change", .is_flexible = TRUE),
	NUMBER_COLUMN("predicted_step_ms", "step ms", 3),
	JSON_NUMBER("low_ms"),
	JSON_NUMBER("high_ms"),
	NUMBER_COLUMN("gain_pct", "gain %", 1),
	NUMBER_COLUMN("low_gain_pct", "from", 1),
	NUMBER_COLUMN("high_gain_pct", "to", 1),
	JSON_NUMBER("uncorrected_gain_pct"),
	JSON_TEXT("what_if"),
	TEXT_COLUMN("needs", "needs", .is_flexible = TRUE),
	TEXT_COLUMN("how", "how", .is_flexible = TRUE),
	JSON_BOOLEAN("is_applicable"),
	JSON_NUMBER("peak_memory_bytes"),
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

static void proposal_clear(gpointer data)
{
	struct proposal *proposal = data;

	tacho_plan_free(proposal->plan);
	g_free(proposal->change);
	g_free(proposal->what_if);
}

void optimizing_note(struct optimizing *optimizing, const gchar *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_ptr_array_add(optimizing->result->notes, g_strdup_vprintf(format, arguments));
	va_end(arguments);
}

void optimizing_note_tried(struct optimizing *optimizing, const gchar *what_if, gdouble step_ms,
			   const gchar *why)
{
	TachoTable *tried = optimizing->result->tried;

	tacho_table_row(tried);
	tacho_table_text(tried, what_if);
	tacho_table_number(tried, step_ms);
	tacho_table_text(tried, why);
}

void optimizing_tell_progress(const struct optimizing *optimizing, gdouble best_ms)
{
	const TachoOptimizeOptions *options = optimizing->options;

	if (options->progress)
		options->progress(best_ms, optimizing->result->candidates_tried,
				  options->progress_data);
}

gint64 optimizing_left_us(const struct optimizing *optimizing)
{
	return optimizing->options->budget_ms * 1000 -
	       (g_get_monotonic_time() - optimizing->begin_us);
}

gboolean optimizing_is_over(const struct optimizing *optimizing)
{
	return optimizing->options->budget_ms > 0 && optimizing_left_us(optimizing) <= 0;
}

/* --- proposals ------------------------------------------------------------------------------------ */

TachoPrediction *optimizing_predict(const struct optimizing *optimizing, const gchar *what_ifs,
				    GError **error)
{
	g_auto(GStrv) list = g_strsplit(what_ifs, ";", -1);
	TachoPredictOptions how = { .what_ifs = (const gchar *const *)list,
				    .n_what_ifs = *what_ifs ? g_strv_length(list) : 0,
				    .first_step = optimizing->options->first_step,
				    .last_step = optimizing->options->last_step,
				    .costs = optimizing->options->costs };

	return tacho_predict_together(optimizing->recordings, optimizing->n_recordings, &how,
				      error);
}

gchar *optimizing_best_fusion(const struct optimizing *optimizing)
{
	g_autoptr(TachoPlan) plan = plan_new(1);

	if (optimizing->n_best_ends == 0)
		return NULL;
	plan_add_buckets(plan, optimizing->best_ends, optimizing->n_best_ends);
	return plan_change_what_if(plan_find(plan, PLAN_BUCKETS));
}

guint optimizing_packing(const struct optimizing *optimizing)
{
	FOR_EACH(const struct graph_pass, pass, optimizing->base->graph->passes)
		if (pass->n_gradients > 0)
			return pass->packing;
	return TACHO_PACKED_UNKNOWN;
}

/* The job, as a plan names it. */
TachoPlan *optimizing_new_plan(const struct optimizing *optimizing)
{
	const struct bucket_problem *problem = optimizing->problem;
	TachoPlan *plan = optimizing->always ? plan_copy(optimizing->always)
					     : plan_new(optimizing->result->n_ranks);

	g_array_set_size(plan->gradients, 0);
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

gdouble optimizing_gain_pct(const struct optimizing *optimizing, gdouble step_ms)
{
	gdouble baseline_ms = optimizing->result->baseline_step_ms;

	return baseline_ms > 0 ? 100 * (1 - step_ms / baseline_ms) : 0;
}

/* Of a plan with nothing but buckets it is found; plans with other changes beside the same buckets have the same. */
static gdouble shift_of_buckets(struct optimizing *optimizing, const struct proposal *proposal)
{
	if (proposal->plan->changes->len == 1 && isfinite(optimizing->modelled_ms) &&
	    isfinite(optimizing->judged_ms))
		optimizing->bucket_shift_ms = optimizing->result->baseline_step_ms +
					      optimizing->judged_ms - optimizing->modelled_ms -
					      proposal->step_ms;
	return optimizing->bucket_shift_ms;
}

/* What the plan says of itself: tacho_precision_plan() has predicted it, of other recordings of the job, so its gain counts. */
static gboolean take_own_prediction(const struct optimizing *optimizing, struct proposal *proposal)
{
	const TachoPlan *plan = proposal->plan;
	gdouble ratio;

	if (!plan_find(plan, PLAN_PRECISION) || !(plan->baseline_step_ms > 0) ||
	    !(plan->predicted_step_ms > 0))
		return FALSE;
	ratio = optimizing->result->baseline_step_ms / plan->baseline_step_ms;
	proposal->step_ms = plan->predicted_step_ms * ratio;
	proposal->has_interval = plan->has_interval;
	for (guint i = 0; i < 2; i++)
		proposal->interval_ms[i] = plan->interval_ms[i] * ratio;
	return TRUE;
}

/* What is predicted of the plan. A partition of gradients is held against the recorded one by the model of both: what the recorded
 * collectives took beyond that, for whatever reason, others will take, too. FALSE: the error is set. */
static gboolean predict_proposal(struct optimizing *optimizing, struct proposal *proposal,
				 GError **error)
{
	g_autoptr(TachoPrediction) prediction = NULL;
	gdouble shift = 1;

	if (!proposal->what_if && take_own_prediction(optimizing, proposal)) {
		optimizing_correct(optimizing, proposal);
		return TRUE;
	}
	if (!proposal->what_if) {
		g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
				    "the replay has no model of a change in the plan");
		return FALSE;
	}
	prediction = optimizing_predict(optimizing, proposal->what_if, error);
	if (!prediction)
		return FALSE;
	proposal->step_ms = prediction->predicted_step_ms;
	proposal->peak_memory_bytes = prediction->predicted_peak_memory_bytes;
	if (plan_find(proposal->plan, PLAN_BUCKETS) && proposal->step_ms > 0) {
		proposal->step_ms += shift_of_buckets(optimizing, proposal);
		shift = proposal->step_ms / prediction->predicted_step_ms;
	}
	shift /= MAX(proposal->n_passes, 1u);
	proposal->step_ms /= MAX(proposal->n_passes, 1u);
	proposal->has_interval = prediction->has_interval;
	for (guint i = 0; i < 2; i++)
		proposal->interval_ms[i] = prediction->interval_ms[i] * shift;
	optimizing_correct(optimizing, proposal);
	return TRUE;
}

/* Predict it, and keep it if it gains; its texts and plan are taken over. */
static gboolean propose(struct optimizing *optimizing, struct proposal *proposal)
{
	g_autoptr(GError) error = NULL;
	TachoPlan *plan = proposal->plan;
	const gchar *name;
	gboolean is_predicted;

	proposal->peak_memory_bytes = -1;
	proposal->step_ms = NAN;
	if (!proposal->what_if)
		proposal->what_if = what_ifs_of(plan);
	name = proposal->what_if ? proposal->what_if : proposal->change;
	is_predicted = predict_proposal(optimizing, proposal, &error);
	optimizing->result->candidates_tried++;
	plan->baseline_step_ms = optimizing->result->baseline_step_ms;
	plan->predicted_step_ms = proposal->step_ms;
	plan->has_interval = proposal->has_interval;
	memcpy(plan->interval_ms, proposal->interval_ms, sizeof(plan->interval_ms));
	if (is_predicted && (proposal->is_kept ||
			     optimizing_gain_pct(optimizing, proposal->step_ms) >= MIN_GAIN_PCT)) {
		optimizing_note_tried(optimizing, name, proposal->step_ms, "proposed");
		g_array_append_val(optimizing->proposals, *proposal);
		return TRUE;
	}
	optimizing_note_tried(optimizing, name, proposal->step_ms,
			      error ? error->message
				    : "gains nothing that could be told from chance");
	proposal_clear(proposal);
	return FALSE;
}

gboolean optimizing_propose(struct optimizing *optimizing, TachoPlan *plan, gchar *change,
			    const gchar *needs, const gchar *how, gboolean is_applicable)
{
	return optimizing_propose_per_sample(optimizing, plan, change, 1, needs, how,
					     is_applicable);
}

gboolean optimizing_propose_per_sample(struct optimizing *optimizing, TachoPlan *plan,
				       gchar *change, guint n, const gchar *needs, const gchar *how,
				       gboolean is_applicable)
{
	struct proposal proposal = { .plan = plan,
				     .change = change,
				     .needs = needs,
				     .how = how,
				     .is_applicable = is_applicable,
				     .n_passes = n };

	return propose(optimizing, &proposal);
}

gboolean optimizing_propose_what_if(struct optimizing *optimizing, gchar *what_ifs, gchar *change,
				    guint n, const gchar *needs, const gchar *how)
{
	struct proposal proposal = { .plan = optimizing_new_plan(optimizing),
				     .change = change,
				     .what_if = what_ifs,
				     .needs = needs,
				     .how = how,
				     .n_passes = n };

	return propose(optimizing, &proposal);
}

gboolean optimizing_propose_always(struct optimizing *optimizing, TachoPlan *plan, gchar *change,
				   const gchar *needs, const gchar *how, gboolean is_applicable)
{
	struct proposal proposal = { .plan = plan,
				     .change = change,
				     .needs = needs,
				     .how = how,
				     .is_applicable = is_applicable,
				     .n_passes = 1,
				     .is_kept = TRUE };

	return propose(optimizing, &proposal);
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
	tacho_table_number(table, optimizing_gain_pct(optimizing, proposal->step_ms));
	tacho_table_number(table,
			   has_interval ? optimizing_gain_pct(optimizing, interval_ms[1]) : NAN);
	tacho_table_number(table,
			   has_interval ? optimizing_gain_pct(optimizing, interval_ms[0]) : NAN);
	tacho_table_number(table, optimizing_gain_pct(optimizing, proposal->uncorrected_ms));
	tacho_table_text(table, proposal->what_if);
	tacho_table_text(table, proposal->needs);
	tacho_table_text(table, proposal->how);
	tacho_table_boolean(table, proposal->is_applicable);
	tacho_table_number(table, proposal->peak_memory_bytes < 0
					  ? NAN
					  : (gdouble)proposal->peak_memory_bytes);
	g_ptr_array_add(optimizing->result->plans, g_steal_pointer(&proposal->plan));
}

static void write_proposals(struct optimizing *optimizing)
{
	g_array_sort(optimizing->proposals, compare_proposals);
	FOR_EACH(struct proposal, proposal, optimizing->proposals)
		write_proposal(optimizing, proposal);
	if (optimizing->proposals->len == 0)
		optimizing_note(
			optimizing,
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
		optimizing_note(optimizing, "%s", text);
}

static const struct {
	const gchar *name;
	OptimizePass *run;
	const gchar *description;
} passes[] = {
#define PASS(name, function, description) { name, function, description },
#include "optimize/passes.def"
#undef PASS
};

const gchar *tacho_optimize_pass(guint index, const gchar **ret_description)
{
	if (index >= G_N_ELEMENTS(passes))
		return NULL;
	*ret_description = passes[index].description;
	return passes[index].name;
}

const gchar *tacho_optimize_way(guint index)
{
	return index < N_SEARCH_WAYS ? bucket_search_way_name((enum search_way)index) : NULL;
}

static void run_passes(struct optimizing *optimizing)
{
	for (guint i = 0; i < G_N_ELEMENTS(passes); i++)
		if (!(optimizing->options->left_out_passes & 1u << i))
			passes[i].run(optimizing);
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

	optimizing.base = optimizing_predict(&optimizing, "", error);
	if (!optimizing.base)
		return NULL;
	result_init(&optimizing);
	optimizing.proposals = g_array_new(FALSE, TRUE, sizeof(struct proposal));
	g_array_set_clear_func(optimizing.proposals, proposal_clear);
	take_base(&optimizing);
	optimizing_read_problem(&optimizing);
	run_passes(&optimizing);
	is_judged = !optimizing.error && optimizing_judge_files(&optimizing, error);
	if (optimizing.error)
		g_propagate_error(error, optimizing.error);
	write_proposals(&optimizing);
	optimizing.result->search_ms =
		(gdouble)(g_get_monotonic_time() - optimizing.begin_us) * 1e-3;
	g_array_unref(optimizing.proposals);
	bucket_problem_free(optimizing.problem);
	tacho_plan_free(optimizing.always);
	g_free(optimizing.best_ends);
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
	g_free(optimization->state);
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
