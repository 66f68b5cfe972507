/* nsys_import: what Nsight Systems exports as SQLite ("nsys export --type sqlite").
 *
 *     StringIds, TARGET_INFO_*, PROCESSES ... --> names, host, base time, ranks
 *     every table of events                   --> rows of one form, by tables[] --> slices, samples, marks
 *
 * (1) Which tables and columns there are depends on the version and on what was traced: none must be there
 *     but StringIds. A table of events that is not in tables[] is read as one of plain events.
 * (2) Times are nanoseconds since the session began, which TARGET_INFO_SESSION_START_TIME dates.
 * (3) A globalTid is machine << 48 | pid << 24 | tid; a globalPid the same with no tid.
 * (4) docs/formats.md says what becomes of each table and column. */
#include "import/nsys/nsys_file.h"

#include <string.h>

#include "base/for_each.h"
#include "import/device_properties.h"
#include "import/used_devices.h"

/* --- names and facts ------------------------------------------------------------------------ */

/* Call `visit` for each row of the columns of a table, if there is one. */
static void visit_rows(struct nsys_file *file, const gchar *table, const gchar *const *columns,
		       guint n, void (*visit)(struct nsys_file *file, gpointer data), gpointer data)
{
	g_autofree gchar *failure = NULL;

	if (!g_strv_contains((const gchar *const *)file->tables, table))
		return;
	sqlite_rows_init(&file->rows, file->trace, table, columns, n);
	while (sqlite_rows_next(&file->rows, &failure))
		visit(file, data);
	if (failure)
		track_book_count_broken_table(file->book, table, file->rows.n, failure);
	sqlite_rows_release(&file->rows);
}

#define VISIT(file, table, visit, data, ...)                                                       \
	do {                                                                                       \
		static const gchar *const names[] = { __VA_ARGS__ };                               \
		visit_rows(file, table, names, G_N_ELEMENTS(names), visit, data);                  \
	} while (0)

static void note_string(struct nsys_file *file, gpointer data)
{
	const gchar *text = sqlite_rows_text(&file->rows, 1);
	gint64 *id;

	(void)data;
	if (!text)
		text = "";
	id = g_new0(gint64, 1);
	*id = sqlite_rows_integer_or(&file->rows, 0, 0);
	g_hash_table_insert(file->strings, id, GUINT_TO_POINTER(nsys_intern(file, text) + 1));
}

static void note_metric(struct nsys_file *file, gpointer data)
{
	const gchar *text = sqlite_rows_text(&file->rows, 2);

	(void)data;
	if (text)
		g_hash_table_insert(file->metrics,
				    g_strdup_printf("%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT,
						    sqlite_rows_integer_or(&file->rows, 0, 0),
						    sqlite_rows_integer_or(&file->rows, 1, 0)),
				    g_strdup(text));
}

static void note_base(struct nsys_file *file, gpointer data)
{
	gint64 *base_ns = data;

	*base_ns = sqlite_rows_integer_or(&file->rows, 0, *base_ns);
}

static void note_host(struct nsys_file *file, gpointer data)
{
	const gchar *name = sqlite_rows_text(&file->rows, 0);
	const gchar *value = sqlite_rows_text(&file->rows, 1);

	(void)data;
	if (name && value && *value &&
	    (strcmp(name, "Hostname") == 0 || strcmp(name, "EXPORT_HOST") == 0))
		track_book_set_host(file->book, value);
}

/* The stack of a sample, the innermost function first: "read < load < main". Rows of a sample lie together. */
struct stack {
	gint64 id;
	guint depth;
	GString *text;
};

static void keep_stack(struct nsys_file *file, struct stack *stack)
{
	gint64 *id;

	if (!stack->depth)
		return;
	id = g_new(gint64, 1);
	*id = stack->id;
	g_hash_table_insert(file->stacks, id,
			    GUINT_TO_POINTER(nsys_intern(file, stack->text->str)));
	g_string_truncate(stack->text, 0);
	stack->depth = 0;
}

static void note_frame(struct nsys_file *file, gpointer data)
{
	enum { MAX_STACK = 64 };
	struct stack *stack = data;
	gint64 id = sqlite_rows_integer_or(&file->rows, 0, 0);
	gint64 symbol = sqlite_rows_integer_or(&file->rows, 1, -1);
	gpointer name = g_hash_table_lookup(file->strings, &symbol);

	if (id != stack->id)
		keep_stack(file, stack);
	stack->id = id;
	if (!name || stack->depth >= MAX_STACK)
		return;
	if (stack->depth++)
		g_string_append(stack->text, " < ");
	g_string_append(stack->text,
			tacho_timeline_string(file->timeline, GPOINTER_TO_UINT(name) - 1));
}

