/* what_if_named_device: the same work on another accelerator, by name.
 *
 * What a kernel takes there follows from what it takes here, and from how well kernels of its class use the one device
 * and the other (cost/kernel_efficiency.h). Fills, and copies within a device, go with the bandwidth of its memory.
 * Collectives, and copies from and to hosts, stay. Hosts stay, too, unless the change says that theirs is F times as fast;
 * and where it says that the libraries are, kernels of classes that libraries have go faster.
 *
 * Ranks may have been on different devices, and only some of them may be put on another. */
#include <math.h>

#include "analyze/kernel_demands.h"
#include "analyze/recorded_device.h"
#include "base/time_units.h"
#include "edit/rank_choice.h"
#include "edit/change_internal.h"
#include "edit/edit_state.h"
#include "trace/copy_kind.h"

/* The share of the kernels' time that must be known.
 * Source: a rule: below, nothing is known of most. If wrong, an answer is given that says little, or is refused. */
#define MIN_KNOWN_SHARE 0.5

struct device_change {
	TachoGraph *graph;
	const struct device_peak *const *recorded; /* of each rank */
	const struct device_peak *from, *to;	   /* of the node in hand, and of all */
	const struct change *change;
	const struct kernel_efficiencies *table;
	struct kernel_demands demands;
	gdouble by_ground_ns[EFFICIENCY_N_GROUNDS]; /* of kernels, as recorded */
	gdouble of_error_ns[EFFICIENCY_N_GROUNDS];  /* the same times its error */
	gdouble moved_ns;			    /* what kernels take on the other device */
	guint8 *origins; /* enum node_origin: of each node's new duration */
};

static gdouble memory_factor(const struct device_change *change)
{
	return change->from->gb_per_s / change->to->gb_per_s;
}

/* The device that the node's rank was on, where that changes; or NULL. */
static const struct device_peak *device_of(const struct device_change *change,
					   const struct graph_node *node)
{
	guint32 rank_index = graph_lane_at(change->graph, node->lane)->rank_index;

	return rank_index < graph_n_own_ranks(change->graph) ? change->recorded[rank_index] : NULL;
}

/* What the kernel takes on the other device; and how that is known is counted. */
static gdouble move_kernel(struct device_change *change, const struct graph_node *node,
			   guint8 *ret_origin)
{
	gdouble duration_ns = (gdouble)node->duration_ns, moved_ns;
	struct kernel_demand demand = { .rate = DEVICE_N_RATES };
	enum efficiency_ground ground;

	if (node->slice != TACHO_NONE)
		demand = kernel_demands_of(&change->demands, node->slice, NULL);
	if (demand.class == KERNEL_COLLECTIVE)
		return duration_ns;
	moved_ns = kernel_efficiency_move(change->table, change->from, change->to, &demand,
					  duration_ns, &ground);
	*ret_origin = ground == EFFICIENCY_MEASURED ? ORIGIN_MODELLED : ORIGIN_GUESSED;
	change->by_ground_ns[ground] += duration_ns;
	change->of_error_ns[ground] +=
		duration_ns * kernel_efficiency_error(change->from, change->to, ground);
	if (kernel_class_is_arithmetic(demand.class))
		moved_ns /= change->change->value.library;
	change->moved_ns += moved_ns;
	return moved_ns;
}

/* In its own memory. */
static gboolean is_within(const struct device_change *change, const struct graph_node *node)
{
	enum copy_kind kind = copy_kind_of_name(change->graph->timeline, node->name);

	return kind == COPY_DTOD || kind == COPY_MEMSET;
}

/* What a host does by itself: not what it waits for. */
static gboolean is_of_host(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL ||
	       node->kind == TACHO_NODE_HOST;
}

/* What the node takes, where its rank's device changes. */
static gint64 new_duration(struct device_change *change, const struct graph_node *node,
			   guint8 *ret_origin)
{
	gdouble duration_ns = (gdouble)node->duration_ns;

	*ret_origin = ORIGIN_MODELLED;
	if (node->kind == TACHO_NODE_DEVICE) {
		duration_ns = move_kernel(change, node, ret_origin);
	} else if (node->kind == TACHO_NODE_COPY && is_within(change, node)) {
		duration_ns *= memory_factor(change);
	} else if (is_of_host(node)) {
		duration_ns /= change->change->value.host;
		*ret_origin = ORIGIN_SCALED;
	} else {
		return node->duration_ns;
	}
	return rounded_ns(duration_ns);
}

