/* nsys_events: rows of the tables of events become slices, samples, marks and memory events.
 *
 * Every table is asked for the same columns: those it lacks have no values. */
#include "import/nsys/nsys_file.h"

#include <string.h>

#include "base/for_each.h"
#include "trace/told_meaning.h"

/* COLUMN(name in here, name in the file): all that any table is asked for. */
#define NSYS_COLUMNS(COLUMN)                                                                       \
	COLUMN(START, start)                                                                       \
	COLUMN(END, end)                                                                           \
	COLUMN(TIMESTAMP, timestamp)                                                               \
	COLUMN(GLOBAL_TID, globalTid)                                                              \
	COLUMN(GLOBAL_PID, globalPid)                                                              \
	COLUMN(END_GLOBAL_TID, endGlobalTid)                                                       \
	COLUMN(NAME_ID, nameId)                                                                    \
	COLUMN(TEXT_ID, textId)                                                                    \
	COLUMN(TEXT, text)                                                                         \
	COLUMN(NAME, name)                                                                         \
	COLUMN(DEVICE, deviceId)                                                                   \
	COLUMN(CONTEXT, contextId)                                                                 \
	COLUMN(STREAM, streamId)                                                                   \
	COLUMN(CORRELATION, correlationId)                                                         \
	COLUMN(DEMANGLED, demangledName)                                                           \
	COLUMN(SHORT, shortName)                                                                   \
	COLUMN(BYTES, bytes)                                                                       \
	COLUMN(COPY_KIND, copyKind)                                                                \
	COLUMN(SOURCE_KIND, srcKind)                                                               \
	COLUMN(TARGET_KIND, dstKind)                                                               \
	COLUMN(MEMORY_KIND, memKind)                                                               \
	COLUMN(SYNC_TYPE, syncType)                                                                \
	COLUMN(EVENT_ID, eventId)                                                                  \
	COLUMN(EVENT_TYPE, eventType)                                                              \
	COLUMN(GRAPH_NODE, graphNodeId)                                                            \
	COLUMN(ORIGINAL_NODE, originalGraphNodeId)                                                 \
	COLUMN(GRAPH, graphId)                                                                     \
	COLUMN(CPU, cpu)                                                                           \
	COLUMN(IS_IN, isSchedIn)                                                                   \
	COLUMN(ID, id)                                                                             \
	COLUMN(TYPE_ID, typeId)                                                                    \
	COLUMN(METRIC_ID, metricId)                                                                \
	COLUMN(VALUE, value)                                                                       \
	COLUMN(SEVERITY, severity)                                                                 \
	COLUMN(ADDRESS, address)                                                                   \
	COLUMN(OPERATION, memoryOperationType)

enum nsys_column {
#define NSYS_COLUMN(column, name) COLUMN_##column,
	NSYS_COLUMNS(NSYS_COLUMN)
#undef NSYS_COLUMN
		N_COLUMNS
};

static const gchar *const column_names[] = {
#define NSYS_COLUMN(column, name) #name,
	NSYS_COLUMNS(NSYS_COLUMN)
#undef NSYS_COLUMN
};

/* Who has the core, since when. */
struct running {
	gint64 start_ns, row;
	gint64 global_tid;
};

struct nsys_table {
	const gchar *name; /* ends with '*': begins like that */
	void (*read)(struct nsys_file *file, const struct nsys_table *table);
	TachoSliceKind kind;
	const gchar *bytes_column;
};

/* --- small things --------------------------------------------------------------------------- */

static gint64 column_or(const struct nsys_file *file, enum nsys_column column, gint64 otherwise)
{
	return sqlite_rows_integer_or(&file->rows, column, otherwise);
}

static gboolean find_string(const struct nsys_file *file, enum nsys_column column, guint32 *ret)
{
	gint64 id;
	gpointer found;

	if (!sqlite_rows_integer(&file->rows, column, &id))
		return FALSE;
	found = g_hash_table_lookup(file->strings, &id);
	if (!found)
		return FALSE;
	*ret = GPOINTER_TO_UINT(found) - 1;
	return TRUE;
}

