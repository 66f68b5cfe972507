#include "plan_check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <tacho/plan.h>

#include "cli.h"
#include "interpreter.h"
#include "job_environment.h"

gboolean plan_check_ask(gchar **command, const gchar *plan_path, GError **error)
{
	g_autofree gchar *python = interpreter_of_command(command);
	g_autofree gchar *script = g_build_filename(cli_prefix(), "share", "tacho", "python",
						    "tacho_hook", "plan_check.py", NULL);
	gchar *arguments[] = { python, script, (gchar *)plan_path, NULL };
	g_autofree gchar *said = NULL;
	int wait_status;

	if (!python || !g_file_test(script, G_FILE_TEST_EXISTS) ||
	    !job_environment_is_safe("apply", script))
		return TRUE;
	if (!g_spawn_sync(NULL, arguments, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &said,
			  NULL, &wait_status, NULL) ||
	    !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 1 || !*g_strstrip(said))
		return TRUE; /* what is wrong with this Python, the job will say itself */
	g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
		    "%s: the job's Python (%s) cannot carry it out: %s", plan_path, python, said);
	return FALSE;
}
