#include "trace/stack_samples.h"

#include <string.h>

#include "base/for_each.h"
#include "trace/process_facts.h"
#include "trace/process_reader.h"
#include "trace/record.h"
#include "trace/slice_columns.h"
#include "trace/source.h"
#include "trace/told_meaning.h"
#include "trace/trace_layout.h"

#define WAITING_NAME "[waiting]"
#define NO_FUNCTION  G_MAXUINT32 /* of the frame that stands for waiting */

struct open_frame {
	struct record_frame frame;
	guint row; /* in sampled_thread.slices */
};

struct sampled_slice {
	gint64 start_ns, end_ns;
	guint32 name;
	guint32 parent; /* row here, or TACHO_NONE */
	guint16 depth;
	guint8 kind;
};

struct sampled_thread {
	guint32 tid;
	gboolean is_known; /* what `open` has is the thread's stack */
	GArray *open;	   /* struct open_frame, outermost first */
	GArray *slices;	   /* struct sampled_slice, by begin */
	gint64 last_ns;	   /* no boundary is before it */
	gint64 first_ns, seen_ns;
};

struct stack_samples {
	TachoTimeline *timeline;
	const struct process_input *input;
	GArray *threads;      /* struct sampled_thread */
	GHashTable *names;    /* gint64 function << 32 | line -> string id */
	guint32 waiting_name; /* string id */
};

static void clear_thread(gpointer thread_pointer)
{
	struct sampled_thread *thread = thread_pointer;

	g_array_unref(thread->open);
	g_array_unref(thread->slices);
}

/* --- names ---------------------------------------------------------------------------------- */

/* Behind the folder in which a library is installed; NULL: it is the program's own. */
static const gchar *skip_library_folder(const gchar *path)
{
	static const gchar *const folders[] = { "/site-packages/", "/dist-packages/" };
	const gchar *found;

	for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
		found = g_strrstr(path, folders[i]);
		if (found)
			return found + strlen(folders[i]);
	}
	found = strstr(path, "/lib/python3");
	found = found ? strchr(found + strlen("/lib/"), '/') : NULL;
	if (found)
		return found + 1;
	return *path == '<' || *path == '[' ? path : NULL;
}

/* "train.py(12): main" in line 57 is "train.py(57): main"; a library's folder is left out, as PyTorch's profiler does. */
static guint32 make_name(struct stack_samples *samples, struct record_frame frame)
{
	const struct trace_metadata *metadata = &samples->input->metadata;
	const gchar *class = "[unknown]", *path, *bracket, *behind;
	g_autofree gchar *name = NULL;
	guint32 id;

	if (frame.function < metadata->n_classes &&
	    metadata->classes[frame.function].kind == TRACE_KIND_FUNCTION)
		class = tacho_timeline_string(samples->timeline,
					      metadata->classes[frame.function].name);
	path = skip_library_folder(class);
	behind = strstr(path ? path : class, "): ");
	bracket = behind ? g_strrstr_len(path ? path : class, behind - (path ? path : class), "(")
			 : NULL;
	if (bracket && frame.line)
		name = g_strdup_printf("%.*s(%u%s", (int)(bracket - (path ? path : class)),
				       path ? path : class, frame.line, behind);
	else
		name = g_strdup(path ? path : class);
	id = tacho_timeline_intern(samples->timeline, name, -1);
	tell_function(samples->timeline, id, path ? FUNCTION_OTHERS : FUNCTION_OWN);
	return id;
}

static guint32 name_of(struct stack_samples *samples, struct record_frame frame)
{
	gint64 key = (gint64)((guint64)frame.function << 32 | frame.line);
	gpointer found;
	guint32 name;

	if (frame.function == NO_FUNCTION)
		return samples->waiting_name;
	if (g_hash_table_lookup_extended(samples->names, &key, NULL, &found))
		return GPOINTER_TO_UINT(found);
	name = make_name(samples, frame);
	g_hash_table_insert(samples->names, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(name));
	return name;
}

/* --- one thread ----------------------------------------------------------------------------- */

static struct sampled_thread *find_thread(struct stack_samples *samples, guint32 tid)
{
	struct sampled_thread new = { .tid = tid, .first_ns = G_MAXINT64 };

