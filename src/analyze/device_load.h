/* device_load: how much of a device its kernels fill. */
#ifndef TACHO_DEVICE_LOAD_H
#define TACHO_DEVICE_LOAD_H

#include <tacho/timeline.h>

/* A kernel, or a collective's kernel, as it ran on a device. */
struct kernel_run {
	gint64 begin_ns, end_ns;
	/* As the trace tells them, of PyTorch's profiler: the blocks of the kernel by the multiprocessors of
	 * the device, and the share of the warps that each can hold, in percent. NaN: not told. */
	gdouble blocks_per_sm, occupancy_pct;
};

/* A part of something in [begin_ns, end_ns). */
struct share_stretch {
	gint64 begin_ns, end_ns;
	gdouble share; /* 0 to 1 */
};

/* What ran on the streams of a device of a process (struct kernel_run), a stream after the other. The
 * caller's. */
GArray *device_kernel_runs(const TachoTimeline *timeline, guint32 process, gint32 device);

/* The share of the device's multiprocessors that have a block (struct share_stretch), where some kernel runs
 * that tells; in order. The caller's. */
GArray *device_sm_efficiency(const GArray *runs);

/* The share of each stretch of time in which some kernel runs: [begin_ns, end_ns) cut into stretches of a power
 * of ten microseconds, as short as makes at most 100; the last takes in what is over. The caller's. */
GArray *device_utilization(const GArray *runs, gint64 begin_ns, gint64 end_ns);

/* What share of [begin_ns, end_ns) is filled, in percent; NaN: nothing is told. Occupancy is a mean over the time
 * of the kernels that tell. */
gdouble device_mean_utilization(const GArray *runs, gint64 begin_ns, gint64 end_ns);
gdouble device_mean_sm_efficiency(const GArray *runs, gint64 begin_ns, gint64 end_ns);
gdouble device_mean_occupancy(const GArray *runs, gint64 begin_ns, gint64 end_ns);

#endif
