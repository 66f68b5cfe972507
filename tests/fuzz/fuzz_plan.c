/* fuzz_plan: whatever bytes as a plan. One that is taken is written, and read again as the same; and in all forms of others. What is no plan
 * of tacho's is read as a file of dPRO's. */
#include <stdlib.h>
#include <string.h>

#include "base/json_memory.h"
#include "fuzz_input.h"
#include "optimize/plan_target.h"

static gchar *write_text(const TachoPlan *plan)
{
	struct json_memory memory;
	JsonWriter *json = json_memory_begin(&memory);

	plan_write_json(plan, json);
	return json_memory_take(&memory, json);
}

/* In every form, which may refuse it. */
static void write_all(const TachoPlan *plan)
{
	const gchar *description;

	for (guint i = 0; tacho_plan_target(i, &description); i++) {
		gchar *text = NULL;
		gsize n;
		FILE *out = open_memstream(&text, &n);

		tacho_plan_write_as(plan, i, out, NULL);
		fclose(out);
		free(text);
	}
}

static void read_dpro(const uint8_t *data, size_t n)
{
	g_autoptr(TachoPlan) job = plan_new(2), plan = NULL;
	g_autofree gchar *text = g_strndup((const gchar *)data, n);
	struct plan_gradient gradient = { 400, "float32" };

	for (guint i = 0; i < 4; i++)
		g_array_append_val(job->gradients, gradient);
	if (!g_utf8_validate(text, -1, NULL))
		return;
	plan = plan_parse_dpro(text, job, NULL);
	if (plan)
		write_all(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPlan) plan = plan_parse((const gchar *)data, n, &error);
	g_autoptr(TachoPlan) again = NULL;
	g_autofree gchar *text = NULL, *same = NULL;

	if (!plan) {
		g_assert_nonnull(error);
		read_dpro(data, n);
		return 0;
	}
	tacho_plan_check_applicable(plan, NULL);
	write_all(plan);
	text = write_text(plan);
	again = plan_parse(text, strlen(text), &error);
	if (!again)
		FUZZ_FAIL("what was written is refused: %s", error->message);
	same = write_text(again);
	if (strcmp(text, same) != 0)
		FUZZ_FAIL("what was written is read as another plan");
	return 0;
}
