/* tf_ops: what TensorFlow's profiles say of the nodes of a graph and of each run of one, in memory, as the
 * accessors of the timeline ask for it.
 *
 * (1) A node has one name; it is made when it is first spoken of.
 * (2) A tensor's identity is the node and the output it comes from: an input has the identity, and the shape, of
 *     the output it is connected to. So the graph of operations is that of the trace.
 * (3) Strings are those of the timeline. */
#ifndef TACHO_TF_OPS_H
#define TACHO_TF_OPS_H

#include <tacho/timeline.h>

#include "import/tensorflow/tensorflow.pb-c.h"
#include "trace/source.h"

#define TF_NOT_TOLD (-1)

/* Rows [first, first + n) of one of the tables below. */
struct tf_rows {
	guint32 first, n;
};

struct tf_tensor {
	guint32 slot; /* number of the output */
	gint32 dtype; /* TensorFlow's DataType; 0: not told */
	struct tf_rows dims;
	gint64 bytes; /* TF_NOT_TOLD */
};

struct tf_input {
	guint32 node, slot;
};

struct tf_node {
	guint32 name, type, tags; /* strings; 0: none */
	guint64 float_ops;	  /* 0: none told */
	gint64 parameters;	  /* TF_NOT_TOLD: it is none */
	gboolean is_trainable;
	struct tf_rows inputs; /* struct tf_input */
	struct tf_rows
		controls; /* the same of what it waits for, and does not read; of graphs as text */
	struct tf_rows outputs; /* struct tf_tensor */
	guint32 n_read;		/* outputs that nodes read, where nothing is told of any */
	struct tf_rows makers;	/* guint32 strings, the outermost function first */
};

/* A run of a node. The message that tells of it is read again for its args. */
struct tf_run {
	guint32 node;
	gboolean is_device;  /* what a device did for it: a kernel or a copy */
	guint64 moved_bytes; /* by that copy, 0: not told */
	guint32 file;	     /* index into paths */
	guint64 place;	     /* of the message's field in the file; 0: nowhere */
	struct tf_rows outputs;
	gint64 allocated_bytes, peak_bytes, residual_bytes, output_bytes; /* TF_NOT_TOLD */
};

struct tf_ops {
	struct foreign_reader reader;
	TachoTimeline *timeline;
	GPtrArray *paths;
	GPtrArray *
		json_files; /* struct json_file, by path; of JSON files, whose places are of objects */
	const ProtobufCMessageDescriptor
		*descriptor; /* of the messages at the runs' places; NULL: JSON */
	GArray *nodes, *runs, *inputs, *tensors, *dims, *makers;
	GHashTable *by_name;  /* string id -> node + 1 */
	struct tf_file *file; /* for args */
};

/* A reader to be given to tacho_source_take_foreign(), to be filled before the timeline is used. Places are rows
 * of `runs`. */
struct tf_ops *tf_ops_new(TachoTimeline *timeline, const ProtobufCMessageDescriptor *descriptor);

/* The number of a file, for struct tf_run. */
guint32 tf_ops_add_file(struct tf_ops *ops, const gchar *path);

static inline struct tf_node *tf_ops_node(const struct tf_ops *ops, guint32 node)
{
	return &g_array_index(ops->nodes, struct tf_node, node);
}
static inline struct tf_run *tf_ops_run(const struct tf_ops *ops, guint32 run)
{
	return &g_array_index(ops->runs, struct tf_run, run);
}

/* The node of that name. */
guint32 tf_ops_find(struct tf_ops *ops, guint32 name);
/* A string of the timeline. */
guint32 tf_ops_intern(struct tf_ops *ops, const ProtobufCBinaryData *text);
/* The node that an input "name:2" is an output of, and which: rule 1 of docs/formats.md. */
struct tf_input tf_ops_input(struct tf_ops *ops, const gchar *text, gsize n);
/* Dimensions of a shape; not known: none, and *ret_is_known is FALSE. */
struct tf_rows tf_ops_dims(struct tf_ops *ops, const Tacho__Tensorflow__TensorShape *shape,
			   gboolean *ret_is_known);
struct tf_rows tf_ops_tuple(struct tf_ops *ops, const gint64 *sizes, gsize n);
/* Product of dimensions; TF_NOT_TOLD: one is not known, or there are too many elements. */
gint64 tf_ops_elements(const struct tf_ops *ops, struct tf_rows dims);
/* Take over what a node of a graph says: its type, inputs, shapes. */
void tf_ops_add_node_def(struct tf_ops *ops, const Tacho__Tensorflow__NodeDef *def);
/* Add a type that the node is found under. */
void tf_ops_add_tag(struct tf_ops *ops, guint32 node, guint32 tag);
/* Whether the node holds parameters, by its type or a tag. */
gboolean tf_ops_is_variable(const struct tf_ops *ops, guint32 node);
/* What attributes say of the shapes of outputs, and of a variable's parameters. */
void tf_ops_add_attrs(struct tf_ops *ops, guint32 node, Tacho__Tensorflow__Attr *const *attrs,
		      gsize n);

/* When all inputs are there: what is read of a node is an output of it, also where nobody tells its shape. */
void tf_ops_find_outputs(struct tf_ops *ops);

/* A call stack: the frames' names by `find_text`, which may be NULL. */
void tf_ops_add_stack(struct tf_ops *ops, guint32 node, const Tacho__Tensorflow__CodeDef *code,
		      GHashTable *id_to_string);
/* When all stacks are there: what computes the gradient of a node was made where the node was. */
void tf_ops_place_gradients(struct tf_ops *ops);

/* "float32" and how many bytes it has; "": not one with a size. */
const gchar *tf_dtype_name(gint32 dtype, guint8 *ret_bytes);

#endif
