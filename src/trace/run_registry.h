/* run_registry: which runs this user is recording on this host now. `tacho record` keeps an entry as long as it runs.
 * (1) The registry is a folder that is private to the user (0700); its files are named by the pid of `tacho record`. */
#ifndef TACHO_RUN_REGISTRY_H
#define TACHO_RUN_REGISTRY_H

#include <glib.h>

struct registered_run {
	gint64 pid;
	gchar *path, *command; /* as far as the entry tells; else NULL */
	gint64 start_unix_ns;
};

/* The registry's folder, made where it was missing; NULL: it cannot be had. The caller's. */
gchar *run_registry_path(void);
/* The runs whose `tacho record` is alive, by their begin (struct registered_run); the caller's. */
GArray *run_registry_list(void);
/* Whether the run at `path` is one of them. */
gboolean run_registry_has(const gchar *path);

#endif
