/* rocprofv3_json_import: what rocprofv3 writes with --output-format json ("rocprofiler-sdk-tool").
 *
 *     metadata, agents, counters, strings, kernel_symbols --> in memory
 *     buffer_records, callback_records, record by record   --> slices, memory events, samples
 *
 * (1) Files are gigabytes: they are walked once (json_stream.h), and tables of names come before the records, as the
 *     profiler writes them.
 * (2) A record's kind and operation are numbers of strings.buffer_records; correlation_id.internal ties what a device
 *     did to its call.
 * (3) Times are nanoseconds of the machine's clock since it was started. */
#include <string.h>

#include "import/read/device_args.h"
#include "import/read/json_file.h"
#include "import/read/json_stream.h"
#include "import/rocm/rocm_agent.h"
#include "import/rocm/rocm_events.h"
#include "import/rocm/rocm_files.h"
#include "import/sniff_evidence.h"
#include "trace/source.h"

enum {
	MAX_RECORD_BYTES = 16 * 1024 * 1024,
	MAX_KINDS = 1 << 10,
	MAX_OPERATIONS = 1 << 16,
};

/* --- args ----------------------------------------------------------------------------------- */

/* A place is where the record stands in the decoded file. */
struct record_args {
	struct foreign_reader reader;
	struct json_file *file;
};

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	return json_file_copy(((struct record_args *)reader)->file, place);
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *kernel)
{
	struct record_args *args = (struct record_args *)reader;
	gboolean is_found = FALSE;
	struct json_scan scan;
	struct json_text key;
	gint64 bytes = 0;

	if (json_file_lock(args->file, place, &scan) && json_take(&scan, '{'))
		while (!is_found && json_member(&scan, &key)) {
			if (JSON_TEXT_IS(&key, "bytes"))
				is_found = json_fixed(&scan, 0, &bytes) && bytes >= 0;
			else
				json_skip(&scan);
		}
	json_file_unlock(args->file);
	if (is_found)
		*kernel = (TachoKernelArgs){ .bytes = (guint64)bytes, .dtype = "", .text = "" };
	return is_found;
}

static void free_args(struct foreign_reader *reader)
{
	json_file_free(((struct record_args *)reader)->file);
	g_free(reader);
}

static guint32 take_args(TachoTimeline *timeline, const gchar *path)
{
	struct record_args *args = g_new0(struct record_args, 1);

	args->reader = (struct foreign_reader){ .kernel = get_kernel,
						.args_json = get_args_json,
						.launch_shape = device_args_launch_shape,
						.copy = device_args_copy,
						.free = free_args };
	args->file = json_file_new(path);
	return tacho_source_take_foreign(timeline->source, &args->reader);
}

/* --- a file --------------------------------------------------------------------------------- */

/* What a kind of records is called, and its operations. */
struct kind {
	guint32 name;	    /* string id */
	GArray *operations; /* guint32 string ids */
};

struct sdk_file {
	struct import *import;
	struct track_book *book;
	TachoTimeline *timeline;
	struct rocm_events *events;
	struct json_stream *stream;
	guint32 foreign;
	GPtrArray *kinds;     /* struct kind */
	GHashTable *kernels;  /* id -> string id */
	GHashTable *messages; /* correlation id -> string id: what a range is called */
	GHashTable *counters; /* handle -> string id */
	GArray *gpus;	      /* TachoDevice */
	GHashTable *agents;   /* handle -> number of the GPU + 1; of a CPU 0 */
	gint64 pid;
	guint32 command; /* string id */
	guint64 n_records;
};

/* All that records of any kind say. */
struct record {
	gint64 kind, operation, thread, start_ns, end_ns, correlation;
	gint64 agent, source_agent, target_agent, queue, stream, kernel;
	gint64 address, allocation, bytes, dispatch;
	gboolean has_start, has_end;
};

static guint32 intern_text(struct sdk_file *file, const struct json_text *text)
{
	g_autoptr(GString) storage = g_string_new(NULL);
	struct json_text plain = json_text_plain(text, storage);
	g_autofree gchar *valid = g_utf8_make_valid(plain.bytes, (gssize)plain.n);

	return tacho_timeline_intern(file->timeline, valid, -1);
}

