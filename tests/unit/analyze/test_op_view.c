#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include <math.h>
#include <string.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

static gint find_row(const TachoTable *table, const gchar *name, const gchar *phase)
{
	for (guint i = 0; i < tacho_table_n_rows(table); i++)
		if (strcmp(tacho_table_cell_text(table, i, "name"), name) == 0 &&
		    strcmp(tacho_table_cell_text(table, i, "phase"), phase) == 0)
			return (gint)i;
	return -1;
}

static const gchar job[] = "rank 0 thread 1 main\n"
			   "  op aten::linear 0..10 in=float32[8,16] in=float32[4,16]\n"
			   "    module fc 1..9\n"
			   "      op aten::mm 1..7\n"
			   "        kernel sgemm 2..6\n"
			   "  op aten::mm 10..12\n"
			   "  op AddmmBackward0 20..30 backward\n"
			   "    op aten::mm 21..29\n"
			   "  annotation Optimizer.step#SGD.step 40..50\n"
			   "    op aten::add_ 41..45\n"
			   "  op aten::linear 60..64 in=float32[2,16] in=float32[4,16]\n"
			   "rank 1 thread 2 main\n"
			   "  op aten::linear 0..20 in=float32[8,16] in=float32[4,16]\n"
			   "process 99 thread 3 worker\n"
			   "  op aten::linear 0..50\n";

static void test_by_hand(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job);
	g_autoptr(TachoTable) table = NULL;
	gint linear, forward, backward, optimizer;

	for (guint rank = 0; rank < 2; rank++)
		add_step(timeline, rank, 0, 0, 50);
	table = tacho_view_op(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 5);
	linear = find_row(table, "aten::linear", "forward");
	forward = find_row(table, "aten::mm", "forward");
	backward = find_row(table, "aten::mm", "backward");
	optimizer = find_row(table, "aten::add_", "optimizer");
	g_assert_cmpint(linear, ==, 0);	   /* most self time first */
	EXPECT(table, linear, "count", 2); /* the third is past the step */
	EXPECT(table, linear, "total_ms", 30);
	EXPECT(table, linear, "self_ms", 24);
	EXPECT(table, linear, "share_pct", 24);
	EXPECT(table, linear, "mean_us", 15000);
	EXPECT(table, linear, "min_us", 10000);
	EXPECT(table, linear, "max_us", 20000);
	EXPECT(table, linear, "calls_per_step", 1);
	EXPECT(table, forward, "count", 2);
	EXPECT(table, forward, "self_ms", 8); /* the kernel is how it does it */
	EXPECT(table, backward, "self_ms", 8);
	EXPECT(table, find_row(table, "AddmmBackward0", "backward"), "self_ms", 2);
	EXPECT(table, optimizer, "self_ms", 4);
}

static void test_filters(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job);
	g_autoptr(GRegex) regex = g_regex_new("linear", 0, 0, NULL);
	g_autoptr(TachoTable) table = NULL;
	TachoFilter filter = TACHO_FILTER_INIT;

	filter.name = regex;
	filter.rank = 0;
	filter.by_shape = TRUE;
	table = tacho_view_op(timeline, &filter); /* no steps: the whole run */
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "shapes"), ==, "8x16 4x16");
	EXPECT(table, 0, "self_ms", 4); /* a name left out still takes its time away */
	EXPECT(table, 1, "total_ms", 4);
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "calls_per_step")));
}

static void test_recursion(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op f 0..10\n"
							       "    op g 1..9\n"
							       "      op f 2..8\n");
	g_autoptr(TachoTable) table = tacho_view_op(timeline, NULL);

	EXPECT(table, 0, "count", 2);
	EXPECT(table, 0, "total_ms", 10);
	EXPECT(table, 0, "mean_us", 8000);
	EXPECT(table, 0, "self_ms", 8);
	EXPECT(table, 1, "self_ms", 2);
}

