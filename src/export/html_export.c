/* html_export: a run as one page that shows itself in a browser: no server, no network.
 *
 * The page is three parts that every run shares (html_assets.h: markup, style, script) and the data of the run
 * (page_data.h): the facts, the rows of every view, the timeline in columns.
 * (1) What comes from the run is only in the data, where nothing is markup; the script shows it as text.
 * (2) A Content-Security-Policy admits this style and this script alone, by their hashes, and no connection.
 * (3) Figures are those of `tacho report --json`: the same writer writes them. */
#include <tacho/export.h>

#include <string.h>

#include <tacho/analyze.h>
#include <tacho/info.h>

#include "analyze/table_internal.h"
#include "base/symbol_name.h"
#include "export/column_label.h"
#include "export/comm_matrix.h"
#include "export/export_output.h"
#include "export/html_assets.h"
#include "export/page_data.h"
#include "export/page_flame.h"
#include "export/page_timeline.h"

#define MAX_ROWS 5000 /* of a view */

struct html_export {
	const TachoTimeline *timeline;
	const TachoExportOptions *options;
	struct page_timeline page;
	JsonWriter *json;
};

static void write_string(JsonWriter *json, const gchar *key, const gchar *value)
{
	json_writer_string(json_writer_key(json, key), value);
}

static void write_integer(JsonWriter *json, const gchar *key, gint64 value)
{
	json_writer_integer(json_writer_key(json, key), value);
}

static void write_flag(JsonWriter *json, const gchar *key, gboolean value)
{
	if (!value)
		return;
	json_writer_boolean(json_writer_key(json, key), TRUE);
}

/* --- views --------------------------------------------------------------------------------------- */

static void write_column(JsonWriter *json, const TachoColumn *column, gboolean is_extra)
{
	static const gchar *const types[] = { "text", "integer", "number", "boolean" };
	g_autofree gchar *label = column_label(column);

	json_writer_begin_object(json);
	write_string(json, "key", column->key);
	write_string(json, "label", label);
	write_string(json, "type", types[column->type]);
	write_integer(json, "decimals", column->is_json_only ? 3 : column->decimals);
	write_flag(json, "is_extra", is_extra);
	write_flag(json, "is_flexible", column->is_flexible);
	write_flag(json, "is_identifier", column->is_identifier);
	write_flag(json, "is_share", column->is_share);
	write_flag(json, "is_any_size", column->is_any_size);
	json_writer_end_object(json);
}

/* Names of C++ functions as the text table has them, {"whole": "short"}, where they differ. */
static void write_short_names(JsonWriter *json, const TachoTable *table, const gchar *key)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GPtrArray) whole = g_ptr_array_new();
	g_autoptr(GPtrArray) brief = NULL;

	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		const gchar *name = tacho_table_cell_text(table, row, key);

		if (name && g_hash_table_add(seen, (gpointer)name))
			g_ptr_array_add(whole, (gpointer)name);
	}
	brief = symbol_names_short(whole);
	json_writer_begin_object(json_writer_key(json, key));
	for (guint i = 0; i < whole->len; i++)
		if (strcmp(whole->pdata[i], brief->pdata[i]) != 0)
			write_string(json, whole->pdata[i], brief->pdata[i]);
	json_writer_end_object(json);
}

/* Notes come first: what limit() would say is not for a page. */
static void write_table(JsonWriter *json, const gchar *name, const gchar *description,
			TachoTable *table)
{
	const gchar *key;
	guint n_rows = tacho_table_n_rows(table);

	json_writer_line(json);
	json_writer_begin_object(json_writer_key(json, name));
	write_string(json, "description", description);
	json_writer_begin_array(json_writer_key(json, "columns"));
	for (guint i = 0; (key = tacho_table_key(table, i)); i++)
		write_column(json, tacho_table_borrow_column(table, key),
			     table_hides_column(table, i));
	json_writer_end_array(json);
	json_writer_key(json, "notes");
	table_write_json_notes(table, json);
	tacho_table_limit(table, MAX_ROWS);
	write_integer(json, "left_out_rows", n_rows - tacho_table_n_rows(table));
	json_writer_key(json, "rows");
	table_write_json(table, json);
	json_writer_begin_object(json_writer_key(json, "short_names"));
	for (guint i = 0; (key = tacho_table_key(table, i)); i++)
		if (tacho_table_borrow_column(table, key)->is_symbol)
			write_short_names(json, table, key);
	json_writer_end_object(json);
	json_writer_end_object(json);
}

