/* fuzz_plan: whatever bytes as a plan. One that is taken is written, and read again as the same. */
#include <string.h>

#include "base/json_memory.h"
#include "fuzz_input.h"
#include "optimize/plan.h"

static gchar *write_text(const TachoPlan *plan)
{
	struct json_memory memory;
	JsonWriter *json = json_memory_begin(&memory);

	plan_write_json(plan, json);
	return json_memory_take(&memory, json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPlan) plan = plan_parse((const gchar *)data, n, &error);
	g_autoptr(TachoPlan) again = NULL;
	g_autofree gchar *text = NULL, *same = NULL;

	if (!plan) {
		g_assert_nonnull(error);
		return 0;
	}
	tacho_plan_check_applicable(plan, NULL);
	text = write_text(plan);
	again = plan_parse(text, strlen(text), &error);
	if (!again)
		FUZZ_FAIL("what was written is refused: %s", error->message);
	same = write_text(again);
	if (strcmp(text, same) != 0)
		FUZZ_FAIL("what was written is read as another plan");
	return 0;
}
