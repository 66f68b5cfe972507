#include "import/rocm/rocm_events.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"

/* What tells tracks of a queue, and of copies, from those of a stream of the same number. */
#define QUEUE_TRACKS ((gint64)1 << 40)
#define COPY_TRACKS  ((gint64)2 << 40)

struct open_call {
	guint32 process, row;
	gint64 tid, start_ns, end_ns;
};

/* A kernel that no correlation id ties to its call. */
struct dispatch {
	guint32 process, row;
	gint64 tid, time_ns;
};

struct rocm_events {
	struct track_book *book;
	GArray *calls;	    /* struct open_call, of HIP */
	GArray *dispatches; /* struct dispatch */
};

struct rocm_events *rocm_events_new(struct track_book *book)
{
	struct rocm_events *events = g_new0(struct rocm_events, 1);

	events->book = book;
	events->calls = g_array_new(FALSE, FALSE, sizeof(struct open_call));
	events->dispatches = g_array_new(FALSE, FALSE, sizeof(struct dispatch));
	return events;
}

void rocm_events_free(struct rocm_events *events)
{
	if (!events)
		return;
	g_array_unref(events->calls);
	g_array_unref(events->dispatches);
	g_free(events);
}

enum rocm_kind rocm_kind_of_domain(const gchar *domain)
{
	g_autofree gchar *lower = g_ascii_strdown(domain, -1);

	if (strstr(lower, "marker") || strstr(lower, "roctx"))
		return ROCM_RANGE;
	if (strstr(lower, "hip") || strstr(lower, "hsa"))
		return ROCM_CALL;
	return ROCM_OTHER;
}

/* --- names and tracks ----------------------------------------------------------------------- */

/* The name of a kernel without what the compiler adds: "mat_mult(float*) [clone .kd]", "copyBuffer.kd". */
static guint32 kernel_name(TachoTimeline *timeline, const gchar *name)
{
	static const gchar *const endings[] = { " [clone .kd]", ".kd" };
	gsize n = strlen(name);

	for (guint i = 0; i < G_N_ELEMENTS(endings); i++) {
		gsize n_ending = strlen(endings[i]);

		if (n > n_ending && strcmp(name + n - n_ending, endings[i]) == 0)
			return tacho_timeline_intern(timeline, name, (gssize)(n - n_ending));
	}
	return tacho_timeline_intern(timeline, name, (gssize)n);
}

/* (1) */
static guint32 device_track(struct rocm_events *events, const struct rocm_event *event)
{
	g_autofree gchar *name = NULL;
	guint32 track;

	if (event->stream > 0)
		return track_book_stream(events->book, event->process, event->device,
					 event->stream);
	if (event->queue < 0 || event->kind == ROCM_COPY) {
		track = track_book_stream(events->book, event->process, event->device, COPY_TRACKS);
		track_book_name_track(events->book, track, "copies");
		return track;
	}
	track = track_book_stream(events->book, event->process, event->device,
				  QUEUE_TRACKS | (event->queue & G_MAXUINT32));
	name = g_strdup_printf("queue %" G_GINT64_FORMAT, event->queue);
	track_book_name_track(events->book, track, name);
	return track;
}

/* --- events --------------------------------------------------------------------------------- */

static void add_device_slice(struct rocm_events *events, const struct rocm_event *event,
			     struct book_slice *slice)
{
	TachoTimeline *timeline = track_book_timeline(events->book);
	struct dispatch dispatch = { .process = event->process,
				     .tid = event->tid,
				     .time_ns = event->dispatch_ns };

	slice->track = device_track(events, event);
	if (event->kind == ROCM_COPY) {
		slice->name = tacho_timeline_intern(timeline, event->name, -1);
		slice->kind = TACHO_SLICE_MEMCPY;
	} else {
		slice->name = kernel_name(timeline, event->name);
		slice->kind = track_book_kernel_kind(tacho_timeline_string(timeline, slice->name));
	}
	dispatch.row = track_book_add(events->book, slice);
	if (dispatch.row != TACHO_NONE && dispatch.time_ns > 0)
		g_array_append_val(events->dispatches, dispatch);
}

static void add_host_slice(struct rocm_events *events, const struct rocm_event *event,
			   struct book_slice *slice)
{
	struct open_call call = { .process = event->process,
				  .tid = event->tid,
				  .start_ns = event->start_ns,
				  .end_ns = event->end_ns };

	slice->track = track_book_thread(events->book, event->process, event->tid);
	slice->name = tacho_timeline_intern(track_book_timeline(events->book), event->name, -1);
	if (event->kind == ROCM_RANGE) {
		slice->kind = TACHO_SLICE_ANNOTATION;
		track_book_note_range(events->book, slice->track, event->name, event->start_ns);
	} else {
		slice->kind = event->kind == ROCM_CALL ? TACHO_SLICE_RUNTIME : TACHO_SLICE_EVENT;
	}
	call.row = track_book_add(events->book, slice);
	if (call.row != TACHO_NONE && event->kind == ROCM_CALL &&
	    g_str_has_prefix(event->name, "hip"))
		g_array_append_val(events->calls, call);
}

void rocm_events_add(struct rocm_events *events, const struct rocm_event *event)
{
	struct book_slice slice = { .start_ns = event->start_ns,
				    .end_ns = event->end_ns,
				    .correlation = event->correlation,
				    .source = event->source };

	if (event->kind == ROCM_KERNEL || event->kind == ROCM_COPY)
		add_device_slice(events, event, &slice);
	else
		add_host_slice(events, event, &slice);
}

/* --- (2) ------------------------------------------------------------------------------------ */

static gint compare_calls(gconstpointer first, gconstpointer second)
{
	const struct open_call *a = first, *b = second;

	return ORDER(a->process, b->process) ?: ORDER(a->tid, b->tid) ?:
	       ORDER(a->start_ns, b->start_ns);
}

/* The call that the thread was in; they do not nest. */
static guint32 find_call(const GArray *calls, const struct dispatch *dispatch)
{
	const struct open_call key = { .process = dispatch->process,
				       .tid = dispatch->tid,
				       .start_ns = dispatch->time_ns };
	const struct open_call *call =
		LAST_BEFORE(calls, struct open_call, row, compare_calls(row, &key) <= 0);

	return call && call->process == dispatch->process && call->tid == dispatch->tid &&
			       dispatch->time_ns <= call->end_ns
		       ? call->row
		       : TACHO_NONE;
}

void rocm_events_finish(struct rocm_events *events)
{
	TachoTimeline *timeline = track_book_timeline(events->book);

	g_array_sort(events->calls, compare_calls);
	FOR_EACH(const struct dispatch, dispatch, events->dispatches) {
		guint32 call = find_call(events->calls, dispatch);

		if (call != TACHO_NONE)
			tacho_timeline_set_launch(timeline, dispatch->row, call);
	}
}
