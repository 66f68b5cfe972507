/* ctf_slices: events as slices: moments, intervals of a thread, intervals that end anywhere.
 *
 * (1) What begins and does not end lasts to the end of its trace and is flagged OPEN.
 * (2) An end without a begin is kept as a moment, and counted, unless it is the first its thread tells of: what it
 *     ends began before the recording. An end whose begin is not the innermost ends what is inside it, too:
 *     those ends were lost. */
#include <string.h>

#include "import/ctf/ctf_import.h"
#include "trace/source.h"

enum { MAX_FRAMES = 4096 }; /* of a thread: deeper, ends were lost */

guint32 ctf_add_slice(struct ctf_import *ctf, guint8 kind, guint32 track, guint32 name,
		      gint64 start_ns, gint64 duration_ns, guint8 flags, guint64 offset)
{
	if (ctf->timeline->slices.n >= TACHO_NONE - 1) {
		ctf->is_out_of_memory = TRUE;
		return TACHO_NONE;
	}
	return tacho_timeline_add_slice(ctf->timeline, kind, track, name, start_ns, duration_ns,
					flags, tacho_source_foreign_handle(ctf->foreign, offset));
}

void ctf_end_slice(struct ctf_import *ctf, guint32 row, gint64 end_ns, guint64 begin_offset,
		   guint64 end_offset)
{
	TachoSlices *slices = &ctf->timeline->slices;
	gint64 duration_ns;

	if (row == TACHO_NONE)
		return;
	if (__builtin_sub_overflow(end_ns, slices->start_ns[row], &duration_ns))
		duration_ns = -1; /* the timeline mends and counts it */
	slices->duration_ns[row] = duration_ns;
	slices->flags[row] &= (guint8)~TACHO_SLICE_OPEN;
	if (end_offset)
		ctf_reader_set_partner(ctf->reader, begin_offset, end_offset);
}

void ctf_add_sample(struct ctf_import *ctf, guint32 track, gint64 time_ns, gdouble value)
{
	TachoSample sample = { .time_ns = time_ns, .value = value, .track = track };

	g_array_append_val(ctf->timeline->samples, sample);
}

void ctf_handle_instant(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	ctf_add_slice(ctf, plan->kind, ctf_thread_track(ctf, ctf->thread),
		      ctf_label_of(ctf, plan, event), event->time_ns, 0, 0, event->offset);
}

/* --- on a thread ---------------------------------------------------------------------------- */

void ctf_push_frame(struct ctf_import *ctf, struct ctf_thread *thread, guint8 kind, guint32 label,
		    struct ctf_frame frame, gint64 time_ns)
{
	frame.row = ctf_add_slice(ctf, kind, ctf_thread_track(ctf, thread), label, time_ns, 0,
				  TACHO_SLICE_OPEN, frame.offset);
	thread->has_begun = TRUE;
	if (thread->frames->len == MAX_FRAMES) {
		ctf_end_slice(ctf, g_array_index(thread->frames, struct ctf_frame, 0).row, time_ns,
			      0, 0);
		g_array_remove_index(thread->frames, 0);
		ctf->n_unended++;
	}
	g_array_append_val(thread->frames, frame);
}

void ctf_handle_begin(struct ctf_import *ctf, const struct ctf_plan *plan,
		      const struct ctf_event *event)
{
	struct ctf_frame frame = { .pair = plan->pair, .offset = event->offset };

	if (plan->key_field >= 0)
		frame.key = ctf_intern_field(ctf, event, plan->key_field);
	ctf_push_frame(ctf, ctf->thread, plan->kind, ctf_label_of(ctf, plan, event), frame,
		       event->time_ns);
	if (plan->kind == TACHO_SLICE_RUNTIME)
		ctf_note_call(ctf, plan, event, ctf->timeline->slices.n - 1);
}

/* The innermost frame that the event may end; its index + 1, 0: there is none. */
static guint find_frame(const struct ctf_thread *thread, guint32 pair, guint32 key)
{
	for (guint i = thread->frames->len; i > 0; i--) {
		const struct ctf_frame *frame =
			&g_array_index(thread->frames, struct ctf_frame, i - 1);

		if (frame->pair == pair && (!key || !frame->key || frame->key == key))
			return i;
	}
	return 0;
}

