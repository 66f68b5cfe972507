/* rocpd_import: rocprofv3's and rocprof-sys' databases ("rocpd").
 *
 *     rocpd_string, rocpd_info_*, rocpd_track, rocpd_event, rocpd_timestamp --> in memory, by id
 *     rocpd_region, rocpd_kernel_dispatch, rocpd_memory_copy, ...           --> slices, memory, samples
 *
 * (1) Every table's name ends in the id of a recording, "rocpd_region_0000....": a file may hold several, merged,
 *     each a set of tables with numbers of its own. The views over them are not used (sqlite_trace.h).
 * (2) Rows have `start` and `end`, and their process, thread, agent, queue and stream; or, in later versions of the
 *     schema, `start_id` and `end_id` of rocpd_timestamp, and a `track_id` that has the rest.
 * (3) What a device did and its call have events with the same `stack_id`; where that is 0, `correlation_id`.
 * (4) Times are nanoseconds of the machine's clock since it was started. */
#include <string.h>

#include "base/for_each.h"
#include "import/read/json_scan.h"
#include "import/rocm/rocm_agent.h"
#include "import/rocm/rocm_events.h"
#include "import/read/sqlite_trace.h"

/* COLUMN(name in here, name in the file): all that a table of events is asked for. */
#define ROCPD_COLUMNS(COLUMN)                                                                      \
	COLUMN(START, start)                                                                       \
	COLUMN(END, end)                                                                           \
	COLUMN(START_ID, start_id)                                                                 \
	COLUMN(END_ID, end_id)                                                                     \
	COLUMN(TIMESTAMP, timestamp)                                                               \
	COLUMN(TIMESTAMP_ID, timestamp_id)                                                         \
	COLUMN(TRACK, track_id)                                                                    \
	COLUMN(PROCESS, pid)                                                                       \
	COLUMN(THREAD, tid)                                                                        \
	COLUMN(AGENT, agent_id)                                                                    \
	COLUMN(TARGET_AGENT, dst_agent_id)                                                         \
	COLUMN(SOURCE_AGENT, src_agent_id)                                                         \
	COLUMN(QUEUE, queue_id)                                                                    \
	COLUMN(STREAM, stream_id)                                                                  \
	COLUMN(NAME, name_id)                                                                      \
	COLUMN(KERNEL, kernel_id)                                                                  \
	COLUMN(EVENT, event_id)                                                                    \
	COLUMN(TYPE, type)                                                                         \
	COLUMN(SIZE, size)                                                                         \
	COLUMN(ADDRESS, address)                                                                   \
	COLUMN(PMC, pmc_id)                                                                        \
	COLUMN(VALUE, value)

enum rocpd_column {
#define ROCPD_COLUMN(column, name) COLUMN_##column,
	ROCPD_COLUMNS(ROCPD_COLUMN)
#undef ROCPD_COLUMN
		N_COLUMNS
};

static const gchar *const column_names[] = {
#define ROCPD_COLUMN(column, name) #name,
	ROCPD_COLUMNS(ROCPD_COLUMN)
#undef ROCPD_COLUMN
};

/* A row of a small table: what `number` and `text` are, the reader of the table says. */
struct rocpd_fact {
	gint64 number, other;
	guint32 text; /* string id */
};

struct rocpd_place {
	gint64 process, thread, agent, queue, stream, name;
};

struct rocpd_event {
	gint64 correlation, time_ns;
	guint32 category; /* string id */
	guint32 message;  /* string id, 0: none: what a range is called */
};

struct rocpd_file {
	struct track_book *book;
	TachoTimeline *timeline;
	struct rocm_events *events;
	struct sqlite_trace *trace;
	struct sqlite_args *args;
	/* The recording that is being read: */
	const gchar *suffix;
	gint64 space; /* its number */
	GHashTable *strings, *processes, *threads, *agents, *queues, *streams, *kernels, *counters,
		*timestamps;  /* id -> struct rocpd_fact */
	GHashTable *tracks;   /* id -> struct rocpd_place */
	GHashTable *with_ids; /* event id -> struct rocpd_event */
	GArray *gpus;	      /* TachoDevice */
	struct sqlite_rows rows;
	guint args_table;
};