/* The string that is next as a string id; others are passed over, and are 0. */
static guint32 read_string(struct sdk_file *file, struct json_scan *scan)
{
	struct json_text text;

	if (json_peek(scan) == '"')
		return json_string(scan, &text) ? intern_text(file, &text) : 0;
	json_skip(scan);
	return 0;
}

/* {"handle": 7} */
static gint64 read_handle(struct json_scan *scan)
{
	struct json_text key;
	gint64 handle = 0;

	if (json_peek(scan) != '{') {
		json_fixed(scan, 0, &handle);
		return handle;
	}
	json_take(scan, '{');
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "handle") || JSON_TEXT_IS(&key, "internal"))
			json_fixed(scan, 0, &handle);
		else
			json_skip(scan);
	}
	return handle;
}

static gpointer find_number(GHashTable *table, gint64 number)
{
	return g_hash_table_lookup(table, &number);
}

static void keep_number(GHashTable *table, gint64 number, guint32 value)
{
	g_hash_table_insert(table, g_memdup2(&number, sizeof(number)), GUINT_TO_POINTER(value));
}

/* --- what describes ------------------------------------------------------------------------- */

static void read_command(struct sdk_file *file, struct json_scan *scan)
{
	g_autoptr(GString) command = g_string_new(NULL);

	if (!json_enter(scan, '['))
		return;
	while (json_element(scan)) {
		if (command->len)
			g_string_append_c(command, ' ');
		g_string_append(command,
				tacho_timeline_string(file->timeline, read_string(file, scan)));
	}
	file->command = tacho_timeline_intern(file->timeline, command->str, -1);
}

static void read_node(struct sdk_file *file, struct json_scan *scan)
{
	struct json_text key;

	if (!json_enter(scan, '{'))
		return;
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "hostname"))
			track_book_set_host(
				file->book,
				tacho_timeline_string(file->timeline, read_string(file, scan)));
		else
			json_skip(scan);
	}
}

static void read_metadata(struct sdk_file *file, struct json_scan *scan)
{
	struct json_text key;

	if (json_peek(scan) != '{' || !json_take(scan, '{'))
		return;
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "pid"))
			json_fixed(scan, 0, &file->pid);
		else if (JSON_TEXT_IS(&key, "command"))
			read_command(file, scan);
		else if (JSON_TEXT_IS(&key, "node"))
			read_node(file, scan);
		else
			json_skip(scan);
	}
}

/* GPUs are numbered among themselves. */
static void read_agent(struct sdk_file *file, struct json_scan *scan)
{
	enum { TYPE_GPU = 2 };
	gint64 handle = 0, type = 0, number = 0;
	struct json_text key;
	TachoDevice agent;

	rocm_agent_init(&agent, 0);
	json_take(scan, '{');
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "id"))
			handle = read_handle(scan);
		else if (JSON_TEXT_IS(&key, "type"))
			json_fixed(scan, 0, &type);
		else if (JSON_TEXT_IS(&key, "logical_node_type_id"))
			json_fixed(scan, 0, &number);
		else
			rocm_agent_member(&agent, file->timeline, &key, scan);
	}
	if (type != TYPE_GPU)
		return;
	agent.number = (gint32)CLAMP(number, 0, G_MAXINT32);
	g_array_append_val(file->gpus, agent);
	keep_number(file->agents, handle, (guint32)agent.number + 1);
}

static void read_kernel_symbol(struct sdk_file *file, struct json_scan *scan)
{
	guint32 formatted = 0, name = 0;
	struct json_text key;
	gint64 id = 0;

	json_take(scan, '{');
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "kernel_id"))
			json_fixed(scan, 0, &id);
		else if (JSON_TEXT_IS(&key, "formatted_kernel_name"))
			formatted = read_string(file, scan);
		else if (JSON_TEXT_IS(&key, "kernel_name"))
			name = read_string(file, scan);
		else
			json_skip(scan);
	}
	keep_number(file->kernels, id, formatted ? formatted : name);
}

