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
	gchar *path;	    /* NULL: there is no plan */
	GPtrArray *changes; /* names of what it changes, static */
	guint n_passes;	    /* for each update */
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

/* The plan's own buckets, which only a job with PyTorch's DistributedDataParallel has. */
static const gchar buckets[] = "buckets";

static gboolean read_plan(PlannedJob *job, const gchar *path, GError **error)
{
	g_autoptr(TachoPlan) plan = tacho_plan_read(path, error);
	const gchar *change;

	if (!plan)
		return FALSE;
	if (!tacho_plan_check_applicable(plan, error)) {
		g_prefix_error(error, "%s: ", path);
		return FALSE;
	}
	for (guint i = 0; (change = tacho_plan_change(plan, i)); i++)
		g_ptr_array_add(job->changes, (gpointer)change);
	job->n_passes = tacho_plan_passes(plan);
	job->path = g_canonicalize_filename(path, NULL);
	return TRUE;
}

PlannedJob *planned_job_new(const gchar *path, GError **error)
{
	PlannedJob *job = g_new0(PlannedJob, 1);

	job->changes = g_ptr_array_new();
	job->n_passes = 1;
	if ((path && !read_plan(job, path, error)) || !make_folder(job, error) ||
	    !make_environment(job, error)) {
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
	g_ptr_array_unref(job->changes);
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

/* The hook writes "applied" when rank 0 has the buckets, and "applied NAME" of every other change. */
static gboolean is_done(const gchar *const *said, const gchar *change)
{
	g_autofree gchar *word = g_strconcat("applied ", change, NULL);

	return g_strv_contains(said, strcmp(change, buckets) == 0 ? "applied" : word);
}

/* The first change that was not made; NULL: all were. */
static const gchar *find_undone(const PlannedJob *job)
{
	g_autofree gchar *text = NULL;
	g_auto(GStrv) said = NULL;

	if (!g_file_get_contents(job->status_path, &text, NULL, NULL))
		text = g_strdup("");
	said = g_strsplit(text, "\n", -1);
	for (guint i = 0; i < job->changes->len; i++)
		if (!is_done((const gchar *const *)said, job->changes->pdata[i]))
			return job->changes->pdata[i];
	return NULL;
}

gboolean planned_job_is_done(const PlannedJob *job)
{
	return !find_undone(job);
}

/* "buckets, compression" */
static gchar *change_names(const PlannedJob *job)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < job->changes->len; i++)
		g_string_append_printf(text, "%s%s", i ? ", " : "",
				       (const gchar *)job->changes->pdata[i]);
	return g_string_free(g_steal_pointer(&text), FALSE);
}

void planned_job_tell(const PlannedJob *job, gboolean is_quiet)
{
	const gchar *undone = find_undone(job);
	g_autofree gchar *names = change_names(job), *text = NULL;
	gboolean is_told =
		g_file_get_contents(job->status_path, &text, NULL, NULL) && strstr(text, "refused");

	if (!undone && !is_quiet)
		fprintf(stderr, "tacho: the job ran with the %s of %s\n", names, job->path);
	else if (undone && strcmp(undone, buckets) != 0)
		fprintf(stderr,
			"tacho: %s was not carried out whole: on this host, nothing in rank 0 of "
			"the "
			"job was made that has to do with '%s'\n",
			job->path, undone);
	else if (undone && !is_told)
		fprintf(stderr,
			"tacho: %s was not carried out: on this host, no rank 0 of the job came to "
			"a "
			"second step with PyTorch's DistributedDataParallel\n",
			job->path);
}

/* --- steps ---------------------------------------------------------------------------------------- */

#define STEPS  "steps"
#define LOSSES "losses"

void planned_job_time_steps(PlannedJob *job)
{
	g_autofree gchar *path = g_build_filename(job->folder, STEPS, NULL);
	g_autofree gchar *losses = g_build_filename(job->folder, LOSSES, NULL);

	job->environment = g_environ_setenv(job->environment, "TACHO_STEP_TIMES", path, TRUE);
	job->environment = g_environ_setenv(job->environment, "TACHO_LOSSES", losses, TRUE);
}

static gint compare_times(gconstpointer a, gconstpointer b)
{
	gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

	return x < y ? -1 : x > y;
}

/* A rank's file has a time in nanoseconds a line; of so many passes an update, what one took on average counts as one. NAN: too few. */
static gdouble median_step_ms(const gchar *path, guint n_passes)
{
	gdouble sum_ms = 0;
	guint n = 0;

	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gdouble));
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return NAN;
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] && *lines[i]; i++) {
		gdouble ms = g_ascii_strtod(lines[i], NULL) * 1e-6;

		if (i < PLANNED_JOB_WARM_UP)
			continue;
		sum_ms += ms;
		if (++n < n_passes)
			continue;
		sum_ms /= n;
		g_array_append_val(times, sum_ms);
		sum_ms = n = 0;
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
		gdouble step_ms =
			g_str_has_prefix(name, STEPS) ? median_step_ms(path, job->n_passes) : NAN;

		if (isnan(step_ms))
			continue;
		sum_ms += step_ms;
		n++;
	}
	if (entries)
		g_dir_close(entries);
	return n > 0 ? sum_ms / n : NAN;
}

/* --- losses --------------------------------------------------------------------------------------- */

/* Adds those of a rank's file to the sums; of ranks with different numbers of passes, the fewest count. */
static void add_losses(const gchar *path, GArray *sums, guint *n_ranks)
{
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;
	guint n = 0;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return;
	lines = g_strsplit(text, "\n", -1);
	for (; lines[n] && *lines[n]; n++) {
		gdouble loss = g_ascii_strtod(lines[n], NULL);

		if (n < sums->len)
			g_array_index(sums, gdouble, n) += loss;
		else if (*n_ranks == 0)
			g_array_append_val(sums, loss);
	}
	if (n == 0)
		return;
	g_array_set_size(sums, MIN(n, sums->len));
	(*n_ranks)++;
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const gchar *const *)a, *(const gchar *const *)b);
}

GArray *planned_job_losses(const PlannedJob *job)
{
	GArray *sums = g_array_new(FALSE, FALSE, sizeof(gdouble));
	GDir *entries = g_dir_open(job->folder, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	const gchar *name;
	guint n_ranks = 0;

	while (entries && (name = g_dir_read_name(entries)))
		if (g_str_has_prefix(name, LOSSES))
			g_ptr_array_add(names, g_strdup(name));
	if (entries)
		g_dir_close(entries);
	g_ptr_array_sort(names, compare_names); /* of sums, the last bit depends on the order */
	for (guint i = 0; i < names->len; i++) {
		g_autofree gchar *path = g_build_filename(job->folder, names->pdata[i], NULL);

		add_losses(path, sums, &n_ranks);
	}
	for (guint i = 0; i < sums->len; i++)
		g_array_index(sums, gdouble, i) /= n_ranks;
	return sums;
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