/* --- tables of facts ------------------------------------------------------------------------ */

static GHashTable *new_table(void)
{
	return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
}

static void keep(GHashTable *table, gint64 id, gpointer row)
{
	g_hash_table_insert(table, g_memdup2(&id, sizeof(id)), row);
}

static gint64 column_or(const struct rocpd_file *file, guint column, gint64 otherwise)
{
	return sqlite_rows_integer_or(&file->rows, column, otherwise);
}

/* Call `visit` for each row of the recording's table. */
static void visit_rows(struct rocpd_file *file, const gchar *table, const gchar *const *columns,
		       guint n, void (*visit)(struct rocpd_file *file, GHashTable *facts),
		       GHashTable *facts)
{
	g_autofree gchar *name = g_strconcat("rocpd_", table, file->suffix, NULL);
	g_autofree gchar *failure = NULL;

	sqlite_rows_init(&file->rows, file->trace, name, columns, n);
	while (sqlite_rows_next(&file->rows, &failure))
		visit(file, facts);
	if (failure)
		track_book_count_broken_table(file->book, name, file->rows.n, failure);
	sqlite_rows_release(&file->rows);
}

#define VISIT(file, table, visit, facts, ...)                                                      \
	do {                                                                                       \
		static const gchar *const names[] = { __VA_ARGS__ };                               \
		visit_rows(file, table, names, G_N_ELEMENTS(names), visit, facts);                 \
	} while (0)

/* id, a number, another one, texts of which the first that is there counts. */
static void note_fact(struct rocpd_file *file, GHashTable *facts)
{
	struct rocpd_fact *fact = g_new0(struct rocpd_fact, 1);

	fact->number = column_or(file, 1, 0);
	fact->other = column_or(file, 2, 0);
	for (guint i = 3; i < 6 && !fact->text; i++) {
		const gchar *text = sqlite_rows_text(&file->rows, i);

		if (text)
			fact->text = tacho_timeline_intern(file->timeline, text, -1);
	}
	keep(facts, column_or(file, 0, 0), fact);
}

static void note_track(struct rocpd_file *file, GHashTable *tracks)
{
	struct rocpd_place *place = g_new0(struct rocpd_place, 1);

	place->process = column_or(file, 1, 0);
	place->thread = column_or(file, 2, 0);
	place->agent = column_or(file, 3, 0);
	place->queue = column_or(file, 4, -1);
	place->stream = column_or(file, 5, 0);
	place->name = column_or(file, 6, 0);
	keep(tracks, column_or(file, 0, 0), place);
}

static const struct rocpd_fact *find_fact(GHashTable *facts, gint64 id)
{
	return g_hash_table_lookup(facts, &id);
}

static guint32 text_of(GHashTable *facts, gint64 id)
{
	const struct rocpd_fact *fact = find_fact(facts, id);

	return fact ? fact->text : 0;
}

/* {"message": "forward"}: what the user called a range. */
static guint32 read_message(struct rocpd_file *file, const gchar *json)
{
	gsize n = strlen(json);
	g_autofree gchar *padded = json_padded(json, n);
	struct json_scan scan = { .at = padded, .end = padded + n };
	g_autoptr(GString) storage = g_string_new(NULL);
	struct json_text key, text;

	if (json_peek(&scan) != '{' || !json_take(&scan, '{'))
		return 0;
	while (json_member(&scan, &key)) {
		if (!JSON_TEXT_IS(&key, "message") || json_peek(&scan) != '"') {
			json_skip(&scan);
			continue;
		}
		if (!json_string(&scan, &text))
			return 0;
		text = json_text_plain(&text, storage);
		return g_utf8_validate(text.bytes, (gssize)text.n, NULL)
			       ? tacho_timeline_intern(file->timeline, text.bytes, (gssize)text.n)
			       : 0;
	}
	return 0;
}

