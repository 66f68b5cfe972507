/* CTF traces made for the test: what each kind of event becomes. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>
#include <tacho/import.h>

#include "ctf_lines.h"
#include "foreign_traces.h"
#include "timeline_text.h"

/* The trace of the text; its folder is removed at once: its args cannot be asked for. */
static TachoTimeline *open_lines(const gchar *text)
{
	gchar *folder = ctf_lines_new(text);
	TachoTimeline *timeline = foreign_open(folder);

	ctf_lines_remove(folder);
	return timeline;
}

static const gchar *track_name(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_timeline_string(
		timeline, tacho_timeline_track(timeline, timeline->slices.track[slice])->name);
}

static void assert_args(const TachoTimeline *timeline, const gchar *name, const gchar *expected)
{
	g_autofree gchar *args = tacho_slice_args_json(timeline, timeline_find(timeline, name, 0));

	g_assert_cmpstr(args, ==, expected);
}

/* The n-th value of the counter of that name. */
static gdouble sample_of(const TachoTimeline *timeline, const gchar *name, guint nth)
{
	for (guint i = 0; i < timeline->samples->len; i++) {
		const TachoSample *sample = &g_array_index(timeline->samples, TachoSample, i);
		const TachoTrack *track = tacho_timeline_track(timeline, sample->track);

		if (strcmp(tacho_timeline_string(timeline, track->name), name) == 0 && nth-- == 0)
			return sample->value;
	}
	g_error("no counter %s", name);
}

/* --- what all tracers do ---------------------------------------------------------------------- */

static void test_pairs(void)
{
	gchar *folder = ctf_lines_new(
		"env hostname a\n"
		"pid 10\n"
		"1000 7 app:load_entry file=x.bin size=u:4\n"
		"1100 7 app:parse_begin\n"
		"1200 7 app:note text='a \"quoted\" word' level=i:-3 share=f:0.25 mask=x:255\n"
		"1300 7 app:parse_end\n"
		"1400 7 app:load_exit file=x.bin size=u:9 result=i:5\n"
		"1500 7 app:timer_start\n" /* nothing of that name ends: a moment */
		"1600 7 app:wait_enter\n");
	g_autoptr(TachoTimeline) timeline = foreign_open(folder);

	g_assert_cmpuint(timeline->n_events, ==, 7);
	timeline_assert_slice(timeline, "app:load", 0, "event", 0, 400);
	timeline_assert_slice(timeline, "app:parse", 0, "event", 100, 200);
	timeline_assert_slice(timeline, "app:note", 0, "event", 200, 0);
	timeline_assert_slice(timeline, "app:timer_start", 0, "event", 500, 0);
	timeline_assert_slice(timeline, "app:wait_enter", 0, "event", 600, 0);
	assert_args(timeline, "app:load",
		    "{\"event\":\"app:load_entry\",\"vtid\":7,\"vpid\":10,\"file\":\"x.bin\","
		    "\"size\":4,\"cpu_id\":0,\"end.size\":9,\"result\":5}");
	assert_args(timeline, "app:note",
		    "{\"event\":\"app:note\",\"vtid\":7,\"vpid\":10,\"text\":\"a \\\"quoted\\\" "
		    "word\",\"level\":-3,\"share\":0.25,\"mask\":\"0xff\",\"cpu_id\":0}");
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpuint(g_array_index(timeline->processes, TachoProcess, 0).pid, ==, 10);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	ctf_lines_remove(folder);
}

/* The end of `inner` is lost; `open` never ends; `late` began before the recording. */
static void test_unmatched(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines("100 7 late_exit\n"
						       "200 7 outer_entry\n"
						       "300 7 inner_entry\n"
						       "500 7 outer_exit\n"
						       "600 7 outer_exit\n"
						       "700 7 open_entry\n"
						       "800 7 last\n"
						       "900 8 late_entry\n"
						       "950 8 open_exit\n"
						       "960 8 inner_exit\n");
	guint32 open = timeline_find(timeline, "open", 0);

	timeline_assert_slice(timeline, "outer", 0, "event", 100, 300);
	timeline_assert_slice(timeline, "inner", 0, "event", 200, 200);
	g_assert_cmpint(timeline->slices.duration_ns[open], ==, 260);
	g_assert_cmpuint(timeline->slices.flags[open] & TACHO_SLICE_OPEN, ==, TACHO_SLICE_OPEN);
	g_assert_cmpuint(
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNMATCHED_BEGIN)->count, ==, 1);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNMATCHED_END)->count,
			 ==, 3);
	g_assert_cmpuint(timeline->slices.n, ==, 9);
}

