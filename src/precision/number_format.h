/* number_format: what numbers an operation computes with, by name and by what they take (number_formats.def). */
#ifndef TACHO_NUMBER_FORMAT_H
#define TACHO_NUMBER_FORMAT_H

#include <glib.h>

enum number_format {
#define NUMBER_FORMAT(enumerator, name, bytes, significand, result, qsync) FORMAT_##enumerator,
#include "precision/number_formats.def"
#undef NUMBER_FORMAT
	N_NUMBER_FORMATS
};

/* "bf16". */
const gchar *number_format_name(enum number_format format);
/* The format of that name; N_NUMBER_FORMATS: there is none. */
enum number_format number_format_find(const gchar *name, gsize n);
/* The same of a tensor's type as recordings have it ("float32", "bfloat16", "Half", "c10::Half" ...). */
enum number_format number_format_of_dtype(const gchar *dtype);
/* Bytes of a number where it is stored. */
guint number_format_bytes(enum number_format format);
/* Bits of the significand, with the one that is not stored; 0: an integer. */
guint number_format_significand(enum number_format format);
/* The format that inputs of an operation are stored in: tf32 reads fp32, each other one itself. */
enum number_format number_format_input(enum number_format format);
/* The format that its results are stored in, unless a kernel says otherwise: tf32 and int8 give fp32, fp8 bf16. */
enum number_format number_format_result(enum number_format format);
/* The format in which an operation computes that reads both, as frameworks promote: the wider one; of bf16 and fp16, fp32. */
enum number_format number_format_promote(enum number_format a, enum number_format b);
/* QSync's word for it (8, 16, 19, 32); 0: it has none. And the format of such a number; N_NUMBER_FORMATS: there is none. */
guint number_format_qsync_bits(enum number_format format);
enum number_format number_format_of_qsync(gint64 bits);

#endif
