/* Who waits for an event: a "cuda_sync" row names the call that recorded the event, and the stream on which it did. */
#include "import/kineto/kineto_merge.h"
#include "trace/event_waits.h"
#include "trace/launch_index.h"

GArray *kineto_event_waits_new(void)
{
	return g_array_new(FALSE, FALSE, sizeof(struct event_wait));
}

static void note(struct kineto_part *part, const struct kineto_rows *rows, gsize k)
{
	const struct kineto_row *row = (const struct kineto_row *)rows->slices.rows + k;
	const struct kineto_extra *extra =
		&g_array_index(part->extras, struct kineto_extra,
			       rows->first_extra + (row->place & ~KINETO_PLACE_EXTRA));
	struct event_wait wait = { rows->first_row + (guint32)k, TACHO_NONE, 0 };

	if (extra->event_record < 0 || extra->event_stream > G_MAXUINT32)
		return;
	wait.stream = (guint32)extra->event_stream;
	wait.record = launch_index_find(part->calls, extra->event_record, row->start_ns);
	if (wait.record != TACHO_NONE)
		g_array_append_val(part->event_waits, wait);
}

void kineto_event_waits_note(struct kineto_part *part, const struct kineto_rows *rows)
{
	const struct kineto_row *slices = rows->slices.rows;

	for (gsize k = 0; k < rows->slices.n; k++)
		if (slices[k].kind == TACHO_SLICE_SYNC && (slices[k].place & KINETO_PLACE_EXTRA))
			note(part, rows, k);
}

void kineto_event_waits_link(struct kineto_merge *merge)
{
	g_autofree const GArray **waits = g_new(const GArray *, merge->files.n + 1);

	for (guint i = 0; i < merge->files.n; i++)
		waits[i] = merge->parts[i].event_waits;
	event_waits_link(merge->timeline, waits, merge->files.n);
}
