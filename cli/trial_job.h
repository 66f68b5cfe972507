/* trial_job: the smallest job that there is something to record of, for `tacho doctor` where there is no Python: one
 * thread sends itself bytes over TCP. */
#ifndef TACHO_TRIAL_JOB_H
#define TACHO_TRIAL_JOB_H

#include <glib.h>

#define TRIAL_JOB_OPTION "--trial-job" /* of tacho itself: it runs this */

/* An exit status: 0, or why not was said on stderr. */
int trial_job_run(void);

#endif
