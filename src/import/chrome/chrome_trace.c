#include "import/chrome/chrome_trace.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "import/chrome/chrome_args.h"
#include "import/chrome/chrome_arrows.h"
#include "import/device_properties.h"
#include "import/sniff_evidence.h"

#define MAX_SPAN_NS (G_GINT64_CONSTANT(400) * 24 * 3600 * 1000000000) /* of a slice */

enum {
	MAX_MARK_BYTES = 4096,
	NESTING_SLACK_NS = 1000, /* most who write such traces know no less than microseconds */
	MIN_NESTED = 50, /* of a thread: as many nest as they should for one that does not */
};

/* What is told of a moment: a sample of a counter, a mark, an end of an arrow. */
struct moment {
	gint64 time_ns;
	gdouble value;
	guint32 thread, name, text;
	enum { MOMENT_SAMPLE, MOMENT_MARK } kind;
};

/* --- threads and processes ------------------------------------------------------------------ */

static guint32 find_process(struct chrome_trace *trace, gint64 pid)
{
	gpointer known = g_hash_table_lookup(trace->process_index, &pid);
	struct chrome_process process = { .pid = pid, .process = TACHO_NONE };

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	g_array_append_val(trace->processes, process);
	g_hash_table_insert(trace->process_index, g_memdup2(&pid, sizeof(pid)),
			    GUINT_TO_POINTER(trace->processes->len));
	return trace->processes->len - 1;
}

static guint hash_thread(gconstpointer data)
{
	const gint64 *ids = data;

	return (guint)((((guint64)ids[0] * 31 + (guint64)ids[1]) *
			G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)) >>
		       32);
}

static gboolean is_thread(gconstpointer first, gconstpointer second)
{
	return memcmp(first, second, 2 * sizeof(gint64)) == 0;
}

guint32 chrome_trace_find_thread(struct chrome_trace *trace, gint64 pid, gint64 tid)
{
	gint64 ids[2] = { pid, tid };
	gpointer known = g_hash_table_lookup(trace->thread_index, ids);
	struct chrome_thread thread = { .pid = pid,
					.tid = tid,
					.tracks = { TACHO_NONE, TACHO_NONE, TACHO_NONE } };

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	thread.process = find_process(trace, pid);
	g_array_append_val(trace->threads, thread);
	g_hash_table_insert(trace->thread_index, g_memdup2(ids, sizeof(ids)),
			    GUINT_TO_POINTER(trace->threads->len));
	return trace->threads->len - 1;
}

static struct chrome_process *process_of(const struct chrome_trace *trace, guint32 thread)
{
	return &g_array_index(trace->processes, struct chrome_process,
			      chrome_trace_thread(trace, thread)->process);
}

const gchar *chrome_trace_process_name(const struct chrome_trace *trace, guint32 thread)
{
	return tacho_timeline_string(trace->timeline, process_of(trace, thread)->name);
}

guint32 chrome_trace_process_name_id(const struct chrome_trace *trace, guint32 thread)
{
	return process_of(trace, thread)->name;
}

guint32 chrome_trace_process(struct chrome_trace *trace, guint32 thread)
{
	struct chrome_process *process = process_of(trace, thread);
	TachoProcess row = {
		.host = trace->host,
		.rank = trace->rank,
		.local_rank = -1,
		.world_size = trace->file.facts.world_size,
		.command = process->name,
		.end = TACHO_END_UNKNOWN,
		.path = (gchar *)trace->file.path,
	};

	if (trace->only_process != TACHO_NONE)
		return trace->only_process;
	if (process->process != TACHO_NONE)
		return process->process;
	if (process->pid >= 0 && process->pid <= G_MAXUINT32)
		row.pid = (guint32)process->pid;
	if (!row.command && chrome_id_is_text(process->pid))
		row.command = (guint32)(process->pid & ~CHROME_TEXT_ID);
	process->process = import_add_process(trace->import, &row, trace->number);
	return process->process;
}

/* --- reading -------------------------------------------------------------------------------- */

