/* byteprofile_tensors: how large the gradients are that a byteprofile trial numbers.
 *
 * `gradient_name_list.json` (or `gradient_name2ID.json`) tells which gradient has which number, `metadata.json` the shapes
 * and types of all tensors that operations take and give. Recorders write them for some ranks only: what stands in the
 * folder of any of them is true of all. */
#ifndef TACHO_BYTEPROFILE_TENSORS_H
#define TACHO_BYTEPROFILE_TENSORS_H

#include <tacho/timeline.h>

/* A gradient. */
struct byteprofile_tensor {
	guint64 bytes;	    /* 0: not known */
	TachoTensor tensor; /* its shape and type, as far as they are told */
};

/* struct byteprofile_tensor, each gradient by its number; of what is in the first of `folders` (a NULL behind the last)
 * that has such a file. NULL: no gradient is known. To be ended with g_array_unref(). */
GArray *byteprofile_tensors_read(const gchar *const *folders);
/* The one of that number; NULL: nothing is known of it. `tensors` may be NULL. */
const struct byteprofile_tensor *byteprofile_tensors_find(const GArray *tensors, guint64 number);

/* The sum over the numbers in "3+4+7"; 0 where one of them is not known. */
guint64 byteprofile_tensors_sum(const GArray *tensors, const gchar *numbers, gsize n);

#endif