/* The name of a row: a string id, or the text itself; else the table's. */
static guint32 find_name(struct nsys_file *file)
{
	const gchar *text;
	guint32 name;

	if (find_string(file, COLUMN_NAME_ID, &name) || find_string(file, COLUMN_TEXT_ID, &name) ||
	    find_string(file, COLUMN_NAME, &name))
		return name;
	text = sqlite_rows_text(&file->rows, COLUMN_TEXT);
	if (!text)
		text = sqlite_rows_text(&file->rows, COLUMN_NAME);
	return nsys_intern(file, text ? text : file->rows.table);
}

/* (3) */
static guint32 find_process(struct nsys_file *file, gint64 global_id)
{
	return track_book_process(file->book, global_id >> 48, global_id >> 24 & 0xffffff);
}

static guint32 find_thread(struct nsys_file *file, gint64 global_tid)
{
	return track_book_thread(file->book, find_process(file, global_tid), global_tid & 0xffffff);
}

static guint32 find_stream(struct nsys_file *file)
{
	gint64 global_id =
		column_or(file, COLUMN_GLOBAL_PID, column_or(file, COLUMN_GLOBAL_TID, 0));

	return track_book_stream(file->book, find_process(file, global_id),
				 column_or(file, COLUMN_DEVICE, 0),
				 column_or(file, COLUMN_STREAM, G_MAXUINT32));
}

/* What is in every row: false, and counted, where it has no begin. */
static gboolean begin_slice(struct nsys_file *file, TachoSliceKind kind, struct book_slice *slice)
{
	*slice = (struct book_slice){ .kind = kind };
	if (!sqlite_rows_integer(&file->rows, COLUMN_START, &slice->start_ns)) {
		track_book_count_broken_row(file->book, file->rows.table, file->rows.row,
					    "the begin is missing");
		return FALSE;
	}
	if (!sqlite_rows_integer(&file->rows, COLUMN_END, &slice->end_ns)) {
		slice->end_ns = slice->start_ns;
		slice->flags = file->has_end ? TACHO_SLICE_OPEN : 0;
	}
	slice->correlation = column_or(file, COLUMN_CORRELATION, 0);
	slice->source = sqlite_args_handle(file->args, file->args_table, file->rows.row);
	return TRUE;
}

/* --- calls ---------------------------------------------------------------------------------- */

/* "cudaLaunchKernel_v7000" is cudaLaunchKernel in the interface of CUDA 7.0, and called so in Nsight's own reports. */
static guint32 strip_version(struct nsys_file *file, guint32 name)
{
	const gchar *text = tacho_timeline_string(file->timeline, name);
	const gchar *end = strrchr(text, '_');

	if (!end || end[1] != 'v' || strlen(end) < 6 ||
	    strspn(end + 2, "0123456789") != strlen(end + 2))
		return name;
	return tacho_timeline_intern(file->timeline, text, end - text);
}

static void read_call(struct nsys_file *file, const struct nsys_table *table)
{
	struct book_slice slice;

	if (!begin_slice(file, table->kind, &slice))
		return;
	slice.name = find_name(file);
	if (table->kind == TACHO_SLICE_RUNTIME)
		slice.name = strip_version(file, slice.name);
	slice.track = find_thread(
		file, column_or(file, COLUMN_GLOBAL_TID, column_or(file, COLUMN_GLOBAL_PID, 0)));
	track_book_add(file->book, &slice);
}

/* What may overlap the calls of its thread. */
static void read_aside(struct nsys_file *file, const struct nsys_table *table)
{
	gint64 global_tid =
		column_or(file, COLUMN_GLOBAL_TID, column_or(file, COLUMN_GLOBAL_PID, 0));
	struct book_slice slice;
	gchar name[64];

	if (!begin_slice(file, table->kind, &slice))
		return;
	slice.name = find_name(file);
	g_snprintf(name, sizeof(name), "%s of thread %u", file->rows.table,
		   (guint)(global_tid & 0xffffff));
	slice.track = track_book_aside(file->book, find_process(file, global_tid),
				       global_tid & 0xffffff, name);
	track_book_add(file->book, &slice);
}