static struct chrome_row *add_row(struct chrome_trace *trace, const struct chrome_event *event)
{
	struct chrome_row *row = row_buffer_add(&trace->rows, sizeof(*row));

	if (!row) {
		trace->is_out_of_memory = TRUE;
		return NULL;
	}
	*row = (struct chrome_row){
		.start_ns = event->time_ns,
		.duration_ns = event->duration_ns,
		.args_offset = event->args_offset,
		.name = event->name,
		.category = event->category,
		.thread = chrome_trace_find_thread(trace, event->pid, event->tid),
		.phase = (guint8)(event->phase == 'S' ? 'b' : event->phase),
		.slice = TACHO_NONE,
	};
	return row;
}

static void begin_row(struct chrome_trace *trace, struct chrome_event *event)
{
	if (add_row(trace, event))
		event->mate = (guint32)(trace->rows.n - 1);
}

static void end_row(struct chrome_trace *trace, const struct chrome_event *event)
{
	struct chrome_row *row;

	if (event->mate >= trace->rows.n)
		return;
	row = chrome_trace_row(trace, event->mate);
	row->duration_ns = event->duration_ns;
	row->is_open = event->is_unended;
	if (!row->args_offset)
		row->args_offset = event->args_offset;
}

static struct moment *add_moment(struct chrome_trace *trace, const struct chrome_event *event)
{
	struct moment *moment = row_buffer_add(&trace->moments, sizeof(*moment));

	if (!moment) {
		trace->is_out_of_memory = TRUE;
		return NULL;
	}
	*moment = (struct moment){
		.time_ns = event->time_ns,
		.thread = chrome_trace_find_thread(trace, event->pid, event->tid),
		.name = event->name,
	};
	return moment;
}

static void add_mark(struct chrome_trace *trace, const struct chrome_event *event)
{
	struct moment *moment = add_moment(trace, event);

	if (!moment)
		return;
	moment->kind = MOMENT_MARK;
	if (event->args_at && event->args_end - event->args_at <= MAX_MARK_BYTES)
		moment->text = tacho_timeline_intern(trace->timeline, event->args_at,
						     event->args_end - event->args_at);
}

/* A counter is called as its event, its id and its series are. */
static guint32 name_counter(struct chrome_trace *trace, const struct chrome_event *event,
			    const struct json_text *series)
{
	g_autoptr(GString) name = g_string_new(tacho_timeline_string(trace->timeline, event->name));
	const gchar *id = chrome_id_text(trace->timeline, event->id);

	if (event->has_id && id)
		g_string_append_printf(name, "[%s]", id);
	else if (event->has_id)
		g_string_append_printf(name, "[%" G_GINT64_FORMAT "]", event->id);
	if (!json_text_is(series, name->str, name->len)) {
		g_autoptr(GString) storage = g_string_new(NULL);
		struct json_text plain = json_text_plain(series, storage);

		if (name->len)
			g_string_append(name, ": ");
		g_string_append_len(name, plain.bytes, (gssize)plain.n);
	}
	return tacho_timeline_intern(trace->timeline, name->str, (gssize)name->len);
}

static void add_samples(struct chrome_trace *trace, const struct chrome_event *event)
{
	struct json_scan args = { .at = event->args_at, .end = event->args_end };
	struct json_text key;

	if (!event->args_at)
		return;
	json_take(&args, '{');
	while (json_member(&args, &key)) {
		struct moment *moment;
		gdouble value;

		if (!json_number(&args, &value) || !isfinite(value))
			continue;
		moment = add_moment(trace, event);
		if (!moment)
			return;
		moment->kind = MOMENT_SAMPLE;
		moment->name = name_counter(trace, event, &key);
		moment->value = value;
	}
}

