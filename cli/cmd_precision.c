/* cmd_precision: with which numbers operations are to compute: the graph, predictions, harm, and the plan. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tacho/info.h>
#include <tacho/precision.h>
#include <tacho/words.h>

#include "cli.h"
#include "new_file.h"
#include "precision_runs.h"

static const gchar usage[] = "plan RUN...|--problem FILE [--statistics FILE] [-o PLAN]\n"
			     "  tacho precision indicator --statistics FILE";
static const gchar description[] =
	"plan        look for the plan of precisions that harms the training least within bounds "
	"of\n"
	"            time and memory: operation, precision, time saved, harm, why\n"
	"indicator   say which operations are sensitive to fewer bits, and why\n"
#define PRECISION_COMMAND(name, function, text) text
#include "precision_commands.def"
#undef PRECISION_COMMAND
	"\n"
	"Examples:\n"
	"  tacho precision indicator --statistics statistics.json\n"
	"  tacho precision plan fp32.tacho bf16.tacho --casts casts.json --statistics "
	"statistics.json "
	"--keep-within 5%\n"
	"  tacho precision plan --problem problem.json --memory 12GB -o plan.json && tacho apply "
	"plan.json -- python3 train.py\n";

struct options {
	gchar *problem, *statistics, *indicator, *within, *no_slower, *memory, *form, *output;
	gchar *worker, *bits, *written, *casts, *registry;
	gboolean is_forced, with_json, with_front;
};

/* Parts that have options of their own. */
static const struct {
	const gchar *name;
	int (*run)(int argc, char **argv);
} others[] = {
#define PRECISION_COMMAND(name, function, text) { #name, function },
#include "precision_commands.def"
#undef PRECISION_COMMAND
	{ NULL, NULL },
};

static const gchar *const forms[] = { "table", "json", "npy", "svg", NULL };
enum form { FORM_TABLE, FORM_JSON, FORM_NPY, FORM_SVG };

/* --- options ------------------------------------------------------------------------------------ */

/* "5%", "5": percent; -1 where nothing was said. */
static gboolean parse_percent(const gchar *text, gdouble *ret_pct)
{
	gchar *end;

	*ret_pct = -1;
	if (!text)
		return TRUE;
	*ret_pct = g_ascii_strtod(text, &end);
	if (end != text && (!*end || strcmp(end, "%") == 0) && *ret_pct >= 0 && *ret_pct <= 1e6)
		return TRUE;
	cli_fail("precision", "--keep-within is a number of percent, as in 5%%, not '%s'", text);
	return FALSE;
}

/* "12GB", "500m": bytes. */
static gboolean parse_memory(const gchar *text, guint64 *ret_bytes)
{
	static const struct {
		const gchar *name;
		gdouble bytes;
	} units[] = { { "", 1 },       { "b", 1 },	  { "k", 0x1p10 }, { "kib", 0x1p10 },
		      { "m", 0x1p20 }, { "mib", 0x1p20 }, { "g", 0x1p30 }, { "gib", 0x1p30 },
		      { "t", 0x1p40 }, { "tib", 0x1p40 }, { "kb", 1e3 },   { "mb", 1e6 },
		      { "gb", 1e9 },   { "tb", 1e12 } };
	gchar *end;
	gdouble number;

	*ret_bytes = 0;
	if (!text)
		return TRUE;
	number = g_ascii_strtod(text, &end);
	for (guint i = 0; i < G_N_ELEMENTS(units) && end != text && g_ascii_isdigit(*text); i++)
		if (g_ascii_strcasecmp(end, units[i].name) == 0 && number * units[i].bytes >= 1 &&
		    number * units[i].bytes < 1e18) {
			*ret_bytes = (guint64)(number * units[i].bytes);
			return TRUE;
		}
	cli_fail("precision",
		 "--memory is a number of bytes, as in 12GB, 500m or 1000000, not '%s'", text);
	return FALSE;
}

