#include "kernel_shares.h"

static const gdouble least_ns = 10e3;

static void reach_init(struct device_reach *reach, const gchar *device)
{
	struct kernel_efficiencies table;

	kernel_efficiencies_init(&table);
	device_reach_init(reach, &table, device_find(device));
	kernel_efficiencies_release(&table);
}

gdouble work_share_on(const gchar *device, struct kernel_demand demand, gdouble us)
{
	struct device_reach reach;

	reach_init(&reach, device);
	return kernel_split_of(&reach, &demand, us * 1e3, least_ns, 1).work;
}

gdouble precision_factor_on(const gchar *recorded, const gchar *device, struct kernel_demand demand,
			    gdouble us, enum device_rate rate)
{
	struct kernel_demand after = demand;
	struct device_reach reach;

	reach_init(&reach, device);
	after.rate = rate;
	after.bytes *= rate == DEVICE_INT8 ? 0.25 : 0.5;
	return kernel_split_factor(work_share_on(recorded, demand, us),
				   kernel_split_work_ns(&reach, &after) /
					   kernel_split_work_ns(&reach, &demand));
}