static void read_metadata(struct chrome_trace *trace, const struct chrome_event *event)
{
	const gchar *name = tacho_timeline_string(trace->timeline, event->name);
	guint32 thread = chrome_trace_find_thread(trace, event->pid, event->tid), text;
	struct chrome_event fact = *event;

	if (strcmp(name, "process_name") == 0) {
		if (chrome_event_arg_text(event, "name", trace->timeline, &text))
			process_of(trace, thread)->name = text;
	} else if (strcmp(name, "thread_name") == 0) {
		if (chrome_event_arg_text(event, "name", trace->timeline, &text))
			g_array_index(trace->threads, struct chrome_thread, thread).name = text;
	} else if (!g_str_has_suffix(name, "_sort_index")) {
		fact.time_ns = G_MININT64; /* the file's begin, which is not known yet */
		add_mark(trace, &fact);
	}
}

static void take_event(struct chrome_event *event, gpointer data)
{
	struct chrome_trace *trace = data;

	if (trace->dialect->take && trace->dialect->take(trace, event))
		return;
	if (!event->has_time && event->phase != 'M') {
		trace->n_unknown++;
		return;
	}
	switch (event->phase) {
	case 'X':
		add_row(trace, event);
		break;
	case 'B':
	case 'b':
	case 'S':
	case 'N':
		begin_row(trace, event);
		break;
	case 'E':
	case 'e':
	case 'F':
	case 'D':
		end_row(trace, event);
		break;
	case 'i':
	case 'I':
	case 'R':
	case 'P':
	case 'n':
	case 'T':
	case 'p':
	case 'O':
		add_mark(trace, event);
		break;
	case 'C':
		add_samples(trace, event);
		break;
	case 'M':
		read_metadata(trace, event);
		break;
	case 's':
	case 't':
	case 'f':
		chrome_arrows_add(trace->arrows, event,
				  chrome_trace_find_thread(trace, event->pid, event->tid));
		break;
	default:
		trace->n_unknown++;
	}
}

/* --- tracks --------------------------------------------------------------------------------- */

static guint32 make_track(struct chrome_trace *trace, guint32 thread_index,
			  const struct chrome_verdict *verdict)
{
	static const TachoTrackKind kinds[] = { TACHO_TRACK_THREAD, TACHO_TRACK_STREAM,
						TACHO_TRACK_ASYNC };
	struct chrome_thread *thread =
		&g_array_index(trace->threads, struct chrome_thread, thread_index);
	gint64 number = verdict->place == CHROME_ON_STREAM ? verdict->stream : thread->tid;
	const gchar *name = thread->name ? tacho_timeline_string(trace->timeline, thread->name)
					 : chrome_id_text(trace->timeline, thread->tid);
	guint32 row;

	/* then the threads of different processes stand side by side */
	if (!name && trace->only_process != TACHO_NONE)
		name = chrome_trace_process_name(trace, thread_index);
	row = import_add_track(
		trace->import, kinds[verdict->place], chrome_trace_process(trace, thread_index),
		number >= 0 && number <= G_MAXUINT32 ? (guint32)number : 0, name ? name : "");

	if (verdict->place == CHROME_ON_STREAM)
		g_array_index(trace->timeline->tracks, TachoTrack, row).device = verdict->device;
	return row;
}

static guint32 find_track(struct chrome_trace *trace, guint32 thread,
			  const struct chrome_verdict *verdict)
{
	guint32 *track =
		&g_array_index(trace->threads, struct chrome_thread, thread).tracks[verdict->place];

	if (*track == TACHO_NONE)
		*track = make_track(trace, thread, verdict);
	return *track;
}

guint32 chrome_trace_aside(struct chrome_trace *trace, guint32 thread)
{
	static const struct chrome_verdict aside = { .place = CHROME_ASIDE };

	return find_track(trace, thread, &aside);
}

/* The track for what belongs to no thread. */
static guint32 find_aside(struct chrome_trace *trace)
{
	guint32 thread = trace->threads->len ? 0 : chrome_trace_find_thread(trace, 0, 0);

	if (trace->aside == TACHO_NONE)
		trace->aside = import_add_track(trace->import, TACHO_TRACK_ASYNC,
						chrome_trace_process(trace, thread), 0, "trace");
	return trace->aside;
}

/* --- slices --------------------------------------------------------------------------------- */

