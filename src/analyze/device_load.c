/* device_load: how much of a device its kernels fill.
 *
 * The figures are those of PyTorch's TensorBoard plug-in (pytorch/kineto, tb_plugin, gpu_metrics_parser.py and
 * range_utils.py), from what its profiler tells of each kernel, or what follows from a kernel's blocks and the device's
 * multiprocessors:
 *
 *     utilization    some kernel runs
 *     SM efficiency  multiprocessors that have a block, if blocks are spread evenly: the sum of the blocks by
 *                    multiprocessor of all kernels that run, at most 1
 *     occupancy      of the warps that a multiprocessor can hold, while the kernel runs
 *
 * What a kernel tells is read from the trace when it is asked for, so this takes some microseconds a kernel. */
#include "analyze/device_load.h"

#include <math.h>

#include "base/interval_set.h"

enum { MAX_STRETCHES = 100 };

/* 0: not told. */
static guint32 count_multiprocessors(const TachoTimeline *timeline, guint32 process, gint32 number)
{
	for (guint i = 0; i < timeline->devices->len; i++) {
		const TachoDevice *device = &g_array_index(timeline->devices, TachoDevice, i);

		if (device->process == process && device->number == number)
			return device->n_multiprocessors;
	}
	return 0;
}

/* As PyTorch's profiler computes it, where it does not say so itself. NaN: not known. */
static gdouble blocks_per_sm(const TachoLaunchShape *shape, guint32 n_multiprocessors)
{
	gdouble n_blocks = (gdouble)shape->grid[0] * shape->grid[1] * shape->grid[2];

	if (!isnan(shape->blocks_per_sm))
		return shape->blocks_per_sm;
	return n_blocks > 0 && n_multiprocessors ? n_blocks / n_multiprocessors : NAN;
}

static void add_run(const TachoTimeline *timeline, guint32 slice, guint32 n_multiprocessors,
		    GArray *runs)
{
	struct kernel_run run = { timeline->slices.start_ns[slice],
				  tacho_slice_end_ns(timeline, slice), NAN, NAN };
	TachoLaunchShape shape;

	if (tacho_slice_launch_shape(timeline, slice, &shape)) {
		run.blocks_per_sm = blocks_per_sm(&shape, n_multiprocessors);
		run.occupancy_pct = shape.occupancy_pct;
	}
	g_array_append_val(runs, run);
}

GArray *device_kernel_runs(const TachoTimeline *timeline, guint32 process, gint32 device)
{
	GArray *runs = g_array_new(FALSE, FALSE, sizeof(struct kernel_run));
	guint32 n_multiprocessors = count_multiprocessors(timeline, process, device);

	for (guint i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);
		guint32 end = track->first_slice + track->n_slices;

		if (track->kind != TACHO_TRACK_STREAM || track->process != process ||
		    track->device != device)
			continue;
		for (guint32 slice = track->first_slice; slice < end; slice++)
			if (timeline->slices.kind[slice] == TACHO_SLICE_KERNEL ||
			    timeline->slices.kind[slice] == TACHO_SLICE_COLLECTIVE)
				add_run(timeline, slice, n_multiprocessors, runs);
	}
	return runs;
}

/* --- over time -------------------------------------------------------------------------------- */

/* A kernel that tells its blocks begins or ends. */
struct endpoint {
	gint64 time_ns;
	gdouble blocks_per_sm;
	gint change; /* of how many run: 1 or -1 */
};

static gint compare_endpoints(gconstpointer a, gconstpointer b)
{
	const struct endpoint *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return right->change - left->change;
}

static GArray *sort_endpoints(const GArray *runs)
{
	GArray *endpoints = g_array_new(FALSE, FALSE, sizeof(struct endpoint));

	for (guint i = 0; i < runs->len; i++) {
		const struct kernel_run *run = &g_array_index(runs, struct kernel_run, i);
		struct endpoint begin = { run->begin_ns, run->blocks_per_sm, 1 };
		struct endpoint end = { run->end_ns, run->blocks_per_sm, -1 };

		if (isnan(run->blocks_per_sm) || run->end_ns <= run->begin_ns)
			continue;
		g_array_append_val(endpoints, begin);
		g_array_append_val(endpoints, end);
	}
	g_array_sort(endpoints, compare_endpoints);
	return endpoints;
}

