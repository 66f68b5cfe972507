/* precision_plan: the question answered: from a problem and statistics to a plan, its table, and the front. */
#include <math.h>
#include <string.h>
#include <tacho/precision.h>

#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "optimize/plan.h"
#include "precision/indicator.h"
#include "precision/pareto.h"
#include "precision/plan_bits.h"
#include "precision/search.h"
#include "precision/tf32_setting.h"

/* Above the fastest plan, where no bound is asked for. Source: a rule: as the example of the manual. If wrong, people ask for another. */
#define USUAL_WITHIN_PCT 5.0
/* Plans that a replay may refuse before the search gives up. Source: a rule: each bound is tighter by what the last plan missed it. If wrong,
 * no plan is found where one might be. */
#define MAX_REPLAYS 6

/* A plan that is looked for. */
struct planning {
	TachoPrecisionProblem *problem;
	const TachoPrecisionOptions *options;
	PrecisionSearch *search;
	PlanState *state;    /* of the search */
	PlanState *recorded; /* as it was recorded */
	PlanState *fastest;
	gdouble *
		max_bytes; /* [n_workers] of each worker's memory; the problem's are smaller where a replay says that more is needed */
	struct precision_bound bound; /* of the model */
	gdouble predicted_per_ns;     /* replayed step for a step of the model */
	gdouble recorded_ns;	      /* the step as recorded, replayed where there is a replay */
	struct precision_prediction replayed; /* of the plan; step_ns 0: there is no replay */
	TachoPrecisionPlan *plan;
};

static const TachoColumn operation_columns[] = {
	TEXT_COLUMN("worker", "worker"),
	TEXT_COLUMN("operation", "operation", .is_flexible = TRUE),
	JSON_TEXT("module"),
	JSON_TEXT("kind"),
	JSON_INTEGER("ordinal"),
	TEXT_COLUMN("precision", "precision"),
	TEXT_COLUMN("recorded", "recorded"),
	NUMBER_COLUMN("saved_ms", "saved ms", 3),
	NUMBER_COLUMN("harm", "harm", 0, .is_any_size = TRUE),
	SHARE_COLUMN("harm_pct", "harm %", 1),
	{ .key = "is_estimated", .type = TACHO_COLUMN_BOOLEAN, .is_json_only = TRUE },
	TEXT_COLUMN("why", "why", .is_flexible = TRUE),
};
/* The same for one worker. */
#define N_FOR_WORKERS 1

static const TachoColumn worker_columns[] = {
	TEXT_COLUMN("worker", "worker"),
	INTEGER_COLUMN("ranks", "ranks"),
	NUMBER_COLUMN("own_ms", "own ms", 3),
	NUMBER_COLUMN("wait_ms", "waits ms", 3),
	INTEGER_COLUMN("peak_bytes", "peak bytes"),
	INTEGER_COLUMN("max_bytes", "of bytes"),
	TEXT_COLUMN("formats", "operations"),
};

static const TachoColumn front_columns[] = {
	NUMBER_COLUMN("step_ms", "step ms", 3),
	INTEGER_COLUMN("peak_bytes", "peak bytes"),
	NUMBER_COLUMN("harm", "harm", 0, .is_any_size = TRUE),
	TEXT_COLUMN("formats", "operations"),
	BOOLEAN_COLUMN("is_chosen", "chosen"),
};

