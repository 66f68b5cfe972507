/* perfetto_import: Perfetto's traces, of any tool that writes them, tacho's own export among them.
 *
 *     the file, first time   --> tracks (TrackDescriptor, ProcessTree)
 *     the file, second time  --> packets --perfetto_state--> events --> slices, samples, marks, arrows
 *
 * An export of tacho's carries the run that it shows: that is what is read (exported_run.h).
 * What holds in all of it: perfetto_file.h. */
#include <string.h>

#include "base/for_each.h"
#include "import/exported/exported_run.h"
#include "import/perfetto/perfetto_file.h"
#include "import/rocm/rocm_files.h"

/* --- names ---------------------------------------------------------------------------------- */

/* Tacho's export calls processes "rank 3 (host, pid 71)", or "rank 3 (pid 71)" of a host that nobody told. */
static void read_own_name(struct perfetto_file *file, TachoProcess *process, const gchar *name)
{
	gchar *end;
	const gchar *open, *comma, *pid;
	guint64 rank;

	if (!g_str_has_prefix(name, "rank "))
		return;
	rank = g_ascii_strtoull(name + strlen("rank "), &end, 10);
	open = strstr(end, "(");
	comma = open ? strstr(open, ", pid ") : NULL;
	pid = comma ? comma + strlen(", ") : open ? open + 1 : "";
	if (!g_str_has_prefix(pid, "pid ") || rank > G_MAXINT32)
		return;
	process->rank = (gint32)rank;
	if (comma)
		process->host = tacho_timeline_intern(file->timeline, open + 1, comma - open - 1);
	process->pid = (guint32)g_ascii_strtoull(pid + strlen("pid "), NULL, 10);
}

static void name_processes(struct perfetto_file *file)
{
	FOR_EACH_ENTRY(entry, file->described) {
		const struct perfetto_described *track = entry.value;
		const gchar *name = tacho_timeline_string(file->timeline, track->name);
		TachoProcess *process;
		guint32 row;

		if (!track->is_process || !*name ||
		    !track_book_has_process(file->book, 0, track->pid, &row))
			continue;
		process = track_book_borrow_process(file->book, row);
		process->command = track->command ? track->command : track->name;
		read_own_name(file, process, name);
	}
}

/* --- a file --------------------------------------------------------------------------------- */

/* A walk through all packets. */
static gboolean read_packets(struct perfetto_file *file, struct import *import, const gchar *path,
			     GError **error)
{
	g_autoptr(wire_walk) walk = wire_walk_open(path, error);
	struct wire_field field;
	enum wire_result result;

	if (!walk)
		return FALSE;
	while ((result = wire_walk_next(walk, &field)) == WIRE_FIELD) {
		file->offset = field.offset;
		if (field.number != PERFETTO_TRACE_PACKET ||
		    !wire_walk_load(walk, &field, PERFETTO_MAX_PACKET_BYTES))
			continue;
		perfetto_read_packet(file, perfetto_cursor(&field));
		import_tell_progress(import,
				     (file->is_first_pass ? 0 : 0.5) + wire_walk_done(walk) / 2);
	}
	if (result != WIRE_END && !file->is_first_pass)
		tacho_timeline_add_problem(file->timeline,
					   result == WIRE_BROKEN ? TACHO_PROBLEM_CORRUPT_RECORD
								 : TACHO_PROBLEM_TRUNCATED_FILE,
					   1, "%s", wire_walk_problem(walk));
	return TRUE;
}

static void report(const struct perfetto_file *file, const gchar *path)
{
	if (file->n_lost)
		tacho_timeline_add_problem(file->timeline, TACHO_PROBLEM_LOST_RECORDS, file->n_lost,
					   "%s: packets were lost when it was recorded", path);
	if (file->n_unmatched)
		tacho_timeline_add_problem(file->timeline, TACHO_PROBLEM_UNKNOWN_RECORD,
					   file->n_unmatched,
					   "%s: end events without a begin event", path);
	if (file->clocks.n_unknown)
		tacho_timeline_add_problem(
			file->timeline, TACHO_PROBLEM_CLOCK_DOUBT, file->clocks.n_unknown,
			"%s: times of a clock that cannot be converted to the others", path);
}

static void free_rows(gpointer rows)
{
	g_array_unref(rows);
}

static GHashTable *new_table(GDestroyNotify free_value)
{
	return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_value);
}

static gboolean read_all(struct perfetto_file *file, struct import *import, const gchar *path,
			 GError **error)
{
	file->is_first_pass = TRUE;
	if (!read_packets(file, import, path, error))
		return FALSE;
	file->is_first_pass = FALSE;
	if (!read_packets(file, import, path, error))
		return FALSE;
	perfetto_end_cores(file);
	perfetto_tie_arrows(file);
	name_processes(file);
	report(file, path);
	track_book_finish(file->book, file->clocks.day_ns);
	return TRUE;
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct perfetto_file file = { .timeline = import->timeline };
	gboolean is_read;

	(void)data;
	if (!exported_perfetto_read(import, path, &is_read, error))
		return FALSE;
	if (is_read)
		return TRUE;
	file.args = perfetto_args_new(import->timeline, path);
	if (!file.args) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
			    "%s: there are more files than can be open at once; name fewer", path);
		return FALSE;
	}
	file.book = track_book_new(import, path);
	file.described = new_table(g_free);
	file.sequences = new_table(g_free);
	file.open = new_table(free_rows);
	file.counters = new_table(NULL);
	file.running = new_table(g_free);
	file.threads = new_table(g_free);
	file.arrows = g_array_new(FALSE, FALSE, sizeof(struct perfetto_arrow));
	perfetto_clocks_init(&file.clocks);
	is_read = read_all(&file, import, path, error);
	perfetto_clocks_release(&file.clocks);
	g_array_unref(file.arrows);
	g_hash_table_unref(file.threads);
	g_hash_table_unref(file.running);
	g_hash_table_unref(file.counters);
	g_hash_table_unref(file.open);
	g_hash_table_unref(file.sequences);
	g_hash_table_unref(file.described);
	track_book_free(file.book);
	return is_read;
}

/* --- what it is ----------------------------------------------------------------------------- */

static gboolean sniff(const struct sniff_input *input)
{
	enum { MAX_LOOKED_AT = 64 };
	struct wire_cursor head = wire_cursor_of(input->head, input->n_head);
	gboolean is_sure = FALSE;
	struct wire_field field;

	for (guint i = 0; i < MAX_LOOKED_AT && wire_cursor_next(&head, &field) == WIRE_FIELD; i++)
		if (field.number != PERFETTO_TRACE_PACKET || field.type != WIRE_BYTES ||
		    !perfetto_is_packet(perfetto_cursor(&field), &is_sure))
			return FALSE;
	return is_sure;
}

/* Rocprofv3's, beside its other formats. */
static gboolean is_redundant(const struct sniff_input *input)
{
	static const gchar *const better[] = { "_results.db", "_results.json", "_kernel_trace.csv",
					       "_hip_api_trace.csv" };

	return rocm_files_has_better(input, "_results.pftrace", better, G_N_ELEMENTS(better));
}

const struct import_format import_perfetto = {
	.name = "perfetto",
	.title = "Perfetto traces, of tacho export and many others",
	.files = "*.pftrace, *.perfetto-trace, *.proto",
	.sniff = sniff,
	.is_redundant = is_redundant,
	.read_file = read_file,
};