/* Events of two streams, one of which lost some, in the order of time: the interval crosses cores. */
static void test_streams(void)
{
	gchar *folder = ctf_lines_new("stream cpu=0\n"
				      "100 7 job_begin\n"
				      "400 8 b\n"
				      "stream cpu=3 discarded=5\n"
				      "200 8 a\n"
				      "300 7 job_end\n");
	g_autoptr(TachoTimeline) timeline = foreign_open(folder);

	timeline_assert_slice(timeline, "job", 0, "event", 0, 200);
	assert_args(timeline, "a", "{\"event\":\"a\",\"vtid\":8,\"vpid\":0,\"cpu_id\":3}");
	g_assert_cmpuint(timeline->n_dropped, ==, 5);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_LOST_RECORDS)->count,
			 ==, 5);
	ctf_lines_remove(folder);
}

static void test_counters(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines("context vtid vpid procname perf\n"
						       "pid 10\n"
						       "procname train\n"
						       "perf 100\n"
						       "100 7 a\n"
						       "perf 180\n"
						       "200 7 a\n");
	const TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, 0);

	g_assert_cmpfloat(sample_of(timeline, "perf_thread_cycles of thread 7", 0), ==, 100);
	g_assert_cmpfloat(sample_of(timeline, "perf_thread_cycles of thread 7", 1), ==, 180);
	g_assert_cmpstr(tacho_timeline_string(timeline, process->command), ==, "train");
}

static void test_functions(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_lines("100 7 lttng_ust_cyg_profile:func_entry addr=x:0x10 call_site=x:1\n"
			   "200 7 lttng_ust_cyg_profile:func_entry addr=x:0x20 call_site=x:1\n"
			   "300 7 lttng_ust_cyg_profile:func_exit addr=x:0x20 call_site=x:1\n"
			   "400 7 lttng_ust_cyg_profile:func_exit addr=x:0x10 call_site=x:1\n"
			   "500 7 lttng_ust_cuda:cuLaunchKernel_entry f=x:5\n"
			   "600 7 lttng_ust_cuda:cuLaunchKernel_exit cuResult=i:0\n");

	timeline_assert_slice(timeline, "0x10", 0, "function", 0, 300);
	timeline_assert_slice(timeline, "0x20", 0, "function", 100, 100);
	timeline_assert_slice(timeline, "cuLaunchKernel", 0, "runtime", 400, 100);
}

static void test_memory(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_lines("100 7 lttng_ust_libc:malloc size=u:64 ptr=x:0x1000\n"
			   "200 7 lttng_ust_libc:calloc nmemb=u:4 size=u:8 ptr=x:0x2000\n"
			   "300 7 lttng_ust_libc:realloc in_ptr=x:0x1000 size=u:80 ptr=x:0x3000\n"
			   "400 7 lttng_ust_libc:free ptr=x:0x2000\n"
			   "500 7 lttng_ust_libc:free ptr=x:0\n");
	static const struct {
		guint64 address;
		gint64 bytes;
	} expected[] = {
		{ 0x1000, 64 }, { 0x2000, 32 }, { 0x1000, 0 }, { 0x3000, 80 }, { 0x2000, 0 }
	};

	g_assert_cmpuint(timeline->memory->len, ==, G_N_ELEMENTS(expected));
	for (guint i = 0; i < timeline->memory->len; i++) {
		const TachoMemoryEvent *event =
			&g_array_index(timeline->memory, TachoMemoryEvent, i);

		g_assert_cmphex(event->address, ==, expected[i].address);
		g_assert_cmpint(event->bytes, ==, expected[i].bytes);
	}
}

/* --- the kernel ------------------------------------------------------------------------------- */

static void test_kernel(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"env domain kernel\n"
		"context\n"
		"stream cpu=1\n"
		"100 0 sched_switch prev_comm=swapper prev_tid=i:0 next_comm=make next_tid=i:20\n"
		"150 0 syscall_entry_read fd=i:3\n"
		"250 0 syscall_exit_read ret=i:100\n"
		"300 0 sched_switch prev_comm=make prev_tid=i:20 next_comm=cc next_tid=i:31\n"
		"350 0 lttng_statedump_process_state tid=i:31 pid=i:30 name=cc\n"
		"400 0 syscall_entry_futex uaddr=x:1\n"
		"500 0 sched_switch prev_comm=cc prev_tid=i:31 next_comm=swapper next_tid=i:0\n"
		"510 0 irq_handler_entry irq=i:4\n"
		"520 0 irq_handler_exit irq=i:4\n"
		"600 0 sched_switch prev_comm=swapper prev_tid=i:0 next_comm=cc next_tid=i:31\n"
		"700 0 syscall_exit_futex ret=i:0\n");
	guint32 stay = timeline_find(timeline, "make", 0);
	guint32 call = timeline_find(timeline, "syscall futex", 0);

	timeline_assert_slice(timeline, "make", 0, "event", 0, 200);
	timeline_assert_slice(timeline, "cc", 0, "event", 200, 200);
	timeline_assert_slice(timeline, "cc", 1, "event", 500, 100);
	g_assert_cmpstr(track_name(timeline, stay), ==, "core 1");
	timeline_assert_slice(timeline, "syscall read", 0, "function", 50, 100);
	timeline_assert_slice(timeline, "syscall futex", 0, "function", 300, 300);
	timeline_assert_slice(timeline, "irq_handler", 0, "event", 410, 10);
	g_assert_cmpuint(tacho_slice_process(timeline, call)->pid, ==, 30);
	g_assert_cmpstr(track_name(timeline, call), ==, "cc");
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* Where the kernel's events say whose they are, that counts. */
static void test_kernel_context(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines("env domain kernel\n"
						       "context tid procname\n"
						       "procname cc\n"
						       "100 31 syscall_entry_read fd=i:3\n"
						       "150 32 note\n"
						       "250 31 syscall_exit_read ret=i:100\n");
	guint32 call = timeline_find(timeline, "syscall read", 0);

	g_assert_cmpint(timeline->slices.duration_ns[call], ==, 150);
	g_assert_cmpuint(tacho_timeline_track(timeline, timeline->slices.track[call])->tid, ==, 31);
}

