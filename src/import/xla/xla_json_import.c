/* xla_json_import: XLA's profiles as JSON for the trace viewer: what TensorBoard, XProf and JAX write beside or instead of
 * an XSpace (*.trace.json.gz).
 *
 * (1) A pid is a plane, a tid a line of it; the file is one process of one rank. xla_lines.h says what they are, by the
 *     names that planes and lines have in the file. Several hosts stand before their planes' names ("host1 /host:CPU").
 * (2) The args, which may all be texts, are an event's stats: correlation_id is who launched it, step_num, the line
 *     "Steps" and group_id are steps, as in an XSpace (xplane_steps.h).
 *     Events of one "bind_id" are arrows, from one that says "flow_out" to the next that says "flow_in".
 * (3) A moment of no length is written as a picosecond.
 * (4) An XSpace of the same name beside has the same, and more: then this is not read.
 * How it is written: trace_events_to_json of TensorFlow and XLA (tsl/profiler/convert) and of XProf. */
#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "import/chrome/chrome_trace.h"
#include "import/read/json_scan.h"
#include "trace/launch_index.h"
#include "import/xla/xla_lines.h"
#include "import/xla/xla_memory.h"
#include "import/xla/xplane_steps.h"

enum fact_flags {
	HAS_CORRELATION = 1 << 0,
	HAS_STEP = 1 << 1,
	HAS_GROUP = 1 << 2,
	HAS_KERNEL = 1 << 3,
	HAS_MEMCPY = 1 << 4,
	HAS_MEMSET = 1 << 5,
};

/* What the args of a row say. */
struct fact {
	gint64 correlation, step, group;
	guint32 category; /* string id, 0: none */
	guint32 flags;	  /* enum fact_flags */
};

/* A row at which an arrow begins, or ends, or both. */
struct binding {
	gint64 id;
	gsize row;
	gboolean is_in, is_out;
};

/* A memory event, until its thread has a track. */
struct pending_memory {
	struct xla_memory_event event;
	guint32 thread;
};

/* What a thread of the trace is; found when names are known. */
struct line {
	enum xla_line line;
	gint32 device;
};

struct xla_json {
	GArray *facts;	  /* struct fact, by row */
	GArray *lines;	  /* struct line, by thread */
	GArray *bindings; /* struct binding */
	GArray *memory;	  /* struct pending_memory */
};

static void begin(struct chrome_trace *trace)
{
	struct xla_json *own = g_new0(struct xla_json, 1);

	own->facts = g_array_new(FALSE, TRUE, sizeof(struct fact));
	own->lines = g_array_new(FALSE, TRUE, sizeof(struct line));
	own->bindings = g_array_new(FALSE, FALSE, sizeof(struct binding));
	own->memory = g_array_new(FALSE, FALSE, sizeof(struct pending_memory));
	trace->data = own;
}

static void end(struct chrome_trace *trace)
{
	struct xla_json *own = trace->data;

	g_array_unref(own->facts);
	g_array_unref(own->lines);
	g_array_unref(own->bindings);
	g_array_unref(own->memory);
	g_free(own);
}

/* --- args ----------------------------------------------------------------------------------- */

static gboolean has_arg(const struct chrome_event *event, const gchar *key)
{
	struct json_scan value;

	return chrome_event_arg(event, key, &value);
}

static struct fact fact_of(struct chrome_trace *trace, const struct chrome_event *event)
{
	struct fact fact = { 0 };

	if (chrome_event_arg_integer(event, "correlation_id", &fact.correlation))
		fact.flags |= HAS_CORRELATION;
	if (chrome_event_arg_integer(event, "step_num", &fact.step))
		fact.flags |= HAS_STEP;
	if (chrome_event_arg_integer(event, "group_id", &fact.group))
		fact.flags |= HAS_GROUP;
	if (has_arg(event, "kernel_details"))
		fact.flags |= HAS_KERNEL;
	if (has_arg(event, "memcpy_details"))
		fact.flags |= HAS_MEMCPY;
	if (has_arg(event, "memset_details"))
		fact.flags |= HAS_MEMSET;
	chrome_event_arg_text(event, "hlo_category", trace->timeline, &fact.category);
	return fact;
}

static gboolean is_true(const struct chrome_event *event, const gchar *key)
{
	struct json_scan value;

	return chrome_event_member(event, key, &value) && json_peek(&value) == 't';
}

static void note_binding(struct chrome_trace *trace, const struct chrome_event *event)
{
	struct xla_json *own = trace->data;
	struct binding binding = { .row = trace->rows.n };
	struct json_scan value;

	if (!chrome_event_member(event, "bind_id", &value) || !json_fixed(&value, 0, &binding.id))
		return;
	binding.is_in = is_true(event, "flow_in");
	binding.is_out = is_true(event, "flow_out");
	g_array_append_val(own->bindings, binding);
}

