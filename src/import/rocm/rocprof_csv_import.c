/* rocprof_csv_import: the tables that AMD's profilers write: rocprofv3's set of *_trace.csv, rocprof's (v1) kernels.
 *
 * (1) Files of one folder whose names begin alike are one run: "output_kernel_trace.csv", "output_hip_api_trace.csv".
 *     They are read in the order of tables[], so that calls and GPUs are known when what refers to them comes.
 * (2) What a file is, its columns say; a table of sums ("*_stats.csv") has no times and is none.
 * (3) A process is told by the calls only: what else is in the set is the work of the first one. */
#include <pthread.h>
#include <string.h>

#include "base/json_memory.h"
#include "import/read/csv_reader.h"
#include "import/read/device_args.h"
#include "import/rocm/rocm_agent.h"
#include "import/rocm/rocm_events.h"
#include "import/rocm/rocm_files.h"
#include "trace/source.h"

/* --- args ----------------------------------------------------------------------------------- */

/* A place is where the row begins in the decoded file. */
struct row_args {
	struct foreign_reader reader;
	gchar *path;
	pthread_mutex_t lock;
	struct csv_reader *csv; /* under the lock; opened at the first question */
	gboolean is_broken;
};

static gchar *tell_row(const struct csv_reader *csv)
{
	struct json_memory memory;
	JsonWriter *json = json_memory_begin(&memory);

	if (!json)
		return NULL;
	json_writer_begin_object(json);
	for (guint i = 0; i < csv_reader_n_columns(csv); i++) {
		const gchar *text = csv_reader_text(csv, (gint)i);
		gint64 number;

		if (!text)
			continue;
		json_writer_key(json, csv_reader_name(csv, i));
		if (g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &number, NULL))
			json_writer_integer(json, number);
		else
			json_writer_string(json, text);
	}
	json_writer_end_object(json);
	return json_memory_take(&memory, json);
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	struct row_args *args = (struct row_args *)reader;
	gchar *text = NULL;

	pthread_mutex_lock(&args->lock);
	if (!args->csv && !args->is_broken)
		args->csv = csv_reader_open(args->path, NULL);
	args->is_broken = !args->csv;
	if (!args->is_broken && csv_reader_seek(args->csv, place))
		text = tell_row(args->csv);
	pthread_mutex_unlock(&args->lock);
	return text;
}

static void free_args(struct foreign_reader *reader)
{
	struct row_args *args = (struct row_args *)reader;

	csv_reader_close(args->csv);
	pthread_mutex_destroy(&args->lock);
	g_free(args->path);
	g_free(args);
}

static guint32 take_args(TachoTimeline *timeline, const gchar *path)
{
	struct row_args *args = g_new0(struct row_args, 1);

	args->reader = (struct foreign_reader){ .args_json = get_args_json,
						.launch_shape = device_args_launch_shape,
						.copy = device_args_copy,
						.free = free_args };
	args->path = g_strdup(path);
	pthread_mutex_init(&args->lock, NULL);
	return tacho_source_take_foreign(timeline->source, &args->reader);
}

/* --- rows ----------------------------------------------------------------------------------- */

/* COLUMN(name in here, name in the file, name in rocprof v1's) */
#define CSV_COLUMNS(COLUMN)                                                                        \
	COLUMN(START, "Start_Timestamp", "BeginNs")                                                \
	COLUMN(END, "End_Timestamp", "EndNs")                                                      \
	COLUMN(KERNEL, "Kernel_Name", "KernelName")                                                \
	COLUMN(DIRECTION, "Direction", NULL)                                                       \
	COLUMN(DOMAIN, "Domain", NULL)                                                             \
	COLUMN(FUNCTION, "Function", NULL)                                                         \
	COLUMN(OPERATION, "Operation", NULL)                                                       \
	COLUMN(PROCESS, "Process_Id", "pid")                                                       \
	COLUMN(THREAD, "Thread_Id", "tid")                                                         \
	COLUMN(CORRELATION, "Correlation_Id", NULL)                                                \
	COLUMN(AGENT, "Agent_Id", "gpu-id")                                                        \
	COLUMN(SOURCE, "Source_Agent_Id", NULL)                                                    \
	COLUMN(TARGET, "Destination_Agent_Id", NULL)                                               \
	COLUMN(QUEUE, "Queue_Id", "queue-id")                                                      \
	COLUMN(STREAM, "Stream_Id", NULL)                                                          \
	COLUMN(DISPATCH, "Dispatch_Id", NULL)                                                      \
	COLUMN(DISPATCH_NS, NULL, "DispatchNs")                                                    \
	COLUMN(SIZE, "Allocation_Size", NULL)                                                      \
	COLUMN(ADDRESS, "Address", NULL)                                                           \
	COLUMN(COUNTER, "Counter_Name", NULL)                                                      \
	COLUMN(VALUE, "Counter_Value", NULL)                                                       \
	COLUMN(NODE, "Node_Id", NULL)                                                              \
	COLUMN(AGENT_TYPE, "Agent_Type", NULL)