/* --- tensorflow-profiler ------------------------------------------------------------------------ */

static void test_tensorflow(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"100 7 tensorflowTracer:session_start cat=s name=run count=i:4\n"
		"110 7 tensorflowTracer:process_entry cat=scheduling name=conv schedule=u:0\n"
		"120 7 tensorflowTracer:operation_start cat=o placement=/cpu:0 name=conv\n"
		"130 7 tensorflowTracer:async_operation_start cat=a placement=/cpu:0 name=recv\n"
		"140 7 tensorflowTracer:operation_end cat=o placement=/cpu:0 name=conv\n"
		"150 7 tensorflowTracer:process_exit cat=scheduling name=conv schedule=u:0\n"
		"160 8 tensorflowTracer:async_operation_end cat=a placement=/cpu:0 name=recv\n"
		"170 8 tensorflowTracer:rdv_recv cat=rdv name='a;1;b;edge_5;0:0'\n"
		"190 7 tensorflowTracer:rdv_send cat=rdv name='a;1;b;edge_5;0:0'\n"
		"195 7 tensorflowTracer:bfc_allocator_stats allocator_name=GPU_0_bfc "
		"num_allocs=u:3 bytes_in_use=u:4096 max_bytes_in_use=u:5000 max_alloc_size=u:99\n"
		"196 7 tensorflowTracer:memory_allocate device=/gpu:0 ptr=0xff00 bytes=i:512\n"
		"197 7 tensorflowTracer:memory_deallocate device=/gpu:0 ptr=0xff00 bytes=i:512\n"
		"198 7 tensorflowTracer:bfc_bins_stats allocator_name=GPU_0_bfc bin_numero=i:2 "
		"total_chunks_in_bin=i:7\n"
		"200 7 tensorflowTracer:session_end cat=s name=run count=i:4\n");
	const TachoMemoryEvent *freed = &g_array_index(timeline->memory, TachoMemoryEvent, 1);
	const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, 0);

	timeline_assert_slice(timeline, "session.run", 0, "annotation", 0, 100);
	timeline_assert_slice(timeline, "process conv", 0, "function", 10, 40);
	timeline_assert_slice(timeline, "conv", 0, "op", 20, 20);
	timeline_assert_slice(timeline, "recv", 0, "op", 30, 30);
	timeline_assert_slice(timeline, "edge_5", 0, "event", 70, 20);
	g_assert_cmpfloat(sample_of(timeline, "bytes_in_use of GPU_0_bfc", 0), ==, 4096);
	g_assert_cmpfloat(sample_of(timeline, "total_chunks_in_bin of bin 2 of GPU_0_bfc", 0), ==,
			  7);
	g_assert_cmphex(freed->address, ==, 0xff00);
	g_assert_cmpint(freed->bytes, ==, -512);
	g_assert_cmpuint(freed->device, ==, 1);
	g_assert_cmpint(mark->first, ==, 4);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* Bins and chunks of an allocator are shown as they were last; what was not told is not. */
