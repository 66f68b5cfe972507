/* XLA's profiles as JSON: planes are devices and hosts, lines threads and queues, args say who launched what. */
#include <glib/gstdio.h>
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

/* As TensorFlow and JAX write it: all args are texts, the list ends with an object that is empty. */
static const gchar gpu[] =
	"{'displayTimeUnit':'ns','metadata':{'highres-ticks':true},'traceEvents':["
	"{'ph':'M','pid':1,'name':'process_name','args':{'name':'/device:GPU:1'}},"
	"{'ph':'M','pid':1,'name':'process_sort_index','args':{'sort_index':1}},"
	"{'ph':'M','pid':1,'tid':0,'name':'thread_name','args':{'name':'Steps'}},"
	"{'ph':'M','pid':1,'tid':0,'name':'thread_sort_index','args':{'sort_index':0}},"
	"{'ph':'M','pid':1,'tid':1,'name':'thread_name','args':{'name':'XLA Ops'}},"
	"{'ph':'M','pid':1,'tid':14,'name':'thread_name','args':{'name':'Stream #14(Compute)'}},"
	"{'ph':'M','pid':701,'name':'process_name','args':{'name':'/host:CPU'}},"
	"{'ph':'M','pid':701,'tid':7,'name':'thread_name','args':{'name':'python'}},"
	"{'ph':'X','pid':1,'tid':0,'ts':100.5,'dur':50.25,'name':'3','args':{'group_id':'3'}},"
	"{'ph':'X','pid':1,'tid':1,'ts':100.5,'dur':20,'name':'fusion.1','args':{'hlo_op':'fusion."
	"1'}},"
	"{'ph':'X','pid':1,'tid':14,'ts':100.5,'dur':20,'name':'fusion_1','args':{'correlation_id':"
	"'12',"
	"'kernel_details':'regs:32','bytes_accessed':'4096','flops':'100'}},"
	"{'ph':'X','pid':1,'tid':14,'ts':121,'dur':2,'name':'HtoD','args':{'correlation_id':'13',"
	"'memcpy_details':'size:64'}},"
	"{'ph':'X','pid':1,'tid':14,'ts':124,'dur':2,'name':'ncclDevKernel_AllReduce'},"
	"{'ph':'X','pid':1,'tid':14,'ts':127,'dur':2,'name':'fill','args':{'memset_details':'x'}},"
	"{'ph':'X','pid':701,'tid':7,'ts':90,'dur':100,'name':'$train.py:10 step'},"
	"{'ph':'X','pid':701,'tid':7,'ts':91,'dur':60,'name':'cuLaunchKernel','args':{'correlation_"
	"id':'12'}},"
	"{'ph':'X','pid':701,'tid':7,'ts':99,'dur':1,'name':'cuMemcpy','args':{'correlation_id':'"
	"13'}},"
	"{'ph':'X','pid':701,'tid':7,'ts':110,'dur':5,'name':'Execute'},"
	"{'ph':'X','pid':701,'tid':7,'ts':111,'dur':1e-06,'name':'MemoryAllocation','args':{'addr':"
	"'4096',"
	"'allocation_bytes':'256','allocator_name':'GPU_1_bfc','bytes_allocated':'512'}},"
	"{'ph':'X','pid':701,'tid':7,'ts':120,'dur':1e-06,'name':'record'},{}]}";

static void assert_slice(const TachoTimeline *timeline, const gchar *name, const gchar *kind,
			 TachoTrackKind place, gint64 start_ns, gint64 duration_ns)
{
	guint32 slice = timeline_find(timeline, name, 0);

	g_assert_cmpstr(tacho_slice_kind_name(timeline->slices.kind[slice]), ==, kind);
	g_assert_cmpint(tacho_timeline_track(timeline, timeline->slices.track[slice])->kind, ==,
			place);
	g_assert_cmpint(timeline->slices.start_ns[slice], ==, start_ns);
	g_assert_cmpint(timeline->slices.duration_ns[slice], ==, duration_ns);
}

