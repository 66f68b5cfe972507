#include "import/added_trace.h"

#include "base/order.h"
#include "trace/trace_layout.h"

void added_trace_free(gpointer data)
{
	struct added_trace *added = data;

	g_free(added->path);
	g_free(added->run);
	g_free(added->host);
	g_free(added->step);
	g_free(added->anchor);
	g_free(added);
}

/* What trace.ini says is a help, no need: a broken one is as good as none. */
static void read_facts(struct added_trace *added)
{
	g_autofree gchar *path = g_build_filename(added->path, TRACE_ADDED_FILE, NULL);
	g_autoptr(GKeyFile) facts = g_key_file_new();
	g_autoptr(GError) no_rank = NULL;
	guint64 pid;
	gint rank;

	if (!g_key_file_load_from_file(facts, path, G_KEY_FILE_NONE, NULL))
		return;
	added->host = g_key_file_get_string(facts, "trace", "host", NULL);
	pid = g_key_file_get_uint64(facts, "trace", "pid", NULL);
	added->pid = pid <= G_MAXUINT32 ? (guint32)pid : 0;
	rank = g_key_file_get_integer(facts, "trace", "rank", &no_rank);
	added->rank = no_rank || rank < 0 ? -1 : rank;
	added->step = g_key_file_get_string(facts, "trace", "step", NULL);
	added->n_steps = MAX(g_key_file_get_int64(facts, "trace", "steps", NULL), 0);
	added->base_ns = MAX(g_key_file_get_int64(facts, "trace", "base_ns", NULL), 0);
	added->anchor = g_key_file_get_string(facts, "trace", "anchor", NULL);
	added->anchor_ns = MAX(g_key_file_get_int64(facts, "trace", "anchor_ns", NULL), 0);
	added->first_step = MAX(g_key_file_get_int64(facts, "trace", "first_step", NULL), 0);
}

void added_trace_add(GPtrArray *found, const gchar *run, const gchar *folder)
{
	struct added_trace *added = g_new0(struct added_trace, 1);

	added->path = g_strdup(folder);
	added->run = g_strdup(run);
	added->rank = -1;
	read_facts(added);
	g_ptr_array_add(found, added);
}

void added_traces_find(GPtrArray *found, const gchar *path)
{
	g_autofree gchar *folder = g_build_filename(path, TRACE_ADDED_FOLDER, NULL);
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries)))
		g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, order_text);
	for (guint i = 0; i < names->len; i++) {
		const gchar *entry = names->pdata[i];
		g_autofree gchar *trace = g_build_filename(folder, entry, NULL);

		if (*entry != '.' && g_file_test(trace, G_FILE_TEST_IS_DIR))
			added_trace_add(found, path, trace);
	}
}
