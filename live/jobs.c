/* jobs: all that is being recorded on this host by this user, or the runs that were named. */
#include <string.h>

#include "base/for_each.h"
#include "live/live_internal.h"
#include "trace/run_registry.h"

#define FIRST_LOOKS 2			  /* what has come by the first is whole by the second */
#define KEPT_US	    (60 * G_USEC_PER_SEC) /* a job of the registry that is over */
#define MANY_PAUSE_US                                                                              \
	(G_USEC_PER_SEC * 19 / 10) /* between looks at one of LIVE_MANY_JOBS: each other second */

struct job {
	TachoJob job; /* what others see of it */
	gint64 over_us;
	gint64 looked_us;
	guint n_looks;
	guint n_beginnings; /* tacho_follow_n_beginnings() at the last look */
};

struct _TachoJobs {
	GPtrArray *jobs; /* struct job */
	OtherLoad *load;
	gboolean is_named;
	guint n_seen;
};

static void job_free(gpointer pointer)
{
	struct job *job = pointer;

	g_free(job->job.path);
	g_free(job->job.command);
	g_free(job->job.error);
	tacho_follow_free(job->job.follow);
	tacho_detector_free(job->job.detector);
	g_free(job);
}

static void add_job(TachoJobs *jobs, gint64 pid, const gchar *path, const gchar *command,
		    gint64 start_unix_ns)
{
	struct job *job = g_new0(struct job, 1);

	job->job = (TachoJob){
		.id = ++jobs->n_seen,
		.pid = pid,
		.path = g_strdup(path),
		.command = g_strdup(command ? command : ""),
		.start_unix_ns = start_unix_ns,
		.seen_unix_ns = g_get_real_time() * 1000,
		.follow = tacho_follow_new(&path, 1),
		.detector = tacho_detector_new(path),
	};
	follow_set_sparing(job->job.follow, pid || run_registry_has(path));
	detector_share_load(job->job.detector, jobs->load);
	g_ptr_array_add(jobs->jobs, job);
}

TachoJobs *tacho_jobs_new(const gchar *const *paths, guint n_paths)
{
	TachoJobs *jobs = g_new0(TachoJobs, 1);

	jobs->jobs = g_ptr_array_new_with_free_func(job_free);
	jobs->load = other_load_new();
	jobs->is_named = n_paths > 0;
	for (guint i = 0; i < n_paths; i++)
		add_job(jobs, 0, paths[i], NULL, 0);
	return jobs;
}

void tacho_jobs_free(TachoJobs *jobs)
{
	if (!jobs)
		return;
	g_ptr_array_unref(jobs->jobs);
	other_load_unref(jobs->load);
	g_free(jobs);
}

static gboolean is_known(const TachoJobs *jobs, const struct registered_run *run)
{
	FOR_EACH_POINTER(const struct job, job, jobs->jobs)
		if (job->job.pid == run->pid && job->job.start_unix_ns == run->start_unix_ns)
			return TRUE;
	return FALSE;
}

static void find_jobs(TachoJobs *jobs)
{
	g_autoptr(GArray) runs = run_registry_list();

	FOR_EACH(const struct registered_run, run, runs)
		if (run->path && !is_known(jobs, run))
			add_job(jobs, run->pid, run->path, run->command, run->start_unix_ns);
}

/* Counts of steps fall when steps turn out to be others than they seemed; else they are those of the whole run. */
static void note_counts(struct job *job)
{
	guint n_beginnings = tacho_follow_n_beginnings(job->job.follow);

	if (n_beginnings != job->n_beginnings)
		job->job.counted_unix_ns = g_get_real_time() * 1000;
	else if (!n_beginnings)
		job->job.counted_unix_ns = tacho_follow_first_unix_ns(job->job.follow);
	job->n_beginnings = n_beginnings;
}

/* The run may be there before anything is in it: then it is looked at again. */
static void look_at(struct job *job)
{
	g_autoptr(GError) error = NULL;
	gint64 now_unix_ns =
		g_get_real_time() * 1000; /* a look may take seconds where the machine is busy */

	g_clear_pointer(&job->job.error, g_free);
	if (job->job.is_over)
		return;
	if (!tacho_follow_look(job->job.follow, &error)) {
		job->job.error = tacho_printable(error->message);
		return;
	}
	note_counts(job);
	tacho_detector_judge(job->job.detector, job->job.follow, now_unix_ns);
	if (!*job->job.command) {
		g_free(job->job.command);
		job->job.command = g_strdup(tacho_follow_command(job->job.follow));
	}
	job->job.is_over = tacho_follow_is_over(job->job.follow);
	if (job->job.is_over)
		job->over_us = g_get_monotonic_time();
}

/* Whether a job of the registry is to be forgotten: it is over for a while, or its `tacho record` has gone without having
 * recorded anything. */
static gboolean is_stale(const struct job *job)
{
	if (job->job.is_over)
		return g_get_monotonic_time() - job->over_us > KEPT_US;
	return job->job.error && !g_file_test(job->job.path, G_FILE_TEST_EXISTS);
}

/* Where there are many, one is looked at at once that is new, or of which not all is read that is there. */
static gboolean is_due(const struct job *job, guint n_going)
{
	return n_going < LIVE_MANY_JOBS || job->n_looks < FIRST_LOOKS ||
	       tacho_follow_is_behind(job->job.follow) ||
	       g_get_monotonic_time() - job->looked_us >= MANY_PAUSE_US;
}

void tacho_jobs_look(TachoJobs *jobs)
{
	guint n_going = 0;

	if (!jobs->is_named)
		find_jobs(jobs);
	FOR_EACH_POINTER(const struct job, job, jobs->jobs)
		n_going += !job->job.is_over;
	FOR_EACH_POINTER(struct job, job, jobs->jobs) {
		if (!is_due(job, n_going))
			continue;
		job->looked_us = g_get_monotonic_time();
		job->n_looks++;
		follow_set_beside(job->job.follow, n_going);
		look_at(job);
	}
	for (guint i = jobs->jobs->len; !jobs->is_named && i-- > 0;)
		if (is_stale(g_ptr_array_index(jobs->jobs, i)))
			g_ptr_array_remove_index(jobs->jobs, i);
}

const GPtrArray *tacho_jobs_borrow(const TachoJobs *jobs)
{
	return jobs->jobs; /* a struct job begins with its TachoJob */
}