static void note_event(struct rocpd_file *file, GHashTable *events)
{
	struct rocpd_event *event = g_new0(struct rocpd_event, 1);
	const gchar *extra = sqlite_rows_text(&file->rows, 4);

	event->category = text_of(file->strings, column_or(file, 1, 0));
	event->correlation = column_or(file, 2, 0);
	if (event->correlation <= 0)
		event->correlation = column_or(file, 3, 0);
	if (extra && strstr(extra, "message"))
		event->message = read_message(file, extra);
	keep(events, column_or(file, 0, 0), event);
}

/* id, type, type_index, name, product_name, extdata */
static void note_agent(struct rocpd_file *file, GHashTable *agents)
{
	const gchar *type = sqlite_rows_text(&file->rows, 1), *name, *product, *json;
	struct json_text key;
	TachoDevice agent;

	(void)agents;
	if (!type || strcmp(type, "GPU") != 0)
		return;
	rocm_agent_init(&agent, column_or(file, 2, 0));
	json = sqlite_rows_text(&file->rows, 5);
	if (json) {
		struct json_scan scan;
		g_autofree gchar *copy = NULL;

		copy = json_scan_copy(&scan, json);
		for (gboolean is_in = json_enter(&scan, '{'); is_in && json_member(&scan, &key);)
			rocm_agent_member(&agent, file->timeline, &key, &scan);
	}
	name = sqlite_rows_text(&file->rows, 3);
	product = sqlite_rows_text(&file->rows, 4);
	if (name)
		rocm_agent_text(&agent, file->timeline, "name", strlen("name"), name);
	if (product)
		rocm_agent_text(&agent, file->timeline, "product_name", strlen("product_name"),
				product);
	g_array_append_val(file->gpus, agent);
}

static void read_facts(struct rocpd_file *file)
{
	VISIT(file, "string", note_fact, file->strings, "id", "", "", "string");
	VISIT(file, "timestamp", note_fact, file->timestamps, "id", "value");
	VISIT(file, "info_process", note_fact, file->processes, "id", "pid", "nid", "command");
	VISIT(file, "info_thread", note_fact, file->threads, "id", "tid", "pid", "name");
	VISIT(file, "info_agent", note_fact, file->agents, "id", "type_index", "logical_index",
	      "name");
	VISIT(file, "info_agent", note_agent, file->agents, "id", "type", "type_index", "name",
	      "product_name", "extdata");
	VISIT(file, "info_queue", note_fact, file->queues, "id", "pid", "nid", "name");
	VISIT(file, "info_stream", note_fact, file->streams, "id", "pid", "nid", "name");
	VISIT(file, "info_kernel_symbol", note_fact, file->kernels, "id", "pid", "nid",
	      "display_name", "kernel_name");
	VISIT(file, "info_pmc", note_fact, file->counters, "id", "agent_id", "", "symbol", "name");
	VISIT(file, "track", note_track, file->tracks, "id", "pid", "tid", "agent_id", "queue_id",
	      "stream_id", "name_id");
	VISIT(file, "event", note_event, file->with_ids, "id", "category_id", "stack_id",
	      "correlation_id", "extdata");
}

/* --- events --------------------------------------------------------------------------------- */

static const struct rocpd_place *place_of(const struct rocpd_file *file)
{
	static const struct rocpd_place nowhere = { .queue = -1 };
	gint64 id = column_or(file, COLUMN_TRACK, 0);
	const struct rocpd_place *place = g_hash_table_lookup(file->tracks, &id);

	return place ? place : &nowhere;
}

/* (2) */
static gboolean find_time(const struct rocpd_file *file, enum rocpd_column time,
			  enum rocpd_column id, gint64 *ret_ns)
{
	const struct rocpd_fact *stamp;

	if (sqlite_rows_integer(&file->rows, time, ret_ns))
		return TRUE;
	stamp = find_fact(file->timestamps, column_or(file, id, 0));
	if (stamp)
		*ret_ns = stamp->number;
	return stamp != NULL;
}

