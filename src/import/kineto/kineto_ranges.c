/* kineto_ranges: what CUPTI counted kernel by kernel, where PyTorch's profiler was asked for metrics (profiler_metrics):
 * "cuda_profiler_range", one for each kernel, with the numbers that were counted as args. While it counts, the profiler knows no
 * kernels, and the times of its ranges are none: it spreads them evenly over the recording. It runs one kernel after the other, so
 * that the n-th range is of the n-th call that launches a kernel; where there are not as many of each, nobody knows. */
#include "base/order.h"
#include "import/kineto/kineto_merge.h"
#include "trace/call_kind.h"

static gint compare_starts(gconstpointer a, gconstpointer b, gpointer data)
{
	const gint64 *start_ns = ((const TachoTimeline *)data)->slices.start_ns;
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;

	return ORDER(start_ns[x], start_ns[y]) ?: ORDER(x, y);
}

/* The calls of rows [begin, end) that launch a kernel; a new array of guint32. */
static GArray *list_launches(const TachoTimeline *timeline, guint32 begin, guint32 end)
{
	GArray *launches = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = begin; i < end; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_RUNTIME &&
		    call_kind_of(timeline, i) == CALL_LAUNCH)
			g_array_append_val(launches, i);
	return launches;
}

static void link_part(struct kineto_merge *merge, const struct kineto_part *part, guint32 end)
{
	TachoTimeline *timeline = merge->timeline;
	guint32 begin = kineto_files_rows(&merge->files, part->first_piece)->first_row;
	g_autoptr(GArray) launches = list_launches(timeline, begin, end);

	if (launches->len != part->ranges->len)
		return;
	g_array_sort_with_data(launches, compare_starts, timeline);
	g_array_sort_with_data(part->ranges, compare_starts, timeline);
	for (guint i = 0; i < launches->len; i++) {
		TachoFlow flow = { g_array_index(launches, guint32, i),
				   g_array_index(part->ranges, guint32, i), TACHO_FLOW_LAUNCH, 0 };

		g_array_append_val(timeline->flows, flow);
	}
}

void kineto_ranges_gather(struct kineto_merge *merge, const struct kineto_rows *rows)
{
	const guint32 *ranges = rows->ranges.rows;

	for (gsize k = 0; k < rows->ranges.n; k++) {
		guint32 row = rows->first_row + ranges[k];

		g_array_append_val(merge->parts[rows->file].ranges, row);
	}
}

void kineto_ranges_link(struct kineto_merge *merge)
{
	guint n_pieces = merge->files.rows->len;

	for (guint i = 0; i < merge->files.n; i++) {
		const struct kineto_part *part = &merge->parts[i];
		guint next = part->first_piece + part->n_pieces;
		guint32 end = next < n_pieces ? kineto_files_rows(&merge->files, next)->first_row
					      : merge->timeline->slices.n;

		if (part->ranges->len)
			link_part(merge, part, end);
	}
}
