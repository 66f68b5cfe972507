/* What CUPTI counted kernel by kernel, where PyTorch's profiler was asked for metrics: which launch each range is of. */
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

#define RANGE(ts, name, waves, hits)                                                               \
	"{'ph':'X','cat':'cuda_profiler_range','name':'" name "','pid':0,'tid':0,'ts':" ts         \
	",'dur':50,'args':{'waves':" waves ",'hits':" hits "}},\n"
#define LAUNCH(ts, call)                                                                           \
	"{'ph':'X','cat':'cuda_runtime','name':'" call "','pid':5,'tid':5,'ts':" ts                \
	",'dur':4,'args':{'correlation':" ts "}},\n"
#define HEAD                                                                                       \
	"{'schemaVersion':1,'traceEvents':[\n"                                                     \
	"{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':5,'tid':5,'ts':100,'dur':20},\n"         \
	"{'ph':'X','cat':'cpu_op','name':'aten::add','pid':5,'tid':5,'ts':130,'dur':20},\n"
#define TAIL "{'ph':'X','cat':'cpu_op','name':'end','pid':5,'tid':5,'ts':300,'dur':1}]}\n"

/* Written in any order, and the ranges before the calls: the n-th by time belong together. Fills are no kernels. */
static const gchar as_many[] = HEAD RANGE("120", "gemm", "7", "0.5")
	LAUNCH("140", "cudaLaunchKernel") LAUNCH("110", "cudaLaunchKernel")
		LAUNCH("146", "cudaMemsetAsync") RANGE("70", "gemm", "100", "0.25") TAIL;

static TachoTimeline *open_trace(const gchar *text)
{
	TachoTimeline *timeline = foreign_open_json("x.json", text);

	tacho_correlate(timeline);
	return timeline;
}

static void expect_row(const TachoTable *table, guint row, const gchar *op, const gchar *counter,
		       gdouble total)
{
	g_assert_cmpstr(tacho_table_cell_text(table, row, "name"), ==, "gemm");
	g_assert_cmpstr(tacho_table_cell_text(table, row, "op"), ==, op);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "counter"), ==, counter);
	EXPECT(table, row, "count", 1);
	EXPECT(table, row, "total", total);
}

static void test_as_many(void)
{
	g_autoptr(TachoTimeline) timeline = open_trace(as_many);
	TachoFilter whole = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) table = NULL;

	whole.is_whole = TRUE;
	table = tacho_view_kernel_counters(timeline, &whole);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 4);
	expect_row(table, 0, "aten::mm", "hits", 0.25);
	expect_row(table, 1, "aten::add", "hits", 0.5);
	expect_row(table, 2, "aten::mm", "waves", 100);
	expect_row(table, 3, "aten::add", "waves", 7);
	g_assert_cmpstr(tacho_table_cell_text(table, 2, "stack"), ==,
			"aten::mm > cudaLaunchKernel");
	/* they are work of no stream, and too early for nobody */
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* One call more: nobody knows which range is of which. What was counted is still there. */
static void test_one_more(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_trace(HEAD LAUNCH("110", "cudaLaunchKernel") LAUNCH("140", "cudaLaunchKernel")
				   RANGE("70", "gemm", "100", "0.25") TAIL);
	TachoFilter whole = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) table = NULL;
	g_autoptr(TachoTable) counters = NULL;

	whole.is_whole = TRUE;
	table = tacho_view_kernel_counters(timeline, &whole);
	counters = tacho_view_counters(timeline, &whole);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpuint(tacho_table_n_rows(counters), ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kineto-ranges/as-many", test_as_many);
	g_test_add_func("/kineto-ranges/one-more", test_one_more);
	return g_test_run();
}