static gboolean begin_event(struct rocpd_file *file, enum rocm_kind kind, struct rocm_event *event)
{
	const struct rocpd_place *place = place_of(file);
	const struct rocpd_fact *process, *thread, *agent;
	const struct rocpd_event *with_id;
	gint64 id = column_or(file, COLUMN_EVENT, 0);

	*event = (struct rocm_event){ .kind = kind };
	if (!find_time(file, COLUMN_START, COLUMN_START_ID, &event->start_ns) ||
	    !find_time(file, COLUMN_END, COLUMN_END_ID, &event->end_ns)) {
		track_book_count_broken_row(file->book, file->rows.table, file->rows.row,
					    "the begin or the end is missing");
		return FALSE;
	}
	process = find_fact(file->processes, column_or(file, COLUMN_PROCESS, place->process));
	thread = find_fact(file->threads, column_or(file, COLUMN_THREAD, place->thread));
	agent = find_fact(
		file->agents,
		column_or(file, COLUMN_AGENT, column_or(file, COLUMN_TARGET_AGENT, place->agent)));
	event->process = track_book_process(file->book, file->space, process ? process->number : 0);
	event->tid = thread ? thread->number : 0;
	event->device = agent ? agent->number : 0;
	event->queue = column_or(file, COLUMN_QUEUE, place->queue);
	event->stream = column_or(file, COLUMN_STREAM, place->stream);
	with_id = g_hash_table_lookup(file->with_ids, &id);
	event->correlation = with_id ? with_id->correlation : 0;
	event->source = sqlite_args_handle(file->args, file->args_table, file->rows.row);
	return TRUE;
}

static void read_region(struct rocpd_file *file)
{
	gint64 id = column_or(file, COLUMN_EVENT, 0);
	const struct rocpd_event *with_id = g_hash_table_lookup(file->with_ids, &id);
	struct rocm_event event;
	guint32 name = text_of(file->strings, column_or(file, COLUMN_NAME, 0));

	if (!begin_event(file, ROCM_OTHER, &event))
		return;
	if (with_id)
		event.kind = rocm_kind_of_domain(
			tacho_timeline_string(file->timeline, with_id->category));
	if (with_id && with_id->message)
		name = with_id->message;
	event.name = tacho_timeline_string(file->timeline, name);
	rocm_events_add(file->events, &event);
}

static void read_kernel(struct rocpd_file *file)
{
	struct rocm_event event;

	if (!begin_event(file, ROCM_KERNEL, &event))
		return;
	event.name = tacho_timeline_string(
		file->timeline, text_of(file->kernels, column_or(file, COLUMN_KERNEL, 0)));
	rocm_events_add(file->events, &event);
}

/* A copy is the work of the GPU of its two ends. */
static void read_copy(struct rocpd_file *file)
{
	struct rocm_event event;
	const gchar *name;

	if (!begin_event(file, ROCM_COPY, &event))
		return;
	name = tacho_timeline_string(file->timeline,
				     text_of(file->strings, column_or(file, COLUMN_NAME, 0)));
	if (strstr(name, "DEVICE_TO_HOST")) {
		const struct rocpd_fact *agent =
			find_fact(file->agents, column_or(file, COLUMN_SOURCE_AGENT, 0));

		if (agent)
			event.device = agent->number;
	}
	event.name = name;
	rocm_events_add(file->events, &event);
}

/* The profiler records calls, not what they made of the memory: type says which it was. */
static void read_allocation(struct rocpd_file *file)
{
	const gchar *type = sqlite_rows_text(&file->rows, COLUMN_TYPE);
	gint64 size = column_or(file, COLUMN_SIZE, 0);
	TachoMemoryEvent memory = { .slice = TACHO_NONE, .layer = TACHO_MEMORY_OF_DRIVER };
	gboolean is_free = type && strcmp(type, "FREE") == 0;
	struct rocm_event event;

	if (!begin_event(file, ROCM_OTHER, &event))
		return;
	if (size < 0 || (!is_free && g_strcmp0(type, "ALLOC") != 0)) {
		event.name = type ? type : "memory";
		rocm_events_add(file->events, &event);
		return;
	}
	memory.time_ns = event.end_ns;
	memory.address = (guint64)column_or(file, COLUMN_ADDRESS, 0);
	memory.bytes = is_free ? -size : size;
	memory.device = (guint32)CLAMP(event.device, 0, G_MAXINT32) + 1;
	memory.track = track_book_thread(file->book, event.process, event.tid);
	track_book_add_memory(file->book, &memory);
}