static void read_facts(struct nsys_file *file, gint64 *base_ns)
{
	struct stack stack = { .text = g_string_new(NULL) };

	VISIT(file, "StringIds", note_string, NULL, "id", "value");
	VISIT(file, "TARGET_INFO_SESSION_START_TIME", note_base, base_ns, "utcEpochNs");
	VISIT(file, "META_DATA_EXPORT", note_host, NULL, "name", "value");
	VISIT(file, "EXPORT_META_DATA", note_host, NULL, "name", "value");
	VISIT(file, "TARGET_INFO_SYSTEM_ENV", note_host, NULL, "name", "value");
	VISIT(file, "TARGET_INFO_GPU_METRICS", note_metric, NULL, "typeId", "metricId",
	      "metricName");
	VISIT(file, "SAMPLING_CALLCHAINS", note_frame, &stack, "id", "symbol");
	keep_stack(file, &stack);
	g_string_free(stack.text, TRUE);
}

/* --- what is known of processes and threads that did something ------------------------------- */

static gboolean has_process(const struct nsys_file *file, gint64 global_id, guint32 *ret_process)
{
	return track_book_has_process(file->book, global_id >> 48, global_id >> 24 & 0xffffff,
				      ret_process);
}

static void name_process(struct nsys_file *file, gpointer data)
{
	gint64 global_pid = sqlite_rows_integer_or(&file->rows, 0, 0);
	const gchar *text = sqlite_rows_text(&file->rows, 1);
	guint32 process;

	(void)data;
	if (text && has_process(file, global_pid, &process))
		track_book_borrow_process(file->book, process)->command = nsys_intern(file, text);
}

static void note_thread(struct nsys_file *file, gpointer data)
{
	gint64 id = sqlite_rows_integer_or(&file->rows, 0, -1);
	gpointer name = g_hash_table_lookup(file->strings, &id);
	gint64 *global_tid;

	(void)data;
	if (!name)
		return;
	global_tid = g_new(gint64, 1);
	*global_tid = sqlite_rows_integer_or(&file->rows, 1, 0);
	g_hash_table_insert(file->threads, global_tid,
			    GUINT_TO_POINTER(GPOINTER_TO_UINT(name) - 1));
}

static void name_threads(struct nsys_file *file)
{
	FOR_EACH_ENTRY(entry, file->threads) {
		gint64 global_tid = *(gint64 *)entry.key;
		guint32 process, track;

		if (has_process(file, global_tid, &process) &&
		    track_book_has_thread(file->book, process, global_tid & 0xffffff, &track))
			track_book_name_track(file->book, track,
					      tacho_timeline_string(file->timeline,
								    GPOINTER_TO_UINT(entry.value)));
	}
}

static void note_mpi_rank(struct nsys_file *file, gpointer data)
{
	gint64 rank = sqlite_rows_integer_or(&file->rows, 1, -1);
	guint32 process;

	(void)data;
	if (rank >= 0 && rank <= G_MAXINT32 &&
	    has_process(file, sqlite_rows_integer_or(&file->rows, 0, 0), &process))
		track_book_borrow_process(file->book, process)->rank = (gint32)rank;
}

/* A variable of the launched command's environment, "RANK=3". */
static void note_variable(struct nsys_file *file, gpointer data)
{
	const gchar *name = sqlite_rows_text(&file->rows, 0);
	const gchar *value = sqlite_rows_text(&file->rows, 1);

	if (name && value && g_str_has_suffix(name, ":ENVIRONMENT_VARIABLE"))
		launch_ranks_note(data, value);
}

/* MPI knows best, then the environment; the file's name is what processes begin with. */
static void read_ranks(struct nsys_file *file)
{
	struct launch_ranks ranks = LAUNCH_RANKS_INIT;

	VISIT(file, "META_DATA_CAPTURE", note_variable, &ranks, "name", "value");
	track_book_set_ranks(file->book, &ranks);
	VISIT(file, "MPI_RANKS", note_mpi_rank, NULL, "globalPid", "rank");
}

/* --- devices -------------------------------------------------------------------------------- */