static void read_mpi_collective(struct nsys_file *file, const struct nsys_table *table)
{
	gint64 global_tid = column_or(file, COLUMN_GLOBAL_TID, 0);
	struct book_slice slice;

	if (!begin_slice(file, table->kind, &slice))
		return;
	slice.name = find_name(file);
	slice.track = track_book_aside(file->book, find_process(file, global_tid),
				       global_tid & 0xffffff, "collectives");
	track_book_add(file->book, &slice);
}

/* --- nodes of graphs ------------------------------------------------------------------------ */

guint nsys_node_hash(gconstpointer data)
{
	const struct nsys_node *node = data;
	guint64 mixed = (guint64)node->process * 31 + (guint64)node->id;

	return g_int64_hash(&mixed);
}

gboolean nsys_node_equal(gconstpointer a, gconstpointer b)
{
	const struct nsys_node *x = a, *y = b;

	return x->process == y->process && x->id == y->id;
}

/* The node of a row: of its process, whichever of the two columns names that. */
static struct nsys_node node_of_row(const struct nsys_file *file)
{
	gint64 global_id =
		column_or(file, COLUMN_GLOBAL_TID, column_or(file, COLUMN_GLOBAL_PID, 0));

	return (struct nsys_node){ .process = global_id >> 24,
				   .id = column_or(file, COLUMN_GRAPH_NODE, 0) };
}

/* Keep the row of a node that says of which node it is a clone, or else the first of its rows. */
static void keep_node(struct nsys_file *file, const struct nsys_node *node)
{
	gpointer known;

	if (!g_hash_table_lookup_extended(file->nodes, node, &known, NULL) ||
	    (node->original && !((const struct nsys_node *)known)->original))
		g_hash_table_replace(file->nodes, g_memdup2(node, sizeof(*node)), NULL);
}

/* What makes a node of a graph: kernels that the graph launches later come from here. A graph that is made
 * ready to run has clones of the nodes that were captured. */
static void read_graph_node(struct nsys_file *file, const struct nsys_table *table)
{
	struct nsys_node node = node_of_row(file);

	node.row = file->timeline->slices.n;
	node.original = column_or(file, COLUMN_ORIGINAL_NODE, 0);
	read_aside(file, table);
	if (node.id && file->timeline->slices.n > node.row)
		keep_node(file, &node);
}

/* The node that `node` is a clone of, or of whose clone; itself, where it is none. NULL: nothing made it. */
static const struct nsys_node *find_captured(const struct nsys_file *file, struct nsys_node node)
{
	enum { MAX_CLONES = 16 };
	const struct nsys_node *found = NULL;

	for (guint i = 0; i < MAX_CLONES; i++) {
		gpointer key;

		if (!g_hash_table_lookup_extended(file->nodes, &node, &key, NULL))
			break;
		found = key;
		if (!found->original || found->original == found->id)
			break;
		node.id = found->original;
	}
	return found;
}

/* --- the device ----------------------------------------------------------------------------- */

static void tie_to_node(struct nsys_file *file, guint32 row)
{
	struct nsys_node node = node_of_row(file);
	const struct nsys_node *captured = node.id ? find_captured(file, node) : NULL;
	TachoGraphWork work = { .slice = row, .capture = TACHO_NONE, .node = node.id };
	TachoFlow flow = { .to = row, .kind = TACHO_FLOW_OTHER, .is_exact = 1 };

	if (!node.id || row == TACHO_NONE)
		return;
	if (captured) {
		work.capture = flow.from = captured->row;
		work.is_exact = 1;
		g_array_append_val(file->timeline->flows, flow);
	}
	g_array_append_val(file->timeline->graph_work, work);
}

static void add_device_slice(struct nsys_file *file, struct book_slice *slice)
{
	slice->track = find_stream(file);
	tie_to_node(file, track_book_add(file->book, slice));
}

static void read_kernel(struct nsys_file *file, const struct nsys_table *table)
{
	struct book_slice slice;

	if (!begin_slice(file, table->kind, &slice))
		return;
	if (!find_string(file, COLUMN_DEMANGLED, &slice.name) &&
	    !find_string(file, COLUMN_SHORT, &slice.name))
		slice.name = find_name(file);
	slice.kind = track_book_kernel_kind(tacho_timeline_string(file->timeline, slice.name));
	add_device_slice(file, &slice);
}

