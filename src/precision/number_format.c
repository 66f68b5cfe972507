#include "precision/number_format.h"

#include <string.h>

#include "import/element_type.h"

static const struct {
	const gchar *name;
	guint8 bytes, significand, result;
	guint8 qsync_bits;
} formats[N_NUMBER_FORMATS] = {
#define NUMBER_FORMAT(enumerator, name, bytes, significand, result, qsync)                         \
	{ name, bytes, significand, FORMAT_##result, qsync },
#include "precision/number_formats.def"
#undef NUMBER_FORMAT
};

const gchar *number_format_name(enum number_format format)
{
	return formats[format].name;
}

enum number_format number_format_find(const gchar *name, gsize n)
{
	guint i = 0;

	while (i < N_NUMBER_FORMATS &&
	       (strlen(formats[i].name) != n || memcmp(formats[i].name, name, n) != 0))
		i++;
	return (enum number_format)i;
}

enum number_format number_format_of_dtype(const gchar *dtype)
{
	static const struct {
		const gchar *name;
		enum number_format format;
	} known[] = {
		{ "float64", FORMAT_FP64 },    { "float32", FORMAT_FP32 },
		{ "float16", FORMAT_FP16 },    { "bfloat16", FORMAT_BF16 },
		{ "int8", FORMAT_INT8 },       { "float8_e4m3", FORMAT_FP8 },
		{ "float8_e5m2", FORMAT_FP8 },
	};
	guint8 bytes;
	const gchar *name = element_type_name(dtype, -1, &bytes);

	for (guint i = 0; i < G_N_ELEMENTS(known); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].format;
	return N_NUMBER_FORMATS;
}

guint number_format_bytes(enum number_format format)
{
	return formats[format].bytes;
}

guint number_format_significand(enum number_format format)
{
	return formats[format].significand;
}

enum number_format number_format_input(enum number_format format)
{
	return format == FORMAT_TF32 ? FORMAT_FP32 : format;
}

enum number_format number_format_result(enum number_format format)
{
	return (enum number_format)formats[format].result;
}

/* Of floating formats, one whose significand and exponents hold those of both. */
enum number_format number_format_promote(enum number_format a, enum number_format b)
{
	static const guint8 rank[N_NUMBER_FORMATS] = {
		[FORMAT_FP64] = 5, [FORMAT_FP32] = 4, [FORMAT_TF32] = 3, [FORMAT_BF16] = 2,
		[FORMAT_FP16] = 2, [FORMAT_FP8] = 1,  [FORMAT_INT8] = 0,
	};

	if (a == b)
		return a;
	if (rank[a] == rank[b]) /* neither of bf16 and fp16 holds the other */
		return FORMAT_FP32;
	return rank[a] > rank[b] ? a : b;
}

guint number_format_qsync_bits(enum number_format format)
{
	return formats[format].qsync_bits;
}

enum number_format number_format_of_qsync(gint64 bits)
{
	guint i = 0;

	while (i < N_NUMBER_FORMATS && (bits <= 0 || formats[i].qsync_bits != bits))
		i++;
	return (enum number_format)i;
}
