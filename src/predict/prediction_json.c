/* prediction_json: what a prediction says, as one JSON object; docs/json.md has the keys. */
#include <tacho/replay.h>

#include <math.h>

#include "base/json_writer.h"

static void write_number(JsonWriter *json, const gchar *key, gdouble value)
{
	json_writer_line(json);
	json_writer_key(json, key);
	json_writer_number(json, value);
}

static void write_interval(JsonWriter *json, const gchar *key, const gdouble interval[2])
{
	json_writer_line(json);
	json_writer_key(json, key);
	json_writer_begin_array(json);
	json_writer_number(json, interval[0]);
	json_writer_number(json, interval[1]);
	json_writer_end_array(json);
}

static void write_string(JsonWriter *json, const gchar *key, const gchar *value)
{
	json_writer_line(json);
	json_writer_key(json, key);
	json_writer_string(json, value);
}

static void write_integer(JsonWriter *json, const gchar *key, gint64 value)
{
	json_writer_line(json);
	json_writer_key(json, key);
	json_writer_integer(json, value);
}

/* -1: not known. */
static void write_bytes(JsonWriter *json, const gchar *key, gint64 bytes)
{
	json_writer_line(json);
	json_writer_key(json, key);
	if (bytes < 0)
		json_writer_null(json);
	else
		json_writer_integer(json, bytes);
}

static void write_cell(JsonWriter *json, const TachoTable *table, guint row, const gchar *key)
{
	const gchar *text = tacho_table_cell_text(table, row, key);

	json_writer_key(json, key);
	if (text)
		json_writer_string(json, text);
	else if (tacho_table_borrow_column(table, key)->type == TACHO_COLUMN_BOOLEAN)
		json_writer_boolean(json, tacho_table_cell_number(table, row, key) != 0);
	else
		json_writer_number(json, tacho_table_cell_number(table, row, key));
}

static void write_table(JsonWriter *json, const TachoTable *table, const gchar *const *keys)
{
	json_writer_line(json);
	json_writer_key(json, tacho_table_name(table));
	json_writer_begin_array(json);
	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		json_writer_line(json);
		json_writer_begin_object(json);
		for (guint i = 0; keys[i]; i++)
			write_cell(json, table, row, keys[i]);
		json_writer_end_object(json);
	}
	json_writer_line(json);
	json_writer_end_array(json);
}

/* What several recordings say together. */
static void write_recordings(JsonWriter *json, const TachoPrediction *prediction)
{
	static const gchar *const keys[] = { "recording",
					     "steps",
					     "measured_step_ms",
					     "baseline_step_ms",
					     "unrecorded_step_ms",
					     "predicted_step_ms",
					     "low_ms",
					     "high_ms",
					     "is_shown",
					     NULL };

	write_interval(json, "recordings_interval_ms", prediction->recordings_interval_ms);
	write_number(json, "recordings_median_pct", prediction->recordings_median_pct);
	write_number(json, "recordings_next_pct", prediction->recordings_next_pct);
	write_table(json, prediction->recordings, keys);
}

static void write_times(JsonWriter *json, const TachoPrediction *prediction)
{
	write_number(json, "measured_step_ms", prediction->measured_step_ms);
	write_number(json, "baseline_step_ms", prediction->baseline_step_ms);
	write_number(json, "unrecorded_step_ms", prediction->unrecorded_step_ms);
	write_number(json, "predicted_step_ms", prediction->predicted_step_ms);
	if (prediction->has_interval) {
		write_interval(json, "interval_ms", prediction->interval_ms);
	} else {
		json_writer_line(json);
		json_writer_key(json, "interval_ms");
		json_writer_null(json);
	}
	write_number(json, "model_error_pct", 100 * expm1(prediction->model_error));
	json_writer_line(json);
	json_writer_key(json, "model_error_is_measured");
	json_writer_boolean(json, prediction->is_error_measured);
	if (prediction->kernel_doubt_ms[0] > 0 || prediction->kernel_doubt_ms[1] > 0)
		write_interval(json, "kernel_doubt_ms", prediction->kernel_doubt_ms);
	if (prediction->has_interval)
		write_interval(json, "steps_interval_ms", prediction->steps_interval_ms);
	if (prediction->n_samples > 0) {
		write_integer(json, "samples", prediction->n_samples);
		write_integer(json, "seed", (gint64)prediction->seed);
		write_interval(json, "median_interval_ms", prediction->median_interval_ms);
	}
	write_number(json, "error_pct", prediction->error_pct);
	write_number(json, "baseline_kernel_overlap_pct", prediction->baseline_kernel_overlap_pct);
	write_number(json, "predicted_kernel_overlap_pct",
		     prediction->predicted_kernel_overlap_pct);
	write_bytes(json, "peak_memory_bytes", prediction->peak_memory_bytes);
	write_bytes(json, "baseline_peak_memory_bytes", prediction->baseline_peak_memory_bytes);
	write_bytes(json, "predicted_peak_memory_bytes", prediction->predicted_peak_memory_bytes);
	write_integer(json, "ranks", prediction->n_ranks);
	write_integer(json, "steps", prediction->n_steps);
	write_integer(json, "first_step", prediction->first_step);
	write_integer(json, "last_step", prediction->last_step);
	write_integer(json, "critical_path_step", prediction->path_step);
	write_string(json, "step_ends_on", prediction->path_ends_on_device ? "device" : "host");
	write_integer(json, "device_bound_steps", prediction->n_device_bound_steps);
	if (prediction->unfolded_ranks > 0) {
		write_integer(json, "unfolded_ranks", prediction->unfolded_ranks);
		write_integer(json, "unfolded_pieces", prediction->unfolded_pieces);
		write_number(json, "unfolded_step_ms", prediction->unfolded_step_ms);
	}
}