static void test_bins(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"100 7 tensorflowTracer:bfc_bins_stats allocator_name=GPU_0_bfc bin_numero=i:2 "
		"total_chunks_in_bin=i:7 total_chunks_in_use=i:5 total_bytes_in_bin=i:8000 "
		"total_bytes_in_use=i:7000 total_requested_bytes_in_use=i:6500\n"
		"110 7 tensorflowTracer:bfc_bins_stats allocator_name=GPU_0_bfc bin_numero=i:2 "
		"total_chunks_in_bin=i:8 total_chunks_in_use=i:4 total_bytes_in_bin=i:8000 "
		"total_bytes_in_use=i:5000 total_requested_bytes_in_use=i:4900\n"
		"120 7 tensorflowTracer:bfc_bins_stats allocator_name=GPU_0_bfc bin_numero=i:30 "
		"total_chunks_in_bin=i:1 total_chunks_in_use=i:0 total_bytes_in_bin=i:9 "
		"total_bytes_in_use=i:0 total_requested_bytes_in_use=i:0\n"
		"130 7 tensorflowTracer:bfc_chunks_stats allocator_name=GPU_0_bfc chunks=i:9 "
		"in_use_chunks=i:4 total_bytes=i:9000 total_bytes_in_use=i:5000\n");
	g_autoptr(TachoTable) table = tacho_view_bins(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	/* all of it */
	g_assert_cmpfloat(tacho_table_cell_number(table, 0, "chunks"), ==, 9);
	g_assert_cmpfloat(tacho_table_cell_number(table, 0, "free_bytes"), ==, 4000);
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "rounding_bytes")));
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "least_bytes")));
	/* bin 2 */
	g_assert_cmpfloat(tacho_table_cell_number(table, 1, "bin"), ==, 2);
	g_assert_cmpfloat(tacho_table_cell_number(table, 1, "least_bytes"), ==, 1024);
	g_assert_cmpfloat(tacho_table_cell_number(table, 1, "used_chunks"), ==, 4);
	g_assert_cmpfloat(tacho_table_cell_number(table, 1, "most_used_bytes"), ==, 7000);
	g_assert_cmpfloat(tacho_table_cell_number(table, 1, "rounding_bytes"), ==, 100);
	g_assert_cmpfloat(tacho_table_cell_number(table, 1, "free_pct"), ==, 37.5);
	/* of a size that is not known */
	g_assert_cmpfloat(tacho_table_cell_number(table, 2, "bin"), ==, 30);
	g_assert_true(isnan(tacho_table_cell_number(table, 2, "least_bytes")));
	g_assert_cmpfloat(tacho_table_cell_number(table, 2, "free_bytes"), ==, 9);
}

/* What the view makes of them; the second request of its key has no spans. */
static void assert_latencies(const TachoTimeline *timeline)
{
	g_autoptr(TachoTable) table = tacho_view_latency(timeline, NULL);
	static const struct {
		const gchar *kind;
		gdouble mean_us;
	} expected[] = { { "client", 0.499 },
			 { "network", 0.309 },
			 { "request", 0.15 },
			 { "server", 0.19 },
			 { "request", 0.05 } };

	g_assert_cmpuint(tacho_table_n_rows(table), ==, G_N_ELEMENTS(expected));
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		gboolean is_found = FALSE;

		for (guint row = 0; row < tacho_table_n_rows(table); row++)
			is_found |= strcmp(tacho_table_cell_text(table, row, "kind"),
					   expected[i].kind) == 0 &&
				    ABS(tacho_table_cell_number(table, row, "mean_us") -
					expected[i].mean_us) < 1e-9;
		g_assert_true(is_found);
	}
}

/* A request from one host to another: who sent it, who got it, and the spans on both sides. */
static void test_requests(void)
{
	gchar *folder = g_dir_make_tmp("tacho-ctf-XXXXXX", NULL);
	g_autofree gchar *client = g_build_filename(folder, "client", NULL);
	g_autofree gchar *server = g_build_filename(folder, "server", NULL);
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n_requests = 0, n_spans = 0;

	ctf_lines_write(
		client,
		"env hostname a\npid 10\n"
		"1000 1 grpcTracer:send_RecvTensor_request name=n rendezvous_key=k\n"
		"1001 1 grpcTracer:send_request_tensor_start cat=c name=n rendezvous_key=k\n"
		"1500 2 grpcTracer:send_request_tensor_end cat=c name=n rendezvous_key=k\n"
		"1600 1 grpcTracer:send_request name=RunGraphAsync\n"
		"2000 1 grpcTracer:send_RecvTensor_request name=n rendezvous_key=k\n");
	ctf_lines_write(
		server,
		"env hostname b\npid 20\n"
		"1100 1 grpcTracer:receive_RecvTensor_request name=n rendezvous_key=k step_id=u:1\n"
		"1110 1 grpcTracer:prepare_response_tensor_start cat=c name=n rendezvous_key=k\n"
		"1300 1 grpcTracer:prepare_response_tensor_end cat=c name=n rendezvous_key=k\n"
		"1650 1 grpcTracer:receive_request name=RunGraphHandler\n"
		"2200 1 grpcTracer:receive_RecvTensor_request name=n rendezvous_key=k "
		"step_id=u:2\n");
	timeline = foreign_open(folder);
	ctf_lines_remove(folder);
	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		n_requests += flow->kind == TACHO_FLOW_MESSAGE;
		n_spans += flow->kind == TACHO_FLOW_REQUEST;
		g_assert_cmpuint(tacho_slice_process(timeline, flow->from)->pid, ==, 10);
		g_assert_cmpuint(tacho_slice_process(timeline, flow->to)->pid, ==, 20);
	}
	g_assert_cmpuint(n_requests, ==, 3);
	g_assert_cmpuint(n_spans, ==, 1);
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	assert_latencies(timeline);
	timeline_assert_slice(timeline, "send_request_tensor", 0, "event", 1, 499);
	timeline_assert_slice(timeline, "prepare_response_tensor", 0, "event", 110, 190);
}

