/* c10_dtype: types of tensors' elements as PyTorch's C++ calls them, which its profiler and its execution traces write. */
#ifndef TACHO_C10_DTYPE_H
#define TACHO_C10_DTYPE_H

#include <glib.h>

/* Bytes of an element of a type that PyTorch calls "float", "c10::Half" or "BFloat16"; 0: not known. */
guint c10_dtype_bytes(const gchar *bytes, gsize n);
/* Our name of it: "float32"; "" where it is not known. */
const gchar *c10_dtype_name(const gchar *bytes, gsize n);

#endif
