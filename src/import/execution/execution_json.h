/* execution_json: the nodes of an execution trace in JSON: a list that is a member of an object, or objects one
 * behind the other. Read a piece at a time, whatever the size of the file. */
#ifndef TACHO_EXECUTION_JSON_H
#define TACHO_EXECUTION_JSON_H

#include "import/execution/execution_trace.h"

struct execution_json {
	const struct import *import;
	struct execution_trace *trace; /* its path is read */
	const gchar *list;	       /* the member that has the nodes */
	gboolean may_be_bare; /* without that member, the file is nodes, one behind the other */
	/* A member before the list: read the value, or skip it. NULL: all are skipped. */
	void (*read_header)(struct json_scan *scan, const struct json_text *key, gpointer data);
	/* The object at scan->at, which is at `place` of the decoded file. False: scan->status says why. */
	gboolean (*read_node)(struct json_scan *scan, guint64 place, gpointer data);
	gpointer data;
};

/* Read all nodes that can be read; what cannot becomes a problem of the timeline. False: there is no list. */
gboolean execution_json_read(const struct execution_json *json, GError **error);

#endif
