#include "trace/run_registry.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/for_each.h"
#include "base/order.h"

gchar *run_registry_path(void)
{
	const gchar *runtime = g_getenv("XDG_RUNTIME_DIR");
	g_autofree gchar *path = runtime && *runtime
					 ? g_build_filename(runtime, "tacho", NULL)
					 : g_strdup_printf("/tmp/tacho-%u", (guint)getuid());
	struct stat status;

	if (g_mkdir(path, 0700) < 0 && errno != EEXIST)
		return NULL;
	/* In /tmp anybody could have made it: it must be a folder of ours, closed to others. */
	if (lstat(path, &status) < 0 || !S_ISDIR(status.st_mode) || status.st_uid != getuid() ||
	    (status.st_mode & 077))
		return NULL;
	return g_steal_pointer(&path);
}

static void clear_run(gpointer pointer)
{
	struct registered_run *run = pointer;

	g_free(run->path);
	g_free(run->command);
}

/* An entry whose process is gone is stale. */
static void add_entry(GArray *runs, const gchar *registry, const gchar *name)
{
	g_autofree gchar *path = g_build_filename(registry, name, NULL);
	g_autoptr(GKeyFile) entry = g_key_file_new();
	struct registered_run run = { 0 };

	if (!g_ascii_string_to_signed(name, 10, 1, G_MAXINT, &run.pid, NULL) ||
	    kill((pid_t)run.pid, 0) != 0 || !g_key_file_load_from_file(entry, path, 0, NULL))
		return;
	run.path = g_key_file_get_string(entry, "run", "path", NULL);
	run.command = g_key_file_get_string(entry, "run", "command", NULL);
	run.start_unix_ns = g_key_file_get_int64(entry, "run", "start_unix_ns", NULL);
	g_array_append_val(runs, run);
}

static gint compare_runs(gconstpointer a, gconstpointer b)
{
	const struct registered_run *left = a, *right = b;

	return ORDER(left->start_unix_ns, right->start_unix_ns) ?: ORDER(left->pid, right->pid);
}

GArray *run_registry_list(void)
{
	GArray *runs = g_array_new(FALSE, FALSE, sizeof(struct registered_run));
	g_autofree gchar *registry = run_registry_path();
	g_autoptr(GDir) folder = registry ? g_dir_open(registry, 0, NULL) : NULL;
	const gchar *name;

	g_array_set_clear_func(runs, clear_run);
	while (folder && (name = g_dir_read_name(folder)))
		add_entry(runs, registry, name);
	g_array_sort(runs, compare_runs);
	return runs;
}

gboolean run_registry_has(const gchar *path)
{
	g_autoptr(GArray) runs = run_registry_list();
	g_autofree gchar *named = g_canonicalize_filename(path, NULL);

	FOR_EACH(const struct registered_run, run, runs) {
		g_autofree gchar *known =
			run->path ? g_canonicalize_filename(run->path, NULL) : NULL;

		if (g_strcmp0(known, named) == 0)
			return TRUE;
	}
	return FALSE;
}
