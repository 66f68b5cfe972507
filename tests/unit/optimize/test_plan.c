/* What a plan's file may say, that it comes back as it was written, and what is refused of files that somebody broke or made up. */
#include <glib/gstdio.h>

#include <string.h>
#include <unistd.h>

#include "base/json_memory.h"
#include "optimize/plan.h"

static const gchar whole[] =
	"{\"tacho_plan\": 1, \"job\": {\"ranks\": 2, \"gradients\": [[400, \"float32\"], [8, "
	"\"float32\"], "
	"[100, \"bfloat16\"]]}, \"changes\": {\"buckets\": [[1, 0], [2]], \"loader_workers\": 4}, "
	"\"prediction\": {\"baseline_step_ms\": 12.5, \"predicted_step_ms\": 10, \"interval_ms\": "
	"[9, 11]}}";

static gchar *write_text(const TachoPlan *plan)
{
	struct json_memory memory;
	JsonWriter *json = json_memory_begin(&memory);

	plan_write_json(plan, json);
	return json_memory_take(&memory, json);
}

static void check_whole(const TachoPlan *plan)
{
	const struct plan_change *buckets = plan_find(plan, PLAN_BUCKETS);
	const struct plan_change *workers = plan_find(plan, PLAN_WORKERS);
	const struct plan_gradient *last;

	g_assert_cmpuint(plan->n_ranks, ==, 2);
	g_assert_cmpuint(plan->gradients->len, ==, 3);
	last = &g_array_index(plan->gradients, struct plan_gradient, 2);
	g_assert_cmpuint(last->bytes, ==, 100);
	g_assert_cmpstr(last->dtype, ==, "bfloat16");
	g_assert_cmpuint(buckets->n_of->len, ==, 2);
	g_assert_cmpuint(g_array_index(buckets->n_of, guint32, 0), ==, 2);
	g_assert_cmpuint(g_array_index(buckets->order, guint32, 0), ==, 1);
	g_assert_cmpuint(g_array_index(buckets->order, guint32, 2), ==, 2);
	g_assert_cmpuint(workers->count, ==, 4);
	g_assert_null(plan_find(plan, PLAN_ACCUMULATION));
	g_assert_cmpfloat(plan->baseline_step_ms, ==, 12.5);
	g_assert_cmpfloat(plan->predicted_step_ms, ==, 10);
	g_assert_true(plan->has_interval);
	g_assert_cmpfloat(plan->interval_ms[1], ==, 11);
}

/* As read, as written and read again, as copied. */
static void test_whole(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPlan) plan = plan_parse(whole, strlen(whole), &error);
	g_autoptr(TachoPlan) again = NULL;
	g_autoptr(TachoPlan) copy = NULL;
	g_autofree gchar *text = NULL;

	g_assert_no_error(error);
	check_whole(plan);
	text = write_text(plan);
	again = plan_parse(text, strlen(text), &error);
	g_assert_no_error(error);
	check_whole(again);
	copy = plan_copy(plan);
	check_whole(copy);
}

/* Made in memory: buckets by their ends; and the what-ifs that predict the changes. */
static void test_made(void)
{
	static const guint32 ends[] = { 1, 4, 6 };
	g_autoptr(TachoPlan) plan = plan_new(8);
	g_autofree gchar *fusion = NULL;
	g_autofree gchar *workers = NULL;

	plan_add_buckets(plan, ends, G_N_ELEMENTS(ends));
	plan_add_count(plan, PLAN_WORKERS, 3);
	fusion = plan_change_what_if(plan_find(plan, PLAN_BUCKETS));
	workers = plan_change_what_if(plan_find(plan, PLAN_WORKERS));
	g_assert_cmpstr(fusion, ==, "fusion=1,3,2");
	g_assert_cmpstr(workers, ==, "workers=3");
}

/* Buckets out of order have no what-if. */
static void test_out_of_order(void)
{
	g_autoptr(TachoPlan) plan = plan_parse(whole, strlen(whole), NULL);

	g_assert_null(plan_change_what_if(plan_find(plan, PLAN_BUCKETS)));
}

static void assert_refused(const gchar *text, const gchar *reason)
{
	g_autoptr(GError) error = NULL;
	TachoPlan *plan = plan_parse(text, strlen(text), &error);

	g_assert_null(plan);
	g_assert_nonnull(error);
	if (!strstr(error->message, reason))
		g_error("'%s' is refused with '%s', and not with '%s'", text, error->message,
			reason);
}

/* The whole plan with one text in the place of another. */
static void assert_refused_with(const gchar *text, const gchar *other, const gchar *reason)
{
	g_autoptr(GString) changed = g_string_new(whole);

	g_assert_cmpuint(g_string_replace(changed, text, other, 1), ==, 1);
	assert_refused(changed->str, reason);
}