static void place_row(struct chrome_trace *trace, struct chrome_row *row, guint64 *n_impossible)
{
	gboolean is_on_thread = row->phase == 'X' || row->phase == 'B';
	struct chrome_verdict verdict = { .kind = TACHO_SLICE_EVENT,
					  .place = is_on_thread ? CHROME_ON_THREAD : CHROME_ASIDE };
	gint64 start_ns, duration_ns = row->duration_ns;
	gint64 tid = chrome_trace_thread(trace, row->thread)->tid;

	verdict.stream = chrome_id_is_text(tid) ? 0 : tid;
	trace->dialect->judge(trace, row, &verdict);
	if (verdict.place == CHROME_NOWHERE)
		return;
	if (duration_ns < 0 || duration_ns > MAX_SPAN_NS) {
		duration_ns = 0;
		verdict.flags |= TACHO_SLICE_REPAIRED;
	}
	if (__builtin_add_overflow(row->start_ns, trace->base_ns, &start_ns)) {
		start_ns = trace->base_ns;
		verdict.flags |= TACHO_SLICE_REPAIRED;
	}
	*n_impossible += (verdict.flags & TACHO_SLICE_REPAIRED) != 0;
	if (row->is_open)
		verdict.flags |= TACHO_SLICE_OPEN;
	row->slice = tacho_timeline_add_slice(
		trace->timeline, verdict.kind, find_track(trace, row->thread, &verdict), row->name,
		start_ns, duration_ns, verdict.flags,
		row->args_offset ? tacho_source_foreign_handle(trace->foreign, row->args_offset)
				 : 0);
}

gint chrome_rows_compare(gconstpointer first, gconstpointer second)
{
	const struct chrome_row *a = *(struct chrome_row *const *)first;
	const struct chrome_row *b = *(struct chrome_row *const *)second;

	return ORDER(a->thread, b->thread) ?: ORDER(a->start_ns, b->start_ns) ?:
	       ORDER(b->duration_ns, a->duration_ns) ?: ORDER(a, b);
}

/* Does [begin, end) go on behind `outer_ns`, where the slice that it begins in ends? */
static gboolean is_cut(gint64 begin_ns, gint64 end_ns, gint64 outer_ns)
{
	return end_ns > outer_ns && outer_ns - begin_ns > NESTING_SLACK_NS &&
	       end_ns - outer_ns > NESTING_SLACK_NS;
}

/* How many slices of one thread, in order, overlap others without being nested. */
static gsize count_overlaps(struct chrome_row *const *rows, gsize n)
{
	g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(gint64));
	gsize n_overlaps = 0;

	for (gsize i = 0; i < n; i++) {
		gint64 begin_ns = rows[i]->start_ns, end_ns;

		if ((rows[i]->phase != 'X' && rows[i]->phase != 'B') ||
		    __builtin_add_overflow(begin_ns, MAX(rows[i]->duration_ns, 0), &end_ns))
			continue;
		while (ends->len && g_array_index(ends, gint64, ends->len - 1) <= begin_ns)
			g_array_set_size(ends, ends->len - 1);
		if (ends->len &&
		    is_cut(begin_ns, end_ns, g_array_index(ends, gint64, ends->len - 1)))
			n_overlaps++;
		g_array_append_val(ends, end_ns);
	}
	return n_overlaps;
}

/* (2) */
static void set_overlapping_aside(struct chrome_trace *trace)
{
	g_autofree struct chrome_row **order = g_new(struct chrome_row *, trace->rows.n + 1);
	gsize n = trace->rows.n, end;

	for (gsize i = 0; i < n; i++)
		order[i] = chrome_trace_row(trace, i);
	qsort(order, n, sizeof(*order), chrome_rows_compare);
	for (gsize i = 0; i < n; i = end) {
		guint32 track =
			chrome_trace_thread(trace, order[i]->thread)->tracks[CHROME_ON_THREAD];

		for (end = i; end < n && order[end]->thread == order[i]->thread;)
			end++;
		if (track != TACHO_NONE &&
		    count_overlaps(&order[i], end - i) * MIN_NESTED > end - i)
			g_array_index(trace->timeline->tracks, TachoTrack, track).kind =
				TACHO_TRACK_ASYNC;
	}
	chrome_arrows_resolve(trace->arrows, trace->timeline, order, n);
}

