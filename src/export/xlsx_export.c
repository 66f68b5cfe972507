/* xlsx_export: every view as a sheet of a workbook, for spreadsheets.
 * (1) The first sheet says what the run is, the second what the views say in words.
 * (2) Rows are written as they go, so that a large view needs no memory in the library. They stand in temporary
 *     files until the workbook, which is zipped from them, is copied to where it goes. */
#include <tacho/export.h>

#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <tacho/analyze.h>
#include <tacho/info.h>

#include "analyze/table_internal.h"
#include "export/export_output.h"
#include "export/export_scope.h"
#include "export/xlsx_sheet.h"

#define WIDTH_OF_FACTS 30 /* characters */
#define WIDTH_OF_WORDS 110

struct xlsx_export {
	lxw_workbook *workbook;
	struct xlsx_formats formats;
	lxw_worksheet *info, *notes;
	guint32 next_fact, next_note; /* rows */
	gboolean has_failed;
};

/* --- what the run is --------------------------------------------------------------------------- */

static void add_fact_text(struct xlsx_export *export, const gchar *fact, const gchar *text)
{
	g_autofree gchar *clean = table_text_clean(text);

	worksheet_write_string(export->info, export->next_fact, 0, fact, NULL);
	if (*clean)
		worksheet_write_string(export->info, export->next_fact, 1, clean,
				       export->formats.text);
	export->next_fact++;
}

static void add_fact(struct xlsx_export *export, const gchar *fact, gdouble value, guint decimals)
{
	worksheet_write_string(export->info, export->next_fact, 0, fact, NULL);
	if (isfinite(value))
		worksheet_write_number(export->info, export->next_fact, 1, value,
				       export->formats.number[decimals]);
	export->next_fact++;
}

static void add_heading(struct xlsx_export *export, lxw_worksheet *sheet, const gchar *first,
			const gchar *second)
{
	worksheet_write_string(sheet, 0, 0, first, export->formats.heading);
	worksheet_write_string(sheet, 0, 1, second, export->formats.heading);
	worksheet_set_column(sheet, 0, 0, WIDTH_OF_FACTS, NULL);
	worksheet_set_column(sheet, 1, 1, WIDTH_OF_WORDS, NULL);
	worksheet_freeze_panes(sheet, 1, 0);
}

static void write_info(struct xlsx_export *export, const TachoInfo *info)
{
	g_autoptr(GDateTime) start =
		g_date_time_new_from_unix_utc(info->start_unix_ns / G_GINT64_CONSTANT(1000000000));
	g_autofree gchar *when = start ? g_date_time_format(start, "%Y-%m-%d %H:%M:%S") : NULL;

	add_heading(export, export->info, "fact", "value");
	export->next_fact = 1;
	add_fact_text(export, "command", info->command);
	add_fact_text(export, "job", info->job);
	add_fact_text(export, "start (UTC)", when ? when : "");
	add_fact_text(export, "hosts", info->hosts);
	add_fact(export, "ranks", info->n_ranks, 0);
	add_fact(export, "expected ranks",
		 info->expected_ranks < 0 ? (gdouble)NAN : info->expected_ranks, 0);
	add_fact(export, "steps", info->n_steps, 0);
	add_fact_text(export, "steps found", info->steps_found);
	add_fact(export, "median step (ms)", info->step_median_ms, 3);
	add_fact(export, "duration (ms)", (gdouble)info->duration_ns / 1e6, 3);
	add_fact(export, "events", (gdouble)info->n_events, 0);
	add_fact(export, "dropped events", (gdouble)info->n_dropped, 0);
	add_fact(export, "cost of recording (%)", info->record_cost_pct, 3);
	add_fact(export, "cost of recording, of a step (%)", info->record_cost_step_pct, 3);
	add_fact(export, "trust score (0 to 100)", info->trust_score, 0);
	add_fact_text(export, "written by", "tacho " TACHO_VERSION);
}

/* --- views ------------------------------------------------------------------------------------- */

static void add_note(struct xlsx_export *export, const gchar *sheet, const gchar *note)
{
	g_autofree gchar *clean = table_text_clean(note);

	worksheet_write_string(export->notes, ++export->next_note, 0, sheet, NULL);
	worksheet_write_string(export->notes, export->next_note, 1, clean, NULL);
}

