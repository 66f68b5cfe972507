/* chakra_json: Chakra's nodes in JSON, in either of two forms. */
#ifndef TACHO_CHAKRA_JSON_H
#define TACHO_CHAKRA_JSON_H

#include "import/execution/execution_trace.h"

/* Read the nodes of trace->path and give the trace its file, which reads one again; as execution_json_read(). */
gboolean chakra_json_read(struct import *import, struct execution_trace *trace, GError **error);

#endif