static void assert_launch(const TachoTimeline *timeline, const gchar *name, const gchar *by)
{
	guint32 launch = timeline->slices.launch[timeline_find(timeline, name, 0)];

	g_assert_cmpuint(launch, !=, TACHO_NONE);
	g_assert_cmpstr(tacho_slice_name(timeline, launch), ==, by);
}

static void test_gpu(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json("vm.trace.json", gpu);
	const TachoTrack *queue;

	g_assert_cmpuint(timeline->problems->len, ==, 0);
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	assert_slice(timeline, "fusion_1", "kernel", TACHO_TRACK_STREAM, 10500, 20000);
	assert_slice(timeline, "HtoD", "memcpy", TACHO_TRACK_STREAM, 31000, 2000);
	assert_slice(timeline, "ncclDevKernel_AllReduce", "collective", TACHO_TRACK_STREAM, 34000,
		     2000);
	assert_slice(timeline, "fill", "memset", TACHO_TRACK_STREAM, 37000, 2000);
	/* the kernel again, by its operation */
	assert_slice(timeline, "fusion.1", "annotation", TACHO_TRACK_STREAM, 10500, 20000);
	assert_slice(timeline, "$train.py:10 step", "function", TACHO_TRACK_THREAD, 0, 100000);
	assert_slice(timeline, "cuLaunchKernel", "runtime", TACHO_TRACK_THREAD, 1000, 60000);
	assert_slice(timeline, "Execute", "op", TACHO_TRACK_THREAD, 20000, 5000);
	assert_slice(timeline, "record", "event", TACHO_TRACK_THREAD, 30000, 0);
	assert_launch(timeline, "fusion_1", "cuLaunchKernel");
	assert_launch(timeline, "HtoD", "cuMemcpy");
	queue = tacho_timeline_track(timeline,
				     timeline->slices.track[timeline_find(timeline, "HtoD", 0)]);
	g_assert_cmpint(queue->device, ==, 1);
	g_assert_cmpuint(queue->tid, ==, 14);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 1);
	g_assert_cmpint(g_array_index(timeline->steps, TachoStep, 0).start_ns, ==, 10500);
	g_assert_cmpint(g_array_index(timeline->steps, TachoStep, 0).end_ns, ==, 60750);
}

static void test_args(void)
{
	g_autofree gchar *text = g_strdelimit(g_strdup(gpu), "'", '"');
	gchar *path = foreign_write("vm.trace.json", text, strlen(text));
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	guint32 kernel = timeline_find(timeline, "fusion_1", 0);
	g_autofree gchar *args = tacho_slice_args_json(timeline, kernel);
	TachoKernelArgs figures;

	g_assert_nonnull(strstr(args, "regs:32"));
	g_assert_true(tacho_slice_kernel(timeline, kernel, &figures));
	g_assert_cmpuint(figures.bytes, ==, 4096);
	g_assert_cmpuint(figures.flops, ==, 100);
	foreign_remove(path);
}

/* The counter has so many samples, of which that is the first. */
static void expect_samples(const TachoTimeline *timeline, const gchar *name, guint n, gdouble first)
{
	for (guint i = 0; i < timeline->tracks->len; i++) {
		guint row;

		if (strcmp(tacho_timeline_string(timeline, tacho_timeline_track(timeline, i)->name),
			   name) != 0)
			continue;
		g_assert_cmpuint(tacho_track_samples(timeline, i, &row), ==, n);
		g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, row).value, ==,
				  first);
		return;
	}
	g_error("no counter '%s'", name);
}

