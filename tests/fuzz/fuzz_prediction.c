/* fuzz_prediction: what any timeline says of any changes, from the graph to what is written of it: the JSON must say what the
 * prediction does, and the replay must come back from an export of it as a recording would. The first byte is what is asked
 * for, the next two how many bytes are the changes (fuzz_changes.h), the others are the timeline (byte_timeline.h). */
#include <stdio.h>

#include <tacho/export.h>
#include <tacho/import.h>
#include <tacho/replay.h>

#include "byte_timeline.h"
#include "foreign_traces.h"
#include "fuzz_changes.h"
#include "fuzz_folder.h"
#include "fuzz_input.h"
#include "json_check.h"
#include "trace_lines.h"

enum {
	N_HEAD_BYTES = 3,
	MAX_RANKS = 8,
	MAX_SAMPLES = 3,
	IS_EXPLAINED = 1 << 2, /* the two bits below are the number of samples */
	IS_UNFOLDED = 1 << 3,
	HAS_SENSITIVITY = 1 << 4,
	HAS_TWO_RECORDINGS = 1 << 5,
	IS_EXPORTED = 1 << 6,
	IS_CHROME = 1 << 7, /* else it is exported for Perfetto */
};

/* --- JSON ------------------------------------------------------------------------------------- */

static void check_numbers(const struct json_object *json, const TachoPrediction *prediction)
{
	const struct {
		const gchar *key;
		gdouble number;
	} members[] = {
		{ "measured_step_ms", prediction->measured_step_ms },
		{ "baseline_step_ms", prediction->baseline_step_ms },
		{ "unrecorded_step_ms", prediction->unrecorded_step_ms },
		{ "predicted_step_ms", prediction->predicted_step_ms },
		{ "error_pct", prediction->error_pct },
		{ "ranks", prediction->n_ranks },
		{ "steps", prediction->n_steps },
		{ "first_step", prediction->first_step },
		{ "last_step", prediction->last_step },
		{ "critical_path_step", prediction->path_step },
		{ "device_bound_steps", prediction->n_device_bound_steps },
		{ "baseline_kernel_overlap_pct", prediction->baseline_kernel_overlap_pct },
		{ "predicted_kernel_overlap_pct", prediction->predicted_kernel_overlap_pct },
	};

	for (guint i = 0; i < G_N_ELEMENTS(members); i++)
		json_check_number(json, members[i].key, members[i].number);
}

static void check_tables(const struct json_object *json, const TachoPrediction *prediction)
{
	const struct {
		const TachoTable *table; /* NULL: it is not there */
		guint n_columns;
	} tables[] = {
		{ prediction->critical_path, 5 }, { prediction->path_summary, 5 },
		{ prediction->utilisation, 3 },	  { prediction->explanation, 14 },
		{ prediction->peak_owners, 5 },	  { prediction->memory_curve, 2 },
		{ prediction->memory_peaks, 4 },  { prediction->sensitivity, 7 },
		{ prediction->recordings, 9 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
		if (tables[i].table)
			json_check_rows(json, tacho_table_name(tables[i].table), tables[i].table,
					tacho_table_n_rows(tables[i].table), tables[i].n_columns);
}

/* Of a step that is predicted it is known which is which. */
static void check_sense(const TachoPrediction *prediction)
{
	g_assert_true(prediction->predicted_step_ms >= 0);
	g_assert_true(prediction->interval_ms[0] <= prediction->interval_ms[1]);
	g_assert_cmpuint(prediction->first_step, <=, prediction->last_step);
	g_assert_cmpuint(prediction->n_steps, >=, 1);
}

static void check_json(const TachoPrediction *prediction)
{
	g_autofree gchar *storage = NULL;
	struct json_object json;
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	tacho_prediction_print_json(prediction, out);
	g_assert_cmpint(fclose(out), ==, 0);
	json = json_check_text(text, &storage);
	check_numbers(&json, prediction);
	check_tables(&json, prediction);
	free(text);
}

/* --- exports ---------------------------------------------------------------------------------- */

/* The path of the replay's export, which the next call replaces. */
static const gchar *write_replay(const TachoTimeline *replayed, const gchar *format)
{
	static const gchar *const names[] = { "replay" };
	const TachoExportTarget *target = tacho_export_find(format, NULL);
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autoptr(GByteArray) row = g_byte_array_new();
	static gchar *path;
	gsize n;
	g_autofree guint8 *bytes = export_to_memory(target, replayed, &options, &n);

	fuzz_folder_append(row, bytes, n);
	g_free(path);
	path = g_build_filename(fuzz_folder_fill(names, 1, row->data, row->len), names[0], NULL);
	return path;
}

static void check_export(const TachoPrediction *prediction, const gchar *format)
{
	g_autoptr(TachoTimeline) replayed = tacho_replay_timeline(prediction->replay);
	const gchar *path = write_replay(replayed, format);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) back = tacho_run_open(&path, 1, NULL, NULL, &error);
	g_autofree gchar *lines = NULL, *lines_back = NULL;

	g_assert_no_error(error);
	foreign_use(back);
	lines = trace_lines_of_timeline(replayed);
	lines_back = trace_lines_of_timeline(back);
	g_assert_cmpstr(lines_back, ==, lines);
}

/* ---------------------------------------------------------------------------------------------- */

static void use(TachoPrediction *prediction, guint8 form)
{
	check_sense(prediction);
	if (form & IS_UNFOLDED)
		tacho_prediction_unfold(prediction, NULL);
	if (form & HAS_SENSITIVITY)
		prediction->sensitivity = tacho_replay_sensitivity(prediction->graph, NULL);
	check_json(prediction);
	if (form & IS_EXPORTED)
		check_export(prediction, form & IS_CHROME ? "chrome" : "perfetto");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TachoPredictOptions options = { .first_step = -1, .last_step = -1, .seed = 1 };
	g_autoptr(TachoTimeline) first = NULL, second = NULL;
	g_auto(GStrv) changes = NULL;
	g_autoptr(TachoPrediction) prediction = NULL;
	g_autoptr(GError) error = NULL;
	size_t n;

	if (size < N_HEAD_BYTES)
		return 0;
	n = MIN((size_t)(data[1] | data[2] << 8), size - N_HEAD_BYTES);
	changes = fuzz_changes_read(data + N_HEAD_BYTES, n, MAX_RANKS);
	first = byte_timeline_new(data + N_HEAD_BYTES + n, size - N_HEAD_BYTES - n);
	second = byte_timeline_new(data + N_HEAD_BYTES + n, size - N_HEAD_BYTES - n);
	options.what_ifs = (const gchar *const *)changes;
	options.n_what_ifs = g_strv_length(changes);
	options.n_samples = data[0] & MAX_SAMPLES;
	options.is_explained = data[0] & IS_EXPLAINED ? TRUE : FALSE;
	prediction = tacho_predict_together(
		(const TachoRecording[]){ { "first", first }, { "second", second } },
		data[0] & HAS_TWO_RECORDINGS ? 2 : 1, &options, &error);
	g_assert_true((prediction == NULL) == (error != NULL));
	if (prediction)
		use(prediction, data[0]);
	return 0;
}
