#include "cost/kernel_split.h"

#include "base/for_each.h"
#include "base/order.h"

/* What is left of the bytes that kernels move in a time where a device has no units for numbers of 16 or 8 bits: each is converted as it is read
 * and written.
 * Source: fitted by validate/precision_tables.py on the GTX 1080 Ti of dPRO's tables, where half as many bytes take about four fifths of the time. If
 * wrong, such numbers gain more or less on old devices. */
#define CONVERTED_BYTES 0.625
/* What is left of the operations that products and convolutions do in a time there.
 * Source: fitted by validate/precision_tables.py on the same, where convolutions take a little longer than in 32 bits. If wrong, such numbers lose
 * more or less on old devices. */
#define CONVERTED_OPS 0.95

enum figure { OPS_SHARE, BYTES_SHARE };

static gdouble figure_of(const struct kernel_efficiency *row, enum figure figure)
{
	return figure == OPS_SHARE ? row->ops_share : row->bytes_share;
}

/* Units of plain arithmetic, or those that multiply matrices. */
static gboolean is_plain(enum device_rate rate)
{
	return rate == DEVICE_FP32 || rate == DEVICE_N_RATES;
}

/* Of the devices on which kernels of the class were measured with such units; 0: of none. */
static gdouble median_share(const struct kernel_efficiencies *table, enum kernel_class class,
			    enum device_rate rate, enum figure figure)
{
	g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(gdouble));

	FOR_EACH(const struct kernel_efficiency, row, table->rows) {
		gdouble share = figure_of(row, figure);

		if (row->class == class && share > 0 && is_plain(row->rate) == is_plain(rate))
			g_array_append_val(shares, share);
	}
	if (shares->len == 0)
		return 0;
	g_array_sort(shares, order_double);
	return (g_array_index(shares, gdouble, (shares->len - 1) / 2) +
		g_array_index(shares, gdouble, shares->len / 2)) /
	       2;
}

/* The share of a peak; 1: nothing is known. */
static gdouble share_of(const struct kernel_efficiencies *table, const struct device_peak *device,
			enum kernel_class class, enum device_rate rate, enum figure figure,
			gboolean *ret_is_measured)
{
	struct kernel_demand demand = { .class = class, .rate = rate };
	const struct kernel_efficiency *row = kernel_efficiency_find(table, device, &demand);
	gdouble share = row ? figure_of(row, figure) : 0;

	*ret_is_measured = share > 0;
	if (share <= 0)
		share = median_share(table, class, rate, figure);
	if (share <= 0 && figure == BYTES_SHARE) /* of other numbers: memory does not know them */
		share = MAX(median_share(table, class, DEVICE_FP32, figure),
			    median_share(table, class, DEVICE_BF16, figure));
	return share > 0 ? share : 1;
}

/* With units for just such numbers; FALSE: the device has none. */
static gboolean reach_with(struct kernel_reach *reach, const struct kernel_efficiencies *table,
			   const struct device_peak *device, enum kernel_class class,
			   enum device_rate rate)
{
	gboolean has_ops, has_bytes;

	if (device->tera_ops[rate] <= 0)
		return FALSE;
	reach->ops_per_ns = device->tera_ops[rate] * 1e3 *
			    share_of(table, device, class, rate, OPS_SHARE, &has_ops);
	reach->bytes_per_ns =
		device->gb_per_s * share_of(table, device, class, rate, BYTES_SHARE, &has_bytes);
	reach->is_measured = kernel_class_is_arithmetic(class) ? has_ops : has_bytes;
	return TRUE;
}

/* By the units for such numbers or for wider ones, whichever are faster: libraries have kernels for both. What is not bound by arithmetic
 * uses no units for matrices. */
static struct kernel_reach best_reach(const struct kernel_efficiencies *table,
				      const struct device_peak *device, enum kernel_class class,
				      enum device_rate rate)
{
	struct kernel_reach best = { 0 }, reach;
	enum device_rate unit = kernel_class_is_arithmetic(class) ? rate : DEVICE_FP32;

	for (;; unit = device_wider_rate(unit)) {
		if (reach_with(&reach, table, device, class, unit)) {
			gdouble bytes_per_ns = MAX(best.bytes_per_ns, reach.bytes_per_ns);

			if (reach.ops_per_ns > best.ops_per_ns)
				best = reach;
			best.bytes_per_ns = bytes_per_ns;
		}
		if (unit == device_wider_rate(unit))
			return best;
	}
}

static gboolean is_narrow(enum device_rate rate)
{
	return rate != DEVICE_FP32 && rate != DEVICE_TF32;
}

void device_reach_init(struct device_reach *reach, const struct kernel_efficiencies *table,
		       const struct device_peak *device)
{
	reach->device = device;
	for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
		for (guint rate = 0; rate < DEVICE_N_RATES; rate++) {
			struct kernel_reach *own = &reach->of[class][rate];

			*own = best_reach(table, device, class, rate);
			if (!is_narrow(rate) || device->tera_ops[rate] > 0)
				continue;
			own->bytes_per_ns *= CONVERTED_BYTES;
			own->ops_per_ns *= CONVERTED_OPS;
		}
}

static enum device_rate rate_of(const struct kernel_demand *demand)
{
	return demand->rate == DEVICE_N_RATES ? DEVICE_FP32 : demand->rate;
}

gdouble kernel_split_work_ns(const struct device_reach *reach, const struct kernel_demand *demand)
{
	const struct kernel_reach *own = &reach->of[demand->class][rate_of(demand)];

	return MAX(demand->flops / own->ops_per_ns, demand->bytes / own->bytes_per_ns);
}

gdouble kernel_split_peak_ns(const struct device_reach *reach, const struct kernel_demand *demand)
{
	return MAX(demand->flops / device_ops_per_ns(reach->device, rate_of(demand)),
		   demand->bytes / reach->device->gb_per_s);
}

struct kernel_demand kernel_demand_batched(struct kernel_demand demand, gdouble factor)
{
	demand.flops *= factor;
	demand.bytes = demand.weight_bytes + (demand.bytes - demand.weight_bytes) * factor;
	return demand;
}

gboolean kernel_split_is_measured(const struct device_reach *reach,
				  const struct kernel_demand *demand)
{
	return reach->of[demand->class][rate_of(demand)].is_measured;
}

struct kernel_split kernel_split_of(const struct device_reach *reach,
				    const struct kernel_demand *demand, gdouble duration_ns,
				    gdouble least_ns, gdouble otherwise)
{
	struct kernel_split split = { 0 };

	if (duration_ns <= 0)
		return split;
	split.most = MAX(1 - least_ns / duration_ns, 0);
	split.is_known = reach && (demand->flops > 0 || demand->bytes > 0);
	if (split.is_known) {
		split.work = MIN(kernel_split_work_ns(reach, demand) / duration_ns, split.most);
		split.least = MIN(kernel_split_peak_ns(reach, demand) / duration_ns, split.work);
	} else {
		split.work = otherwise * split.most;
	}
	return split;
}
