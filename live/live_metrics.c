/* live_metrics: series as Prometheus reads them, version 0.0.4 of its text format. */
#include "base/for_each.h"
#include "live/live_series.h"

static void append_label(GString *text, const gchar *key, const gchar *value)
{
	if (text->str[text->len - 1] != '{')
		g_string_append_c(text, ',');
	g_string_append_printf(text, "%s=\"", key);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			g_string_append_c(text, '\\');
		g_string_append_c(text, *value);
	}
	g_string_append_c(text, '"');
}

static void append_number_label(GString *text, const gchar *key, gint64 number)
{
	gchar digits[24];

	g_snprintf(digits, sizeof(digits), "%" G_GINT64_FORMAT, number);
	append_label(text, key, digits);
}

static void append_point(GString *text, const LiveSeries *series, const gchar *name,
			 const struct live_point *point)
{
	gchar digits[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append(text, name);
	if (point->job != LIVE_NO_JOB || point->key) {
		g_string_append_c(text, '{');
		if (point->job != LIVE_NO_JOB) {
			const struct live_series_job *job =
				&g_array_index(series->jobs, struct live_series_job, point->job);

			if (job->host)
				append_label(text, "host", job->host);
			append_number_label(text, "id", job->id);
			append_label(text, "run", job->run);
		}
		if (point->text)
			append_label(text, point->key, point->text);
		else if (point->key)
			append_number_label(text, point->key, point->number);
		g_string_append_c(text, '}');
	}
	g_string_append_printf(text, " %s\n", g_ascii_dtostr(digits, sizeof(digits), point->value));
}

gchar *live_metrics_text(const LiveSeries *series)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < N_LIVE_SERIES; i++) {
		const struct live_series_kind *kind = live_series_kind(i);

		g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n", kind->name, kind->help,
				       kind->name, kind->is_counter ? "counter" : "gauge");
		FOR_EACH(const struct live_point, point, series->points[i])
			append_point(text, series, kind->name, point);
	}
	return g_string_free(text, FALSE);
}
