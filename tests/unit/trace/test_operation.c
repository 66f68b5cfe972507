/* operation: which way the bytes of a call go, as its name tells. */
#include "trace/operation.h"

static const struct {
	const gchar *name;
	TachoWay way;
} ways[] = {
	{ "nccl:send 0->1", TACHO_WAY_SEND },
	{ "gloo:recv", TACHO_WAY_RECEIVE },
	{ "MPI_Receive", TACHO_WAY_RECEIVE },
	{ "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", TACHO_WAY_BOTH },
	{ "c10d::recv_any_source_", TACHO_WAY_RECEIVE },
	{ "nccl:all_reduce", TACHO_WAY_BY_NAME },
	{ "", TACHO_WAY_BY_NAME },
};

static void test_ways(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
		guint32 name = tacho_timeline_intern(timeline, ways[i].name, -1);

		g_assert_cmpint(way_of_name(timeline, name), ==, ways[i].way);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/operation/ways", test_ways);
	return g_test_run();
}
