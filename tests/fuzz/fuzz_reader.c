/* fuzz_reader: open whatever bytes as the trace of one process, and use all that was read.
 *
 * The input is a row of files: four bytes of length (little endian), then that many bytes, or what
 * is left. The first is the metadata, the others, four at most, are stream files. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <tacho/timeline.h>
#include <unistd.h>

#include "fuzz_input.h"

#define MAX_FILES 5

static const gchar *const file_names[MAX_FILES] = { "metadata", "0-1.0", "0-1.1", "1-2.0",
						    "2-3.0" };

static gchar *trace_path;     /* made once, kept for all inputs */
static volatile guint64 sink; /* so that what is read is used */

static void remove_trace(void)
{
	for (guint i = 0; i < MAX_FILES; i++) {
		g_autofree gchar *path = g_build_filename(trace_path, file_names[i], NULL);

		g_unlink(path);
	}
	g_rmdir(trace_path);
	g_free(trace_path);
}

static void make_trace(void)
{
	const gchar *memory = g_access("/dev/shm", W_OK) == 0 ? "/dev/shm" : g_get_tmp_dir();

	trace_path = g_build_filename(memory, "tacho-fuzz-XXXXXX", NULL);
	if (!g_mkdtemp(trace_path))
		g_error("%s: %s", trace_path, g_strerror(errno));
	atexit(remove_trace);
}

/* The next file of the input; false: there are no more. */
static gboolean take_file(const uint8_t **data, size_t *size, const uint8_t **ret_bytes,
			  size_t *ret_length)
{
	uint32_t length;

	if (*size < sizeof(length))
		return FALSE;
	memcpy(&length, *data, sizeof(length));
	*data += sizeof(length);
	*size -= sizeof(length);
	*ret_bytes = *data;
	*ret_length = MIN(GUINT32_FROM_LE(length), *size);
	*data += *ret_length;
	*size -= *ret_length;
	return TRUE;
}

static void write_file(const gchar *name, const uint8_t *bytes, size_t length)
{
	g_autofree gchar *path = g_build_filename(trace_path, name, NULL);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		g_error("%s: %s", path, g_strerror(errno));
	close(fd);
}

static void write_files(const uint8_t *data, size_t size)
{
	const uint8_t *bytes;
	size_t length;

	for (guint i = 0; i < MAX_FILES; i++) {
		g_autofree gchar *path = g_build_filename(trace_path, file_names[i], NULL);

		if (take_file(&data, &size, &bytes, &length))
			write_file(file_names[i], bytes, length);
		else
			g_unlink(path);
	}
}

static guint64 use_slice(const TachoTimeline *timeline, guint32 slice)
{
	guint64 sum = strlen(tacho_slice_name(timeline, slice)) + tacho_slice_id(timeline, slice);
	TachoOpArgs op;
	TachoKernelArgs kernel;
	TachoCollectiveArgs collective;
	TachoTensor tensor;

	if (tacho_slice_op(timeline, slice, &op))
		sum += op.n_outputs;
	if (tacho_slice_kernel(timeline, slice, &kernel))
		sum += strlen(kernel.text) + strlen(kernel.dtype);
	if (tacho_slice_collective(timeline, slice, &collective))
		sum += collective.bytes;
	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++)
		sum += tensor.n_dims + strlen(tensor.dtype) + strlen(tensor.device);
	for (guint32 i = 0; tacho_slice_output(timeline, slice, i, &tensor); i++)
		sum += tensor.n_dims;
	return sum;
}

/* What timeline.h promises of every timeline, whatever was read. */
static void check_slice(const TachoTimeline *timeline, guint32 slice)
{
	const TachoSlices *slices = &timeline->slices;
	guint32 parent = slices->parent[slice];

	g_assert_cmpint(slices->duration_ns[slice], >=, 0);
	g_assert_cmpuint(slices->track[slice], <, timeline->tracks->len);
	if (slice && slices->track[slice - 1] == slices->track[slice])
		g_assert_cmpint(slices->start_ns[slice - 1], <=, slices->start_ns[slice]);
	if (parent == TACHO_NONE)
		return;
	g_assert_cmpuint(parent, <, slice);
	g_assert_cmpuint(slices->track[parent], ==, slices->track[slice]);
	g_assert_cmpint(tacho_slice_end_ns(timeline, slice), <=,
			tacho_slice_end_ns(timeline, parent));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;

	if (!trace_path)
		make_trace();
	write_files(data, size);
	timeline = tacho_timeline_open((const gchar *const *)&trace_path, 1, &error);
	g_assert_true((timeline == NULL) == (error != NULL));
	for (guint32 slice = 0; timeline && slice < timeline->slices.n; slice++) {
		check_slice(timeline, slice);
		sink += use_slice(timeline, slice);
	}
	return 0;
}
