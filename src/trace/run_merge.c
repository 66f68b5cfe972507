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
	for (guint32 i = 0; i < rows->n; i++)
		rows->track[i] = track;
	for (guint32 i = 0; first && i < rows->n; i++)
		rows->parent[i] += rows->parent[i] == TACHO_NONE ? 0 : first;
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

	number_rows(&stream->rows.slices, stream->first_row, stream->track);
	number_rows(&stream->rows.queued, stream->first_queued_row, stream->queued_track);
	copy_memory(timeline->memory, stream);
	for (gsize i = 0; i < stream->rows.outputs.n; i++)
		merge->outputs[stream->first_row + outputs[i].row] = outputs[i].handle;
	row_buffer_release(&stream->rows.outputs);
}

gboolean run_merge_make_room(TachoTimeline *timeline, struct stream_input *const *streams,
			     guint n_streams, GError **error)
{
	guint64 n_rows = 0;

	for (guint i = 0; i < n_streams; i++) {
		const struct stream_count *count = &streams[i]->count;

		streams[i]->first_row = (guint32)n_rows;
		streams[i]->first_queued_row = (guint32)(n_rows + count->n_slices);
		n_rows += count->n_slices + count->n_queued;
		if (n_rows >= TACHO_NONE)
			return fail(error, "there are too many slices; open fewer runs at once");
	}
	if (!slice_columns_reserve(&timeline->slices, (guint32)n_rows))
		return fail(error, "there is not enough memory for the run's slices");
	for (guint i = 0; i < n_streams; i++) {
		struct stream_input *stream = streams[i];

		stream->rows.slices = slice_columns_view(&timeline->slices, stream->first_row,
							 (guint32)stream->count.n_slices);
		stream->rows.queued =
			slice_columns_view(&timeline->slices, stream->first_queued_row,
					   (guint32)stream->count.n_queued);
	}
	return TRUE;
}

/* Have the view's rows begin at `to` instead of `from`, where there is nothing in between. */
static void move_down(TachoTimeline *timeline, TachoSlices *rows, guint32 *from, guint32 to)
{
	guint32 n = rows->n;

	if (*from == to)
		return;
	slice_columns_move(&timeline->slices, to, *from, n);
	*rows = slice_columns_view(&timeline->slices, to, n);
	rows->n = n;
	*from = to;
}

/* Leave no room between the rows of one stream and the next, where a broken file had fewer than were
 * counted. Returns how many rows there are. */
static guint32 close_gaps(TachoTimeline *timeline, struct stream_input *const *streams,
			  guint n_streams)
{
	guint32 n_rows = 0;

	for (guint i = 0; i < n_streams; i++) {
		struct stream_rows *rows = &streams[i]->rows;

		move_down(timeline, &rows->slices, &streams[i]->first_row, n_rows);
		n_rows += rows->slices.n;
		move_down(timeline, &rows->queued, &streams[i]->first_queued_row, n_rows);
		n_rows += rows->queued.n;
	}
	return n_rows;
}

static guint64 count_lent(const struct stream_input *stream)
{
	return stream->lent ? (guint64)stream->lent->len + stream->lent_queued->len : 0;
}

static void fill_lent(TachoSlices *rows, const GArray *lent)
{
	for (guint i = 0; i < lent->len; i++) {
		const struct lent_slice *slice = &g_array_index(lent, struct lent_slice, i);

		rows->start_ns[i] = slice->start_ns;
		rows->duration_ns[i] = slice->duration_ns;
		rows->source[i] = slice->source;
		rows->name[i] = slice->name;
		rows->parent[i] = slice->parent;
		rows->launch[i] = TACHO_NONE;
		rows->kind[i] = (guint8)slice->kind;
		rows->flags[i] = (guint8)slice->flags;
		rows->depth[i] = slice->depth;
	}
	rows->n = lent->len;
}

/* The view of `n` rows from *next on, which are then behind it. */
static TachoSlices take_view(const TachoTimeline *timeline, guint32 *next, guint32 *ret_first,
			     guint32 n)
{
	TachoSlices view = slice_columns_view(&timeline->slices, *next, n);

	*ret_first = *next;
	*next += n;
	view.n = n;
	return view;
}

gboolean run_merge_add_lent(TachoTimeline *timeline, struct stream_input *const *streams,
			    guint n_streams, GError **error)
{
	guint32 n_own = close_gaps(timeline, streams, n_streams), next = 0;
	guint64 n_before = 0, n_all = n_own;

	for (guint i = 0; i < n_streams; i++)
		n_all += count_lent(streams[i]);
	for (guint i = 0; i < n_streams && streams[i]->lent; i++)
		n_before += count_lent(streams[i]);
	if (n_all >= TACHO_NONE)
		return fail(error, "there are too many slices; open fewer runs at once");
	if (!slice_columns_reserve(&timeline->slices, (guint32)n_all))
		return fail(error, "there is not enough memory for the run's slices");
	slice_columns_move(&timeline->slices, (guint32)n_before, 0, n_own);
	for (guint i = 0; i < n_streams; i++) {
		struct stream_input *stream = streams[i];
		struct stream_rows *rows = &stream->rows;

		rows->slices = take_view(timeline, &next, &stream->first_row,
					 stream->lent ? stream->lent->len : rows->slices.n);
		rows->queued = take_view(timeline, &next, &stream->first_queued_row,
					 stream->lent ? stream->lent_queued->len : rows->queued.n);
		if (!stream->lent)
			continue;
		fill_lent(&rows->slices, stream->lent);
		fill_lent(&rows->queued, stream->lent_queued);
		g_array_set_size(stream->lent, 0);
		g_array_set_size(stream->lent_queued, 0);
	}
	return TRUE;
}

/* Set where each stream's memory events go; returns how many there are. */
static guint64 place_memory(struct stream_input *const *streams, guint n_streams,
			    gboolean *ret_has_outputs)
{
	guint64 n_memory = 0;

	*ret_has_outputs = FALSE;
	for (guint i = 0; i < n_streams; i++) {
		streams[i]->first_memory = (guint32)n_memory;
		n_memory += streams[i]->rows.memory.n;
		*ret_has_outputs |= streams[i]->rows.outputs.n > 0;
	}
	return n_memory;
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

gboolean run_merge(TachoTimeline *timeline, struct stream_input *const *streams, guint n_streams,
		   GError **error)
{
	struct merge merge = { .timeline = timeline, .streams = streams };
	gboolean has_outputs;
	guint64 n_memory = place_memory(streams, n_streams, &has_outputs);
	guint32 n_rows = close_gaps(timeline, streams, n_streams);

	timeline->slices.n = n_rows;
	set_track_ranges(timeline, streams, n_streams);
	if (!size_memory_events(timeline->memory, n_memory))
		return fail(error, "there is not enough memory for the run's memory events");
	if (has_outputs) {
		merge.outputs = g_try_malloc0_n(n_rows, sizeof(*merge.outputs));
		if (!merge.outputs)
			return fail(error, "there is not enough memory for the run's tensors");
	}
	worker_pool_run(n_streams, merge_stream, &merge);
	if (has_outputs)
		tacho_source_take_outputs(timeline->source, merge.outputs, n_rows);
	return TRUE;
}
