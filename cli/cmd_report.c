/* cmd_report: where the time of a run goes. */
#include <string.h>

#include <tacho/analyze.h>
#include <tacho/info.h>
#include <tacho/optimize.h>
#include <tacho/words.h>

#include "cli.h"
#include "follow_report.h"
#include "peer_processes.h"
#include "report_head.h"
#include "report_output.h"
#include "report_prompt.h"
#include "option_values.h"

/* What a report has where no view was asked for. */
static const gchar *const summary_views[] = { "step", "op", "kernel", "comm" };

/* What several processes make together: each has its share of the ranks (docs/fleet.md). */
static const gchar *const shared_views[] = {
	"op",	   "step",    "kernel", "scope",     "code",	"comm",
	"message", "latency", "hang",	"straggler", "goodput",
};

/* Names of these characters need no quotes in a shell. */
#define PLAIN_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@%+="

#define SUMMARY_ROWS 10 /* of each view where none was asked for */
#define VIEW_ROWS    30

static const gchar usage[] = "RUN...";
static const gchar description[] = "Views:\n"
#define VIEW_HELP(name, parts, description) "  " #name "\t" description "\n"
	TACHO_VIEWS(VIEW_HELP)
#undef VIEW_HELP
		"\n"
		"Several RUNs are reported as one. Without --view it prints a summary. The first "
		"steps\n"
		"are warm-up and are left out, unless --steps asks for them.\n"
		"\n"
		"Examples:\n"
		"  tacho report base.tacho                             a summary\n"
		"  tacho report base.tacho --view op --name conv       operations named so\n"
		"  tacho report base.tacho --view step --all           every step of every rank\n"
		"  tacho report base.tacho --view step --json | jq .   the same for programs\n"
		"  tacho report base.tacho --prompt                    one view after the other\n";

typedef TachoTable *(*ViewFunction)(const TachoTimeline *timeline, const TachoFilter *filter);

struct view {
	const gchar *name, *description;
	guint parts; /* TachoFilterPart: what it goes by */
	ViewFunction run;
};

static const struct view views[] = {
#define VIEW_ROW(name, parts, description) { #name, description, parts, tacho_view_##name },
	TACHO_VIEWS(VIEW_ROW)
#undef VIEW_ROW
};

/* Options of the profile views; tacho_profile_options_set() has '_' for '-' in their names. */
enum {
	OPTION_SELECT,
	OPTION_ORDER,
	OPTION_ACCOUNT,
	OPTION_START,
	OPTION_TRIM,
	OPTION_SHOW,
	OPTION_HIDE,
	OPTION_MIN,
	OPTION_DEPTH,
	OPTION_DISPLAYED,
	OPTION_MEAN,
	OPTION_CHECKPOINT,
	N_PROFILE_OPTIONS
};

static const gchar *const profile_names[N_PROFILE_OPTIONS] = {
	"select", "order-by", "account",   "start",	     "trim", "show",
	"hide",	  "min",      "max-depth", "displayed-only", "mean", "checkpoint",
};

struct options {
	gchar **views;
	gchar **profile[N_PROFILE_OPTIONS];
	gchar *name, *device, *steps, *sort, *annotation, *output;
	gint rank, limit, instance;
	gboolean is_json, is_all, by_shape, is_prompt, is_forced, is_followed;
};

/* What will be printed, and how. */
struct report {
	const struct options *options;
	TachoFilter filter;
	gint limit; /* 0: none was asked for */
	TachoProfileOptions *profile;
	struct report_output output; /* `write` NULL: none was asked for */
	const struct view *chosen[G_N_ELEMENTS(views)];
	guint n_chosen;
	GPtrArray *tables;     /* TachoTable *, beside chosen */
	gboolean is_at_prompt; /* where the head was printed once */
};

