/* what_if_loader: data loading that takes longer or shorter, or is done by more workers.
 *
 * A thread that reads its batches itself spends what its loader takes: that scales. One that waits for workers
 * does not show how long they take, but how often a batch is ready. While it waits for most of them, the workers
 * are what the job goes by: they make a batch in the time from one to the next, and the wait is what the rest of the
 * step leaves of it. So with T the time of a rank's steps, w what it waits in them and b = T - w the rest, loading
 * that takes F times as long leaves max(0, F T - b) to wait for. N workers in the place of one thread that reads for
 * w leave max(0, w / N - b); in the place of W workers, F is W / N.
 *
 * (1) The mean counts: W workers often have W batches ready at about the same time, then none, and each wait is made
 *     longer or shorter in the same proportion.
 * (2) Workers that keep up hide how long they take. Faster loading is then worth nothing, slower is refused. */
#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/time_units.h"
#include "edit/rank_choice.h"
#include "edit/change_internal.h"
#include "trace/data_loading.h"
#include "trace/none_rows.h"
#include "trace/rank_table.h"

/* The workers of a rank, at most.
 * Source: a rule: more than hosts have. If wrong, more are refused. */
#define MAX_WORKERS 65536
/* A batch that is ready takes a moment to fetch, too; a rank that waits for less than this of its steps is not
 * held up by its loader.
 * Source: a rule: below, the wait is of the order of what fetching takes. If wrong, a rank that is held up a little is said not to
 * be, so that faster loading gains it nothing, or slower loading is predicted from a wait that was none. */
#define LEAST_WAIT_SHARE 0.05

/* Data loading of a rank of the timeline. */
struct rank_loader {
	enum data_loading by;
	gint64 from_ns, to_ns;	 /* its steps */
	gdouble steps_ns;	 /* T, in the recording */
	gdouble recorded_ns;	 /* w, in the recording */
	gdouble now_ns;		 /* w, as what-ifs before have left it, of one copy of the rank */
	guint32 n_workers;	 /* that were recorded; 0: none */
	gdouble factor;		 /* of its waits ... */
	enum node_origin origin; /* ... and where that comes from */
};

struct loaders {
	TachoGraph *graph;
	struct rank_loader *ranks; /* of the timeline */
	guint8 *is_loading;	   /* of each slice: it is one, or within one */
};

/* --- what was recorded ------------------------------------------------------------------------ */

/* The rank of the timeline that the node is of, or of a copy of it; TACHO_NONE: it is no data loading. */
static guint32 rank_of_node(const struct loaders *loaders, const struct graph_node *node)
{
	guint32 track = graph_lane_at(loaders->graph, node->lane)->track;

	if (node->kind == TACHO_NODE_REMOVED || node->slice == TACHO_NONE || track == TACHO_NONE ||
	    graph_lane_is_stream(loaders->graph, graph_lane_at(loaders->graph, node->lane)) ||
	    !loaders->is_loading[node->slice])
		return TACHO_NONE;
	return rank_index_of_main(loaders->graph->timeline, track);
}

static void measure_steps(struct loaders *loaders)
{
	const TachoTimeline *timeline = loaders->graph->timeline;

	for (guint i = 0; i < timeline->ranks->len; i++) {
		struct rank_loader *rank = &loaders->ranks[i];

		rank->from_ns = timeline->steps->len ? G_MAXINT64 : G_MININT64;
		rank->to_ns = timeline->steps->len ? G_MININT64 : G_MAXINT64;
		rank->steps_ns = timeline->steps->len ? 0 : (gdouble)loaders->graph->whole_ns;
	}
	FOR_EACH(const TachoStep, step, timeline->steps) {
		struct rank_loader *rank = &loaders->ranks[step->rank_index];

		if (!step->is_complete ||
		    graph_step_index(loaders->graph, step->number) == TACHO_NONE)
			continue;
		rank->from_ns = MIN(rank->from_ns, step->start_ns);
		rank->to_ns = MAX(rank->to_ns, step->end_ns);
		rank->steps_ns += (gdouble)(step->end_ns - step->start_ns);
	}
}

