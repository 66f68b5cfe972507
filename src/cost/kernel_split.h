/* kernel_split: which part of a kernel's time goes with its work, when it has more or less of it, or narrower numbers.
 *
 * A kernel of duration d is taken to be d = fixed + work. Let W be what its operations and bytes take on a device that such kernels fill:
 * at the shares of the peaks that kernels of the class were measured to reach there (kernel_efficiencies.def), or in the median of the
 * devices that it was measured on. Then
 *
 *     work = min(W, d - least)     with `least` what any kernel of the run takes
 *
 * and with x times the work it takes fixed + x work. What is fixed is the launch, latencies, and units that stand idle because there is too
 * little for them: a kernel that takes long for what it has to do does not fill its device, and more of it comes nearly free.
 *
 * (1) x = 1 changes nothing, more work never takes less, and without work the fixed part is left.
 * (2) The factor of x then y is the factor of x y: the parts are those of the recorded kernel.
 * (3) At least the work at the device's peaks is work, at most all but `least`: the bounds. */
#ifndef TACHO_KERNEL_SPLIT_H
#define TACHO_KERNEL_SPLIT_H

#include "cost/kernel_efficiency.h"

/* What kernels of a class reach on a device with numbers of a type. */
struct kernel_reach {
	gdouble ops_per_ns, bytes_per_ns;
	gboolean
		is_measured; /* there, or on another with the same chip; else it is the median of other devices */
};

struct device_reach {
	const struct device_peak *device;
	struct kernel_reach of[N_KERNEL_CLASSES][DEVICE_N_RATES];
};

/* With units for a type of numbers, a device is no slower with it than with wider ones. Without, numbers are converted on their way. */
void device_reach_init(struct device_reach *reach, const struct kernel_efficiencies *table,
		       const struct device_peak *device);

/* What work takes at that reach, and at the device's peaks, ns; 0: the demand has none. */
gdouble kernel_split_work_ns(const struct device_reach *reach, const struct kernel_demand *demand);
gdouble kernel_split_peak_ns(const struct device_reach *reach, const struct kernel_demand *demand);
gboolean kernel_split_is_measured(const struct device_reach *reach,
				  const struct kernel_demand *demand);

/* The demand with `factor` times as many samples: operations and bytes go with them, but for those of weights. */
struct kernel_demand kernel_demand_batched(struct kernel_demand demand, gdouble factor);

/* Shares of a kernel's time that go with its work, 0..1. */
struct kernel_split {
	gdouble work, least, most; /* `least` and `most` bound it */
	gboolean is_known;	   /* by its operations and bytes */
};

/* Of a kernel that took `duration_ns` where the run's shortest took `least_ns`. `reach` NULL, or no work in the demand: not known; then the
 * share `otherwise` of all but `least_ns` goes with it. */
struct kernel_split kernel_split_of(const struct device_reach *reach,
				    const struct kernel_demand *demand, gdouble duration_ns,
				    gdouble least_ns, gdouble otherwise);

/* How many times as long it takes with x times the work, of which `share` goes with it. */
static inline gdouble kernel_split_factor(gdouble share, gdouble x)
{
	return 1 - share + share * x;
}

#endif