/* Memory events are of their thread, and of the device that the allocator is of. */
static void test_memory(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"vm.trace.json",
		"{'metadata':{'highres-ticks':true},'traceEvents':["
		"{'ph':'M','pid':701,'name':'process_name','args':{'name':'/host:CPU'}},"
		"{'ph':'X','pid':701,'tid':7,'ts':10,'dur':20,'name':'MatMul'},"
		"{'ph':'X','pid':701,'tid':7,'ts':12,'dur':1e-06,'name':'MemoryAllocation','args':{"
		"'addr':'4096','allocation_bytes':'256','allocator_name':'GPU_0_bfc',"
		"'bytes_allocated':'512','bytes_reserved':'1024','requested_bytes':'250',"
		"'peak_bytes_in_use':'768','fragmentation':'0.125'}},"
		"{'ph':'X','pid':701,'tid':7,'ts':18,'dur':1e-06,'name':'MemoryDeallocation','args'"
		":{"
		"'addr':'4096','allocation_bytes':'256','allocator_name':'GPU_0_bfc',"
		"'bytes_allocated':'256','bytes_reserved':'1024'}},"
		"{'ph':'X','pid':701,'tid':8,'ts':19,'dur':1,'name':'MemoryAllocation'},{}]}");
	const TachoMemoryEvent *events = (const TachoMemoryEvent *)timeline->memory->data;

	g_assert_cmpuint(timeline->memory->len, ==, 2);
	g_assert_cmpuint(timeline->slices.n, ==, 2); /* one without an address is none */
	g_assert_cmpint(events[0].time_ns, ==, 2000);
	g_assert_cmpuint(events[0].address, ==, 4096);
	g_assert_cmpint(events[0].bytes, ==, 256);
	g_assert_cmpuint(events[0].device, ==, 1);
	g_assert_cmpuint(events[0].slice, ==, timeline_find(timeline, "MatMul", 0));
	g_assert_cmpint(events[1].bytes, ==, -256);
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 0).value, ==, 512);
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 1).value, ==, 256);
	expect_samples(timeline, "GPU_0_bfc reserved", 2, 1024);
	expect_samples(timeline, "GPU_0_bfc most allocated", 1, 768);
	expect_samples(timeline, "GPU_0_bfc fragmentation", 1, 0.125);
	/* 256 bytes are in the first bin: when most were in use, and at the end */
	expect_samples(timeline, "total_chunks_in_use of bin 0 of GPU_0_bfc", 2, 1);
	expect_samples(timeline, "total_bytes_in_use of bin 0 of GPU_0_bfc", 2, 256);
	expect_samples(timeline, "total_requested_bytes_in_use of GPU_0_bfc", 2, 250);
}

