#include "page_checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tacho/info.h>
#include <zlib.h>

#include "analyze/table_internal.h"
#include "export/page_timeline.h"
#include "import/trace_archive.h"
#include "json_check.h"

#define MAX_ROWS 5000 /* of a view in the page */

static const struct view {
	const gchar *name;
	TachoTable *(*view)(const TachoTimeline *timeline, const TachoFilter *filter);
} views[] = {
#define VIEW(name, parts, text) { #name, tacho_view_##name },
	TACHO_VIEWS(VIEW)
#undef VIEW
};

static TachoTable *table_of(const struct view *view, const TachoTimeline *timeline,
			    const TachoExportOptions *options)
{
	TachoFilter filter = TACHO_FILTER_INIT;

	filter.rank = options->rank;
	filter.first_step = options->first_step;
	filter.last_step = options->last_step;
	filter.is_whole = options->is_whole;
	return view->view(timeline, &filter);
}

static guint count_columns(const TachoTable *table)
{
	guint n = 0;

	while (tacho_table_key(table, n))
		n++;
	return n;
}

/* --- html: the data ----------------------------------------------------------------------------- */

static GByteArray *inflate_all(guchar *bytes, gsize n)
{
	GByteArray *data = g_byte_array_new();
	z_stream stream = { .next_in = bytes, .avail_in = (uInt)n };
	guint8 room[65536];
	int status = inflateInit(&stream);

	while (status == Z_OK) {
		stream.next_out = room;
		stream.avail_out = sizeof(room);
		status = inflate(&stream, Z_NO_FLUSH);
		g_byte_array_append(data, room, (guint)sizeof(room) - stream.avail_out);
	}
	g_assert_cmpint(status, ==, Z_STREAM_END);
	g_assert_cmpuint(stream.avail_in, ==, 0);
	inflateEnd(&stream);
	return data;
}

/* What the page carries (export/page_data.h), decoded. */
static GByteArray *read_data(const gchar *path)
{
	static const gchar mark[] = "<script type=\"application/octet-stream\" id=\"data\">";
	g_autofree gchar *text = NULL;
	gchar *begin, *end;
	gsize n;
	g_autofree guchar *bytes = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	begin = strstr(text, mark);
	g_assert_nonnull(begin);
	begin += strlen(mark);
	end = strchr(begin, '<');
	g_assert_true(end && g_str_has_prefix(end, "</script>"));
	*end = '\0';
	bytes = g_base64_decode(begin, &n);
	return inflate_all(bytes, n);
}

/* --- html: the timeline ------------------------------------------------------------------------- */

/* A column of the page: the lowest bytes of all its numbers, then the next higher ones. */
struct column {
	const guint8 *bytes;
	guint32 n;
	guint n_planes;
};

static guint64 number_at(const struct column *column, guint32 row)
{
	guint64 number = 0;

	g_assert_cmpuint(row, <, column->n);
	for (guint i = 0; i < column->n_planes; i++)
		number |= (guint64)column->bytes[(gsize)i * column->n + row] << (8 * i);
	return number;
}

/* Where the columns are, as the JSON tells them in their order: [name, numbers, planes]; all of `data` must be theirs. */
static GHashTable *find_columns(const struct json_object *timeline, const guint8 *data, gsize n)
{
	GHashTable *columns = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	struct json_scan scan;
	gsize at = 0;

	g_assert_true(json_object_find(timeline, "columns", &scan));
	g_assert_true(json_enter(&scan, '['));
	while (json_element(&scan)) {
		struct column *column = g_new0(struct column, 1);
		struct json_text name;
		gint64 n_numbers = -1, n_planes = -1;

		g_assert_true(json_enter(&scan, '['));
		g_assert_true(json_element(&scan) && json_string(&scan, &name));
		g_assert_true(json_element(&scan) && json_fixed(&scan, 0, &n_numbers));
		g_assert_true(json_element(&scan) && json_fixed(&scan, 0, &n_planes));
		g_assert_false(json_element(&scan));
		*column = (struct column){ data + at, (guint32)n_numbers, (guint)n_planes };
		at += (gsize)n_numbers * (gsize)n_planes;
		g_assert_cmpuint(at, <=, n);
		g_hash_table_insert(columns, json_text_dup(&name), column);
	}
	g_assert_cmpuint(at, ==, n);
	return columns;
}

static GPtrArray *read_strings(const struct json_object *timeline)
{
	GPtrArray *strings = g_ptr_array_new_with_free_func(g_free);
	struct json_scan scan;
	struct json_text text;

	g_assert_true(json_object_find(timeline, "strings", &scan));
	g_assert_true(json_enter(&scan, '['));
	while (json_element(&scan)) {
		g_assert_true(json_string(&scan, &text));
		g_ptr_array_add(strings, json_text_dup(&text));
	}
	return strings;
}

