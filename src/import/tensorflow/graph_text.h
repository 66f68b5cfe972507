/* graph_text: a graph of TensorFlow as text (graph.pbtxt): what each node is, and what it reads. */
#ifndef TACHO_GRAPH_TEXT_H
#define TACHO_GRAPH_TEXT_H

#include "import/tensorflow/tf_ops.h"

/* Read name, op, inputs, and of attributes the shapes, of each node of the file at `path`. FALSE: it cannot be
 * opened. What is broken in it becomes a problem. */
gboolean graph_text_read(struct tf_ops *ops, const gchar *path, GError **error);

#endif