/* Kernels are told late, at 900 ns and later; what they say of themselves counts. */
static void test_device(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"offset 5000000000\n"
		"100 7 hipTracer:function_entry cat=hip name=hipLaunchKernel\n"
		"120 7 hipTracer:function_exit cat=hip name=hipLaunchKernel\n"
		"130 7 hipTracer:function_entry cat=hip name=hipLaunchKernel\n"
		"140 7 hipTracer:function_exit cat=hip name=hipLaunchKernel\n"
		"900 7 hcTracer:kernel_begin cat=k timestamp=u:200 name=gemm tf_name=\n"
		"901 7 hcTracer:kernel_end cat=k timestamp=u:300 name=gemm tf_name=\n"
		"902 7 hcTracer:kernel_begin cat=k timestamp=u:310 name=hcMemset tf_name=\n"
		"903 7 hcTracer:kernel_end cat=k timestamp=u:320 name=hcMemset tf_name=\n"
		"904 7 hcTracer:kernel_begin cat=k timestamp=u:330 name=relu tf_name=\n"
		"905 7 hcTracer:kernel_end cat=k timestamp=u:350 name=relu tf_name=\n"
		"906 7 hcTracer:async_memcpy_begin cat=c timestamp=u:400 name=h2d size_bytes=i:8\n"
		"907 7 hcTracer:async_memcpy_end cat=c timestamp=u:450 name=h2d\n"
		"908 7 hcTracer:queue_stats queue_id=q3 size=f:12.5\n"
		"909 7 hsaTracer:pool_memory_allocate handle=u:77 ptr=u:4096 size=u:100\n");
	guint32 gemm = timeline_find(timeline, "gemm", 0),
		relu = timeline_find(timeline, "relu", 0);

	timeline_assert_slice(timeline, "gemm", 0, "kernel", 100, 100);
	timeline_assert_slice(timeline, "relu", 0, "kernel", 230, 20);
	timeline_assert_slice(timeline, "h2d", 0, "memcpy", 300, 50);
	g_assert_cmpuint(timeline->slices.launch[gemm], ==,
			 timeline_find(timeline, "hipLaunchKernel", 0));
	g_assert_cmpuint(timeline->slices.launch[relu], ==,
			 timeline_find(timeline, "hipLaunchKernel", 1));
	g_assert_cmpuint(timeline->slices.launch[timeline_find(timeline, "hcMemset", 0)], ==,
			 TACHO_NONE);
	g_assert_cmpfloat(sample_of(timeline, "size of q3", 0), ==, 12.5);
	g_assert_cmpuint(g_array_index(timeline->memory, TachoMemoryEvent, 0).device, ==, 1);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* The device's clock is 10000 ahead. Queued within a call, ended before the callback: a shift between
 * 1000 - 11010 and 1100 - 11010; 1400 - 11390 leaves it at -9990 at most. */
static void test_opencl_clock(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"1000 7 openclTracer:function_entry cat=opencl name=clEnqueueNDRangeKernel\n"
		"1100 7 openclTracer:function_exit cat=opencl name=clEnqueueNDRangeKernel\n"
		"1400 9 openclTracer:callback\n"
		"1401 9 openclTracer:kernel_begin cat=kernel name=add tf_name= timestamp=u:11200\n"
		"1402 9 openclTracer:kernel_queued cat=kernel name=add timestamp=u:11010\n"
		"1403 9 openclTracer:kernel_submitted cat=kernel name=add timestamp=u:11020\n"
		"1404 9 openclTracer:kernel_end cat=kernel name=add timestamp=u:11390\n");
	guint32 kernel = timeline_find(timeline, "add", 0);

	/* the middle of [-10010, -9990] */
	timeline_assert_slice(timeline, "add", 0, "kernel", 200, 190);
	timeline_assert_slice(timeline, "queued add", 0, "event", 10, 0);
	g_assert_cmpuint(timeline->slices.launch[kernel], ==,
			 timeline_find(timeline, "clEnqueueNDRangeKernel", 0));
}

/* --- OTF2 --------------------------------------------------------------------------------------- */

