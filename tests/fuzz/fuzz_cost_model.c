/* fuzz_cost_model: whatever bytes as a cost model. One that is taken is asked, written, and read again as the same. What is no model is read
 * as a table of kernels. */
#include <math.h>
#include <string.h>

#include "base/json_memory.h"
#include "foreign_traces.h"
#include "fuzz_input.h"
#include "learn/correction.h"
#include "learn/cost_model.h"
#include "learn/cost_model_file.h"
#include "learn/link_cost.h"

static gchar *write_text(const struct cost_model *model)
{
	struct json_memory memory;
	JsonWriter *json = json_memory_begin(&memory);

	cost_model_write_json(model, json);
	return json_memory_take(&memory, json);
}

/* Each device is asked for a product; no answer is negative or infinite. */
static void ask(struct cost_model *model)
{
	for (guint32 device = 0; device < model->calls.devices->len && device < 8; device++) {
		struct cost_call call;

		if (!cost_calls_ask(&model->calls, "aten::mm", "[[64,32],[32,16]]", "fp16", device,
				    &call, NULL))
			FUZZ_FAIL("a product is not known");
		for (guint way = 0; way < N_COST_WAYS; way++) {
			gdouble ns = cost_model_ns(model, &call, (enum cost_way)way);

			if (!isnan(ns) && (!isfinite(ns) || ns <= 0))
				FUZZ_FAIL("a product takes %g ns", ns);
		}
	}
	for (guint i = 0; i < model->corrections->len; i++) {
		const struct correction *correction =
			&g_array_index(model->corrections, struct correction, i);
		struct correction_bias bias =
			corrections_bias(model->corrections, correction->host, correction->device,
					 correction->change);

		if (!isfinite(bias.log_mean) || !isfinite(bias.log_spread))
			FUZZ_FAIL("a correction is no number");
	}
}

static void read_table(const uint8_t *data, size_t n)
{
	struct cost_model model;
	struct boosting how = {
		.n_trees = 2, .depth = 2, .min_rows = 1, .rate = 0.5, .shrinkage = 1
	};

	cost_model_init(&model);
	if (cost_calls_add_table(&model.calls, foreign_fuzz_file("table.csv", data, n), NULL)) {
		cost_calls_finish(&model.calls);
		cost_model_train(&model, &how);
		ask(&model);
	}
	cost_model_release(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	g_autoptr(GError) error = NULL;
	g_autofree gchar *text = NULL, *same = NULL;
	struct cost_model model, again;

	cost_model_init(&model);
	cost_model_init(&again);
	if (cost_model_parse(&model, (const gchar *)data, n, &error)) {
		ask(&model);
		text = write_text(&model);
		if (!cost_model_parse(&again, text, strlen(text), &error))
			FUZZ_FAIL("what was written is refused: %s", error->message);
		same = write_text(&again);
		if (strcmp(text, same) != 0)
			FUZZ_FAIL("what was written is read as another model");
	} else {
		g_assert_nonnull(error);
		read_table(data, n);
	}
	cost_model_release(&model);
	cost_model_release(&again);
	return 0;
}
