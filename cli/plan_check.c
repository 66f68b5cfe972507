#include "plan_check.h"

#include <tacho/plan.h>

#include "interpreter.h"

gboolean plan_check_ask(gchar **command, const gchar *plan_path, GError **error)
{
	g_autofree gchar *why_not = interpreter_ask(command, "apply", "plan_check.py", plan_path);
	g_autofree gchar *python = interpreter_of_command(command);

	if (!why_not)
		return TRUE;
	g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
		    "%s: the job's Python (%s) cannot carry it out: %s", plan_path, python,
		    why_not);
	return FALSE;
}
