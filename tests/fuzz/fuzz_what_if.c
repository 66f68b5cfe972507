/* fuzz_what_if: whatever bytes as a file of changes, made in the graph of a small job one after the other, and played.
 * What a change needs from a file or from another recording is not there, so such changes are only read. */
#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "edit/graph_memory.h"
#include "fuzz_changes.h"
#include "fuzz_input.h"
#include "timeline_text.h"

enum {
	MAX_NODES = 20000, /* more are not changed further, and not played */
	MAX_RANKS = 64,
};

#define RANK(number, late)                                                                         \
	"rank " #number " thread 1000 main\n"                                                      \
	"  device 0 'Tesla V100-SXM2-16GB'\n"                                                      \
	"  annotation ProfilerStep#0 0..200\n"                                                     \
	"    annotation 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__' 0..10\n"     \
	"    op aten::mm 10..30 seq=1 in=float32[64,64]@1 in=float32[64,64]@2 "                    \
	"out=float32[64,64]@3\n"                                                                   \
	"      runtime launch1 12..18\n"                                                           \
	"    op aten::relu 30..40 seq=2 in=float32[64,64]@3 out=float32[64,64]@4\n"                \
	"      runtime launch2 32..38\n"                                                           \
	"    op autograd::engine::evaluate_function:AccumulateGrad 50..60\n"                       \
	"      op torch::autograd::AccumulateGrad 50..60 backward in=float32[262144]\n"            \
	"    collective gloo:all_reduce " late "..90 bytes=1048576 end_tid=9\n"                    \
	"    wait w 60..90\n"                                                                      \
	"    op optimizer 90..100\n"                                                               \
	"  alloc 12 address=1 bytes=16384 device=0\n"                                              \
	"  free 95 address=1 bytes=16384 device=0\n"                                               \
	"stream 7\n"                                                                               \
	"  kernel gemm 20..60 launch=launch1\n"                                                    \
	"  kernel relu 60..70 launch=launch2\n"

static TachoGraph *job_graph(void)
{
	static TachoGraph *graph;

	if (!graph) {
		TachoTimeline *timeline =
			timeline_from_text("unit us\n" RANK(0, "60") RANK(1, "70"));

		tacho_correlate(timeline);
		graph = tacho_graph_build(timeline, -1, -1, NULL);
		graph_find_memory(graph);
	}
	return graph;
}

/* A graph that a change made too large, or that cannot be frozen, is not changed further, and not played. */
static gboolean is_good(TachoGraph *graph)
{
	return graph->nodes->len <= MAX_NODES && graph_freeze(graph, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_auto(GStrv) changes = fuzz_changes_read(data, size, MAX_RANKS);
	g_autoptr(TachoGraph) graph = graph_copy(job_graph());
	guint n_made = 0;

	while (changes[n_made] && is_good(graph))
		tacho_graph_what_if(graph, changes[n_made++], NULL);
	if (is_good(graph))
		tacho_replay_free(tacho_replay_run(graph, NULL));
	return 0;
}