static void read_counter(struct sdk_file *file, struct json_scan *scan)
{
	struct json_text key;
	gint64 handle = 0;
	guint32 name = 0;

	json_take(scan, '{');
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "id"))
			handle = read_handle(scan);
		else if (JSON_TEXT_IS(&key, "name"))
			name = read_string(file, scan);
		else
			json_skip(scan);
	}
	keep_number(file->counters, handle, name);
}

static void free_kind(gpointer data)
{
	struct kind *kind = data;

	g_array_unref(kind->operations);
	g_free(kind);
}

/* {"kind": "HIP_RUNTIME_API", "operations": [...]}; their order is their number. */
static void read_kind(struct sdk_file *file, struct json_scan *scan)
{
	struct kind *kind = g_new0(struct kind, 1);
	struct json_text key;

	kind->operations = g_array_new(FALSE, FALSE, sizeof(guint32));
	json_take(scan, '{');
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "kind")) {
			kind->name = read_string(file, scan);
		} else if (JSON_TEXT_IS(&key, "operations") && json_peek(scan) == '[') {
			json_take(scan, '[');
			while (json_element(scan)) {
				guint32 operation = read_string(file, scan);

				if (kind->operations->len < MAX_OPERATIONS)
					g_array_append_val(kind->operations, operation);
			}
		} else {
			json_skip(scan);
		}
	}
	if (file->kinds->len < MAX_KINDS)
		g_ptr_array_add(file->kinds, kind);
	else
		free_kind(kind);
}

/* {"key": 42, "value": "forward"} */
static void read_message(struct sdk_file *file, struct json_scan *scan)
{
	struct json_text key;
	gint64 correlation = 0;
	guint32 message = 0;

	json_take(scan, '{');
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "key"))
			json_fixed(scan, 0, &correlation);
		else if (JSON_TEXT_IS(&key, "value"))
			message = read_string(file, scan);
		else
			json_skip(scan);
	}
	keep_number(file->messages, correlation, message);
}

/* --- records -------------------------------------------------------------------------------- */

static void read_dispatch(struct json_scan *scan, struct record *record)
{
	struct json_text key;

	if (!json_enter(scan, '{'))
		return;
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "agent_id"))
			record->agent = read_handle(scan);
		else if (JSON_TEXT_IS(&key, "queue_id"))
			record->queue = read_handle(scan);
		else if (JSON_TEXT_IS(&key, "kernel_id"))
			json_fixed(scan, 0, &record->kernel);
		else if (JSON_TEXT_IS(&key, "dispatch_id"))
			json_fixed(scan, 0, &record->dispatch);
		else
			json_skip(scan);
	}
}

static void read_member(struct json_scan *scan, const struct json_text *key, struct record *record)
{
	if (JSON_TEXT_IS(key, "kind"))
		json_fixed(scan, 0, &record->kind);
	else if (JSON_TEXT_IS(key, "operation"))
		json_fixed(scan, 0, &record->operation);
	else if (JSON_TEXT_IS(key, "thread_id"))
		json_fixed(scan, 0, &record->thread);
	else if (JSON_TEXT_IS(key, "start_timestamp"))
		record->has_start = json_fixed(scan, 0, &record->start_ns);
	else if (JSON_TEXT_IS(key, "end_timestamp"))
		record->has_end = json_fixed(scan, 0, &record->end_ns);
	else if (JSON_TEXT_IS(key, "correlation_id"))
		record->correlation = read_handle(scan);
	else if (JSON_TEXT_IS(key, "dispatch_info"))
		read_dispatch(scan, record);
	else if (JSON_TEXT_IS(key, "stream_id"))
		record->stream = read_handle(scan);
	else if (JSON_TEXT_IS(key, "queue_id"))
		record->queue = read_handle(scan);
	else if (JSON_TEXT_IS(key, "agent_id"))
		record->agent = read_handle(scan);
	else if (JSON_TEXT_IS(key, "src_agent_id"))
		record->source_agent = read_handle(scan);
	else if (JSON_TEXT_IS(key, "dst_agent_id"))
		record->target_agent = read_handle(scan);
	else if (JSON_TEXT_IS(key, "address"))
		json_fixed(scan, 0, &record->address);
	else if (JSON_TEXT_IS(key, "allocation_size"))
		json_fixed(scan, 0, &record->allocation);
	else
		json_skip(scan);
}