/* A counter that was read: at a sample's time, or over what the event is of. */
static void read_sample(struct rocpd_file *file)
{
	gint64 id = column_or(file, COLUMN_EVENT, 0), time_ns;
	struct rocpd_event *with_id = g_hash_table_lookup(file->with_ids, &id);

	if (with_id && find_time(file, COLUMN_TIMESTAMP, COLUMN_TIMESTAMP_ID, &time_ns))
		with_id->time_ns = time_ns;
}

static void note_event_time(struct rocpd_file *file)
{
	gint64 id = column_or(file, COLUMN_EVENT, 0), time_ns;
	struct rocpd_event *with_id = g_hash_table_lookup(file->with_ids, &id);

	if (with_id && find_time(file, COLUMN_START, COLUMN_START_ID, &time_ns))
		with_id->time_ns = time_ns;
}

static void read_counter(struct rocpd_file *file)
{
	gint64 id = column_or(file, COLUMN_EVENT, 0);
	const struct rocpd_event *with_id = g_hash_table_lookup(file->with_ids, &id);
	const struct rocpd_fact *counter =
		find_fact(file->counters, column_or(file, COLUMN_PMC, 0));
	const struct rocpd_fact *agent = counter ? find_fact(file->agents, counter->number) : NULL;
	g_autofree gchar *name = NULL;
	GHashTableIter iter;
	gpointer process = NULL;
	gdouble value;

	if (!with_id || !with_id->time_ns || !counter ||
	    !sqlite_rows_number(&file->rows, COLUMN_VALUE, &value)) {
		track_book_count_unknown(file->book,
					 "table %s, row %" G_GINT64_FORMAT
					 ": a counter's value without name, time or value",
					 file->rows.table, file->rows.row);
		return;
	}
	name = g_strdup_printf("GPU %" G_GINT64_FORMAT ": %s", agent ? agent->number : 0,
			       tacho_timeline_string(file->timeline, counter->text));
	g_hash_table_iter_init(&iter, file->processes);
	g_hash_table_iter_next(&iter, NULL, &process);
	track_book_add_sample(
		file->book,
		track_book_counter(
			file->book,
			track_book_process(file->book, file->space,
					   process ? ((struct rocpd_fact *)process)->number : 0),
			name),
		with_id->time_ns, value);
}

static const struct rocpd_table {
	const gchar *name;
	void (*read)(struct rocpd_file *file);
	const gchar *bytes_column;
} tables[] = {
	{ "region", read_region, NULL },
	{ "kernel_dispatch", read_kernel, NULL },
	{ "memory_copy", read_copy, "size" },
	{ "memory_allocate", read_allocation, NULL },
	/* when what a counter was read over began */
	{ "sample", read_sample, NULL },
	{ "kernel_dispatch", note_event_time, NULL },
	{ "pmc_event", read_counter, NULL },
};

static void read_table(struct rocpd_file *file, const struct rocpd_table *table)
{
	g_autofree gchar *name = g_strconcat("rocpd_", table->name, file->suffix, NULL);
	g_autofree gchar *failure = NULL;

	file->args_table = sqlite_args_add_table(file->args, name, table->bytes_column);
	sqlite_rows_init(&file->rows, file->trace, name, column_names, N_COLUMNS);
	while (sqlite_rows_next(&file->rows, &failure))
		table->read(file);
	if (failure)
		track_book_count_broken_table(file->book, name, file->rows.n, failure);
	sqlite_rows_release(&file->rows);
}

/* --- names ---------------------------------------------------------------------------------- */