static void note(struct planning *planning, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static void note(struct planning *planning, const gchar *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_ptr_array_add(planning->plan->notes, g_strdup_vprintf(format, arguments));
	va_end(arguments);
}

/* --- bounds ------------------------------------------------------------------------------------- */

static void prediction_release(struct precision_prediction *prediction)
{
	g_clear_pointer(&prediction->worker_ns, g_free);
	g_clear_pointer(&prediction->wait_ns, g_free);
	g_clear_pointer(&prediction->bytes, g_free);
	prediction->step_ns = 0;
}

/* What a replay says of the plan at hand. */
static gboolean replay(struct planning *planning, PlanState *state,
		       struct precision_prediction *prediction, GError **error)
{
	const struct precision_predictor *predictor = &planning->problem->predictor;

	prediction_release(prediction);
	prediction->worker_ns = g_new0(gdouble, planning->problem->n_workers);
	prediction->wait_ns = g_new0(gdouble, planning->problem->n_workers);
	prediction->bytes = g_new0(gdouble, planning->problem->n_workers);
	if (predictor->predict(predictor->data, planning->problem, plan_state_plan(state),
			       prediction, error))
		return TRUE;
	prediction_release(prediction);
	return FALSE;
}

/* The step that may be taken, in replayed time. */
static gdouble find_bound(const TachoPrecisionOptions *options, gdouble fastest_ns)
{
	gdouble bound_ns = INFINITY;

	if (options->within_pct >= 0)
		bound_ns = fastest_ns * (1 + options->within_pct / 100);
	if (options->no_slower_ms > 0)
		bound_ns = MIN(bound_ns, NS(options->no_slower_ms));
	return isfinite(bound_ns) ? bound_ns : fastest_ns * (1 + USUAL_WITHIN_PCT / 100);
}

/* Bounds that the options set: memory here, time after the fastest plan is known. */
static void limit_memory(struct planning *planning)
{
	planning->max_bytes = g_new0(gdouble, planning->problem->n_workers);
	for (guint32 w = 0; w < planning->problem->n_workers; w++) {
		struct precision_worker *worker = &planning->problem->workers[w];
		gdouble wanted = (gdouble)planning->options->memory_bytes;

		if (wanted > 0 && (worker->max_bytes == 0 || worker->max_bytes > wanted))
			worker->max_bytes = wanted;
		planning->max_bytes[w] = worker->max_bytes;
	}
}

/* Where a replay needs more memory than there is, look for plans that need less by as much. TRUE: all suffices. */
static gboolean tighten_memory(struct planning *planning)
{
	gboolean suffices = TRUE;

	for (guint32 w = 0; w < planning->problem->n_workers; w++) {
		gdouble needed = planning->replayed.bytes[w], most = planning->max_bytes[w];

		if (most == 0 || needed <= most)
			continue;
		suffices = FALSE;
		planning->problem->workers[w].max_bytes =
			MAX(plan_state_bytes(planning->state, w) - (needed - most), 1);
	}
	return suffices;
}

static void copy_plan(const TachoPrecisionProblem *problem, const PlanState *from, PlanState *to)
{
	for (guint32 w = 0; w < problem->n_workers; w++)
		plan_state_load(to, w, plan_state_plan(from) + precision_plan_at(problem, w, 0));
	plan_state_keep(to);
}

/* Harm is known of something. */
static gboolean has_harm(const TachoPrecisionProblem *problem)
{
	for (guint32 i = 0; i < problem->n_operations; i++)
		if (problem->operations[i].rule == PRECISION_CHOSEN &&
		    problem->operations[i].has_harm)
			return TRUE;
	return FALSE;
}

/* Without any, all may be chosen, and nothing but time counts. */
static void forget_harm(TachoPrecisionProblem *problem)
{
	for (guint32 i = 0; i < problem->n_operations; i++)
		problem->operations[i].has_harm = problem->operations[i].rule == PRECISION_CHOSEN;
}

/* --- the search ---------------------------------------------------------------------------------- */

static gboolean find_fastest(struct planning *planning, GError **error)
{
	guint32 n = planning->problem->n_workers;
	g_autofree struct elimination_result *results = g_new0(struct elimination_result, n);
	TachoPrecisionPlan *plan = planning->plan;
	guint32 n_held = 0;

	if (!precision_search_fastest(planning->search, results, error))
		return FALSE;
	plan->is_fastest_proven = TRUE;
	for (guint32 w = 0; w < n; w++) {
		plan->is_fastest_proven = plan->is_fastest_proven && results[w].is_exact;
		plan->width = MAX(plan->width, results[w].width);
		n_held = MAX(n_held, results[w].n_held);
	}
	if (n_held > 0)
		note(planning,
		     "the graph is too wide to be solved exactly: up to %u operations were "
		     "held while the others were, in turn",
		     n_held);
	copy_plan(planning->problem, planning->state, planning->fastest);
	return TRUE;
}

/* The bound in the model's time, so that it holds in replayed time. */
static gboolean set_bound(struct planning *planning, gdouble *ret_bound_ns, GError **error)
{
	struct precision_prediction replayed = { 0 };
	gdouble model_ns = plan_state_step_ns(planning->fastest, NULL, NULL);
	gdouble fastest_ns = model_ns;

	planning->predicted_per_ns = 1;
	planning->recorded_ns = plan_state_step_ns(planning->recorded, NULL, NULL);
	if (planning->problem->predictor.predict) {
		if (!replay(planning, planning->recorded, &replayed, error))
			return FALSE;
		planning->recorded_ns = replayed.step_ns;
		if (!replay(planning, planning->fastest, &replayed, error))
			return FALSE;
		fastest_ns = replayed.step_ns;
		planning->predicted_per_ns = model_ns > 0 ? fastest_ns / model_ns : 1;
		prediction_release(&replayed);
	}
	planning->plan->fastest_step_ms = MS(fastest_ns);
	*ret_bound_ns = find_bound(planning->options, fastest_ns);
	planning->bound =
		(struct precision_bound){ .step_ns = *ret_bound_ns / planning->predicted_per_ns,
					  .reference_ns = model_ns };
	return TRUE;
}

/* What a replay says of the plan at hand: it keeps the bounds; or else those of the model are tighter now. */
static gboolean is_confirmed(struct planning *planning, gdouble bound_ns)
{
	gboolean has_room = tighten_memory(planning);

	if (planning->replayed.step_ns <= bound_ns * (1 + 1e-9))
		return has_room;
	/* the model is too hopeful by this much */
	planning->bound.step_ns *= bound_ns / planning->replayed.step_ns * (1 - 1e-3);
	return FALSE;
}

static gboolean refuse_replayed(struct planning *planning, gdouble bound_ns, GError **error)
{
	g_set_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_NO_PLAN,
		    "no plan was found whose replay keeps the bounds: the last takes %.3f ms of "
		    "%.3f, and "
		    "%.1f MB of memory",
		    MS(planning->replayed.step_ns), MS(bound_ns),
		    planning->replayed.bytes[0] / 1e6);
	return FALSE;
}

