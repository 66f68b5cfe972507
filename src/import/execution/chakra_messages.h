/* chakra_messages: .et files, a row of protocol buffers. */
#ifndef TACHO_CHAKRA_MESSAGES_H
#define TACHO_CHAKRA_MESSAGES_H

#include "import/execution/execution_trace.h"

/* Read the nodes of trace->path and give the trace what reads one again. If the file is broken, the trace gets
 * those nodes that can be read, and a problem that says where the file is broken. */
gboolean chakra_messages_read(struct execution_trace *trace, GError **error);

#endif