/* What each node takes, without a change of the graph, and where that comes from (`origins`); both to be freed with
 * g_free(). */
static gint64 *new_durations(struct device_change *change)
{
	guint n = change->graph->nodes->len;
	gint64 *durations_ns = g_new(gint64, MAX(n, 1u));

	change->origins = g_new0(guint8, MAX(n, 1u));
	for (guint32 i = 0; i < n; i++) {
		const struct graph_node *node = graph_node_at(change->graph, i);

		change->from = device_of(change, node);
		durations_ns[i] = change->from ? new_duration(change, node, &change->origins[i])
					       : node->duration_ns;
	}
	return durations_ns;
}

gboolean change_check_device(const struct change *change, const gchar *name, GError **error)
{
	g_autofree gchar *names = NULL;

	if (device_find(name))
		return TRUE;
	names = device_names();
	return change_refuse(error, change, "'%s' is not a known device; there are %s", name,
			     names);
}

/* Find the recorded device of one rank. */
static gboolean find_recorded(const TachoGraph *graph, const struct change *change,
			      guint32 rank_index, const struct device_peak **ret_device,
			      GError **error)
{
	const GArray *devices = edit_state_read(graph)->devices;
	const gchar *changed = rank_index < devices->len
				       ? g_array_index(devices, const gchar *, rank_index)
				       : NULL;
	const gchar *recorded;

	if (changed) {
		*ret_device = device_find(changed);
		return TRUE;
	}
	recorded = recorded_device_name(graph->timeline, rank_index % graph->timeline->ranks->len);
	if (!recorded)
		return change_refuse(error, change,
				     "the trace does not name the recorded device; name it, as in "
				     "device=H100:A100-80GB or precision=fp16:A100-80GB");
	*ret_device = device_find(recorded);
	return *ret_device || change_refuse(error, change,
					    "the recorded device '%s' is not a known device; name "
					    "one like it, as in device=H100:A100-80GB",
					    recorded);
}

const struct device_peak **change_recorded_devices(const TachoGraph *graph,
						   const struct change *change,
						   const struct rank_choice *ranks, GError **error)
{
	guint32 n_ranks = graph_n_own_ranks(graph);
	g_autofree const struct device_peak **devices =
		g_new0(const struct device_peak *, MAX(n_ranks, 1u));

	for (guint32 i = 0; i < n_ranks; i++) {
		if (!rank_choice_has(ranks, i))
			continue;
		if (change->recorded)
			devices[i] = device_find(change->recorded);
		else if (!find_recorded(graph, change, i, &devices[i], error))
			return NULL;
	}
	return g_steal_pointer(&devices);
}

gchar *change_device_names(const TachoGraph *graph, const struct device_peak *const *devices)
{
	GString *names = g_string_new(NULL);

	for (guint32 i = 0; i < graph_n_own_ranks(graph); i++) {
		gboolean is_new = devices[i] != NULL;

		for (guint32 j = 0; j < i; j++)
			is_new &= devices[j] != devices[i];
		if (is_new)
			g_string_append_printf(names, "%s%s", names->len ? ", " : "",
					       devices[i]->name);
	}
	return g_string_free(names, FALSE);
}

static void remember(TachoGraph *graph, const struct rank_choice *ranks,
		     const struct device_peak *device)
{
	GArray *devices = edit_state_of(graph)->devices;

	g_array_set_size(devices, graph_n_own_ranks(graph));
	for (guint32 i = 0; i < devices->len; i++)
		if (rank_choice_has(ranks, i))
			g_array_index(devices, const gchar *, i) = device->name;
}

static gdouble all_ns(const struct device_change *change)
{
	gdouble sum_ns = 0;

	for (guint i = 0; i < EFFICIENCY_N_GROUNDS; i++)
		sum_ns += change->by_ground_ns[i];
	return sum_ns;
}