static const struct view *find_view(const gchar *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(views); i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

static void choose(struct report *report, const struct view *view)
{
	for (guint i = 0; i < report->n_chosen; i++)
		if (report->chosen[i] == view)
			return;
	report->chosen[report->n_chosen++] = view;
}

static gboolean choose_views(struct report *report)
{
	for (guint i = 0; report->options->views && report->options->views[i]; i++) {
		const struct view *view = find_view(report->options->views[i]);

		if (!view) {
			static const gchar *const names[] = {
#define VIEW_NAME(name, parts, description) #name,
				TACHO_VIEWS(VIEW_NAME)
#undef VIEW_NAME
					NULL
			};
			g_autofree gchar *there =
				tacho_did_you_mean(report->options->views[i], names);

			cli_fail("report", "there is no view '%s'%s", report->options->views[i],
				 there);
			return FALSE;
		}
		choose(report, view);
	}
	if (report->n_chosen == 0)
		for (guint i = 0; i < G_N_ELEMENTS(summary_views); i++)
			choose(report, find_view(summary_views[i]));
	return TRUE;
}

static gboolean is_shared(const struct view *view)
{
	for (guint i = 0; i < G_N_ELEMENTS(shared_views); i++)
		if (strcmp(shared_views[i], view->name) == 0)
			return TRUE;
	return FALSE;
}

/* Where there are several processes: whether they can make what was asked for. */
static gboolean check_shared(const struct report *report)
{
	g_autoptr(GString) there = g_string_new(NULL);
	const gchar *other = report->options->output ? "--output" : NULL;

	for (guint i = 0; !other && i < report->n_chosen; i++)
		if (!is_shared(report->chosen[i]))
			other = report->chosen[i]->name;
	if (!other || !peer_processes_borrow())
		return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(shared_views); i++)
		g_string_append_printf(there, " --view %s", shared_views[i]);
	cli_fail(
		"report",
		"several processes cannot make %s%s; they can make:%s. For the rest, run it as one "
		"process, without the launcher",
		other, report->options->output ? "" : " (view)", there->str);
	return FALSE;
}

static gboolean parse_profile(struct report *report)
{
	GError *error = NULL;

	report->profile = tacho_profile_options_new();
	report->filter.profile = report->profile;
	for (guint i = 0; i < N_PROFILE_OPTIONS; i++) {
		g_autofree gchar *name = g_strdelimit(g_strdup(profile_names[i]), "-", '_');

		for (gchar **value = report->options->profile[i]; value && *value; value++)
			if (!tacho_profile_options_set(report->profile, name, *value, &error)) {
				cli_fail_error("report", error);
				return FALSE;
			}
	}
	return TRUE;
}

static gboolean parse_filter(struct report *report)
{
	const struct options *options = report->options;
	gint instance;

	report->filter.by_shape = options->by_shape;
	report->filter.annotation = options->annotation;
	if (!option_number("report", "--instance", options->instance, 0, &instance))
		return FALSE;
	report->filter.instance = (guint)instance;
	return option_number("report", "--rank", options->rank, -1, &report->filter.rank) &&
	       option_number("report", "--limit", options->limit, 0, &report->limit) &&
	       option_steps("report", options->steps, &report->filter.first_step,
			    &report->filter.last_step, &report->filter.is_whole) &&
	       option_regex("report", "--name", options->name, &report->filter.name) &&
	       option_regex("report", "--device", options->device, &report->filter.device);
}

/* Instead of the tables. */
static gboolean parse_output(struct report *report)
{
	const gchar *text = report->options->output;
	const gchar *view = report->n_chosen == 1 ? report->chosen[0]->name : NULL;

	report->output.is_forced = report->options->is_forced;
	return !text || report_output_init(&report->output, text, view, report->profile);
}

/* --- which views an option is for ----------------------------------------------------------------- */

struct asked_part {
	const gchar *option; /* as it was given */
	guint part;
};

static void add_part(GArray *asked, gboolean is_asked, const gchar *option, guint part)
{
	struct asked_part row = { option, part };

	if (is_asked)
		g_array_append_val(asked, row);
}

/* struct asked_part, a row an option that not all views go by. */
static GArray *list_parts(const struct options *options)
{
	GArray *asked = g_array_new(FALSE, FALSE, sizeof(struct asked_part));

	add_part(asked, options->steps != NULL, "steps", TACHO_BY_STEPS);
	add_part(asked, options->name != NULL, "name", TACHO_BY_NAME);
	add_part(asked, options->device != NULL, "device", TACHO_BY_DEVICE);
	add_part(asked, options->by_shape, "shapes", TACHO_BY_SHAPES);
	add_part(asked, options->annotation != NULL, "annotation", TACHO_BY_ANNOTATION);
	add_part(asked, options->instance != OPTION_UNSET, "instance", TACHO_BY_ANNOTATION);
	for (guint i = 0; i < N_PROFILE_OPTIONS; i++)
		add_part(asked, options->profile[i] != NULL, profile_names[i], TACHO_BY_PROFILE);
	return asked;
}

