/* device_table: accelerators by name, and what they can do at most (devices.def). */
#ifndef TACHO_DEVICE_TABLE_H
#define TACHO_DEVICE_TABLE_H

#include <glib.h>

/* What numbers arithmetic is done with. */
enum device_rate {
	DEVICE_FP32,
	DEVICE_TF32,
	DEVICE_FP16,
	DEVICE_BF16,
	DEVICE_INT8,
	DEVICE_N_RATES,
};

enum device_maker { MAKER_NVIDIA, MAKER_AMD };

struct device_peak {
	const gchar *name;
	enum device_maker maker;
	const gchar *chip, *pattern, *source;
	gdouble tera_ops[DEVICE_N_RATES]; /* a second; 0: no such unit */
	gdouble gb_per_s;		  /* of its memory */
};

/* The row of that name, or else the first whose pattern matches; NULL: there is none. */
const struct device_peak *device_find(const gchar *name);

/* Operations a ns: where there is no unit for such numbers, those of the next wider. */
gdouble device_ops_per_ns(const struct device_peak *device, enum device_rate rate);

/* What takes the place of such numbers where a device has no unit for them: the next wider; of fp32 itself. */
enum device_rate device_wider_rate(enum device_rate rate);

/* All names, between ", ". To be freed with g_free(). */
gchar *device_names(void);

/* The rate of a tensor's type as in TachoTensor; DEVICE_N_RATES: there is none. */
enum device_rate device_rate_of(const gchar *dtype);

/* "bf16"; NULL for DEVICE_N_RATES. */
const gchar *device_rate_name(enum device_rate rate);
/* The rate of that name; DEVICE_N_RATES: there is none. */
enum device_rate device_rate_find(const gchar *name);

#endif
