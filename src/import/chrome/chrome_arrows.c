#include "import/chrome/chrome_arrows.h"

#include <stdlib.h>

#include "base/order.h"
#include "base/partition_point.h"
#include "import/chrome/chrome_trace.h"

enum {
	MAX_STEPS_BACK = 256, /* slices that are passed over on the way to one that is open */
};

struct point {
	gint64 time_ns, id;
	guint32 category, name, thread;
	gchar phase;
	gboolean is_enclosing;
};

struct chrome_arrows {
	struct row_buffer points;
};

struct chrome_arrows *chrome_arrows_new(void)
{
	return g_new0(struct chrome_arrows, 1);
}

void chrome_arrows_free(struct chrome_arrows *arrows)
{
	if (!arrows)
		return;
	row_buffer_release(&arrows->points);
	g_free(arrows);
}

void chrome_arrows_add(struct chrome_arrows *arrows, const struct chrome_event *event,
		       guint32 thread)
{
	struct point *point = row_buffer_add(&arrows->points, sizeof(*point));

	if (point)
		*point = (struct point){ .time_ns = event->time_ns,
					 .id = event->id,
					 .category = event->category,
					 .name = event->name,
					 .thread = thread,
					 .phase = event->phase,
					 .is_enclosing = event->is_enclosing };
}

/* (1) */
static gint compare_chains(const struct point *a, const struct point *b)
{
	return ORDER(a->id, b->id) ?: ORDER(a->name, b->name) ?: ORDER(a->category, b->category);
}

static gint rank_of_phase(gchar phase)
{
	return phase == 's' ? 0 : phase == 't' ? 1 : 2;
}

static gint compare_points(gconstpointer first, gconstpointer second)
{
	const struct point *a = first, *b = second;
	gint order = compare_chains(a, b);

	if (order)
		return order;
	return ORDER(a->time_ns, b->time_ns) ?: rank_of_phase(a->phase) - rank_of_phase(b->phase);
}

/* The first row of the thread that begins after `time_ns`, or the end of the thread's rows. */
static gsize find_later(struct chrome_row *const *rows, gsize n, guint32 thread, gint64 time_ns)
{
	return PARTITION_POINT(i, 0, n,
			       rows[i]->thread < thread ||
				       (rows[i]->thread == thread && rows[i]->start_ns <= time_ns));
}

/* (2) */
static guint32 find_slice(struct chrome_row *const *rows, gsize n, const struct point *point)
{
	gsize later = find_later(rows, n, point->thread, point->time_ns);
	gboolean is_next = point->phase == 'f' && !point->is_enclosing;

	for (gsize i = later, steps = 0; i-- > 0 && steps < MAX_STEPS_BACK; steps++) {
		const struct chrome_row *row = rows[i];
		gint64 since_ns;

		if (row->thread != point->thread)
			break;
		since_ns = point->time_ns - row->start_ns; /* later rows begin after it */
		if (is_next ? since_ns == 0 : since_ns <= MAX(row->duration_ns, 0))
			return row->slice;
		if (is_next)
			break;
	}
	if (is_next && later < n && rows[later]->thread == point->thread)
		return rows[later]->slice;
	return TACHO_NONE;
}

void chrome_arrows_resolve(struct chrome_arrows *arrows, TachoTimeline *timeline,
			   struct chrome_row *const *rows, gsize n_rows)
{
	struct point *points = arrows->points.rows;
	guint32 last = TACHO_NONE;
	guint64 n_loose = 0;

	if (arrows->points.n)
		qsort(points, arrows->points.n, sizeof(*points), compare_points);
	for (gsize i = 0; i < arrows->points.n; i++) {
		guint32 slice = find_slice(rows, n_rows, &points[i]);
		TachoFlow flow = {
			.from = last, .to = slice, .kind = TACHO_FLOW_OTHER, .is_exact = TRUE
		};

		if (points[i].phase == 's' || (i && compare_chains(&points[i - 1], &points[i])))
			flow.from = TACHO_NONE;
		n_loose += slice == TACHO_NONE;
		if (slice == TACHO_NONE) {
			last = flow.from;
			continue;
		}
		if (flow.from != TACHO_NONE && flow.from != slice)
			g_array_append_val(timeline->flows, flow);
		last = slice;
	}
	if (n_loose)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD, n_loose,
					   "ends of arrows without a slice at that time");
}
