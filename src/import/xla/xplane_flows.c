#include "import/xla/xplane_flows.h"

#include "base/for_each.h"
#include "base/partition_point.h"
#include "trace/launch_index.h"

/* A slice that something else made begin: by a call with that id, or by a context. */
struct taker {
	gint64 id, start_ns;
	guint32 row;
};

struct module {
	gint64 start_ns, end_ns;
	guint32 row;
};

/* An operation and the program it is part of. */
struct part {
	guint32 row, module;
};

struct work {
	gint64 start_ns;
	guint32 row;
};

struct xplane_flows {
	TachoTimeline *timeline;
	struct launch_index *calls;  /* by correlation id */
	struct launch_index *givers; /* by context */
	GArray *launched;	     /* struct taker */
	GArray *takers;		     /* struct taker */
	GArray *modules;	     /* struct module, of this plane */
	GArray *work;		     /* struct work, of this plane */
	GArray *parts;		     /* struct part */
};

struct xplane_flows *xplane_flows_new(TachoTimeline *timeline)
{
	struct xplane_flows *flows = g_new0(struct xplane_flows, 1);

	flows->timeline = timeline;
	flows->calls = launch_index_new();
	flows->givers = launch_index_new();
	flows->launched = g_array_new(FALSE, FALSE, sizeof(struct taker));
	flows->takers = g_array_new(FALSE, FALSE, sizeof(struct taker));
	flows->modules = g_array_new(FALSE, FALSE, sizeof(struct module));
	flows->work = g_array_new(FALSE, FALSE, sizeof(struct work));
	flows->parts = g_array_new(FALSE, FALSE, sizeof(struct part));
	return flows;
}

void xplane_flows_free(struct xplane_flows *flows)
{
	launch_index_free(flows->calls);
	launch_index_free(flows->givers);
	g_array_unref(flows->launched);
	g_array_unref(flows->takers);
	g_array_unref(flows->modules);
	g_array_unref(flows->work);
	g_array_unref(flows->parts);
	g_free(flows);
}

/* Contexts are a type and an id of it. */
static gint64 context_of(const struct xplane_stats *stats, enum xplane_stat type,
			 enum xplane_stat id)
{
	return (gint64)(stats->numbers[id] ^
			stats->numbers[type] * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15));
}

void xplane_flows_note(struct xplane_flows *flows, guint32 row, TachoSliceKind kind,
		       gint64 start_ns, const struct xplane_stats *stats)
{
	struct taker taker = { .start_ns = start_ns, .row = row };

	if (xplane_stats_have(stats, XPLANE_STAT_CORRELATION)) {
		taker.id = (gint64)stats->numbers[XPLANE_STAT_CORRELATION];
		if (kind == TACHO_SLICE_RUNTIME)
			launch_index_add(flows->calls, taker.id, start_ns, row);
		else if (taker.id) /* 0: none */
			g_array_append_val(flows->launched, taker);
	}
	if (xplane_stats_have(stats, XPLANE_STAT_PRODUCER))
		launch_index_add(flows->givers,
				 context_of(stats, XPLANE_STAT_PRODUCER_TYPE, XPLANE_STAT_PRODUCER),
				 start_ns, row);
	if (xplane_stats_have(stats, XPLANE_STAT_CONSUMER)) {
		taker.id = context_of(stats, XPLANE_STAT_CONSUMER_TYPE, XPLANE_STAT_CONSUMER);
		g_array_append_val(flows->takers, taker);
	}
}

void xplane_flows_add_module(struct xplane_flows *flows, guint32 row, gint64 start_ns,
			     gint64 duration_ns)
{
	struct module module = { .start_ns = start_ns, .row = row };

	if (__builtin_add_overflow(start_ns, duration_ns, &module.end_ns))
		module.end_ns = G_MAXINT64;
	g_array_append_val(flows->modules, module);
}

void xplane_flows_add_work(struct xplane_flows *flows, guint32 row, gint64 start_ns)
{
	struct work work = { start_ns, row };

	g_array_append_val(flows->work, work);
}

static gint compare_modules(gconstpointer a, gconstpointer b)
{
	const struct module *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The last module that had begun, if it had not ended. */
static const struct module *find_module(const GArray *modules, gint64 time_ns)
{
	const struct module *module =
		LAST_BEFORE(modules, struct module, row, row->start_ns <= time_ns);

	return module && time_ns <= module->end_ns ? module : NULL;
}

void xplane_flows_end_plane(struct xplane_flows *flows)
{
	g_array_sort(flows->modules, compare_modules);
	FOR_EACH(const struct work, work, flows->work) {
		const struct module *module = find_module(flows->modules, work->start_ns);
		struct part part = { .row = work->row };

		if (!module)
			continue;
		part.module = module->row;
		g_array_append_val(flows->parts, part);
	}
	g_array_set_size(flows->modules, 0);
	g_array_set_size(flows->work, 0);
}

static void link_launched(struct xplane_flows *flows)
{
	FOR_EACH(const struct taker, taker, flows->launched) {
		guint32 call = launch_index_find(flows->calls, taker->id, taker->start_ns);

		if (call != TACHO_NONE)
			tacho_timeline_set_launch(flows->timeline, taker->row, call);
	}
}

static gboolean is_on_device(const TachoTimeline *timeline, guint32 row)
{
	return tacho_timeline_track(timeline, timeline->slices.track[row])->kind ==
	       TACHO_TRACK_STREAM;
}

/* A context is given before it is taken. */
static void link_takers(struct xplane_flows *flows)
{
	TachoTimeline *timeline = flows->timeline;

	FOR_EACH(const struct taker, taker, flows->takers) {
		guint32 giver = launch_index_find(flows->givers, taker->id, taker->start_ns);
		TachoFlow flow = { .to = taker->row, .kind = TACHO_FLOW_OTHER, .is_exact = TRUE };

		if (giver == TACHO_NONE || giver == taker->row ||
		    timeline->slices.start_ns[giver] > taker->start_ns)
			continue;
		flow.from = giver;
		if (!is_on_device(timeline, taker->row))
			g_array_append_val(timeline->flows, flow);
		else if (timeline->slices.launch[taker->row] == TACHO_NONE)
			tacho_timeline_set_launch(timeline, taker->row, giver);
	}
}

void xplane_flows_link(struct xplane_flows *flows)
{
	const TachoSlices *slices = &flows->timeline->slices;

	link_launched(flows);
	link_takers(flows);
	FOR_EACH(const struct part, part, flows->parts)
		if (slices->launch[part->module] != TACHO_NONE &&
		    slices->launch[part->row] == TACHO_NONE)
			tacho_timeline_set_launch(flows->timeline, part->row,
						  slices->launch[part->module]);
}
