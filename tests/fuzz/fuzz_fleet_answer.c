/* fuzz_fleet_answer: whatever bytes as the answers of another host's tacho serve, and of a receiver of metrics. What was read and written
 * anew reads as itself. */
#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "fuzz_input.h"
#include "live/fleet.h"
#include "live/fleet_answer.h"
#include "live/otlp_message.h"

static void use_jobs(const gchar *bytes, gsize n)
{
	FleetJobs *jobs = fleet_jobs_read(bytes, n, "host", 0), *again;
	g_autofree gchar *list = NULL;

	if (!jobs)
		return;
	g_assert_cmpuint(jobs->ids->len, <=, LIVE_MAX_JOBS);
	for (guint i = 0; i < jobs->ids->len; i++) {
		guint id = g_array_index(jobs->ids, guint, i);

		g_assert_true(id > 0 && id < FLEET_IDS);
		g_assert_true(!i || id > g_array_index(jobs->ids, guint, i - 1));
	}
	list = g_strdup_printf("[%s]", *jobs->rows ? jobs->rows + 1 : "");
	g_assert_true(g_utf8_validate(list, -1, NULL));
	again = fleet_jobs_read(list, strlen(list), "host", 0);
	g_assert_nonnull(again);
	g_assert_cmpstr(again->rows, ==, jobs->rows);
	g_assert_cmpstr(again->silent_rows, ==, jobs->silent_rows);
	fleet_jobs_free(again);
	fleet_jobs_free(jobs);
}

static void use_job(const gchar *bytes, gsize n)
{
	g_autofree gchar *job = fleet_job_read(bytes, n, "host", 7), *again = NULL;

	if (!job)
		return;
	g_assert_true(g_utf8_validate(job, -1, NULL));
	again = fleet_job_read(job, strlen(job), "host", 7);
	g_assert_cmpstr(again, ==, job);
}

static void use_metrics(const gchar *bytes, gsize n)
{
	g_autofree gchar *text = g_strndup(bytes, n), *written = NULL, *rewritten = NULL;
	g_autoptr(LiveSeries) series = live_series_new_empty();
	g_autoptr(LiveSeries) again = live_series_new_empty();

	fleet_metrics_read(text, "host", 0, series);
	g_assert_cmpuint(series->jobs->len, <=, LIVE_MAX_JOBS);
	for (guint i = 0; i < N_LIVE_SERIES; i++)
		FOR_EACH(const struct live_point, point, series->points[i])
			g_assert_true(point->job < series->jobs->len && isfinite(point->value));
	written = live_metrics_text(series);
	g_assert_true(g_utf8_validate(written, -1, NULL));
	fleet_metrics_read(written, "host", 0, again);
	rewritten = live_metrics_text(again);
	g_assert_cmpstr(rewritten, ==, written);
}

static void use_answer(const gchar *bytes, gsize n)
{
	for (guint is_taken = 0; is_taken < 2; is_taken++) {
		g_autofree gchar *text = NULL;
		gint64 n_rejected = -1;

		if (!otlp_message_read_answer((const guint8 *)bytes, n, is_taken != 0, &n_rejected,
					      &text))
			continue;
		g_assert_cmpint(n_rejected, >=, 0);
		g_assert_true(g_utf8_validate(text, -1, NULL));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const gchar *bytes = (const gchar *)data;

	use_jobs(bytes, size);
	use_job(bytes, size);
	use_metrics(bytes, size);
	use_answer(bytes, size);
	return 0;
}