static gboolean place_rows(struct chrome_trace *trace)
{
	guint64 n_impossible = 0;

	if (trace->rows.n >= TACHO_NONE - trace->timeline->slices.n)
		return FALSE;
	for (gsize i = 0; i < trace->rows.n; i++)
		place_row(trace, chrome_trace_row(trace, i), &n_impossible);
	if (n_impossible)
		tacho_timeline_add_problem(
			trace->timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, n_impossible,
			"%s: events that last for years, end before they begin, or have no end",
			trace->file.path);
	set_overlapping_aside(trace);
	return TRUE;
}

/* --- moments -------------------------------------------------------------------------------- */

static gint64 mark_time_ns(const struct chrome_trace *trace, gint64 time_ns)
{
	gint64 result_ns;

	if (time_ns == G_MININT64)
		time_ns = trace->file.first_ns == G_MAXINT64 ? 0 : trace->file.first_ns;
	return __builtin_add_overflow(time_ns, trace->base_ns, &result_ns) ? trace->base_ns
									   : result_ns;
}

static void place_mark(struct chrome_trace *trace, const struct moment *moment)
{
	TachoMark mark = { .name = moment->name, .text = moment->text };

	mark.time_ns = mark_time_ns(trace, moment->time_ns);
	mark.track = chrome_trace_aside(trace, moment->thread);
	g_array_append_val(trace->timeline->marks, mark);
}

static void place_sample(struct chrome_trace *trace, const struct moment *moment,
			 GHashTable *counters)
{
	guint32 process = chrome_trace_process(trace, moment->thread);
	gpointer key = GSIZE_TO_POINTER((gsize)process << 32 | moment->name);
	gpointer known = g_hash_table_lookup(counters, key);
	TachoSample sample = { .value = moment->value };

	if (!known) {
		sample.track =
			import_add_track(trace->import, TACHO_TRACK_COUNTER, process, 0,
					 tacho_timeline_string(trace->timeline, moment->name));
		g_hash_table_insert(counters, key, GUINT_TO_POINTER(sample.track + 1));
	} else {
		sample.track = GPOINTER_TO_UINT(known) - 1;
	}
	sample.time_ns = mark_time_ns(trace, moment->time_ns);
	g_array_append_val(trace->timeline->samples, sample);
}

static void place_moments(struct chrome_trace *trace)
{
	g_autoptr(GHashTable) counters = g_hash_table_new(NULL, NULL);
	const struct moment *moments = trace->moments.rows;

	for (gsize i = 0; i < trace->moments.n; i++)
		if (moments[i].kind == MOMENT_MARK)
			place_mark(trace, &moments[i]);
		else
			place_sample(trace, &moments[i], counters);
}

/* What stands around the events. */
static void place_properties(struct chrome_trace *trace)
{
	const GArray *properties = trace->file.facts.properties;

	FOR_EACH(const struct kineto_property, property, properties) {
		TachoMark mark = { .time_ns = mark_time_ns(trace, G_MININT64) };

		mark.track = find_aside(trace);
		mark.name = tacho_timeline_intern(trace->timeline, property->key, -1);
		mark.text = tacho_timeline_intern(trace->timeline, property->json, -1);
		g_array_append_val(trace->timeline->marks, mark);
		if (strcmp(property->key, DEVICE_PROPERTIES) == 0)
			device_properties_read(
				trace->timeline,
				tacho_timeline_track(trace->timeline, mark.track)->process,
				property->json);
	}
}

/* --- all of it ------------------------------------------------------------------------------ */

static void init_trace(struct chrome_trace *trace, struct import *import,
		       const struct chrome_dialect *dialect, gconstpointer context)
{
	*trace = (struct chrome_trace){ .import = import,
					.timeline = import->timeline,
					.dialect = dialect,
					.context = context,
					.only_process = TACHO_NONE,
					.aside = TACHO_NONE };
	trace->threads = g_array_new(FALSE, FALSE, sizeof(struct chrome_thread));
	trace->processes = g_array_new(FALSE, FALSE, sizeof(struct chrome_process));
	trace->thread_index = g_hash_table_new_full(hash_thread, is_thread, g_free, NULL);
	trace->process_index = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	trace->arrows = chrome_arrows_new();
	if (dialect->begin)
		dialect->begin(trace);
}