static const gchar *name_of(const gchar *const *names, gsize n, gint64 number)
{
	return number >= 0 && (gsize)number < n ? names[number] : "Unknown";
}

/* ENUM_CUDA_MEM_KIND, CUPTI's CUpti_ActivityMemoryKind without its first. */
static const gchar *memory_kind(gint64 kind)
{
	static const gchar *const names[] = { "Pageable", "Pinned",	   "Device",	    "Array",
					      "Managed",  "Device Static", "Managed Static" };

	return name_of(names, G_N_ELEMENTS(names), kind);
}

/* As CUPTI numbers them, by the words of its enumerators (CUPTI_ACTIVITY_MEMCPY_KIND_HTOD): rows of copies have no name. */
static void read_copy(struct nsys_file *file, const struct nsys_table *table)
{
	static const gchar *const kinds[] = { "Unknown", "HtoD",     "DtoH",	 "HtoA",    "AtoH",
					      "AtoA",	 "AtoD",     "DtoA",	 "DtoD",    "HtoH",
					      "PtoP",	 "UVM HtoD", "UVM DtoH", "UVM DtoD" };
	g_autofree gchar *name = NULL;
	struct book_slice slice;
	gint64 source, target;

	if (!begin_slice(file, table->kind, &slice))
		return;
	name = g_strconcat(
		"Memcpy ",
		name_of(kinds, G_N_ELEMENTS(kinds), column_or(file, COLUMN_COPY_KIND, 0)), NULL);
	if (sqlite_rows_integer(&file->rows, COLUMN_SOURCE_KIND, &source) &&
	    sqlite_rows_integer(&file->rows, COLUMN_TARGET_KIND, &target)) {
		g_autofree gchar *kind = g_steal_pointer(&name);

		name = g_strdup_printf("%s (%s -> %s)", kind, memory_kind(source),
				       memory_kind(target));
	}
	slice.name = nsys_intern(file, name);
	add_device_slice(file, &slice);
}

static void read_fill(struct nsys_file *file, const struct nsys_table *table)
{
	g_autofree gchar *name = NULL;
	struct book_slice slice;

	if (!begin_slice(file, table->kind, &slice))
		return;
	name = g_strdup_printf("Memset (%s)", memory_kind(column_or(file, COLUMN_MEMORY_KIND, -1)));
	slice.name = nsys_intern(file, name);
	add_device_slice(file, &slice);
}

/* What is waited for: its call tells, since the numbers of syncType are not in each version what the table of their names
 * beside them says (2023.4: 1 is a whole device, 2 an event). Without a call the number counts. OTHER: neither tells. */
static enum call_kind kind_of_sync(const struct nsys_file *file, guint32 call, gint64 type)
{
	/* as CUPTI numbers them */
	static const enum call_kind types[] = { CALL_OTHER, CALL_EVENT_SYNC, CALL_EVENT_WAIT,
						CALL_STREAM_SYNC, CALL_DEVICE_SYNC };
	enum call_kind kind = call == TACHO_NONE ? CALL_OTHER : call_kind_of(file->timeline, call);

	if (kind == CALL_EVENT_WAIT || (call_kind_syncs(kind) && kind != CALL_SYNC))
		return kind;
	if (call != TACHO_NONE && strstr(tacho_slice_name(file->timeline, call), "DeviceReset"))
		return CALL_DEVICE_SYNC;
	return type >= 0 && type < (gint64)G_N_ELEMENTS(types) ? types[type] : CALL_OTHER;
}

/* Nsight's own names, in its table ENUM_CUPTI_SYNC_TYPE. */
static const gchar *sync_name(enum call_kind kind)
{
	switch (kind) {
	case CALL_EVENT_SYNC:
		return "Event sync";
	case CALL_EVENT_WAIT:
		return "Stream wait sync";
	case CALL_STREAM_SYNC:
		return "Stream sync";
	case CALL_DEVICE_SYNC:
		return "Context sync";
	default:
		return "Synchronization";
	}
}

