#include "attached_job.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "inject.h"
#include "job_environment.h"
#include "torch_probe.h"
#include "trace/trace_layout.h"

#define TORCH_PROBE "libtacho_torch.so"

static void free_process(gpointer process_pointer)
{
	AttachedProcess *process = process_pointer;

	target_close(process->target);
	g_free(process->inside);
	g_free(process->outside);
	g_free(process);
}

AttachedJob *attached_job_new(const gchar *run_path, const gchar *clock, const gchar *settings,
			      const gboolean has_probe[N_PROBES])
{
	AttachedJob *job = g_new0(AttachedJob, 1);

	job->processes = g_ptr_array_new_with_free_func(free_process);
	job->run_path = g_strdup(run_path);
	job->clock = g_strdup(clock);
	job->settings = g_strdup(settings);
	memcpy(job->has_probe, has_probe, sizeof(job->has_probe));
	return job;
}

void attached_job_free(AttachedJob *job)
{
	if (!job)
		return;
	g_ptr_array_unref(job->processes);
	g_free(job->run_path);
	g_free(job->clock);
	g_free(job->settings);
	g_free(job);
}

gchar *attached_job_library(const gchar *command, const gchar *name)
{
	g_autofree gchar *path = g_build_filename(cli_prefix(), "lib", "tacho", name, NULL);

	if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
		cli_fail(command, "%s is missing; install tacho again", path);
		return NULL;
	}
	return job_environment_is_safe(command, path) ? g_steal_pointer(&path) : NULL;
}

/* --- in another mount namespace ------------------------------------------------------------- */

static gboolean copy_file(const gchar *from, const gchar *to, guint mode, GError **error)
{
	g_autofree gchar *bytes = NULL;
	gsize length;

	return g_file_get_contents(from, &bytes, &length, error) &&
	       g_file_set_contents_full(to, bytes, (gssize)length, G_FILE_SET_CONTENTS_NONE,
					(int)mode, error);
}

/* The folder in its /tmp; the libraries go into it. */
static gboolean make_place(AttachedProcess *process, const gchar *const *libraries, GError **error)
{
	g_autofree gchar *pattern =
		g_strdup_printf("/proc/%d/root/tmp/tacho-XXXXXX", (int)process->target->pid);
	g_autofree gchar *parent = g_path_get_dirname(pattern);
	g_autofree gchar *run = NULL;
	struct stat status;

	/* A link would lead out of its root, into ours. */
	if (lstat(parent, &status) == 0 && !S_ISDIR(status.st_mode)) {
		g_set_error(error, TARGET_ERROR, 0,
			    "is in another mount namespace, and its /tmp is no folder");
		return FALSE;
	}
	if (!g_mkdtemp_full(pattern, 0700)) {
		g_set_error(error, TARGET_ERROR, 0,
			    "is in another mount namespace, and its /tmp cannot be written: %s",
			    g_strerror(errno));
		return FALSE;
	}
	process->outside = g_steal_pointer(&pattern);
	process->inside = g_strdup(strstr(process->outside, "/root/tmp/") + strlen("/root"));
	for (guint i = 0; libraries[i]; i++) {
		g_autofree gchar *name = g_path_get_basename(libraries[i]);
		g_autofree gchar *copy = g_build_filename(process->outside, name, NULL);

		if (!copy_file(libraries[i], copy, 0700, error))
			return FALSE;
	}
	run = g_build_filename(process->outside, "run", NULL);
	return g_mkdir(run, 0700) == 0;
}

