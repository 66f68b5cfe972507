/* byteprofile_tensors: how large the gradients are that a byteprofile trial numbers.
 *
 * `gradient_name_list.json` (or `gradient_name2ID.json`) tells which gradient has which number, `metadata.json` the shapes
 * and types of all tensors that operations take and give. Recorders write them for some ranks only: what stands in the
 * folder of any of them is true of all. */
#ifndef TACHO_BYTEPROFILE_TENSORS_H
#define TACHO_BYTEPROFILE_TENSORS_H

#include <glib.h>

/* Bytes of each gradient by its number, 0 where they are not known; of what is in the first of `folders` (a NULL behind
 * the last) that has such a file. NULL: no gradient is known. To be ended with g_array_unref(). */
GArray *byteprofile_tensors_read(const gchar *const *folders);

/* The sum over the numbers in "3+4+7"; 0 where one of them is not known. */
guint64 byteprofile_tensors_sum(const GArray *tensors, const gchar *numbers, gsize n);

#endif
