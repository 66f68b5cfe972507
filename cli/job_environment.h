/* job_environment: what a job is started with, by the commands that bring parts of tacho into it. */
#ifndef TACHO_JOB_ENVIRONMENT_H
#define TACHO_JOB_ENVIRONMENT_H

#include <glib.h>

/* Environments are taken and given back, as by g_environ_setenv(). */

/* `first` in front of the variable's value, or `last` behind it, with a colon between, if it has one. */
gchar **job_environment_put_first(gchar **environment, const gchar *variable, const gchar *first);
gchar **job_environment_put_last(gchar **environment, const gchar *variable, const gchar *last);

/* Whether nobody could have changed `path` but root, this user and the owner of the program that runs; said
 * as `command` where not. */
gboolean job_environment_is_safe(const gchar *command, const gchar *path);

/* The Python hook comes into the job. *ret_has_it FALSE: it is not installed, or not safe. */
gchar **job_environment_bring_hook(gchar **environment, const gchar *command, gboolean *ret_has_it);

#endif