	FOR_EACH(struct sampled_thread, thread, samples->threads)
		if (thread->tid == tid)
			return thread;
	new.last_ns = G_MININT64;
	new.open = g_array_new(FALSE, FALSE, sizeof(struct open_frame));
	new.slices = g_array_new(FALSE, FALSE, sizeof(struct sampled_slice));
	g_array_append_val(samples->threads, new);
	return &g_array_index(samples->threads, struct sampled_thread, samples->threads->len - 1);
}

/* End the frames that are deeper than `n`. One that lasted no time has never been. */
static void close_frames(struct sampled_thread *thread, guint n, gint64 time_ns)
{
	while (thread->open->len > n) {
		guint row =
			g_array_index(thread->open, struct open_frame, thread->open->len - 1).row;
		struct sampled_slice *slice =
			&g_array_index(thread->slices, struct sampled_slice, row);

		slice->end_ns = time_ns;
		if (slice->start_ns == time_ns) /* it is the last: what is deeper is gone already */
			g_array_set_size(thread->slices, row);
		g_array_set_size(thread->open, thread->open->len - 1);
	}
}

static void open_frame(struct stack_samples *samples, struct sampled_thread *thread,
		       struct record_frame frame, gint64 time_ns)
{
	guint depth = thread->open->len;
	struct open_frame open = { frame, thread->slices->len };
	struct sampled_slice slice = {
		.start_ns = time_ns,
		.end_ns = time_ns,
		.name = name_of(samples, frame),
		.parent = depth ? g_array_index(thread->open, struct open_frame, depth - 1).row
				: TACHO_NONE,
		.depth = (guint16)depth,
		.kind = frame.function == NO_FUNCTION ? TACHO_SLICE_WAIT : TACHO_SLICE_FUNCTION,
	};

	g_array_append_val(thread->slices, slice);
	g_array_append_val(thread->open, open);
}

static gboolean is_open_at(const struct sampled_thread *thread, guint depth,
			   struct record_frame frame)
{
	const struct open_frame *open;

	if (depth >= thread->open->len)
		return FALSE;
	open = &g_array_index(thread->open, struct open_frame, depth);
	return open->frame.function == frame.function && open->frame.line == frame.line;
}

/* How many frames are open, but for the one that stands for waiting. */
static guint count_calls(const struct sampled_thread *thread)
{
	guint n = thread->open->len;

	return n && g_array_index(thread->open, struct open_frame, n - 1).frame.function ==
				       NO_FUNCTION
		       ? n - 1
		       : n;
}

static void change_stack(struct stack_samples *samples, struct sampled_thread *thread,
			 const struct record_stack *record, gint64 time_ns)
{
	const struct record_frame *frames = (const void *)(record + 1);
	const struct record_frame waiting = { .function = NO_FUNCTION };
	guint n = record->n_same, n_frames = record->n_frames;
	gboolean is_waiting = record->state == TRACE_THREAD_WAITING && n + n_frames > 0;

	if (n > (thread->is_known ? count_calls(thread) : 0) || n + n_frames > TRACE_MAX_FRAMES) {
		close_frames(thread, 0, time_ns);
		thread->is_known = FALSE;
		return;
	}
	thread->is_known = TRUE;
	while (n_frames && is_open_at(thread, n, *frames))
		n++, frames++, n_frames--;
	if (n_frames || !is_waiting || !is_open_at(thread, n, waiting))
		close_frames(thread, n, time_ns);
	for (guint i = 0; i < n_frames; i++)
		open_frame(samples, thread, frames[i], time_ns);
	if (is_waiting && (n_frames || thread->open->len == n))
		open_frame(samples, thread, waiting, time_ns);
}

/* --- one process ---------------------------------------------------------------------------- */

static void add_record(struct stack_samples *samples, const struct stream_stack *row)
{
	gsize size_bytes;
	const struct record_stack *record = tacho_source_borrow_record(
		samples->timeline->source, row->handle, sizeof(*record), &size_bytes);
	struct sampled_thread *thread;
	gint64 time_ns = row->time_ns;

	/* It is looked at again: the file may have changed. */
	if (!record || record_find_fault(TRACE_KIND_STACK, record, size_bytes))
		return;
	thread = find_thread(samples, record->tid);
	if (row->before_ns <= row->time_ns)
		time_ns = row->before_ns + (row->time_ns - row->before_ns) / 2; /* (1) */
	time_ns = MAX(time_ns, thread->last_ns);
	change_stack(samples, thread, record, time_ns);
	thread->last_ns = time_ns;
	thread->first_ns = MIN(thread->first_ns, time_ns);
	thread->seen_ns = row->time_ns;
}

