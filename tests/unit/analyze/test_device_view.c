/* What devices do and how much of them is filled, and what is at work in a step: by hand, and what the TensorBoard
 * plug-in of PyTorch's profiler says of its examples (K2 of the README beside them). */
#include <math.h>
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "analyze/device_load.h"
#include "foreign_traces.h"
#include "timeline_text.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* The first step launches a kernel that ends 30 us after it: there the second begins. */
static const gchar two_steps[] =
	"{'schemaVersion': 1, 'traceEvents': [\n"
	"{'ph':'X','cat':'Operator','name':'ProfilerStep#4','pid':9,'tid':9,'ts':0,'dur':100},\n"
	"{'ph':'X','cat':'Operator','name':'enumerate(DataLoader)#_Iter.__next__','pid':9,'tid':9,"
	"'ts':0,'dur':10},\n"
	"{'ph':'X','cat':'Operator','name':'aten::mm','pid':9,'tid':9,'ts':10,'dur':30},\n"
	"{'ph':'X','cat':'Runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':15,'dur':5,"
	"'args':{'correlation':1}},\n"
	"{'ph':'X','cat':'Runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':85,'dur':5,"
	"'args':{'correlation':2}},\n"
	"{'ph':'X','cat':'Operator','name':'ProfilerStep#5','pid':9,'tid':9,'ts':100,'dur':100},\n"
	"{'ph':'X','cat':'Runtime','name':'cudaMemcpyAsync','pid':9,'tid':9,'ts':110,'dur':2,"
	"'args':{'correlation':3}},\n"
	"{'ph':'X','cat':'Runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':150,'dur':2,"
	"'args':{'correlation':4}},\n"
	"{'ph':'X','cat':'Kernel','name':'a','pid':0,'tid':7,'ts':30,'dur':50,'args':{'device':0,"
	"'stream':7,'correlation':1,'blocks per SM':0.5,'est. achieved occupancy %':40}},\n"
	"{'ph':'X','cat':'Kernel','name':'b','pid':0,'tid':7,'ts':95,'dur':35,'args':{'device':0,"
	"'stream':7,'correlation':2,'blocks per SM':0.75,'est. achieved occupancy %':20}},\n"
	"{'ph':'X','cat':'Memcpy','name':'Memcpy HtoD','pid':0,'tid':7,'ts':140,'dur':10,"
	"'args':{'device':0,'stream':7,'correlation':3}},\n"
	"{'ph':'X','cat':'Kernel','name':'ncclKernel_AllReduce_RING','pid':0,'tid':8,'ts':160,"
	"'dur':30,'args':{'device':0,'stream':8,'correlation':4}}\n"
	"]}\n";

static TachoTimeline *open_text(gchar **ret_path)
{
	g_autofree gchar *json = g_strdelimit(g_strdup(two_steps), "'", '"');
	TachoTimeline *timeline;

	*ret_path = foreign_write("two_steps.pt.trace.json", json, strlen(json));
	timeline = foreign_open(*ret_path);
	tacho_correlate(timeline);
	return timeline;
}

static TachoFilter steps(gint64 first, gint64 last)
{
	TachoFilter filter = TACHO_FILTER_INIT;

	filter.first_step = first;
	filter.last_step = last;
	return filter;
}

static void test_breakdown(void)
{
	static const gdouble expected_ms[2][9] = {
		{ 0.13, 0.085, 0, 0, 0, 0.01, 0.01, 0.015, 0.01 },
		{ 0.07, 0, 0.01, 0, 0.03, 0.002, 0, 0, 0.028 },
	};
	static const gchar *const keys[] = { "duration_ms",    "kernel_ms",	   "memcpy_ms",
					     "memset_ms",      "communication_ms", "runtime_ms",
					     "data_loader_ms", "operation_ms",	   "other_ms" };
	gchar *path;
	g_autoptr(TachoTimeline) timeline = open_text(&path);

	for (guint step = 0; step < 2; step++) {
		TachoFilter filter = steps(step, step);
		g_autoptr(TachoTable) table = tacho_view_breakdown(timeline, &filter);

		g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
		EXPECT(table, 0, "steps", 1);
		for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
			EXPECT(table, 0, keys[i], expected_ms[step][i]);
	}
	foreign_remove(path);
}

/* Waiting for the data loader is told from the region in which PyTorch takes a batch from it. */
static void test_data_wait(void)
{
	gchar *path;
	g_autoptr(TachoTimeline) timeline = open_text(&path);
	TachoFilter filter = steps(0, 0);
	g_autoptr(TachoTable) table = tacho_view_step(timeline, &filter);

	EXPECT(table, 0, "data_wait_ms", 0.01);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_OP), ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_ANNOTATION), ==, 3);
	foreign_remove(path);
}

