/* element_type: types of tensors' elements, by the names that libraries give them. */
#ifndef TACHO_ELEMENT_TYPE_H
#define TACHO_ELEMENT_TYPE_H

#include <glib.h>

/* Our name ("float32") of what somebody calls "f32", "float", "ncclFloat32", "HOROVOD_FLOAT32" or "torch.float32",
 * in any case; "" and 0 bytes where it is not known. `n` in bytes, -1: up to the NUL. */
const gchar *element_type_name(const gchar *name, gssize n, guint8 *ret_bytes);

#endif
