#include "job_environment.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "common/trusted_path.h"

gchar **job_environment_put_first(gchar **environment, const gchar *variable, const gchar *first)
{
	const gchar *value = g_environ_getenv(environment, variable);
	g_autofree gchar *joined =
		value && *value ? g_strconcat(first, ":", value, NULL) : g_strdup(first);

	return g_environ_setenv(environment, variable, joined, TRUE);
}

/* What the user preloads keeps its place. */
gchar **job_environment_put_last(gchar **environment, const gchar *variable, const gchar *last)
{
	const gchar *value = g_environ_getenv(environment, variable);
	g_autofree gchar *joined =
		value && *value ? g_strconcat(value, ":", last, NULL) : g_strdup(last);

	return g_environ_setenv(environment, variable, joined, TRUE);
}

gboolean job_environment_is_safe(const gchar *command, const gchar *path)
{
	g_autofree gchar *program = g_build_filename(cli_prefix(), "bin", "tacho", NULL);
	struct stat status;
	gchar real[PATH_MAX];

	if (stat(program, &status) < 0)
		status.st_uid = geteuid();
	if (trusted_path(path, status.st_uid, real))
		return TRUE;
	cli_fail(command,
		 "%s is not brought into the job: others may have changed %s ('chmod go-w' it)",
		 path, real);
	return FALSE;
}

gchar **job_environment_bring_hook(gchar **environment, const gchar *command, gboolean *ret_has_it)
{
	g_autofree gchar *start =
		g_build_filename(cli_prefix(), "share", "tacho", "python", "start", NULL);

	*ret_has_it =
		g_file_test(start, G_FILE_TEST_IS_DIR) && job_environment_is_safe(command, start);
	return *ret_has_it ? job_environment_put_first(environment, "PYTHONPATH", start)
			   : environment;
}
