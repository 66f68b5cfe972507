/* precision_predict: what a step takes and holds when operations compute as a plan says. */
#include "cli.h"
#include "precision_runs.h"

static const gchar usage[] = "RUN... [--plan FILE]... [--uniform FORMAT]...";
static const gchar description[] =
	"Predicts a step of a job in which each operation computes in a format of its own, from "
	"recordings\n"
	"of the job in one format each ('tacho record --precision bf16'), one of them in fp32. A "
	"RUN is a path,\n"
	"or FORMAT=PATH where the recording does not say what it is in. Of several in one format "
	"the one with\n"
	"the median step counts, without what recording took. Of several plans there is a row "
	"each.\n"
	"\n"
	"Examples:\n"
	"  tacho precision predict fp32.tacho bf16.tacho --casts casts.json --plan plan.json\n"
	"  tacho precision predict fp32.tacho bf16.tacho --plan a.json --plan b.json --uniform "
	"bf16\n"
	"  tacho precision predict fp32=a.tacho bf16=b.tacho --uniform bf16 --json\n";

#define MAX_ROWS 40

struct options {
	gchar **runs, **plans, **formats;
	gchar *casts, *registry;
	gboolean are_casts_free, are_casts_shared, with_json, with_all;
};

static void print_bytes(const gchar *title, gdouble bytes, gdouble before)
{
	g_autofree gchar *text = g_format_size((guint64)bytes);
	g_autofree gchar *other = before >= 0 ? g_format_size((guint64)before) : NULL;

	printf("%s%s", title, text);
	if (other)
		printf("  (reference %s)", other);
	printf("\n");
}

static void print_notes(const TachoPrecisionForecast *forecast)
{
	if (forecast->notes->len > 0)
		printf("\n");
	for (guint i = 0; i < forecast->notes->len; i++)
		cli_print_prose("- %s", (const gchar *)forecast->notes->pdata[i]);
}

static void print_sources(const TachoPrecisionForecast *forecast)
{
	printf("\nRecordings\n");
	cli_print_table(forecast->runs);
	printf("\nCasts\n");
	cli_print_table(forecast->casts);
}

static void print_text(const TachoPrecisionForecast *forecast, gboolean with_all)
{
	printf("reference step  %10.3f ms  (recorded %.3f)\n", forecast->reference_step_ms,
	       forecast->recorded_step_ms);
	printf("predicted step  %10.3f ms  (%+.1f %%)\n", forecast->predicted_step_ms,
	       forecast->reference_step_ms > 0
		       ? 100 * (forecast->predicted_step_ms / forecast->reference_step_ms - 1)
		       : 0);
	printf("nine in ten     %10.3f to %.3f ms\n", forecast->interval_ms[0],
	       forecast->interval_ms[1]);
	printf("casts           %10.3f ms forward, %.3f ms backward, %u a step\n",
	       forecast->forward_cast_ms, forecast->backward_cast_ms, forecast->n_casts);
	printf("measured        %10.1f %% of what operations and casts take\n",
	       forecast->measured_pct);
	print_bytes("kept for the backward pass  ", forecast->saved_bytes, -1);
	if (forecast->peak_bytes >= 0)
		print_bytes("peak memory     ", forecast->peak_bytes,
			    forecast->reference_peak_bytes);
	if (tacho_table_n_rows(forecast->ranks) > 1) {
		printf("\nRanks\n");
		cli_print_table(forecast->ranks);
	}
	print_sources(forecast);
	printf("\nOperations\n");
	if (!with_all)
		tacho_table_limit(forecast->operations, MAX_ROWS);
	cli_print_table(forecast->operations);
	print_notes(forecast);
}

/* Several plans of one job, a row each; what was recorded is the same for all. */
static void print_plans(const GPtrArray *forecasts)
{
	const TachoPrecisionForecast *first = forecasts->pdata[0];
	g_autoptr(TachoTable) table = tacho_precision_forecasts_table(forecasts);

	printf("reference step  %10.3f ms  (recorded %.3f)\n\n", first->reference_step_ms,
	       first->recorded_step_ms);
	cli_print_table(table);
	print_sources(first);
	print_notes(first);
}

/* TachoPlan of each file; NULL: one cannot be read. */
static GPtrArray *read_plans(gchar **paths, GError **error)
{
	g_autoptr(GPtrArray) plans =
		g_ptr_array_new_with_free_func((GDestroyNotify)tacho_plan_free);

	for (gchar **path = paths; path && *path; path++) {
		TachoPlan *plan = tacho_plan_read(*path, error);

		if (!plan)
			return NULL;
		g_ptr_array_add(plans, plan);
	}
	return g_steal_pointer(&plans);
}