/* By track: whether the timeline's slices are on it, and not steps or sums of bytes. */
static GArray *read_tracks(const struct json_object *timeline)
{
	GArray *are_slices = g_array_new(FALSE, FALSE, sizeof(gboolean));
	struct json_scan scan;

	g_assert_true(json_object_find(timeline, "tracks", &scan));
	g_assert_true(json_enter(&scan, '['));
	while (json_element(&scan)) {
		struct json_object track = { .at = scan.at };
		g_autofree gchar *kind = NULL;
		gboolean has_slices;

		json_skip(&scan);
		track.end = scan.at;
		kind = json_object_text(&track, "kind");
		g_assert_nonnull(kind);
		has_slices = strcmp(kind, "thread") == 0 || strcmp(kind, "lane") == 0;
		g_array_append_val(are_slices, has_slices);
	}
	return are_slices;
}

/* "NAME DURATION": how many of these there are more on the page than in the timeline. */
static void count_slice(GHashTable *more, const gchar *name, guint64 duration_ns, gint by)
{
	g_autofree gchar *valid = g_utf8_make_valid(name, -1);
	g_autofree gchar *key = g_strdup_printf("%s %" G_GUINT64_FORMAT " ns", valid, duration_ns);
	gint n = GPOINTER_TO_INT(g_hash_table_lookup(more, key)) + by;

	g_hash_table_insert(more, g_steal_pointer(&key), GINT_TO_POINTER(n));
}

static void count_page(const struct json_object *json, GHashTable *columns, GHashTable *more)
{
	g_autoptr(GPtrArray) strings = read_strings(json);
	g_autoptr(GArray) are_slices = read_tracks(json);
	const struct column *names = g_hash_table_lookup(columns, "name");
	const struct column *tracks = g_hash_table_lookup(columns, "track");
	const struct column *durations = g_hash_table_lookup(columns, "duration");
	const struct column *states = g_hash_table_lookup(columns, "state");

	g_assert_true(names && tracks && durations && states);
	for (guint32 row = 0; row < names->n; row++) {
		guint64 track = number_at(tracks, row), name = number_at(names, row);

		g_assert_cmpuint(track, <, are_slices->len);
		g_assert_cmpuint(name, <, strings->len);
		if (g_array_index(are_slices, gboolean, track) &&
		    !(number_at(states, row) & PAGE_SLICE_MOMENT))
			count_slice(more, strings->pdata[name], number_at(durations, row), 1);
	}
}

/* Every slice is on the page, and nothing else is. */
static void check_slices(const TachoTimeline *timeline, const struct json_object *json,
			 GHashTable *columns)
{
	g_autoptr(GHashTable) more = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GHashTableIter iter;
	gpointer key, n;

	count_page(json, columns, more);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		count_slice(more, tacho_slice_name(timeline, i),
			    (guint64)timeline->slices.duration_ns[i], -1);
	g_hash_table_iter_init(&iter, more);
	while (g_hash_table_iter_next(&iter, &key, &n)) {
		g_autofree gchar *told =
			g_strdup_printf("%s: %+d", (gchar *)key, GPOINTER_TO_INT(n));
		g_autofree gchar *wanted = g_strdup_printf("%s: +0", (gchar *)key);

		g_assert_cmpstr(told, ==, wanted);
	}
}

/* --- html: views -------------------------------------------------------------------------------- */

static void check_html_views(const TachoTimeline *timeline, const TachoExportOptions *options,
			     const struct json_object *json)
{
	struct json_object all = json_object_member(json, "views");

	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autoptr(TachoTable) table = table_of(&views[i], timeline, options);
		struct json_object view = json_object_member(&all, views[i].name);
		guint n_rows = tacho_table_n_rows(table);

		json_check_number(&view, "left_out_rows", n_rows - MIN(n_rows, MAX_ROWS));
		json_check_rows(&view, "rows", table, MIN(n_rows, MAX_ROWS), count_columns(table));
	}
}

static void check_html_facts(const TachoTimeline *timeline, const struct json_object *json)
{
	g_autoptr(TachoInfo) info = tacho_info_new(timeline);
	struct json_object facts = json_object_member(json, "info");
	struct json_object tables = json_object_member(json, "tables");
	struct json_object problems = json_object_member(&tables, "problems");

	json_check_number(&facts, "events", (gdouble)info->n_events);
	json_check_number(&facts, "dropped_events", (gdouble)info->n_dropped);
	json_check_number(&facts, "steps", info->n_steps);
	json_check_number(&facts, "trust_score", info->trust_score);
	json_check_number(&facts, "duration_ms", (gdouble)info->duration_ns / 1e6);
	json_check_rows(&problems, "rows", info->problems, tacho_table_n_rows(info->problems),
			count_columns(info->problems));
}

void page_check_html(const TachoTimeline *timeline, const TachoExportOptions *options,
		     const gchar *path)
{
	g_autoptr(GByteArray) data = read_data(path);
	g_autoptr(GHashTable) columns = NULL;
	g_autofree gchar *text = NULL, *storage = NULL;
	struct json_object json, shown;
	guint32 n;

	g_assert_cmpuint(data->len, >=, sizeof(n));
	memcpy(&n, data->data, sizeof(n));
	n = GUINT32_FROM_LE(n);
	g_assert_cmpuint(n, <=, data->len - sizeof(n));
	text = g_strndup((const gchar *)data->data + sizeof(n), n);
	json = json_check_text(text, &storage);
	check_html_facts(timeline, &json);
	check_html_views(timeline, options, &json);
	shown = json_object_member(&json, "timeline");
	columns = find_columns(&shown, data->data + sizeof(n) + n, data->len - sizeof(n) - n);
	if (options->rank < 0 && options->first_step < 0 && options->last_step < 0)
		check_slices(timeline, &shown, columns);
}