enum csv_column {
#define CSV_COLUMN(column, name, old_name) COLUMN_##column,
	CSV_COLUMNS(CSV_COLUMN)
#undef CSV_COLUMN
		N_COLUMNS
};

static const struct {
	const gchar *name, *old_name;
} column_names[] = {
#define CSV_COLUMN(column, name, old_name) { name, old_name },
	CSV_COLUMNS(CSV_COLUMN)
#undef CSV_COLUMN
};

/* The files of a run. */
struct csv_run {
	struct import *import;
	struct track_book *book;
	struct rocm_events *events;
	GHashTable *gpus;	/* node + 1 -> number of the GPU + 1 */
	GHashTable *dispatches; /* numbers + 1 of those that have a kernel */
	guint n_gpus;
	GArray *agents; /* TachoDevice, of the GPUs */
	gint64 pid;
	gboolean has_kernels; /* a table of kernels is in the set */
	/* The file that is being read: */
	struct csv_reader *csv;
	gint columns[N_COLUMNS];
	guint32 foreign;
	const gchar *path;
};

static gint64 integer_or(const struct csv_run *run, enum csv_column column, gint64 otherwise)
{
	csv_reader_integer(run->csv, run->columns[column], &otherwise);
	return otherwise;
}

static const gchar *text_of(const struct csv_run *run, enum csv_column column)
{
	const gchar *text = csv_reader_text(run->csv, run->columns[column]);

	return text ? text : "";
}

/* The number of the GPU that an agent is; without a table of agents, the agent's own. -1: it is a CPU. */
static gint64 gpu_of(const struct csv_run *run, gint64 agent)
{
	guint number = GPOINTER_TO_UINT(
		g_hash_table_lookup(run->gpus, GUINT_TO_POINTER((guint)agent + 1)));

	if (number)
		return (gint64)number - 1;
	return g_hash_table_size(run->gpus) ? -1 : agent;
}

static gboolean begin_event(struct csv_run *run, enum rocm_kind kind, struct rocm_event *event)
{
	*event = (struct rocm_event){ .kind = kind };
	if (!csv_reader_integer(run->csv, run->columns[COLUMN_START], &event->start_ns) ||
	    !csv_reader_integer(run->csv, run->columns[COLUMN_END], &event->end_ns)) {
		track_book_count_broken(run->book,
					"%s: byte %" G_GUINT64_FORMAT ": a row without times",
					run->path, csv_reader_offset(run->csv));
		return FALSE;
	}
	run->pid = run->pid ? run->pid : integer_or(run, COLUMN_PROCESS, 0);
	event->process =
		track_book_process(run->book, 0, integer_or(run, COLUMN_PROCESS, run->pid));
	event->tid = integer_or(run, COLUMN_THREAD, 0);
	event->correlation = integer_or(run, COLUMN_CORRELATION, 0);
	event->queue = integer_or(run, COLUMN_QUEUE, -1);
	event->stream = integer_or(run, COLUMN_STREAM, 0);
	event->dispatch_ns = integer_or(run, COLUMN_DISPATCH_NS, 0);
	event->source = tacho_source_foreign_handle(run->foreign, csv_reader_offset(run->csv));
	return TRUE;
}

