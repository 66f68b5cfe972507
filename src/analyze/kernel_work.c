/* kernel_work: what kernels of devices compute, by the operations that launched them.
 *
 * (1) A kernel computes what its operation does, if it is the only one that the operation launched. How several
 *     share the work nothing tells: a convolution's may convert layouts, or compute a gradient each.
 * (2) Shapes are read from the trace when they are asked for, which takes about a microsecond a tensor, and in a
 *     compressed trace as long as the stretch of the file takes to decode. So of many kernels one stretch of
 *     neighbours in `stride` is asked for, and the first calls of each name, which may be in no such stretch.
 * (3) What a device can do hangs on the numbers: those of the operation's first tensor; of 32 bits those of TF32
 *     where the kernel's name says so. */
#include "analyze/kernel_work.h"

#include "analyze/device_work.h"
#include "analyze/recorded_device.h"
#include "trace/kernel_trait.h"

enum {
	MOST_ASKED = 8192, /* kernels, or a few more */
	STRETCH = 1024,	   /* kernels */
	FIRST_OF_NAME = 2,
};

static gboolean is_kernel_of_stream(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.kind[slice] == TACHO_SLICE_KERNEL &&
	       is_device_work(timeline, slice);
}

static void count_launched(struct kernel_works *works, guint32 kernel)
{
	const TachoSlices *slices = &works->timeline->slices;
	guint32 at = slices->launch[kernel];

	for (; at != TACHO_NONE; at = slices->parent[at])
		works->n_kernels[at] = (guint8)MIN(works->n_kernels[at] + 1, 2);
}

static void find_devices(struct kernel_works *works)
{
	const TachoTimeline *timeline = works->timeline;

	works->devices = g_new0(const struct device_peak *, MAX(timeline->ranks->len, 1u));
	for (guint i = 0; i < timeline->ranks->len; i++) {
		const gchar *name = recorded_device_name(timeline, i);

		works->devices[i] = name ? device_find(name) : NULL;
	}
}

void kernel_works_init(struct kernel_works *works, const struct selection *selection)
{
	const TachoTimeline *timeline = selection->timeline;
	guint n = 0;

	*works = (struct kernel_works){ .timeline = timeline };
	op_works_init(&works->ops, timeline);
	works->n_kernels = g_new0(guint8, MAX(timeline->slices.n, 1u));
	for (guint i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);
		guint32 end = track->first_slice + track->n_slices;

		if (track->kind != TACHO_TRACK_STREAM)
			continue;
		for (guint32 slice = track->first_slice; slice < end; slice++) {
			if (!is_kernel_of_stream(timeline, slice))
				continue;
			count_launched(works, slice);
			n++;
		}
	}
	works->stride = n / MOST_ASKED + 1;
	find_devices(works);
}

void kernel_works_release(struct kernel_works *works)
{
	op_works_release(&works->ops);
	g_clear_pointer(&works->n_kernels, g_free);
	g_clear_pointer(&works->devices, g_free);
}

static enum device_rate rate_of(const TachoTimeline *timeline, guint32 kernel,
				const struct op_work *work)
{
	guint32 name = timeline->slices.name[kernel];

	if (work->rate == DEVICE_FP32 && kernel_trait_is_tf32(kernel_trait_of_name(timeline, name)))
		return DEVICE_TF32;
	return work->rate;
}

gboolean kernel_works_want_next(struct kernel_works *works, guint64 n_of_name)
{
	guint64 n = works->n_seen++;

	return n_of_name <= FIRST_OF_NAME || n / STRETCH % works->stride == 0;
}

gboolean kernel_works_find(struct kernel_works *works, guint32 slice, struct kernel_work *ret)
{
	const TachoTimeline *timeline = works->timeline;
	const struct device_peak *device;
	const struct op_work *work;
	enum device_rate rate;
	guint32 op;

	if (!is_kernel_of_stream(timeline, slice) || timeline->slices.launch[slice] == TACHO_NONE ||
	    tacho_slice_borrow_graph_work(timeline, slice))
		return FALSE;
	op = op_works_find(&works->ops, slice);
	if (op == TACHO_NONE || works->n_kernels[op] != 1)
		return FALSE;
	work = op_works_of(&works->ops, op);
	if (work->flops <= 0)
		return FALSE;
	*ret = (struct kernel_work){ .flops = work->flops };
	device = kernel_works_device(works, tacho_slice_process(timeline, slice)->rank_index);
	rate = rate_of(timeline, slice, work);
	if (device && rate != DEVICE_N_RATES)
		ret->peak_flops = device_ops_per_ns(device, rate) *
				  (gdouble)timeline->slices.duration_ns[slice];
	return TRUE;
}

const struct device_peak *kernel_works_device(const struct kernel_works *works, guint rank_index)
{
	return works->devices[rank_index];
}