static const gchar *operation_name(const struct sdk_file *file, const struct record *record,
				   const gchar **ret_kind)
{
	const struct kind *kind;

	*ret_kind = "";
	if (record->kind < 0 || record->kind >= (gint64)file->kinds->len)
		return "?";
	kind = file->kinds->pdata[record->kind];
	*ret_kind = tacho_timeline_string(file->timeline, kind->name);
	if (record->operation < 0 || record->operation >= (gint64)kind->operations->len)
		return *ret_kind;
	return tacho_timeline_string(file->timeline,
				     g_array_index(kind->operations, guint32, record->operation));
}

/* The number of a GPU; -1: it is none. */
static gint64 gpu_of(const struct sdk_file *file, gint64 agent)
{
	return (gint64)GPOINTER_TO_UINT(find_number(file->agents, agent)) - 1;
}

static void add_memory(struct sdk_file *file, const struct record *record, guint32 process,
		       gboolean is_free)
{
	TachoMemoryEvent event = { .time_ns = record->end_ns,
				   .address = (guint64)record->address,
				   .bytes = is_free ? -record->allocation : record->allocation,
				   .slice = TACHO_NONE,
				   .layer = TACHO_MEMORY_OF_DRIVER };

	event.track = track_book_thread(file->book, process, record->thread);
	event.device = (guint32)(gpu_of(file, record->agent) + 1);
	track_book_add_memory(file->book, &event);
}

static void add_record(struct sdk_file *file, const struct record *record, guint64 offset)
{
	const gchar *kind, *name = operation_name(file, record, &kind);
	guint32 message = GPOINTER_TO_UINT(find_number(file->messages, record->correlation));
	guint32 process = track_book_process(file->book, 0, file->pid);
	struct rocm_event event = {
		.kind = rocm_kind_of_domain(kind),
		.process = process,
		.tid = record->thread,
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.correlation = record->correlation,
		.queue = record->queue,
		.stream = record->stream,
		.name = name,
		.source = tacho_source_foreign_handle(file->foreign, offset),
	};

	if (strcmp(kind, "MEMORY_ALLOCATION") == 0 && record->allocation >= 0) {
		add_memory(file, record, process, strstr(name, "FREE") != NULL);
		return;
	}
	if (strcmp(kind, "KERNEL_DISPATCH") == 0) {
		event.kind = ROCM_KERNEL;
		event.device = MAX(gpu_of(file, record->agent), 0);
		event.name = tacho_timeline_string(
			file->timeline,
			GPOINTER_TO_UINT(find_number(file->kernels, record->kernel)));
	} else if (strcmp(kind, "MEMORY_COPY") == 0) {
		gint64 target = gpu_of(file, record->target_agent);

		event.kind = ROCM_COPY;
		event.device = MAX(target >= 0 ? target : gpu_of(file, record->source_agent), 0);
	} else if (event.kind == ROCM_RANGE && message) {
		event.name = tacho_timeline_string(file->timeline, message);
	}
	if (event.kind == ROCM_RANGE && strstr(name, "Mark"))
		track_book_add_mark(file->book,
				    track_book_thread(file->book, process, record->thread),
				    record->start_ns, "roctx mark", event.name, 0, 0);
	else
		rocm_events_add(file->events, &event);
}

static void read_record(struct sdk_file *file, struct json_scan *scan, guint64 offset)
{
	struct record record = { .kind = -1, .operation = -1, .queue = -1, .allocation = -1 };
	struct json_text key;

	json_take(scan, '{');
	while (json_member(scan, &key))
		read_member(scan, &key, &record);
	if (!record.has_start || !record.has_end)
		track_book_count_unknown(
			file->book, "byte %" G_GUINT64_FORMAT ": a record without times", offset);
	else
		add_record(file, &record, offset);
}

