/* job_forecast: a plan's prediction as figures and tables. */
#include <tacho/precision_job.h>

#include <math.h>
#include <string.h>

#include "analyze/table_internal.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/json_writer.h"
#include "base/time_units.h"
#include "optimize/plan.h"
#include "precision/predict_plan.h"
#include "precision/saved_bytes.h"

TachoPrecisionJob *tacho_precision_job_open(const TachoPrecisionInputs *inputs, GError **error)
{
	return precision_job_new(inputs, error);
}

void tacho_precision_job_close(TachoPrecisionJob *job)
{
	precision_job_free(job);
}

void tacho_precision_job_set_casts(TachoPrecisionJob *job, gboolean are_free, gboolean are_shared)
{
	job->has_no_casts = are_free;
	job->is_cast_once = are_shared;
}

/* --- plans -------------------------------------------------------------------------------------- */

static gboolean refuse(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(GError **error, const gchar *format, ...)
{
	va_list arguments;
	g_autofree gchar *text = NULL;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error_literal(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_MATCH, text);
	return FALSE;
}

static gchar *key_of(const gchar *module, const gchar *kind, guint32 ordinal)
{
	return g_strdup_printf("%s\n%s\n%u", module, kind, ordinal);
}

/* The operation's number; TACHO_NONE: the plan cannot be carried out. */
static guint32 find_operation(const TachoPrecisionJob *job, GHashTable *numbers,
			      const struct plan_precision *precision, GError **error)
{
	g_autofree gchar *key = key_of(precision->module, precision->kind, precision->ordinal);
	gpointer number = g_hash_table_lookup(numbers, key);
	enum number_format format =
		number_format_find(precision->format, strlen(precision->format));
	guint32 i = GPOINTER_TO_UINT(number) - 1;

	if (!number)
		refuse(error, "the plan is for another job: there is no %s %u in module '%s'",
		       precision->kind, precision->ordinal, precision->module);
	else if (identity_at(job->identity, i)->rule != PRECISION_CHOSEN)
		refuse(error, "no plan can choose for %s %u of module '%s'", precision->kind,
		       precision->ordinal, precision->module);
	else if (!precision_job_allows(job, i, format))
		refuse(error,
		       "%s %u of module '%s' is not computed in %s, or there is no recording in it",
		       precision->kind, precision->ordinal, precision->module, precision->format);
	else
		return i;
	return TACHO_NONE;
}

static gboolean take_plan(const TachoPrecisionJob *job, const TachoPlan *plan,
			  struct rank_formats *ranks, GError **error)
{
	const struct plan_change *change = plan_find(plan, PLAN_PRECISION);
	const GArray *recorded = job->reference->timeline->ranks;
	g_autofree guint8 *formats = g_malloc(MAX(ranks->n_operations, 1u));
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autoptr(GHashTable) numbers =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	if (!change)
		return refuse(error, "the plan says nothing of what operations compute in");
	FOR_EACH_AT(const struct identity_operation, own, i, job->identity->operations)
		g_hash_table_insert(numbers, key_of(own->module, own->kind, own->ordinal),
				    GUINT_TO_POINTER(i + 1));
	FOR_EACH(const struct plan_precision, precision, change->precisions) {
		guint32 operation = find_operation(job, numbers, precision, error);

		if (operation == TACHO_NONE)
			return FALSE;
		g_array_append_val(found, operation);
	}
	for (guint32 rank = 0; rank < ranks->n_ranks; rank++) {
		guint32 number = rank < recorded->len
					 ? (guint32)g_array_index(recorded, TachoRank, rank).rank
					 : 0;

		memset(formats, job->reference->format, ranks->n_operations);
		FOR_EACH_AT(const struct plan_precision, precision, i, change->precisions)
			if (plan_precision_is_of(precision, number))
				formats[g_array_index(found, guint32, i)] =
					(guint8)number_format_find(precision->format,
								   strlen(precision->format));
		rank_formats_set(ranks, rank, formats);
	}
	return TRUE;
}

static gboolean take_format(const TachoPrecisionJob *job, const gchar *name,
			    struct rank_formats *ranks, GError **error)
{
	enum number_format format = number_format_find(name, strlen(name));
	g_autofree guint8 *formats = g_malloc(MAX(ranks->n_operations, 1u));

	if (format == N_NUMBER_FORMATS)
		return refuse(error, "there is no format '%s'", name);
	if (!job->run_of[format])
		return refuse(error, "there is no recording in %s", name);
	for (guint32 i = 0; i < ranks->n_operations; i++)
		formats[i] =
			(guint8)(precision_job_allows(job, i, format) ? format
								      : job->reference->format);
	for (guint32 rank = 0; rank < ranks->n_ranks; rank++)
		rank_formats_set(ranks, rank, formats);
	return TRUE;
}

/* --- tables ------------------------------------------------------------------------------------- */

/* "bf16", or of sets of ranks that differ "bf16, fp32"; the caller's. */
static gchar *formats_text(const struct rank_formats *ranks, guint32 operation)
{
	GString *text = g_string_new(NULL);
	guint seen = 0;

	for (guint32 set = 0; set < ranks->sets->len; set++) {
		guint8 format = rank_formats_of(ranks, set)[operation];

		if (seen & 1u << format)
			continue;
		seen |= 1u << format;
		g_string_append_printf(text, "%s%s", text->len ? ", " : "",
				       number_format_name((enum number_format)format));
	}
	return g_string_free(text, FALSE);
}

/* What an operation takes on some rank was not measured. */
static gboolean is_estimated(const TachoPrecisionJob *job, const struct rank_formats *ranks,
			     guint32 operation)
{
	for (guint32 set = 0; set < ranks->sets->len; set++)
		if (precision_job_cost(job, operation,
				       (enum number_format)rank_formats_of(ranks, set)[operation])
			    ->is_estimated)
			return TRUE;
	return FALSE;
}

static TachoTable *operations_table(const TachoPrecisionJob *job,
				    const struct plan_prediction *told,
				    const struct rank_formats *ranks)
{
	static const TachoColumn columns[] = {
		TEXT_COLUMN("operation", "operation", .is_flexible = TRUE),
		JSON_TEXT("module"),
		JSON_TEXT("kind"),
		JSON_INTEGER("ordinal"),
		TEXT_COLUMN("rule", "rule"),
		TEXT_COLUMN("precision", "precision"),
		NUMBER_COLUMN("reference_ms", "reference ms", 4),
		NUMBER_COLUMN("predicted_ms", "predicted ms", 4),
		NUMBER_COLUMN("cast_ms", "casts ms", 4),
		BOOLEAN_COLUMN("is_estimated", "estimated"),
	};
	static const gchar *const rules[] = { "chosen", "promoted", "fixed" };
	TachoTable *table = tacho_table_new("operations", columns, G_N_ELEMENTS(columns));

	FOR_EACH_AT(const struct identity_operation, own, i, job->identity->operations) {
		g_autofree gchar *formats = formats_text(ranks, i);
		g_autofree gchar *name = g_strdup_printf(
			"%s%s%s %u", own->module, *own->module ? " " : "", own->kind, own->ordinal);

		tacho_table_row(table);
		tacho_table_text(table, name);
		tacho_table_text(table, own->module);
		tacho_table_text(table, own->kind);
		tacho_table_integer(table, own->ordinal);
		tacho_table_text(table, rules[own->rule]);
		tacho_table_text(table, formats);
		tacho_table_number(table, MS(layer_cost_ns(&job->reference->costs.operations[i])));
		tacho_table_number(table, MS(told->operation_ns[i]));
		tacho_table_number(table, MS(told->cast_ns[i]));
		tacho_table_boolean(table, is_estimated(job, ranks, i));
	}
	return table;
}

static TachoTable *ranks_table(const TachoPrecisionJob *job, const struct plan_prediction *told,
			       const struct rank_formats *ranks)
{
	static const TachoColumn columns[] = {
		INTEGER_COLUMN("rank", "rank"),
		NUMBER_COLUMN("wait_ms", "waits ms", 3),
		TEXT_COLUMN("precisions", "operations"),
	};
	TachoTable *table = tacho_table_new("ranks", columns, G_N_ELEMENTS(columns));

	FOR_EACH_AT(const TachoRank, rank, i, job->reference->timeline->ranks) {
		const guint8 *formats = rank_formats_of(ranks, ranks->set_of[i]);
		guint n_of[N_NUMBER_FORMATS] = { 0 };
		g_autoptr(GString) text = g_string_new(NULL);

		for (guint32 k = 0; k < ranks->n_operations; k++)
			if (identity_at(job->identity, k)->rule == PRECISION_CHOSEN)
				n_of[formats[k]]++;
		for (guint format = 0; format < N_NUMBER_FORMATS; format++)
			if (n_of[format] > 0)
				g_string_append_printf(text, "%s%s %u", text->len ? ", " : "",
						       number_format_name(format), n_of[format]);
		tacho_table_row(table);
		tacho_table_integer(table, rank->rank);
		tacho_table_number(table, MS(told->wait_ns[i]));
		tacho_table_text(table, text->str);
	}
	return table;
}

static TachoTable *runs_table(const TachoPrecisionJob *job)
{
	static const TachoColumn columns[] = {
		TEXT_COLUMN("run", "run", .is_flexible = TRUE),
		TEXT_COLUMN("precision", "precision"),
		NUMBER_COLUMN("recorded_step_ms", "recorded ms", 3),
		NUMBER_COLUMN("unrecorded_step_ms", "unrecorded ms", 3),
		SHARE_COLUMN("found_pct", "operations found %", 1),
		SHARE_COLUMN("time_pct", "time of operations %", 1),
		NUMBER_COLUMN("rest_ms", "rest ms", 3),
		NUMBER_COLUMN("speed", "slower by", 3),
	};
	TachoTable *table = tacho_table_new("runs", columns, G_N_ELEMENTS(columns));

	FOR_EACH_POINTER(const struct job_run, run, job->runs) {
		tacho_table_row(table);
		tacho_table_text(table, run->name);
		tacho_table_text(table, number_format_name(run->format));
		tacho_table_number(table, MS(run->measured_step_ns));
		tacho_table_number(table, MS(run->step_ns));
		tacho_table_number(table, 100 * run->layers.found_share);
		tacho_table_number(table, 100 * run->layers.time_share);
		tacho_table_number(table, MS(run->costs.rest_ns));
		tacho_table_number(table,
				   run->costs.is_speed_known ? run->costs.speed : (gdouble)NAN);
	}
	return table;
}

/* --- all ---------------------------------------------------------------------------------------- */

static TachoPrecisionForecast *tell(const TachoPrecisionJob *job,
				    const struct plan_prediction *told,
				    const struct rank_formats *ranks)
{
	TachoPrecisionForecast *forecast = g_new0(TachoPrecisionForecast, 1);
	guint32 n_unknown = saved_bytes_unknown(job);

	forecast->recorded_step_ms = MS(job->reference->measured_step_ns);
	forecast->reference_step_ms = MS(job->reference->step_ns);
	forecast->predicted_step_ms = MS(told->step_ns);
	forecast->interval_ms[0] = MS(told->interval_ns[0]);
	forecast->interval_ms[1] = MS(told->interval_ns[1]);
	forecast->forward_cast_ms = MS(told->forward_cast_ns);
	forecast->backward_cast_ms = MS(told->backward_cast_ns);
	forecast->n_casts = told->n_casts;
	forecast->coverage_pct = 100 * precision_job_coverage(job);
	forecast->measured_pct = 100 * told->measured_share;
	forecast->saved_bytes = told->saved_bytes;
	forecast->peak_bytes = told->peak_bytes;
	forecast->reference_peak_bytes = job->reference->peak_bytes;
	forecast->operations = operations_table(job, told, ranks);
	forecast->ranks = ranks_table(job, told, ranks);
	forecast->runs = runs_table(job);
	forecast->casts = casts_table(job->casts ? job->casts : job->seen.of[LAYER_FORWARD]);
	forecast->notes = g_ptr_array_new_with_free_func(g_free);
	FOR_EACH_POINTER(const gchar, note, job->notes)
		g_ptr_array_add(forecast->notes, g_strdup(note));
	if (n_unknown > 0)
		g_ptr_array_add(forecast->notes,
				g_strdup_printf("what %u operations keep for the backward pass is "
						"not known, and is not in the bytes that are kept",
						n_unknown));
	if (told->n_other_widths > 0)
		g_ptr_array_add(forecast->notes,
				g_strdup_printf("%u collectives send gradients of another width "
						"than recorded, and take what such bytes take",
						told->n_other_widths));
	return forecast;
}

TachoPrecisionForecast *tacho_precision_job_predict(const TachoPrecisionJob *job,
						    const TachoPlan *plan, const gchar *name,
						    GError **error)
{
	TachoPrecisionForecast *forecast = NULL;
	struct rank_formats ranks;
	struct plan_prediction told;

	rank_formats_init(&ranks, job->identity->operations->len,
			  MAX(job->reference->timeline->ranks->len, 1u));
	if (plan ? take_plan(job, plan, &ranks, error) : take_format(job, name, &ranks, error)) {
		if (plan_prediction_of_ranks(&told, job, &ranks, error)) {
			forecast = tell(job, &told, &ranks);
			forecast->plan = g_strdup(name);
		}
		plan_prediction_release(&told);
	}
	rank_formats_release(&ranks);
	return forecast;
}

void tacho_precision_forecast_free(TachoPrecisionForecast *forecast)
{
	if (!forecast)
		return;
	tacho_table_free(forecast->operations);
	tacho_table_free(forecast->ranks);
	tacho_table_free(forecast->runs);
	tacho_table_free(forecast->casts);
	g_ptr_array_unref(forecast->notes);
	g_free(forecast->plan);
	g_free(forecast);
}

static void write_forecast(const TachoPrecisionForecast *forecast, JsonWriter *json)
{
	const TachoTable *const tables[] = { forecast->operations, forecast->ranks, forecast->runs,
					     forecast->casts };

	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "plan"), forecast->plan);
	json_writer_number(json_writer_key(json, "recorded_step_ms"), forecast->recorded_step_ms);
	json_writer_number(json_writer_key(json, "reference_step_ms"), forecast->reference_step_ms);
	json_writer_number(json_writer_key(json, "predicted_step_ms"), forecast->predicted_step_ms);
	json_writer_key(json, "interval_ms");
	json_writer_begin_array(json);
	json_writer_number(json, forecast->interval_ms[0]);
	json_writer_number(json, forecast->interval_ms[1]);
	json_writer_end_array(json);
	json_writer_number(json_writer_key(json, "forward_cast_ms"), forecast->forward_cast_ms);
	json_writer_number(json_writer_key(json, "backward_cast_ms"), forecast->backward_cast_ms);
	json_writer_unsigned(json_writer_key(json, "casts_a_step"), forecast->n_casts);
	json_writer_number(json_writer_key(json, "coverage"), forecast->coverage_pct / 100);
	json_writer_number(json_writer_key(json, "measured_share"), forecast->measured_pct / 100);
	json_writer_number(json_writer_key(json, "saved_bytes"), forecast->saved_bytes);
	json_writer_number(json_writer_key(json, "peak_bytes"),
			   forecast->peak_bytes >= 0 ? forecast->peak_bytes : (gdouble)NAN);
	json_writer_number(json_writer_key(json, "reference_peak_bytes"),
			   forecast->reference_peak_bytes >= 0 ? forecast->reference_peak_bytes
							       : (gdouble)NAN);
	table_write_json_members(tables, G_N_ELEMENTS(tables), json);
	json_writer_key(json, "remarks");
	json_writer_begin_array(json);
	FOR_EACH_POINTER(const gchar, note, forecast->notes)
		json_writer_string(json, note);
	json_writer_end_array(json);
	json_writer_end_object(json);
}