static guint64 count_of(const struct chrome_event *event, const gchar *key)
{
	gint64 count = 0;

	return chrome_event_arg_integer(event, key, &count) ? (guint64)MAX(count, 0) : 0;
}

/* FALSE: it is none. */
static gboolean note_memory(struct chrome_trace *trace, const struct chrome_event *event)
{
	struct pending_memory pending = { .event.time_ns = event->time_ns };
	struct xla_memory_event *memory = &pending.event;
	gint64 address, billionths;
	struct json_scan value;

	if (!xla_memory_is_event(tacho_timeline_string(trace->timeline, event->name),
				 &memory->is_allocation) ||
	    !chrome_event_arg_integer(event, "addr", &address))
		return FALSE;
	memory->address = (guint64)address;
	memory->bytes = count_of(event, "allocation_bytes");
	memory->allocated_bytes = count_of(event, "bytes_allocated");
	memory->reserved_bytes = count_of(event, "bytes_reserved");
	memory->requested_bytes = count_of(event, "requested_bytes");
	memory->most_allocated_bytes = count_of(event, "peak_bytes_in_use");
	memory->fragmentation = chrome_event_arg(event, "fragmentation", &value) &&
						json_fixed(&value, 9, &billionths)
					? (gdouble)billionths / 1e9
					: NAN;
	chrome_event_arg_text(event, "allocator_name", trace->timeline, &memory->allocator);
	pending.thread = chrome_trace_find_thread(trace, event->pid, event->tid);
	g_array_append_val(((struct xla_json *)trace->data)->memory, pending);
	return TRUE;
}

static gboolean take(struct chrome_trace *trace, struct chrome_event *event)
{
	struct xla_json *own = trace->data;
	struct fact fact;

	/* some writers end the list with an object that is empty, to need no comma less */
	if (!event->phase && !event->name && !event->has_time)
		return TRUE;
	if (event->phase != 'X' || !event->has_time) /* no row is made of it */
		return FALSE;
	if (event->args_at && note_memory(trace, event))
		return TRUE;
	note_binding(trace, event);
	if (!event->args_at)
		return FALSE;
	fact = fact_of(trace, event);
	if (!fact.flags && !fact.category)
		return FALSE;
	g_array_set_size(own->facts, (guint)MIN(trace->rows.n, G_MAXUINT32 - 1));
	g_array_append_val(own->facts, fact);
	return FALSE;
}

static struct fact row_fact(const struct chrome_trace *trace, const struct chrome_row *row)
{
	const struct xla_json *own = trace->data;
	gsize i = (gsize)(row - (const struct chrome_row *)trace->rows.rows);

	return i < own->facts->len ? g_array_index(own->facts, struct fact, i) : (struct fact){ 0 };
}

/* --- planes and lines ----------------------------------------------------------------------- */

/* The plane in "host1 /device:GPU:0 (pid 3)"; what is before it is the host's name. */
static gchar *plane_of(const gchar *process, gsize *ret_host_length)
{
	const gchar *plane = strstr(process, "/host:");
	const gchar *more;

	if (!plane)
		plane = strstr(process, "/device:");
	*ret_host_length = 0;
	if (!plane)
		return g_strdup(process);
	if (plane > process && plane[-1] == ' ')
		*ret_host_length = (gsize)(plane - process - 1);
	more = strstr(plane, " (");
	return more ? g_strndup(plane, (gsize)(more - plane)) : g_strdup(plane);
}

static const gchar *line_name(const struct chrome_trace *trace, guint32 thread)
{
	guint32 name = chrome_trace_thread(trace, thread)->name;

	return name ? tacho_timeline_string(trace->timeline, name) : "";
}

/* The processes that have a stream among their threads. */
static GHashTable *planes_with_streams(const struct chrome_trace *trace)
{
	GHashTable *planes = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < trace->threads->len; i++)
		if (xla_is_stream(line_name(trace, i)))
			g_hash_table_add(planes,
					 GUINT_TO_POINTER(chrome_trace_thread(trace, i)->process));
	return planes;
}

static void find_lines(struct chrome_trace *trace)
{
	struct xla_json *own = trace->data;
	g_autoptr(GHashTable) with_streams = planes_with_streams(trace);

	for (guint32 i = 0; i < trace->threads->len; i++) {
		gsize n_host;
		g_autofree gchar *plane = plane_of(chrome_trace_process_name(trace, i), &n_host);
		gpointer process = GUINT_TO_POINTER(chrome_trace_thread(trace, i)->process);
		struct line line = { .device = xla_device_of(plane) };

		line.line = xla_line_of(
			xla_plane_of(plane, g_hash_table_contains(with_streams, process)),
			line_name(trace, i));
		g_array_append_val(own->lines, line);
		if (n_host)
			trace->host = tacho_timeline_intern(trace->timeline,
							    chrome_trace_process_name(trace, i),
							    (gssize)n_host);
	}
}