static void test_device(void)
{
	gchar *path;
	g_autoptr(TachoTimeline) timeline = open_text(&path);
	TachoFilter filter = steps(0, 1);
	g_autoptr(TachoTable) table = tacho_view_device(timeline, &filter);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "device"), ==, "gpu 0");
	EXPECT(table, 0, "duration_ms", 0.2);
	EXPECT(table, 0, "busy_ms", 0.125);
	EXPECT(table, 0, "idle_ms", 0.075);
	EXPECT(table, 0, "compute_ms", 0.085);
	EXPECT(table, 0, "communication_ms", 0.03);
	EXPECT(table, 0, "exposed_communication_ms", 0.03);
	EXPECT(table, 0, "memcpy_ms", 0.01);
	EXPECT(table, 0, "exposed_memcpy_ms", 0.01);
	EXPECT(table, 0, "utilization_pct", 57.5);
	EXPECT(table, 0, "sm_efficiency_pct", 25.625);
	EXPECT(table, 0, "occupancy_pct", (40.0 * 50 + 20 * 35) / 85);
	foreign_remove(path);
}

/* 30 blocks on 40 multiprocessors are 0.75 by each. */
static void test_blocks(void)
{
	g_autoptr(GString) json = g_string_new(two_steps);
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoTable) table = NULL;
	TachoFilter filter = steps(0, 1);
	gchar *path;

	g_assert_cmpuint(g_string_replace(json, "'blocks per SM':0.75", "'grid':[15,2,1]", 0), ==,
			 1);
	g_string_insert(json, 1, "'deviceProperties':[{'id':0,'numSms':40}],");
	g_strdelimit(json->str, "'", '"');
	path = foreign_write("blocks.pt.trace.json", json->str, json->len);
	timeline = foreign_open(path);
	tacho_correlate(timeline);
	table = tacho_view_device(timeline, &filter);
	EXPECT(table, 0, "sm_efficiency_pct", 25.625);
	foreign_remove(path);
}

/* Kernels tell nothing of blocks, and there are no steps: all of the work's time. */
static void test_without(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("unit us\n"
							       "rank 0 thread 1 main\n"
							       "  op a 0..100\n"
							       "  stream 7\n"
							       "    kernel k 20..40\n"
							       "    memset m 50..60\n");
	g_autoptr(TachoTable) device = tacho_view_device(timeline, NULL);
	g_autoptr(TachoTable) breakdown = tacho_view_breakdown(timeline, NULL);

	EXPECT(device, 0, "duration_ms", 0.04);
	EXPECT(device, 0, "compute_ms", 0.03);
	EXPECT(device, 0, "utilization_pct", 50);
	g_assert_true(isnan(tacho_table_cell_number(device, 0, "sm_efficiency_pct")));
	g_assert_true(isnan(tacho_table_cell_number(device, 0, "occupancy_pct")));
	EXPECT(breakdown, 0, "duration_ms", 0.1);
	EXPECT(breakdown, 0, "operation_ms", 0.07);
	g_assert_true(isnan(tacho_table_cell_number(breakdown, 0, "steps")));
}

static GArray *runs_of(const struct kernel_run *runs, guint n)
{
	GArray *array = g_array_new(FALSE, FALSE, sizeof(*runs));

	g_array_append_vals(array, runs, n);
	return array;
}

/* Two kernels beside each other fill a device at most once. */
static void test_efficiency(void)
{
	static const struct kernel_run kernels[] = { { 0, 10, 0.6, 30 },
						     { 5, 15, 0.6, 10 },
						     { 15, 20, 0.25, 5 },
						     { 30, 30, 2, 5 },
						     { 40, 50, NAN, NAN } };
	static const struct share_stretch expected[] = {
		{ 0, 5, 0.6 }, { 5, 10, 1 }, { 10, 15, 0.6 }, { 15, 20, 0.25 }
	};
	g_autoptr(GArray) runs = runs_of(kernels, G_N_ELEMENTS(kernels));
	g_autoptr(GArray) stretches = device_sm_efficiency(runs);

	g_assert_cmpuint(stretches->len, ==, G_N_ELEMENTS(expected));
	for (guint i = 0; i < stretches->len; i++) {
		const struct share_stretch *at = &g_array_index(stretches, struct share_stretch, i);

		g_assert_cmpint(at->begin_ns, ==, expected[i].begin_ns);
		g_assert_cmpint(at->end_ns, ==, expected[i].end_ns);
		g_assert_cmpfloat_with_epsilon(at->share, expected[i].share, 1e-12);
	}
	g_assert_cmpfloat_with_epsilon(device_mean_sm_efficiency(runs, 0, 20),
				       100 * (3 + 5 + 3 + 1.25) / 20, 1e-9);
	g_assert_cmpfloat_with_epsilon(device_mean_utilization(runs, 0, 40), 50, 1e-9);
	g_assert_cmpfloat_with_epsilon(device_mean_occupancy(runs, 0, 10),
				       (30.0 * 10 + 10 * 5) / 15, 1e-9);
	g_assert_true(isnan(device_mean_utilization(runs, 7, 7)));
}