/* "93.5ms", "0.2s": a time. */
static gboolean is_time(const gchar *text, gdouble *ret_ms)
{
	gchar *end;
	gdouble number = g_ascii_strtod(text, &end);

	if (end == text || !g_ascii_isdigit(*text) || !(number > 0 && number < 1e9))
		return FALSE;
	*ret_ms = strcmp(end, "s") == 0 ? 1000 * number : number;
	return strcmp(end, "ms") == 0 || strcmp(end, "s") == 0;
}

/* A time, or a run whose steps' median it is. */
static gboolean parse_step(gchar *text, gdouble *ret_ms)
{
	gchar *arguments[] = { "precision", text, NULL };
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoInfo) info = NULL;

	*ret_ms = 0;
	if (!text || is_time(text, ret_ms))
		return TRUE;
	if (!g_file_test(text, G_FILE_TEST_EXISTS)) {
		cli_fail("precision",
			 "--no-slower-than is a step's time, as in 93.5ms or 0.2s, or a run, not "
			 "'%s'",
			 text);
		return FALSE;
	}
	timeline = cli_open_runs("precision", 2, arguments);
	if (!timeline)
		return FALSE;
	info = tacho_info_new(timeline);
	*ret_ms = info->step_median_ms;
	if (*ret_ms > 0)
		return TRUE;
	cli_fail("precision", "%s has no steps", text);
	return FALSE;
}

static gboolean parse_form(const struct options *options, enum form *ret_form)
{
	g_autofree gchar *there = NULL;

	*ret_form = options->with_json ? FORM_JSON : FORM_TABLE;
	if (!options->form)
		return TRUE;
	for (guint i = 0; forms[i]; i++)
		if (strcmp(forms[i], options->form) == 0) {
			*ret_form = (enum form)i;
			return TRUE;
		}
	there = tacho_did_you_mean(options->form, forms);
	cli_fail("precision", "--to: there is no '%s'%s", options->form, there);
	return FALSE;
}

/* --- read --------------------------------------------------------------------------------------- */

/* FALSE: it was named and cannot be read. */
static gboolean read_statistics(const struct options *options, TachoPrecisionStatistics **ret)
{
	GError *error = NULL;

	*ret = NULL;
	if (!options->statistics)
		return TRUE;
	*ret = tacho_precision_statistics_read(options->statistics, &error);
	if (!*ret)
		cli_fail_error("precision", error);
	return *ret != NULL;
}

static TachoPrecisionProblem *problem_of_runs(const struct options *options, int argc, char **argv,
					      GError **error)
{
	g_autoptr(GPtrArray) runs = g_ptr_array_new();
	TachoPrecisionInputs inputs = { .casts = options->casts, .registry = options->registry };

	for (int i = 2; i < argc; i++)
		g_ptr_array_add(runs, argv[i]);
	g_ptr_array_add(runs, NULL);
	inputs.runs = (const gchar *const *)runs->pdata;
	return tacho_precision_problem_of_runs(&inputs, error);
}

/* The problem of the runs from argv[2] on, or of a file; NULL in `ret` where there is neither. FALSE: it cannot be had. */
static gboolean read_problem(const struct options *options, int argc, char **argv,
			     TachoPrecisionProblem **ret)
{
	GError *error = NULL;

	*ret = NULL;
	if (options->problem && argc > 2) {
		cli_fail("precision", "leave out --problem, or the runs");
		return FALSE;
	}
	if (!options->problem && argc <= 2)
		return TRUE;
	*ret = options->problem ? tacho_precision_problem_read(options->problem, &error)
				: problem_of_runs(options, argc, argv, &error);
	if (*ret && options->registry && options->problem && /* recordings have been read with it */
	    !tacho_precision_problem_register(*ret, options->registry, &error))
		g_clear_pointer(ret, tacho_precision_problem_free);
	if (!*ret)
		cli_fail_error("precision", error);
	return *ret != NULL;
}

/* --- indicator ----------------------------------------------------------------------------------- */