/* Recover, until a replay confirms that the bounds are kept. */
static gboolean recover(struct planning *planning, gdouble bound_ns, GError **error)
{
	const TachoPrecisionProblem *problem = planning->problem;

	for (guint i = 0; i < MAX_REPLAYS; i++) {
		if (!precision_search_recover(planning->search, &planning->bound,
					      &planning->plan->is_least_proven, error))
			return FALSE;
		/* a bound that a replay has made tighter proves nothing about the one that was asked for */
		if (i > 0)
			planning->plan->is_least_proven = FALSE;
		else
			planning->plan->least_harm = precision_search_least_harm(planning->search);
		if (!problem->predictor.predict)
			return TRUE;
		if (!replay(planning, planning->state, &planning->replayed, error))
			return FALSE;
		planning->plan->is_by_replay = TRUE;
		if (is_confirmed(planning, bound_ns))
			return TRUE;
		if (!precision_search_fastest(planning->search, NULL, NULL) ||
		    !precision_search_keeps(planning->search, &planning->bound))
			break;
	}
	/* the fastest plan keeps a bound that is made from it */
	planning->plan->is_least_proven = FALSE;
	copy_plan(problem, planning->fastest, planning->state);
	if (!replay(planning, planning->state, &planning->replayed, error))
		return FALSE;
	if (!is_confirmed(planning, bound_ns))
		return refuse_replayed(planning, bound_ns, error);
	note(planning, "no plan that harms less was confirmed by a replay: this is the fastest");
	return TRUE;
}

/* The plan of a file instead of one that is looked for. */
static gboolean load_bits(struct planning *planning, GError **error)
{
	TachoPrecisionProblem *problem = planning->problem;
	g_autoptr(GArray) bits = plan_bits_read(planning->options->bits_path, error);
	g_autofree guint8 *formats = g_new(guint8, problem->n_operations);

	for (guint32 w = 0; bits && w < problem->n_workers; w++) {
		memcpy(formats,
		       plan_state_plan(planning->recorded) + precision_plan_at(problem, w, 0),
		       problem->n_operations);
		if (!plan_bits_apply(bits, problem, w, formats, error)) {
			g_prefix_error(error, "%s: ", planning->options->bits_path);
			return FALSE;
		}
		if (!plan_state_load(planning->state, w, formats)) {
			g_set_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_MATCH,
				    "%s: an operation that follows its inputs cannot do so on %s",
				    planning->options->bits_path, problem->workers[w].name);
			return FALSE;
		}
	}
	if (!bits)
		return FALSE;
	plan_state_keep(planning->state);
	if (!problem->predictor.predict)
		return TRUE;
	planning->plan->is_by_replay = TRUE;
	return replay(planning, planning->state, &planning->replayed, error);
}

/* --- why ---------------------------------------------------------------------------------------- */

