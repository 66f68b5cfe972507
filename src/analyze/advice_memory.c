/* advice_memory: memory that an allocator holds and nobody has.
 *
 * At the moment at which it has most handed out, what an allocator holds beside is in pieces that did not fit what was
 * asked for, unless it is left from a larger need before the recording. It costs no time, but room for a larger batch. */
#include "analyze/advice.h"

#define MB(bytes) ((bytes) / 1e6)

/* PyTorch's allocator reserves up to 20 MiB for a request of a few (c10/cuda/CUDACachingAllocator.cpp, kLargeBuffer),
 * so that some is always free. A fifth, and more than a dozen of such pieces, is not only that. */
#define FREE_PCT   20.0
#define FREE_BYTES (256.0 * 1024 * 1024)

static gdouble free_bytes(const TachoTable *memory, guint row)
{
	return tacho_table_cell_number(memory, row, "allocator_reserved_bytes") -
	       tacho_table_cell_number(memory, row, "allocator_peak_bytes");
}

/* All rows of a memory have its allocator's totals; in a memory without them, no number is larger than another. */
static guint find_most_free(const TachoTable *memory, gboolean *ret_is_known)
{
	guint most = TACHO_NONE;

	*ret_is_known = FALSE;
	for (guint row = 0; row < tacho_table_n_rows(memory); row++) {
		gdouble bytes = free_bytes(memory, row);

		*ret_is_known |= bytes >= 0;
		if (bytes >= (most == TACHO_NONE ? FREE_BYTES : free_bytes(memory, most)))
			most = row;
	}
	return most;
}

const gchar *check_fragmentation(const struct advice_input *input, GArray *advices)
{
	g_autoptr(TachoTable) memory = tacho_view_memory(input->timeline, &input->filter);
	struct advice advice = { .checker = "fragmentation",
				 .metric = "allocator_free_pct",
				 .threshold = FREE_PCT };
	gboolean is_known;
	guint row = find_most_free(memory, &is_known);
	gdouble reserved;

	if (!is_known)
		return "no totals of an allocator were recorded";
	if (row == TACHO_NONE)
		return NULL;
	reserved = tacho_table_cell_number(memory, row, "allocator_reserved_bytes");
	advice.gain_bytes = free_bytes(memory, row);
	advice.value = 100.0 * advice.gain_bytes / reserved;
	if (advice.value < advice.threshold)
		return NULL;
	advice.rank = (gint32)tacho_table_cell_number(memory, row, "rank");
	advice.where = g_strdup(tacho_table_cell_text(memory, row, "memory"));
	advice.evidence =
		g_strdup_printf("The allocator of rank %d, %s, hands out %.0f MB at most, and "
				"holds %.0f MB then: %.0f %% of that is in pieces that did not "
				"fit, or is left from before the recording.",
				advice.rank, advice.where, MB(reserved - advice.gain_bytes),
				MB(reserved), advice.value);
	advice.action = g_strdup("Let segments grow instead of adding new ones "
				 "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True), or use the "
				 "same sizes again. Fragmentation costs memory, not time.");
	g_array_append_val(advices, advice);
	return NULL;
}
