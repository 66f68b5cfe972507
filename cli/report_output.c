#include "report_output.h"

#include <string.h>

#include <tacho/export.h>
#include <tacho/words.h>

#include "cli.h"

#define OUTFILE "outfile=" /* as tfprof has it before the file */

/* The steps that the filter names; which of their slices go out is told one by one. */
static TachoExportOptions scope_of(const TachoFilter *filter, const guint8 *slices)
{
	TachoExportOptions scope = TACHO_EXPORT_OPTIONS_INIT;

	scope.rank = filter->rank;
	scope.first_step = filter->first_step;
	scope.last_step = filter->last_step;
	scope.is_whole = filter->is_whole;
	scope.only = slices;
	return scope;
}

static gboolean write_timeline(const struct report_output *output, const TachoTimeline *timeline,
			       const TachoFilter *filter, FILE *out, GError **error)
{
	g_autofree guint8 *slices = tacho_view_slices(output->view, timeline, filter);
	TachoExportOptions scope = scope_of(filter, slices);

	return tacho_export_chrome(timeline, &scope, out, error);
}

static gboolean write_pprof(const struct report_output *output, const TachoTimeline *timeline,
			    const TachoFilter *filter, FILE *out, GError **error)
{
	TachoTable *table = strcmp(output->view, "code") == 0 ? tacho_view_code(timeline, filter)
							      : tacho_view_scope(timeline, filter);
	gboolean is_written = tacho_export_rows_pprof(table, timeline, output->metric, out, error);

	tacho_table_free(table);
	return is_written;
}

static const struct {
	const gchar *name, *views;
	gboolean (*write)(const struct report_output *output, const TachoTimeline *timeline,
			  const TachoFilter *filter, FILE *out, GError **error);
} types[] = {
	{ "timeline", "scope, code, graph", write_timeline },
	{ "pprof", "scope, code", write_pprof },
};

/* A sample has one value. */
static gboolean choose_metric(struct report_output *output, const TachoProfileOptions *profile)
{
	guint n = 0;

	for (guint metric = 0; metric < TACHO_N_METRICS; metric++) {
		if (!(profile->select >> metric & 1))
			continue;
		output->metric = (TachoMetric)metric;
		n++;
	}
	if (n == 1)
		return TRUE;
	cli_fail("report",
		 "--output pprof: a profile is of one figure, and --select names %u; name one "
		 "of micros, bytes, float_ops ...",
		 n);
	return FALSE;
}

gboolean report_output_init(struct report_output *output, const gchar *text, const gchar *view,
			    const TachoProfileOptions *profile)
{
	static const gchar *const names[] = { "timeline", "pprof", NULL };
	g_auto(GStrv) words = g_strsplit(text, ":", 2);
	const gchar *path = words[0] ? words[1] : NULL;
	g_autofree gchar *there = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
		g_auto(GStrv) views = g_strsplit(types[i].views, ", ", -1);

		if (g_strcmp0(words[0], types[i].name) != 0)
			continue;
		if (path && g_str_has_prefix(path, OUTFILE))
			path += strlen(OUTFILE);
		if (!path || !*path) {
			cli_fail("report", "--output %s: name the file, as in --output %s:FILE",
				 types[i].name, types[i].name);
			return FALSE;
		}
		if (!view || !g_strv_contains((const gchar *const *)views, view)) {
			cli_fail("report",
				 "--output %s is of one view: choose --view with one of %s",
				 types[i].name, types[i].views);
			return FALSE;
		}
		output->write = types[i].write;
		output->view = view;
		output->path = g_strdup(path);
		return types[i].write != write_pprof || choose_metric(output, profile);
	}
	there = tacho_did_you_mean(words[0] ? words[0] : "", names);
	cli_fail("report", "--output: there is no type '%s'%s", words[0] ? words[0] : "", there);
	return FALSE;
}

void report_output_release(struct report_output *output)
{
	g_free(output->path);
}

int report_output_write(const struct report_output *output, const TachoTimeline *timeline,
			const TachoFilter *filter)
{
	GError *error = NULL;
	g_autoptr(NewFile) file = new_file_open(output->path, output->is_forced, &error);

	if (!file)
		return cli_fail_error("report", error);
	if (!output->write(output, timeline, filter, new_file_stream(file), &error)) {
		g_prefix_error(&error, "cannot write '%s': ", output->path);
		return cli_fail_error("report", error);
	}
	if (!new_file_finish(g_steal_pointer(&file), &error))
		return cli_fail_error("report", error);
	fprintf(stderr, "Wrote %s.\n", output->path);
	return CLI_DONE;
}
