/* added_trace: another tool's trace that lies in a run: RUN/traces/NAME/ with the trace's files, and trace.ini, which says
 * what the trace may not: whose it is. Who wrote it, the job's hook or `tacho add`, has made the folder whole by a rename.
 * docs/trace-format.md has the keys. */
#ifndef TACHO_ADDED_TRACE_H
#define TACHO_ADDED_TRACE_H

#include <glib.h>

struct added_trace {
	gchar *path; /* its folder */
	gchar *run;  /* the run that it lies in */
	gchar *host; /* of the process that it is of; NULL: not told */
	guint32 pid; /* 0: not told */
	gint32 rank; /* -1: not told */
	gchar *step; /* the name of what is one training step; NULL: the trace's own word counts */
	gint64 first_step; /* number of the first */
	gint64 n_steps;	   /* how many; what is behind them is none, or not whole. 0: all */
	gint64 base_ns;	   /* when its times count from; 0: as they are */
	gchar *anchor; /* instead, the name of a slice, the last of which has its middle at anchor_ns; NULL: none */
	gint64 anchor_ns;
};

void added_trace_free(gpointer added);

/* Add the one in `folder`, as one of the run at `run`, wherever it is. */
void added_trace_add(GPtrArray *found, const gchar *run, const gchar *folder);
/* Add the traces in the run at `path`, by name. */
void added_traces_find(GPtrArray *found, const gchar *path);

#endif
