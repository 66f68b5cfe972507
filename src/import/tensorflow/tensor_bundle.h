/* tensor_bundle: values in a checkpoint of TensorFlow: of its second format PREFIX.index, a sorted table from names to where
 * their values are, and PREFIX.data-00000-of-00001 ..., the values; of its first format the file PREFIX, or
 * PREFIX-00000-of-00001 ..., tables with the values in them.
 *
 * Every offset and size is checked before it is used, and every block and value against its checksum. */
#ifndef TACHO_TENSOR_BUNDLE_H
#define TACHO_TENSOR_BUNDLE_H

#include <glib.h>

typedef struct tensor_bundle tensor_bundle;

/* `path` is the PREFIX, or the name of its index. NULL, with the file and the reason: it is no such checkpoint. */
tensor_bundle *tensor_bundle_open(const gchar *path, GError **error);
void tensor_bundle_close(tensor_bundle *bundle);

/* Whether there is a value of that name: of a variable, or of what Keras calls NAME/.ATTRIBUTES/VARIABLE_VALUE. */
gboolean tensor_bundle_has(const tensor_bundle *bundle, const gchar *name);
/* The values, the last dimension first to change, with two decimals, "[0.50 1.00 ...]": at most `max_values` of them. What
 * cannot be read is said in their place. NULL: there is none of that name. To be freed with g_free(). */
gchar *tensor_bundle_values(const tensor_bundle *bundle, const gchar *name, guint max_values);

#endif
