/* function_ids: the numbers that RecordFunction gave what an importer read, for an execution trace of the same
 * run to find its operations by. Kept only where there is one. */
#ifndef TACHO_FUNCTION_IDS_H
#define TACHO_FUNCTION_IDS_H

#include <glib.h>

struct function_id {
	guint32 slice; /* row, as tacho_timeline_add_slice() returns it */
	gint64 external; /* "External id"; of a device's slice: of the op that asked for it; -1: none */
	gint64 record_function; /* "Record function id", -1: not told */
};

#endif