static void write_views(struct html_export *export)
{
	static const struct {
		const gchar *name, *description;
		TachoTable *(*view)(const TachoTimeline *timeline, const TachoFilter *filter);
	} views[] = {
		{ "step_summary", "each rank's steps: medians and means", tacho_view_step_summary },
#define VIEW(name, parts, description) { #name, description, tacho_view_##name },
		TACHO_VIEWS(VIEW)
#undef VIEW
	};
	TachoFilter filter = TACHO_FILTER_INIT;

	filter.rank = export->options->rank;
	filter.first_step = export->options->first_step;
	filter.last_step = export->options->last_step;
	filter.is_whole = export->options->is_whole;
	json_writer_begin_object(json_writer_key(export->json, "views"));
	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autoptr(TachoTable) table = views[i].view(export->timeline, &filter);

		write_table(export->json, views[i].name, views[i].description, table);
	}
	for (guint i = 0; i < export->options->n_tables; i++) {
		const TachoExportTable *more = &export->options->tables[i];

		write_table(export->json, more->name, more->description, more->table);
	}
	json_writer_end_object(export->json);
}

static void write_info_tables(struct html_export *export, const TachoInfo *info)
{
	json_writer_begin_object(json_writer_key(export->json, "tables"));
	write_table(export->json, "problems", "why the run is trusted less", info->problems);
	write_table(export->json, "processes", "processes of the job", info->processes);
	write_table(export->json, "clocks", "how the clocks of the hosts were aligned",
		    info->clocks);
	write_table(export->json, "kinds", "the number of events of each kind", info->kinds);
	write_table(export->json, "open_slices", "slices that were open at the end",
		    info->open_slices);
	json_writer_end_object(export->json);
}

static void write_facts(struct html_export *export, const TachoInfo *info)
{
	JsonWriter *json = export->json;

	json_writer_begin_object(json_writer_key(json, "info"));
	write_string(json, "command", info->command);
	write_string(json, "job", info->job);
	write_integer(json, "start_unix_ms", info->start_unix_ns / 1000000);
	json_writer_number(json_writer_key(json, "duration_ms"), (gdouble)info->duration_ns / 1e6);
	write_string(json, "hosts", info->hosts);
	write_integer(json, "n_hosts", info->n_hosts);
	write_integer(json, "ranks", info->n_ranks);
	write_integer(json, "expected_ranks", info->expected_ranks);
	write_integer(json, "steps", info->n_steps);
	write_string(json, "steps_found", info->steps_found);
	json_writer_number(json_writer_key(json, "step_median_ms"), info->step_median_ms);
	json_writer_unsigned(json_writer_key(json, "events"), info->n_events);
	json_writer_unsigned(json_writer_key(json, "dropped_events"), info->n_dropped);
	json_writer_number(json_writer_key(json, "record_cost_pct"), info->record_cost_pct);
	json_writer_number(json_writer_key(json, "record_cost_step_pct"),
			   info->record_cost_step_pct);
	write_integer(json, "trust_score", info->trust_score);
	json_writer_end_object(json);
}

/* --- the data ------------------------------------------------------------------------------------- */