static void write_sheet(struct xlsx_export *export, const gchar *name, const TachoTable *table)
{
	gint64 n_left_out;

	if (export->has_failed)
		return;
	n_left_out =
		xlsx_sheet_write(export->workbook, &export->formats, name, table, XLSX_MAX_ROWS);
	export->has_failed = n_left_out < 0;
	for (guint i = 0; i < tacho_table_n_notes(table); i++)
		add_note(export, name, tacho_table_borrow_note(table, i));
	if (n_left_out > 0) {
		g_autofree gchar *note = g_strdup_printf(
			"%" G_GINT64_FORMAT
			" more rows are left out, because a sheet of a workbook cannot hold more.",
			n_left_out);

		add_note(export, name, note);
	}
}

static void write_views(struct xlsx_export *export, const TachoTimeline *timeline,
			const TachoExportOptions *options)
{
	static const struct {
		const gchar *name;
		TachoTable *(*view)(const TachoTimeline *timeline, const TachoFilter *filter);
	} views[] = { { "step summary", tacho_view_step_summary },
#define VIEW(name, parts, description) { #name, tacho_view_##name },
		      TACHO_VIEWS(VIEW)
#undef VIEW
	};
	TachoFilter filter = TACHO_FILTER_INIT;

	filter.rank = options->rank;
	filter.first_step = options->first_step;
	filter.last_step = options->last_step;
	filter.is_whole = options->is_whole;
	for (guint i = 0; i < G_N_ELEMENTS(views) && !export->has_failed; i++) {
		g_autoptr(TachoTable) table = views[i].view(timeline, &filter);

		write_sheet(export, views[i].name, table);
		if (options->progress)
			options->progress((gdouble)i / G_N_ELEMENTS(views), options->progress_data);
	}
}

static void write_sheets(struct xlsx_export *export, const TachoTimeline *timeline,
			 const TachoExportOptions *options)
{
	g_autoptr(TachoInfo) info = tacho_info_new(timeline);

	xlsx_formats_init(&export->formats, export->workbook);
	export->info = workbook_add_worksheet(export->workbook, "info");
	export->notes = workbook_add_worksheet(export->workbook, "notes");
	add_heading(export, export->notes, "sheet", "note");
	write_info(export, info);
	write_views(export, timeline, options);
	write_sheet(export, "processes", info->processes);
	write_sheet(export, "clocks", info->clocks);
	write_sheet(export, "events by kind", info->kinds);
	write_sheet(export, "problems", info->problems);
}

/* --- the file ---------------------------------------------------------------------------------- */

static void set_error(GError **error, const gchar *cause)
{
	g_set_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO,
		    "the workbook, made in %s: %s", g_get_tmp_dir(), cause);
}

/* The same run gives the same bytes: the library would note the time of the export. */
static void set_properties(lxw_workbook *workbook, const TachoTimeline *timeline)
{
	lxw_doc_properties properties = {
		.title = (char *)"tacho report",
		.author = (char *)"tacho " TACHO_VERSION,
		.created = (time_t)MAX(timeline->origin_unix_ns / G_GINT64_CONSTANT(1000000000), 1),
	};

	workbook_set_properties(workbook, &properties);
}

static gboolean write_workbook(const gchar *path, const TachoTimeline *timeline,
			       const TachoExportOptions *options, GError **error)
{
	lxw_workbook_options how = { .constant_memory = LXW_TRUE,
				     .tmpdir = (char *)g_get_tmp_dir(),
				     .use_zip64 = LXW_TRUE };
	struct xlsx_export export = { .workbook = workbook_new_opt(path, &how) };
	lxw_error failed;

	if (!export.workbook) {
		set_error(error, "not enough memory");
		return FALSE;
	}
	set_properties(export.workbook, timeline);
	write_sheets(&export, timeline, options);
	failed = workbook_close(export.workbook);
	if (!export.has_failed && !failed)
		return TRUE;
	set_error(error, failed ? lxw_strerror(failed) : "a sheet cannot be written");
	return FALSE;
}

/* Whether the run has what was asked for. */
static gboolean check_scope(const TachoTimeline *timeline, const TachoExportOptions *options,
			    GError **error)
{
	struct export_scope scope;

	if (!export_scope_init(&scope, timeline, options, error))
		return FALSE;
	export_scope_release(&scope);
	return TRUE;
}

gboolean tacho_export_xlsx(const TachoTimeline *timeline, const TachoExportOptions *options,
			   FILE *out, GError **error)
{
	g_autofree gchar *path = NULL;
	gboolean is_made, is_written;
	int file;

	if (!check_scope(timeline, options, error))
		return FALSE;
	file = g_file_open_tmp("tacho-XXXXXX", &path, error);
	if (file < 0)
		return FALSE;
	is_made = write_workbook(path, timeline, options, error);
	g_unlink(path);
	is_written = is_made && export_output_copy(file, out, options, error);
	close(file);
	return is_written;
}
