/* kernel_shares: what changes of a kernel's work come to (cost/kernel_split.h, which has tests of its own), for tests of what-ifs. */
#ifndef TACHO_TEST_KERNEL_SHARES_H
#define TACHO_TEST_KERNEL_SHARES_H

#include "cost/kernel_split.h"

/* The share that goes with its work of a kernel that took `us` on the device, in a run whose shortest took 10 us or longer. */
gdouble work_share_on(const gchar *device, struct kernel_demand demand, gdouble us);

/* How many times as long it takes with other numbers than those of 32 bits that it had, when it was recorded on one device and now is on the same or
 * another. */
gdouble precision_factor_on(const gchar *recorded, const gchar *device, struct kernel_demand demand,
			    gdouble us, enum device_rate rate);

#endif
