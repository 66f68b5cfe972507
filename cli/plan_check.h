/* plan_check: asks the job's Python, before the job is started, whether its PyTorch can carry out a plan. */
#ifndef TACHO_PLAN_CHECK_H
#define TACHO_PLAN_CHECK_H

#include <glib.h>

/* FALSE: it cannot, and why. TRUE: it can, or the command tells no Python to ask. */
gboolean plan_check_ask(gchar **command, const gchar *plan_path, GError **error);

#endif
