#include "trace/run_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tacho/timeline.h>

#include "base/for_each.h"
#include "base/order.h"
#include "trace/trace_layout.h"

static void clear_run(gpointer run_pointer)
{
	struct run_path *run = run_pointer;

	g_free(run->path);
	g_free(run->command);
	g_array_unref(run->children);
	g_hash_table_unref(run->child_status);
}

static void clear_trace(gpointer trace)
{
	g_free(((struct trace_path *)trace)->path);
}

void run_paths_release(struct run_paths *paths)
{
	g_clear_pointer(&paths->runs, g_array_unref);
	g_clear_pointer(&paths->traces, g_array_unref);
}

/* Names in `folder`, sorted, without hidden ones. */
static GPtrArray *list_names(const gchar *folder, GError **error)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, error);
	GPtrArray *names;
	const gchar *name;

	if (!entries)
		return NULL;
	names = g_ptr_array_new_with_free_func(g_free);
	while ((name = g_dir_read_name(entries)))
		if (name[0] != '.')
			g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, order_text);
	return names;
}

static gboolean has_file(const gchar *folder, const gchar *name)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* Whether there is a process's trace in it, as far as one may know: who opens it says why not. */
static gboolean may_be_trace(const gchar *folder)
{
	g_autofree gchar *path = g_build_filename(folder, TRACE_METADATA_FILE, NULL);
	struct stat status;

	return stat(path, &status) == 0 || errno == EACCES;
}

static void add_trace(struct run_paths *paths, GHashTable *seen, const gchar *path, guint run)
{
	gchar *real = realpath(path, NULL);
	struct trace_path trace = { .path = g_strdup(path), .run = run };

	if (!g_hash_table_add(seen, g_strdup(real ? real : path)))
		g_free(trace.path);
	else
		g_array_append_val(paths->traces, trace);
	free(real);
}

static void read_child(struct run_path *run, GKeyFile *facts, const gchar *group)
{
	g_autoptr(GError) no_rank = NULL;
	guint64 pid = g_key_file_get_uint64(facts, group, "pid", NULL);
	struct run_child child = {
		.rank = g_key_file_get_integer(facts, group, "rank", &no_rank),
		.end_unix_ns = g_key_file_get_int64(facts, group, "end_unix_ns", NULL),
	};
	gchar *status;

	if (!pid || pid > G_MAXUINT32)
		return;
	child.pid = (guint32)pid;
	if (no_rank || child.rank < 0)
		child.rank = -1;
	status = g_key_file_get_string(facts, group, "status", NULL);
	if (status)
		g_hash_table_insert(run->child_status, GUINT_TO_POINTER(pid), status);
	g_array_append_val(run->children, child);
}

/* A pid may have been used again: its last status is that of both. */
static void fill_child_status(struct run_path *run)
{
	FOR_EACH(struct run_child, child, run->children)
		child->status = run_path_child_status(run, child->pid);
}

/* What run.ini says is a help, no need: a broken one is as good as none. */
static void read_facts(struct run_path *run)
{
	g_autofree gchar *path = g_build_filename(run->path, TRACE_RUN_FILE, NULL);
	g_autoptr(GKeyFile) facts = g_key_file_new();
	g_auto(GStrv) groups = NULL;

	if (!g_key_file_load_from_file(facts, path, G_KEY_FILE_NONE, NULL))
		return;
	run->has_facts = TRUE;
	run->has_end = g_key_file_has_key(facts, "run", "end_unix_ns", NULL);
	run->n_ranks = g_key_file_get_integer(facts, "run", "ranks", NULL);
	run->command = g_key_file_get_string(facts, "run", "command", NULL);
	groups = g_key_file_get_groups(facts, NULL);
	for (guint i = 0; groups[i]; i++)
		if (g_str_has_prefix(groups[i], "child "))
			read_child(run, facts, groups[i]);
	fill_child_status(run);
}

static guint add_run(struct run_paths *paths, const gchar *path)
{
	struct run_path run = { .path = g_strdup(path) };

	run.children = g_array_new(FALSE, FALSE, sizeof(struct run_child));
	run.child_status = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	read_facts(&run);
	g_array_append_val(paths->runs, run);
	return paths->runs->len - 1;
}

static gboolean fail(GError **error, TachoTimelineError code, const gchar *path,
		     const gchar *reason)
{
	g_set_error(error, TACHO_TIMELINE_ERROR, code, "%s: %s", path, reason);
	return FALSE;
}

static gboolean add_folder(struct run_paths *paths, GHashTable *seen, const gchar *folder,
			   GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autoptr(GPtrArray) names = list_names(folder, &cause);
	gboolean has_trace = FALSE;
	guint run;

	if (!names)
		return fail(error, TACHO_TIMELINE_ERROR_IO, folder, cause->message);
	run = add_run(paths, folder);
	for (guint i = 0; i < names->len; i++) {
		g_autofree gchar *trace = g_build_filename(folder, names->pdata[i], NULL);

		if (!may_be_trace(trace))
			continue;
		add_trace(paths, seen, trace, run);
		has_trace = TRUE;
	}
	if (!has_trace && !has_file(folder, TRACE_RUN_FILE))
		return fail(error, TACHO_TIMELINE_ERROR_NOT_A_RUN, folder,
			    "not a run: it has neither a run.ini nor the trace of a process");
	return TRUE;
}

static gboolean add_argument(struct run_paths *paths, GHashTable *seen, const gchar *path,
			     GError **error)
{
	struct stat status;
	guint run;

	if (stat(path, &status) < 0)
		return fail(error,
			    errno == ENOENT || errno == ENOTDIR ? TACHO_TIMELINE_ERROR_NOT_A_RUN
								: TACHO_TIMELINE_ERROR_IO,
			    path, g_strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return fail(error, TACHO_TIMELINE_ERROR_NOT_A_RUN, path,
			    "not a run: it is not a folder");
	if (!has_file(path, TRACE_METADATA_FILE))
		return add_folder(paths, seen, path, error);
	run = add_run(paths, path);
	g_array_index(paths->runs, struct run_path, run).is_trace = TRUE;
	add_trace(paths, seen, path, run);
	return TRUE;
}

gboolean run_paths_find(struct run_paths *paths, const gchar *const *arguments, guint n_arguments,
			GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	paths->runs = g_array_new(FALSE, TRUE, sizeof(struct run_path));
	paths->traces = g_array_new(FALSE, TRUE, sizeof(struct trace_path));
	g_array_set_clear_func(paths->runs, clear_run);
	g_array_set_clear_func(paths->traces, clear_trace);
	for (guint i = 0; i < n_arguments; i++)
		if (!add_argument(paths, seen, arguments[i], error))
			return FALSE;
	return TRUE;
}

const gchar *run_path_child_status(const struct run_path *run, guint32 pid)
{
	return g_hash_table_lookup(run->child_status, GUINT_TO_POINTER(pid));
}