/* What the row tells of GPU `number`. */
static void add_agent(struct csv_run *run, guint number)
{
	TachoDevice agent;

	rocm_agent_init(&agent, number);
	for (guint i = 0; i < csv_reader_n_columns(run->csv); i++) {
		const gchar *word = csv_reader_name(run->csv, i);
		const gchar *text = csv_reader_text(run->csv, (gint)i);
		gint64 value;

		if (!text)
			continue;
		if (g_ascii_string_to_signed(text, 10, 0, G_MAXINT32, &value, NULL))
			rocm_agent_number(&agent, word, strlen(word), value);
		else
			rocm_agent_text(&agent, run->import->timeline, word, strlen(word), text);
	}
	g_array_append_val(run->agents, agent);
}

static void read_agent(struct csv_run *run)
{
	gint64 node = integer_or(run, COLUMN_NODE, 0);

	if (strcmp(text_of(run, COLUMN_AGENT_TYPE), "GPU") != 0)
		return;
	add_agent(run, run->n_gpus);
	g_hash_table_insert(run->gpus, GUINT_TO_POINTER((guint)node + 1),
			    GUINT_TO_POINTER(++run->n_gpus));
}

static void read_call(struct csv_run *run)
{
	struct rocm_event event;

	if (!begin_event(run, rocm_kind_of_domain(text_of(run, COLUMN_DOMAIN)), &event))
		return;
	event.name = text_of(run, COLUMN_FUNCTION);
	rocm_events_add(run->events, &event);
}

static void read_kernel(struct csv_run *run)
{
	struct rocm_event event;

	if (!begin_event(run, ROCM_KERNEL, &event))
		return;
	run->has_kernels = TRUE;
	event.device = MAX(gpu_of(run, integer_or(run, COLUMN_AGENT, 0)), 0);
	event.name = text_of(run, COLUMN_KERNEL);
	rocm_events_add(run->events, &event);
}

static void read_copy(struct csv_run *run)
{
	gint64 target = gpu_of(run, integer_or(run, COLUMN_TARGET, 0));
	gint64 source = gpu_of(run, integer_or(run, COLUMN_SOURCE, 0));
	struct rocm_event event;

	if (!begin_event(run, ROCM_COPY, &event))
		return;
	event.name = text_of(run, COLUMN_DIRECTION);
	/* the GPU of the two; without a table of agents, the end that the direction calls a device */
	if (!g_hash_table_size(run->gpus))
		event.device = strstr(event.name, "DEVICE_TO_HOST") ? source : target;
	else
		event.device = MAX(target >= 0 ? target : source, 0);
	rocm_events_add(run->events, &event);
}

/* Kinds that are neither kernels, copies nor calls: allocations, scratch memory. */
static void read_operation(struct csv_run *run)
{
	const gchar *operation = text_of(run, COLUMN_OPERATION);
	gint64 size = integer_or(run, COLUMN_SIZE, -1);
	TachoMemoryEvent memory = { .slice = TACHO_NONE, .layer = TACHO_MEMORY_OF_DRIVER };
	struct rocm_event event;
	guint32 call;

	if (!begin_event(run, ROCM_OTHER, &event))
		return;
	event.name = operation;
	if (size < 0 || !strstr(operation, "MEMORY_ALLOCATION")) {
		rocm_events_add(run->events, &event);
		return;
	}
	call = track_book_find_call(run->book, event.process, event.correlation, event.start_ns);
	memory.track = call != TACHO_NONE ? track_book_timeline(run->book)->slices.track[call]
					  : track_book_thread(run->book, event.process, run->pid);
	memory.time_ns = event.end_ns;
	memory.address = (guint64)integer_or(run, COLUMN_ADDRESS, 0);
	memory.bytes = strstr(operation, "FREE") ? -size : size;
	memory.device = (guint32)(gpu_of(run, integer_or(run, COLUMN_AGENT, 0)) + 1);
	track_book_add_memory(run->book, &memory);
}

/* A row a counter: of several, each dispatch is a kernel once, where no table has the kernels. */
static void read_counter(struct csv_run *run)
{
	gint64 gpu = MAX(gpu_of(run, integer_or(run, COLUMN_AGENT, 0)), 0);
	g_autofree gchar *name =
		g_strdup_printf("GPU %" G_GINT64_FORMAT ": %s", gpu, text_of(run, COLUMN_COUNTER));
	struct rocm_event event;

	if (!begin_event(run, ROCM_KERNEL, &event))
		return;
	track_book_add_sample(run->book, track_book_counter(run->book, event.process, name),
			      event.start_ns, g_ascii_strtod(text_of(run, COLUMN_VALUE), NULL));
	if (run->has_kernels ||
	    !g_hash_table_add(run->dispatches,
			      GUINT_TO_POINTER((guint)integer_or(run, COLUMN_DISPATCH, 0) + 1)))
		return;
	event.device = gpu;
	event.name = text_of(run, COLUMN_KERNEL);
	rocm_events_add(run->events, &event);
}