static gboolean copy_folder(const gchar *from, const gchar *to, GError **error)
{
	g_autoptr(GDir) files = g_dir_open(from, 0, error);
	const gchar *name;

	if (!files)
		return FALSE;
	if (g_mkdir(to, 0700) < 0 && errno != EEXIST) {
		g_set_error(error, TARGET_ERROR, 0, "cannot make %s: %s", to, g_strerror(errno));
		return FALSE;
	}
	while ((name = g_dir_read_name(files))) {
		g_autofree gchar *source = g_build_filename(from, name, NULL);
		g_autofree gchar *copy = g_build_filename(to, name, NULL);
		struct stat status;

		if (lstat(source, &status) < 0)
			continue;
		if (S_ISDIR(status.st_mode)
			    ? !copy_folder(source, copy, error)
			    : S_ISREG(status.st_mode) && !copy_file(source, copy, 0600, error))
			return FALSE;
	}
	return TRUE;
}

static void remove_folder(const gchar *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *entry = g_build_filename(path, name, NULL);

		if (g_file_test(entry, G_FILE_TEST_IS_DIR) &&
		    !g_file_test(entry, G_FILE_TEST_IS_SYMLINK))
			remove_folder(entry);
		else
			g_unlink(entry);
	}
	g_rmdir(path);
}

/* Its traces come into the run; what is loaded from the folder stays loaded without it. */
static gboolean bring_traces(const AttachedJob *job, AttachedProcess *process, GError **error)
{
	g_autofree gchar *run = g_build_filename(process->outside, "run", NULL);

	if (!copy_folder(run, job->run_path, error))
		return FALSE;
	remove_folder(process->outside);
	return TRUE;
}

/* --- begin ---------------------------------------------------------------------------------- */

/* The libraries that come into the process: the agent, the probes that stand before functions, PyTorch's. */
static gchar **list_libraries(const AttachedJob *job)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);

	g_ptr_array_add(list, attached_job_library("attach", ATTACH_LIBRARY));
	for (guint p = 0; p < N_PROBES; p++)
		if (job->has_probe[p] && probe_choices[p].library && !probe_choices[p].variable)
			g_ptr_array_add(list,
					attached_job_library("attach", probe_choices[p].library));
	if (job->has_probe[PROBE_torch])
		g_ptr_array_add(list, attached_job_library("attach", TORCH_PROBE));
	for (guint i = 0; i < list->len; i++)
		if (!g_ptr_array_index(list, i))
			return NULL;
	g_ptr_array_add(list, NULL);
	return (gchar **)g_ptr_array_free(g_steal_pointer(&list), FALSE);
}

static gchar *path_for(const AttachedProcess *process, const gchar *path)
{
	g_autofree gchar *name = g_path_get_basename(path);

	return process->inside ? g_build_filename(process->inside, name, NULL) : g_strdup(path);
}

static gchar *make_request(const AttachedJob *job, const AttachedProcess *process,
			   gchar **libraries)
{
	g_autoptr(GString) request = g_string_new(ATTACH_START "\n");
	g_autoptr(GString) probes = g_string_new(NULL);
	g_autofree gchar *torch_dir = torch_probe_cache_path();
	g_autofree gchar *inner_run = process->inside
					      ? g_build_filename(process->inside, "run", NULL)
					      : g_strdup(job->run_path);

	for (guint i = 1; libraries[i]; i++) {
		g_autofree gchar *path = path_for(process, libraries[i]);

		if (g_str_has_suffix(path, "/" TORCH_PROBE))
			g_string_append_printf(request, "TACHO_TORCH_PROBE=%s\n", path);
		else
			g_string_append_printf(probes, "%s%s", probes->len ? ":" : "", path);
	}
	g_string_append_printf(request, "TACHO_RUN_DIR=%s\nTACHO_CLOCK=%s\nTACHO_PROBES=%s\n",
			       inner_run, job->clock, probes->str);
	if (job->has_probe[PROBE_torch] && !process->inside)
		g_string_append_printf(request, "TACHO_TORCH_DIR=%s\n", torch_dir);
	if (job->has_probe[PROBE_python] && !process->inside) {
		g_autofree gchar *hook = g_build_filename(cli_prefix(), "share", "tacho", "python",
							  "tacho_hook", NULL);

		if (g_file_test(hook, G_FILE_TEST_IS_DIR) &&
		    job_environment_is_safe("attach", hook))
			g_string_append_printf(request, "TACHO_PYTHON_HOOK=%s\n", hook);
	}
	g_string_append(request, job->settings);
	return g_string_free(g_steal_pointer(&request), FALSE);
}