static gdouble harm_of(const TachoPrecisionProblem *problem, guint32 w, guint32 operation,
		       enum number_format format)
{
	const struct precision_operation *facts = &problem->operations[operation];

	return facts->has_harm ? problem->workers[w].share * facts->harm[format] : 0;
}

/* The allowed format with the least harm, of equals the one at hand. */
static enum number_format least_harmful(const struct planning *planning, guint32 w,
					guint32 operation, enum number_format now)
{
	enum number_format best = now;

	for (guint i = 0; i < N_NUMBER_FORMATS; i++)
		if (precision_cost_of(planning->problem, w, operation, (enum number_format)i)
			    ->is_allowed &&
		    harm_of(planning->problem, w, operation, (enum number_format)i) <
			    harm_of(planning->problem, w, operation, best))
			best = (enum number_format)i;
	return best;
}

/* What raising it to the format would cost, and what forbids that; the caller's. */
static gchar *why_not_raised(struct planning *planning, guint32 w, guint32 operation,
			     enum number_format format)
{
	PlanState *state = planning->state;
	gdouble before_ns = plan_state_step_ns(state, NULL, NULL), after_ns, bytes;
	gdouble left_ns = planning->bound.step_ns - before_ns -
			  precision_search_doubt_ns(planning->search, &planning->bound, before_ns);
	gdouble max_bytes = planning->problem->workers[w].max_bytes;
	gboolean is_allowed;
	const gchar *name = number_format_name(format);

	plan_state_keep(state);
	is_allowed = plan_state_set(state, w, operation, format);
	after_ns = plan_state_step_ns(state, NULL, NULL);
	bytes = plan_state_bytes(state, w);
	plan_state_undo(state);
	if (!is_allowed)
		return g_strdup_printf("%s: what reads it could not follow", name);
	if (max_bytes > 0 && bytes > max_bytes)
		return g_strdup_printf("%s would need %.1f MB more than the memory has", name,
				       (bytes - max_bytes) / 1e6);
	if (planning->options->bits_path)
		return g_strdup_printf("%s would take %.3f ms more", name,
				       MS(after_ns - before_ns));
	return g_strdup_printf("%s would take %.3f ms, %.3f are left", name,
			       MS(after_ns - before_ns), MS(MAX(left_ns, 0)));
}

static gchar *why(struct planning *planning, guint32 w, guint32 operation)
{
	const TachoPrecisionProblem *problem = planning->problem;
	enum number_format now = plan_state_format(planning->state, problem, w, operation);
	enum number_format fast = plan_state_format(planning->fastest, problem, w, operation);
	enum number_format least = least_harmful(planning, w, operation, now);
	gdouble spared = harm_of(problem, w, operation, fast) - harm_of(problem, w, operation, now);

	if (!problem->operations[operation].has_harm)
		return g_strdup("as recorded: nothing is known of its harm");
	if (spared > 0)
		return g_strdup_printf(
			"raised from %s: %.3g less harm for %.3f ms", number_format_name(fast),
			spared,
			MS(plan_state_operation_ns(planning->state, w, operation) -
			   plan_state_operation_ns(planning->fastest, w, operation)));
	if (least != now)
		return why_not_raised(planning, w, operation, least);
	if (now == fast)
		return g_strdup(planning->plan->has_harm ? "the fastest, and none harms less"
							 : "the fastest with what is around it");
	return g_strdup_printf("as harmless as %s", number_format_name(fast));
}

/* --- tables ------------------------------------------------------------------------------------- */

/* "bf16 12, fp32 3" of the operations that are chosen; the caller's. */
static gchar *count_formats(const TachoPrecisionProblem *problem, const guint8 *formats)
{
	guint n_of[N_NUMBER_FORMATS] = { 0 };
	GString *text = g_string_new(NULL);

	for (guint32 i = 0; i < problem->n_operations; i++)
		if (problem->operations[i].rule == PRECISION_CHOSEN)
			n_of[formats[i]]++;
	for (guint i = 0; i < N_NUMBER_FORMATS; i++)
		if (n_of[i] > 0)
			g_string_append_printf(text, "%s%s %u", text->len ? ", " : "",
					       number_format_name((enum number_format)i), n_of[i]);
	return g_string_free(text, FALSE);
}