static void read_sync(struct nsys_file *file, const struct nsys_table *table)
{
	struct book_slice slice;
	enum call_kind kind;
	guint32 call;

	if (!begin_slice(file, table->kind, &slice))
		return;
	slice.track = find_stream(file);
	call = track_book_find_call(file->book,
				    tacho_timeline_track(file->timeline, slice.track)->process,
				    slice.correlation, slice.start_ns);
	kind = kind_of_sync(file, call, column_or(file, COLUMN_SYNC_TYPE, 0));
	slice.name = nsys_intern(file, sync_name(kind));
	if (kind != CALL_OTHER)
		tell_call(file->timeline, slice.name, kind);
	track_book_add(file->book, &slice);
}

/* An event that a stream records has no time of its own before version 2024.4: it is marked when its call
 * was made. */
static void read_cuda_event(struct nsys_file *file, const struct nsys_table *table)
{
	guint32 stream = find_stream(file), call;
	gint64 correlation = column_or(file, COLUMN_CORRELATION, 0), time_ns;

	(void)table;
	call = track_book_find_call(
		file->book, tacho_timeline_track(file->timeline, stream)->process, correlation, 0);
	if (!sqlite_rows_integer(&file->rows, COLUMN_START, &time_ns)) {
		if (call == TACHO_NONE) {
			track_book_count_unknown(file->book,
						 "table %s, row %" G_GINT64_FORMAT
						 ": the event has neither a time nor a call",
						 file->rows.table, file->rows.row);
			return;
		}
		time_ns = file->timeline->slices.start_ns[call];
	}
	track_book_add_mark(file->book, stream, time_ns, "event recorded", "",
			    column_or(file, COLUMN_EVENT_ID, 0), correlation);
}

/* A graph of which not each node was traced: all of it is one piece of work. */
static void read_graph(struct nsys_file *file, const struct nsys_table *table)
{
	g_autofree gchar *name = NULL;
	struct book_slice slice;

	if (!begin_slice(file, table->kind, &slice))
		return;
	name = g_strdup_printf("CUDA graph %" G_GINT64_FORMAT, column_or(file, COLUMN_GRAPH, 0));
	slice.name = nsys_intern(file, name);
	add_device_slice(file, &slice);
}

static void read_allocation(struct nsys_file *file, const struct nsys_table *table)
{
	gint64 global_pid = column_or(file, COLUMN_GLOBAL_PID, 0);
	gint64 bytes = column_or(file, COLUMN_BYTES, 0);
	guint32 process = find_process(file, global_pid), call;
	TachoMemoryEvent event = { .slice = TACHO_NONE, .layer = TACHO_MEMORY_OF_DRIVER };

	(void)table;
	if (!sqlite_rows_integer(&file->rows, COLUMN_START, &event.time_ns) || bytes < 0) {
		track_book_count_broken_row(file->book, file->rows.table, file->rows.row,
					    "the time or the size is missing");
		return;
	}
	call = track_book_find_call(file->book, process, column_or(file, COLUMN_CORRELATION, 0),
				    event.time_ns);
	event.track = call != TACHO_NONE
			      ? file->timeline->slices.track[call]
			      : track_book_thread(file->book, process, global_pid >> 24 & 0xffffff);
	event.address = (guint64)column_or(file, COLUMN_ADDRESS, 0);
	event.bytes = column_or(file, COLUMN_OPERATION, 0) == 0 ? bytes : -bytes;
	event.device = (guint32)CLAMP(column_or(file, COLUMN_DEVICE, 0), 0, G_MAXINT32) + 1;
	track_book_add_memory(file->book, &event);
}

/* --- NVTX ----------------------------------------------------------------------------------- */

enum { NVTX_MARK = 34, NVTX_PUSH_POP = 59, NVTX_START_END = 60 };

