#include "precision_runs.h"

#include "cli.h"

TachoPrecisionJob *precision_runs_open(const gchar *command, int argc, char **argv, gchar **more,
				       const gchar *casts, const gchar *registry)
{
	g_autoptr(GPtrArray) runs = g_ptr_array_new();
	TachoPrecisionInputs inputs = { .casts = casts, .registry = registry };
	TachoPrecisionJob *job;
	GError *error = NULL;

	for (int i = 1; i < argc; i++)
		g_ptr_array_add(runs, argv[i]);
	for (guint i = 0; more && more[i]; i++)
		g_ptr_array_add(runs, more[i]);
	if (runs->len == 0) {
		cli_fail(command, "name the recordings of the job (see 'tacho %s --help')",
			 command);
		return NULL;
	}
	g_ptr_array_add(runs, NULL);
	inputs.runs = (const gchar *const *)runs->pdata;
	job = tacho_precision_job_open(&inputs, &error);
	if (!job)
		cli_fail_error(command, error);
	return job;
}