static void add_operation(struct planning *planning, guint32 w, guint32 operation,
			  gdouble whole_harm)
{
	const TachoPrecisionProblem *problem = planning->problem;
	const struct precision_operation *facts = &problem->operations[operation];
	enum number_format format = plan_state_format(planning->state, problem, w, operation);
	g_autofree gchar *name = precision_operation_name(facts);
	g_autofree gchar *reason = why(planning, w, operation);
	TachoTable *table = planning->plan->operations;
	gdouble saved_ns = plan_state_operation_ns(planning->recorded, w, operation) -
			   plan_state_operation_ns(planning->state, w, operation);
	gboolean is_known = facts->has_harm && planning->plan->has_harm;
	gdouble harm = harm_of(problem, w, operation, format);

	tacho_table_row(table);
	if (problem->n_workers > 1)
		tacho_table_text(table, problem->workers[w].name);
	tacho_table_text(table, name);
	tacho_table_text(table, facts->module);
	tacho_table_text(table, facts->kind);
	tacho_table_integer(table, facts->ordinal);
	tacho_table_text(table, number_format_name(format));
	tacho_table_text(table, number_format_name(plan_state_format(planning->recorded, problem, w,
								     operation)));
	tacho_table_number(table, MS(saved_ns));
	tacho_table_number(table, is_known ? harm : NAN);
	tacho_table_number(table, is_known && whole_harm > 0 ? 100 * harm / whole_harm : NAN);
	tacho_table_boolean(table, precision_cost_of(problem, w, operation, format)->source ==
					   PRECISION_ESTIMATED);
	tacho_table_text(table, reason);
}

static void make_operations(struct planning *planning)
{
	const TachoPrecisionProblem *problem = planning->problem;
	guint skipped = problem->n_workers > 1 ? 0 : N_FOR_WORKERS;
	gdouble whole_harm = plan_state_harm(planning->state);

	planning->plan->operations = tacho_table_new("operations", operation_columns + skipped,
						     G_N_ELEMENTS(operation_columns) - skipped);
	for (guint32 w = 0; w < problem->n_workers; w++)
		for (guint32 i = 0; i < problem->n_operations; i++)
			if (problem->operations[i].rule == PRECISION_CHOSEN)
				add_operation(planning, w, i, whole_harm);
}

static void make_workers(struct planning *planning)
{
	const TachoPrecisionProblem *problem = planning->problem;
	gboolean is_replayed = planning->replayed.step_ns > 0;
	const struct precision_prediction *replayed = &planning->replayed;
	g_autofree gdouble *own_ns = g_new0(gdouble, problem->n_workers);
	g_autofree gdouble *wait_ns = g_new0(gdouble, problem->n_workers);
	TachoTable *table =
		tacho_table_new("workers", worker_columns, G_N_ELEMENTS(worker_columns));

	planning->plan->workers = table;
	plan_state_step_ns(planning->state, own_ns, wait_ns);
	for (guint32 w = 0; w < problem->n_workers; w++) {
		const struct precision_worker *worker = &problem->workers[w];
		g_autofree gchar *formats =
			count_formats(problem, plan_state_plan(planning->state) +
						       precision_plan_at(problem, w, 0));
		gdouble bytes =
			is_replayed ? replayed->bytes[w] : plan_state_bytes(planning->state, w);

		tacho_table_row(table);
		tacho_table_text(table, worker->name);
		tacho_table_integer(table, worker->n_ranks);
		tacho_table_number(table, MS(is_replayed ? replayed->worker_ns[w] : own_ns[w]));
		tacho_table_number(table, MS(is_replayed ? replayed->wait_ns[w] : wait_ns[w]));
		tacho_table_integer(table, (gint64)bytes);
		if (planning->max_bytes[w] > 0)
			tacho_table_integer(table, (gint64)planning->max_bytes[w]);
		else
			tacho_table_null(table);
		tacho_table_text(table, formats);
	}
}

static void make_front(struct planning *planning)
{
	TachoPrecisionProblem *problem = planning->problem;
	g_autoptr(GArray) front = pareto_new();
	TachoTable *table = tacho_table_new("front", front_columns, G_N_ELEMENTS(front_columns));

	planning->plan->front = table;
	pareto_search(front, problem);
	pareto_add(front, problem, planning->state, TRUE);
	FOR_EACH(const struct pareto_point, point, front) {
		g_autofree gchar *formats = count_formats(problem, point->plan);

		tacho_table_row(table);
		tacho_table_number(table, MS(point->step_ns * planning->predicted_per_ns));
		tacho_table_integer(table, (gint64)point->bytes);
		tacho_table_number(table, planning->plan->has_harm ? point->harm : NAN);
		tacho_table_text(table, formats);
		tacho_table_boolean(table, point->is_chosen);
	}
}