static void test_wrong(void)
{
	assert_refused("", "the plan is not an object");
	assert_refused("[]", "the plan is not an object");
	assert_refused("{}", "'tacho_plan' is missing");
	assert_refused("{\"job\": {}}", "'tacho_plan' does not stand first");
	assert_refused_with("\"tacho_plan\": 1", "\"tacho_plan\": 2", "use a later tacho");
	assert_refused_with("\"tacho_plan\": 1", "\"tacho_plan\": 0", "less than 1");
	assert_refused_with("\"tacho_plan\": 1", "\"tacho_plan\": 1, \"tacho_plan\": 1",
			    "stands twice");
	assert_refused_with("\"tacho_plan\": 1", "\"tacho_plan\": 1, \"run\": \"rm\"",
			    "there is no 'run'");
	assert_refused_with("\"ranks\": 2", "\"ranks\": 99999999", "more than 16777216");
	assert_refused_with("\"ranks\": 2", "\"ranks\": 99999999999999999999999999", "more than");
	assert_refused_with("\"ranks\": 2", "\"ranks\": -2", "not a whole number");
	assert_refused_with("\"ranks\": 2", "\"ranks\": 2.5", "not a whole number");
	assert_refused_with("\"ranks\": 2", "\"ranks\": 0", "less than 1");
	assert_refused_with("[400, ", "[0, ", "less than 1");
	assert_refused_with("[400, ", "[18446744073709551616, ", "more than");
	assert_refused_with("[400, \"float32\"]", "[400, \"float33\"]", "data type is not known");
	assert_refused_with("[400, \"float32\"]", "[400]", "[BYTES, \"TYPE\"]");
	assert_refused_with("[400, \"float32\"]", "[400, \"float32\", 1]", "[BYTES, \"TYPE\"]");
	assert_refused_with("[1, 0], [2]", "[1, 0]", "each gradient of the job once");
	assert_refused_with("[1, 0], [2]", "[1, 1], [2]", "each gradient of the job once");
	assert_refused_with("[1, 0], [2]", "[1, 0], [3]", "each gradient of the job once");
	assert_refused_with("[1, 0], [2]", "[1, 0], [1048576]", "more than 1048575");
	assert_refused_with("[1, 0], [2]", "[1, 0], [], [2]", "a bucket is empty");
	assert_refused_with("[1, 0], [2]", "[1, 0, 2]", "two data types");
	assert_refused_with("\"loader_workers\": 4", "\"loader_workers\": 4097", "more than 4096");
	assert_refused_with("\"loader_workers\": 4", "\"command\": \"sh\"",
			    "there is no 'command'");
	assert_refused_with("[9, 11]", "[9]", "two numbers");
	assert_refused_with("[9, 11]", "[9, 11, 12]", "two numbers");
	assert_refused_with("12.5", "-1", "number of milliseconds");
	assert_refused_with("12.5", "nan", "number of milliseconds");
	assert_refused_with("11]}}", "11]}} {}", "behind the plan");
}

/* Cut anywhere, or with any byte changed: refused or read, and nothing worse. */
static void test_broken(void)
{
	gsize n = strlen(whole);

	for (gsize i = 0; i < n; i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(plan_parse(whole, i, &error));
		g_assert_nonnull(error);
	}
	for (gsize i = 0; i < n; i++) {
		static const gchar others[] = "\"{}[],:-1e\\\0x";

		for (guint j = 0; j < sizeof(others); j++) {
			g_autofree gchar *text = g_strdup(whole);
			g_autoptr(TachoPlan) plan = NULL;

			text[i] = others[j];
			plan = plan_parse(text, n, NULL);
		}
	}
}

static void test_file(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPlan) plan = NULL;
	gchar *path = NULL;
	gint fd = g_file_open_tmp("plan-XXXXXX", &path, NULL);

	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_assert_true(g_file_set_contents(path, whole, -1, NULL));
	plan = tacho_plan_read(path, &error);
	g_assert_no_error(error);
	check_whole(plan);
	g_assert_true(g_file_set_contents(path, "{", -1, NULL));
	g_assert_null(tacho_plan_read(path, &error));
	g_assert_nonnull(strstr(error->message, path));
	g_unlink(path);
	g_clear_error(&error);
	g_assert_null(tacho_plan_read(path, &error));
	g_assert_nonnull(strstr(error->message, path));
	g_free(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/plan/whole", test_whole);
	g_test_add_func("/plan/made", test_made);
	g_test_add_func("/plan/out_of_order", test_out_of_order);
	g_test_add_func("/plan/wrong", test_wrong);
	g_test_add_func("/plan/broken", test_broken);
	g_test_add_func("/plan/file", test_file);
	return g_test_run();
}
