#include "graph/traffic.h"

#include "base/for_each.h"
#include "base/interval_set.h"
#include "base/order.h"

enum moment_kind { TRANSFER_BEGINS, TRANSFER_ENDS, RANK_COMPUTES, RANK_RESTS };

struct moment {
	gint64 time_ns;
	guint32 what; /* transfer, or index of a rank */
	enum moment_kind kind;
};

struct traffic {
	const TachoGraph *graph;
	GArray *moments; /* struct moment, in order of time */
	guint32 *
		first_group; /* of rank r: groups[first_group[r]] up to groups[first_group[r + 1]] */
	guint32 *groups;
};

/* What is under way at a moment. */
struct scene {
	GArray *active;		 /* guint32, transfers */
	struct link_load *loads; /* graph_n_loads() */
	guint32 *n_of_group;	 /* transfers of each group */
	guint32 *n_computing;	 /* ranks of each group */
};

/* --- when ranks computed ---------------------------------------------------------------------- */

gboolean traffic_tells(const struct graph_group *group)
{
	return group->wire_ns_per_byte > 0 && !group->is_device && !group->is_hops;
}

static gboolean tells_anything(const TachoGraph *graph)
{
	FOR_EACH(const struct graph_group, group, graph->groups)
		if (traffic_tells(group))
			return TRUE;
	return FALSE;
}

/* The groups that each rank comes to. */
static void list_groups(struct traffic *traffic, const struct graph_builder *builder)
{
	const TachoGraph *graph = traffic->graph;
	guint32 n_groups = graph->groups->len, n = 0;
	g_autofree guint8 *is_of = g_new0(guint8, MAX((gsize)builder->n_ranks * n_groups, 1u));

	FOR_EACH(const struct build_member, member, builder->members)
		is_of[(gsize)member->rank_index * n_groups +
		      graph_transfer_at(graph, member->transfer)->group] = 1;
	traffic->first_group = g_new0(guint32, (gsize)builder->n_ranks + 1);
	traffic->groups = g_new(guint32, MAX((gsize)builder->n_ranks * n_groups, 1u));
	for (guint32 rank = 0; rank < builder->n_ranks; rank++) {
		for (guint32 group = 0; group < n_groups; group++)
			if (is_of[(gsize)rank * n_groups + group] &&
			    traffic_tells(graph_group_at(graph, group)))
				traffic->groups[n++] = group;
		traffic->first_group[rank + 1] = n;
	}
}

static void add_moment(struct traffic *traffic, gint64 time_ns, guint32 what, enum moment_kind kind)
{
	struct moment moment = { time_ns, what, kind };

	g_array_append_val(traffic->moments, moment);
}

/* Threads' pieces that follow each other at once are one time of computing, as in the replay. */
static void add_computing(struct traffic *traffic, const struct graph_builder *builder)
{
	const TachoGraph *graph = traffic->graph;
	g_autofree struct interval_set *sets =
		g_new(struct interval_set, MAX(builder->n_ranks, 1u));

	for (guint32 rank = 0; rank < builder->n_ranks; rank++)
		interval_set_init(&sets[rank]);
	FOR_EACH(const struct graph_node, node, graph->nodes) {
		guint32 rank = graph_lane_at(graph, node->lane)->rank_index;

		if (graph_is_computing(node) && rank < builder->n_ranks)
			interval_set_add(&sets[rank], node->begin_ns,
					 node->begin_ns + node->duration_ns);
	}
	for (guint32 rank = 0; rank < builder->n_ranks; rank++) {
		interval_set_normalize(&sets[rank]);
		FOR_EACH(const struct interval, interval, sets[rank].intervals) {
			add_moment(traffic, interval->begin_ns + graph->origin_ns, rank,
				   RANK_COMPUTES);
			add_moment(traffic, interval->end_ns + graph->origin_ns, rank, RANK_RESTS);
		}
		interval_set_release(&sets[rank]);
	}
}

/* --- the moments ------------------------------------------------------------------------------ */

static gint compare_moments(gconstpointer a, gconstpointer b)
{
	const struct moment *x = a, *y = b;

	return ORDER(x->time_ns,
		     y->time_ns); /* at one moment nothing moves, whatever comes first */
}

struct traffic *traffic_new(const struct graph_builder *builder)
{
	struct traffic *traffic = g_new0(struct traffic, 1);
	const TachoGraph *graph = builder->graph;

