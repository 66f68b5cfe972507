/* Series of many jobs, and of jobs with long names, are bounded and valid; a name for OpenTelemetry with its unit is that of /metrics. */
#include <string.h>

#include "base/for_each.h"
#include "live/live_series.h"

static gdouble only_value(const LiveSeries *series, enum live_series kind)
{
	g_assert_cmpuint(series->points[kind]->len, ==, 1);
	return g_array_index(series->points[kind], struct live_point, 0).value;
}

static void test_bounds(void)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(TachoJobs) jobs = NULL;
	g_autoptr(LiveSeries) series = NULL;
	GString *name = g_string_new("/none/");

	while (name->len < 300)
		g_string_append(
			name,
			"\xc3\xa9"); /* two bytes, so that a cut at 199 or 201 would split one */
	for (guint i = 0; i < LIVE_MAX_JOBS + 6; i++)
		g_ptr_array_add(paths, g_strdup_printf("%s%s", i % 2 ? "/none/x" : "/none/",
						       name->str + 6));
	g_string_free(name, TRUE);
	jobs = tacho_jobs_new((const gchar *const *)paths->pdata, paths->len);
	series = live_series_new(jobs, NULL);
	g_assert_cmpuint(series->jobs->len, ==, LIVE_MAX_JOBS);
	g_assert_cmpfloat(only_value(series, SERIES_tacho_jobs), ==, LIVE_MAX_JOBS + 6);
	g_assert_cmpfloat(only_value(series, SERIES_tacho_jobs_left_out), ==, 6);
	g_assert_cmpuint(series->points[SERIES_tacho_job_running]->len, ==, LIVE_MAX_JOBS);
	FOR_EACH_AT(const struct live_series_job, job, i, series->jobs) {
		g_assert_true(g_utf8_validate(job->run, -1, NULL));
		g_assert_cmpuint(strlen(job->run), ==,
				 i % 2 ? LIVE_LABEL_BYTES - 1 : LIVE_LABEL_BYTES);
	}
	/* what is no number is no point */
	g_assert_cmpuint(series->points[SERIES_tacho_job_step_seconds]->len, ==, 0);
}

/* What a collector makes of name and unit. */
static void test_names(void)
{
	static const gchar *const suffixes[][2] = { { "s", "_seconds" },
						    { "By", "_bytes" },
						    { "1", "_ratio" } };

	for (guint i = 0; i < N_LIVE_SERIES; i++) {
		const struct live_series_kind *kind = live_series_kind(i);
		GString *name = g_string_new(kind->otlp_name);

		g_string_replace(name, ".", "_", 0);
		for (guint k = 0; k < G_N_ELEMENTS(suffixes); k++)
			if (strcmp(kind->unit, suffixes[k][0]) == 0)
				g_string_append(name, suffixes[k][1]);
		if (kind->is_counter)
			g_string_append(name, "_total");
		g_assert_cmpstr(name->str, ==, kind->name);
		g_string_free(name, TRUE);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/live_series/bounds", test_bounds);
	g_test_add_func("/live_series/names", test_names);
	return g_test_run();
}