/* "--max-depth is not for step, comm, but for op, scope, code, graph" */
static void refuse_part(const struct report *report, const struct asked_part *asked)
{
	g_autoptr(GString) message = g_string_new(NULL);
	const gchar *comma = "";

	for (guint i = 0; i < report->n_chosen; i++)
		g_string_append_printf(message, "%s%s", i ? ", " : "", report->chosen[i]->name);
	g_string_append(message, "; it applies to ");
	for (guint i = 0; i < G_N_ELEMENTS(views); i++)
		if (views[i].parts & asked->part) {
			g_string_append_printf(message, "%s%s", comma, views[i].name);
			comma = ", ";
		}
	cli_fail("report", "--%s does not apply to %s", asked->option, message->str);
}

/* What no view that is shown goes by is refused. */
static gboolean check_parts(const struct report *report)
{
	g_autoptr(GArray) all = list_parts(report->options);

	for (guint i = 0; i < all->len; i++) {
		const struct asked_part *asked = &g_array_index(all, struct asked_part, i);
		guint parts = 0;

		for (guint k = 0; k < report->n_chosen; k++)
			parts |= report->chosen[k]->parts;
		if (!(parts & asked->part)) {
			refuse_part(report, asked);
			return FALSE;
		}
	}
	return TRUE;
}

/* What other views go by, but not this one, is said under it. */
static void note_parts(const struct report *report, const struct view *view, TachoTable *table)
{
	g_autoptr(GArray) all = list_parts(report->options);

	for (guint i = 0; i < all->len; i++) {
		const struct asked_part *asked = &g_array_index(all, struct asked_part, i);

		if (!(view->parts & asked->part))
			tacho_table_note(
				table,
				"--%s does not apply to the %s view, which shows everything.",
				asked->option, view->name);
	}
}

/* --- sorting ---------------------------------------------------------------------------------- */

/* Numbers from the largest, text from A. */
static gboolean sort_table(TachoTable *table, const gchar *key)
{
	const TachoColumn *column = tacho_table_borrow_column(table, key);

	return column && tacho_table_sort(table, key, column->type != TACHO_COLUMN_TEXT);
}

static gboolean sort_tables(const struct report *report)
{
	const gchar *key = report->options->sort;
	gboolean is_found = FALSE;
	g_autofree gchar *there = NULL;
	g_auto(GStrv) keys = NULL;

	if (!key)
		return TRUE;
	for (guint i = 0; i < report->tables->len; i++)
		is_found |= sort_table(g_ptr_array_index(report->tables, i), key);
	if (is_found)
		return TRUE;
	keys = option_sort_keys(g_ptr_array_index(report->tables, 0));
	there = tacho_did_you_mean(key, (const gchar *const *)keys);
	cli_fail("report", "the %s view cannot be sorted by '%s'%s", report->chosen[0]->name, key,
		 there);
	return FALSE;
}

/* --- printing --------------------------------------------------------------------------------- */

static gboolean is_summary(const struct report *report)
{
	return !report->options->views;
}

static guint row_limit(const struct report *report)
{
	if (report->limit > 0)
		return (guint)report->limit;
	if (report->options->is_all || report->options->is_json)
		return 0;
	return is_summary(report) ? SUMMARY_ROWS : VIEW_ROWS;
}

/* In text, steps are summed up a rank, unless single ones were asked for. */
static TachoTable *make_table(const struct report *report, const TachoTimeline *timeline,
			      const struct view *view)
{
	const struct options *options = report->options;

	if (strcmp(view->name, "step") == 0 && !options->is_json && !options->is_all &&
	    (is_summary(report) || !options->steps))
		return tacho_view_step_summary(timeline, &report->filter);
	return view->run(timeline, &report->filter);
}

/* What one table said needs not be said under the next. */
static void drop_repeated_notes(const struct report *report)
{
	for (guint i = 1; i < report->tables->len; i++)
		for (guint j = 0; j < i; j++)
			tacho_table_drop_notes(g_ptr_array_index(report->tables, i),
					       g_ptr_array_index(report->tables, j));
}