static void add_records(struct stack_samples *samples)
{
	FOR_EACH(const struct stream_input, stream, samples->input->streams) {
		const struct stream_stack *rows = stream->rows.stacks.rows;

		for (gsize i = 0; i < stream->rows.stacks.n; i++)
			add_record(samples, &rows[i]);
	}
}

static void name_track(TachoTimeline *timeline, TachoTrack *track)
{
	g_autofree gchar *name = NULL;

	FOR_EACH(const TachoTrack, other, timeline->tracks) {
		if (other->kind == TACHO_TRACK_THREAD && other->process == track->process &&
		    other->tid == track->tid && other->name)
			name = g_strdup_printf("%s, sampled",
					       tacho_timeline_string(timeline, other->name));
	}
	if (!name)
		name = g_strdup_printf("thread %u, sampled", track->tid);
	track->name = tacho_timeline_intern(timeline, name, -1);
}

static gboolean add_track(TachoTimeline *timeline, guint32 process,
			  const struct sampled_thread *thread)
{
	TachoSlices *slices = &timeline->slices;
	TachoTrack track = { .kind = TACHO_TRACK_SAMPLED,
			     .process = process,
			     .tid = thread->tid,
			     .first_slice = slices->n,
			     .n_slices = thread->slices->len,
			     .first_ns = thread->first_ns,
			     .last_ns = MAX(thread->last_ns, thread->seen_ns) };

	if ((guint64)slices->n + thread->slices->len >= TACHO_NONE)
		return FALSE;
	name_track(timeline, &track);
	FOR_EACH(const struct sampled_slice, from, thread->slices) {
		guint32 row = slices->n;

		if (!slice_columns_grow(slices))
			return FALSE;
		slices->start_ns[row] = from->start_ns;
		slices->duration_ns[row] = from->end_ns - from->start_ns;
		slices->source[row] = 0;
		slices->name[row] = from->name;
		slices->track[row] = timeline->tracks->len;
		slices->parent[row] =
			from->parent == TACHO_NONE ? TACHO_NONE : track.first_slice + from->parent;
		slices->launch[row] = TACHO_NONE;
		slices->kind[row] = from->kind;
		slices->flags[row] = 0;
		slices->depth[row] = from->depth;
		slices->n++;
	}
	g_array_append_val(timeline->tracks, track);
	return TRUE;
}

static gboolean add_process(TachoTimeline *timeline, guint32 process,
			    const struct process_input *input)
{
	g_autoptr(GArray) threads = g_array_new(FALSE, TRUE, sizeof(struct sampled_thread));
	g_autoptr(GHashTable) names =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	struct stack_samples samples = {
		.timeline = timeline,
		.input = input,
		.threads = threads,
		.names = names,
		.waiting_name = tacho_timeline_intern(timeline, WAITING_NAME, -1),
	};
	gint64 end_ns = tacho_timeline_process(timeline, process)->end_ns;
	guint32 first_track = timeline->tracks->len;

	g_array_set_clear_func(threads, clear_thread);
	add_records(&samples);
	FOR_EACH(struct sampled_thread, thread, threads) {
		thread->last_ns = MAX(thread->last_ns, MAX(thread->seen_ns, end_ns));
		close_frames(thread, 0, thread->last_ns);
		if (thread->slices->len && !add_track(timeline, process, thread))
			return FALSE;
	}
	if (timeline->tracks->len > first_track)
		process_facts_add_marks(timeline, input, TRACE_SAMPLING_MARK, first_track);
	return TRUE;
}

gboolean stack_samples_add(TachoTimeline *timeline, const GArray *inputs, GError **error)
{
	FOR_EACH_AT(const struct process_input, input, process, inputs) {
		gboolean has_stacks = FALSE;

		FOR_EACH(const struct stream_input, stream, input->streams)
			has_stacks |= stream->rows.stacks.n > 0;
		if (!has_stacks || add_process(timeline, process, input))
			continue;
		g_set_error_literal(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_MEMORY,
				    "there is not enough memory for the run's stacks");
		return FALSE;
	}
	return TRUE;
}
