/* rocprof_db_import: the database that rocprof (v1) keeps beside its CSV and JSON ("result.db").
 *
 *     KERN  kernels, with queue and dispatch times      OPS   kernels, of a trace of HIP alone
 *     COPY  copies                                      HIP, HSA, ROCTX  calls and ranges
 *
 * (1) OPS and COPY have the Index of the call that made them in HIP; copies of a trace with HSA that in HSA. It is
 *     taken for a correlation id where the row of that Index is such a call.
 * (2) Times are nanoseconds of the machine's clock since it was started. */
#include <string.h>

#include "import/rocm/rocm_events.h"
#include "import/read/sqlite_trace.h"

static const gchar *const column_names[] = { "BeginNs", "EndNs",      "pid",	   "tid",
					     "Name",	"KernelName", "Index",	   "gpu-id",
					     "dev-id",	"queue-id",   "stream-id", "DispatchNs" };
enum {
	BEGIN,
	END,
	PID,
	TID,
	NAME,
	KERNEL_NAME,
	INDEX,
	GPU,
	DEVICE,
	QUEUE,
	STREAM,
	DISPATCH,
	N_COLUMNS
};

static const struct db_table {
	const gchar *name;
	enum rocm_kind kind;
} tables[] = {
	{ "HIP", ROCM_CALL },	 { "HSA", ROCM_CALL },	  { "ROCTX", ROCM_RANGE },
	{ "rocTX", ROCM_RANGE }, { "KERN", ROCM_KERNEL }, { "OPS", ROCM_KERNEL },
	{ "COPY", ROCM_COPY },
};

struct db_file {
	struct track_book *book;
	struct rocm_events *events;
	struct sqlite_trace *trace;
	struct sqlite_args *args;
};

/* (1): calls that make something on a device. */
static gboolean is_launching(const gchar *name)
{
	return strstr(name, "Launch") || strstr(name, "emcpy") || strstr(name, "emset") ||
	       strstr(name, "memory_async_copy");
}

/* A name without the quotes that the CSV it came from had around it. */
static gchar *unquote(const gchar *name)
{
	gsize n = strlen(name);

	return n >= 2 && name[0] == '"' && name[n - 1] == '"' ? g_strndup(name + 1, n - 2)
							      : g_strdup(name);
}

static gint64 correlation_of(const struct db_table *table, const gchar *name, gint64 index)
{
	if (table->kind == ROCM_CALL)
		return is_launching(name) ? index : 0;
	return strcmp(table->name, "KERN") == 0 ? 0 : index;
}

static void read_row(struct db_file *file, const struct db_table *table, guint args_table,
		     const struct sqlite_rows *rows)
{
	const gchar *text = sqlite_rows_text(rows, table->kind == ROCM_KERNEL ? KERNEL_NAME : NAME);
	g_autofree gchar *name = NULL;
	struct rocm_event event = { .kind = table->kind };

	if (!text)
		text = sqlite_rows_text(rows, NAME);
	if (!text || !sqlite_rows_integer(rows, BEGIN, &event.start_ns) ||
	    !sqlite_rows_integer(rows, END, &event.end_ns)) {
		track_book_count_broken_row(file->book, table->name, rows->row,
					    "the name or the time is missing");
		return;
	}
	event.name = name = unquote(text);
	event.tid = sqlite_rows_integer_or(rows, TID, 0);
	event.process = track_book_process(file->book, 0, sqlite_rows_integer_or(rows, PID, 0));
	event.correlation = correlation_of(table, name, sqlite_rows_integer_or(rows, INDEX, 0));
	event.device = sqlite_rows_integer_or(rows, GPU, sqlite_rows_integer_or(rows, DEVICE, 0));
	event.queue = sqlite_rows_integer_or(rows, QUEUE, -1);
	event.stream = sqlite_rows_integer_or(rows, STREAM, 0);
	event.dispatch_ns = sqlite_rows_integer_or(rows, DISPATCH, 0);
	event.source = sqlite_args_handle(file->args, args_table, rows->row);
	rocm_events_add(file->events, &event);
}

static void read_table(struct db_file *file, const struct db_table *table)
{
	guint args_table = sqlite_args_add_table(file->args, table->name, NULL);
	g_autofree gchar *failure = NULL;
	struct sqlite_rows rows;

	/* without times it only numbers the names */
	if (!sqlite_trace_has_column(file->trace, table->name, "BeginNs"))
		return;
	sqlite_rows_init(&rows, file->trace, table->name, column_names, N_COLUMNS);
	while (sqlite_rows_next(&rows, &failure))
		read_row(file, table, args_table, &rows);
	if (failure)
		track_book_count_broken_table(file->book, table->name, rows.n, failure);
	sqlite_rows_release(&rows);
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct db_file file = { .trace = sqlite_trace_open(path, error) };

	(void)data;
	if (!file.trace)
		return FALSE;
	file.args = sqlite_args_new(import->timeline, file.trace, path, error);
	if (!file.args)
		return FALSE;
	file.book = track_book_new(import, path);
	file.events = rocm_events_new(file.book);
	for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
		read_table(&file, &tables[i]);
	sqlite_trace_report(file.trace, import->timeline);
	rocm_events_finish(file.events);
	track_book_finish(file.book, 0);
	rocm_events_free(file.events);
	track_book_free(file.book);
	return TRUE;
}

static gboolean sniff(const struct sniff_input *input)
{
	return sqlite_trace_sniff_table(input, "KERN") || sqlite_trace_sniff_table(input, "HIP") ||
	       sqlite_trace_sniff_table(input, "HSA");
}

const struct import_format import_rocprof_db = {
	.name = "rocprof_db",
	.title = "rocprof (v1), its SQLite database",
	.files = "*.db",
	.sniff = sniff,
	.read_file = read_file,
};