GArray *device_sm_efficiency(const GArray *runs)
{
	GArray *stretches = g_array_new(FALSE, FALSE, sizeof(struct share_stretch));
	g_autoptr(GArray) endpoints = sort_endpoints(runs);
	gdouble blocks_per_sm = 0;
	gint64 since_ns = 0;
	gint n_running = 0;

	for (guint i = 0; i < endpoints->len; i++) {
		const struct endpoint *at = &g_array_index(endpoints, struct endpoint, i);
		struct share_stretch stretch = { since_ns, at->time_ns, MIN(blocks_per_sm, 1.0) };

		if (n_running > 0 && at->time_ns > since_ns)
			g_array_append_val(stretches, stretch);
		since_ns = at->time_ns;
		n_running += at->change;
		/* sums of doubles do not come back to 0 by themselves */
		blocks_per_sm = n_running ? blocks_per_sm + at->change * at->blocks_per_sm : 0;
	}
	return stretches;
}

static void find_busy(const GArray *runs, struct interval_set *ret_busy)
{
	interval_set_init(ret_busy);
	for (guint i = 0; i < runs->len; i++) {
		const struct kernel_run *run = &g_array_index(runs, struct kernel_run, i);

		interval_set_add(ret_busy, run->begin_ns, run->end_ns);
	}
	interval_set_normalize(ret_busy);
}

GArray *device_utilization(const GArray *runs, gint64 begin_ns, gint64 end_ns)
{
	GArray *stretches = g_array_new(FALSE, FALSE, sizeof(struct share_stretch));
	gint64 length_ns = 1000, n;
	struct interval_set busy;

	while ((end_ns - begin_ns) / length_ns > MAX_STRETCHES ||
	       ((end_ns - begin_ns) / length_ns == MAX_STRETCHES &&
		(end_ns - begin_ns) % length_ns > 0))
		length_ns *= 10;
	n = (end_ns - begin_ns) / length_ns;
	find_busy(runs, &busy);
	for (gint64 i = 0; i < n; i++) {
		struct share_stretch stretch = { begin_ns + i * length_ns,
						 i + 1 < n ? begin_ns + (i + 1) * length_ns
							   : end_ns,
						 0 };

		stretch.share =
			(gdouble)interval_set_measure(&busy, stretch.begin_ns, stretch.end_ns) /
			(gdouble)(stretch.end_ns - stretch.begin_ns);
		g_array_append_val(stretches, stretch);
	}
	interval_set_release(&busy);
	return stretches;
}

/* --- means ------------------------------------------------------------------------------------ */

static gdouble overlap_ns(gint64 begin_ns, gint64 end_ns, gint64 from_ns, gint64 to_ns)
{
	return (gdouble)MAX(MIN(end_ns, to_ns) - MAX(begin_ns, from_ns), 0);
}

gdouble device_mean_utilization(const GArray *runs, gint64 begin_ns, gint64 end_ns)
{
	struct interval_set busy;
	gint64 busy_ns;

	find_busy(runs, &busy);
	busy_ns = interval_set_measure(&busy, begin_ns, end_ns);
	interval_set_release(&busy);
	return end_ns > begin_ns ? 100.0 * (gdouble)busy_ns / (gdouble)(end_ns - begin_ns) : NAN;
}

gdouble device_mean_sm_efficiency(const GArray *runs, gint64 begin_ns, gint64 end_ns)
{
	g_autoptr(GArray) stretches = device_sm_efficiency(runs);
	gdouble filled_ns = 0;

	for (guint i = 0; i < stretches->len; i++) {
		const struct share_stretch *at = &g_array_index(stretches, struct share_stretch, i);

		filled_ns += at->share * overlap_ns(at->begin_ns, at->end_ns, begin_ns, end_ns);
	}
	return stretches->len && end_ns > begin_ns
		       ? 100.0 * filled_ns / (gdouble)(end_ns - begin_ns)
		       : NAN;
}

gdouble device_mean_occupancy(const GArray *runs, gint64 begin_ns, gint64 end_ns)
{
	gdouble weighted = 0, run_ns = 0;

	for (guint i = 0; i < runs->len; i++) {
		const struct kernel_run *run = &g_array_index(runs, struct kernel_run, i);
		gdouble in_ns = overlap_ns(run->begin_ns, run->end_ns, begin_ns, end_ns);

		if (isnan(run->occupancy_pct))
			continue;
		weighted += run->occupancy_pct * in_ns;
		run_ns += in_ns;
	}
	return run_ns > 0 ? weighted / run_ns : NAN;
}
