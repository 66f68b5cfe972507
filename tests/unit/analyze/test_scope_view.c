#include <tacho/analyze.h>

#include <string.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, name, key, value)                                                            \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, find_row(table, name), key), \
				       value, 1e-9)

static guint find_row(const TachoTable *table, const gchar *name)
{
	for (guint i = 0; i < tacho_table_n_rows(table); i++)
		if (strcmp(tacho_table_cell_text(table, i, "name"), name) == 0)
			return i;
	g_error("no row '%s'", name);
	return 0;
}

static void add_flow(TachoTimeline *timeline, const gchar *from, const gchar *to,
		     TachoFlowKind kind)
{
	TachoFlow flow = { timeline_find(timeline, from, 0), timeline_find(timeline, to, 0), kind,
			   1 };

	g_array_append_val(timeline->flows, flow);
}

/* The backward thread stands before the one whose modules its nodes belong to. */
static const gchar job[] =
	"rank 0 thread 9 autograd\n"
	"  op 'autograd::engine::evaluate_function: AddmmBackward0' 20..30\n"
	"    op AddmmBackward0 21..29 backward\n"
	"      op aten::mm 22..28 in=float32[8,3] in=float32[3,4] out=float32[8,4]\n"
	"  op 'autograd::engine::evaluate_function: torch::autograd::AccumulateGrad' 30..32\n"
	"    op torch::autograd::AccumulateGrad 30..31 backward in=float32[4,3]\n"
	"thread 1 main\n"
	"  module Net 0..12\n"
	"    module 'Net.layer.0 (Linear)' 0..10\n"
	"      op aten::linear 0..9 in=float32[8,4] in=float32[3,4] out=float32[8,3]\n"
	"        op aten::addmm 1..7 in=float32[3] in=float32[8,4] in=float32[4,3] "
	"out=float32[8,3]\n"
	"          op aten::empty 1..1 out=float32[8,3]\n"
	"          alloc 2 address=16 bytes=96\n"
	"          alloc 3 address=32 bytes=40\n"
	"          free 4 address=32 bytes=40\n"
	"          free 50 address=16 bytes=96\n"
	"    op aten::relu 10..12 in=float32[8,3] out=float32[8,3]\n"
	"  annotation Optimizer.step#SGD.step 40..44\n"
	"    op aten::add_ 41..43\n"
	"stream 7\n"
	"  kernel gemm 5..9\n";

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job);
	g_autoptr(TachoTable) table = NULL;

	add_flow(timeline, "aten::linear", "AddmmBackward0", TACHO_FLOW_FORWARD_BACKWARD);
	add_flow(timeline, "aten::linear", "torch::autograd::AccumulateGrad",
		 TACHO_FLOW_FORWARD_BACKWARD);
	timeline->slices.launch[timeline_find(timeline, "gemm", 0)] =
		timeline_find(timeline, "aten::addmm", 0);
	table = tacho_view_scope(timeline, NULL);
	EXPECT(table, "", "total_ms", 9 + 2 + 12 + 2 + 4);
	EXPECT(table, "Net", "total_ms", 9 + 2 + 12 + 4);
	EXPECT(table, "Net/layer/0", "total_ms", 9 + 12 + 4);
	EXPECT(table, "Net/layer/0", "definitions", 6);
	EXPECT(table, "Net/layer/0/aten::linear", "self_ms", 3);
	EXPECT(table, "Net/layer/0/aten::linear", "self_flops", 0); /* its addmm tells them */
	EXPECT(table, "Net/layer/0/aten::linear/aten::addmm", "self_host_ms", 6);
	EXPECT(table, "Net/layer/0/aten::linear/aten::addmm", "self_device_ms", 4);
	EXPECT(table, "Net/layer/0/aten::linear/aten::addmm", "self_flops", 192);
	EXPECT(table, "Net/layer/0/aten::linear/aten::addmm", "gflop_per_s", 192 / 4e6);
	EXPECT(table, "Net/layer/0/aten::linear/aten::addmm", "self_allocated_bytes", 136);
	EXPECT(table, "Net/layer/0/aten::linear/aten::addmm", "self_peak_bytes", 136);
	EXPECT(table, "Net/layer/0/aten::linear/aten::addmm", "self_residual_bytes", 96);
	EXPECT(table, "Net/layer/0/aten::linear/aten::addmm", "self_output_bytes", 96);
	EXPECT(table, "Net/layer/0/[backward]", "total_ms", 12);
	EXPECT(table, "Net/layer/0/[backward]/AddmmBackward0", "self_ms", 4);
	EXPECT(table, "Net/layer/0/[backward]/AddmmBackward0", "self_runs", 1);
	EXPECT(table, "Net/layer/0/[backward]/AddmmBackward0/aten::mm", "self_flops", 192);
	EXPECT(table, "Net", "total_params", 12);
	EXPECT(table, "Net/aten::relu", "self_ms", 2);
	EXPECT(table, "Optimizer.step#SGD.step/aten::add_", "self_ms", 2);
	g_assert_cmpstr(tacho_table_cell_text(table,
					      find_row(table, "Optimizer.step#SGD.step/aten::add_"),
					      "phase"),
			==, "optimizer");
}