/* What torch.autograd.profiler.emit_nvtx() calls its ranges: "aten::mm, seq = 12, op_id = 4". */
static gboolean parse_op(struct nsys_file *file, const gchar *text, struct book_slice *slice)
{
	static const gchar *const spaces[] = { "aten::", "autograd::", "torch::", "c10d::",
					       "c10::" };
	const gchar *sequence = strstr(text, ", seq = ");
	const gchar *end = sequence ? sequence : strstr(text, ", op_id = ");
	TachoOpArgs op = { .sequence = -1 };
	gboolean is_op = end != NULL;

	for (guint i = 0; i < G_N_ELEMENTS(spaces); i++)
		is_op |= g_str_has_prefix(text, spaces[i]);
	if (!is_op)
		return FALSE;
	if (sequence)
		op.sequence = g_ascii_strtoll(sequence + strlen(", seq = "), NULL, 10);
	slice->kind = TACHO_SLICE_OP;
	slice->name = tacho_timeline_intern(file->timeline, text, end ? end - text : -1);
	/* autograd's nodes are called after their classes: "AddmmBackward0" */
	if (sequence && strstr(tacho_timeline_string(file->timeline, slice->name), "Backward")) {
		slice->flags |= TACHO_SLICE_BACKWARD;
		op.forward_thread = 0;
	}
	if (op.sequence >= 0)
		slice->source = tacho_timeline_keep_op(file->timeline, &op, NULL);
	return TRUE;
}

static void add_range(struct nsys_file *file, struct book_slice *slice, gint64 type)
{
	gint64 global_tid = column_or(file, COLUMN_GLOBAL_TID, 0);
	gint64 end_tid = column_or(file, COLUMN_END_GLOBAL_TID, global_tid);
	const gchar *text;

	slice->name = find_name(file);
	text = tacho_timeline_string(file->timeline, slice->name);
	slice->track = find_thread(file, global_tid);
	track_book_note_range(file->book, slice->track, text, slice->start_ns);
	if (type == NVTX_START_END || end_tid != global_tid)
		slice->track = track_book_aside(file->book, find_process(file, global_tid),
						global_tid & 0xffffff, "NVTX ranges");
	else
		parse_op(file, text, slice);
	track_book_add(file->book, slice);
}

/* Domains, categories and names of threads come in the same table. */
static void read_nvtx(struct nsys_file *file, const struct nsys_table *table)
{
	gint64 type = column_or(file, COLUMN_EVENT_TYPE, NVTX_PUSH_POP);
	gint64 start_ns;
	struct book_slice slice;

	if (type == NVTX_MARK && sqlite_rows_integer(&file->rows, COLUMN_START, &start_ns)) {
		guint32 name = find_name(file);

		track_book_add_mark(
			file->book, find_thread(file, column_or(file, COLUMN_GLOBAL_TID, 0)),
			start_ns, "NVTX mark", tacho_timeline_string(file->timeline, name), 0, 0);
	} else if ((type == NVTX_PUSH_POP || type == NVTX_START_END) &&
		   begin_slice(file, table->kind, &slice)) {
		add_range(file, &slice, type);
	}
}

/* --- who ran, and where --------------------------------------------------------------------- */

static guint32 name_of_thread(struct nsys_file *file, gint64 global_tid)
{
	gpointer name = g_hash_table_lookup(file->threads, &global_tid);
	g_autofree gchar *text = NULL;

	if (name)
		return GPOINTER_TO_UINT(name);
	text = g_strdup_printf("thread %" G_GINT64_FORMAT, global_tid & 0xffffff);
	return nsys_intern(file, text);
}

static void end_running(struct nsys_file *file, gint64 cpu, const struct running *running,
			gint64 end_ns, guint8 flags)
{
	g_autofree gchar *track = g_strdup_printf("CPU %" G_GINT64_FORMAT, cpu);
	struct book_slice slice = { .kind = TACHO_SLICE_EVENT,
				    .start_ns = running->start_ns,
				    .end_ns = end_ns,
				    .flags = flags };

	slice.name = name_of_thread(file, running->global_tid);
	slice.track =
		track_book_aside(file->book, find_process(file, running->global_tid), -1, track);
	slice.source = sqlite_args_handle(file->args, file->args_table, running->row);
	track_book_add(file->book, &slice);
}