/* In communicator 9, rank 0 is at location 5 and rank 1 at location 3. */
static void test_communicators(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"context\n"
		"100 0 GlobalDef_Group self=u:0 groupType=u:4 paradigm=u:4\n"
		"100 0 GlobalDef_GroupMember group=u:0 rank=u:0 location=u:3\n"
		"100 0 GlobalDef_GroupMember group=u:0 rank=u:1 location=u:5\n"
		"100 0 GlobalDef_Group self=u:2 groupType=u:5 paradigm=u:4\n"
		"100 0 GlobalDef_GroupMember group=u:2 rank=u:0 location=u:1\n"
		"100 0 GlobalDef_GroupMember group=u:2 rank=u:1 location=u:0\n"
		"100 0 GlobalDef_Comm self=u:9 group=u:2\n"
		"200 0 Event_MpiSend locationID=u:5 receiver=u:1 communicator=u:9 msgTag=u:0\n"
		"300 0 Event_MpiRecv locationID=u:3 sender=u:0 communicator=u:9 msgTag=u:0\n");
	const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, 0);

	g_assert_cmpuint(timeline->flows->len, ==, 1);
	g_assert_cmpuint(flow->from, ==, timeline_find(timeline, "MPI send", 0));
	g_assert_cmpuint(flow->to, ==, timeline_find(timeline, "MPI receive", 0));
}

/* --- THAPI -------------------------------------------------------------------------------------- */

static void test_thapi(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"context hostname vpid vtid ts\n"
		"hostname h\npid 10\nts 5000\n"
		"0 1 lttng:host name=cuLaunchKernel dur=u:20 err=u:0\n"
		"ts 5010\n"
		"1 1 lttng:device name=saxpy dur=u:100 did=u:3 sdid=u:3 err=u:0 metadata=\n"
		"ts 5200\n"
		"2 1 lttng:device name=cuMemcpyHtoD_v2 dur=u:50 did=u:3 sdid=u:3 err=u:0 "
		"metadata=\n"
		"3 1 lttng:traffic name=cuMemcpyHtoD_v2 size=u:400 metadata=\n");

	timeline_assert_slice(timeline, "cuLaunchKernel", 0, "runtime", 0, 20);
	timeline_assert_slice(timeline, "saxpy", 0, "kernel", 10, 100);
	timeline_assert_slice(timeline, "cuMemcpyHtoD_v2", 0, "memcpy", 200, 50);
	timeline_assert_slice(timeline, "traffic cuMemcpyHtoD_v2", 0, "event", 200, 0);
	g_assert_cmpstr(tacho_timeline_string(
				timeline, g_array_index(timeline->processes, TachoProcess, 0).host),
			==, "h");
}

/* --- broken traces ------------------------------------------------------------------------------ */

static const gchar small_trace[] = "pid 10\n"
				   "100 7 job_begin name=x\n"
				   "150 7 app:note text=hello value=u:5\n"
				   "200 7 job_end name=x\n"
				   "stream cpu=1\n"
				   "120 8 app:note text=other value=u:6\n"
				   "180 8 app:note text=more value=u:7\n";

/* The file anew: g_file_set_contents_full() does not shorten one that is there. */
static void write_anew(const gchar *path, const gchar *bytes, gsize n)
{
	g_unlink(path);
	g_assert_true(g_file_set_contents_full(path, bytes, (gssize)n, G_FILE_SET_CONTENTS_NONE,
					       0600, NULL));
}

/* The trace of the text, after `n` bytes at `offset` of its first stream were replaced; `n` 0: cut there. Its folder
 * is left. */
static TachoTimeline *open_broken(gchar *folder, const gchar *text, gsize offset,
				  const gchar *bytes, gsize n)
{
	g_autofree gchar *stream = g_build_filename(folder, "stream_0", NULL);
	g_autofree gchar *whole = NULL;
	gsize n_whole;

	ctf_lines_write(folder, text);
	g_assert_true(g_file_get_contents(stream, &whole, &n_whole, NULL));
	g_assert_cmpuint(offset + n, <=, n_whole);
	if (n)
		memcpy(whole + offset, bytes, n);
	write_anew(stream, whole, n ? n_whole : offset);
	return foreign_open(folder);
}

static void assert_left_out(const TachoTimeline *timeline, const gchar *folder, const gchar *offset)
{
	const TachoProblem *problem =
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE);
	g_autofree gchar *stream = g_build_filename(folder, "stream_0", NULL);

	g_assert_nonnull(problem);
	g_assert_true(g_str_has_prefix(problem->where, stream));
	g_assert_nonnull(strstr(problem->where, offset));
}

