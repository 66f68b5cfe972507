#include "predict/path_shares.h"

#include <math.h>

#include "graph/rank_copies.h"
#include "predict/resource_name.h"
#include "predict/step_path.h"
#include "trace/none_rows.h"

/* Less of a node's time is nothing. Source: derived from times in whole nanoseconds: a begin and an end are each off by up
 * to half of one. */
#define ROUNDING_NS 1.0

static void clear_resource(gpointer resource)
{
	g_free(((struct resource *)resource)->name);
}

void path_shares_free(struct path_shares *paths)
{
	if (!paths)
		return;
	g_array_unref(paths->resources);
	g_array_unref(paths->shares);
	g_array_unref(paths->first);
	g_array_unref(paths->ranks);
	g_free(paths);
}

/* --- which resource a node is on ---------------------------------------------------------------- */

/* The steps of a replay while they are summed up. */
struct summing {
	const TachoReplay *replay;
	struct path_shares *paths;
	GHashTable *by_name; /* name -> resource + 1 */
	/* Resources known already, or TACHO_NONE: of what a lane does itself (HOST, DEVICE, LINK), and of its waits, launches
	 * and gaps; of a group. */
	guint32 *of_lane[N_RESOURCE_KINDS], *of_group;
	guint32 *place; /* of each resource: its share in the step, or TACHO_NONE */
	guint32 n_places;
};

/* Takes the name. */
static guint32 take_resource(struct summing *summing, enum resource_kind kind, gint32 rank,
			     gchar *name)
{
	GArray *resources = summing->paths->resources;
	gpointer known = g_hash_table_lookup(summing->by_name, name);
	struct resource resource = { kind, rank, name };

	if (known) {
		g_free(name);
		return GPOINTER_TO_UINT(known) - 1;
	}
	g_array_append_val(resources, resource);
	g_hash_table_insert(summing->by_name, name, GUINT_TO_POINTER(resources->len));
	return resources->len - 1;
}

static enum resource_kind kind_of(const TachoGraph *graph, const struct graph_node *node)
{
	const struct graph_lane *lane = graph_lane_at(graph, node->lane);

	switch ((TachoNodeKind)node->kind) {
	case TACHO_NODE_TRANSFER:
		return RESOURCE_LINK;
	case TACHO_NODE_START:
	case TACHO_NODE_WAIT:
		return RESOURCE_WAIT;
	case TACHO_NODE_LAUNCH:
		return RESOURCE_LAUNCH;
	case TACHO_NODE_GAP:
		return RESOURCE_GAP;
	case TACHO_NODE_PART:
		if (lane->track == TACHO_NONE) /* drop:wait: the transfer, for this rank alone */
			return RESOURCE_LINK;
		break;
	default:
		break;
	}
	return graph_lane_is_stream(graph, lane) ? RESOURCE_DEVICE : RESOURCE_HOST;
}

static guint32 new_lane_resource(struct summing *summing, enum resource_kind kind,
				 const struct graph_lane *lane)
{
	static const gchar *const of_ranks[N_RESOURCE_KINDS] = {
		[RESOURCE_LINK] = "links alone",
		[RESOURCE_WAIT] = "waits",
		[RESOURCE_LAUNCH] = "launches",
		[RESOURCE_GAP] = "gaps",
	};
	const TachoGraph *graph = summing->replay->graph;
	gint32 rank = lane->rank_index < graph_n_own_ranks(graph)
			      ? rank_copies_number(graph, lane->rank_index)
			      : -1;

	if (rank < 0)
		return take_resource(summing, kind, -1, g_strdup("other jobs"));
	if (of_ranks[kind])
		return take_resource(summing, kind, rank,
				     g_strdup_printf("rank %d %s", rank, of_ranks[kind]));
	return take_resource(summing, kind, rank, resource_name_of_lane(graph, lane));
}

static guint32 resource_of(struct summing *summing, const struct graph_node *node)
{
	const TachoGraph *graph = summing->replay->graph;
	enum resource_kind kind = kind_of(graph, node);
	guint32 *known;

	if (node->kind == TACHO_NODE_TRANSFER) {
		guint32 group = graph_transfer_at(graph, node->transfer)->group;

		known = &summing->of_group[group];
		if (*known == TACHO_NONE)
			*known = take_resource(summing, kind, -1,
					       resource_name_of_group(graph, group));
		return *known;
	}
	known = &summing->of_lane[kind][node->lane];
	if (*known == TACHO_NONE)
		*known = new_lane_resource(summing, kind, graph_lane_at(graph, node->lane));
	return *known;
}

/* --- where its time comes from ------------------------------------------------------------------ */

