/* what_if_durations: each piece of work takes what it takes in the mean, or the median, of all steps. */
#include <math.h>
#include <string.h>

#include "base/quantile.h"
#include "edit/duration_classes.h"
#include "edit/change_internal.h"

typedef gdouble Middle(GArray *values);

static gdouble mean(GArray *values)
{
	gdouble sum = 0;

	for (guint i = 0; i < values->len; i++)
		sum += (gdouble)g_array_index(values, gint64, i);
	return sum / MAX(values->len, 1u);
}

static gdouble median(GArray *values)
{
	return quantile(values, 0.5);
}

enum part {
	PART_ALL,   /* of a node that is no transfer */
	PART_FIXED, /* of one that is */
	PART_WORK,
};

static gint64 value_of(const TachoGraph *graph, guint32 index, enum part part)
{
	const struct graph_node *node = graph_node_at(graph, index);

	if (part == PART_ALL)
		return node->duration_ns;
	return llround(part == PART_FIXED ? graph_transfer_at(graph, node->transfer)->fixed_ns
					  : graph_transfer_at(graph, node->transfer)->work_ns);
}

static gdouble middle_of(const TachoGraph *graph, const guint32 *nodes, guint32 n, enum part part,
			 Middle *middle, GArray *values)
{
	g_array_set_size(values, 0);
	for (guint32 i = 0; i < n; i++) {
		gint64 value = value_of(graph, nodes[i], part);

		g_array_append_val(values, value);
	}
	return middle(values);
}

static void set_class(TachoGraph *graph, const guint32 *nodes, guint32 n, Middle *middle,
		      GArray *values)
{
	gboolean is_transfer = graph_node_at(graph, nodes[0])->kind == TACHO_NODE_TRANSFER;
	gdouble fixed_ns, work_ns;

	if (!is_transfer) {
		gint64 all_ns = llround(middle_of(graph, nodes, n, PART_ALL, middle, values));

		for (guint32 i = 0; i < n; i++)
			graph_change_duration(graph_node_at(graph, nodes[i]), all_ns,
					      ORIGIN_MODELLED);
		return;
	}
	/* whole nanoseconds, as of all else: the middle of what is all the same is the same */
	fixed_ns = round(middle_of(graph, nodes, n, PART_FIXED, middle, values));
	work_ns = round(middle_of(graph, nodes, n, PART_WORK, middle, values));
	for (guint32 i = 0; i < n; i++)
		graph_change_transfer(graph, graph_node_at(graph, nodes[i])->transfer, fixed_ns,
				      work_ns, ORIGIN_MODELLED);
}

gboolean parse_durations(struct change *change, const gchar *text, GError **error)
{
	static const gchar *const words[] = {
		[CHANGE_MEASURED] = "measured", [CHANGE_MEAN] = "mean", [CHANGE_MEDIAN] = "median"
	};

	for (guint i = 0; i < G_N_ELEMENTS(words); i++)
		if (strcmp(text, words[i]) == 0) {
			change->value.middle = i;
			return TRUE;
		}
	return change_refuse(error, change,
			     "write durations=measured, durations=mean or durations=median");
}

gboolean apply_durations(TachoGraph *graph, const struct change *change, GError **error)
{
	struct duration_classes classes;
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));
	Middle *middle = change->value.middle == CHANGE_MEAN ? mean : median;

	(void)error;
	if (change->value.middle == CHANGE_MEASURED)
		return TRUE;
	duration_classes_init(&classes, graph);
	for (guint32 i = 0; i < classes.n_classes; i++)
		set_class(graph, classes.nodes + classes.first[i],
			  classes.first[i + 1] - classes.first[i], middle, values);
	duration_classes_release(&classes);
	return TRUE;
}