/* libbabeltrace2 refuses a trace of which one stream is cut: what is there is read. */
static void test_truncated(void)
{
	gchar *folder = g_dir_make_tmp("tacho-ctf-XXXXXX", NULL);
	g_autoptr(TachoTimeline) timeline = open_broken(folder, small_trace, 100, NULL, 0);

	assert_left_out(timeline, folder, "byte 0");
	g_assert_cmpuint(timeline->n_events, ==, 4);
	timeline_assert_slice(timeline, "app:note", 0, "event", 50, 0);
	assert_args(timeline, "app:note",
		    "{\"event\":\"app:note\",\"vtid\":7,\"vpid\":10,\"text\":\"hello\",\"value\":5,"
		    "\"cpu_id\":0}");
	ctf_lines_remove(folder);
}

/* Wherever it is cut, no event before is lost, and none of the other stream. */
static void test_cut_anywhere(void)
{
	guint64 n_before = 2;

	for (gsize n = 1; n < 104; n += 11) {
		gchar *folder = g_dir_make_tmp("tacho-ctf-XXXXXX", NULL);
		g_autoptr(TachoTimeline) timeline = open_broken(folder, small_trace, n, NULL, 0);

		g_assert_cmpuint(timeline->n_events, >=, n_before);
		n_before = timeline->n_events;
		assert_left_out(timeline, folder, "byte 0");
		ctf_lines_remove(folder);
	}
	g_assert_cmpuint(n_before, ==, 4);
}

static const gchar *two_packets = "stream discarded=3\n"
				  "100 7 app:note text=a\n"
				  "stream cpu=1\n"
				  "120 8 app:note text=b\n"
				  "180 8 app:note text=c\n";

/* The first packet, which is empty, has 36 bytes. */
static void test_wrong_packets(void)
{
	static const struct {
		gsize offset;
		const gchar *bytes;
		gsize n;
		guint64 n_events;
		const gchar *told;
	} wrongs[] = {
		{ 36, "\xff", 1, 2, "byte 36" },     /* it has another magic number */
		{ 36 + 4, "\x09", 1, 2, "byte 36" }, /* it is of a stream that there is not */
		{ 36 + 16 + 3, "\x01", 1, 3,
		  "byte 36" }, /* it claims too much; what is in it is right */
		{ 36 + 16 + 7, "\x7f", 1, 3, "byte 36" }, /* it claims more than can be */
		{ 36 + 8 + 3, "\x01", 1, 2, "byte 36" },  /* there is more in it than it has */
		{ 36 + 36, "\x63", 1, 2,
		  "packet 2 " }, /* its event is of a class that there is not */
	};

	for (guint i = 0; i < G_N_ELEMENTS(wrongs); i++) {
		gchar *folder = g_dir_make_tmp("tacho-ctf-XXXXXX", NULL);
		g_autoptr(TachoTimeline) timeline = open_broken(
			folder, two_packets, wrongs[i].offset, wrongs[i].bytes, wrongs[i].n);

		g_test_message("%u", i);
		assert_left_out(timeline, folder, wrongs[i].told);
		g_assert_cmpuint(timeline->n_events, ==, wrongs[i].n_events);
		ctf_lines_remove(folder);
	}
}

static void test_not_a_trace(void)
{
	gchar *folder = ctf_lines_new(small_trace);
	g_autofree gchar *metadata = g_build_filename(folder, "metadata", NULL);
	g_autofree gchar *message = NULL;

	g_assert_true(g_file_set_contents(metadata, "/* CTF 1.8 */ trace { what", -1, NULL));
	message = foreign_open_fails(folder);
	g_assert_nonnull(strstr(message, folder));
	ctf_lines_remove(folder);
}

/* CTF 2: JSON texts, each behind a record separator. What is refused says what to do. */
static void test_version_2(void)
{
	gchar *folder = ctf_lines_new(small_trace);
	g_autofree gchar *metadata = g_build_filename(folder, "metadata", NULL);
	static const gchar text[] = "\x1e{\"type\":\"preamble\",\"version\":2}\n"
				    "\x1e{\"type\":\"trace-class\"}\n"
				    "\x1e{\"type\":\"data-stream-class\"}\n";
	g_autofree gchar *message = NULL;

	write_anew(metadata, text, strlen(text));
	message = foreign_open_fails(folder);
	g_assert_nonnull(strstr(message, folder));
	if (strstr(message, "libbabeltrace2")) { /* an earlier one than 2.1 */
		g_assert_nonnull(strstr(message, "CTF 2"));
		g_assert_nonnull(strstr(message, "--trace-format=ctf-1.8"));
	}
	ctf_lines_remove(folder);
}