/* --- what comes of it ---------------------------------------------------------------------------- */

static void set_times(struct planning *planning, gdouble bound_ns)
{
	const TachoPrecisionProblem *problem = planning->problem;
	TachoPrecisionPlan *plan = planning->plan;
	gdouble model_ns = plan_state_step_ns(planning->state, NULL, NULL), spread_ns = 0;
	gdouble recorded_ns = plan_state_step_ns(planning->recorded, NULL, NULL);
	gdouble step_ns = model_ns * planning->predicted_per_ns, half_ns;

	for (guint32 w = 0; w < problem->n_workers; w++)
		spread_ns = MAX(spread_ns, plan_state_spread_ns(planning->state, w));
	half_ns = spread_ns + problem->error * fabs(model_ns - recorded_ns);
	plan->recorded_step_ms = MS(planning->recorded_ns);
	if (planning->replayed.step_ns > 0)
		step_ns = planning->replayed.step_ns;
	plan->step_ms = MS(step_ns);
	plan->interval_ms[0] = MS(MAX(step_ns - half_ns, 0));
	plan->interval_ms[1] = MS(step_ns + half_ns);
	if (planning->replayed.interval_ns[1] > 0)
		for (guint i = 0; i < 2; i++)
			plan->interval_ms[i] = MS(planning->replayed.interval_ns[i]);
	plan->bound_ms = MS(bound_ns);
	plan->margin_pct = 100 * (bound_ns - step_ns) / bound_ns;
	plan->error_pct = 100 * problem->error;
	plan->coverage_pct = 100 * problem->coverage;
	plan->harm = plan_state_harm(planning->state);
	plan->fastest_harm = plan_state_harm(planning->fastest);
	plan->recorded_harm = plan_state_harm(planning->recorded);
}

static TachoPlan *empty_plan(const TachoPrecisionPlan *plan, guint32 n_ranks)
{
	TachoPlan *own = plan_new(n_ranks);

	own->baseline_step_ms = plan->recorded_step_ms;
	own->predicted_step_ms = plan->step_ms;
	own->interval_ms[0] = plan->interval_ms[0];
	own->interval_ms[1] = plan->interval_ms[1];
	own->has_interval = TRUE;
	return own;
}

/* What tacho apply carries out: of each worker, and of all, whose ranks are numbered one worker after the other. */
static gboolean make_plans(struct planning *planning, GError **error)
{
	const TachoPrecisionProblem *problem = planning->problem;
	TachoPrecisionPlan *plan = planning->plan;
	guint32 first_rank = 0;
	guint64 n_ranks = 0;

	for (guint32 w = 0; w < problem->n_workers; w++)
		n_ranks += problem->workers[w].n_ranks;
	if (problem->n_workers > 1 && n_ranks <= PLAN_MAX_RANKS)
		plan->joint = empty_plan(plan, (guint32)n_ranks);
	for (guint32 w = 0; w < problem->n_workers; w++) {
		TachoPlan *own = empty_plan(plan, (guint32)MIN(n_ranks, PLAN_MAX_RANKS));

		g_ptr_array_add(plan->plans, own);
		for (guint32 i = 0; i < problem->n_operations; i++) {
			const struct precision_operation *operation = &problem->operations[i];
			struct plan_precision precision;

			if (operation->rule != PRECISION_CHOSEN)
				continue;
			precision =
				(struct plan_precision){ operation->module,
							 operation->kind,
							 operation->ordinal,
							 number_format_name(plan_state_format(
								 planning->state, problem, w, i)),
							 0,
							 PLAN_MAX_RANKS - 1 };
			if (!plan_add_precision(own, &precision)) {
				g_set_error(
					error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_PROBLEM,
					"operation %u has a name that may not stand in a plan", i);
				return FALSE;
			}
			precision.first_rank = first_rank;
			precision.last_rank = first_rank + problem->workers[w].n_ranks - 1;
			if (plan->joint)
				plan_add_precision(plan->joint, &precision);
		}
		first_rank += problem->workers[w].n_ranks;
	}
	return TRUE;
}