static void name_tracks(struct rocpd_file *file)
{
	FOR_EACH_ENTRY(entry, file->threads) {
		const struct rocpd_fact *thread = entry.value;
		const struct rocpd_fact *process = find_fact(file->processes, thread->other);
		guint32 row, track;

		if (thread->text && process &&
		    track_book_has_process(file->book, file->space, process->number, &row) &&
		    track_book_has_thread(file->book, row, thread->number, &track))
			track_book_name_track(file->book, track,
					      tacho_timeline_string(file->timeline, thread->text));
	}
}

/* id, pid, environment, nid, command */
static void note_process(struct rocpd_file *file, GHashTable *facts)
{
	const gchar *environment = sqlite_rows_text(&file->rows, 2);
	const gchar *command = sqlite_rows_text(&file->rows, 3);
	struct launch_ranks ranks = LAUNCH_RANKS_INIT;
	guint32 row;

	(void)facts;
	if (!track_book_has_process(file->book, file->space, column_or(file, 1, 0), &row))
		return;
	if (command)
		track_book_borrow_process(file->book, row)->command =
			tacho_timeline_intern(file->timeline, command, -1);
	if (environment)
		launch_ranks_note_json(&ranks, environment);
	launch_ranks_apply(&ranks, track_book_borrow_process(file->book, row));
}

static void note_host(struct rocpd_file *file, GHashTable *facts)
{
	const gchar *host = sqlite_rows_text(&file->rows, 0);

	(void)facts;
	if (host && *host)
		track_book_set_host(file->book, host);
}

/* --- a file --------------------------------------------------------------------------------- */

static void read_recording(struct rocpd_file *file)
{
	GHashTable **facts[] = { &file->strings, &file->processes, &file->threads,
				 &file->agents,	 &file->queues,	   &file->streams,
				 &file->kernels, &file->counters,  &file->timestamps,
				 &file->tracks,	 &file->with_ids };

	for (guint i = 0; i < G_N_ELEMENTS(facts); i++)
		*facts[i] = new_table();
	read_facts(file);
	for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
		read_table(file, &tables[i]);
	name_tracks(file);
	VISIT(file, "info_process", note_process, NULL, "id", "pid", "environment", "command");
	VISIT(file, "info_node", note_host, NULL, "hostname");
	for (guint i = 0; i < G_N_ELEMENTS(facts); i++)
		g_hash_table_unref(*facts[i]);
}

static void read_recordings(struct rocpd_file *file)
{
	static const gchar prefix[] = "rocpd_string";
	g_auto(GStrv) names = sqlite_trace_tables(file->trace, prefix);

	for (guint i = 0; names[i]; i++) { /* (1) */
		file->suffix = names[i] + strlen(prefix);
		file->space = i;
		read_recording(file);
	}
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct rocpd_file file = { .timeline = import->timeline,
				   .trace = sqlite_trace_open(path, error) };
	guint32 first_process = import->timeline->processes->len;

	(void)data;
	if (!file.trace)
		return FALSE;
	file.args = sqlite_args_new(import->timeline, file.trace, path, error);
	if (!file.args)
		return FALSE;
	file.book = track_book_new(import, path);
	file.events = rocm_events_new(file.book);
	file.gpus = g_array_new(FALSE, FALSE, sizeof(TachoDevice));
	read_recordings(&file);
	sqlite_trace_report(file.trace, import->timeline);
	rocm_events_finish(file.events);
	track_book_finish(file.book, 0);
	rocm_agents_add(import->timeline, first_process, file.gpus);
	g_array_unref(file.gpus);
	rocm_events_free(file.events);
	track_book_free(file.book);
	return TRUE;
}

static gboolean sniff(const struct sniff_input *input)
{
	return sqlite_trace_sniff_table(input, "rocpd_string*");
}

const struct import_format import_rocpd = {
	.name = "rocpd",
	.title = "rocprofv3 and rocprof-sys databases (rocpd)",
	.files = "*_results.db",
	.sniff = sniff,
	.read_file = read_file,
};
