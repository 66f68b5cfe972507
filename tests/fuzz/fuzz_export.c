/* fuzz_export: any timeline in any format that tacho writes, and what was written read again: by tacho where it can, with the
 * same slices, flows and counters, else by a reader of the format, which must find what the timeline says (stack_checks.h,
 * page_checks.h). The first byte is the format, the second what of the timeline goes out, the others the timeline
 * (byte_timeline.h). */
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/export.h>
#include <tacho/import.h>

#include "byte_timeline.h"
#include "foreign_traces.h"
#include "fuzz_input.h"
#include "import/read/json_scan.h"
#include "import/read/csv_reader.h"
#include "import/trace_archive.h"
#include "import/read/wire_walk.h"
#include "page_checks.h"
#include "stack_checks.h"
#include "trace_lines.h"

static gboolean is_whole(const TachoExportOptions *options)
{
	return options->rank < 0 && options->first_step < 0 && options->last_step < 0;
}

/* --- what tacho reads ----------------------------------------------------------------------- */

/* The first line that is another, and what reading complained of: the whole would be too much to read. */
static void check_lines(const gchar *lines, const gchar *lines_back, const TachoTimeline *back)
{
	const TachoProblem *problem =
		back->problems->len ? &g_array_index(back->problems, TachoProblem, 0) : NULL;
	gsize same = 0;

	if (strcmp(lines, lines_back) == 0)
		return;
	while (lines[same] == lines_back[same])
		same++;
	while (same && lines[same - 1] != '\n')
		same--;
	FUZZ_FAIL("%.*s comes back as %.*s; %s", (int)strcspn(lines + same, "\n"), lines + same,
		  (int)strcspn(lines_back + same, "\n"), lines_back + same,
		  problem ? problem->where : "no problem");
}

static void check_timeline(const TachoTimeline *timeline, const gchar *path,
			   const TachoExportOptions *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) back = tacho_run_open(&path, 1, NULL, NULL, &error);

	if (is_whole(options) && timeline->processes->len)
		g_assert_no_error(error);
	if (!back)
		return;
	foreign_use(back);
	if (is_whole(options)) {
		g_autofree gchar *lines = trace_lines_of_timeline(timeline);
		g_autofree gchar *lines_back = trace_lines_of_timeline(back);

		check_lines(lines, lines_back, back);
	}
}

/* --- what others read ----------------------------------------------------------------------- */

static guint64 total_ns(const TachoTimeline *timeline)
{
	guint64 sum = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		sum += (guint64)timeline->slices.duration_ns[i];
	return sum;
}

static void check_csv(const TachoTimeline *timeline, const gchar *path,
		      const TachoExportOptions *options)
{
	g_autoptr(csv_reader) reader = csv_reader_open(path, NULL);
	guint64 sum = 0;
	guint n = 0;
	gint column;

	g_assert_nonnull(reader);
	column = csv_reader_column(reader, "dur_ns");
	for (; csv_reader_next(reader); n++) {
		gint64 duration_ns;

		g_assert_true(csv_reader_integer(reader, column, &duration_ns));
		sum += (guint64)duration_ns;
	}
	g_assert_null(csv_reader_problem(reader));
	g_assert_cmpuint(n, <=, timeline->slices.n);
	if (is_whole(options)) {
		g_assert_cmpuint(n, ==, timeline->slices.n);
		g_assert_cmpuint(sum, ==, total_ns(timeline));
	}
}

static gint64 ask(sqlite3 *db, const gchar *sql)
{
	sqlite3_stmt *statement = NULL;
	gint64 answer;

	g_assert_cmpint(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
	answer = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return answer;
}

static void check_sqlite(const TachoTimeline *timeline, const gchar *path,
			 const TachoExportOptions *options)
{
	sqlite3 *db;

	g_assert_cmpint(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), ==, SQLITE_OK);
	g_assert_cmpint(ask(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), ==,
			1);
	if (is_whole(options))
		g_assert_cmpint(ask(db, "SELECT count(*) FROM slice"), ==, timeline->slices.n);
	sqlite3_close(db);
}