static gboolean make_plan(struct planning *planning, GError **error)
{
	const TachoPrecisionOptions *options = planning->options;
	TachoPrecisionProblem *problem = planning->problem;
	TachoPrecisionPlan *plan = planning->plan;
	gdouble bound_ns;

	if (!plan->has_harm)
		note(planning,
		     "nothing is known of the harm: this is the fastest plan, whatever it does to "
		     "the training; --statistics tells the harm");
	limit_memory(planning);
	planning->fastest = plan_state_new(problem);
	planning->search = precision_search_new(problem);
	planning->state = precision_search_state(planning->search);
	if (!find_fastest(planning, error) || !set_bound(planning, &bound_ns, error))
		return FALSE;
	if (options->bits_path ? !load_bits(planning, error) : !recover(planning, bound_ns, error))
		return FALSE;
	set_times(planning, bound_ns);
	make_operations(planning);
	make_workers(planning);
	if (options->with_front)
		make_front(planning);
	plan->formats = g_memdup2(plan_state_plan(planning->state),
				  (gsize)problem->n_workers * problem->n_operations);
	if (tf32_setting_is_broken(problem, plan->formats))
		note(planning, "the plan has operations in fp32 and in tf32, which is a setting of "
			       "the whole process: tacho apply refuses it");
	return make_plans(planning, error);
}

/* A plan of the formats that are allowed; `recorded` is of all that the problem has. */
static TachoPrecisionPlan *plan_of(TachoPrecisionProblem *problem, PlanState *recorded,
				   const TachoPrecisionOptions *options, gboolean has_harm,
				   GError **error)
{
	g_autoptr(TachoPrecisionPlan) plan = g_new0(TachoPrecisionPlan, 1);
	struct planning planning = {
		.problem = problem, .options = options, .recorded = recorded, .plan = plan
	};
	gboolean is_made;

	plan->has_harm = has_harm;
	plan->plans = g_ptr_array_new_with_free_func((GDestroyNotify)tacho_plan_free);
	plan->notes = g_ptr_array_new_with_free_func(g_free);
	is_made = make_plan(&planning, error);
	FOR_EACH_POINTER(const gchar, text, problem->notes)
		g_ptr_array_add(plan->notes, g_strdup(text));
	precision_search_free(planning.search);
	plan_state_free(planning.fastest);
	prediction_release(&planning.replayed);
	for (guint32 w = 0; planning.max_bytes && w < problem->n_workers; w++)
		problem->workers[w].max_bytes = planning.max_bytes[w];
	g_free(planning.max_bytes);
	return is_made ? g_steal_pointer(&plan) : NULL;
}

/* --- with tf32, and without ----------------------------------------------------------------------- */

static TachoPrecisionPlan *plan_of_setting(TachoPrecisionProblem *problem, PlanState *recorded,
					   const TachoPrecisionOptions *options, gboolean has_harm,
					   gboolean is_on, GError **error)
{
	GPtrArray *held = tf32_setting_hold(problem, is_on, error);
	TachoPrecisionPlan *plan =
		held ? plan_of(problem, recorded, options, has_harm, error) : NULL;

	if (held)
		tf32_setting_release(held);
	return plan;
}

static gboolean is_better(const TachoPrecisionPlan *one, const TachoPrecisionPlan *other)
{
	if (one->has_harm && one->harm != other->harm)
		return one->harm < other->harm;
	return one->step_ms < other->step_ms;
}

/* Of the plans with the setting off and on that both keep the bound of the faster one's fastest plan, the better one. */
static TachoPrecisionPlan *better_setting(TachoPrecisionProblem *problem, PlanState *recorded,
					  const TachoPrecisionOptions *options,
					  TachoPrecisionPlan *found[2], GError **error)
{
	guint fast = found[1]->fastest_step_ms < found[0]->fastest_step_ms, best;
	TachoPrecisionOptions bounded = *options;

	bounded.within_pct = -1;
	bounded.no_slower_ms = found[fast]->bound_ms;
	if (found[!fast]->step_ms > found[fast]->bound_ms) {
		g_autoptr(GError) cause = NULL;
		TachoPrecisionPlan *again = plan_of_setting(problem, recorded, &bounded,
							    found[0]->has_harm, !fast, &cause);

		if (!again &&
		    !g_error_matches(cause, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_NO_PLAN)) {
			g_propagate_error(error, g_steal_pointer(&cause));
			return NULL;
		}
		if (!again)
			return g_steal_pointer(&found[fast]);
		tacho_precision_plan_free(found[!fast]);
		found[!fast] = again;
	}
	best = is_better(found[1], found[0]);
	found[best]->fastest_step_ms = found[fast]->fastest_step_ms;
	found[best]->fastest_harm = found[fast]->fastest_harm;
	found[best]->bound_ms = found[fast]->bound_ms;
	found[best]->margin_pct = 100 * (1 - found[best]->step_ms / found[best]->bound_ms);
	/* workers whose settings differ were not tried */
	found[best]->is_fastest_proven = problem->n_workers == 1 && found[0]->is_fastest_proven &&
					 found[1]->is_fastest_proven;
	found[best]->is_least_proven =
		problem->n_workers == 1 && found[0]->is_least_proven && found[1]->is_least_proven;
	found[best]->least_harm = MIN(found[0]->least_harm, found[1]->least_harm);
	return g_steal_pointer(&found[best]);
}