/* Values that were counted over a dispatch: {"counter_id": {"handle": 3}, "value": 4.0} */
static void read_values(struct sdk_file *file, struct json_scan *scan, const struct record *record)
{
	struct json_text key;

	json_take(scan, '[');
	while (json_element(scan)) {
		gint64 counter = 0, gpu = MAX(gpu_of(file, record->agent), 0);
		g_autofree gchar *name = NULL;
		gdouble value = 0;

		if (!json_enter(scan, '{'))
			continue;
		while (json_member(scan, &key)) {
			if (JSON_TEXT_IS(&key, "counter_id"))
				counter = read_handle(scan);
			else if (JSON_TEXT_IS(&key, "value"))
				json_number(scan, &value);
			else
				json_skip(scan);
		}
		name = g_strdup_printf(
			"GPU %" G_GINT64_FORMAT ": %s", gpu,
			tacho_timeline_string(file->timeline, GPOINTER_TO_UINT(find_number(
								      file->counters, counter))));
		track_book_add_sample(
			file->book,
			track_book_counter(file->book, track_book_process(file->book, 0, file->pid),
					   name),
			record->start_ns, value);
	}
}

/* {"dispatch_data": {...}, "records": [...]}, in this order. */
static void read_counted(struct sdk_file *file, struct json_scan *scan, guint64 offset)
{
	struct record record = { 0 };
	struct json_text key, inner;

	json_take(scan, '{');
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "dispatch_data") && json_peek(scan) == '{') {
			json_take(scan, '{');
			while (json_member(scan, &inner))
				read_member(scan, &inner, &record);
		} else if (JSON_TEXT_IS(&key, "records") && json_peek(scan) == '[' &&
			   record.has_start) {
			read_values(file, scan, &record);
		} else {
			json_skip(scan);
		}
	}
	if (!record.has_start)
		track_book_count_unknown(file->book,
					 "byte %" G_GUINT64_FORMAT
					 ": counters of a dispatch without a time",
					 offset);
}

/* --- the walk ------------------------------------------------------------------------------- */

/* Call `read` for each object of the array that is next. */
static void read_list(struct sdk_file *file,
		      void (*read)(struct sdk_file *file, struct json_scan *scan, guint64 offset))
{
	struct json_scan scan;
	guint64 offset;

	if (!json_stream_enter(file->stream, '[')) {
		json_stream_skip(file->stream);
		return;
	}
	while (json_stream_element(file->stream)) {
		if (!json_stream_load(file->stream, MAX_RECORD_BYTES, &scan, &offset) ||
		    json_peek(&scan) != '{')
			continue;
		read(file, &scan, offset);
		if (++file->n_records % 4096 == 0)
			import_tell_progress(file->import, json_stream_done(file->stream));
	}
}

#define READ_SMALL(what)                                                                           \
	static void list_##what(struct sdk_file *file, struct json_scan *scan, guint64 offset)     \
	{                                                                                          \
		(void)offset;                                                                      \
		read_##what(file, scan);                                                           \
	}
READ_SMALL(agent)
READ_SMALL(kernel_symbol)
READ_SMALL(counter)
READ_SMALL(kind)
READ_SMALL(message)
#undef READ_SMALL

/* An object whose members are told to `read` by name, which must read or skip them. */
static void read_members(struct sdk_file *file,
			 void (*read)(struct sdk_file *file, const gchar *key))
{
	g_autoptr(GString) key = g_string_new(NULL);

	if (!json_stream_enter(file->stream, '{')) {
		json_stream_skip(file->stream);
		return;
	}
	while (json_stream_member(file->stream, key))
		read(file, key->str);
}

static void read_strings_member(struct sdk_file *file, const gchar *key)
{
	if (strcmp(key, "buffer_records") == 0)
		read_list(file, list_kind);
	else if (strcmp(key, "marker_api") == 0)
		read_list(file, list_message);
	else
		json_stream_skip(file->stream);
}

/* Whatever records there are: their kinds tell them apart. */
static void read_buffer_member(struct sdk_file *file, const gchar *key)
{
	(void)key;
	read_list(file, read_record);
}

static void read_callback_member(struct sdk_file *file, const gchar *key)
{
	if (strcmp(key, "counter_collection") == 0)
		read_list(file, read_counted);
	else
		read_list(file, read_record);
}