static void write_column_list(struct html_export *export)
{
	JsonWriter *json = export->json;

	json_writer_begin_array(json_writer_key(json, "columns"));
#define PAGE_COLUMN_TELL(name)                                                                     \
	json_writer_begin_array(json);                                                             \
	json_writer_string(json, #name);                                                           \
	json_writer_unsigned(json, export->page.name.n);                                           \
	json_writer_unsigned(json, export->page.name.n_planes);                                    \
	json_writer_end_array(json);
	PAGE_COLUMNS(PAGE_COLUMN_TELL)
#undef PAGE_COLUMN_TELL
	json_writer_begin_array(json);
	json_writer_string(json, "arg_bytes");
	json_writer_unsigned(json, export->page.arg_bytes->len);
	json_writer_unsigned(json, 1);
	json_writer_end_array(json);
	json_writer_end_array(json);
}

static void write_matrix(struct html_export *export, const struct export_scope *scope)
{
	struct comm_matrix matrix;

	comm_matrix_init(&matrix, scope);
	json_writer_key(export->json, "comm_matrix");
	comm_matrix_write_json(&matrix, export->timeline, export->json);
	comm_matrix_release(&matrix);
}

static void write_json(struct html_export *export, const struct export_scope *scope)
{
	g_autoptr(TachoInfo) info = tacho_info_new(export->timeline);

	json_writer_begin_object(export->json);
	write_string(export->json, "producer", "tacho " TACHO_VERSION);
	write_integer(export->json, "rank", export->options->rank);
	write_integer(export->json, "first_step", export->options->first_step);
	write_integer(export->json, "last_step", export->options->last_step);
	write_facts(export, info);
	write_info_tables(export, info);
	write_views(export);
	write_matrix(export, scope);
	json_writer_key(export->json, "flame");
	page_flame_write_json(scope, export->json);
	json_writer_begin_object(json_writer_key(export->json, "timeline"));
	page_timeline_write_json(&export->page, export->timeline, export->json);
	write_column_list(export);
	json_writer_end_object(export->json);
	json_writer_end_object(export->json);
}

/* The JSON as one text; free() it. NULL: no memory. */
static gchar *make_json(struct html_export *export, const struct export_scope *scope,
			gsize *ret_length)
{
	gchar *text = NULL;
	FILE *memory = open_memstream(&text, ret_length);

	if (!memory)
		return NULL;
	export->json = json_writer_new(memory);
	write_json(export, scope);
	json_writer_finish(export->json);
	json_writer_free(export->json);
	if (fclose(memory) == 0)
		return text;
	free(text);
	return NULL;
}

static void write_data(const struct html_export *export, const gchar *json, gsize length, FILE *out)
{
	struct page_data *data = page_data_new(out);
	guint32 length_le = GUINT32_TO_LE((guint32)length);

	page_data_add_bytes(data, &length_le, sizeof(length_le));
	page_data_add_bytes(data, json, length);
#define PAGE_COLUMN_ADD(name) page_data_add_column(data, &export->page.name);
	PAGE_COLUMNS(PAGE_COLUMN_ADD)
#undef PAGE_COLUMN_ADD
	page_data_add_bytes(data, export->page.arg_bytes->data, export->page.arg_bytes->len);
	page_data_finish(data);
	page_data_free(data);
}

/* --- the page ------------------------------------------------------------------------------------- */

/* "sha256-...": how a policy names one inline script or style. */
static gchar *policy_hash(const gchar *text)
{
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	guint8 digest[32];
	gsize length = sizeof(digest);
	g_autofree gchar *base64 = NULL;

	g_checksum_update(checksum, (const guchar *)text, (gssize)strlen(text));
	g_checksum_get_digest(checksum, digest, &length);
	base64 = g_base64_encode(digest, length);
	return g_strdup_printf("sha256-%s", base64);
}

static void write_head(FILE *out)
{
	g_autofree gchar *script = policy_hash(html_asset_script);
	g_autofree gchar *style = policy_hash(html_asset_style);

	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<meta name=\"generator\" content=\"tacho " TACHO_VERSION "\">\n"
		"<title>tacho</title>\n<style>%s</style>\n</head>\n",
		script, style, html_asset_style);
}

static void write_page(const struct html_export *export, const gchar *json, gsize length, FILE *out)
{
	write_head(out);
	fprintf(out, "<body>\n%s\n<script type=\"application/octet-stream\" id=\"data\">",
		html_asset_body);
	write_data(export, json, length, out);
	fprintf(out, "</script>\n<script>%s</script>\n</body>\n</html>\n", html_asset_script);
}

static gboolean write_all(struct html_export *export, const struct export_scope *scope, FILE *out,
			  GError **error)
{
	gsize length = 0;
	gchar *json = make_json(export, scope, &length);

	if (!json || length > G_MAXINT32) {
		g_set_error_literal(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO,
				    "there is not enough memory for the page");
		free(json);
		return FALSE;
	}
	write_page(export, json, length, out);
	free(json);
	return export_output_finish(out, export->options, error);
}

gboolean tacho_export_html(const TachoTimeline *timeline, const TachoExportOptions *options,
			   FILE *out, GError **error)
{
	struct html_export export = { .timeline = timeline, .options = options };
	struct export_scope scope;
	gboolean is_written;

	if (!page_timeline_init(&export.page, timeline, options, PAGE_MAX_SLICES, error))
		return FALSE;
	if (!export_scope_init(&scope, timeline, options, error)) {
		page_timeline_release(&export.page);
		return FALSE;
	}
	is_written = write_all(&export, &scope, out, error);
	export_scope_release(&scope);
	page_timeline_release(&export.page);
	return is_written;
}
