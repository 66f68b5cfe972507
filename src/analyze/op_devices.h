/* op_devices: which devices an operation ran on.
 *
 * For a graph of TensorFlow, the device that its node was placed on: told with its types, or else that of its track. For other
 * operations, those whose work it launched. */
#ifndef TACHO_OP_DEVICES_H
#define TACHO_OP_DEVICES_H

#include "analyze/op_facts.h"

/* Add the devices of the slice to `devices`, a comma-separated list, as far as they are not in it and there is room. */
void op_devices_add(GString *devices, const TachoTimeline *timeline, guint32 slice,
		    const struct op_fact *fact);
/* The same of a name. */
void op_devices_add_name(GString *devices, const gchar *name);
/* Whether any of the list matches one of the expressions. */
gboolean op_devices_match(const GPtrArray *regexes, const gchar *devices);

#endif
