/* optimize_json: what was found, as one JSON object; docs/json.md has the keys. */
#include <tacho/optimize.h>

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

/* The best plan: that of the first row, whoever carries it out. */
static void write_best(JsonWriter *json, const TachoOptimization *optimization)
{
	if (optimization->plans->len == 0) {
		json_writer_number(write_key(json, "predicted_step_ms"),
				   optimization->baseline_step_ms);
		json_writer_null(write_key(json, "plan"));
		return;
	}
	json_writer_number(
		write_key(json, "predicted_step_ms"),
		tacho_table_cell_number(optimization->candidates, 0, "predicted_step_ms"));
	plan_write_json(optimization->plans->pdata[0], write_key(json, "plan"));
}

void tacho_optimization_print_json(const TachoOptimization *optimization, FILE *out)
{
	g_autoptr(JsonWriter) json = json_writer_new(out);

	json_writer_begin_object(json);
	json_writer_number(write_key(json, "measured_step_ms"), optimization->measured_step_ms);
	json_writer_number(write_key(json, "replayed_step_ms"), optimization->replayed_step_ms);
	json_writer_number(write_key(json, "baseline_step_ms"), optimization->baseline_step_ms);
	write_best(json, optimization);
	json_writer_unsigned(write_key(json, "candidates_tried"), optimization->candidates_tried);
	json_writer_number(write_key(json, "search_ms"), optimization->search_ms);
	json_writer_boolean(write_key(json, "is_exhaustive"), optimization->is_exhaustive);
	json_writer_unsigned(write_key(json, "ranks"), optimization->n_ranks);
	json_writer_unsigned(write_key(json, "steps"), optimization->n_steps);
	json_writer_unsigned(write_key(json, "first_step"), optimization->first_step);
	json_writer_unsigned(write_key(json, "last_step"), optimization->last_step);
	json_writer_unsigned(write_key(json, "gradients"), optimization->n_gradients);
	json_writer_unsigned(write_key(json, "recorded_buckets"), optimization->n_recorded_buckets);
	if (optimization->warning)
		json_writer_string(write_key(json, "warning"), optimization->warning);
	write_table(json, optimization->candidates);
	write_table(json, optimization->tried);
	write_table(json, optimization->trajectory);
	write_key(json, "notes");
	json_writer_begin_array(json);
	for (guint i = 0; i < optimization->notes->len; i++)
		json_writer_string(json, optimization->notes->pdata[i]);
	json_writer_end_array(json);
	json_writer_line(json);
	json_writer_end_object(json);
	json_writer_finish(json);
}
