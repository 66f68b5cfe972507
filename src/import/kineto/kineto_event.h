/* kineto_event: one element of "traceEvents", as far as it is looked at.
 *
 * What is not looked at is skipped, and found again by `args_at` when somebody asks. */
#ifndef TACHO_KINETO_EVENT_H
#define TACHO_KINETO_EVENT_H

#include "import/read/json_scan.h"

/* What an event is, by its "ph" and "cat". */
enum kineto_kind {
	KINETO_OP,
	KINETO_ANNOTATION,
	KINETO_DEVICE_ANNOTATION,
	KINETO_FUNCTION,
	KINETO_RUNTIME,
	KINETO_KERNEL,
	KINETO_MEMCPY,
	KINETO_MEMSET,
	KINETO_SYNC,
	KINETO_HOST_COLLECTIVE, /* as a backend on processors tells it: from when it is queued until it is complete */
	KINETO_OTHER_SLICE, /* "ph": "X", of no category above */
	KINETO_INSTANT,
	KINETO_COUNTER,
	KINETO_METADATA,
	KINETO_FLOW,
	KINETO_UNKNOWN,
};

/* A "pid" or "tid": a number, or a text. */
struct kineto_id {
	gboolean is_text;
	gint64 number;
	struct json_text text;
};

struct kineto_event {
	enum kineto_kind kind;
	gchar phase;
	struct json_text name, category;
	struct kineto_id pid, tid;
	gint64 time_ns, duration_ns;
	gboolean has_time, has_duration;
	gboolean has_fraction; /* of microseconds, in its time or duration */
	const gchar *args_at;  /* the object's '{'; NULL: none */
	const gchar *args_end; /* behind its '}' */

	/* From args; -1, or an empty text: not there. */
	gint64 correlation, external_id;
	gint64 sequence, forward_thread;
	gint64 record_function;
	gint64 bytes; /* G_MININT64: not there */
	guint32 n_inputs;
	struct json_text input_dims, input_types;
	/* collectives */
	gint64 n_in_elements;
	gint64 source_rank, destination_rank; /* of a receive; of a send */
	struct json_text collective, dtype, group_name, group_ranks;
	struct json_text concrete_inputs; /* the list, as it stands */
	/* waits for an event: the call that recorded it, and on which stream */
	gint64 event_record, event_stream;
	gint64 graph_node; /* of a CUDA graph: its id; 0: no node's work */
	/* "[memory]" */
	gint64 address, device_type, device_id, total_allocated, total_reserved;
	/* metadata: args.name */
	struct json_text label;
};

/* Read the object at scan->at. False: scan->status says why. */
gboolean kineto_event_read(struct json_scan *scan, struct kineto_event *event);

#endif
