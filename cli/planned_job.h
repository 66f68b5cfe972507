/* planned_job: what a job needs to have a plan carried out in it, and what became of that. */
#ifndef TACHO_PLANNED_JOB_H
#define TACHO_PLANNED_JOB_H

#include <glib.h>
#include <sys/types.h>

#define PLANNED_JOB_MAX_RANKS 4096

typedef struct _PlannedJob PlannedJob;

/* The plan is read, and refused where no hook carries it out. Without a path, the job is as it is. NULL: the error says why. */
PlannedJob *planned_job_new(const gchar *path, GError **error);
/* Have the job's steps timed; before it is started. */
void planned_job_time_steps(PlannedJob *job);
/* The mean over the ranks of this host of the median step, ms, once the job is over. NAN: fewer than PLANNED_JOB_MIN_STEPS steps behind
 * the first, which are left out as warm-up, were timed. */
#define PLANNED_JOB_WARM_UP   3
#define PLANNED_JOB_MIN_STEPS 3
gdouble planned_job_step_ms(const PlannedJob *job);
/* The loss of each backward pass (gdouble), the mean over the ranks of this host that have them; empty where none was seen. Of a job whose steps were
 * timed, once it is over; the caller's. */
GArray *planned_job_losses(const PlannedJob *job);
void planned_job_free(PlannedJob *job);
/* The environment to start the job in; the job's. */
gchar **planned_job_borrow_environment(const PlannedJob *job);
/* Whether the plan was carried out, once the job is over. */
gboolean planned_job_is_done(const PlannedJob *job);
/* Say on stderr whether it was. */
void planned_job_tell(const PlannedJob *job, gboolean is_quiet);

/* Where "--" stands, behind which the job's command is; argc: nowhere. */
int planned_job_command_at(int argc, char **argv);

/* For launch_run(). */
void planned_job_ignore_began(guint number, pid_t pid, gint rank, gpointer unused);
void planned_job_ignore_ended(guint number, int wait_status, gpointer unused);

#endif