static void measure_slice(struct loaders *loaders, guint32 slice, enum data_loading by)
{
	const TachoSlices *slices = &loaders->graph->timeline->slices;
	guint32 index = rank_index_of_main(loaders->graph->timeline, slices->track[slice]);
	struct rank_loader *rank;

	if (index == TACHO_NONE)
		return;
	rank = &loaders->ranks[index];
	if (slices->start_ns[slice] < rank->from_ns || slices->start_ns[slice] >= rank->to_ns)
		return;
	rank->recorded_ns += (gdouble)slices->duration_ns[slice];
	if (rank->by != DATA_LOADING_WORKERS)
		rank->by = by;
}

/* Parents stand before their children. */
static void measure_slices(struct loaders *loaders)
{
	const TachoTimeline *timeline = loaders->graph->timeline;
	const guint32 *parents = timeline->slices.parent;

	loaders->is_loading = g_new0(guint8, MAX(timeline->slices.n, 1u));
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		enum data_loading by;

		if (parents[i] != TACHO_NONE && parents[i] < i && loaders->is_loading[parents[i]]) {
			loaders->is_loading[i] = 1;
			continue;
		}
		by = data_loading_of(timeline, i);
		if (by == DATA_LOADING_NONE)
			continue;
		loaders->is_loading[i] = 1;
		measure_slice(loaders, i, by);
	}
}

/* What the waits take now, after the what-ifs before: of the first copy of a rank, if it has some. */
static void measure_nodes(struct loaders *loaders)
{
	const TachoGraph *graph = loaders->graph;
	g_autofree guint32 *copies = none_rows_new(graph->timeline->ranks->len);

	FOR_EACH(const struct graph_node, node, graph->nodes) {
		guint32 rank = rank_of_node(loaders, node), copy;

		if (rank == TACHO_NONE || (graph->steps->len && node->step == TACHO_NONE))
			continue;
		copy = graph_lane_at(graph, node->lane)->rank_index;
		if (copies[rank] == TACHO_NONE)
			copies[rank] = copy;
		if (copies[rank] == copy)
			loaders->ranks[rank].now_ns += (gdouble)node->duration_ns;
	}
}

/* The rank's other processes that were alive at a time, the most. */
static guint32 count_workers(const TachoTimeline *timeline, guint32 rank)
{
	g_autoptr(GArray) ends_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GArray) starts_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
	guint32 n = 0, most = 0, ended = 0;

	FOR_EACH(const TachoProcess, process, timeline->processes) {
		if (process->is_main || process->rank_index != rank)
			continue;
		g_array_append_val(starts_ns, process->start_ns);
		g_array_append_val(ends_ns, process->end_ns);
	}
	g_array_sort(starts_ns, order_int64);
	g_array_sort(ends_ns, order_int64);
	for (guint i = 0; i < starts_ns->len; i++) {
		for (;
		     g_array_index(ends_ns, gint64, ended) <= g_array_index(starts_ns, gint64, i) &&
		     ended < i;
		     ended++)
			n--;
		n++;
		most = MAX(most, n);
	}
	return most;
}

/* Where the recording does not tell by whom batches are read, other processes of the rank are workers. */
static void find_workers(struct loaders *loaders)
{
	const TachoTimeline *timeline = loaders->graph->timeline;

	for (guint32 i = 0; i < timeline->ranks->len; i++) {
		struct rank_loader *rank = &loaders->ranks[i];

		rank->factor = 1;
		rank->origin = ORIGIN_SCALED;
		if (rank->by == DATA_LOADING_NONE || rank->by == DATA_LOADING_INLINE)
			continue;
		rank->n_workers = count_workers(timeline, i);
		if (rank->by == DATA_LOADING_UNKNOWN)
			rank->by = rank->n_workers ? DATA_LOADING_WORKERS : DATA_LOADING_INLINE;
	}
}