static void settle(struct chrome_trace *trace)
{
	TachoProcess process = { .host = trace->host,
				 .rank = trace->rank,
				 .local_rank = -1,
				 .world_size = -1,
				 .end = TACHO_END_UNKNOWN,
				 .path = (gchar *)trace->file.path };

	find_lines(trace);
	process.host = trace->host;
	trace->only_process =
		import_add_process(trace->import, &process, import_new_file(trace->import));
}

/* --- slices --------------------------------------------------------------------------------- */

static struct line row_line(const struct chrome_trace *trace, const struct chrome_row *row)
{
	const struct xla_json *own = trace->data;

	return row->thread < own->lines->len ? g_array_index(own->lines, struct line, row->thread)
					     : (struct line){ .line = XLA_LINE_OTHER };
}

static void judge(struct chrome_trace *trace, const struct chrome_row *row,
		  struct chrome_verdict *verdict)
{
	struct line line = row_line(trace, row);
	struct fact fact = row_fact(trace, row);
	struct xla_event event = {
		.name = tacho_timeline_string(trace->timeline, row->name),
		.category = tacho_timeline_string(trace->timeline, fact.category),
		.has_duration = row->duration_ns != 0, /* (3) is less than a nanosecond */
		.has_kernel = (fact.flags & HAS_KERNEL) != 0,
		.has_memcpy = (fact.flags & HAS_MEMCPY) != 0,
		.has_memset = (fact.flags & HAS_MEMSET) != 0,
		.has_correlation = (fact.flags & HAS_CORRELATION) != 0,
		.has_step = (fact.flags & HAS_STEP) != 0,
	};

	if (verdict->place != CHROME_ON_THREAD)
		return;
	verdict->kind = xla_kind_of(line.line, &event);
	verdict->device = line.device;
	if (line.line == XLA_LINE_OTHER || line.line == XLA_LINE_ASYNC_OPS)
		verdict->place = CHROME_ASIDE;
	else if (line.line != XLA_LINE_THREAD)
		verdict->place = CHROME_ON_STREAM;
}

/* --- steps and launches --------------------------------------------------------------------- */

static gint64 row_start_ns(const struct chrome_trace *trace, const struct chrome_row *row)
{
	return trace->timeline->slices.start_ns[row->slice];
}

static void note_step(struct chrome_trace *trace, struct xplane_steps *steps,
		      const struct chrome_row *row)
{
	const TachoSlices *slices = &trace->timeline->slices;
	gint64 start_ns = row_start_ns(trace, row), duration_ns = slices->duration_ns[row->slice];
	struct fact fact = row_fact(trace, row);
	enum xla_line line = row_line(trace, row).line;

	if (line == XLA_LINE_THREAD && fact.flags & HAS_STEP)
		xplane_steps_add_annotated(steps, row->thread, fact.step, start_ns, duration_ns);
	else if (line == XLA_LINE_STEPS)
		xplane_steps_add(steps, XPLANE_STEPS_LINE,
				 g_ascii_strtoll(tacho_timeline_string(trace->timeline, row->name),
						 NULL, 10),
				 start_ns, duration_ns);
	else if (fact.flags & HAS_GROUP)
		xplane_steps_add(steps, XPLANE_STEPS_GROUPED, fact.group, start_ns, duration_ns);
}

/* The lines "Steps" of all devices say the same; that of the first counts. */
static void find_steps(struct chrome_trace *trace)
{
	struct xplane_steps *steps = xplane_steps_new();
	guint32 first = TACHO_NONE; /* process of the first such line */

	for (gsize i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = chrome_trace_row(trace, i);
		guint32 process = chrome_trace_thread(trace, row->thread)->process;

		if (row->phase != 'X')
			continue;
		if (row_line(trace, row).line == XLA_LINE_STEPS) {
			if (first == TACHO_NONE)
				first = process;
			if (process != first)
				continue;
		}
		note_step(trace, steps, row);
	}
	xplane_steps_mark(steps, trace->import, trace->only_process);
	xplane_steps_free(steps);
}

