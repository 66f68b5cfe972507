/* Figures that nobody takes: the queue is bounded, the oldest go, and all are counted. What receivers say is read, whatever it is. */
#include <string.h>

#include "live/otlp_message.h"
#include "live/otlp_push.h"

#define N_OFFERED   300
#define MAX_WAITING 65 /* 64, and the one that is under way */

static gdouble value_at(const LiveSeries *series, enum live_series kind, guint i)
{
	g_assert_cmpuint(series->points[kind]->len, >, i);
	return g_array_index(series->points[kind], struct live_point, i).value;
}

static void test_full_queue(void)
{
	/* nobody listens at port 1, and whoever does answers nothing of use */
	struct otlp_options options = { .url = "http://user:secret@127.0.0.1:1/",
					.instance = "test" };
	const gchar *path = "/none";
	g_autoptr(TachoJobs) jobs = tacho_jobs_new(&path, 1);
	g_autoptr(LiveSeries) counted = live_series_new(jobs, NULL);
	g_autoptr(GError) error = NULL;
	g_autofree gchar *news = NULL;
	OtlpSettings settings;
	OtlpPush *push;
	gdouble n_dropped, n_waiting;

	g_assert_true(otlp_settings_init(&settings, &options, &error));
	g_assert_no_error(error);
	g_assert_cmpstr(settings.url, ==, "http://user:secret@127.0.0.1:1/v1/metrics");
	g_assert_cmpstr(settings.shown, ==, "http://127.0.0.1:1/v1/metrics");
	settings.interval_ms = 0; /* each is due */
	push = otlp_push_new(&settings, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < N_OFFERED; i++) {
		g_autoptr(LiveSeries) series = live_series_new(jobs, NULL);

		otlp_push_offer(push, series);
	}
	otlp_push_count(push, counted);
	g_assert_cmpfloat(value_at(counted, SERIES_tacho_pushes_total, 0), ==, 0); /* taken */
	g_assert_cmpfloat(value_at(counted, SERIES_tacho_pushes_total, 1), ==, 0); /* refused */
	n_dropped = value_at(counted, SERIES_tacho_pushes_total, 2);
	n_waiting = value_at(counted, SERIES_tacho_pushes_waiting, 0);
	g_assert_cmpfloat(n_waiting, <=, MAX_WAITING);
	g_assert_cmpfloat(n_waiting, >, 1);
	g_assert_cmpfloat(n_dropped + n_waiting, ==, N_OFFERED);
	news = otlp_push_take_news(push);
	g_assert_nonnull(
		strstr(news, "the oldest metrics for http://127.0.0.1:1/v1/metrics are dropped"));
	g_assert_null(strstr(news, "secret"));
	otlp_push_free(push);
}

static void test_answers(void)
{
	/* partial_success { rejected_data_points: 7, error_message: "no" } */
	static const guint8 partial[] = { 0x0a, 6, 0x08, 7, 0x12, 2, 'n', 'o' };
	/* code: 3, message: "a\x1b" */
	static const guint8 status[] = { 0x08, 3, 0x12, 2, 'a', 0x1b };
	gint64 n = -1;
	gchar *text = NULL;

	g_assert_true(otlp_message_read_answer(partial, sizeof(partial), TRUE, &n, &text));
	g_assert_cmpint(n, ==, 7);
	g_assert_cmpstr(text, ==, "no");
	g_free(text);
	g_assert_true(otlp_message_read_answer(status, sizeof(status), FALSE, &n, &text));
	g_assert_cmpstr(text, ==, "a\xef\xbf\xbd");
	g_free(text);
	/* nothing is said by nothing, nor by any part of a message or what is none */
	g_assert_false(otlp_message_read_answer(partial, 0, TRUE, &n, &text));
	for (gsize i = 1; i < sizeof(partial); i++)
		g_assert_false(otlp_message_read_answer(partial, i, TRUE, &n, &text));
	g_assert_false(otlp_message_read_answer((const guint8 *)"<html>", 6, TRUE, &n, &text));
	g_assert_false(otlp_message_read_answer((const guint8 *)"<html>", 6, FALSE, &n, &text));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_unsetenv("http_proxy");
	g_test_add_func("/otlp_push/full_queue", test_full_queue);
	g_test_add_func("/otlp_push/answers", test_answers);
	return g_test_run();
}