static gboolean loaders_init(struct loaders *loaders, TachoGraph *graph,
			     const struct change *change, GError **error)
{
	gboolean is_any = FALSE;

	*loaders = (struct loaders){ .graph = graph };
	loaders->ranks = g_new0(struct rank_loader, MAX(graph->timeline->ranks->len, 1u));
	measure_steps(loaders);
	measure_slices(loaders);
	measure_nodes(loaders);
	find_workers(loaders);
	for (guint i = 0; i < graph->timeline->ranks->len; i++)
		is_any |= loaders->ranks[i].by != DATA_LOADING_NONE;
	return is_any || change_refuse(error, change,
				       "the steps have no recorded data loading (waits for a "
				       "DataLoader, or PyTorch's enumerate(DataLoader))");
}

static void loaders_release(struct loaders *loaders)
{
	g_free(loaders->ranks);
	g_free(loaders->is_loading);
}

/* --- what becomes of it ----------------------------------------------------------------------- */

/* The part of its steps' time that is not data loading. */
static gdouble busy_ns(const struct rank_loader *rank)
{
	return MAX(rank->steps_ns - rank->recorded_ns, 0);
}

static gboolean is_held_up(const struct rank_loader *rank)
{
	return rank->now_ns >= LEAST_WAIT_SHARE * (busy_ns(rank) + rank->now_ns);
}

static void leave_wait(struct rank_loader *rank, gdouble wait_ns)
{
	rank->factor = rank->now_ns > 0 ? MAX(wait_ns, 0) / rank->now_ns : 1;
	rank->origin = ORIGIN_MODELLED;
}

static void apply(struct loaders *loaders, const struct rank_choice *ranks)
{
	TachoGraph *graph = loaders->graph;

	FOR_EACH(struct graph_node, node, graph->nodes) {
		guint32 rank = rank_of_node(loaders, node);

		if (rank != TACHO_NONE && (!ranks || rank_choice_has_node(ranks, graph, node)))
			graph_change_duration(node,
					      rounded_ns((gdouble)node->duration_ns *
							 loaders->ranks[rank].factor),
					      loaders->ranks[rank].origin);
	}
}

/* Whether any copy of the rank of the timeline is of the choice. */
static guint8 *find_chosen(const struct loaders *loaders, const struct rank_choice *ranks)
{
	const TachoGraph *graph = loaders->graph;
	guint8 *is_chosen = g_new0(guint8, MAX(graph->timeline->ranks->len, 1u));

	FOR_EACH(const struct graph_lane, lane, graph->lanes) {
		guint32 rank = lane->track == TACHO_NONE
				       ? TACHO_NONE
				       : rank_index_of_main(graph->timeline, lane->track);

		if (rank != TACHO_NONE && lane->rank_index != TACHO_NONE &&
		    rank_choice_has(ranks, lane->rank_index))
			is_chosen[rank] = loaders->ranks[rank].by != DATA_LOADING_NONE;
	}
	return is_chosen;
}

/* FALSE: what the workers take is hidden, and matters. */
static gboolean scale_rank(struct rank_loader *rank, gdouble factor)
{
	if (factor == 0 || rank->by == DATA_LOADING_INLINE) {
		rank->factor = factor;
		return TRUE;
	}
	if (!is_held_up(rank))
		return factor <= 1;
	leave_wait(rank, factor * (busy_ns(rank) + rank->now_ns) - busy_ns(rank));
	return TRUE;
}

static gboolean refuse_hidden(const TachoGraph *graph, const struct change *change, guint32 rank,
			      GError **error)
{
	return change_refuse(error, change,
			     "the workers of rank %d keep up with it, so their time for a batch is "
			     "not known, and slower loading cannot be predicted",
			     tacho_timeline_rank(graph->timeline, rank)->rank);
}

static gboolean scale_chosen(struct loaders *loaders, const struct change *change,
			     const guint8 *is_chosen, gdouble factor, GError **error)
{
	TachoGraph *graph = loaders->graph;
	gboolean is_any = FALSE, has_workers = FALSE;

	for (guint32 i = 0; i < graph->timeline->ranks->len; i++) {
		struct rank_loader *rank = &loaders->ranks[i];

		if (!is_chosen[i])
			continue;
		is_any = TRUE;
		has_workers |= rank->by == DATA_LOADING_WORKERS;
		if (!scale_rank(rank, factor))
			return refuse_hidden(graph, change, i, error);
	}
	if (!is_any)
		return change_refuse(error, change, "these ranks load no data in the steps");
	if (has_workers && factor > 0 && factor != 1)
		graph_note(graph, "workers load the data; while a rank waits for them, they are "
				  "assumed to be busy all the time");
	return TRUE;
}