static void print_text(const struct report *report, const TachoInfo *info)
{
	gboolean with_colour = cli_has_colour(stdout);

	drop_repeated_notes(report);
	if (!report->is_at_prompt)
		report_head_print(info, stdout, with_colour);
	for (guint i = 0; i < report->tables->len; i++) {
		TachoTable *table = g_ptr_array_index(report->tables, i);
		const struct view *view =
			i < report->n_chosen ? report->chosen[i] : find_view("advise");
		gboolean is_plan = strcmp(tacho_table_name(table), "plan") == 0;
		g_autofree gchar *heading = g_strdup_printf(
			"%s: %s", is_plan ? "plan" : view->name,
			is_plan ? "the change that shortens the step most" : view->description);

		fputc('\n', stdout);
		report_head_heading(heading, stdout, with_colour);
		cli_print_table(table);
	}
}

/* One view that was asked for is an array of its rows; else an object of views. */
static void print_json(const struct report *report, const TachoInfo *info)
{
	if (!is_summary(report) && report->tables->len == 1)
		tacho_table_print_json(g_ptr_array_index(report->tables, 0), stdout);
	else
		tacho_report_print_json(info, (const TachoTable *const *)report->tables->pdata,
					report->tables->len, stdout);
}

/* What to change first ends a summary. */
static void add_findings(struct report *report, const TachoTimeline *timeline)
{
	TachoTable *findings = tacho_view_findings(timeline, &report->filter);

	if (findings && tacho_table_n_rows(findings) > 0)
		g_ptr_array_add(report->tables, findings);
	else if (findings)
		tacho_table_free(findings);
	else
		tacho_table_note(g_ptr_array_index(report->tables, report->tables->len - 1),
				 "The run is large, so this report gives no advice. Run 'tacho "
				 "report %s --view advise' for it.",
				 report->filter.run);
}

/* Behind them the plan that gains most, of all ranks. */
static void add_plan(struct report *report, TachoTimeline *timeline)
{
	const TachoFilter *filter = &report->filter;
	TachoTable *plan = NULL;

	if (filter->rank < 0)
		plan = tacho_optimize_finding(timeline, filter->is_whole ? -1 : filter->first_step,
					      filter->is_whole ? -1 : filter->last_step);
	if (plan)
		g_ptr_array_add(report->tables, plan);
}

/* As a shell takes them; the caller's. */
static gchar *name_runs(int argc, char **argv)
{
	GString *names = g_string_new(NULL);

	for (int i = 1; i < argc; i++) {
		g_autofree gchar *quoted = g_shell_quote(argv[i]);
		gboolean is_plain =
			*argv[i] && strspn(argv[i], PLAIN_CHARACTERS) == strlen(argv[i]);

		g_string_append_printf(names, "%s%s", i > 1 ? " " : "",
				       is_plain ? argv[i] : quoted);
	}
	return g_string_free(names, FALSE);
}

static int print_report(struct report *report, TachoTimeline *timeline)
{
	g_autoptr(TachoInfo) info = NULL;

	if (!option_rank_in("report", "the run", timeline, report->filter.rank) ||
	    !option_steps_in("report", "the run", timeline, report->filter.first_step,
			     report->filter.last_step))
		return CLI_BAD;
	if (report->output.write)
		return report_output_write(&report->output, timeline, &report->filter);
	for (guint i = 0; i < report->n_chosen; i++) {
		TachoTable *table = make_table(report, timeline, report->chosen[i]);

		note_parts(report, report->chosen[i], table);
		g_ptr_array_add(report->tables, table);
	}
	if (is_summary(report)) {
		add_findings(report, timeline);
		add_plan(report, timeline);
	}
	if (!sort_tables(report))
		return CLI_BAD;
	for (guint i = 0; i < report->tables->len; i++)
		tacho_table_limit(g_ptr_array_index(report->tables, i), row_limit(report));
	info = tacho_info_new(timeline);
	if (!peer_processes_agree())
		return CLI_BAD;
	if (report->options->is_json)
		print_json(report, info);
	else
		print_text(report, info);
	return cli_finish("report", CLI_DONE);
}

/* Of several processes: advice and the plan stand on the slices of all ranks, for which one process has room where a summary
 * has them. */
static gboolean needs_whole(const struct report *report, const TachoTimeline *timeline)
{
	return peer_processes_borrow() && is_summary(report) && tacho_has_findings(timeline);
}

static int report_runs(struct report *report, int argc, char **argv)
{
	g_autoptr(TachoTimeline) timeline = cli_open_runs("report", argc, argv);

	if (!timeline)
		return CLI_BAD;
	if (needs_whole(report, timeline)) {
		if (tacho_peers_index(peer_processes_borrow()) > 0) /* the first does it */
			return peer_processes_agree() ? CLI_DONE : CLI_BAD;
		g_clear_pointer(&timeline, tacho_timeline_free);
		timeline = cli_open_runs_alone("report", argc, argv);
	}
	return timeline ? print_report(report, timeline) : CLI_BAD;
}

