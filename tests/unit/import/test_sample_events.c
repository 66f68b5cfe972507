/* The events of a run are those of its processes, in every trace that others made: nobody's events are in the total, and
 * no process's are left out. */
#include <string.h>
#include <tacho/correlate.h>
#include <tacho/info.h>

#include "foreign_traces.h"

#define MAX_DEPTH 8 /* of folders */

/* Folders that are one trace, and all their files one run. */
static const gchar *const whole[] = { "kineto/megatron_tp8", "byteps/dpro" };

static guint64 sum_events(const TachoInfo *info)
{
	guint64 sum = 0;

	for (guint i = 0; i < tacho_table_n_rows(info->processes); i++)
		sum += (guint64)tacho_table_cell_number(info->processes, i, "events");
	return sum;
}

/* TRUE: it is a trace. */
static gboolean check(const gchar *path)
{
	g_autoptr(TachoTimeline) timeline = tacho_run_open(&path, 1, NULL, NULL, NULL);
	TachoInfo *info;

	if (!timeline)
		return FALSE;
	tacho_correlate(timeline);
	info = tacho_info_new(timeline);
	g_test_message("%s: %" G_GUINT64_FORMAT " events", path, info->n_events);
	g_assert_cmpuint(info->n_events, ==, sum_events(info));
	tacho_info_free(info);
	return TRUE;
}

static gboolean is_trace_folder(const gchar *path)
{
	g_autofree gchar *metadata = g_build_filename(path, "metadata", NULL);

	for (guint i = 0; i < G_N_ELEMENTS(whole); i++)
		if (g_str_has_suffix(path, whole[i]))
			return TRUE;
	return g_file_test(metadata, G_FILE_TEST_EXISTS);
}

static guint walk(const gchar *folder, guint depth)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	const gchar *name;
	guint n_traces = 0;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);

		if (!g_file_test(path, G_FILE_TEST_IS_DIR) || is_trace_folder(path))
			n_traces += check(path);
		else if (depth < MAX_DEPTH)
			n_traces += walk(path, depth + 1);
	}
	return n_traces;
}

/* A folder of samples a test, so that one that fails names it. */
static void test_samples(gconstpointer folder)
{
	g_autofree gchar *path = foreign_sample(folder);

	if (path)
		g_assert_cmpuint(walk(path, 0), >, 0);
}

int main(int argc, char **argv)
{
	static const gchar *const folders[] = {
		"byteps", "chakra", "ctf",	"kineto",  "memory", "nccl",	 "nsys",
		"onednn", "opencl", "perfetto", "rocprof", "tfprof", "timeline", "xplane",
	};

	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
		g_autofree gchar *name = g_strconcat("/sample_events/", folders[i], NULL);

		g_test_add_data_func(name, folders[i], test_samples);
	}
	return g_test_run();
}
