/* kernel_efficiency: how much of what devices can do at most (device_table) kernels of each class reach, as measured;
 * and how long a kernel takes on another device by that.
 *
 * A kernel of a class takes, on a device,
 *
 *     floor + max(operations / (peak rate * share of operations), bytes / (memory's bandwidth * share of bytes))
 *
 * The first is the roofline with ceilings of the class's own (S. Williams, A. Waterman, D. Patterson, "Roofline", 2009,
 * has them as "ceilings"), the floor what the shortest kernel of the class takes. What a kernel takes beyond the floor
 * is scaled by what the second term takes on both devices: so a kernel that is slower than its class on the one is
 * taken to be as much slower on the other.
 *
 * (1) A kernel on the device that it was on takes what it took.
 * (2) From one device to another and back is no change. */
#ifndef TACHO_KERNEL_EFFICIENCY_H
#define TACHO_KERNEL_EFFICIENCY_H

#include "cost/device_table.h"
#include "trace/kernel_class.h"

struct kernel_efficiency {
	const struct device_peak *device;
	enum kernel_class class;
	enum device_rate rate; /* of its operations; DEVICE_N_RATES: of all */
	gdouble floor_ns;      /* 0: not known */
	gdouble ops_share;     /* of the peak rate; 0: not known */
	gdouble bytes_share;   /* of the memory's bandwidth; 0: not known */
};

/* What kernel_efficiencies.def has, or what a file of that has. */
struct kernel_efficiencies {
	GArray *rows; /* struct kernel_efficiency */
};

/* What was measured for tacho. */
void kernel_efficiencies_init(struct kernel_efficiencies *table);
/* No class was measured: each is taken to reach the same shares of both devices' peaks. */
void kernel_efficiencies_init_equal(struct kernel_efficiencies *table);
/* What a file tells (docs/what-if.md), to be released whatever is returned. G_FILE_ERROR, G_KEY_FILE_ERROR. */
gboolean kernel_efficiencies_read(struct kernel_efficiencies *table, const gchar *path,
				  GError **error);
void kernel_efficiencies_release(struct kernel_efficiencies *table);

/* What a kernel is there to do. */
struct kernel_demand {
	enum kernel_class class;
	enum device_rate rate; /* DEVICE_N_RATES: not known */
	gdouble flops, bytes;  /* both 0: not known */
	gdouble weight_bytes;  /* of `bytes`, what is as large whatever the batch */
};

/* What was measured of such kernels on the device, or another with its chip; good for as long as the table; NULL: nothing was. */
const struct kernel_efficiency *kernel_efficiency_find(const struct kernel_efficiencies *table,
						       const struct device_peak *device,
						       const struct kernel_demand *demand);

/* By what a time on another device was found. */
enum efficiency_ground {
	EFFICIENCY_MEASURED, /* the class was measured on both devices */
	EFFICIENCY_EQUAL,   /* the class is taken to reach the same shares of both devices' peaks */
	EFFICIENCY_UNKNOWN, /* neither work nor class is known: by the memory's bandwidth */
	EFFICIENCY_N_GROUNDS,
};

/* How long what took `duration_ns` on `from` takes on `to`. */
gdouble kernel_efficiency_move(const struct kernel_efficiencies *table,
			       const struct device_peak *from, const struct device_peak *to,
			       const struct kernel_demand *demand, gdouble duration_ns,
			       enum efficiency_ground *ret_ground);

/* The mean error of predicted times of kernels, percent, of models that the shares were not fitted on
 * (docs/validation-devices.md); 0: not measured. */
gdouble kernel_efficiency_error(const struct device_peak *from, const struct device_peak *to,
				enum efficiency_ground ground);

#endif