static void find_launches(struct chrome_trace *trace)
{
	struct launch_index *calls = launch_index_new();

	for (guint side = 0; side < 2; side++) {
		for (gsize i = 0; i < trace->rows.n; i++) {
			const struct chrome_row *row = chrome_trace_row(trace, i);
			struct fact fact = row_fact(trace, row);
			enum xla_line line = row_line(trace, row).line;
			guint32 call;

			if (!(fact.flags & HAS_CORRELATION) || row->phase != 'X')
				continue;
			if (side == 0 && line == XLA_LINE_THREAD)
				launch_index_add(calls, fact.correlation, row_start_ns(trace, row),
						 row->slice);
			if (side == 0 || line != XLA_LINE_STREAM)
				continue;
			call = launch_index_find(calls, fact.correlation, row_start_ns(trace, row));
			if (call != TACHO_NONE)
				tacho_timeline_set_launch(trace->timeline, row->slice, call);
		}
	}
	launch_index_free(calls);
}

/* By id and time; of one time in the order of the file. */
static gint compare_bindings(gconstpointer first, gconstpointer second, gpointer data)
{
	const struct binding *a = first, *b = second;
	const struct chrome_trace *trace = data;
	gint64 a_ns = chrome_trace_row(trace, a->row)->start_ns;
	gint64 b_ns = chrome_trace_row(trace, b->row)->start_ns;

	return ORDER(a->id, b->id) ?: ORDER(a_ns, b_ns) ?: ORDER(a->row, b->row);
}

static void find_arrows(struct chrome_trace *trace)
{
	struct xla_json *own = trace->data;
	const struct binding *from = NULL;

	/* for whose rows there was memory */
	while (own->bindings->len &&
	       g_array_index(own->bindings, struct binding, own->bindings->len - 1).row >=
		       trace->rows.n)
		g_array_set_size(own->bindings, own->bindings->len - 1);
	g_array_sort_with_data(own->bindings, compare_bindings, trace);
	FOR_EACH(const struct binding, to, own->bindings) {
		TachoFlow flow = { .kind = TACHO_FLOW_OTHER, .is_exact = 1 };

		if (from && from->id == to->id && to->is_in) {
			flow.from = chrome_trace_row(trace, from->row)->slice;
			flow.to = chrome_trace_row(trace, to->row)->slice;
			g_array_append_val(trace->timeline->flows, flow);
		}
		if (to->is_out)
			from = to;
	}
}

/* By thread of the trace: the track of its slices, TACHO_NONE: it has none. */
static guint32 *tracks_of_threads(const struct chrome_trace *trace)
{
	guint32 *tracks = g_new(guint32, trace->threads->len + 1);

	for (guint32 i = 0; i < trace->threads->len; i++)
		tracks[i] = TACHO_NONE;
	for (gsize i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = chrome_trace_row(trace, i);

		if (row->phase == 'X')
			tracks[row->thread] = trace->timeline->slices.track[row->slice];
	}
	return tracks;
}

static void place_memory(struct chrome_trace *trace)
{
	const struct xla_json *own = trace->data;
	g_autofree guint32 *tracks = tracks_of_threads(trace);
	struct xla_memory *memory = xla_memory_new(trace->import);

	FOR_EACH(const struct pending_memory, pending, own->memory) {
		guint32 track = tracks[pending->thread];

		if (track == TACHO_NONE)
			track = chrome_trace_aside(trace, pending->thread);
		xla_memory_add(memory, &pending->event, trace->only_process, track);
	}
	xla_memory_finish(memory);
	xla_memory_free(memory);
}

static void finish(struct chrome_trace *trace)
{
	place_memory(trace);
	find_arrows(trace);
	find_steps(trace);
	find_launches(trace);
}

static const struct chrome_dialect dialect = {
	.begin = begin,
	.end = end,
	.take = take,
	.settle = settle,
	.judge = judge,
	.finish = finish,
};

/* --- which files ---------------------------------------------------------------------------- */

static gboolean sniff_xla_json(const struct sniff_input *input)
{
	return chrome_trace_sniff(input) && strstr(input->head, "\"highres-ticks\"") &&
	       (strstr(input->head, "/host:") || strstr(input->head, "/device:"));
}

/* (4) "vm.trace.json.gz" beside "vm.xplane.pb" */
static gboolean is_redundant(const struct sniff_input *input)
{
	static const gchar *const endings[] = { ".xplane.pb", ".xplane.pb.gz" };
	const gchar *end = strstr(input->name, ".trace.json");
	gsize n = strlen(input->path) - (end ? strlen(end) : 0);

	for (guint i = 0; end && i < G_N_ELEMENTS(endings); i++) {
		g_autofree gchar *stem = g_strndup(input->path, n);
		g_autofree gchar *path = g_strconcat(stem, endings[i], NULL);

		if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
			return TRUE;
	}
	return FALSE;
}

const struct import_format import_xla_json = {
	.name = "xla_json",
	.title = "XLA's profiles for the trace viewer: TensorFlow, JAX, XProf",
	.files = "*.trace.json.gz, trace.json",
	.sniff = sniff_xla_json,
	.is_redundant = is_redundant,
	.read_file = chrome_trace_read_file,
	.data = &dialect,
};
