#include "import/xla/xplane_steps.h"

#include "base/for_each.h"
#include "trace/mark_kind.h"

struct span {
	gint64 number, start_ns, end_ns;
};

struct xplane_steps {
	GHashTable *spans[XPLANE_N_STEP_SOURCES]; /* gint64 number -> struct span, owned */
	gboolean has_line;			  /* a plane before this one had a line */
};

struct xplane_steps *xplane_steps_new(void)
{
	struct xplane_steps *steps = g_new0(struct xplane_steps, 1);

	for (guint i = 0; i < XPLANE_N_STEP_SOURCES; i++)
		steps->spans[i] = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	return steps;
}

void xplane_steps_free(struct xplane_steps *steps)
{
	for (guint i = 0; i < XPLANE_N_STEP_SOURCES; i++)
		g_hash_table_unref(steps->spans[i]);
	g_free(steps);
}

void xplane_steps_add(struct xplane_steps *steps, enum xplane_step_source source, gint64 number,
		      gint64 start_ns, gint64 duration_ns)
{
	struct span *span = g_hash_table_lookup(steps->spans[source], &number);
	gint64 end_ns;

	if (__builtin_add_overflow(start_ns, duration_ns, &end_ns) ||
	    (source == XPLANE_STEPS_LINE && steps->has_line))
		return;
	if (!span) {
		span = g_new(struct span, 1);
		*span = (struct span){ number, start_ns, end_ns };
		g_hash_table_insert(steps->spans[source], &span->number, span);
	}
	span->start_ns = MIN(span->start_ns, start_ns);
	span->end_ns = MAX(span->end_ns, end_ns);
}

void xplane_steps_end_plane(struct xplane_steps *steps)
{
	steps->has_line = g_hash_table_size(steps->spans[XPLANE_STEPS_LINE]) > 0;
}

static gint compare_spans(gconstpointer a, gconstpointer b)
{
	const struct span *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static GArray *sorted_spans(const struct xplane_steps *steps)
{
	GArray *sorted = g_array_new(FALSE, FALSE, sizeof(struct span));

	for (guint i = 0; i < XPLANE_N_STEP_SOURCES && !sorted->len; i++)
		FOR_EACH_ENTRY(entry, steps->spans[i])
			g_array_append_vals(sorted, entry.value, 1);
	g_array_sort(sorted, compare_spans);
	return sorted;
}

/* A device may begin a step before another thread is done with the one before: that ends then. */
void xplane_steps_mark(struct xplane_steps *steps, struct import *import, guint32 process)
{
	g_autoptr(GArray) spans = sorted_spans(steps);
	TachoMark mark = { 0 };

	if (!spans->len)
		return;
	mark.track = import_add_track(import, TACHO_TRACK_ASYNC, process, 0, "steps");
	mark_step(import->timeline, &mark, TRUE);
	FOR_EACH_AT(const struct span, span, i, spans) {
		mark.time_ns = span->start_ns;
		mark.first = span->number;
		mark.second = span->end_ns - span->start_ns;
		if (i + 1 < spans->len)
			mark.second = MIN(mark.second, (span + 1)->start_ns - span->start_ns);
		g_array_append_val(import->timeline->marks, mark);
	}
}
