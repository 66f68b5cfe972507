/* chakra_node: what a node of a Chakra trace tells, in whichever form, and what becomes of it. */
#ifndef TACHO_CHAKRA_NODE_H
#define TACHO_CHAKRA_NODE_H

#include "import/execution/execution_trace.h"

enum chakra_type {
	CHAKRA_METADATA = 1,
	CHAKRA_LOAD,
	CHAKRA_STORE,
	CHAKRA_COMPUTE,
	CHAKRA_SEND,
	CHAKRA_RECEIVE,
	CHAKRA_COLLECTIVE,
	CHAKRA_STORAGE,
	CHAKRA_BATCH,
	CHAKRA_CHECKPOINT,
};

/* What a node tells beside its own fields, in any of the forms. */
struct chakra_facts {
	gint64 type;
	gint64 is_host; /* "is_cpu_op"; -1: not told */
	gint64 tid;	/* -1: not told */
	gint64 sequence, record_function, forward_thread;
	gint64 collective; /* "comm_type", -1: not told */
	gint64 bytes, n_operations;
	struct json_text group; /* "pg_name" */
};

#define CHAKRA_NO_FACTS                                                                            \
	{                                                                                          \
		.is_host = -1, .tid = -1, .sequence = -1, .record_function = -1, .collective = -1  \
	}

/* The fact of that name that is a number, or NULL. */
gint64 *chakra_facts_find(struct chakra_facts *facts, const gchar *name, gsize n);
/* Let the node, which has its name, be what the facts say. Where nothing says whose work it is, communication
 * and what loads and stores are a device's; a device whose streams are not told has one for communication and
 * one for the rest. */
void chakra_facts_use(struct execution_trace *trace, struct execution_node *node,
		      const struct chakra_facts *facts);
/* Microseconds in nanoseconds; -1: more than can be. */
gint64 chakra_ns(guint64 us);

#endif