static void release_trace(struct chrome_trace *trace)
{
	if (trace->dialect->end)
		trace->dialect->end(trace);
	chrome_file_release(&trace->file);
	row_buffer_release(&trace->rows);
	row_buffer_release(&trace->moments);
	g_array_unref(trace->threads);
	g_array_unref(trace->processes);
	g_hash_table_unref(trace->thread_index);
	g_hash_table_unref(trace->process_index);
	chrome_arrows_free(trace->arrows);
}

static gboolean fail_memory(const struct chrome_trace *trace, GError **error)
{
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
		    "%s: there is not enough memory for the trace's events, or there are too many",
		    trace->file.path);
	return FALSE;
}

static gboolean place_trace(struct chrome_trace *trace, GError **error)
{
	const struct chrome_facts *facts = &trace->file.facts;
	TachoTimeline *timeline = trace->timeline;

	if (trace->is_out_of_memory)
		return fail_memory(trace, error);
	chrome_file_report(&trace->file, timeline);
	if (!trace->file.n_events) {
		if (trace->import->n_paths > 1)
			tacho_timeline_add_problem(timeline, TACHO_PROBLEM_EMPTY_RUN, 1,
						   "%s: the trace has no events", trace->file.path);
		return TRUE;
	}
	trace->number = import_new_file(trace->import);
	trace->rank = facts->rank >= 0 ? facts->rank : import_rank_of_name(trace->file.path);
	trace->host = tacho_timeline_intern(timeline, facts->host ? facts->host : "unknown", -1);
	trace->base_ns = facts->base_ns;
	trace->foreign =
		tacho_source_take_foreign(timeline->source, chrome_args_new(trace->file.path));
	if (trace->dialect->settle)
		trace->dialect->settle(trace);
	if (!place_rows(trace))
		return fail_memory(trace, error);
	place_moments(trace);
	place_properties(trace);
	if (trace->dialect->finish)
		trace->dialect->finish(trace);
	if (!trace->file.has_fraction && trace->rows.n)
		timeline->resolution_ns = MAX(timeline->resolution_ns, 1000);
	if (trace->n_unknown)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD, trace->n_unknown,
					   "%s: events of an unknown phase, or without a time",
					   trace->file.path);
	return TRUE;
}

gboolean chrome_trace_read(struct import *import, const gchar *path,
			   const struct chrome_dialect *dialect, gconstpointer context,
			   GError **error)
{
	struct chrome_trace trace;
	gboolean is_read;

	init_trace(&trace, import, dialect, context);
	is_read = chrome_events_read(&trace.file, path, import, take_event, &trace, error) &&
		  place_trace(&trace, error);
	release_trace(&trace);
	return is_read;
}

gboolean chrome_trace_read_file(struct import *import, const gchar *path, gpointer dialect,
				GError **error)
{
	return chrome_trace_read(import, path, dialect, NULL, error);
}

/* A phase, which is one letter, and where or when it was. */
static gboolean has_events(const struct sniff_input *input)
{
	gboolean has_phase = FALSE;

	if (!json_head_has(input, "ph", 3, "\""))
		return FALSE;
	for (const gchar *phase = "BEXiIbnesftPCNODMVvRc"; *phase && !has_phase; phase++)
		has_phase =
			json_head_has_text(input, "ph", 3, (const gchar[]){ *phase, '"', '\0' });
	return has_phase && (json_head_has(input, "pid", 3, "0123456789-\"") ||
			     json_head_has(input, "tid", 3, "0123456789-\"") ||
			     json_head_has(input, "ts", 3, "0123456789-.\""));
}

gboolean chrome_trace_sniff(const struct sniff_input *input)
{
	return json_head_has(input, "traceEvents", 2, "[") || has_events(input);
}
