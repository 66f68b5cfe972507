/* planned_job: the Python hook (python/tacho_hook/plan.py) finds the plan by TACHO_PLAN, and writes a word into the file
 * TACHO_PLAN_STATUS when rank 0 has the buckets. The file is in a folder of our own. */
#include "planned_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <glib/gstdio.h>
#include <tacho/plan.h>

#include "cli.h"
#include "job_environment.h"

struct _PlannedJob {
	gchar *path; /* NULL: there is no plan */
	gchar *folder, *status_path;
	gchar **environment;
};

static gboolean make_folder(PlannedJob *job, GError **error)
{
	job->folder = g_dir_make_tmp("tacho-apply-XXXXXX", error);
	if (!job->folder)
		return FALSE;
	job->status_path = g_build_filename(job->folder, "status", NULL);
	return TRUE;
}

static gboolean make_environment(PlannedJob *job, GError **error)
{
	gchar **environment = g_get_environ();
	gboolean has_hook;

	environment = job_environment_bring_hook(environment, "apply", &has_hook);
	if (job->path)
		environment = g_environ_setenv(environment, "TACHO_PLAN", job->path, TRUE);
	job->environment =
		g_environ_setenv(environment, "TACHO_PLAN_STATUS", job->status_path, TRUE);
	if (!has_hook)
		g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
				    "tacho's Python hook, which carries out plans, cannot be "
				    "brought into the job; install tacho again");
	return has_hook;
}

static gboolean check_plan(const gchar *path, GError **error)
{
	g_autoptr(TachoPlan) plan = tacho_plan_read(path, error);

	if (!plan)
		return FALSE;
	if (tacho_plan_check_applicable(plan, error))
		return TRUE;
	g_prefix_error(error, "%s: ", path);
	return FALSE;
}

PlannedJob *planned_job_new(const gchar *path, GError **error)
{
	PlannedJob *job;

	if (path && !check_plan(path, error))
		return NULL;
	job = g_new0(PlannedJob, 1);
	job->path = path ? g_canonicalize_filename(path, NULL) : NULL;
	if (!make_folder(job, error) || !make_environment(job, error)) {
		planned_job_free(job);
		return NULL;
	}
	return job;
}

/* There are files in it that the hook wrote, and no folders. */
static void remove_folder(const gchar *folder)
{
	GDir *entries = g_dir_open(folder, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);

		g_unlink(path);
	}
	if (entries)
		g_dir_close(entries);
	g_rmdir(folder);
}

void planned_job_free(PlannedJob *job)
{
	if (!job)
		return;
	if (job->folder)
		remove_folder(job->folder);
	g_free(job->path);
	g_free(job->folder);
	g_free(job->status_path);
	g_strfreev(job->environment);
	g_free(job);
}

gchar **planned_job_borrow_environment(const PlannedJob *job)
{
	return job->environment;
}

gboolean planned_job_is_done(const PlannedJob *job)
{
	g_autofree gchar *text = NULL;

	return g_file_get_contents(job->status_path, &text, NULL, NULL) &&
	       g_str_has_prefix(text, "applied\n");
}

void planned_job_tell(const PlannedJob *job, gboolean is_quiet)
{
	gboolean is_done = planned_job_is_done(job);
	gboolean is_told = !is_done && g_file_test(job->status_path, G_FILE_TEST_EXISTS);

	if (is_done && !is_quiet)
		fprintf(stderr, "tacho: the job ran with the buckets of %s\n", job->path);
	else if (!is_done && !is_told)
		fprintf(stderr,
			"tacho: %s was not carried out: on this host, no rank 0 of the job came to "
			"a "
			"second step with PyTorch's DistributedDataParallel\n",
			job->path);
}

/* --- steps ---------------------------------------------------------------------------------------- */

#define STEPS "steps"

void planned_job_time_steps(PlannedJob *job)
{
	g_autofree gchar *path = g_build_filename(job->folder, STEPS, NULL);

	job->environment = g_environ_setenv(job->environment, "TACHO_STEP_TIMES", path, TRUE);
}

static gint compare_times(gconstpointer a, gconstpointer b)
{
	gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

	return x < y ? -1 : x > y;
}

/* Of a rank's file: a time in nanoseconds a line. NAN: too few. */
static gdouble median_step_ms(const gchar *path)
{
	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gdouble));
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return NAN;
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] && *lines[i]; i++) {
		gdouble ms = g_ascii_strtod(lines[i], NULL) * 1e-6;

		if (i >= PLANNED_JOB_WARM_UP)
			g_array_append_val(times, ms);
	}
	if (times->len < PLANNED_JOB_MIN_STEPS)
		return NAN;
	g_array_sort(times, compare_times);
	return (g_array_index(times, gdouble, (times->len - 1) / 2) +
		g_array_index(times, gdouble, times->len / 2)) /
	       2;
}

gdouble planned_job_step_ms(const PlannedJob *job)
{
	GDir *entries = g_dir_open(job->folder, 0, NULL);
	const gchar *name;
	gdouble sum_ms = 0;
	guint n = 0;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(job->folder, name, NULL);
		gdouble step_ms = g_str_has_prefix(name, STEPS) ? median_step_ms(path) : NAN;

		if (isnan(step_ms))
			continue;
		sum_ms += step_ms;
		n++;
	}
	if (entries)
		g_dir_close(entries);
	return n > 0 ? sum_ms / n : NAN;
}

int planned_job_command_at(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return argc;
}

void planned_job_ignore_began(guint number, pid_t pid, gint rank, gpointer unused)
{
	(void)number, (void)pid, (void)rank, (void)unused;
}

void planned_job_ignore_ended(guint number, int wait_status, gpointer unused)
{
	(void)number, (void)wait_status, (void)unused;
}