/* As XProf writes it: hosts before the planes' names, numbers, arrows, counters; a TPU has no streams. */
static void test_tpu(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"rank-3.trace.json",
		"{'displayTimeUnit':'ns','metadata':{'highres-ticks':true},'details':[],'"
		"traceEvents':["
		"{'args':{'name':'w7 /device:TPU:2 (pid "
		"3)'},'name':'process_name','ph':'M','pid':3},"
		"{'args':{'name':'XLA Ops'},'name':'thread_name','ph':'M','pid':3,'tid':2},"
		"{'args':{'name':'XLA Modules'},'name':'thread_name','ph':'M','pid':3,'tid':3},"
		"{'args':{'name':'Async XLA Ops'},'name':'thread_name','ph':'M','pid':3,'tid':4},"
		"{'args':{'name':'w7 /host:CPU (pid 9)'},'name':'process_name','ph':'M','pid':9},"
		"{'args':{'name':'main'},'name':'thread_name','ph':'M','pid':9,'tid':1},"
		"{'pid':9,'tid':1,'name':'train','ts':1,'dur':3,'ph':'X','args':{'group_id':5,'"
		"step_num':5},'z':1},"
		"{'pid':9,'tid':1,'name':'train','ts':10,'dur':20,'ph':'X','args':{'step_num':6}},"
		"{'pid':9,'tid':1,'name':'run','ts':11,'dur':2,'bind_id':77,'flow_out':true,'ph':'"
		"X'},"
		"{'pid':3,'tid':3,'name':'jit_step','ts':12,'dur':9,'bind_id':77,'flow_in':true,'"
		"ph':'X'},"
		"{'pid':3,'tid':2,'name':'fusion.1','ts':12,'dur':4,'ph':'X','args':{'hlo_category'"
		":'fusion'}},"
		"{'pid':3,'tid':2,'name':'all-reduce.1','ts':16,'dur':2,'ph':'X','args':{'hlo_"
		"category':'all-reduce'}},"
		"{'pid':3,'tid':2,'name':'copy-done','ts':18,'dur':2,'ph':'X','args':{'hlo_"
		"category':'copy-done'}},"
		"{'pid':3,'tid':4,'name':'copy-start','ts':12,'dur':8,'ph':'X','args':{'hlo_"
		"category':'copy'}},"
		"{'pid':3,'tid':4,'name':'copy-start','ts':13,'dur':9,'ph':'X','args':{'hlo_"
		"category':'copy'}},"
		"{'pid':3,'name':'HBM','ts':12,'ph':'C','args':{'bytes':12345}}]}");
	const TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, 0);

	g_assert_cmpuint(timeline->problems->len, ==, 0);
	g_assert_cmpint(process->rank, ==, 3);
	g_assert_cmpstr(tacho_timeline_string(timeline, process->host), ==, "w7");
	assert_slice(timeline, "fusion.1", "kernel", TACHO_TRACK_STREAM, 11000, 4000);
	assert_slice(timeline, "all-reduce.1", "collective", TACHO_TRACK_STREAM, 15000, 2000);
	assert_slice(timeline, "copy-done", "sync", TACHO_TRACK_STREAM, 17000, 2000);
	assert_slice(timeline, "copy-start", "memcpy", TACHO_TRACK_ASYNC, 11000, 8000);
	assert_slice(timeline, "jit_step", "annotation", TACHO_TRACK_STREAM, 11000, 9000);
	assert_slice(timeline, "train", "annotation", TACHO_TRACK_THREAD, 0, 3000);
	g_assert_cmpuint(timeline->flows->len, ==, 1);
	g_assert_cmpuint(timeline->samples->len, ==, 1);
	g_assert_cmpint(
		tacho_timeline_track(timeline,
				     timeline->slices.track[timeline_find(timeline, "fusion.1", 0)])
			->device,
		==, 2);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 2);
	g_assert_cmpint(g_array_index(timeline->steps, TachoStep, 1).end_ns, ==, 29000);
}

/* If a profile was written in both forms, the XSpace is read. */
static void test_beside_xspace(void)
{
	g_autofree gchar *text = g_strdelimit(g_strdup(gpu), "'", '"');
	gchar *path = foreign_write("vm.trace.json", text, strlen(text));
	g_autofree gchar *folder = g_path_get_dirname(path);
	g_autofree gchar *beside = g_build_filename(folder, "vm.xplane.pb", NULL);
	g_autoptr(TachoTimeline) named = NULL, found = foreign_open(folder);
	g_autofree gchar *message = NULL;

	g_assert_cmpuint(found->slices.n, >, 0);
	g_assert_true(g_file_set_contents(beside, "\x0a\x00", 2, NULL));
	message = foreign_open_fails(folder);
	named = foreign_open(path);
	g_assert_cmpuint(named->slices.n, ==, found->slices.n);
	g_unlink(beside);
	foreign_remove(path);
}

static void test_damaged(void)
{
	g_autofree gchar *text = g_strdelimit(g_strdup(gpu), "'", '"');
	gchar *path = foreign_write("vm.trace.json", text, strlen(text));

	foreign_damage(path, 300);
	foreign_remove(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/xla-json/gpu", test_gpu);
	g_test_add_func("/xla-json/args", test_args);
	g_test_add_func("/xla-json/memory", test_memory);
	g_test_add_func("/xla-json/tpu", test_tpu);
	g_test_add_func("/xla-json/beside-xspace", test_beside_xspace);
	g_test_add_func("/xla-json/damaged", test_damaged);
	return g_test_run();
}