static int list_indicators(void)
{
	const gchar *name, *text;

	for (guint i = 0; (name = tacho_precision_indicator(i, &text)); i++)
		printf("%-16s %s\n", name, text);
	return CLI_DONE;
}

static int indicator(const struct options *options, int argc, char **argv)
{
	g_autoptr(TachoPrecisionStatistics) statistics = NULL;
	g_autoptr(TachoPrecisionProblem) problem = NULL;
	g_autoptr(TachoTable) table = NULL;
	GError *error = NULL;

	if (g_strcmp0(options->indicator, "list") == 0)
		return list_indicators();
	if (!options->statistics)
		return cli_fail("precision", "name the statistics: --statistics FILE");
	if (!read_statistics(options, &statistics) || !read_problem(options, argc, argv, &problem))
		return CLI_BAD;
	table = tacho_precision_indicator_table(
		statistics, problem, options->indicator ? options->indicator : "loss", &error);
	if (!table)
		return cli_fail_error("precision", error);
	if (options->with_json)
		tacho_table_print_json(table, stdout);
	else
		cli_print_table(table);
	return CLI_DONE;
}

/* --- plan --------------------------------------------------------------------------------------- */

static void print_line(const gchar *name, gdouble ms, const TachoPrecisionPlan *plan, gdouble harm)
{
	printf("%-9s %10.3f ms", name, ms);
	if (plan->has_harm)
		printf("   harm %.4g", harm);
	putchar('\n');
}

/* How near the plan is to the least harm; the caller's. */
static gchar *gap_text(const TachoPrecisionPlan *plan)
{
	if (plan->is_least_proven)
		return g_strdup("is proven to harm least");
	if (plan->has_harm && plan->harm <= 2 * plan->least_harm) /* else it says nothing */
		return g_strdup_printf("harms at most %.1f %% more than any within the bounds",
				       MAX(100 * (plan->harm / plan->least_harm - 1), 0));
	return g_strdup("is not proven to harm least");
}

static void print_text(const TachoPrecisionPlan *plan)
{
	g_autofree gchar *gap = gap_text(plan);

	print_line("recorded", plan->recorded_step_ms, plan, plan->recorded_harm);
	print_line("fastest", plan->fastest_step_ms, plan, plan->fastest_harm);
	print_line("plan", plan->step_ms, plan, plan->harm);
	printf("          %10.3f to %.3f ms, by %s; the bound is %.3f ms, which leaves %.1f %%; "
	       "predictions of changes are wrong by %.1f %%\n",
	       plan->interval_ms[0], plan->interval_ms[1],
	       plan->is_by_replay ? "a replay" : "the model of costs", plan->bound_ms,
	       plan->margin_pct, plan->error_pct);
	printf("          the fastest plan is %s; the plan %s; %.1f %% of the step's time has "
	       "measured "
	       "costs\n\n",
	       plan->is_fastest_proven ? "proven to be so" : "not proven to be so", gap,
	       plan->coverage_pct);
	cli_print_table(plan->operations);
	printf("\n");
	cli_print_table(plan->workers);
	if (plan->front) {
		printf("\nPlans of which none is better than another in time, memory and harm\n");
		cli_print_table(plan->front);
	}
	if (plan->notes->len > 0)
		printf("\n");
	for (guint i = 0; i < plan->notes->len; i++)
		cli_print_prose("- %s", (const gchar *)plan->notes->pdata[i]);
}

