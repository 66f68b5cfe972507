/* kernel_overlap: how much kernels of a device run beside each other.
 *
 * Kernels of different streams that run at once take processors and memory bandwidth from each other. The recorded
 * times include this for kernels that ran at once in the recording. Where a change brings other kernels together,
 * the replay gives each the time that it took alone. How much more they overlap than recorded says how far such an
 * answer may be too good. */
#include "replay/replay_internal.h"

#include "base/for_each.h"
#include "base/order.h"

/* A kernel begins on its device, or ends. */
struct moment {
	guint64 device; /* rank and device */
	gint64 time_ns;
	gint change; /* 1 or -1 */
};

static gint compare_moments(gconstpointer a, gconstpointer b)
{
	const struct moment *x = a, *y = b;

	return ORDER(x->device, y->device) ?: ORDER(x->time_ns, y->time_ns) ?:
	       x->change - y->change;
}

static guint64 device_of(const TachoGraph *graph, const struct graph_lane *lane)
{
	gint32 device = tacho_timeline_track(graph->timeline, lane->track)->device;

	return (guint64)lane->rank_index << 32 | (guint32)device;
}

static gboolean is_kernel(const TachoGraph *graph, const struct graph_node *node)
{
	return node->kind == TACHO_NODE_DEVICE &&
	       graph_lane_at(graph, node->lane)->track != TACHO_NONE;
}

/* Some device runs kernels on two streams. */
static gboolean has_several_streams(const TachoGraph *graph)
{
	g_autofree guint8 *has_kernels = g_new0(guint8, MAX(graph->lanes->len, 1u));
	g_autoptr(GHashTable) devices =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	gboolean has_several = FALSE;

	for (guint32 i = 0; i < graph->n_frozen; i++)
		if (is_kernel(graph, graph_node_at(graph, i)))
			has_kernels[graph_node_at(graph, i)->lane] = 1;
	for (guint32 i = 0; i < graph->lanes->len; i++) {
		guint64 device;

		if (!has_kernels[i])
			continue;
		device = device_of(graph, graph_lane_at(graph, i));
		has_several |= !g_hash_table_add(devices, g_memdup2(&device, sizeof(device)));
	}
	return has_several;
}

static void add_kernel(GArray *moments, const TachoReplay *replay, guint32 index)
{
	const TachoGraph *graph = replay->graph;
	struct moment moment = { device_of(graph,
					   graph_lane_at(graph, graph_node_at(graph, index)->lane)),
				 replay->begin_ns[index], 1 };

	g_array_append_val(moments, moment);
	moment.time_ns = replay->end_ns[index];
	moment.change = -1;
	g_array_append_val(moments, moment);
}

gdouble replay_kernel_overlap(const TachoReplay *replay)
{
	const TachoGraph *graph = replay->graph;
	g_autoptr(GArray) moments = g_array_new(FALSE, FALSE, sizeof(struct moment));
	gdouble busy_ns = 0, overlap_ns = 0;
	gint n_running = 0;

	if (!has_several_streams(graph))
		return 0;
	for (guint32 i = 0; i < replay->n_nodes; i++)
		if (is_kernel(graph, graph_node_at(graph, i)))
			add_kernel(moments, replay, i);
	g_array_sort(moments, compare_moments);
	FOR_EACH(const struct moment, moment, moments) {
		if (n_running > 0)
			busy_ns += (gdouble)(moment->time_ns - moment[-1].time_ns);
		if (n_running > 1)
			overlap_ns += (gdouble)(moment->time_ns - moment[-1].time_ns);
		n_running += moment->change;
	}
	return busy_ns > 0 ? overlap_ns / busy_ns : 0;
}