/* --- xlsx --------------------------------------------------------------------------------------- */

/* The cells of a sheet by their place ("B7"), as text. */
struct sheet {
	GHashTable *cells;
	gchar *place; /* of the cell that is being read; NULL: none is */
	gboolean is_value;
};

static void begin_element(GMarkupParseContext *context, const gchar *element, const gchar **names,
			  const gchar **values, gpointer data, GError **error)
{
	struct sheet *sheet = data;

	(void)context, (void)error;
	for (guint i = 0; strcmp(element, "c") == 0 && names[i]; i++)
		if (strcmp(names[i], "r") == 0) {
			g_free(sheet->place);
			sheet->place = g_strdup(values[i]);
		}
	sheet->is_value = strcmp(element, "v") == 0 || strcmp(element, "t") == 0;
}

static void end_element(GMarkupParseContext *context, const gchar *element, gpointer data,
			GError **error)
{
	struct sheet *sheet = data;

	(void)context, (void)error, (void)element;
	sheet->is_value = FALSE;
}

static void take_text(GMarkupParseContext *context, const gchar *text, gsize n, gpointer data,
		      GError **error)
{
	struct sheet *sheet = data;

	(void)context, (void)error;
	if (!sheet->is_value)
		return;
	g_assert_nonnull(sheet->place);
	g_assert_true(
		g_hash_table_insert(sheet->cells, g_strdup(sheet->place), g_strndup(text, n)));
}

/* The `number`-th sheet of the workbook that was unpacked into `folder`, from 1. */
static GHashTable *read_sheet(const gchar *folder, guint number)
{
	static const GMarkupParser parser = { begin_element, end_element, take_text, NULL, NULL };
	struct sheet sheet = { .cells = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
							      g_free) };
	g_autoptr(GMarkupParseContext) context =
		g_markup_parse_context_new(&parser, 0, &sheet, NULL);
	g_autofree gchar *path = g_strdup_printf("%s/xl/worksheets/sheet%u.xml", folder, number);
	g_autofree gchar *text = NULL;
	g_autoptr(GError) error = NULL;
	gsize n;

	g_file_get_contents(path, &text, &n, &error);
	g_assert_no_error(error);
	g_markup_parse_context_parse(context, text, (gssize)n, &error);
	g_assert_no_error(error);
	g_free(sheet.place);
	return sheet.cells;
}

/* "A1", "AB12": counted from 0. To be freed with g_free(). */
static gchar *place_of(guint row, guint column)
{
	if (column < 26)
		return g_strdup_printf("%c%u", 'A' + (gchar)column, row + 1);
	return g_strdup_printf("%c%c%u", 'A' + (gchar)(column / 26 - 1), 'A' + (gchar)(column % 26),
			       row + 1);
}

static gboolean is_number(const gchar *text, gdouble expected)
{
	gdouble number = text ? g_ascii_strtod(text, NULL) : NAN;

	return isnan(expected) ? !text : fabs(number - expected) <= 1e-12 * fabs(expected);
}

/* Takes the cell out of the sheet. */
static void check_cell(GHashTable *cells, const TachoTable *table, guint row, guint column)
{
	const gchar *key = tacho_table_key(table, column);
	g_autofree gchar *place = place_of(row + 1, column);
	const gchar *found = g_hash_table_lookup(cells, place);

	if (tacho_table_borrow_column(table, key)->type == TACHO_COLUMN_TEXT) {
		const gchar *text = tacho_table_cell_text(table, row, key);
		g_autofree gchar *clean = table_text_clean(text ? text : "");

		g_assert_cmpstr(found ? found : "", ==, clean);
	} else {
		g_assert_true(is_number(found, tacho_table_cell_number(table, row, key)));
	}
	g_hash_table_remove(cells, place);
}

/* All of the table stands below a line of headings, and nothing else is there. */
static void check_sheet(const gchar *folder, guint number, const TachoTable *table)
{
	g_autoptr(GHashTable) cells = read_sheet(folder, number);
	guint n_columns = count_columns(table);

	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		for (guint column = 0; column < n_columns; column++)
			check_cell(cells, table, row, column);
	g_assert_cmpuint(g_hash_table_size(cells), ==, n_columns);
}

void page_check_xlsx(const TachoTimeline *timeline, const TachoExportOptions *options,
		     const gchar *path)
{
	g_autoptr(GError) error = NULL;
	struct trace_archive *archive = trace_archive_open(path, &error);
	guint number = 4; /* behind what the run is, notes, and the summary of steps */

	g_assert_no_error(error);
	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autoptr(TachoTable) table = table_of(&views[i], timeline, options);

		check_sheet(archive->folder, number++, table);
	}
	trace_archive_free(archive);
}