gboolean ctf_pop_frame(struct ctf_import *ctf, struct ctf_thread *thread, guint32 pair, guint32 key,
		       const struct ctf_event *event)
{
	GArray *frames = thread->frames;
	guint found = find_frame(thread, pair, key);

	if (!found)
		return FALSE;
	ctf->n_unended += frames->len - found;
	while (frames->len >= found) { /* (2) */
		const struct ctf_frame *frame =
			&g_array_index(frames, struct ctf_frame, frames->len - 1);

		ctf_end_slice(ctf, frame->row, event->time_ns, frame->offset,
			      frames->len == found ? event->offset : 0);
		g_array_set_size(frames, frames->len - 1);
	}
	return TRUE;
}

void ctf_handle_end(struct ctf_import *ctf, const struct ctf_plan *plan,
		    const struct ctf_event *event)
{
	guint32 key = plan->key_field >= 0 ? ctf_intern_field(ctf, event, plan->key_field) : 0;

	if (plan->kind == TACHO_SLICE_RUNTIME)
		ctf_note_call(ctf, plan, event, TACHO_NONE);
	if (ctf_pop_frame(ctf, ctf->thread, plan->pair, key, event))
		return;
	ctf->n_unmatched += ctf->thread->has_begun; /* (2) */
	ctf_add_slice(ctf, TACHO_SLICE_EVENT, ctf_thread_track(ctf, ctf->thread),
		      ctf_label_of(ctf, plan, event), event->time_ns, 0, 0, event->offset);
}

void ctf_end_frames(struct ctf_import *ctf, struct ctf_thread *thread, gint64 end_ns)
{
	TachoSlices *slices = &ctf->timeline->slices;

	for (guint i = 0; i < thread->frames->len; i++) { /* (1) */
		guint32 row = g_array_index(thread->frames, struct ctf_frame, i).row;

		if (row != TACHO_NONE && !__builtin_sub_overflow(end_ns, slices->start_ns[row],
								 &slices->duration_ns[row]))
			slices->flags[row] |= TACHO_SLICE_OPEN;
	}
	g_array_set_size(thread->frames, 0);
}

/* --- anywhere ------------------------------------------------------------------------------- */

void ctf_begin_pending(struct ctf_import *ctf, const gchar *key, guint32 row, guint64 offset,
		       gint64 time_ns)
{
	GQueue *queue = g_hash_table_lookup(ctf->pending, key);
	struct ctf_pending *pending = g_new(struct ctf_pending, 1);

	*pending = (struct ctf_pending){ .row = row, .offset = offset, .time_ns = time_ns };
	if (!queue) {
		queue = g_queue_new();
		g_hash_table_insert(ctf->pending, g_strdup(key), queue);
	}
	g_queue_push_tail(queue, pending);
}

gboolean ctf_take_pending(struct ctf_import *ctf, const gchar *key, struct ctf_pending *taken)
{
	GQueue *queue = g_hash_table_lookup(ctf->pending, key);
	g_autofree struct ctf_pending *pending = queue ? g_queue_pop_head(queue) : NULL;

	if (queue && g_queue_is_empty(queue))
		g_hash_table_remove(ctf->pending, key);
	if (pending)
		*taken = *pending;
	return pending != NULL;
}

/* Within a process: what it is, and which. */
static gchar *pending_key(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	return g_strdup_printf("%p/%u/%u", (void *)ctf->thread->owner, plan->pair,
			       ctf_intern_field(ctf, event, plan->key_field));
}

void ctf_handle_async_begin(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event)
{
	g_autofree gchar *key = pending_key(ctf, plan, event);
	struct ctf_thread *thread = ctf->thread;
	guint32 track = ctf_lane(ctf, thread->owner, TACHO_TRACK_ASYNC, plan->lane, 0, thread->tid);
	guint32 row = ctf_add_slice(ctf, plan->kind, track, ctf_label_of(ctf, plan, event),
				    event->time_ns, 0, TACHO_SLICE_OPEN, event->offset);

	ctf_begin_pending(ctf, key, row, event->offset, event->time_ns);
}

void ctf_handle_async_end(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	g_autofree gchar *key = pending_key(ctf, plan, event);
	struct ctf_pending begun;

	if (ctf_take_pending(ctf, key, &begun)) {
		ctf_end_slice(ctf, begun.row, event->time_ns, begun.offset, event->offset);
		return;
	}
	ctf->n_unmatched++; /* (2) */
	ctf_handle_instant(ctf, plan, event);
}
