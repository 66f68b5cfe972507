#include "import/xla/xplane_steps.h"

#include "base/for_each.h"
#include "trace/mark_kind.h"

struct span {
	gint64 number, start_ns, end_ns;
};

/* A region of the program. */
struct region {
	struct span span;
	guint32 thread;
	gint64 round; /* how often its thread's numbers have begun again */
};

struct xplane_steps {
	GHashTable *spans[XPLANE_N_STEP_SOURCES]; /* gint64 number -> struct span, owned */
	GArray *regions;			  /* struct region */
	gboolean has_line;			  /* a plane before this one had a line */
};

struct xplane_steps *xplane_steps_new(void)
{
	struct xplane_steps *steps = g_new0(struct xplane_steps, 1);

	for (guint i = 0; i < XPLANE_N_STEP_SOURCES; i++)
		steps->spans[i] = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	steps->regions = g_array_new(FALSE, FALSE, sizeof(struct region));
	return steps;
}

void xplane_steps_free(struct xplane_steps *steps)
{
	for (guint i = 0; i < XPLANE_N_STEP_SOURCES; i++)
		g_hash_table_unref(steps->spans[i]);
	g_array_unref(steps->regions);
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

void xplane_steps_add_annotated(struct xplane_steps *steps, guint32 thread, gint64 number,
				gint64 start_ns, gint64 duration_ns)
{
	struct region region = { .span = { number, start_ns, 0 }, .thread = thread };

	if (number >= 0 && number <= G_MAXUINT32 &&
	    !__builtin_add_overflow(start_ns, duration_ns, &region.span.end_ns))
		g_array_append_val(steps->regions, region);
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

static gint compare_in_thread(gconstpointer a, gconstpointer b)
{
	const struct region *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return compare_spans(&x->span, &y->span);
}

/* By what they are of, and then as they came. */
static gint compare_rounds(gconstpointer a, gconstpointer b)
{
	const struct region *x = a, *y = b;

	if (x->round != y->round)
		return x->round < y->round ? -1 : 1;
	if (x->span.number != y->span.number)
		return x->span.number < y->span.number ? -1 : 1;
	return compare_spans(&x->span, &y->span);
}

static void count_rounds(GArray *regions)
{
	struct region *before = NULL;

	g_array_sort(regions, compare_in_thread);
	FOR_EACH(struct region, region, regions) {
		if (before && before->thread == region->thread)
			region->round = before->round + (region->span.number < before->span.number);
		before = region;
	}
}

/* The regions' steps, by time: threads may each have a part of one. Numbers of a round go on behind those of the one before. */
static void add_annotated(GArray *sorted, GArray *regions)
{
	gint64 round = 0, add = 0, last = 0;

	count_rounds(regions);
	g_array_sort(regions, compare_rounds);
	FOR_EACH(const struct region, region, regions) {
		struct span span = region->span, *before = NULL;

		if (sorted->len)
			before = &g_array_index(sorted, struct span, sorted->len - 1);
		if (region->round != round)
			add = last + 1 - span.number;
		round = region->round;
		span.number = last = span.number + add;
		if (before && before->number == span.number)
			before->end_ns = MAX(before->end_ns, span.end_ns);
		else
			g_array_append_val(sorted, span);
	}
	g_array_sort(sorted, compare_spans);
}

static GArray *sorted_spans(const struct xplane_steps *steps)
{
	GArray *sorted = g_array_new(FALSE, FALSE, sizeof(struct span));

	if (steps->regions->len) {
		add_annotated(sorted, steps->regions);
		return sorted;
	}
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