/* --- files ---------------------------------------------------------------------------------- */

/* (1), (2): the order in which files are read, and the columns that tell them. */
static const struct csv_table {
	enum csv_column needs[2];
	void (*read)(struct csv_run *run);
} tables[] = {
	{ { COLUMN_NODE, COLUMN_AGENT_TYPE }, read_agent },
	{ { COLUMN_FUNCTION, COLUMN_START }, read_call },
	{ { COLUMN_COUNTER, COLUMN_START }, NULL }, /* last, but known before kernels are */
	{ { COLUMN_KERNEL, COLUMN_START }, read_kernel },
	{ { COLUMN_DIRECTION, COLUMN_START }, read_copy },
	{ { COLUMN_OPERATION, COLUMN_START }, read_operation },
};
enum { COUNTERS = 2 };

static void find_columns(const struct csv_reader *csv, gint *columns)
{
	for (guint i = 0; i < N_COLUMNS; i++) {
		columns[i] =
			column_names[i].name ? csv_reader_column(csv, column_names[i].name) : -1;
		if (columns[i] < 0 && column_names[i].old_name)
			columns[i] = csv_reader_column(csv, column_names[i].old_name);
	}
}

/* Which table it is; G_N_ELEMENTS(tables): none. */
static guint find_table(const struct csv_reader *csv)
{
	gint columns[N_COLUMNS];
	guint i = 0;

	find_columns(csv, columns);
	while (i < G_N_ELEMENTS(tables) &&
	       (columns[tables[i].needs[0]] < 0 || columns[tables[i].needs[1]] < 0))
		i++;
	return i;
}

static gboolean read_rows(struct csv_run *run, const gchar *path, void (*read)(struct csv_run *run),
			  GError **error)
{
	g_autoptr(csv_reader) csv = csv_reader_open(path, error);

	if (!csv)
		return FALSE;
	run->csv = csv;
	run->path = path;
	run->foreign = take_args(run->import->timeline, path);
	find_columns(csv, run->columns);
	while (csv_reader_next(csv))
		read(run);
	if (csv_reader_problem(csv))
		tacho_timeline_add_problem(run->import->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s", csv_reader_problem(csv));
	return TRUE;
}

static gboolean is_table(const gchar *path, guint table)
{
	g_autoptr(csv_reader) csv = csv_reader_open(path, NULL);

	return csv && find_table(csv) == table;
}

static gboolean read_tables(struct csv_run *run, const GPtrArray *paths, GError **error)
{
	for (guint table = 0; table < G_N_ELEMENTS(tables); table++)
		for (guint i = 0; table != COUNTERS && i < paths->len; i++)
			if (is_table(paths->pdata[i], table) &&
			    !read_rows(run, paths->pdata[i], tables[table].read, error))
				return FALSE;
	for (guint i = 0; i < paths->len; i++)
		if (is_table(paths->pdata[i], COUNTERS) &&
		    !read_rows(run, paths->pdata[i], read_counter, error))
			return FALSE;
	return TRUE;
}

static gboolean read_run(struct import *import, const GPtrArray *paths, GError **error)
{
	struct csv_run run = { .import = import };
	guint32 first_process = import->timeline->processes->len;
	gboolean is_read;

	run.book = track_book_new(import, paths->pdata[0]);
	run.events = rocm_events_new(run.book);
	run.gpus = g_hash_table_new(NULL, NULL);
	run.agents = g_array_new(FALSE, FALSE, sizeof(TachoDevice));
	run.dispatches = g_hash_table_new(NULL, NULL);
	is_read = read_tables(&run, paths, error);
	rocm_events_finish(run.events);
	track_book_finish(run.book, 0);
	rocm_agents_add(import->timeline, first_process, run.agents);
	g_array_unref(run.agents);
	g_hash_table_unref(run.dispatches);
	g_hash_table_unref(run.gpus);
	rocm_events_free(run.events);
	track_book_free(run.book);
	return is_read;
}

/* --- which files belong together ------------------------------------------------------------ */

static const gchar *const endings[] = {
	"_kernel_trace.csv",	    "_memory_copy_trace.csv", "_hip_api_trace.csv",
	"_hsa_api_trace.csv",	    "_marker_api_trace.csv",  "_rccl_api_trace.csv",
	"_rocdecode_api_trace.csv", "_rocjpeg_api_trace.csv", "_scratch_memory_trace.csv",
	"_counter_collection.csv",  "_agent_info.csv",	      "_memory_allocation_trace.csv",
};

/* The path without what its kind is called by; of any other file itself. */
static gchar *stem_of(const gchar *path)
{
	static const gchar *const codings[] = { ".gz", ".zst" };
	gchar *stem = g_strdup(path);

	for (guint i = 0; i < G_N_ELEMENTS(codings); i++)
		if (g_str_has_suffix(stem, codings[i]))
			stem[strlen(stem) - strlen(codings[i])] = '\0';
	for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
		if (g_str_has_suffix(stem, endings[i])) {
			stem[strlen(stem) - strlen(endings[i])] = '\0';
			break;
		}
	return stem;
}

/* The files by run, each a GPtrArray of borrowed paths, in the order of the first of each. */
static GPtrArray *group_paths(const gchar *const *paths, guint n_paths)
{
	g_autoptr(GHashTable) by_stem =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GPtrArray *runs = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);

	for (guint i = 0; i < n_paths; i++) {
		gchar *stem = stem_of(paths[i]);
		GPtrArray *of_run = g_hash_table_lookup(by_stem, stem);

		if (!of_run) {
			of_run = g_ptr_array_new();
			g_ptr_array_add(runs, of_run);
			g_hash_table_insert(by_stem, stem, of_run);
		} else {
			g_free(stem);
		}
		g_ptr_array_add(of_run, (gpointer)paths[i]);
	}
	return runs;
}