/* Each row says that a thread got or gave back a core. */
static void read_sched(struct nsys_file *file, const struct nsys_table *table)
{
	gint64 cpu = column_or(file, COLUMN_CPU, 0), time_ns;
	gpointer key = GUINT_TO_POINTER((guint)cpu + 1);
	struct running *running = g_hash_table_lookup(file->running, key);

	(void)table;
	if (!sqlite_rows_integer(&file->rows, COLUMN_START, &time_ns)) {
		track_book_count_broken_row(file->book, file->rows.table, file->rows.row,
					    "the time is missing");
		return;
	}
	if (running) {
		end_running(file, cpu, running, MAX(time_ns, running->start_ns), 0);
		g_hash_table_remove(file->running, key);
	}
	if (!column_or(file, COLUMN_IS_IN, 0))
		return;
	running = g_new(struct running, 1);
	*running = (struct running){ .start_ns = time_ns,
				     .row = file->rows.row,
				     .global_tid = column_or(file, COLUMN_GLOBAL_TID, 0) };
	g_hash_table_insert(file->running, key, running);
}

static void read_sample(struct nsys_file *file, const struct nsys_table *table)
{
	gint64 id = column_or(file, COLUMN_ID, 0), time_ns;
	gpointer stack = g_hash_table_lookup(file->stacks, &id);

	(void)table;
	if (!sqlite_rows_integer(&file->rows, COLUMN_START, &time_ns)) {
		track_book_count_broken_row(file->book, file->rows.table, file->rows.row,
					    "the time is missing");
		return;
	}
	track_book_add_mark(file->book, find_thread(file, column_or(file, COLUMN_GLOBAL_TID, 0)),
			    time_ns, "sample",
			    tacho_timeline_string(file->timeline, GPOINTER_TO_UINT(stack)),
			    column_or(file, COLUMN_CPU, -1), 0);
}

/* --- counters ------------------------------------------------------------------------------- */