	traffic->graph = graph;
	traffic->moments = g_array_new(FALSE, FALSE, sizeof(struct moment));
	FOR_EACH_AT(const struct graph_transfer, transfer, i, graph->transfers) {
		if (transfer->end_ns <= transfer->begin_ns || transfer->is_unfolded)
			continue;
		add_moment(traffic, transfer->begin_ns, i, TRANSFER_BEGINS);
		add_moment(traffic, transfer->end_ns, i, TRANSFER_ENDS);
	}
	if (traffic->moments->len > 0 && tells_anything(graph)) {
		list_groups(traffic, builder);
		add_computing(traffic, builder);
	}
	g_array_sort(traffic->moments, compare_moments);
	return traffic;
}

void traffic_free(struct traffic *traffic)
{
	if (!traffic)
		return;
	g_array_unref(traffic->moments);
	g_free(traffic->first_group);
	g_free(traffic->groups);
	g_free(traffic);
}

/* --- passing over them ------------------------------------------------------------------------ */

static void pass_time(const TachoGraph *graph, const struct scene *scene, gint64 elapsed_ns,
		      struct moved *moved)
{
	for (guint i = 0; i < scene->active->len; i++) {
		guint32 index = g_array_index(scene->active, guint32, i);
		const struct graph_transfer *transfer = graph_transfer_at(graph, index);
		gboolean is_beside = scene->n_computing[transfer->group] > 0;
		gdouble waits_ns =
			transfer->fixed_ns + (is_beside ? graph_core_wait_ns(graph, transfer) : 0);
		gdouble done_ns =
			(gdouble)elapsed_ns *
			graph_transfer_pace(waits_ns, transfer->work_ns,
					    graph_n_sharing(graph, transfer, scene->loads,
							    scene->n_of_group[transfer->group]));

		moved[index].work_ns += done_ns;
		if (is_beside)
			moved[index].beside_ns += done_ns;
	}
}

static void remove_active(GArray *active, guint32 transfer)
{
	for (guint i = 0; i < active->len; i++)
		if (g_array_index(active, guint32, i) == transfer) {
			g_array_remove_index(active, i);
			return;
		}
}

static void change_load(const TachoGraph *graph, struct scene *scene, guint32 index, gint change)
{
	const struct graph_transfer *transfer = graph_transfer_at(graph, index);

	scene->n_of_group[transfer->group] += (guint32)change;
	graph_change_load(graph, transfer, change, scene->loads);
	if (change > 0)
		g_array_append_val(scene->active, index);
	else
		remove_active(scene->active, index);
}

static void change_computing(const struct traffic *traffic, struct scene *scene, guint32 rank,
			     gint change)
{
	for (guint32 i = traffic->first_group[rank]; i < traffic->first_group[rank + 1]; i++)
		scene->n_computing[traffic->groups[i]] += (guint32)change;
}

static void pass_moment(const struct traffic *traffic, struct scene *scene,
			const struct moment *moment)
{
	if (moment->kind == TRANSFER_BEGINS || moment->kind == TRANSFER_ENDS)
		change_load(traffic->graph, scene, moment->what,
			    moment->kind == TRANSFER_BEGINS ? 1 : -1);
	else
		change_computing(traffic, scene, moment->what,
				 moment->kind == RANK_COMPUTES ? 1 : -1);
}

/* It is of a transfer that moves nothing. */
static gboolean is_idle(const TachoGraph *graph, const struct moment *moment)
{
	return (moment->kind == TRANSFER_BEGINS || moment->kind == TRANSFER_ENDS) &&
	       graph_transfer_at(graph, moment->what)->work_ns <= 0;
}

void traffic_find_moved(const struct traffic *traffic, struct moved *moved)
{
	const TachoGraph *graph = traffic->graph;
	guint n_groups = MAX(graph->groups->len, 1u);
	g_autoptr(GArray) active = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autofree struct link_load *loads = g_new0(struct link_load, graph_n_loads(graph));
	g_autofree guint32 *n_of_group = g_new0(guint32, n_groups);
	g_autofree guint32 *n_computing = g_new0(guint32, n_groups);
	struct scene scene = { active, loads, n_of_group, n_computing };
	gint64 at_ns = 0;

	for (guint32 i = 0; i < graph->transfers->len; i++)
		moved[i] = (struct moved){ 0, 0 };
	FOR_EACH(const struct moment, moment, traffic->moments) {
		if (is_idle(graph, moment))
			continue;
		pass_time(graph, &scene, moment->time_ns - at_ns, moved);
		at_ns = moment->time_ns;
		pass_moment(traffic, &scene, moment);
	}
}
