#include "import/c10_dtype.h"

#include <string.h>

static const struct {
	const gchar *name, *ours;
	guint bytes;
} dtypes[] = {
	{ "float", "float32", 4 },
	{ "Float", "float32", 4 },
	{ "c10::Half", "float16", 2 },
	{ "Half", "float16", 2 },
	{ "c10::BFloat16", "bfloat16", 2 },
	{ "BFloat16", "bfloat16", 2 },
	{ "long int", "int64", 8 },
	{ "Long", "int64", 8 },
	{ "long", "int64", 8 },
	{ "int", "int32", 4 },
	{ "Int", "int32", 4 },
	{ "double", "float64", 8 },
	{ "Double", "float64", 8 },
	{ "bool", "bool", 1 },
	{ "Bool", "bool", 1 },
	{ "unsigned char", "uint8", 1 },
	{ "Byte", "uint8", 1 },
	{ "signed char", "int8", 1 },
	{ "Char", "int8", 1 },
	{ "short int", "int16", 2 },
	{ "short", "int16", 2 },
	{ "Short", "int16", 2 },
	{ "c10::complex<float>", "complex64", 8 },
	{ "ComplexFloat", "complex64", 8 },
	{ "c10::complex<double>", "complex128", 16 },
	{ "ComplexDouble", "complex128", 16 },
	{ "c10::Float8_e4m3fn", "float8_e4m3fn", 1 },
	{ "Float8_e4m3fn", "float8_e4m3fn", 1 },
	{ "c10::Float8_e5m2", "float8_e5m2", 1 },
	{ "Float8_e5m2", "float8_e5m2", 1 },
};

static guint find_dtype(const gchar *bytes, gsize n)
{
	guint i = 0;

	while (i < G_N_ELEMENTS(dtypes) &&
	       !(strlen(dtypes[i].name) == n && memcmp(dtypes[i].name, bytes, n) == 0))
		i++;
	return i;
}

guint c10_dtype_bytes(const gchar *bytes, gsize n)
{
	guint i = find_dtype(bytes, n);

	return i < G_N_ELEMENTS(dtypes) ? dtypes[i].bytes : 0;
}

const gchar *c10_dtype_name(const gchar *bytes, gsize n)
{
	guint i = find_dtype(bytes, n);

	return i < G_N_ELEMENTS(dtypes) ? dtypes[i].ours : "";
}
