/* tensor_bytes: how large a tensor is. */
#ifndef TACHO_TENSOR_BYTES_H
#define TACHO_TENSOR_BYTES_H

#include <tacho/timeline.h>

/* Bytes of all elements of a dense tensor; false: not known, none, or too many. */
static inline gboolean tensor_bytes(const TachoTensor *tensor, guint64 *ret_bytes)
{
	guint64 bytes = tensor->dtype_bytes;

	if (tensor->n_dims > TACHO_MAX_DIMS)
		return FALSE;
	for (guint32 i = 0; i < tensor->n_dims; i++)
		if (tensor->shape[i] < 0 ||
		    !g_uint64_checked_mul(&bytes, bytes, (guint64)tensor->shape[i]))
			return FALSE;
	*ret_bytes = bytes;
	return bytes > 0;
}

#endif