/* Report the timeline, or the runs that argv names where it is NULL. */
static int report_with(const struct options *options, TachoTimeline *timeline, int argc,
		       char **argv)
{
	struct report report = { .options = options,
				 .filter = TACHO_FILTER_INIT,
				 .is_at_prompt = timeline != NULL };
	g_autofree gchar *run = name_runs(argc, argv);
	int status = CLI_BAD;

	report.filter.run = *run ? run : NULL; /* at the prompt nobody names it */
	report.tables = g_ptr_array_new_with_free_func((GDestroyNotify)tacho_table_free);
	if (choose_views(&report) && check_parts(&report) && check_shared(&report) &&
	    parse_profile(&report) && parse_filter(&report) && parse_output(&report))
		status = timeline ? print_report(&report, timeline)
				  : report_runs(&report, argc, argv);
	report_output_release(&report.output);
	g_ptr_array_unref(report.tables);
	g_clear_pointer(&report.filter.name, g_regex_unref);
	g_clear_pointer(&report.filter.device, g_regex_unref);
	tacho_profile_options_free(report.profile);
	return status;
}

#define PROFILE(name, option, help, value)                                                         \
	{                                                                                          \
		name, 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->profile[option], help, value      \
	}

static gboolean options_parse(struct options *options, int *argc, char ***argv)
{
	const GOptionEntry entries[] = {
		{ "view", 'v', 0, G_OPTION_ARG_STRING_ARRAY, &options->views,
		  "show only this view (may be given several times)", "VIEW" },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options->is_json, "print JSON, for programs",
		  NULL },
		{ "rank", 'r', 0, G_OPTION_ARG_INT, &options->rank, "only this rank", "N" },
		{ "steps", 's', 0, G_OPTION_ARG_STRING, &options->steps,
		  "only training steps A to B, counted from 0; all: everything recorded",
		  "A:B|all" },
		{ "name", 'n', 0, G_OPTION_ARG_STRING, &options->name,
		  "only operations, kernels and collectives whose name matches", "REGEX" },
		{ "sort", 0, 0, G_OPTION_ARG_STRING, &options->sort,
		  "order the rows by this key of the JSON", "KEY" },
		{ "limit", 'l', 0, G_OPTION_ARG_INT, &options->limit, "at most N rows a view",
		  "N" },
		{ "all", 'a', 0, G_OPTION_ARG_NONE, &options->is_all,
		  "show every row; in the step view, every step", NULL },
		CLI_WIDTH_OPTIONS('w'),
		{ "shapes", 0, 0, G_OPTION_ARG_NONE, &options->by_shape,
		  "op view: a row for each shape of the inputs", NULL },
		{ "device", 'd', 0, G_OPTION_ARG_STRING, &options->device,
		  "only device streams whose name matches", "REGEX" },
		{ "annotation", 0, 0, G_OPTION_ARG_STRING, &options->annotation,
		  "critical view: one rank's path in an annotation whose name contains TEXT",
		  "TEXT" },
		{ "instance", 0, 0, G_OPTION_ARG_INT, &options->instance,
		  "which of these annotations, counted from 0 (default: the first)", "N" },
		PROFILE("select", OPTION_SELECT, "profiles: show these figures", "METRIC,..."),
		PROFILE("order-by", OPTION_ORDER, "profiles: order rows by a metric, name or depth",
			"KEY"),
		PROFILE("account", OPTION_ACCOUNT, "profiles: count only operations of these types",
			"REGEX,..."),
		PROFILE("start", OPTION_START, "profiles: begin at names that match", "REGEX,..."),
		PROFILE("trim", OPTION_TRIM, "profiles: show nothing below names that match",
			"REGEX,..."),
		PROFILE("show", OPTION_SHOW, "profiles: show only names that match", "REGEX,..."),
		PROFILE("hide", OPTION_HIDE, "profiles: show no names that match", "REGEX,..."),
		PROFILE("min", OPTION_MIN, "profiles: hide rows whose total is below N",
			"METRIC=N"),
		PROFILE("max-depth", OPTION_DEPTH, "profiles: hide rows deeper than N levels", "N"),
		PROFILE("displayed-only", OPTION_DISPLAYED,
			"profiles: compute totals from the rows that are shown", "yes|no"),
		PROFILE("mean", OPTION_MEAN,
			"profiles: divide by all steps and ranks, those present, or none",
			"all|present|none"),
		PROFILE("checkpoint", OPTION_CHECKPOINT,
			"profiles: read this TensorFlow checkpoint, for --select tensor_value",
			"PREFIX"),
		{ "output", 0, 0, G_OPTION_ARG_STRING, &options->output,
		  "profiles: a file in place of the table: timeline (Chrome's) or pprof of the "
		  "rows",
		  "TYPE:FILE" },
		{ "force", 'f', 0, G_OPTION_ARG_NONE, &options->is_forced,
		  "with --output: replace the file", NULL },
		{ "follow", 0, 0, G_OPTION_ARG_NONE, &options->is_followed,
		  "print each step as it ends, until the job does; with --json, a line each",
		  NULL },
		{ "prompt", 0, 0, G_OPTION_ARG_NONE, &options->is_prompt,
		  "ask for one view after the other, with options that stay set", NULL },
		G_OPTION_ENTRY_NULL,
	};

	*options = (struct options){ .rank = OPTION_UNSET,
				     .limit = OPTION_UNSET,
				     .instance = OPTION_UNSET };
	return cli_parse("report", usage, description, entries, argc, argv);
}

