/* attached_job: the processes that one `tacho attach` records: begun, watched, ended.
 *
 * (1) A process in another mount namespace is given what it needs in a folder of its own /tmp, and its traces are brought from
 *     there at the end.
 * (2) Children that an attached process forks are recorded with it, and stopped with it. */
#ifndef TACHO_ATTACHED_JOB_H
#define TACHO_ATTACHED_JOB_H

#include <glib.h>

#include "probe_choice.h"
#include "target.h"

typedef struct {
	Target *target;
	gint64 stopped_us; /* so long one thread of it was stopped, at the start */
	guint32 n_hooks;   /* calls of its libraries that lead to probes */
	gchar *inside;	   /* the folder in its /tmp, as it knows it, and as we do; NULL: none */
	gchar *outside;
	gboolean is_over; /* it has ended, or is not recorded any more */
} AttachedProcess;

typedef struct {
	GPtrArray *processes; /* AttachedProcess */
	gchar *run_path;
	gchar *clock;
	gchar *settings; /* "TACHO_NAME=VALUE\n..." besides folder, clock and libraries */
	gboolean has_probe[N_PROBES];
} AttachedJob;

AttachedJob *attached_job_new(const gchar *run_path, const gchar *clock, const gchar *settings,
			      const gboolean has_probe[N_PROBES]);
/* Takes NULL. What is attached stays attached. */
void attached_job_free(AttachedJob *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AttachedJob, attached_job_free)

/* Begin to record the process. NULL with the reason. `ret_note`: what the agent said, NULL: nothing; the caller's. */
AttachedProcess *attached_job_begin(AttachedJob *job, pid_t pid, gchar **ret_note, GError **error);

/* Look at all. Returns how many are still recorded, and not past the steps asked for. */
guint attached_job_look(AttachedJob *job);

/* Stop all that are recorded, and bring in what was recorded elsewhere. Returns how many could not be stopped; why is said as
 * `command`. */
guint attached_job_end(AttachedJob *job, const gchar *command);

/* Stop recording in one process, and in those below it that record into the same run. FALSE with the reason. */
gboolean attached_process_stop(Target *target, GError **error);

/* Where libtacho.so is; NULL (said as `command`) where it is not, or not safe. The caller's. */
gchar *attached_job_library(const gchar *command, const gchar *name);

#endif