/* What each origin has of a node's time in the replay, into weights[N_ORIGINS]. */
static void weigh(const TachoReplay *replay, guint32 index, gdouble *weights)
{
	const TachoGraph *graph = replay->graph;
	const struct graph_node *node = graph_node_at(graph, index);
	enum node_origin of_sharing = ORIGIN_MODELLED;
	gdouble own_ns = (gdouble)graph->duration_ns[index];
	gdouble longer_ns = (gdouble)(replay->end_ns[index] - replay->begin_ns[index]) - own_ns;

	for (guint i = 0; i < N_ORIGINS; i++)
		weights[i] = 0;
	if (node->kind == TACHO_NODE_TRANSFER) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, node->transfer);
		const struct graph_group *group = graph_group_at(graph, transfer->group);

		weights[transfer->fixed_origin] += transfer->fixed_ns;
		weights[transfer->work_origin] += transfer->work_ns;
		if (group->is_device && !group->is_hops)
			of_sharing = ORIGIN_GUESSED;
	} else {
		weights[node->origin] += own_ns;
	}
	if (longer_ns >= ROUNDING_NS)
		weights[of_sharing] += longer_ns;
}

/* Add `time_ns` to the origins in proportion to their weights. */
static void divide(gint64 time_ns, const gdouble *weights, gint64 *ns)
{
	gdouble total = 0, sum = 0;
	gint64 given_ns = 0;
	guint last = 0;

	for (guint i = 0; i < N_ORIGINS; i++) {
		total += weights[i];
		if (weights[i] > 0)
			last = i;
	}
	for (guint i = 0; i < last; i++) {
		gint64 part_ns;

		sum += weights[i];
		part_ns = llround((gdouble)time_ns * (sum / total)) - given_ns;
		ns[i] += part_ns;
		given_ns += part_ns;
	}
	ns[last] += time_ns - given_ns;
}

static struct path_share *share_of(struct summing *summing, guint32 resource)
{
	GArray *shares = summing->paths->shares;
	struct path_share share = { .resource = resource };

	if (resource >= summing->n_places) {
		summing->place = g_renew(guint32, summing->place, 2 * ((gsize)resource + 1));
		for (; summing->n_places < 2 * (resource + 1); summing->n_places++)
			summing->place[summing->n_places] = TACHO_NONE;
	}
	if (summing->place[resource] == TACHO_NONE) {
		summing->place[resource] = shares->len;
		g_array_append_val(shares, share);
	}
	return &g_array_index(shares, struct path_share, summing->place[resource]);
}

static void add_node(guint32 node, gint64 begin_ns, gint64 end_ns, gpointer data)
{
	struct summing *summing = data;
	gdouble weights[N_ORIGINS];
	guint32 resource;

	if (end_ns <= begin_ns)
		return;
	resource = resource_of(summing, graph_node_at(summing->replay->graph, node));
	weigh(summing->replay, node, weights);
	divide(end_ns - begin_ns, weights, share_of(summing, resource)->ns);
}

/* --- the whole ---------------------------------------------------------------------------------- */

static void add_step(struct summing *summing, const struct step_span *last)
{
	struct path_shares *paths = summing->paths;
	guint32 first = paths->shares->len;
	gint32 rank =
		last->node == TACHO_NONE ? -1 : graph_node_rank(summing->replay->graph, last->node);

	step_path_visit(summing->replay, last, add_node, summing);
	for (guint32 i = first; i < paths->shares->len; i++)
		summing->place[g_array_index(paths->shares, struct path_share, i).resource] =
			TACHO_NONE;
	g_array_append_val(paths->first, paths->shares->len);
	g_array_append_val(paths->ranks, rank);
}

struct path_shares *path_shares_new(const TachoReplay *replay)
{
	struct path_shares *paths = g_new0(struct path_shares, 1);
	const TachoGraph *graph = replay->graph;
	struct summing summing = { .replay = replay, .paths = paths };
	g_autofree struct step_span *last = replay_last_spans(replay);
	guint32 none = 0;

	paths->resources = g_array_new(FALSE, FALSE, sizeof(struct resource));
	g_array_set_clear_func(paths->resources, clear_resource);
	paths->shares = g_array_new(FALSE, FALSE, sizeof(struct path_share));
	paths->first = g_array_new(FALSE, FALSE, sizeof(guint32));
	paths->ranks = g_array_new(FALSE, FALSE, sizeof(gint32));
	g_array_append_val(paths->first, none);
	summing.by_name = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < N_RESOURCE_KINDS; i++)
		summing.of_lane[i] = none_rows_new(graph->lanes->len);
	summing.of_group = none_rows_new(graph->groups->len);
	for (guint32 step = 0; step < graph->steps->len; step++)
		add_step(&summing, &last[step]);
	for (guint i = 0; i < N_RESOURCE_KINDS; i++)
		g_free(summing.of_lane[i]);
	g_free(summing.of_group);
	g_free(summing.place);
	g_hash_table_unref(summing.by_name);
	return paths;
}