/* Only where the replay of what was recorded is not what was measured. */
static void write_baseline_error(JsonWriter *json, const TachoPrediction *prediction)
{
	static const gchar *const keys[] = { "what",	    "name",	 "measured_ms",
					     "replayed_ms", "error_pct", NULL };

	json_writer_line(json);
	json_writer_key(json, "baseline_error");
	json_writer_begin_object(json);
	write_number(json, "error_pct", prediction->error_pct);
	write_string(json, "warning", prediction->baseline_warning);
	write_string(json, "advice", prediction->baseline_advice);
	write_table(json, prediction->baseline_errors, keys);
	json_writer_line(json);
	json_writer_end_object(json);
}

/* What is held, and who holds it at the peak. */
static void write_memory(JsonWriter *json, const TachoPrediction *prediction)
{
	static const gchar *const owner_keys[] = { "name",	     "blocks",	   "bytes",
						   "recorded_bytes", "cast_bytes", NULL };
	static const gchar *const peak_keys[] = { "rank", "memory", "peak_bytes", "at_ms", NULL };
	static const gchar *const curve_keys[] = { "at_ms", "held_bytes", NULL };

	if (prediction->peak_owners)
		write_table(json, prediction->peak_owners, owner_keys);
	if (prediction->peak_memory) {
		write_integer(json, "peak_rank", prediction->peak_rank);
		write_string(json, "peak_memory", prediction->peak_memory);
	}
	if (prediction->memory_curve)
		write_table(json, prediction->memory_curve, curve_keys);
	if (prediction->memory_peaks)
		write_table(json, prediction->memory_peaks, peak_keys);
}

void tacho_prediction_print_json(const TachoPrediction *prediction, FILE *out)
{
	static const gchar *const explanation_keys[] = { "resource",
							 "kind",
							 "rank",
							 "before_ms",
							 "after_ms",
							 "change_ms",
							 "measured_ms",
							 "scaled_ms",
							 "modelled_ms",
							 "guessed_ms",
							 "before_measured_ms",
							 "before_scaled_ms",
							 "before_modelled_ms",
							 "before_guessed_ms",
							 NULL };
	static const gchar *const path_keys[] = { "rank",     "what",	     "name",
						  "start_ms", "duration_ms", NULL };
	static const gchar *const summary_keys[] = { "what",	    "name",	 "pieces",
						     "duration_ms", "share_pct", NULL };
	static const gchar *const utilisation_keys[] = { "resource", "busy_ms", "busy_pct", NULL };
	static const gchar *const sensitivity_keys[] = { "what",     "name",	"pieces",
							 "busy_ms",  "gain_ms", "gain_pct",
							 "felt_pct", NULL };
	static const gchar *const jobs_keys[] = {
		"run", "ranks", "offset_ms", "alone_step_ms", "predicted_step_ms", "steps", NULL
	};
	g_autoptr(JsonWriter) json = json_writer_new(out);

	json_writer_begin_object(json);
	if (prediction->baseline_errors)
		write_baseline_error(json, prediction);
	write_times(json, prediction);
	if (prediction->recordings)
		write_recordings(json, prediction);
	if (prediction->explanation)
		write_table(json, prediction->explanation, explanation_keys);
	write_table(json, prediction->critical_path, path_keys);
	write_table(json, prediction->path_summary, summary_keys);
	write_table(json, prediction->utilisation, utilisation_keys);
	write_memory(json, prediction);
	if (prediction->jobs)
		write_table(json, prediction->jobs, jobs_keys);
	if (prediction->sensitivity)
		write_table(json, prediction->sensitivity, sensitivity_keys);
	json_writer_line(json);
	json_writer_key(json, "notes");
	json_writer_begin_array(json);
	for (guint i = 0; i < prediction->notes->len; i++)
		json_writer_string(json, g_ptr_array_index(prediction->notes, i));
	json_writer_end_array(json);
	json_writer_line(json);
	json_writer_end_object(json);
	json_writer_finish(json);
}