static gboolean read_rocprof_csv(struct import *import, const gchar *const *paths, guint n_paths,
				 GError **error)
{
	g_autoptr(GPtrArray) runs = group_paths(paths, n_paths);
	guint n_failed = 0;

	for (guint i = 0; i < runs->len; i++) {
		g_autoptr(GError) failure = NULL;

		import_begin_path(import, i, runs->len);
		if (read_run(import, runs->pdata[i], &failure))
			continue;
		if (++n_failed == runs->len) {
			g_propagate_error(error, g_steal_pointer(&failure));
			return FALSE;
		}
		tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_UNREADABLE_FILE, 1, "%s",
					   failure->message);
	}
	return TRUE;
}

/* --- what it is ----------------------------------------------------------------------------- */

/* A better file of the same run: rocprofv3's stand beside "<stem>_results", rocprof's beside "<stem>". */
static gboolean is_redundant(const struct sniff_input *input)
{
	static const gchar *const better[] = { "_results.db", "_results.json" };
	static const gchar *const old[] = { ".db", ".json" };

	for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
		if (rocm_files_has_better(input, endings[i], better, G_N_ELEMENTS(better)))
			return TRUE;
	return rocm_files_has_better(input, ".csv", old, G_N_ELEMENTS(old));
}

static gboolean sniff(const struct sniff_input *input)
{
	static const gchar *const firsts[] = { "Kind", "Domain", "Index", "Node_Id",
					       "Correlation_Id" };
	const gchar *at = input->head + (input->head[0] == '"');
	g_autoptr(csv_reader) csv = NULL;
	gboolean is_likely = FALSE;

	for (guint i = 0; i < G_N_ELEMENTS(firsts); i++)
		is_likely |= g_str_has_prefix(at, firsts[i]);
	if (input->is_folder || !is_likely)
		return FALSE;
	csv = csv_reader_open(input->path, NULL);
	return csv && find_table(csv) < G_N_ELEMENTS(tables);
}

const struct import_format import_rocprof_csv = {
	.name = "rocprof_csv",
	.title = "rocprofv3 and rocprof (v1), CSV",
	.files = "*_trace.csv, *_agent_info.csv, *_counter_collection.csv, result.csv",
	.sniff = sniff,
	.is_redundant = is_redundant,
	.read = read_rocprof_csv,
};