/* The lowest byte of a typeId is the number of the device. */
static void read_metric(struct nsys_file *file, const struct nsys_table *table)
{
	gint64 type = column_or(file, COLUMN_TYPE_ID, 0);
	gint64 metric = column_or(file, COLUMN_METRIC_ID, 0);
	g_autofree gchar *key =
		g_strdup_printf("%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, type, metric);
	const gchar *known = g_hash_table_lookup(file->metrics, key);
	g_autofree gchar *name =
		g_strdup_printf("GPU %" G_GINT64_FORMAT ": %s", type & 0xff, known ? known : key);
	gint64 time_ns;
	gdouble value;

	(void)table;
	if (!sqlite_rows_integer(&file->rows, COLUMN_TIMESTAMP, &time_ns) ||
	    !sqlite_rows_number(&file->rows, COLUMN_VALUE, &value)) {
		track_book_count_broken_row(file->book, file->rows.table, file->rows.row,
					    "the time or the value is missing");
		return;
	}
	track_book_add_sample(
		file->book,
		track_book_counter(file->book, find_process(file, type & ~0xffffff), name), time_ns,
		value);
}

/* What Nsight itself had to say of the trace: "CUDA: not all events were collected" ... */
static void read_diagnostic(struct nsys_file *file, const struct nsys_table *table)
{
	enum { ERROR = 3 };
	const gchar *text = sqlite_rows_text(&file->rows, COLUMN_TEXT);
	gint64 severity = column_or(file, COLUMN_SEVERITY, 0);
	gint64 time_ns = column_or(file, COLUMN_TIMESTAMP, 0);
	gint64 global_id = column_or(file, COLUMN_GLOBAL_PID, 0);

	(void)table;
	if (severity >= ERROR && text)
		tacho_timeline_add_problem(file->timeline, TACHO_PROBLEM_TOOL_ERROR, 1, "%s: %s",
					   track_book_borrow_path(file->book), text);
	if (text && time_ns > 0)
		track_book_add_mark(file->book, find_thread(file, global_id), time_ns, "diagnostic",
				    text, severity, 0);
}

/* --- all tables ----------------------------------------------------------------------------- */

/* Calls come before what they launch, so that marks and memory find them. */
static const struct nsys_table tables[] = {
	{ "CUPTI_ACTIVITY_KIND_RUNTIME", read_call, TACHO_SLICE_RUNTIME, NULL },
	{ "CUPTI_ACTIVITY_KIND_DRIVER", read_call, TACHO_SLICE_RUNTIME, NULL },
	{ "CUDA_GRAPH_NODE_EVENTS", read_graph_node, TACHO_SLICE_EVENT, NULL },
	{ "CUDA_GRAPH_EVENTS", read_graph_node, TACHO_SLICE_EVENT, NULL },
	{ "CUPTI_ACTIVITY_KIND_KERNEL", read_kernel, TACHO_SLICE_KERNEL, NULL },
	{ "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", read_kernel, TACHO_SLICE_KERNEL, NULL },
	{ "CUPTI_ACTIVITY_KIND_MEMCPY", read_copy, TACHO_SLICE_MEMCPY, "bytes" },
	{ "CUPTI_ACTIVITY_KIND_MEMCPY2", read_copy, TACHO_SLICE_MEMCPY, "bytes" },
	{ "CUPTI_ACTIVITY_KIND_MEMSET", read_fill, TACHO_SLICE_MEMSET, "bytes" },
	{ "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", read_sync, TACHO_SLICE_SYNC, NULL },
	{ "CUPTI_ACTIVITY_KIND_CUDA_EVENT", read_cuda_event, TACHO_SLICE_EVENT, NULL },
	{ "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", read_graph, TACHO_SLICE_KERNEL, NULL },
	{ "CUDA_GPU_MEMORY_USAGE_EVENTS", read_allocation, TACHO_SLICE_EVENT, NULL },
	{ "NVTX_EVENTS", read_nvtx, TACHO_SLICE_ANNOTATION, NULL },
	{ "MPI_COLLECTIVES_EVENTS", read_mpi_collective, TACHO_SLICE_COLLECTIVE, "size" },
	{ "MPI_START_WAIT_EVENTS", read_call, TACHO_SLICE_WAIT, NULL },
	{ "MPI_P2P_EVENTS", read_call, TACHO_SLICE_EVENT, NULL },
	{ "MPI_OTHER_EVENTS", read_call, TACHO_SLICE_EVENT, NULL },
	{ "OSRT_API", read_aside, TACHO_SLICE_EVENT, NULL },
	{ "PROFILER_OVERHEAD", read_aside, TACHO_SLICE_EVENT, NULL },
	{ "SCHED_EVENTS", read_sched, TACHO_SLICE_EVENT, NULL },
	{ "COMPOSITE_EVENTS", read_sample, TACHO_SLICE_EVENT, NULL },
	{ "GPU_METRICS", read_metric, TACHO_SLICE_EVENT, NULL },
	{ "DIAGNOSTIC_EVENT", read_diagnostic, TACHO_SLICE_EVENT, NULL },
};

static void read_table(struct nsys_file *file, const gchar *name, const struct nsys_table *table)
{
	g_autofree gchar *failure = NULL;

	if (!g_strv_contains((const gchar *const *)file->tables, name))
		return;
	file->args_table = sqlite_args_add_table(file->args, name, table->bytes_column);
	file->has_end = sqlite_trace_has_column(file->trace, name, "end");
	sqlite_rows_init(&file->rows, file->trace, name, column_names, N_COLUMNS);
	while (sqlite_rows_next(&file->rows, &failure))
		table->read(file, table);
	if (failure)
		track_book_count_broken_table(file->book, name, file->rows.n, failure);
	sqlite_rows_release(&file->rows);
}

static gboolean is_known(const gchar *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
		if (strcmp(tables[i].name, name) == 0)
			return TRUE;
	return FALSE;
}

/* (1) */
void nsys_events_read(struct nsys_file *file)
{
	static const struct nsys_table any = { NULL, read_aside, TACHO_SLICE_EVENT, NULL };

	for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
		read_table(file, tables[i].name, &tables[i]);
		if (strcmp(tables[i].name, "SCHED_EVENTS") != 0)
			continue;
		/* who still runs at the end */
		FOR_EACH_ENTRY(entry, file->running)
			end_running(file, (gint64)GPOINTER_TO_UINT(entry.key) - 1, entry.value,
				    ((struct running *)entry.value)->start_ns, TACHO_SLICE_OPEN);
	}
	for (guint i = 0; file->tables[i]; i++)
		if (!is_known(file->tables[i]) &&
		    sqlite_trace_has_column(file->trace, file->tables[i], "start") &&
		    (sqlite_trace_has_column(file->trace, file->tables[i], "globalTid") ||
		     sqlite_trace_has_column(file->trace, file->tables[i], "globalPid")))
			read_table(file, file->tables[i], &any);
}