static void options_release(struct options *options)
{
	g_strfreev(options->views);
	g_free(options->name);
	g_free(options->steps);
	g_free(options->sort);
	g_free(options->device);
	g_free(options->annotation);
	g_free(options->output);
	for (guint i = 0; i < N_PROFILE_OPTIONS; i++)
		g_strfreev(options->profile[i]);
}

static int report_line(int argc, char **argv, gpointer data)
{
	struct options options;
	int status = CLI_BAD;

	if (options_parse(&options, &argc, &argv))
		status = report_with(&options, data, argc, argv);
	options_release(&options);
	return status;
}

static int converse(int argc, char **argv)
{
	static const gchar *const others[] = { "all",	   "annotation", "device", "force",
					       "instance", "json",	 "limit",  "name",
					       "output",   "rank",	 "shapes", "sort",
					       "steps",	   "wide",	 "width" };
	const gchar *options[G_N_ELEMENTS(others) + N_PROFILE_OPTIONS + 1] = { NULL };
	const gchar *names[G_N_ELEMENTS(views) + 1] = { NULL };
	g_autoptr(TachoTimeline) timeline = cli_open_runs("report", argc, argv);
	g_autoptr(TachoInfo) info = NULL;

	if (!timeline)
		return CLI_BAD;
	for (guint i = 0; i < G_N_ELEMENTS(views); i++)
		names[i] = views[i].name;
	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		options[i] = others[i];
	for (guint i = 0; i < N_PROFILE_OPTIONS; i++)
		options[G_N_ELEMENTS(others) + i] = profile_names[i];
	info = tacho_info_new(timeline);
	report_head_print(info, stdout, cli_has_colour(stdout));
	return report_prompt_run(names, options, report_line, timeline);
}

/* Steps alone are told while they come. */
static int follow(const struct options *options, int argc, char **argv)
{
	gboolean is_other = options->is_prompt || options->output || options->steps ||
			    options->rank != OPTION_UNSET || options->name || options->sort;

	for (guint i = 0; options->views && options->views[i]; i++)
		is_other |= strcmp(options->views[i], "step") != 0;
	if (is_other)
		return cli_fail("report",
				"--follow prints the steps of all ranks as they end; of the other "
				"options it takes --json, --wide and --width");
	return follow_report_run("report", options->is_json, argc, argv);
}

int cmd_report(int argc, char **argv)
{
	struct options options;
	int status = CLI_BAD;

	if (!peer_processes_begin("report", argc, argv))
		return CLI_BAD;
	if (options_parse(&options, &argc, &argv)) {
		if (peer_processes_borrow() && (options.is_followed || options.is_prompt))
			cli_fail("report", "--%s is for one process; run it without the launcher",
				 options.is_followed ? "follow" : "prompt");
		else
			status = options.is_followed ? follow(&options, argc, argv)
				 : options.is_prompt ? converse(argc, argv)
						     : report_with(&options, NULL, argc, argv);
	}
	options_release(&options);
	return peer_processes_end("report", status);
}
