#include "cost/device_table.h"

#include <string.h>

static const struct device_peak devices[] = {
#define DEVICE(name, maker, chip, pattern, fp32, tf32, fp16, bf16, int8, bandwidth, source)        \
	{ name, MAKER_##maker, chip, pattern, source, { fp32, tf32, fp16, bf16, int8 }, bandwidth },
#include "cost/devices.def"
#undef DEVICE
};

const struct device_peak *device_find(const gchar *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(devices); i++)
		if (g_ascii_strcasecmp(devices[i].name, name) == 0)
			return &devices[i];
	for (guint i = 0; i < G_N_ELEMENTS(devices); i++)
		if (g_regex_match_simple(devices[i].pattern, name, G_REGEX_CASELESS, 0))
			return &devices[i];
	return NULL;
}

enum device_rate device_wider_rate(enum device_rate rate)
{
	static const enum device_rate wider[DEVICE_N_RATES] = {
		[DEVICE_FP32] = DEVICE_FP32, [DEVICE_TF32] = DEVICE_FP32,
		[DEVICE_FP16] = DEVICE_FP32, [DEVICE_BF16] = DEVICE_FP32,
		[DEVICE_INT8] = DEVICE_FP16,
	};

	return wider[rate];
}

gdouble device_ops_per_ns(const struct device_peak *device, enum device_rate rate)
{
	while (device->tera_ops[rate] <= 0 && device_wider_rate(rate) != rate)
		rate = device_wider_rate(rate);
	return device->tera_ops[rate] * 1e3;
}

gchar *device_names(void)
{
	GString *names = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(devices); i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "", devices[i].name);
	return g_string_free(names, FALSE);
}

enum device_rate device_rate_of(const gchar *dtype)
{
	static const struct {
		const gchar *dtype;
		enum device_rate rate;
	} rates[] = {
		{ "float32", DEVICE_FP32 },  { "float16", DEVICE_FP16 },
		{ "bfloat16", DEVICE_BF16 }, { "complex64", DEVICE_FP32 },
		{ "int8", DEVICE_INT8 },     { "uint8", DEVICE_INT8 },
		{ "qint8", DEVICE_INT8 },    { "quint8", DEVICE_INT8 },
	};

	for (guint i = 0; dtype && i < G_N_ELEMENTS(rates); i++)
		if (strcmp(rates[i].dtype, dtype) == 0)
			return rates[i].rate;
	return DEVICE_N_RATES;
}

static const gchar *const rate_names[DEVICE_N_RATES] = {
	[DEVICE_FP32] = "fp32", [DEVICE_TF32] = "tf32", [DEVICE_FP16] = "fp16",
	[DEVICE_BF16] = "bf16", [DEVICE_INT8] = "int8",
};

const gchar *device_rate_name(enum device_rate rate)
{
	return rate < DEVICE_N_RATES ? rate_names[rate] : NULL;
}

enum device_rate device_rate_find(const gchar *name)
{
	guint i = 0;

	while (i < DEVICE_N_RATES && strcmp(rate_names[i], name) != 0)
		i++;
	return (enum device_rate)i;
}
