/* launch: run a command, once or as N ranks on this host, and wait for it as a shell would.
 *
 * (1) What the terminal sends reaches the children without us; a signal sent to us alone is passed
 * on. (2) When one rank fails, the others are asked to end (SIGTERM), then made to (SIGKILL, after
 *     LAUNCH_GRACE_S): they would wait in a collective for ever. */
#ifndef TACHO_LAUNCH_H
#define TACHO_LAUNCH_H

#include <glib.h>
#include <sys/types.h>

#define LAUNCH_GRACE_S 10

typedef struct {
	gchar **command;     /* NULL-terminated */
	gchar **environment; /* of the command */
	guint n_ranks;	     /* 0: run it once, with no rank variables */
	void (*began)(guint number, pid_t pid, gint rank, gpointer data);
	void (*ended)(guint number, int wait_status, gpointer data);
	gpointer data;
} Launch;

/* Run to the end. `*ret_wait_status`: the first that failed, else 0. False with an error where the
 * command cannot be started (the error's code is errno's). */
gboolean launch_run(const Launch *launch, int *ret_wait_status, GError **error);

/* End this process as a child with that wait status ended: same exit code, or same signal. */
void launch_end_like(int wait_status) G_GNUC_NORETURN;

#endif