static TachoPrecisionPlan *plan_with_setting(TachoPrecisionProblem *problem, PlanState *recorded,
					     const TachoPrecisionOptions *options,
					     gboolean has_harm, GError **error)
{
	TachoPrecisionPlan *found[2] = { NULL }, *best = NULL;
	GError *causes[2] = { NULL };
	guint is_on = 0;

	for (guint i = 0; i < 2; i++)
		found[i] = plan_of_setting(problem, recorded, options, has_harm, i, &causes[i]);
	if (found[0] && found[1]) {
		best = better_setting(problem, recorded, options, found, error);
		is_on = found[1] == NULL;
	} else {
		is_on = found[1] != NULL;
		best = g_steal_pointer(&found[is_on]);
		if (!best)
			g_propagate_error(error, g_steal_pointer(&causes[0]));
	}
	if (best)
		g_ptr_array_add(
			best->notes,
			g_strdup_printf("tf32 is a setting of the whole process: the plan has "
					"%s on each worker that can do without the other; both "
					"were looked for",
					is_on ? "tf32 and no fp32" : "fp32 and no tf32"));
	for (guint i = 0; i < 2; i++) {
		tacho_precision_plan_free(found[i]);
		g_clear_error(&causes[i]);
	}
	return best;
}

TachoPrecisionPlan *tacho_precision_plan(TachoPrecisionProblem *problem,
					 const TachoPrecisionOptions *options, GError **error)
{
	g_autoptr(PlanState) recorded = NULL;
	struct indicator_mix mix;
	gboolean is_harm_known;

	if (options->statistics &&
	    (!indicator_mix_parse(options->indicators ? options->indicators : "loss", &mix,
				  error) ||
	     !indicator_fill(problem, options->statistics, &mix, error)))
		return NULL;
	is_harm_known = has_harm(problem);
	if (!is_harm_known)
		forget_harm(problem);
	recorded = plan_state_new(problem);
	if (!options->bits_path && tf32_setting_is_open(problem))
		return plan_with_setting(problem, recorded, options, is_harm_known, error);
	return plan_of(problem, recorded, options, is_harm_known, error);
}

void tacho_precision_plan_free(TachoPrecisionPlan *plan)
{
	if (!plan)
		return;
	tacho_table_free(plan->operations);
	tacho_table_free(plan->workers);
	tacho_table_free(plan->front);
	g_ptr_array_unref(plan->plans);
	tacho_plan_free(plan->joint);
	g_ptr_array_unref(plan->notes);
	g_free(plan->formats);
	g_free(plan);
}

gboolean tacho_precision_plan_find_worker(const TachoPrecisionPlan *plan, const gchar *name,
					  guint *ret_worker, GError **error)
{
	guint n = tacho_table_n_rows(plan->workers);
	g_autoptr(GString) names = g_string_new(NULL);

	*ret_worker = 0;
	if (!name && n == 1)
		return TRUE;
	for (guint w = 0; w < n; w++) {
		const gchar *own = tacho_table_cell_text(plan->workers, w, "worker");

		g_string_append_printf(names, "%s%s", w ? ", " : "", own);
		if (name && strcmp(name, own) == 0) {
			*ret_worker = w;
			return TRUE;
		}
	}
	g_set_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_MATCH,
		    "%s: name one of %s (--worker), each has a plan of its own",
		    name ? "there is no worker of that name" : "there are several kinds of workers",
		    names->str);
	return FALSE;
}

GBytes *tacho_precision_plan_bits(const TachoPrecisionPlan *plan,
				  const TachoPrecisionProblem *problem, guint worker)
{
	g_autoptr(GArray) bits =
		plan_bits_of(problem, plan->formats + precision_plan_at(problem, worker, 0));

	return g_byte_array_free_to_bytes(plan_bits_bytes(bits));
}
