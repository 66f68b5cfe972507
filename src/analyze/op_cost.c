/* op_cost: what each operation of a track took by itself.
 *
 * (1) Self times of a track's operations add up to the time in any of them.
 * (2) If operations lie inside each other, the innermost with a formula gives the floating-point operations:
 *     aten::linear calls aten::addmm, and both are the same arithmetic. What has a formula and does no arithmetic
 *     (aten::empty) tells nothing of the operation around it. */
#include "analyze/op_cost.h"

#include "analyze/op_flops.h"
#include "trace/own_time.h"

/* Backwards is bottom up: children stand behind their parents. */
static void add_flops(const TachoTimeline *timeline, const TachoTrack *track, struct op_cost *costs)
{
	g_autofree guint8 *is_told = g_new0(guint8, MAX(track->n_slices, 1u));

	for (guint32 i = track->n_slices; i-- > 0;) {
		guint32 slice = track->first_slice + i;
		guint32 parent = timeline->slices.parent[slice];

		if (timeline->slices.kind[slice] == TACHO_SLICE_OP && !is_told[i]) {
			costs[i].flops = op_flops(timeline, slice);
			is_told[i] = costs[i].flops > 0;
		}
		if (parent != TACHO_NONE)
			is_told[parent - track->first_slice] |= is_told[i];
	}
}

struct op_cost *op_costs_of_track(const TachoTimeline *timeline, const TachoTrack *track,
				  gboolean with_flops)
{
	struct op_cost *costs = g_new0(struct op_cost, MAX(track->n_slices, 1u));
	g_autofree guint8 *is_op = g_new(guint8, MAX(track->n_slices, 1u));
	g_autofree gint64 *own_ns = NULL;

	for (guint32 i = 0; i < track->n_slices; i++)
		is_op[i] = timeline->slices.kind[track->first_slice + i] == TACHO_SLICE_OP;
	own_ns = own_times(&timeline->slices, track->first_slice, track->n_slices, is_op);
	for (guint32 i = 0; i < track->n_slices; i++)
		costs[i].self_ns = (gdouble)own_ns[i];
	if (with_flops)
		add_flops(timeline, track, costs);
	return costs;
}

static void append_tensor(GString *text, const TachoTensor *tensor)
{
	if (text->len)
		g_string_append_c(text, ' ');
	for (guint32 i = 0; i < tensor->n_dims; i++)
		g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i ? "x" : "", tensor->shape[i]);
	if (tensor->n_dims == 0)
		g_string_append(text, "scalar");
}

gchar *op_shapes_text(const TachoTimeline *timeline, guint32 slice)
{
	GString *text = g_string_new(NULL);
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++)
		append_tensor(text, &tensor);
	return g_string_free(text, FALSE);
}