static void tell(const struct device_change *change, const gchar *names)
{
	gdouble whole_ns = MAX(all_ns(change), 1);
	gdouble error = 0;

	for (guint i = 0; i < EFFICIENCY_N_GROUNDS; i++)
		error += change->of_error_ns[i] / whole_ns;
	graph_note(
		change->graph,
		"%s replaces %s: kernels take %.4g ms for %.4g; of that time, %.0f %% is of "
		"classes measured on both, "
		"%.0f %% is assumed to reach the same share of both devices' peaks, and of %.0f %% "
		"nothing is known but the bandwidth of memories; collectives, copies from and to "
		"hosts%s stay",
		change->to->name, names, change->moved_ns / 1e6, whole_ns / 1e6,
		100 * change->by_ground_ns[EFFICIENCY_MEASURED] / whole_ns,
		100 * change->by_ground_ns[EFFICIENCY_EQUAL] / whole_ns,
		100 * change->by_ground_ns[EFFICIENCY_UNKNOWN] / whole_ns,
		change->change->value.host == 1 ? ", and hosts" : "");
	if (error > 0)
		graph_note(
			change->graph,
			"the time of kernels predicted like that was wrong by %.0f %% in the mean "
			"where it was measured (docs/validation-devices.md)",
			error);
}

/* Nothing is known of most of the time. Within one maker's devices equal shares are something; from one maker to
 * another they are not. */
static gboolean refuse_unknown(const struct device_change *edit, GError **error)
{
	gdouble known_ns = edit->by_ground_ns[EFFICIENCY_MEASURED];
	gboolean has_two_makers = FALSE;

	for (guint32 i = 0; i < graph_n_own_ranks(edit->graph); i++)
		has_two_makers |= edit->recorded[i] && edit->recorded[i]->maker != edit->to->maker;
	if (!has_two_makers)
		known_ns += edit->by_ground_ns[EFFICIENCY_EQUAL];
	if (known_ns >= MIN_KNOWN_SHARE * all_ns(edit))
		return FALSE;
	if (has_two_makers)
		change_refuse(
			error, edit->change,
			"only %.0f %% of the time of kernels is of classes that were measured "
			"on devices of both makers; measure them, and give the file as "
			"efficiency:FILE, or say what is faster, as in device=flops:2x",
			100 * known_ns / all_ns(edit));
	else
		change_refuse(
			error, edit->change,
			"only %.0f %% of the time of kernels is of operations with shapes or of "
			"kernels whose names tell what they do",
			100 * known_ns / all_ns(edit));
	return TRUE;
}

static gboolean change_device(struct device_change *edit, const struct rank_choice *ranks,
			      GError **error)
{
	g_autofree gchar *names = change_device_names(edit->graph, edit->recorded);
	g_autofree gint64 *durations_ns = NULL;

	kernel_demands_init(&edit->demands, edit->graph->timeline);
	durations_ns = new_durations(edit);
	kernel_demands_release(&edit->demands);
	if (refuse_unknown(edit, error))
		return FALSE;
	tell(edit, names);
	for (guint32 i = 0; i < edit->graph->nodes->len; i++)
		graph_change_duration(graph_node_at(edit->graph, i), durations_ns[i],
				      edit->origins[i]);
	remember(edit->graph, ranks, edit->to);
	return TRUE;
}

gboolean change_to_named_device(TachoGraph *graph, const struct change *change,
				struct rank_choice *ranks, GError **error)
{
	struct device_change edit = { .graph = graph,
				      .change = change,
				      .to = device_find(change->name),
				      .table = &change->efficiencies };
	struct kernel_efficiencies measured = { NULL };
	g_autofree const struct device_peak **recorded = NULL;
	gboolean is_done;

	if (edit_state_read(graph)->has_precision)
		return change_refuse(error, change, "give precision after device, not before it");
	if (edit_state_read(graph)->has_recomputed)
		return change_refuse(error, change, "give device before recompute, not after it");
	if (!graph_has_devices(graph))
		return change_refuse(error, change, "no kernels of a device were recorded");
	if (!rank_choice_split(ranks, graph, change, error))
		return FALSE;
	recorded = change_recorded_devices(graph, change, ranks, error);
	if (!recorded)
		return FALSE;
	edit.recorded = recorded;
	if (!change->efficiencies.rows) {
		kernel_efficiencies_init(&measured);
		edit.table = &measured;
	}
	is_done = change_device(&edit, ranks, error);
	g_free(edit.origins);
	kernel_efficiencies_release(&measured);
	return is_done;
}