/* 0.25 ms are 25 stretches of 10 us, 101.5 us are ten, of which the last takes what is over. */
static void test_utilization(void)
{
	static const struct kernel_run kernels[] = { { 5000, 25000, NAN, NAN },
						     { 95000, 101500, NAN, NAN } };
	g_autoptr(GArray) runs = runs_of(kernels, G_N_ELEMENTS(kernels));
	g_autoptr(GArray) long_one = device_utilization(runs, 0, 250000);
	g_autoptr(GArray) short_one = device_utilization(runs, 0, 101500);
	g_autoptr(GArray) hundred = device_utilization(runs, 0, 100000);
	g_autoptr(GArray) none = device_utilization(runs, 0, 500);

	g_assert_cmpuint(long_one->len, ==, 25);
	g_assert_cmpfloat(g_array_index(long_one, struct share_stretch, 0).share, ==, 0.5);
	g_assert_cmpfloat(g_array_index(long_one, struct share_stretch, 1).share, ==, 1);
	g_assert_cmpuint(short_one->len, ==, 10);
	g_assert_cmpint(g_array_index(short_one, struct share_stretch, 9).end_ns, ==, 101500);
	g_assert_cmpfloat_with_epsilon(g_array_index(short_one, struct share_stretch, 9).share,
				       6.5 / 11.5, 1e-12);
	g_assert_cmpuint(hundred->len, ==, 100);
	g_assert_cmpuint(none->len, ==, 0);
}

/* K2: the overview of both samples, means over all six steps and the steps themselves, in whole microseconds. */
static void test_overview(void)
{
	static const struct {
		const gchar *name;
		gint us[9], first_us[8], last_us[8];
		gdouble percent[3];
	} samples[] = {
		{ "resnet50_num_workers_0/worker0.1623143089861",
		  { 177592, 98589, 1915, 89, 0, 2908, 59262, 13674, 1156 },
		  { 98598, 1941, 90, 0, 2796, 69317, 14091, 1115 },
		  { 98641, 1798, 88, 0, 3381, 48185, 12773, 1117 },
		  { 55.51, 54.68, 49.13 } },
		{ "resnet50_num_workers_4/worker0.1623212756351",
		  { 141068, 99145, 3160, 98, 0, 10564, 1186, 22665, 4251 },
		  { 99778, 3606, 98, 0, 41028, 4341, 27460, 5995 },
		  { 98956, 2885, 98, 0, 3714, 1400, 13235, 3910 },
		  { 70.27, 69.22, 48.91 } },
	};
	static const gchar *const keys[] = { "duration_ms",    "kernel_ms",	   "memcpy_ms",
					     "memset_ms",      "communication_ms", "runtime_ms",
					     "data_loader_ms", "operation_ms",	   "other_ms" };
	static const gchar *const shares[] = { "utilization_pct", "sm_efficiency_pct",
					       "occupancy_pct" };

	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autofree gchar *name = g_strdup_printf(
			"kineto/kineto/samples/%s.pt.trace.json.gz", samples[i].name);
		g_autofree gchar *path = foreign_sample(name);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
		TachoFilter all = steps(0, 5), first = steps(0, 0), last = steps(5, 5);
		g_autoptr(TachoTable) mean = NULL, begin = NULL, end = NULL, device = NULL;

		if (!timeline)
			return;
		tacho_correlate(timeline);
		mean = tacho_view_breakdown(timeline, &all);
		begin = tacho_view_breakdown(timeline, &first);
		end = tacho_view_breakdown(timeline, &last);
		device = tacho_view_device(timeline, &all);
		for (guint k = 0; k < G_N_ELEMENTS(keys); k++)
			g_assert_cmpint(lround(tacho_table_cell_number(mean, 0, keys[k]) * 1e3), ==,
					samples[i].us[k]);
		for (guint k = 1; k < G_N_ELEMENTS(keys); k++) {
			g_assert_cmpint(lround(tacho_table_cell_number(begin, 0, keys[k]) * 1e3),
					==, samples[i].first_us[k - 1]);
			g_assert_cmpint(lround(tacho_table_cell_number(end, 0, keys[k]) * 1e3), ==,
					samples[i].last_us[k - 1]);
		}
		for (guint k = 0; k < G_N_ELEMENTS(shares); k++)
			g_assert_cmpfloat_with_epsilon(
				tacho_table_cell_number(device, 0, shares[k]),
				samples[i].percent[k], 0.005);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/device-view/breakdown", test_breakdown);
	g_test_add_func("/device-view/data-wait", test_data_wait);
	g_test_add_func("/device-view/device", test_device);
	g_test_add_func("/device-view/blocks", test_blocks);
	g_test_add_func("/device-view/without", test_without);
	g_test_add_func("/device-view/efficiency", test_efficiency);
	g_test_add_func("/device-view/utilization", test_utilization);
	g_test_add_func("/device-view/overview", test_overview);
	return g_test_run();
}