/* What an export of a part of the timeline is, is told by its form; that of all of it by what it sums up to. */
static void check_folded(const TachoTimeline *timeline, const gchar *path,
			 const TachoExportOptions *options)
{
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;
	guint64 sum = 0;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_true(g_utf8_validate(text, -1, NULL));
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] && lines[i + 1]; i++) {
		const gchar *number = strrchr(lines[i], ' ');
		guint64 self_ns;

		g_assert_true(number && strchr(lines[i], ';'));
		g_assert_true(
			g_ascii_string_to_unsigned(number + 1, 10, 1, G_MAXINT64, &self_ns, NULL));
		sum += self_ns;
	}
	g_assert_cmpuint(sum, <=, stack_total_ns(timeline));
	if (is_whole(options))
		stack_check_folded(timeline, path);
}

/* Quotes of a line are in pairs. */
static void check_dot(const TachoTimeline *timeline, const gchar *path,
		      const TachoExportOptions *options)
{
	g_autofree gchar *text = NULL;
	gboolean is_quoted = FALSE;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_true(g_utf8_validate(text, -1, NULL));
	for (const gchar *at = text; *at; at++) {
		if (*at == '\\' && is_quoted)
			at++;
		else if (*at == '"')
			is_quoted = !is_quoted;
		g_assert_true(*at);
		g_assert_false(*at == '\n' && is_quoted);
	}
	g_assert_false(is_quoted);
	g_assert_true(g_str_has_suffix(text, "}\n"));
	if (is_whole(options))
		stack_check_dot(timeline, path);
}

static void check_pprof(const TachoTimeline *timeline, const gchar *path,
			const TachoExportOptions *options)
{
	g_autoptr(wire_walk) walk = wire_walk_open(path, NULL);
	enum wire_result result;
	struct wire_field field;

	g_assert_nonnull(walk);
	while ((result = wire_walk_next(walk, &field)) == WIRE_FIELD)
		;
	g_assert_cmpint(result, ==, WIRE_END);
	if (is_whole(options))
		stack_check_pprof(timeline, path);
}

static void check_xml(const gchar *path)
{
	static const GMarkupParser nothing;
	g_autoptr(GMarkupParseContext) context =
		g_markup_parse_context_new(&nothing, 0, NULL, NULL);
	g_autoptr(GError) error = NULL;
	g_autofree gchar *text = NULL;
	gsize n;

	g_assert_true(g_file_get_contents(path, &text, &n, NULL));
	g_markup_parse_context_parse(context, text, (gssize)n, &error);
	if (!error)
		g_markup_parse_context_end_parse(context, &error);
	g_assert_no_error(error);
}

static void check_xml_folder(const gchar *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	const gchar *name;

	if (!entries)
		check_xml(path);
	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *inner = g_build_filename(path, name, NULL);

		check_xml_folder(inner);
	}
}

/* A zip of XML files. */
static void check_xlsx(const TachoTimeline *timeline, const gchar *path,
		       const TachoExportOptions *options)
{
	g_autoptr(GError) error = NULL;
	struct trace_archive *archive = trace_archive_open(path, &error);

	g_assert_no_error(error);
	check_xml_folder(archive->folder);
	trace_archive_free(archive);
	page_check_xlsx(timeline, options, path);
}

static guint count(const gchar *text, const gchar *word)
{
	guint n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

/* What is opened is closed. */
static void check_speedscope(const TachoTimeline *timeline, const gchar *path,
			     const TachoExportOptions *options)
{
	g_autofree gchar *text = NULL;
	guint n_opened;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_true(g_utf8_validate(text, -1, NULL));
	n_opened = count(text, "{\"type\":\"O\",");
	g_assert_cmpuint(n_opened, ==, count(text, "{\"type\":\"C\","));
	if (is_whole(options))
		g_assert_cmpuint(n_opened, ==, timeline->slices.n);
}

/* Nothing in a name ends the script that it stands in. */
static void check_html(const TachoTimeline *timeline, const gchar *path,
		       const TachoExportOptions *options)
{
	static guint n_ends; /* of the page itself */
	g_autofree gchar *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_true(g_utf8_validate(text, -1, NULL));
	if (!n_ends)
		n_ends = count(text, "</script");
	g_assert_cmpuint(count(text, "</script"), ==, n_ends);
	page_check_html(timeline, options, path);
}

/* Whole JSON, with the members that are looked up. */
static void check_inductor(const TachoTimeline *timeline, const gchar *path,
			   const TachoExportOptions *options)
{
	g_autofree gchar *text = NULL, *copy = NULL;
	struct json_scan scan;

	(void)timeline, (void)options;
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_true(g_utf8_validate(text, -1, NULL));
	g_assert_nonnull(strstr(text, "\"traceEvents\":"));
	copy = json_scan_copy(&scan, text);
	json_skip(&scan);
	g_assert_cmpint(scan.status, ==, JSON_OK);
	g_assert_cmpint(json_peek(&scan), ==, 0);
}

/* A cost a line, in ASCII. */
static void check_pgle(const TachoTimeline *timeline, const gchar *path,
		       const TachoExportOptions *options)
{
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;

	(void)timeline, (void)options;
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_true(g_str_is_ascii(text));
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] && lines[i + 1]; i++)
		g_assert_true(g_str_has_prefix(lines[i], "costs { name: \"") &&
			      g_str_has_suffix(lines[i], " }"));
}

