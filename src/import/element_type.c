#include "import/element_type.h"

#include <string.h>

static const struct {
	const gchar *theirs, *ours;
	guint8 bytes;
} types[] = {
	{ "f32", "float32", 4 },
	{ "float32", "float32", 4 },
	{ "float", "float32", 4 },
	{ "tf32", "float32", 4 },
	{ "f16", "float16", 2 },
	{ "float16", "float16", 2 },
	{ "half", "float16", 2 },
	{ "bf16", "bfloat16", 2 },
	{ "bfloat16", "bfloat16", 2 },
	{ "f64", "float64", 8 },
	{ "float64", "float64", 8 },
	{ "double", "float64", 8 },
	{ "s8", "int8", 1 },
	{ "i8", "int8", 1 },
	{ "int8", "int8", 1 },
	{ "char", "int8", 1 },
	{ "u8", "uint8", 1 },
	{ "uint8", "uint8", 1 },
	{ "byte", "uint8", 1 },
	{ "s16", "int16", 2 },
	{ "int16", "int16", 2 },
	{ "uint16", "uint16", 2 },
	{ "s32", "int32", 4 },
	{ "i32", "int32", 4 },
	{ "int32", "int32", 4 },
	{ "int", "int32", 4 },
	{ "u32", "uint32", 4 },
	{ "uint32", "uint32", 4 },
	{ "s64", "int64", 8 },
	{ "i64", "int64", 8 },
	{ "int64", "int64", 8 },
	{ "long", "int64", 8 },
	{ "u64", "uint64", 8 },
	{ "uint64", "uint64", 8 },
	{ "bool", "bool", 1 },
	{ "boolean", "bool", 1 },
	{ "f8e4m3", "float8_e4m3", 1 },
	{ "f8_e4m3", "float8_e4m3", 1 },
	{ "float8e4m3", "float8_e4m3", 1 },
	{ "f8e5m2", "float8_e5m2", 1 },
	{ "f8_e5m2", "float8_e5m2", 1 },
	{ "float8e5m2", "float8_e5m2", 1 },
	{ "fp8_e4m3", "float8_e4m3", 1 },
	{ "fp8_e5m2", "float8_e5m2", 1 },
};

const gchar *element_type_name(const gchar *name, gssize n, guint8 *ret_bytes)
{
	static const gchar *const prefixes[] = { "nccl", "horovod_", "torch.", "tf.", "mpi_" };
	gsize length = n < 0 ? strlen(name) : (gsize)n;

	for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++) {
		gsize n_prefix = strlen(prefixes[i]);

		if (length > n_prefix && g_ascii_strncasecmp(name, prefixes[i], n_prefix) == 0) {
			name += n_prefix;
			length -= n_prefix;
			break;
		}
	}
	for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
		if (strlen(types[i].theirs) != length ||
		    g_ascii_strncasecmp(types[i].theirs, name, length) != 0)
			continue;
		*ret_bytes = types[i].bytes;
		return types[i].ours;
	}
	*ret_bytes = 0;
	return "";
}