static void read_tool_member(struct sdk_file *file, const gchar *key)
{
	struct json_scan scan;
	guint64 offset;

	if (strcmp(key, "metadata") == 0) {
		if (json_stream_load(file->stream, MAX_RECORD_BYTES, &scan, &offset))
			read_metadata(file, &scan);
	} else if (strcmp(key, "agents") == 0) {
		read_list(file, list_agent);
	} else if (strcmp(key, "counters") == 0) {
		read_list(file, list_counter);
	} else if (strcmp(key, "kernel_symbols") == 0) {
		read_list(file, list_kernel_symbol);
	} else if (strcmp(key, "strings") == 0) {
		read_members(file, read_strings_member);
	} else if (strcmp(key, "buffer_records") == 0) {
		read_members(file, read_buffer_member);
	} else if (strcmp(key, "callback_records") == 0) {
		read_members(file, read_callback_member);
	} else {
		json_stream_skip(file->stream);
	}
}

static void forget_process(struct sdk_file *file)
{
	g_ptr_array_set_size(file->kinds, 0);
	g_hash_table_remove_all(file->kernels);
	g_hash_table_remove_all(file->messages);
	g_hash_table_remove_all(file->counters);
	g_hash_table_remove_all(file->agents);
	file->pid = 0;
	file->command = 0;
}

/* A list of processes, each with tables of its own. */
static void read_top_member(struct sdk_file *file, const gchar *key)
{
	guint32 process;

	if (strcmp(key, "rocprofiler-sdk-tool") != 0 || !json_stream_enter(file->stream, '[')) {
		json_stream_skip(file->stream);
		return;
	}
	while (json_stream_element(file->stream)) {
		forget_process(file);
		read_members(file, read_tool_member);
		if (track_book_has_process(file->book, 0, file->pid, &process))
			track_book_borrow_process(file->book, process)->command = file->command;
	}
}

static GHashTable *new_numbers(void)
{
	return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	g_autoptr(json_stream) stream = json_stream_open(path, error);
	struct sdk_file file = { .import = import, .timeline = import->timeline };
	guint32 first_process = import->timeline->processes->len;

	(void)data;
	if (!stream)
		return FALSE;
	file.stream = stream;
	file.book = track_book_new(import, path);
	file.events = rocm_events_new(file.book);
	file.foreign = take_args(import->timeline, path);
	file.kinds = g_ptr_array_new_with_free_func(free_kind);
	file.kernels = new_numbers();
	file.messages = new_numbers();
	file.counters = new_numbers();
	file.agents = new_numbers();
	file.gpus = g_array_new(FALSE, FALSE, sizeof(TachoDevice));
	read_members(&file, read_top_member);
	if (json_stream_problem(stream))
		tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1, "%s",
					   json_stream_problem(stream));
	rocm_events_finish(file.events);
	track_book_finish(file.book, 0);
	rocm_agents_add(import->timeline, first_process, file.gpus);
	g_array_unref(file.gpus);
	g_hash_table_unref(file.agents);
	g_hash_table_unref(file.counters);
	g_hash_table_unref(file.messages);
	g_hash_table_unref(file.kernels);
	g_ptr_array_unref(file.kinds);
	rocm_events_free(file.events);
	track_book_free(file.book);
	return TRUE;
}

static gboolean sniff(const struct sniff_input *input)
{
	const gchar *at = input->head + strspn(input->head, " \t\r\n");

	if (*at != '{')
		return FALSE;
	at++;
	at += strspn(at, " \t\r\n");
	return g_str_has_prefix(at, "\"rocprofiler-sdk-tool\"") &&
	       json_head_has(input, "rocprofiler-sdk-tool", 1, "[{");
}

static gboolean is_redundant(const struct sniff_input *input)
{
	static const gchar *const better[] = { "_results.db" };

	return rocm_files_has_better(input, "_results.json", better, G_N_ELEMENTS(better));
}

const struct import_format import_rocprofv3_json = {
	.name = "rocprofv3_json",
	.title = "rocprofv3, JSON",
	.files = "*_results.json",
	.sniff = sniff,
	.is_redundant = is_redundant,
	.read_file = read_file,
};
