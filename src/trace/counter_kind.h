/* counter_kind: counters that later stages know: of allocators, and of memory by what it is held for. All others are only
 * shown. Importers name such counters by what is here, or leave them the name that their recorder gave them. */
#ifndef TACHO_COUNTER_KIND_H
#define TACHO_COUNTER_KIND_H

#include <tacho/timeline.h>

/* MEMORY(enumerator, word): what an allocator says of a memory: "allocated bytes, device 0", "reserved bytes, host" */
#define COUNTER_MEMORIES(MEMORY)                                                                   \
	MEMORY(ALLOCATED, "allocated") /* handed out */                                            \
	MEMORY(RESERVED, "reserved")   /* held of the device, handed out or not */

/* CATEGORY(enumerator, word): what memory is held for: "parameter bytes". In the order of _CATEGORY_TO_INDEX in
 * torch/profiler/_memory_profiler.py. */
#define COUNTER_CATEGORIES(CATEGORY)                                                               \
	CATEGORY(PARAMETER, "parameter")                                                           \
	CATEGORY(OPTIMIZER_STATE, "optimizer state")                                               \
	CATEGORY(INPUT, "input")                                                                   \
	CATEGORY(TEMPORARY, "temporary")                                                           \
	CATEGORY(ACTIVATION, "activation")                                                         \
	CATEGORY(GRADIENT, "gradient")                                                             \
	CATEGORY(AUTOGRAD_DETAIL, "autograd detail")                                               \
	CATEGORY(UNKNOWN, "unknown")

/* SUM(enumerator, word): what one allocator of several says, by its name: "GPU_0_bfc allocated" */
#define COUNTER_SUMS(SUM)                                                                          \
	SUM(ALLOCATED_BY, "allocated")                                                             \
	SUM(RESERVED_BY, "reserved")                                                               \
	SUM(MOST_ALLOCATED_BY, "most allocated")                                                   \
	SUM(FRAGMENTATION_BY, "fragmentation")

/* POOL(enumerator, word): what a driver says of its pools of a device: "CUDA pool: used bytes" */
#define COUNTER_POOLS(POOL)                                                                        \
	POOL(POOL_RESERVED, "reserved")                                                            \
	POOL(POOL_USED, "used")

/* FIGURE(enumerator, word of a bin, word of the whole allocator): what TensorFlow's best-fit allocator says of its bins:
 * "total_bytes_in_bin of bin 3 of GPU_0_bfc", "chunks of GPU_0_bfc" */
#define COUNTER_FIGURES(FIGURE)                                                                    \
	FIGURE(CHUNKS, "total_chunks_in_bin", "chunks")                                            \
	FIGURE(USED_CHUNKS, "total_chunks_in_use", "in_use_chunks")                                \
	FIGURE(BYTES, "total_bytes_in_bin", "total_bytes")                                         \
	FIGURE(USED_BYTES, "total_bytes_in_use", "total_bytes_in_use")                             \
	FIGURE(REQUESTED_BYTES, "total_requested_bytes_in_use", "total_requested_bytes_in_use")

enum counter_kind {
	COUNTER_OTHER,
#define COUNTER_KIND_ENUM(enumerator, ...) COUNTER_##enumerator,
	COUNTER_MEMORIES(COUNTER_KIND_ENUM) COUNTER_CATEGORIES(COUNTER_KIND_ENUM)
		COUNTER_SUMS(COUNTER_KIND_ENUM) COUNTER_POOLS(COUNTER_KIND_ENUM)
#undef COUNTER_KIND_ENUM
#define COUNTER_FIGURE_ENUM(enumerator, ...) COUNTER_BIN_##enumerator,
			COUNTER_FIGURES(COUNTER_FIGURE_ENUM)
#undef COUNTER_FIGURE_ENUM
				N_COUNTER_KINDS
};

enum {
	N_COUNTER_CATEGORIES = COUNTER_UNKNOWN - COUNTER_PARAMETER + 1,
	N_COUNTER_FIGURES = N_COUNTER_KINDS - COUNTER_BIN_CHUNKS,
};

enum counter_kind counter_kind_of_name(const TachoTimeline *timeline, guint32 name);

/* The memory that the name of an ALLOCATED or RESERVED tells: 0 is the host's, else the device's number and 1 more. */
guint32 counter_memory(const TachoTimeline *timeline, guint32 name);
/* The bin that the name of one of COUNTER_FIGURES tells, and whose it is (the timeline's); -1: it is of all bins. */
gint counter_bin(const TachoTimeline *timeline, guint32 name, const gchar **ret_allocator);

/* Whose a counter of COUNTER_SUMS or COUNTER_POOLS is, by its name; to be freed with g_free(). */
gchar *counter_owner(const TachoTimeline *timeline, guint32 name);

/* What importers call one of COUNTER_FIGURES of a bin of that allocator, or, with -1, of all of them; to be freed with g_free(). */
gchar *counter_figure_name(enum counter_kind kind, gint bin, const gchar *allocator);
/* What importers call one of COUNTER_SUMS of that allocator, to be freed with g_free(). */
gchar *counter_sum_name(enum counter_kind kind, const gchar *allocator);
/* What importers call a counter of COUNTER_MEMORIES; `device` counts where it is not of the host. */
#define COUNTER_NAME_BYTES 64
void counter_memory_name(gchar name[COUNTER_NAME_BYTES], enum counter_kind kind, gboolean is_host,
			 gint64 device);
/* What importers call one of COUNTER_CATEGORIES, to be freed with g_free(). */
gchar *counter_category_name(enum counter_kind kind);

#endif