/* Copies with bits turned and ends cut off give an error or a timeline, and nothing of ours complains. */
static void damage(const gchar *folder, const gchar *name, guint n_copies, guint seed)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);
	GRand *random = g_rand_new_with_seed(seed);
	g_autofree gchar *bytes = NULL;
	gsize n;

	g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
	for (guint round = 0; round < n_copies; round++) {
		g_autofree gchar *damaged = g_memdup2(bytes, n);
		gsize n_left = round % 3 ? n : (gsize)g_rand_int_range(random, 0, (gint)n);
		g_autoptr(TachoTimeline) timeline = NULL;
		g_autoptr(GError) error = NULL;

		if (round % 3)
			damaged[g_rand_int_range(random, 0, (gint)n)] ^=
				(gchar)(1 << g_rand_int_range(random, 0, 8));
		write_anew(path, damaged, n_left);
		timeline = tacho_run_open(&folder, 1, NULL, NULL, &error);
		if (timeline)
			foreign_use(timeline);
		else
			g_assert_null(strstr(error->message, "anitizer"));
	}
	g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
	g_rand_free(random);
}

static void test_damaged(void)
{
	gchar *folder = ctf_lines_new(small_trace);

	damage(folder, "stream_0", 30, 1);
	damage(folder, "stream_1", 12, 2);
	damage(folder, "metadata", 60, 3);
	ctf_lines_remove(folder);
}

/* An export that was changed says that two kernels launch each other: neither does, and a thread still launches one. */
static void test_launches_in_a_circle(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"100 7 tacho:process rank=i:0 pid=u:7 ppid=u:1 local_rank=i:0 world_size=i:1 "
		"command=train job=j\n"
		"100 7 tacho:track track=i:0 kind=thread name=main tid=u:7 device=i:0 "
		"parent_tid=u:0\n"
		"100 7 tacho:track track=i:1 kind=device name=q tid=u:3 device=i:1 parent_tid=u:0\n"
		"101 7 tacho_thread:runtime_begin slice=u:0 track=i:0 name=launch id=u:5\n"
		"102 7 tacho_thread:runtime_end slice=u:0\n"
		"110 7 tacho_device:kernel_begin slice=u:1 track=i:1 name=first\n"
		"110 7 tacho:flow track=i:1 kind=launch from_slice=u:2 to_slice=u:1 is_exact=u:1\n"
		"120 7 tacho_device:kernel_end slice=u:1\n"
		"130 7 tacho_device:kernel_begin slice=u:2 track=i:1 name=second\n"
		"130 7 tacho:flow track=i:1 kind=launch from_slice=u:1 to_slice=u:2 is_exact=u:1\n"
		"140 7 tacho_device:kernel_end slice=u:2\n"
		"150 7 tacho_device:kernel_begin slice=u:3 track=i:1 name=third\n"
		"150 7 tacho:flow track=i:1 kind=launch from_slice=u:0 to_slice=u:3 is_exact=u:1\n"
		"160 7 tacho_device:kernel_end slice=u:3\n"
		"200 7 tacho:process_end how=exited status=i:0\n");
	const guint32 *launch = timeline->slices.launch;

	g_assert_cmpuint(launch[timeline_find(timeline, "first", 0)], ==, TACHO_NONE);
	g_assert_cmpuint(launch[timeline_find(timeline, "second", 0)], ==, TACHO_NONE);
	g_assert_cmpuint(launch[timeline_find(timeline, "third", 0)], ==,
			 timeline_find(timeline, "launch", 0));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#ifndef TACHO_HAVE_BABELTRACE
	return 0; /* there is nothing to test */
#endif
	g_test_add_func("/ctf/launches_in_a_circle", test_launches_in_a_circle);
	g_test_add_func("/ctf/pairs", test_pairs);
	g_test_add_func("/ctf/unmatched", test_unmatched);
	g_test_add_func("/ctf/streams", test_streams);
	g_test_add_func("/ctf/counters", test_counters);
	g_test_add_func("/ctf/functions", test_functions);
	g_test_add_func("/ctf/memory", test_memory);
	g_test_add_func("/ctf/kernel", test_kernel);
	g_test_add_func("/ctf/kernel-context", test_kernel_context);
	g_test_add_func("/ctf/tensorflow", test_tensorflow);
	g_test_add_func("/ctf/bins", test_bins);
	g_test_add_func("/ctf/requests", test_requests);
	g_test_add_func("/ctf/device", test_device);
	g_test_add_func("/ctf/opencl-clock", test_opencl_clock);
	g_test_add_func("/ctf/communicators", test_communicators);
	g_test_add_func("/ctf/thapi", test_thapi);
	g_test_add_func("/ctf/truncated", test_truncated);
	g_test_add_func("/ctf/cut-anywhere", test_cut_anywhere);
	g_test_add_func("/ctf/wrong-packets", test_wrong_packets);
	g_test_add_func("/ctf/not-a-trace", test_not_a_trace);
	g_test_add_func("/ctf/version-2", test_version_2);
	g_test_add_func("/ctf/damaged", test_damaged);
	return g_test_run();
}