/* --- writing -------------------------------------------------------------------------------- */

typedef void (*Check)(const TachoTimeline *timeline, const gchar *path,
		      const TachoExportOptions *options);

/* What reads an export of that name: who adds a format says it here. */
static Check find_check(const gchar *name)
{
	static const struct {
		const gchar *name;
		Check check;
	} checks[] = {
		{ "perfetto", check_timeline },
		{ "chrome", check_timeline },
		{ "ctf", check_timeline },
		{ "html", check_html },
		{ "sqlite", check_sqlite },
		{ "csv", check_csv },
		{ "xlsx", check_xlsx },
		{ "folded", check_folded },
		{ "dot", check_dot },
		{ "pprof", check_pprof },
		{ "speedscope", check_speedscope },
		{ "inductor", check_inductor },
		{ "pgle", check_pgle },
	};

	for (guint i = 0; i < G_N_ELEMENTS(checks); i++)
		if (strcmp(checks[i].name, name) == 0)
			return checks[i].check;
	g_error("nothing reads the format '%s' here", name);
	return NULL;
}

static void export_file(const TachoExportTarget *target, const TachoTimeline *timeline,
			const TachoExportOptions *options)
{
	g_autoptr(GError) error = NULL;
	char *bytes = NULL;
	size_t n;
	FILE *out = open_memstream(&bytes, &n);
	gboolean is_done = target->write(timeline, options, out, &error);

	g_assert_true(is_done == (error == NULL));
	g_assert_cmpint(fclose(out), ==, 0);
	if (is_done) {
		find_check(target->name)(
			timeline, foreign_fuzz_file("export", (const guint8 *)bytes, n), options);
	} else {
		g_assert_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_NOT_THERE);
	}
	free(bytes);
}

static void remove_folder(const gchar *folder)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	const gchar *name;

	while ((name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);

		g_unlink(path);
	}
	g_rmdir(folder);
}

static void export_folder(const TachoExportTarget *target, const TachoTimeline *timeline,
			  const TachoExportOptions *options)
{
	g_autofree gchar *beside = g_path_get_dirname(foreign_fuzz_file("export", NULL, 0));
	g_autofree gchar *folder = g_build_filename(beside, "folder", NULL);
	g_autoptr(GError) error = NULL;
	gboolean is_done;

	g_mkdir(folder, 0700);
	is_done = target->write_folder(timeline, options, folder, &error);
	g_assert_true(is_done == (error == NULL));
	if (is_done)
		find_check(target->name)(timeline, folder, options);
	else
		g_assert_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_NOT_THERE);
	remove_folder(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	const TachoExportTarget *target;
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n_targets;

	if (size < 2)
		return 0;
	target = tacho_export_targets(&n_targets);
	target += data[0] % n_targets;
	options.rank = (gint32)(data[1] & 3) - 1;
	options.first_step = (gint64)(data[1] >> 2 & 3) - 1;
	options.last_step = (gint64)(data[1] >> 4 & 3) - 1;
	timeline = byte_timeline_new(data + 2, size - 2);
	if (target->write)
		export_file(target, timeline, &options);
	else if (target->write_folder)
		export_folder(target, timeline, &options);
	return 0;
}
