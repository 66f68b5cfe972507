/* counter_kind: counters of allocators, of memory by category, and of bins, by their names. */
#include "trace/counter_kind.h"

static const struct {
	const gchar *name;
	enum counter_kind kind;
	guint32 memory;
} memories[] = {
	{ "allocated bytes, host", COUNTER_ALLOCATED, 0 },
	{ "allocated bytes, device 0", COUNTER_ALLOCATED, 1 },
	{ "reserved bytes, device 12", COUNTER_RESERVED, 13 },
	{ "reserved bytes, device 4294967294", COUNTER_RESERVED, 4294967295u },
	{ "reserved bytes, device 4294967295", COUNTER_OTHER, 0 },
	{ "reserved bytes, device -1", COUNTER_OTHER, 0 },
	{ "reserved bytes, device 01", COUNTER_OTHER, 0 },
	{ "reserved bytes, device 1 ", COUNTER_OTHER, 0 },
	{ "reserved bytes, device ", COUNTER_OTHER, 0 },
	{ "reserved bytes", COUNTER_OTHER, 0 },
	{ "optimizer state bytes", COUNTER_OPTIMIZER_STATE, 0 },
	{ "unknown bytes", COUNTER_UNKNOWN, 0 },
	{ "unknown bytes, host", COUNTER_OTHER, 0 },
	{ "GPU 0: SM active", COUNTER_OTHER, 0 },
	{ "GPU_0_bfc allocated", COUNTER_ALLOCATED_BY, 0 },
	{ "GPU_0_bfc most allocated", COUNTER_MOST_ALLOCATED_BY, 0 },
	{ "GPU_0_bfc fragmentation", COUNTER_FRAGMENTATION_BY, 0 },
	{ "memory of GPU_0_bfc allocated", COUNTER_OTHER, 0 },
	{ " allocated", COUNTER_OTHER, 0 },
	{ "allocated", COUNTER_OTHER, 0 },
	{ "CUDA pool: used bytes", COUNTER_POOL_USED, 0 },
	{ "CUDA pool: reserved bytes", COUNTER_POOL_RESERVED, 0 },
	{ "CUDA pool: reserved", COUNTER_OTHER, 0 },
	{ " pool: used bytes", COUNTER_OTHER, 0 },
	{ "", COUNTER_OTHER, 0 },
};

static const struct {
	const gchar *name;
	enum counter_kind kind;
	gint bin;
	const gchar *allocator;
} bins[] = {
	{ "total_bytes_in_bin of bin 3 of GPU_0_bfc", COUNTER_BIN_BYTES, 3, "GPU_0_bfc" },
	{ "total_bytes of GPU_0_bfc", COUNTER_BIN_BYTES, -1, "GPU_0_bfc" },
	{ "total_bytes_in_use of bin 0 of a of b", COUNTER_BIN_USED_BYTES, 0, "a of b" },
	{ "in_use_chunks of cpu", COUNTER_BIN_USED_CHUNKS, -1, "cpu" },
	{ "chunks of bin 2 of cpu", COUNTER_OTHER, -1, "" }, /* a word of all bins */
	{ "total_bytes_in_bin of bin x of cpu", COUNTER_OTHER, -1, "" },
	{ "total_bytes_in_bin of bin 9999999999 of cpu", COUNTER_OTHER, -1, "" },
	{ "instructions of thread 7", COUNTER_OTHER, -1, "" },
};

static void test_memories(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(memories); i++) {
		guint32 name = tacho_timeline_intern(timeline, memories[i].name, -1);

		g_assert_cmpint(counter_kind_of_name(timeline, name), ==, memories[i].kind);
		g_assert_cmpuint(counter_memory(timeline, name), ==, memories[i].memory);
	}
}

static void test_bins(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(bins); i++) {
		guint32 name = tacho_timeline_intern(timeline, bins[i].name, -1);
		const gchar *allocator;

		g_assert_cmpint(counter_kind_of_name(timeline, name), ==, bins[i].kind);
		g_assert_cmpint(counter_bin(timeline, name, &allocator), ==, bins[i].bin);
		g_assert_cmpstr(allocator, ==, bins[i].allocator);
	}
}

/* What importers write is known again. */
static void test_written(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	gchar text[COUNTER_NAME_BYTES];

	for (gint64 device = -1; device < 3; device++) {
		guint32 name;

		counter_memory_name(text, COUNTER_RESERVED, device < 0, device);
		name = tacho_timeline_intern(timeline, text, -1);
		g_assert_cmpint(counter_kind_of_name(timeline, name), ==, COUNTER_RESERVED);
		g_assert_cmpuint(counter_memory(timeline, name), ==, (guint32)(device + 1));
	}
	for (gint bin = -1; bin < 3; bin++) {
		g_autofree gchar *figure = counter_figure_name(COUNTER_BIN_USED_BYTES, bin, "cpu");
		guint32 name = tacho_timeline_intern(timeline, figure, -1);
		const gchar *allocator;

		g_assert_cmpint(counter_kind_of_name(timeline, name), ==, COUNTER_BIN_USED_BYTES);
		g_assert_cmpint(counter_bin(timeline, name, &allocator), ==, bin);
		g_assert_cmpstr(allocator, ==, "cpu");
	}
	for (guint kind = COUNTER_PARAMETER; kind <= COUNTER_UNKNOWN; kind++) {
		g_autofree gchar *category = counter_category_name((enum counter_kind)kind);
		guint32 name = tacho_timeline_intern(timeline, category, -1);

		g_assert_cmpint(counter_kind_of_name(timeline, name), ==, kind);
	}
}

static void test_owners(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint kind = COUNTER_ALLOCATED_BY; kind <= COUNTER_FRAGMENTATION_BY; kind++) {
		g_autofree gchar *text = counter_sum_name((enum counter_kind)kind, "GPU_0_bfc");
		guint32 name = tacho_timeline_intern(timeline, text, -1);
		g_autofree gchar *owner = counter_owner(timeline, name);

		g_assert_cmpint(counter_kind_of_name(timeline, name), ==, kind);
		g_assert_cmpstr(owner, ==, "GPU_0_bfc");
	}
	{
		guint32 name = tacho_timeline_intern(timeline, "CUDA pool: used bytes", -1);
		g_autofree gchar *owner = counter_owner(timeline, name);

		g_assert_cmpstr(owner, ==, "CUDA");
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/counter_kind/memories", test_memories);
	g_test_add_func("/counter_kind/bins", test_bins);
	g_test_add_func("/counter_kind/written", test_written);
	g_test_add_func("/counter_kind/owners", test_owners);
	return g_test_run();
}
