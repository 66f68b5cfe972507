/* fuzz_run_facts: whatever bytes as what a run's folder says beside the traces of its processes: run.ini, then, behind a NUL,
 * the file of losses. The run has one process, which these say how it ended. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include <tacho/analyze.h>
#include <tacho/info.h>

#include "foreign_traces.h"
#include "fuzz_input.h"
#include "run_builder.h"
#include "trace/run_losses.h"

static gchar *run_path; /* made once, kept for all inputs */

static void remove_run(void)
{
	run_builder_remove(run_path);
}

static void make_run(void)
{
	const struct run_builder_process process = { .pid = 33 };
	const gchar *memory = g_access("/dev/shm", W_OK) == 0 ? "/dev/shm" : g_get_tmp_dir();
	struct run_builder *run;
	guint32 class;

	run_path = g_build_filename(memory, "tacho-fuzz-XXXXXX", NULL);
	if (!g_mkdtemp(run_path))
		g_error("%s cannot be made", run_path);
	run = run_builder_new(run_path, &process);
	class = run_builder_class(run, TRACE_KIND_OP, "aten::add");
	run_builder_stream(run, 33);
	run_builder_op(run, class, 100, 140, 3);
	run_builder_end(run);
	atexit(remove_run);
}

static void write_file(const gchar *name, const uint8_t *bytes, size_t n)
{
	g_autofree gchar *path = g_build_filename(run_path, name, NULL);

	if (!g_file_set_contents_full(path, (const gchar *)bytes, (gssize)n,
				      G_FILE_SET_CONTENTS_NONE, 0600, NULL))
		g_error("%s cannot be written", path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoInfo) info = NULL;
	g_autoptr(GError) error = NULL;
	size_t n = strnlen((const char *)data, size);
	FILE *out;

	if (!run_path)
		make_run();
	write_file(TRACE_RUN_FILE, data, n);
	write_file(TRACE_LOSSES_FILE, data + n, size - n);
	timeline = tacho_run_open((const gchar *const *)&run_path, 1, NULL, NULL, &error);
	g_assert_no_error(error); /* neither is needed to read the run */
	g_assert_cmpuint(timeline->slices.n, ==, 1);
	g_assert_cmpuint(timeline->n_events, >=, 1);
	run_losses_count(run_path);
	foreign_use(timeline);
	info = tacho_info_new(timeline);
	out = fopen("/dev/null", "w");
	tacho_info_print_json(info, out);
	fclose(out);
	return 0;
}