/* Columns of TARGET_INFO_GPU, in the order in which note_device() asks for them. */
#define DEVICE_COLUMNS                                                                             \
	"id", "cuDevice", "name", "computeMajor", "computeMinor", "totalMemory",                   \
		"memoryBandwidth", "clockRate", "smCount", "threadsPerWarp", "maxWarpsPerSm",      \
		"maxRegistersPerSm", "maxShmemPerSm", "maxThreadsPerBlock",                        \
		"maxRegistersPerBlock", "maxShmemPerBlock"

static guint64 figure_at(const struct nsys_file *file, guint column)
{
	return (guint64)MAX(sqlite_rows_integer_or(&file->rows, column, 0), 0);
}

static guint32 count_at(const struct nsys_file *file, guint column)
{
	guint64 figure = figure_at(file, column);

	return figure <= G_MAXINT32 ? (guint32)figure : 0;
}

static void note_device(struct nsys_file *file, gpointer data)
{
	enum { MAX_DEVICES = 256 };
	const guint32 *first_process = data;
	const gchar *name = sqlite_rows_text(&file->rows, 2);
	gint64 number =
		sqlite_rows_integer_or(&file->rows, 1, sqlite_rows_integer_or(&file->rows, 0, 0));
	TachoDevice device = { .number = (gint32)CLAMP(number, G_MININT32, G_MAXINT32) };

	if (file->rows.n > MAX_DEVICES)
		return;
	device.name = name ? nsys_intern(file, name) : 0;
	device.architecture =
		device_architecture(file->timeline, sqlite_rows_integer_or(&file->rows, 3, -1),
				    sqlite_rows_integer_or(&file->rows, 4, -1));
	device.memory_bytes = figure_at(file, 5);
	device.peak_bytes_per_s = figure_at(file, 6);
	device.clock_hz = figure_at(file, 7);
	device.n_multiprocessors = count_at(file, 8);
	device.warp_threads = count_at(file, 9);
	device.multiprocessor_threads = count_at(file, 10) * device.warp_threads;
	device.multiprocessor_registers = count_at(file, 11);
	device.multiprocessor_shared_bytes = figure_at(file, 12);
	device.block_threads = count_at(file, 13);
	device.block_registers = count_at(file, 14);
	device.block_shared_bytes = figure_at(file, 15);
	used_devices_add(file->timeline, *first_process, &device);
}

/* --- a file --------------------------------------------------------------------------------- */

static void read_all(struct nsys_file *file)
{
	guint32 first_process = file->timeline->processes->len;
	gint64 base_ns = 0;

	file->tables = sqlite_trace_tables(file->trace, "");
	file->strings = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	file->stacks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	file->threads = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	file->nodes = g_hash_table_new_full(nsys_node_hash, nsys_node_equal, g_free, NULL);
	file->running = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	file->metrics = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	read_facts(file, &base_ns);
	VISIT(file, "ThreadNames", note_thread, NULL, "nameId", "globalTid");
	nsys_events_read(file);
	VISIT(file, "TARGET_INFO_GPU", note_device, &first_process, DEVICE_COLUMNS);
	VISIT(file, "PROCESSES", name_process, NULL, "globalPid", "name");
	name_threads(file);
	read_ranks(file);
	sqlite_trace_report(file->trace, file->timeline);
	track_book_finish(file->book, base_ns);
	g_strfreev(file->tables);
	g_hash_table_unref(file->strings);
	g_hash_table_unref(file->stacks);
	g_hash_table_unref(file->threads);
	g_hash_table_unref(file->nodes);
	g_hash_table_unref(file->running);
	g_hash_table_unref(file->metrics);
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	g_autoptr(track_book) book = NULL;
	struct nsys_file file = { .timeline = import->timeline };

	(void)data;
	file.trace = sqlite_trace_open(path, error);
	if (!file.trace)
		return FALSE;
	file.args = sqlite_args_new(import->timeline, file.trace, path, error);
	if (!file.args)
		return FALSE;
	file.book = book = track_book_new(import, path);
	read_all(&file);
	return TRUE;
}

static gboolean sniff(const struct sniff_input *input)
{
	return sqlite_trace_sniff_table(input, "StringIds");
}

const struct import_format import_nsys = {
	.name = "nsys",
	.title = "Nsight Systems, exported as SQLite",
	.files = "*.sqlite",
	.sniff = sniff,
	.read_file = read_file,
};