/* The plan in a form; FALSE: it cannot be said, which has been told. */
static gboolean write_form(const TachoPrecisionPlan *plan, const TachoPrecisionProblem *problem,
			   const struct options *options, enum form form, FILE *out)
{
	g_autoptr(GBytes) bytes = NULL;
	GError *error = NULL;
	gconstpointer data;
	guint worker;
	gsize n;

	if (form == FORM_SVG) {
		tacho_precision_plan_print_svg(plan, out);
		return TRUE;
	}
	if (form != FORM_NPY && !options->worker && plan->joint) {
		tacho_plan_write(plan->joint, out);
		return TRUE;
	}
	if (!tacho_precision_plan_find_worker(plan, options->worker, &worker, &error)) {
		cli_fail_error("precision", error);
		return FALSE;
	}
	if (form != FORM_NPY) {
		tacho_plan_write(plan->plans->pdata[worker], out);
		return TRUE;
	}
	bytes = tacho_precision_plan_bits(plan, problem, worker);
	data = g_bytes_get_data(bytes, &n);
	fwrite(data, 1, n, out);
	return TRUE;
}

static gboolean write_file(const TachoPrecisionPlan *plan, const TachoPrecisionProblem *problem,
			   const struct options *options, enum form form)
{
	GError *error = NULL;
	g_autoptr(NewFile) file = new_file_open(options->output, options->is_forced, &error);

	if (file && !write_form(plan, problem, options, form, new_file_stream(file)))
		return FALSE;
	if (file && new_file_finish(g_steal_pointer(&file), &error))
		return TRUE;
	cli_fail_error("precision", error);
	return FALSE;
}

static gboolean write_problem(const TachoPrecisionProblem *problem, const struct options *options)
{
	GError *error = NULL;
	g_autoptr(NewFile) file = new_file_open(options->written, options->is_forced, &error);

	if (file)
		tacho_precision_problem_write(problem, new_file_stream(file));
	if (file && new_file_finish(g_steal_pointer(&file), &error))
		return TRUE;
	cli_fail_error("precision", error);
	return FALSE;
}

static int tell(const TachoPrecisionPlan *plan, const TachoPrecisionProblem *problem,
		const struct options *options, enum form form)
{
	if (!options->output && (form == FORM_NPY || form == FORM_SVG))
		return write_form(plan, problem, options, form, stdout) ? CLI_DONE : CLI_BAD;
	if (form == FORM_JSON)
		tacho_precision_plan_print_json(plan, stdout);
	else
		print_text(plan);
	fflush(stdout);
	if (!options->output)
		return CLI_DONE;
	if (!write_file(plan, problem, options, form))
		return CLI_BAD;
	if (form == FORM_TABLE)
		printf("\nThe plan is in %s. Next: tacho apply %s -- COMMAND\n", options->output,
		       options->output);
	return CLI_DONE;
}

static int plan(const struct options *options, int argc, char **argv)
{
	g_autoptr(TachoPrecisionStatistics) statistics = NULL;
	g_autoptr(TachoPrecisionProblem) problem = NULL;
	g_autoptr(TachoPrecisionPlan) found = NULL;
	TachoPrecisionOptions how = { .indicators = options->indicator,
				      .bits_path = options->bits };
	GError *error = NULL;
	enum form form;

	if (!parse_percent(options->within, &how.within_pct) ||
	    !parse_step(options->no_slower, &how.no_slower_ms) ||
	    !parse_memory(options->memory, &how.memory_bytes) || !parse_form(options, &form))
		return CLI_BAD;
	if (!options->problem && argc <= 2)
		return cli_fail("precision",
				"name recordings of the job, or the problem: --problem FILE");
	if (!read_problem(options, argc, argv, &problem) || !read_statistics(options, &statistics))
		return CLI_BAD;
	how.statistics = statistics;
	how.with_front = options->with_front || form == FORM_SVG;
	found = tacho_precision_plan(problem, &how, &error);
	if (!found) {
		gboolean is_no = g_error_matches(error, TACHO_PRECISION_ERROR,
						 TACHO_PRECISION_ERROR_NO_PLAN);

		cli_fail_error("precision", error);
		return is_no ? CLI_NO : CLI_BAD;
	}
	if (options->written && !write_problem(problem, options))
		return CLI_BAD;
	return tell(found, problem, options, form);
}

