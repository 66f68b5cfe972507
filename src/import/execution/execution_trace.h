/* execution_trace: the operations of a program and what they depend on, as PyTorch's execution traces and
 * Chakra's tell them: nodes, most of them without a time.
 *
 * A reader of files adds nodes (begin_node, add_tensors, add_dependency). Put in order, they become slices of a
 * timeline, or what one that was measured lacks (execution_link.h).
 *
 * (1) After execution_trace_sort() nodes are ordered by id, and `parent_index` is below the node's own
 *     index or TACHO_NONE. PyTorch gives ids as operations begin: this is the order of the program.
 * (2) Strings are the timeline's. */
#ifndef TACHO_EXECUTION_TRACE_H
#define TACHO_EXECUTION_TRACE_H

#include "import/import_format.h"
#include "import/read/json_file.h"
#include "import/read/json_scan.h"
#include "trace/source.h"

enum execution_role {
	EXECUTION_STRUCTURE, /* the program or a thread of it: no operation */
	EXECUTION_HOST,
	EXECUTION_DEVICE,
};

struct execution_tensor {
	guint64 tensor, storage; /* numbers that the trace gave them */
	guint64 offset_bytes;	 /* in the storage */
	const gchar *dtype;	 /* static */
	guint32 device;		 /* string id */
	guint32 first_dim;	 /* in dims */
	guint16 argument;
	guint8 element_bytes, n_dims;
};

struct execution_node {
	guint64 id, parent;	/* parent: id, 0: none */
	gint64 record_function; /* RecordFunction's number, -1: not told */
	gint64 sequence;	/* autograd's, -1: none */
	guint64 forward_thread; /* 0: none */
	gint64 start_ns;	/* -1: not told */
	gint64 duration_ns;	/* -1: not told */
	guint64 place;		/* where in the decoded file */
	guint64 bytes;		/* of a collective, or that a kernel moves */
	guint64 flops;		/* of a kernel; 0: not told */
	guint32 collective;	/* string id of what collective it asks for, 0: none */
	guint32 group;		/* string id of its process group's name, 0: not told */
	guint32 name;		/* string id */
	guint32 tid;		/* thread, or stream */
	guint32 first_tensor, n_inputs, n_outputs;
	guint32 first_dependency, n_dependencies; /* data first */
	guint32 n_data_dependencies;
	guint32 parent_index, last_index; /* last: of the last node inside it; filled by sort() */
	guint8 kind;			  /* TachoSliceKind */
	guint8 role;			  /* enum execution_role */
	guint8 has_children;
};

/* What must be before what: indexes of nodes. */
struct execution_edge {
	guint32 from, to;
	guint8 kind; /* TachoFlowKind: DATA, CONTROL */
};

struct execution_trace {
	TachoTimeline *timeline;
	gchar *path;
	GArray *nodes;		/* struct execution_node */
	GArray *tensors;	/* struct execution_tensor: of each node inputs, then outputs */
	GArray *dims;		/* gint64 */
	GArray *dependencies;	/* guint64: ids */
	GArray *groups;		/* struct execution_group */
	struct json_file *file; /* where nodes are JSON objects at their places; owned */
	struct foreign_reader *texts; /* else: whose args_json() tells a node by its place; owned */
	gint64 pid;		      /* -1: not told */
	guint64 n_unknown;	      /* nodes that could not be read as such */
};

/* A process group that the trace tells of. */
struct execution_group {
	guint32 name, ranks; /* string ids; ranks: "0,1,2", "": not told */
};

/* `path` is copied. To be freed with execution_trace_free(), or given to execution_args_new(). */
struct execution_trace *execution_trace_new(TachoTimeline *timeline, const gchar *path);
void execution_trace_free(struct execution_trace *trace);

static inline struct execution_node *execution_trace_node(const struct execution_trace *trace,
							  guint32 index)
{
	return &g_array_index(trace->nodes, struct execution_node, index);
}

/* A node that nothing is known of yet; good until the next is begun. */
struct execution_node *execution_trace_begin_node(struct execution_trace *trace);
/* The tensors among a node's inputs or outputs, of the node begun last; inputs come first. The texts are
 * lists in JSON that go side by side: values, where a tensor is [its number, its storage's, offset, elements,
 * bytes of one, device], shapes, and types, where a tensor is "Tensor(float)". Those empty are not known. */
void execution_trace_add_tensors(struct execution_trace *trace, struct execution_node *node,
				 const struct json_text *values, const struct json_text *shapes,
				 const struct json_text *types, gboolean are_outputs);
/* What the node begun last depends on; data first. */
void execution_trace_add_dependency(struct execution_trace *trace, struct execution_node *node,
				    guint64 id, TachoFlowKind kind);
/* A process group, if it has not been told of before. */
void execution_trace_add_group(struct execution_trace *trace, guint32 name, const gchar *ranks);

/* (1) */
void execution_trace_sort(struct execution_trace *trace);
/* The index of the node with that id, after sort(); TACHO_NONE: there is none. */
guint32 execution_trace_find(const struct execution_trace *trace, guint64 id);
/* The node's nearest node up its parents, itself included, that asks for a collective; TACHO_NONE. */
guint32 execution_trace_find_collective(const struct execution_trace *trace, guint32 index);

/* Where nodes tell what they depend on, that; else who made or changed each tensor, or the storage it is
 * in, last, before who uses it, in the order of the program. struct execution_edge, by `to`; to be
 * unref'd. */
GArray *execution_trace_edges(const struct execution_trace *trace);

/* Add the trace as a process of its own. Nodes without times get the order of the program: one nanosecond
 * each, from `base_ns` on. */
void execution_trace_place(struct import *import, struct execution_trace *trace, gint64 base_ns);

/* Add the marks that correlate knows the process groups by, to a track of the process. */
void execution_trace_mark_groups(const struct execution_trace *trace, guint32 track,
				 gint64 time_ns);

/* The rank that a file's name tells: as import_rank_of_name(), or "..._et_3.json", "workload.3.et". */
gint32 execution_trace_rank(const gchar *path);

#endif
