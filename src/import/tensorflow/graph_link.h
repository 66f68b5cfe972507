/* graph_link: a graph of TensorFlow that comes beside a trace of somebody else: which operation of the trace reads the
 * results of which. */
#ifndef TACHO_GRAPH_LINK_H
#define TACHO_GRAPH_LINK_H

#include "import/import_format.h"
#include "import/tensorflow/tf_ops.h"

/* Add arrows to the operations that have been read so far, of those whose names are those of the graph's nodes: from the
 * last run of each input before an operation began, in the same process. `path` is the graph's, for problems. */
void graph_link(struct import *import, const struct tf_ops *ops, const gchar *path);

#endif