static int precision_with(const struct options *options, int argc, char **argv)
{
	static const gchar *const names[] = { "plan", "indicator",
#define PRECISION_COMMAND(name, function, text) #name,
#include "precision_commands.def"
#undef PRECISION_COMMAND
					      NULL };
	g_autofree gchar *there = NULL;

	if (argc < 2)
		return cli_fail("precision",
				"say what to do: plan or indicator (see 'tacho precision "
				"--help')");
	if (strcmp(argv[1], "plan") == 0)
		return plan(options, argc, argv);
	if (strcmp(argv[1], "indicator") == 0)
		return indicator(options, argc, argv);
	there = tacho_did_you_mean(argv[1], names);
	return cli_fail("precision", "there is no '%s'%s", argv[1], there);
}

int cmd_precision(int argc, char **argv)
{
	struct options options = { .problem = NULL };
	const GOptionEntry entries[] = {
		{ "problem", 'p', 0, G_OPTION_ARG_FILENAME, &options.problem,
		  "operations and their costs from a file", "FILE" },
		{ "statistics", 's', 0, G_OPTION_ARG_FILENAME, &options.statistics,
		  "what was measured of the tensors, from a file", "FILE" },
		{ "casts", 'c', 0, G_OPTION_ARG_FILENAME, &options.casts,
		  "what casts take, from tacho calibrate casts", "FILE" },
		{ "registry", 0, 0, G_OPTION_ARG_FILENAME, &options.registry,
		  "kernels of one's own, from a file", "FILE" },
		{ "indicator", 'i', 0, G_OPTION_ARG_STRING, &options.indicator,
		  "how harm is predicted (default: loss), or several with weights, as in "
		  "loss,gradient:0.5; 'list' lists them",
		  "NAME" },
		{ "keep-within", 0, 0, G_OPTION_ARG_STRING, &options.within,
		  "steps up to that much longer than the fastest plan's (default: 5%)", "PCT" },
		{ "no-slower-than", 0, 0, G_OPTION_ARG_STRING, &options.no_slower,
		  "steps up to that time, or those of a run", "MS|RUN" },
		{ "memory", 0, 0, G_OPTION_ARG_STRING, &options.memory,
		  "what the fullest memory may hold, as in 12GB", "BYTES" },
		{ "front", 0, 0, G_OPTION_ARG_NONE, &options.with_front,
		  "show also plans at other bounds of time and memory", NULL },
		{ "bits", 0, 0, G_OPTION_ARG_FILENAME, &options.bits,
		  "judge this bit plan of QSync's instead of looking for one", "FILE" },
		{ "to", 0, 0, G_OPTION_ARG_STRING, &options.form,
		  "what to write: table, json, npy (bits as QSync has them), svg (the front)",
		  "FORM" },
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
		  "write the plan there, as tacho apply takes it, or as --to says", "FILE" },
		{ "worker", 0, 0, G_OPTION_ARG_STRING, &options.worker,
		  "write the plan of this worker alone, where they are of several kinds", "NAME" },
		{ "write-problem", 0, 0, G_OPTION_ARG_FILENAME, &options.written,
		  "write the problem there, with its harms", "FILE" },
		{ "force", 'f', 0, G_OPTION_ARG_NONE, &options.is_forced,
		  "replace files that exist", NULL },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.with_json, "print JSON, for programs",
		  NULL },
		CLI_WIDTH_OPTIONS('w'),
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_BAD;

	for (guint i = 0; argc > 1 && others[i].name; i++)
		if (strcmp(argv[1], others[i].name) == 0)
			return others[i].run(argc - 1, argv + 1);
	if (cli_parse("precision", usage, description, entries, &argc, &argv))
		status = cli_finish("precision", precision_with(&options, argc, argv));
	g_free(options.problem);
	g_free(options.statistics);
	g_free(options.indicator);
	g_free(options.within);
	g_free(options.no_slower);
	g_free(options.memory);
	g_free(options.form);
	g_free(options.output);
	g_free(options.worker);
	g_free(options.bits);
	g_free(options.written);
	g_free(options.casts);
	g_free(options.registry);
	return status;
}
