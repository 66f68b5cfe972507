#include "trace/run_merge.h"

#include <string.h>

#include "base/worker_pool.h"
#include "trace/process_reader.h"
#include "trace/slice_columns.h"
#include "trace/source.h"

struct merge {
	TachoTimeline *timeline;
	struct stream_input *const *streams;
	guint64 *outputs; /* by slice; NULL: no slice has any */
};

static gboolean fail(GError **error, const gchar *reason)
{
	g_set_error_literal(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_MEMORY, reason);
	return FALSE;
}

/* Say in each row which track it is of, and its parent as a row of the timeline. */
static void number_rows(TachoSlices *rows, guint32 first, guint32 track)
{
	for (guint32 i = 0; i < rows->n; i++) {
		rows->track[i] = track;
		if (rows->parent[i] != TACHO_NONE)
			rows->parent[i] += first;
	}
}

/* The rows of one track become [first, first + from->n) of the timeline. */
static void copy_rows(TachoSlices *to, TachoSlices *from, guint32 first, guint32 track)
{
	number_rows(from, first, track);
#define COPY_COLUMN(type, name)                                                                    \
	if (from->n)                                                                               \
		memcpy(to->name + first, from->name, from->n * sizeof(type));
	SLICE_COLUMNS(COPY_COLUMN)
#undef COPY_COLUMN
	slice_columns_release(from);
}

static void copy_memory(GArray *to, struct stream_input *stream)
{
	const TachoMemoryEvent *events = stream->rows.memory.rows;

	for (guint i = 0; i < stream->rows.memory.n; i++) {
		TachoMemoryEvent *event =
			&g_array_index(to, TachoMemoryEvent, stream->first_memory + i);

		*event = events[i];
		event->track = stream->track;
		if (event->slice != TACHO_NONE)
			event->slice += stream->first_row;
	}
	row_buffer_release(&stream->rows.memory);
}

static void merge_stream(guint index, gpointer merge_pointer)
{
	struct merge *merge = merge_pointer;
	struct stream_input *stream = merge->streams[index];
	TachoTimeline *timeline = merge->timeline;
	const struct stream_outputs *outputs = stream->rows.outputs.rows;

	copy_rows(&timeline->slices, &stream->rows.slices, stream->first_row, stream->track);
	copy_rows(&timeline->slices, &stream->rows.queued, stream->first_queued_row,
		  stream->queued_track);
	copy_memory(timeline->memory, stream);
	for (gsize i = 0; i < stream->rows.outputs.n; i++)
		merge->outputs[stream->first_row + outputs[i].row] = outputs[i].handle;
	row_buffer_release(&stream->rows.outputs);
}

/* Set where each stream's rows go; returns how many there are, and of what. */
static guint64 place_rows(struct stream_input *const *streams, guint n_streams,
			  guint64 *ret_n_memory, gboolean *ret_has_outputs)
{
	guint64 n_rows = 0, n_memory = 0;

	*ret_has_outputs = FALSE;
	for (guint i = 0; i < n_streams; i++) {
		struct stream_rows *rows = &streams[i]->rows;

		streams[i]->first_row = (guint32)n_rows;
		streams[i]->first_queued_row = (guint32)(n_rows + rows->slices.n);
		streams[i]->first_memory = (guint32)n_memory;
		n_rows += (guint64)rows->slices.n + rows->queued.n;
		n_memory += rows->memory.n;
		*ret_has_outputs |= rows->outputs.n > 0;
	}
	*ret_n_memory = n_memory;
	return n_rows;
}

/* g_array_set_size() would end the program where there is no memory. */
static gboolean size_memory_events(GArray *memory, guint64 n)
{
	gpointer trial;

	if (n > G_MAXUINT32 / 2)
		return FALSE;
	trial = g_try_malloc_n(n + 1, sizeof(TachoMemoryEvent));
	g_free(trial);
	if (!trial)
		return FALSE;
	g_array_set_size(memory, (guint)n);
	return TRUE;
}

static void set_track_ranges(TachoTimeline *timeline, struct stream_input *const *streams,
			     guint n_streams)
{
	for (guint i = 0; i < n_streams; i++) {
		const struct stream_input *stream = streams[i];
		TachoTrack *tracks = (TachoTrack *)timeline->tracks->data;

		if (stream->track != TACHO_NONE) {
			tracks[stream->track].first_slice = stream->first_row;
			tracks[stream->track].n_slices = stream->rows.slices.n;
		}
		if (stream->queued_track != TACHO_NONE) {
			tracks[stream->queued_track].first_slice = stream->first_queued_row;
			tracks[stream->queued_track].n_slices = stream->rows.queued.n;
		}
	}
}

/* The first stream's columns become the timeline's: often the largest there are, and no copy. */
static void take_first_rows(TachoTimeline *timeline, struct stream_input *first)
{
	number_rows(&first->rows.slices, 0, first->track);
	timeline->slices = first->rows.slices;
	first->rows.slices = (TachoSlices){ 0 };
}

gboolean run_merge(TachoTimeline *timeline, struct stream_input *const *streams, guint n_streams,
		   GError **error)
{
	struct merge merge = { .timeline = timeline, .streams = streams };
	gboolean has_outputs;
	guint64 n_memory;
	guint64 n_rows = place_rows(streams, n_streams, &n_memory, &has_outputs);

	if (n_rows >= TACHO_NONE)
		return fail(error, "more slices than can be numbered: open fewer runs at once");
	set_track_ranges(timeline, streams, n_streams);
	if (n_streams)
		take_first_rows(timeline, streams[0]);
	if (!slice_columns_reserve(&timeline->slices, (guint32)n_rows) ||
	    !size_memory_events(timeline->memory, n_memory))
		return fail(error, "no memory for the run's slices");
	if (has_outputs) {
		merge.outputs = g_try_malloc0_n(n_rows, sizeof(*merge.outputs));
		if (!merge.outputs)
			return fail(error, "no memory for the run's tensors");
	}
	timeline->slices.n = (guint32)n_rows;
	worker_pool_run(n_streams, merge_stream, &merge);
	if (has_outputs)
		tacho_source_take_outputs(timeline->source, merge.outputs, (guint32)n_rows);
	return TRUE;
}