/* What DDP's hooks run behind an autograd node is backward too; the next forward is not. */
static void test_phases(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op aten::relu 0..1 seq=1\n"
							       "  op aten::mul 1..2\n"
							       "  op ReluBackward0 2..3 backward\n"
							       "  op aten::mul 3..4\n"
							       "  op c10d::allreduce_ 4..5\n"
							       "  op aten::mul 5..6\n"
							       "  annotation zero_grad 6..7\n"
							       "  op aten::mul 7..8\n"
							       "  op ReluBackward0 8..9 backward\n"
							       "  op aten::relu 9..10 seq=2\n"
							       "  op aten::mul 10..11\n");
	g_autoptr(TachoTable) table = tacho_view_op(timeline, NULL);

	EXPECT(table, find_row(table, "aten::mul", "forward"), "count", 3);
	EXPECT(table, find_row(table, "aten::mul", "backward"), "count", 2);
	EXPECT(table, find_row(table, "c10d::allreduce_", "comm"), "count", 1);
	EXPECT(table, find_row(table, "aten::relu", "forward"), "count", 2);
}

static void test_empty(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoTable) table = tacho_view_op(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpuint(tacho_table_n_notes(table), >, 0);
}

/* Self times of a thread's ops add up to the time in any op. */
static void test_self_adds_up(void)
{
	for (gint round = 0; round < 200; round++) {
		g_autoptr(GString) text = g_string_new("unit ns\nrank 0 thread 1 main\n");
		g_autoptr(TachoTimeline) timeline = NULL;
		g_autoptr(TachoTable) table = NULL;
		gdouble self_ms = 0;
		gint64 busy_ns = 0, until_ns = 0;

		for (gint i = 0; i < 20; i++) {
			gint begin = g_test_rand_int_range(0, 100);
			gint end = g_test_rand_int_range(begin, 101);

			g_string_append_printf(text, "op o%d %d..%d\n", i % 5, begin, end);
		}
		timeline = timeline_from_text(text->str);
		for (guint32 i = 0; i < timeline->slices.n; i++) {
			gint64 end_ns = tacho_slice_end_ns(timeline, i);

			busy_ns += MAX(end_ns - MAX(until_ns, timeline->slices.start_ns[i]), 0);
			until_ns = MAX(until_ns, end_ns);
		}
		table = tacho_view_op(timeline, NULL);
		for (guint i = 0; i < tacho_table_n_rows(table); i++)
			self_ms += tacho_table_cell_number(table, i, "self_ms");
		g_assert_cmpfloat_with_epsilon(self_ms, (gdouble)busy_ns / 1e6, 1e-12);
	}
}

/* tfprof's example: host and device time of six operations, and their cumulative shares. */
static const gchar tfprof_model[] =
	"unit us rank 0 thread 1\n"
	"  op Placeholder 0..2\n"
	"  op VariableV2 2..3 out=float32[4,3]\n"
	"  op MatMul 3..13 in=float32[8,4] in=float32[4,3] out=float32[8,3]\n"
	"  op Relu 13..18 out=float32[8,3]\n"
	"  op L2Loss 18..22 in=float32[8,3]\n"
	"  op Identity 22..25\n"
	"stream 7\n"
	"  kernel k0 10..60 kernel k1 60..80 kernel k2 80..86\n";

static void add_launch(TachoTimeline *timeline, const gchar *op, const gchar *kernel)
{
	timeline->slices.launch[timeline_find(timeline, kernel, 0)] =
		timeline_find(timeline, op, 0);
}

static TachoTable *profile_of_model(const gchar *const *options)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(tfprof_model);
	g_autoptr(TachoProfileOptions) profile = tacho_profile_options_new();
	TachoFilter filter = TACHO_FILTER_INIT;

	filter.profile = profile;
	for (guint i = 0; options[i]; i += 2)
		g_assert_true(tacho_profile_options_set(profile, options[i], options[i + 1], NULL));
	add_launch(timeline, "MatMul", "k0");
	add_launch(timeline, "Relu", "k1");
	add_launch(timeline, "L2Loss", "k2");
	return tacho_view_op(timeline, &filter);
}

#define PROFILE(...) profile_of_model((const gchar *const[]){ __VA_ARGS__, NULL })

static void test_cumulative(void)
{
	static const struct {
		const gchar *name;
		gdouble cumulative_pct;
	} expected[] = { { "MatMul", 100 },    { "Relu", 40.59 },	{ "L2Loss", 15.84 },
			 { "Identity", 5.94 }, { "Placeholder", 2.97 }, { "VariableV2", 0.99 } };
	g_autoptr(TachoTable) table =
		PROFILE("order_by", "micros", "select", "micros,accelerator_micros,float_ops");

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_assert_cmpstr(tacho_table_cell_text(table, i, "name"), ==, expected[i].name);
		g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, i, "cumulative_pct"),
					       expected[i].cumulative_pct, 0.005);
	}
	EXPECT(table, 0, "device_ms", 0.05);
	EXPECT(table, 0, "flops", 192);
	EXPECT(table, 0, "gflop_per_s", 192 / 50e3);
	EXPECT(table, 2, "flops", 71);
}