void tacho_precision_forecast_print_json(const TachoPrecisionForecast *forecast, FILE *out)
{
	g_autoptr(JsonWriter) json = json_writer_new(out);

	write_forecast(forecast, json);
	json_writer_finish(json);
}

void tacho_precision_forecasts_print_json(const GPtrArray *forecasts, FILE *out)
{
	g_autoptr(JsonWriter) json = json_writer_new(out);

	json_writer_begin_array(json);
	FOR_EACH_POINTER(const TachoPrecisionForecast, forecast, forecasts)
		write_forecast(forecast, json);
	json_writer_end_array(json);
	json_writer_finish(json);
}

/* A number, or nothing where it is not known. */
static void add_megabytes(TachoTable *table, gdouble bytes)
{
	tacho_table_number(table, bytes >= 0 ? bytes / 1e6 : (gdouble)NAN);
}

TachoTable *tacho_precision_forecasts_table(const GPtrArray *forecasts)
{
	static const TachoColumn columns[] = {
		TEXT_COLUMN("plan", "plan", .is_flexible = TRUE),
		NUMBER_COLUMN("predicted_step_ms", "step ms", 3),
		SHARE_COLUMN("change_pct", "change %", 1),
		NUMBER_COLUMN("low_ms", "from ms", 3),
		NUMBER_COLUMN("high_ms", "to ms", 3),
		INTEGER_COLUMN("casts", "casts"),
		NUMBER_COLUMN("cast_ms", "casts ms", 3),
		NUMBER_COLUMN("saved_mb", "kept MB", 1),
		NUMBER_COLUMN("peak_mb", "peak MB", 1),
	};
	TachoTable *table = tacho_table_new("plans", columns, G_N_ELEMENTS(columns));

	FOR_EACH_POINTER(const TachoPrecisionForecast, forecast, forecasts) {
		tacho_table_row(table);
		tacho_table_text(table, forecast->plan);
		tacho_table_number(table, forecast->predicted_step_ms);
		tacho_table_number(
			table,
			100 * (forecast->predicted_step_ms / forecast->reference_step_ms - 1));
		tacho_table_number(table, forecast->interval_ms[0]);
		tacho_table_number(table, forecast->interval_ms[1]);
		tacho_table_integer(table, forecast->n_casts);
		tacho_table_number(table, forecast->forward_cast_ms + forecast->backward_cast_ms);
		add_megabytes(table, forecast->saved_bytes);
		add_megabytes(table, forecast->peak_bytes);
	}
	return table;
}
