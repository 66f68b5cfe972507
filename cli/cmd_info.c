/* cmd_info: what a run holds, and how far it can be trusted; without a run, which are being
 * recorded. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tacho/info.h>

#include "cli.h"
#include "peer_processes.h"
#include "report_head.h"
#include "trace/run_registry.h"

#define OPEN_ROWS   20
#define MAX_REASONS 20

static const gchar usage[] = "[RUN...]";
static const gchar description[] =
	"Without RUN it lists the jobs that you are recording now.\n"
	"\n"
	"Examples:\n"
	"  tacho info base.tacho\n"
	"  tacho info base.tacho --min-trust 90 && tacho report base.tacho\n";

struct options {
	gboolean is_json;
	gint min_trust;
};

/* --- jobs being recorded ---------------------------------------------------------------------- */

static const TachoColumn job_columns[] = {
	{ .key = "pid", .title = "pid", .type = TACHO_COLUMN_INTEGER, .is_identifier = TRUE },
	{ .key = "duration_ms", .title = "for ms", .type = TACHO_COLUMN_NUMBER },
	{ .key = "path", .title = "run", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "command", .title = "command", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "start_unix_ns", .type = TACHO_COLUMN_INTEGER, .is_json_only = TRUE },
};

static void add_job(TachoTable *table, const struct registered_run *run)
{
	tacho_table_row(table);
	tacho_table_integer(table, run->pid);
	tacho_table_number(table,
			   ((gdouble)g_get_real_time() * 1e3 - (gdouble)run->start_unix_ns) / 1e6);
	tacho_table_text(table, run->path);
	tacho_table_text(table, run->command);
	tacho_table_integer(table, run->start_unix_ns);
}

static int list_jobs(const struct options *options)
{
	g_autoptr(TachoTable) table =
		tacho_table_new("jobs", job_columns, G_N_ELEMENTS(job_columns));
	g_autoptr(GArray) runs = run_registry_list();

	for (guint i = 0; i < runs->len; i++)
		add_job(table, &g_array_index(runs, struct registered_run, i));
	tacho_table_sort(table, "start_unix_ns", FALSE);
	if (tacho_table_n_rows(table) == 0)
		tacho_table_note(
			table,
			"You are recording no job now. 'tacho info RUN' describes a recorded run.");
	if (options->is_json)
		tacho_table_print_json(table, stdout);
	else
		cli_print_table(table);
	return cli_finish("info", CLI_DONE);
}

/* --- a run ------------------------------------------------------------------------------------ */

static gchar *kinds_text(const TachoTable *kinds)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < tacho_table_n_rows(kinds); i++)
		g_string_append_printf(text, "%s%.0f %s", i ? ", " : "",
				       tacho_table_cell_number(kinds, i, "count"),
				       tacho_table_cell_text(kinds, i, "kind"));
	return g_string_free(text, FALSE);
}

static gchar *steps_text(const TachoInfo *info)
{
	if (!isfinite(info->step_median_ms))
		return g_strdup_printf("%u", info->n_steps);
	return g_strdup_printf("%u, median %.2f ms (found by: %s)", info->n_steps,
			       info->step_median_ms, info->steps_found);
}

static gchar *cost_text(const TachoInfo *info)
{
	if (!isfinite(info->record_cost_step_pct))
		return g_strdup_printf("%.2f %% of the run (events x their measured cost)",
				       info->record_cost_pct);
	return g_strdup_printf("%.2f %% of the run, %.2f %% of a step (events x their measured "
			       "cost)",
			       info->record_cost_pct, info->record_cost_step_pct);
}

static gchar *excess_text(const TachoInfo *info)
{
	return g_strdup_printf("recorded steps take %+.1f ± %.1f %% longer than %u control steps",
			       info->record_excess_pct, info->record_excess_error_pct,
			       info->n_control_steps);
}

static gchar *ranks_text(const TachoInfo *info)
{
	if (info->expected_ranks > 0 && (guint)info->expected_ranks != info->n_ranks)
		return g_strdup_printf("%u of %d", info->n_ranks, info->expected_ranks);
	return g_strdup_printf("%u", info->n_ranks);
}

/* A label and what follows it, which may come from a trace. Takes `text`. */
static void print_line(const gchar *label, gchar *text)
{
	g_autofree gchar *owned = text;
	g_autofree gchar *clean = tacho_printable(owned);

	printf("%-9s %s\n", label, clean);
}

static void print_figures(const TachoInfo *info)
{
	g_autofree gchar *time = report_head_time(info->start_unix_ns);
	g_autofree gchar *duration = report_head_duration(info->duration_ns);

	if (*info->command)
		print_line("command", g_strdup(info->command));
	else
		print_line("trace", report_head_title(info));
	if (*info->job)
		print_line("job", g_strdup(info->job));
	print_line("when", g_strdup_printf("%s, for %s", time, duration));
	print_line("hosts", g_strdup_printf("%u: %s", info->n_hosts, info->hosts));
	print_line("ranks", ranks_text(info));
	print_line("steps", steps_text(info));
	print_line("events", g_strdup_printf("%" G_GUINT64_FORMAT ", dropped %" G_GUINT64_FORMAT,
					     info->n_events, info->n_dropped));
	print_line("holds", kinds_text(info->kinds));
	if (isfinite(info->record_cost_pct))
		print_line("cost", cost_text(info));
	if (info->n_control_steps)
		print_line("control", excess_text(info));
}

static void print_text(const TachoInfo *info)
{
	gboolean with_colour = cli_has_colour(stdout);

	print_figures(info);
	report_head_print_end(info, stdout, with_colour);
	report_head_print_trust(info, MAX_REASONS, "tacho info --json", stdout, with_colour);
	fputc('\n', stdout);
	if (tacho_table_n_rows(info->clocks) > 1) {
		cli_print_table(info->clocks);
		fputc('\n', stdout);
	}
	cli_print_table(info->processes);
	if (tacho_table_n_rows(info->open_slices) == 0)
		return;
	fputc('\n', stdout);
	report_head_heading("Open at the end of what was recorded", stdout, with_colour);
	tacho_table_limit(info->open_slices, OPEN_ROWS);
	cli_print_table(info->open_slices);
}

static int info_of(const struct options *options, int argc, char **argv)
{
	g_autoptr(TachoTimeline) timeline = cli_open_runs("info", argc, argv);
	g_autoptr(TachoInfo) info = NULL;

	if (!timeline)
		return CLI_BAD;
	info = tacho_info_new(timeline);
	if (!peer_processes_agree())
		return CLI_BAD;
	if (options->is_json)
		tacho_info_print_json(info, stdout);
	else
		print_text(info);
	return cli_finish("info", (gint)info->trust_score < options->min_trust ? CLI_NO : CLI_DONE);
}

int cmd_info(int argc, char **argv)
{
	struct options options = { 0 };
	int status = CLI_BAD;
	const GOptionEntry entries[] = {
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.is_json, "print JSON, for programs",
		  NULL },
		{ "min-trust", 0, 0, G_OPTION_ARG_INT, &options.min_trust,
		  "exit with 1 if the trust score is below N", "N" },
		CLI_WIDTH_OPTIONS('w'),
		G_OPTION_ENTRY_NULL,
	};

	if (!peer_processes_begin("info", argc, argv))
		return CLI_BAD;
	if (cli_parse("info", usage, description, entries, &argc, &argv))
		status = argc < 2 ? list_jobs(&options) : info_of(&options, argc, argv);
	return peer_processes_end("info", status);
}