gboolean change_scale_loader(TachoGraph *graph, const struct change *change,
			     const struct rank_choice *ranks, gdouble factor, GError **error)
{
	struct loaders loaders;
	g_autofree guint8 *is_chosen = NULL;
	gboolean is_done = loaders_init(&loaders, graph, change, error);

	if (is_done) {
		is_chosen = find_chosen(&loaders, ranks);
		is_done = scale_chosen(&loaders, change, is_chosen, factor, error);
	}
	if (is_done)
		apply(&loaders, ranks);
	loaders_release(&loaders);
	return is_done;
}

void change_load_batches(TachoGraph *graph, gdouble factor)
{
	struct loaders loaders;

	if (loaders_init(&loaders, graph, NULL, NULL)) {
		for (guint32 i = 0; i < graph->timeline->ranks->len; i++)
			loaders.ranks[i].factor = factor;
		apply(&loaders, NULL);
	}
	loaders_release(&loaders);
}

/* --- workers ---------------------------------------------------------------------------------- */

/* What a batch takes one thread is hidden, or was read by nobody knows how many. NULL: the rank is changed. */
static const gchar *change_workers(struct rank_loader *rank, guint32 n, guint32 said)
{
	guint32 recorded = said != G_MAXUINT32 ? said : rank->n_workers;
	gdouble alone_ns = rank->now_ns; /* of one thread that reads all batches */

	if (rank->by == DATA_LOADING_INLINE) {
		if (said != G_MAXUINT32)
			return "the recording shows that a thread reads its batches itself, "
			       "without "
			       "workers; leave the recorded number out";
		if (n > 0)
			leave_wait(rank, alone_ns / n - busy_ns(rank));
		return NULL;
	}
	if (recorded == 0)
		return "the number of workers was not recorded; name it, as in workers=8:4 for 8 "
		       "instead of 4";
	if (n == recorded)
		return NULL;
	if (!is_held_up(rank))
		return n > recorded ? NULL
				    : "the workers keep up, so their time for a batch is not "
				      "known, and the effect of fewer workers cannot be predicted";
	alone_ns = recorded * (busy_ns(rank) + rank->now_ns);
	leave_wait(rank, n == 0 ? alone_ns : alone_ns / n - busy_ns(rank));
	return NULL;
}

gboolean parse_workers(struct change *change, const gchar *text, GError **error)
{
	const gchar *colon = strchr(text, ':');
	g_autofree gchar *first = colon ? g_strndup(text, (gsize)(colon - text)) : g_strdup(text);

	change->value.n_recorded = G_MAXUINT32;
	if (!quantity_parse_count(first, 0, MAX_WORKERS, &change->value.n_workers) ||
	    (colon && !quantity_parse_count(colon + 1, 1, MAX_WORKERS, &change->value.n_recorded)))
		return change_refuse(error, change,
				     "write workers=N or workers=N:RECORDED, with N from 0 to %u",
				     MAX_WORKERS);
	return TRUE;
}

gboolean apply_workers(TachoGraph *graph, const struct change *change, GError **error)
{
	struct loaders loaders;
	gboolean is_done = loaders_init(&loaders, graph, change, error);

	for (guint32 i = 0; is_done && i < graph->timeline->ranks->len; i++) {
		const gchar *why =
			loaders.ranks[i].by == DATA_LOADING_NONE
				? NULL
				: change_workers(&loaders.ranks[i], change->value.n_workers,
						 change->value.n_recorded);

		if (why)
			is_done = change_refuse(error, change, "%s", why);
	}
	if (is_done) {
		apply(&loaders, NULL);
		graph_note(graph, "each worker is assumed to have a core of its own, and to read "
				  "batches in any order, so N workers read N times as many as one");
	}
	loaders_release(&loaders);
	return is_done;
}