/* TensorFlow's names are scopes themselves; a node may be the prefix of others. */
static void test_names(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1\n"
							       "  annotation ProfilerStep#1 0..9\n"
							       "    op layer/MatMul 0..4\n"
							       "    op layer 4..6\n");
	g_autoptr(TachoTable) table = tacho_view_scope(timeline, NULL);

	EXPECT(table, "layer", "self_ms", 2);
	EXPECT(table, "layer", "total_ms", 6);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
}

static void test_graph(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1\n"
				   "op x 0..2 out=float32[8,4]@0x10\n"
				   "op mm 2..8 in=float32[8,4]@0x10 out=float32[8,3]@0x20\n"
				   "  op inner 3..5 in=float32[8,4]@0x10 out=float32[8,3]@0x20\n"
				   "op relu 8..9 in=float32[8,3]@0x20 out=float32[8,3]@0x30\n"
				   "op relu 9..12 in=float32[8,3]@0x30 out=float32[8,3]@0x40\n"
				   "op side 12..13 in=float32[8,3]@0x20 out=float32[1]@0x50\n"
				   "op x 20..21 out=float32[8,4]@0x10\n");
	g_autoptr(TachoTable) table = NULL;

	for (guint step = 0; step < 2; step++)
		add_step(timeline, 0, step, step ? 0 : -10, step ? 15 : 0);
	add_step(timeline, 0, 2, 15, 30);
	table = tacho_view_graph(timeline,
				 &(TachoFilter){ .rank = -1, .first_step = 1, .last_step = 1 });
	EXPECT(table, "", "total_ms", 13);
	EXPECT(table, "relu#1", "total_ms", 12);
	EXPECT(table, "relu#1", "needed_ms", 12);
	EXPECT(table, "relu#1", "longest_ms", 12);
	EXPECT(table, "side", "total_ms", 1);
	EXPECT(table, "side", "needed_ms", 9); /* whoever claimed it */
	EXPECT(table, "mm", "self_ms", 6);     /* with what is inside */
	EXPECT(table, "mm", "self_runs", 1);
	EXPECT(table, "relu", "self_ms", 1);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 6);
}

static void test_code(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1\n"
				   "  function 'train.py(9): main' 0..20\n"
				   "    function 'net.py(3): forward' 1..10\n"
				   "      annotation region 2..9\n"
				   "        op linear 2..8\n"
				   "          op addmm 3..6\n"
				   "    op loss 11..12\n"
				   "thread 2 x op LinearBackward 21..25 backward\n");
	g_autoptr(TachoTable) table = NULL;

	add_flow(timeline, "linear", "LinearBackward", TACHO_FLOW_FORWARD_BACKWARD);
	table = tacho_view_code(timeline, NULL);
	EXPECT(table, "train.py(9): main", "total_ms", 11);
	EXPECT(table, "train.py(9): main/net.py(3): forward", "total_ms", 10);
	EXPECT(table, "train.py(9): main/net.py(3): forward/linear", "self_ms", 3);
	EXPECT(table, "train.py(9): main/net.py(3): forward/addmm", "self_ms", 3);
	EXPECT(table, "train.py(9): main/net.py(3): forward/[backward]/LinearBackward", "self_ms",
	       4);
	EXPECT(table, "train.py(9): main/loss", "total_ms", 1);
}

static void test_empty(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoTable) scope = tacho_view_scope(timeline, NULL);
	g_autoptr(TachoTable) graph = tacho_view_graph(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(scope), ==, 1);
	g_assert_cmpuint(tacho_table_n_rows(graph), ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/scope_view/by_hand", test_by_hand);
	g_test_add_func("/scope_view/names", test_names);
	g_test_add_func("/graph_view/by_hand", test_graph);
	g_test_add_func("/code_view/by_hand", test_code);
	g_test_add_func("/scope_view/empty", test_empty);
	return g_test_run();
}
