/* plan_bits: bit plans of QSync's, .npy files that hold one pickled dictionary {"linear_0": 8, ...}.
 *
 * (1) A pickle is a program. Only plain values and the three names with which NumPy wraps an object into an array are taken, and nothing is
 *     called (import/read/pickle.h); anything else is refused with the byte.
 * (2) An operation is called by QSync's name of its kind and its number among those of that kind, here in the order of the forward pass. QSync
 *     counts modules as they are registered, which is the same order where a model runs its modules so.
 * (3) Bits are 8 (int8), 16 (fp16), 19 (tf32) and 32 (fp32). bf16 is written as 16, too; what QSync has no word for is not written. */
#ifndef TACHO_PLAN_BITS_H
#define TACHO_PLAN_BITS_H

#include "precision/problem.h"

#define PLAN_BITS_MAX_BYTES (16u << 20)

struct plan_bit {
	gchar *layer; /* "linear_0"; owned */
	gint64 bits;
};

/* What a file holds, in its order: struct plan_bit; the caller's. TACHO_PRECISION_ERROR_FORMAT, with the byte: it is no such plan, or holds
 * more than one. */
GArray *plan_bits_parse(const guint8 *bytes, gsize n, GError **error);
/* The same of a file, which the message of an error names. */
GArray *plan_bits_read(const gchar *path, GError **error);
/* The bytes of such a file, which numpy.load(allow_pickle=True) reads; the caller's. */
GByteArray *plan_bits_bytes(const GArray *bits);

/* A plan of one worker as bits. */
GArray *plan_bits_of(const TachoPrecisionProblem *problem, const guint8 *formats);
/* Set the formats that the bits name in `formats`; 16 is fp16 where the operation may be that, else bf16. TACHO_PRECISION_ERROR_MATCH: a layer is
 * not in the problem, or may not have the bits; it is named. */
gboolean plan_bits_apply(const GArray *bits, const TachoPrecisionProblem *problem, guint32 worker,
			 guint8 *formats, GError **error);

#endif
