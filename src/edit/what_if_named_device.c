/* what_if_named_device: the same work on another accelerator, by name.
 *
 * By the roofline, what an operation takes at least is the larger of its operations at the rate of the
 * device's arithmetic on such numbers, and its bytes at that of its memory (cost/devices.def). What its kernels
 * take on the other device is in proportion to that: so an operation that reaches half of what one device could
 * is taken to reach half of what the other could, and one that is bound by arithmetic on one may be bound by
 * memory on the other. Kernels of operations without shapes or formula are taken to be bound by memory, as are
 * fills and copies within a device. Hosts, launches, copies from and to hosts and collectives stay.
 *
 * Ranks may have been on different devices, and only some of them may be put on another. */
#include <math.h>
#include <string.h>

#include "analyze/op_work.h"
#include "analyze/recorded_device.h"
#include "edit/rank_choice.h"
#include "edit/change_internal.h"
#include "edit/edit_state.h"

struct device_change {
	TachoGraph *graph;
	const struct device_peak *const *recorded; /* of each rank */
	const struct device_peak *from, *to;	   /* of the node in hand, and of all */
	struct op_works works;
	gdouble known_ns, all_ns; /* of kernels */
};

/* What the device needs at least, ns. TensorFloat-32 is told by the kernel's name. */
static gdouble least_ns(const struct device_peak *device, const struct op_work *work,
			const gchar *kernel)
{
	enum device_rate rate = work->rate == DEVICE_N_RATES ? DEVICE_FP32 : work->rate;

	if (rate == DEVICE_FP32 && strstr(kernel, "tf32"))
		rate = DEVICE_TF32;
	return MAX(work->flops / device_ops_per_ns(device, rate), work->bytes / device->gb_per_s);
}

static gdouble memory_factor(const struct device_change *change)
{
	return change->from->gb_per_s / change->to->gb_per_s;
}

static void scale_kernel(struct device_change *change, struct graph_node *node)
{
	const gchar *kernel = tacho_timeline_string(change->graph->timeline, node->name);
	guint32 op =
		node->slice == TACHO_NONE ? TACHO_NONE : op_works_find(&change->works, node->slice);
	gdouble factor = memory_factor(change);

	change->all_ns += (gdouble)node->duration_ns;
	if (op != TACHO_NONE) {
		const struct op_work *work = op_works_of(&change->works, op);

		change->known_ns += (gdouble)node->duration_ns;
		factor = least_ns(change->to, work, kernel) / least_ns(change->from, work, kernel);
	}
	node->duration_ns = llround((gdouble)node->duration_ns * factor);
}

/* "Memcpy DtoD (Device -> Device)", "Memset (Device)", "CopyDeviceToDevice": in its own memory. */
static gboolean is_within(const gchar *copy)
{
	return strstr(copy, "DtoD") || strstr(copy, "Device -> Device") ||
	       strstr(copy, "DeviceToDevice") || g_ascii_strncasecmp(copy, "memset", 6) == 0 ||
	       g_ascii_strncasecmp(copy, "fill", 4) == 0;
}

static void scale_all(struct device_change *change)
{
	for (guint32 i = 0; i < change->graph->nodes->len; i++) {
		struct graph_node *node = graph_node_at(change->graph, i);

		guint32 rank_index = graph_lane_at(change->graph, node->lane)->rank_index;

		if (rank_index >= graph_n_own_ranks(change->graph) || !change->recorded[rank_index])
			continue;
		change->from = change->recorded[rank_index];
		if (node->kind == TACHO_NODE_DEVICE)
			scale_kernel(change, node);
		else if (node->kind == TACHO_NODE_COPY &&
			 is_within(tacho_timeline_string(change->graph->timeline, node->name)))
			node->duration_ns =
				llround((gdouble)node->duration_ns * memory_factor(change));
	}
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
	g_autofree gchar *recorded = NULL;

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

static void change_device(struct device_change *change, const struct rank_choice *ranks)
{
	TachoGraph *graph = change->graph;
	g_autofree gchar *names = change_device_names(graph, change->recorded);

	op_works_init(&change->works, graph->timeline);
	scale_all(change);
	op_works_release(&change->works);
	remember(graph, ranks, change->to);
	graph_note(graph,
		   "%s replaces %s, by the roofline; %.0f %% of the time of kernels has no shapes "
		   "or no formula and is assumed to be bound by memory; collectives, copies from "
		   "and to hosts, and hosts stay",
		   change->to->name, names,
		   change->all_ns > 0 ? 100 * (1 - change->known_ns / change->all_ns) : 0);
}

gboolean change_to_named_device(TachoGraph *graph, const struct change *change,
				struct rank_choice *ranks, GError **error)
{
	struct device_change edit = { .graph = graph, .to = device_find(change->name) };
	g_autofree const struct device_peak **recorded = NULL;

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
	change_device(&edit, ranks);
	return TRUE;
}
