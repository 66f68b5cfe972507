/* fuzz_kineto: open whatever bytes as a Kineto trace, and use all that was read. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <tacho/correlate.h>
#include <tacho/import.h>
#include <unistd.h>

#include "fuzz_input.h"

static gchar *trace_path;     /* made once, kept for all inputs */
static volatile guint64 sink; /* so that what is read is used */

static void remove_trace(void)
{
	g_unlink(trace_path);
	g_free(trace_path);
}

static void make_trace(void)
{
	const gchar *memory = g_access("/dev/shm", W_OK) == 0 ? "/dev/shm" : g_get_tmp_dir();
	gint fd;

	trace_path = g_build_filename(memory, "tacho-fuzz-XXXXXX", NULL);
	fd = g_mkstemp(trace_path);
	if (fd < 0)
		g_error("%s cannot be made", trace_path);
	close(fd);
	atexit(remove_trace);
}

static void use_slice(const TachoTimeline *timeline, guint32 slice)
{
	g_autofree gchar *args_json = tacho_slice_args_json(timeline, slice);
	TachoCollectiveArgs collective;
	TachoKernelArgs kernel;
	TachoTensor tensor;
	TachoOpArgs op;

	sink += args_json ? args_json[0] : 0;
	sink += tacho_slice_op(timeline, slice, &op);
	sink += tacho_slice_kernel(timeline, slice, &kernel);
	sink += tacho_slice_collective(timeline, slice, &collective);
	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++)
		sink += tensor.n_dims;
	sink += (guint64)tacho_slice_name(timeline, slice)[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	int fd;

	if (!trace_path)
		make_trace();
	fd = open(trace_path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		g_error("%s cannot be written", trace_path);
	close(fd);
	timeline = tacho_run_open((const gchar *const *)&trace_path, 1, NULL, NULL, NULL);
	if (!timeline)
		return 0;
	tacho_correlate(timeline);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		use_slice(timeline, i);
	return 0;
}
