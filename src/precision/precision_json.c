/* precision_json: a plan as one JSON object; docs/json.md has the keys. */
#include <math.h>
#include <tacho/precision.h>

#include "analyze/table_internal.h"
#include "optimize/plan.h"

static JsonWriter *write_key(JsonWriter *json, const gchar *key)
{
	json_writer_line(json);
	return json_writer_key(json, key);
}

static void write_table(JsonWriter *json, const TachoTable *table)
{
	table_write_json(table, write_key(json, tacho_table_name(table)));
}

static void write_harm(JsonWriter *json, const TachoPrecisionPlan *plan, const gchar *key,
		       gdouble harm)
{
	json_writer_number(write_key(json, key), plan->has_harm ? harm : NAN);
}

static void write_plans(JsonWriter *json, const TachoPrecisionPlan *plan)
{
	write_key(json, "plans");
	json_writer_begin_array(json);
	for (guint i = 0; i < plan->plans->len; i++)
		plan_write_json(plan->plans->pdata[i], json);
	json_writer_end_array(json);
}

void tacho_precision_plan_print_json(const TachoPrecisionPlan *plan, FILE *out)
{
	g_autoptr(JsonWriter) json = json_writer_new(out);

	json_writer_begin_object(json);
	json_writer_number(write_key(json, "recorded_step_ms"), plan->recorded_step_ms);
	json_writer_number(write_key(json, "fastest_step_ms"), plan->fastest_step_ms);
	json_writer_number(write_key(json, "predicted_step_ms"), plan->step_ms);
	write_key(json, "interval_ms");
	json_writer_begin_array(json);
	json_writer_number(json, plan->interval_ms[0]);
	json_writer_number(json, plan->interval_ms[1]);
	json_writer_end_array(json);
	json_writer_number(write_key(json, "bound_ms"), plan->bound_ms);
	json_writer_number(write_key(json, "margin_pct"), plan->margin_pct);
	json_writer_number(write_key(json, "error_pct"), plan->error_pct);
	json_writer_number(write_key(json, "coverage_pct"), plan->coverage_pct);
	write_harm(json, plan, "recorded_harm", plan->recorded_harm);
	write_harm(json, plan, "fastest_harm", plan->fastest_harm);
	write_harm(json, plan, "harm", plan->harm);
	write_harm(json, plan, "least_harm", plan->least_harm);
	json_writer_boolean(write_key(json, "is_fastest_proven"), plan->is_fastest_proven);
	json_writer_boolean(write_key(json, "is_least_proven"), plan->is_least_proven);
	json_writer_boolean(write_key(json, "is_by_replay"), plan->is_by_replay);
	write_table(json, plan->operations);
	write_table(json, plan->workers);
	if (plan->front)
		write_table(json, plan->front);
	write_plans(json, plan);
	write_key(json, "notes");
	json_writer_begin_array(json);
	for (guint i = 0; i < plan->notes->len; i++)
		json_writer_string(json, plan->notes->pdata[i]);
	json_writer_end_array(json);
	json_writer_line(json);
	json_writer_end_object(json);
	json_writer_finish(json);
}