AttachedProcess *attached_job_begin(AttachedJob *job, pid_t pid, gchar **ret_note, GError **error)
{
	AttachedProcess *process = g_new0(AttachedProcess, 1);
	g_auto(GStrv) libraries = list_libraries(job);
	g_autofree gchar *agent = NULL, *request = NULL;
	struct attach_state state;
	Answer answer = { 0 };

	*ret_note = NULL;
	process->target = libraries ? target_open(pid, error) : NULL;
	if (!process->target || (process->target->is_elsewhere &&
				 !make_place(process, (const gchar *const *)libraries, error)))
		goto failed;
	agent = path_for(process, libraries[0]);
	request = make_request(job, process, libraries);
	if (!inject_request(process->target, agent, request, &answer, error))
		goto failed;
	process->stopped_us = answer.stopped_us;
	if (target_state(process->target, &state))
		process->n_hooks = state.n_hooks;
	*ret_note = answer.text;
	g_ptr_array_add(job->processes, process);
	return process;
failed:
	if (process->outside)
		remove_folder(process->outside);
	free_process(process);
	return NULL;
}

/* --- while it runs, and the end ------------------------------------------------------------- */

guint attached_job_look(AttachedJob *job)
{
	guint n = 0;

	for (guint i = 0; i < job->processes->len; i++) {
		AttachedProcess *process = g_ptr_array_index(job->processes, i);
		struct attach_state state;

		if (process->is_over)
			continue;
		if (!target_state(process->target, &state) || !state.is_attached ||
		    !target_is_alive(process->target))
			process->is_over = TRUE;
		else
			n += !state.is_past_steps;
	}
	return n;
}

static gboolean stop_one(Target *target, GError **error)
{
	Answer answer;

	if (!inject_request(target, "", ATTACH_STOP "\n", &answer, error))
		return FALSE;
	g_free(answer.text);
	return TRUE;
}

/* Its forked children, whose recording is none of their program's doing. */
static void stop_children(const Target *target, const gchar *run_dir)
{
	g_autoptr(GArray) below = target_below(target->pid);

	for (guint i = 0; i < below->len; i++) {
		g_autoptr(Target) child = target_open(g_array_index(below, pid_t, i), NULL);
		struct attach_state state;

		if (child && target_state(child, &state) && state.is_attached &&
		    strcmp(state.run_dir, run_dir) == 0)
			stop_one(child, NULL);
	}
}

gboolean attached_process_stop(Target *target, GError **error)
{
	struct attach_state state;

	if (!target_state(target, &state) || !state.is_attached) {
		g_set_error(error, TARGET_ERROR, 0, "is not recorded");
		return FALSE;
	}
	state.run_dir[sizeof(state.run_dir) - 1] = '\0';
	if (!stop_one(target, error))
		return FALSE;
	stop_children(target, state.run_dir);
	return TRUE;
}

guint attached_job_end(AttachedJob *job, const gchar *command)
{
	guint n_failed = 0;

	attached_job_look(job);
	for (guint i = 0; i < job->processes->len; i++) {
		AttachedProcess *process = g_ptr_array_index(job->processes, i);
		g_autoptr(GError) error = NULL;

		if (!process->is_over && !attached_process_stop(process->target, &error) &&
		    target_is_alive(process->target)) {
			cli_fail(command, "process %d %s", (int)process->target->pid,
				 error->message);
			n_failed++;
		}
		g_clear_error(&error);
		process->is_over = TRUE;
		if (process->outside && !bring_traces(job, process, &error)) {
			cli_fail(command, "process %d: what it recorded stays in %s: %s",
				 (int)process->target->pid, process->outside, error->message);
			n_failed++;
		}
	}
	return n_failed;
}
