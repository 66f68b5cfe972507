/* fuzz_run_image: whatever rows as those of a run that an export carries (src/trace/run_image.h), and every view of what
 * they make. Blocks come unpacked, each behind its length in 16 bits: what is packed has a checksum, which no chance finds. */
#include <string.h>
#include <zstd.h>

#include <tacho/info.h>

#include "every_view.h"
#include "foreign_traces.h"
#include "fuzz_input.h"
#include "import/exported/restored_run.h"

static void use_views(const TachoTimeline *timeline)
{
	const TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoInfo) info = tacho_info_new(timeline);

	g_assert_nonnull(info);
	every_view_use(timeline, &filter);
}

static gboolean read_block(RestoredRun *run, const uint8_t *bytes, size_t n)
{
	g_autofree guint8 *packed = g_malloc(ZSTD_compressBound(n));
	size_t n_packed = ZSTD_compress(packed, ZSTD_compressBound(n), bytes, n, 1);

	g_assert(!ZSTD_isError(n_packed));
	return restored_run_block(run, packed, n_packed, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(RestoredRun) run = restored_run_new("fuzz");
	g_autoptr(TachoTimeline) timeline = NULL;

	while (size >= 2) {
		size_t n = MIN((size_t)(data[0] | data[1] << 8), size - 2);

		if (!read_block(run, data + 2, n))
			return 0;
		data += 2 + n;
		size -= 2 + n;
	}
	timeline = restored_run_finish(run, NULL);
	if (timeline) {
		foreign_use(timeline);
		use_views(timeline);
	}
	return 0;
}
