/* fuzz_precision_problem: whatever bytes as a problem. One that is taken is written and read again as the same; if it is small it is
 * solved. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_input.h"
#include "precision/problem_json.h"

static gchar *write_text(const TachoPrecisionProblem *problem)
{
	gchar *text = NULL;
	gsize n;
	FILE *out = open_memstream(&text, &n);

	g_assert_true(tacho_precision_problem_write(problem, out));
	fclose(out);
	return text;
}

static void solve(TachoPrecisionProblem *problem)
{
	TachoPrecisionOptions options = { .within_pct = -1, .with_front = TRUE };
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrecisionPlan) plan = NULL;
	gchar *text = NULL;
	gsize n;
	FILE *out;

	if (problem->n_operations > 8 || problem->n_workers > 2 || problem->n_edges > 32)
		return;
	plan = tacho_precision_plan(problem, &options, &error);
	if (!plan) {
		g_assert_nonnull(error);
		return;
	}
	out = open_memstream(&text, &n);
	tacho_precision_plan_print_json(plan, out);
	tacho_precision_plan_print_svg(plan, out);
	fclose(out);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrecisionProblem) problem =
		precision_problem_parse((const gchar *)data, n, &error);
	g_autoptr(TachoPrecisionProblem) again = NULL;
	gchar *text, *same;

	if (!problem) {
		g_assert_nonnull(error);
		return 0;
	}
	text = write_text(problem);
	again = precision_problem_parse(text, strlen(text), &error);
	if (!again)
		FUZZ_FAIL("what was written is refused: %s", error->message);
	same = write_text(again);
	if (strcmp(text, same) != 0)
		FUZZ_FAIL("what was written is read as another problem");
	free(text);
	free(same);
	solve(problem);
	return 0;
}