static void test_chain(void)
{
	g_autoptr(TachoTable) started =
		PROFILE("order_by", "micros", "start", "L2Loss", "trim", "Placeholder");
	g_autoptr(TachoTable) limited =
		PROFILE("order_by", "micros", "max_depth", "2", "displayed_only", "yes");
	g_autoptr(TachoTable) large = PROFILE("min", "micros=10", "hide", "Relu");
	g_autoptr(TachoTable) accounted = PROFILE("account", "MatMul,Mat.*,Relu");
	g_autoptr(TachoTable) flops = PROFILE("order_by", "float_ops", "min", "float_ops=1");

	g_assert_cmpuint(tacho_table_n_rows(started), ==, 2);
	g_assert_cmpstr(tacho_table_cell_text(started, 0, "name"), ==, "L2Loss");
	EXPECT(started, 0, "cumulative_pct", 1600.0 / 101);
	g_assert_cmpuint(tacho_table_n_rows(limited), ==, 2);
	EXPECT(limited, 1, "cumulative_pct", 2500.0 / 85);
	g_assert_cmpuint(tacho_table_n_rows(large), ==, 2); /* of each row, not of the tail */
	g_assert_cmpstr(tacho_table_cell_text(large, 1, "name"), ==, "L2Loss");
	g_assert_cmpuint(tacho_table_n_rows(accounted), ==, 2);
	EXPECT(accounted, 0, "count", 1);		    /* matched twice, counted once */
	g_assert_cmpuint(tacho_table_n_rows(flops), ==, 3); /* Relu has a formula here */
}

/* Rows are in the order of what their share is of: of devices, where they did something. */
static void test_measure(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  op host_bound 0..60\n"
							       "    runtime one 1..2\n"
							       "  op device_bound 60..70\n"
							       "    runtime two 61..62\n"
							       "  op idle 70..80\n"
							       "stream 7\n"
							       "  kernel a 10..20 launch=one\n"
							       "  kernel b 62..92 launch=two\n");
	g_autoptr(TachoTimeline) hosts = timeline_from_text("rank 0 thread 1 main\n"
							    "  op host_bound 0..60\n"
							    "  op other 60..90\n");
	g_autoptr(TachoProfileOptions) profile = tacho_profile_options_new();
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) table = NULL, by_host = NULL, without = NULL;

	filter.profile = profile;

	tacho_correlate(timeline);
	table = tacho_view_op(timeline, NULL);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "name"), ==, "device_bound");
	EXPECT(table, 0, "device_pct", 75);
	EXPECT(table, 0, "cumulative_pct", 100);
	EXPECT(table, 1, "device_pct", 25);
	EXPECT(table, 1, "cumulative_pct", 25);
	EXPECT(table, 2, "device_pct", 0);
	g_assert_true(tacho_profile_options_set(profile, "order_by", "cpu_micros", NULL));
	by_host = tacho_view_op(timeline, &filter);
	g_assert_cmpstr(tacho_table_cell_text(by_host, 0, "name"), ==, "host_bound");
	EXPECT(by_host, 1, "cumulative_pct", 25); /* of 80 ms, 20 are left */
	without = tacho_view_op(hosts, NULL);
	g_assert_cmpstr(tacho_table_cell_text(without, 0, "name"), ==, "host_bound");
	g_assert_true(isnan(tacho_table_cell_number(without, 0, "device_pct")));
	EXPECT(without, 1, "cumulative_pct", 100.0 / 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/op_view/by_hand", test_by_hand);
	g_test_add_func("/op_view/filters", test_filters);
	g_test_add_func("/op_view/recursion", test_recursion);
	g_test_add_func("/op_view/phases", test_phases);
	g_test_add_func("/op_view/empty", test_empty);
	g_test_add_func("/op_view/self_adds_up", test_self_adds_up);
	g_test_add_func("/op_view/cumulative", test_cumulative);
	g_test_add_func("/op_view/chain", test_chain);
	g_test_add_func("/op_view/measure", test_measure);
	return g_test_run();
}
