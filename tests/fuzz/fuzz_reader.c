/* fuzz_reader: open whatever bytes as the trace of one process, and use all that was read.
 *
 * The input is a row of files (fuzz_folder.h). The first is the metadata, the others, four at most, are stream files. */
#include <string.h>
#include <tacho/timeline.h>

#include "fuzz_folder.h"
#include "fuzz_input.h"
#include "slice_promises.h"

static const gchar *const file_names[] = { "metadata", "0-1.0", "0-1.1", "1-2.0", "2-3.0" };

static volatile guint64 sink; /* so that what is read is used */

static guint64 use_slice(const TachoTimeline *timeline, guint32 slice)
{
	guint64 sum = strlen(tacho_slice_name(timeline, slice)) + tacho_slice_id(timeline, slice);
	TachoOpArgs op;
	TachoKernelArgs kernel;
	TachoCollectiveArgs collective;
	TachoTensor tensor;
	TachoLaunchShape shape;
	TachoCopyArgs copy;
	g_autofree gchar *json = tacho_slice_args_json(timeline, slice);

	sum += json ? strlen(json) : 0;
	if (tacho_slice_launch_shape(timeline, slice, &shape))
		sum += shape.grid[0] + shape.block[2];
	if (tacho_slice_copy(timeline, slice, &copy))
		sum += copy.bytes;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;
	const gchar *path = fuzz_folder_fill(file_names, G_N_ELEMENTS(file_names), data, size);

	timeline = tacho_timeline_open(&path, 1, &error);
	g_assert_true((timeline == NULL) == (error != NULL));
	for (guint32 slice = 0; timeline && slice < timeline->slices.n; slice++)
		sink += use_slice(timeline, slice);
	if (timeline)
		slice_promises_check(timeline);
	return 0;
}
