/* run_paths: what the RUN arguments of a command stand for: run directories, or traces of single
 * processes, and what `tacho record` wrote about them. */
#ifndef TACHO_RUN_PATHS_H
#define TACHO_RUN_PATHS_H

#include <glib.h>

/* What `tacho record` started. */
struct run_child {
	guint32 pid;
	gint32 rank;	     /* -1: it got none */
	const gchar *status; /* of child_status; NULL: it has not been seen to end */
	gint64 end_unix_ns;  /* 0: not known */
};

/* A run directory, or a trace that was given by itself. */
struct run_path {
	gchar *path;
	gchar *command;		  /* of the job, NULL: not told */
	GArray *children;	  /* struct run_child, in the order in which they were started */
	GHashTable *child_status; /* pid -> "exit=N" or "signal=N" */
	gint n_ranks;		  /* that `tacho record` started, 0: none by itself */
	gboolean is_trace;	  /* given by itself */
	gboolean has_facts;	  /* of `tacho record` */
	gboolean has_end;	  /* ... which has seen the end of the job */
};

/* The trace of one process. */
struct trace_path {
	gchar *path;
	guint run; /* index into runs */
};

struct run_paths {
	GArray *runs;	/* struct run_path */
	GArray *traces; /* struct trace_path, by run and name; none twice */
};

/* Zeroed `paths` are filled; release them in any case. TACHO_TIMELINE_ERROR_NOT_A_RUN or _IO. */
gboolean run_paths_find(struct run_paths *paths, const gchar *const *arguments, guint n_arguments,
			GError **error);
void run_paths_release(struct run_paths *paths);

/* How the launcher saw a child of `run` end; NULL: not (yet). */
const gchar *run_path_child_status(const struct run_path *run, guint32 pid);

#endif