/* TachoPrecisionForecast of each plan, then of each format; NULL: one of them cannot be predicted. */
static GPtrArray *predict_all(const TachoPrecisionJob *job, const struct options *options,
			      const GPtrArray *plans, GError **error)
{
	g_autoptr(GPtrArray) forecasts =
		g_ptr_array_new_with_free_func((GDestroyNotify)tacho_precision_forecast_free);

	for (guint i = 0; i < plans->len; i++) {
		TachoPrecisionForecast *forecast =
			tacho_precision_job_predict(job, plans->pdata[i], options->plans[i], error);

		if (!forecast) {
			g_prefix_error(error, "%s: ", options->plans[i]);
			return NULL;
		}
		g_ptr_array_add(forecasts, forecast);
	}
	for (gchar **format = options->formats; format && *format; format++) {
		TachoPrecisionForecast *forecast =
			tacho_precision_job_predict(job, NULL, *format, error);

		if (!forecast)
			return NULL;
		g_ptr_array_add(forecasts, forecast);
	}
	return g_steal_pointer(&forecasts);
}

static void print_all(const struct options *options, const GPtrArray *forecasts)
{
	const TachoPrecisionForecast *first = forecasts->pdata[0];

	if (forecasts->len > 1 && options->with_json)
		tacho_precision_forecasts_print_json(forecasts, stdout);
	else if (forecasts->len > 1)
		print_plans(forecasts);
	else if (options->with_json)
		tacho_precision_forecast_print_json(first, stdout);
	else
		print_text(first, options->with_all);
}

static int predict(const struct options *options, int argc, char **argv)
{
	GError *error = NULL;
	g_autoptr(TachoPrecisionJob) job = NULL;
	g_autoptr(GPtrArray) plans = NULL, forecasts = NULL;

	if (!options->plans && !options->formats)
		return cli_fail("precision predict",
				"name a plan with --plan, or one format for all operations with "
				"--uniform (see 'tacho precision predict --help')");
	plans = read_plans(options->plans, &error); /* before what takes long */
	if (!plans)
		return cli_fail_error("precision predict", error);
	job = precision_runs_open("precision predict", argc, argv, options->runs, options->casts,
				  options->registry);
	if (!job)
		return CLI_BAD;
	tacho_precision_job_set_casts(job, options->are_casts_free, options->are_casts_shared);
	forecasts = predict_all(job, options, plans, &error);
	if (!forecasts)
		return cli_fail_error("precision predict", error);
	print_all(options, forecasts);
	return CLI_DONE;
}

int tacho_precision_predict_main(int argc, char **argv)
{
	struct options options = { 0 };
	const GOptionEntry entries[] = {
		{ "run", 'r', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.runs,
		  "a recording, as an argument (may be given several times)", "[FORMAT=]RUN" },
		{ "plan", 'p', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.plans,
		  "what operations compute in: a plan of tacho's (docs/plan.md; may be given "
		  "several times)",
		  "FILE" },
		{ "uniform", 'u', 0, G_OPTION_ARG_STRING_ARRAY, &options.formats,
		  "all operations that can compute in FORMAT (may be given several times)",
		  "FORMAT" },
		{ "casts", 'c', 0, G_OPTION_ARG_FILENAME, &options.casts,
		  "what casts take, of 'tacho calibrate casts'", "FILE" },
		{ "registry", 0, 0, G_OPTION_ARG_FILENAME, &options.registry,
		  "kernels of one's own, from a file (docs/precision-registry.md)", "FILE" },
		{ "shared-casts", 0, 0, G_OPTION_ARG_NONE, &options.are_casts_shared,
		  "cast a tensor to a format once for all that read it, as compilers do", NULL },
		{ "no-casts", 0, 0, G_OPTION_ARG_NONE, &options.are_casts_free,
		  "let casts take no time, to see what they do", NULL },
		{ "all", 'a', 0, G_OPTION_ARG_NONE, &options.with_all, "print every operation",
		  NULL },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.with_json, "print JSON, for programs",
		  NULL },
		CLI_WIDTH_OPTIONS(0),
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_BAD;

	if (cli_parse("precision predict", usage, description, entries, &argc, &argv))
		status = cli_finish("precision predict", predict(&options, argc, argv));
	g_strfreev(options.runs);
	g_strfreev(options.plans);
	g_strfreev(options.formats);
	g_free(options.casts);
	g_free(options.registry);
	return status;
}
