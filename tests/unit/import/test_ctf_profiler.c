/* Traces as tensorflow-profiler's ten providers write them, with what follows from them computed by hand: through the
 * importer, correlate and the views, as users go. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>
#include <tacho/import.h>

#include "ctf_lines.h"
#include "foreign_traces.h"
#include "timeline_text.h"

/* The traces of the texts, read as one run and correlated; their folder is returned, to be removed. */
static TachoTimeline *open_traces(const gchar *const *texts, guint n, gchar **ret_folder)
{
	gchar *folder = g_dir_make_tmp("tacho-ctf-XXXXXX", NULL);
	TachoTimeline *timeline;

	for (guint i = 0; i < n; i++) {
		g_autofree gchar *name = g_strdup_printf("trace%u", i);
		g_autofree gchar *path = g_build_filename(folder, name, NULL);

		ctf_lines_write(path, texts[i]);
	}
	timeline = foreign_open(folder);
	tacho_correlate(timeline);
	*ret_folder = folder;
	return timeline;
}

static TachoTimeline *open_trace(const gchar *text)
{
	gchar *folder;
	TachoTimeline *timeline = open_traces(&text, 1, &folder);

	ctf_lines_remove(folder);
	return timeline;
}

/* The cell of the row whose `key` column has `value`; the row has to be there. */
static gdouble number_of(const TachoTable *table, const gchar *key, const gchar *value,
			 const gchar *column)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (strcmp(tacho_table_cell_text(table, row, key), value) == 0)
			return tacho_table_cell_number(table, row, column);
	g_error("no row %s", value);
}

static const gchar *op_of(const TachoTimeline *timeline, const gchar *kernel, guint nth)
{
	guint32 op = tacho_kernel_op(timeline, timeline_find(timeline, kernel, nth));

	return op == TACHO_NONE ? "" : tacho_slice_name(timeline, op);
}

static void assert_step(const TachoTimeline *timeline, guint i, guint number, gint64 start_ns,
			gint64 end_ns, gboolean is_complete)
{
	const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);

	g_assert_cmpuint(step->number, ==, number);
	g_assert_cmpint(step->start_ns, ==, start_ns);
	g_assert_cmpint(step->end_ns, ==, end_ns);
	g_assert_cmpint(step->is_complete, ==, is_complete);
}

static guint64 problem_count(const TachoTimeline *timeline, TachoProblemKind kind)
{
	const TachoProblem *problem = tacho_timeline_find_problem(timeline, kind);

	return problem ? problem->count : 0;
}

/* --- tensorflowTracer: sessions --------------------------------------------------------------- */

/* One session is one whole step: its operation, 30 of 100 ns, is in the view. */
static void test_one_session(void)
{
	g_autoptr(TachoTimeline) timeline = open_trace(
		"pid 7\n"
		"100 7 tensorflowTracer:session_start cat=s name=run count=i:4\n"
		"120 7 tensorflowTracer:operation_start cat=o placement=/cpu:0 name=conv\n"
		"150 7 tensorflowTracer:operation_end cat=o placement=/cpu:0 name=conv\n"
		"200 7 tensorflowTracer:session_end cat=s name=run count=i:4\n");
	g_autoptr(TachoTable) table = tacho_view_op(timeline, NULL);

	g_assert_cmpuint(timeline->steps->len, ==, 1);
	assert_step(timeline, 0, 0, 0, 100, TRUE);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_assert_cmpfloat(number_of(table, "name", "conv", "count"), ==, 1);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* Five sessions are five steps, of 50 ns each; what lies between them (another 50) is in none. */
static void test_five_sessions(void)
{
	g_autoptr(GString) text = g_string_new("pid 7\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < 5; i++)
		g_string_append_printf(
			text,
			"%u 7 tensorflowTracer:session_start cat=s name=run count=i:%u\n"
			"%u 7 tensorflowTracer:operation_start cat=o placement=/cpu:0 name=conv\n"
			"%u 7 tensorflowTracer:operation_end cat=o placement=/cpu:0 name=conv\n"
			"%u 7 tensorflowTracer:session_end cat=s name=run count=i:%u\n",
			1000 + i * 100, i + 1, 1010 + i * 100, 1040 + i * 100, 1050 + i * 100,
			i + 1);
	timeline = open_trace(text->str);
	g_assert_cmpuint(timeline->steps->len, ==, 5);
	for (guint i = 0; i < 5; i++)
		assert_step(timeline, i, i, i * 100, i * 100 + 50, TRUE);
}

/* Session 2 has lost its end: it ends where 3 begins. Session 4 was open when the recording ended. */
static void test_lost_session_end(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_trace("pid 7\n"
			   "100 7 tensorflowTracer:session_start name=run count=i:1\n"
			   "200 7 tensorflowTracer:session_end name=run count=i:1\n"
			   "300 7 tensorflowTracer:session_start name=run count=i:2\n"
			   "310 7 tensorflowTracer:operation_start placement=c name=conv\n"
			   "500 7 tensorflowTracer:session_start name=run count=i:3\n"
			   "600 7 tensorflowTracer:session_end name=run count=i:3\n"
			   "700 7 tensorflowTracer:session_start name=run count=i:4\n"
			   "720 7 tensorflowTracer:operation_start placement=c name=relu\n"
			   "750 7 tensorflowTracer:operation_end placement=c name=relu\n");

	g_assert_cmpuint(timeline->steps->len, ==, 4);
	assert_step(timeline, 0, 0, 0, 100, TRUE);
	assert_step(timeline, 1, 1, 200, 400, TRUE);
	assert_step(timeline, 2, 2, 400, 500, TRUE);
	assert_step(timeline, 3, 3, 600, 650, FALSE);
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_UNMATCHED_BEGIN), ==, 2);
}

/* Thread 9 fills a queue by sessions of its own, more of them and over those of the thread that trains. */
static void test_queue_sessions(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_trace("pid 7\n"
			   "100 9 tensorflowTracer:session_start name=run count=i:1\n"
			   "150 7 tensorflowTracer:session_start name=run count=i:2\n"
			   "160 9 tensorflowTracer:session_end name=run count=i:1\n"
			   "170 9 tensorflowTracer:session_start name=run count=i:3\n"
			   "250 7 tensorflowTracer:session_end name=run count=i:2\n"
			   "260 9 tensorflowTracer:session_end name=run count=i:3\n"
			   "270 9 tensorflowTracer:session_start name=run count=i:4\n"
			   "280 9 tensorflowTracer:session_end name=run count=i:4\n"
			   "300 7 tensorflowTracer:session_start name=run count=i:5\n"
			   "450 7 tensorflowTracer:session_end name=run count=i:5\n");

	g_assert_cmpuint(timeline->steps->len, ==, 2);
	assert_step(timeline, 0, 0, 50, 150, TRUE);
	assert_step(timeline, 1, 3, 200, 350, TRUE);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* --- streamTracer, eigenTracer ------------------------------------------------------------------ */

static void test_streams_and_closures(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_trace("pid 7\n"
			   "100 7 tensorflowTracer:operation_start placement=/gpu:0 name=copy\n"
			   "110 7 streamTracer:memcpy_start cat=m name=host_to_device size=u:4096\n"
			   "130 7 streamTracer:memcpy_end cat=m name=host_to_device\n"
			   "140 7 eigenTracer:schedule_entry name=closure\n"
			   "145 7 eigenTracer:schedule_exit name=closure\n"
			   "200 7 tensorflowTracer:operation_end placement=/gpu:0 name=copy\n");
	guint32 copy = timeline_find(timeline, "memcpy host_to_device", 0);
	guint32 closure = timeline_find(timeline, "schedule closure", 0);

	g_assert_cmpint(timeline->slices.kind[copy], ==, TACHO_SLICE_RUNTIME);
	g_assert_cmpint(timeline->slices.duration_ns[copy], ==, 20);
	g_assert_cmpint(timeline->slices.kind[closure], ==, TACHO_SLICE_FUNCTION);
	g_assert_cmpint(timeline->slices.duration_ns[closure], ==, 5);
	g_assert_cmpuint(timeline->slices.parent[copy], ==, timeline_find(timeline, "copy", 0));
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* --- grpcTracer: two hosts ---------------------------------------------------------------------- */

/* Host b is `ahead_ns` ahead. In each of 8 steps a asks b for the same tensor, of the same key: sent at t, in at t + 40,
 * the response is ready at t + 140 and there at t + 180. So the shift is known to 40 ns either way. Where `lost` is a
 * step, b's events of that step were lost. */
static void write_hosts(GString *client, GString *server, gint64 ahead_ns, gint lost)
{
	g_string_assign(client, "env hostname a\npid 10\n");
	g_string_assign(server, "env hostname b\npid 20\n");
	for (gint i = 0; i < 8; i++) {
		gint64 ns = 1000000 + i * 10000, other_ns = ns + ahead_ns;

		g_string_append_printf(
			client,
			"%" G_GINT64_FORMAT " 1 grpcTracer:send_RecvTensor_request name=n "
			"rendezvous_key=k request='step_id: %d rendezvous_key: \"k\"'\n"
			"%" G_GINT64_FORMAT
			" 1 grpcTracer:send_request_tensor_start name=n rendezvous_key=k\n"
			"%" G_GINT64_FORMAT
			" 2 grpcTracer:send_request_tensor_end name=n rendezvous_key=k\n",
			ns, i, ns, ns + 180);
		if (i == lost)
			continue;
		g_string_append_printf(
			server,
			"%" G_GINT64_FORMAT " 1 grpcTracer:receive_RecvTensor_request name=n "
			"rendezvous_key=k step_id=u:%d\n"
			"%" G_GINT64_FORMAT
			" 1 grpcTracer:prepare_response_tensor_start name=n rendezvous_key=k\n"
			"%" G_GINT64_FORMAT
			" 1 grpcTracer:prepare_response_tensor_end name=n rendezvous_key=k\n",
			other_ns + 40, i, other_ns + 40, other_ns + 140);
	}
}

static TachoTimeline *open_hosts(gint64 ahead_ns, gint lost)
{
	g_autoptr(GString) client = g_string_new(NULL), server = g_string_new(NULL);
	const gchar *texts[2];
	TachoTimeline *timeline;
	gchar *folder;

	write_hosts(client, server, ahead_ns, lost);
	texts[0] = client->str;
	texts[1] = server->str;
	timeline = open_traces(texts, 2, &folder);
	ctf_lines_remove(folder);
	return timeline;
}

/* Whatever b's clock says, the truth is within what is stated, and that is what the messages leave. */
static void test_skewed_hosts(void)
{
	static const gint64 aheads_ns[] = { 0, 5000, -5000, 700000000, -900000 };

	for (guint i = 0; i < G_N_ELEMENTS(aheads_ns); i++) {
		g_autoptr(TachoTimeline) timeline = open_hosts(aheads_ns[i], -1);
		const TachoClock *clock = &g_array_index(timeline->clocks, TachoClock, 1);
		g_autoptr(TachoTable) table = tacho_view_latency(timeline, NULL);

		g_assert_cmpuint(timeline->clocks->len, ==, 2);
		g_assert_cmpuint(clock->state, ==, TACHO_CLOCK_ALIGNED);
		g_assert_cmpint(ABS(clock->offset_ns - aheads_ns[i]), <=, 60);
		g_assert_cmpint(clock->inner_uncertainty_ns, <=, 80);
		g_assert_cmpint(ABS(clock->offset_ns - aheads_ns[i]), <=, clock->uncertainty_ns);
		/* of spans of 180 and 100 ns: known without any clock */
		g_assert_cmpfloat_with_epsilon(number_of(table, "kind", "client", "mean_us"), 0.18,
					       1e-9);
		g_assert_cmpfloat_with_epsilon(number_of(table, "kind", "server", "mean_us"), 0.1,
					       1e-9);
		g_assert_cmpfloat_with_epsilon(number_of(table, "kind", "network", "mean_us"), 0.08,
					       1e-9);
		/* 40 ns, give or take what the clocks leave open */
		g_assert_cmpfloat_with_epsilon(number_of(table, "kind", "request", "mean_us"), 0.04,
					       0.06);
		g_assert_cmpfloat(number_of(table, "kind", "request", "below_zero"), ==, 0);
	}
}

/* The step tells which request it was: with b's third lost, the others still meet theirs. */
static void test_lost_request(void)
{
	g_autoptr(TachoTimeline) timeline = open_hosts(700000000, 2);
	const TachoClock *clock = &g_array_index(timeline->clocks, TachoClock, 1);
	guint n_requests = 0;

	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		n_requests += flow->kind == TACHO_FLOW_REQUEST && flow->is_exact;
	}
	g_assert_cmpuint(n_requests, ==, 7);
	g_assert_cmpuint(clock->n_contradicted, ==, 0);
	g_assert_cmpint(ABS(clock->offset_ns - 700000000), <=, 60);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* Without steps the order has to tell: where one side lacks some, that is a guess, and is said. */
static void test_guessed_requests(void)
{
	const gchar *texts[] = {
		"env hostname a\npid 10\n"
		"1000 1 grpcTracer:send_RecvTensor_request name=n rendezvous_key=k\n"
		"2000 1 grpcTracer:send_RecvTensor_request name=n rendezvous_key=k\n",
		"env hostname b\npid 20\n"
		"2100 1 grpcTracer:receive_RecvTensor_request name=n rendezvous_key=k step_id=u:2\n"
	};
	gchar *folder;
	g_autoptr(TachoTimeline) timeline = open_traces(texts, 2, &folder);

	ctf_lines_remove(folder);
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_UNPAIRED_MESSAGE), ==, 1);
	g_assert_false(g_array_index(timeline->flows, TachoFlow, 0).is_exact);
}

/* --- hcTracer, hipTracer: order alone ----------------------------------------------------------- */

/* A step from `ns` on: op a launches gemm, op b relu; the kernels run 50 later for 10, and are told at its end.
 * `lost`: the launch of that op was lost. */
static void add_hip_step(GString *text, guint number, guint ns, gchar lost)
{
	g_string_append_printf(text, "%u 7 tensorflowTracer:session_start name=run count=i:%u\n",
			       ns, number);
	for (guint i = 0; i < 2; i++) {
		guint at = ns + 10 + i * 20;

		g_string_append_printf(
			text, "%u 7 tensorflowTracer:operation_start placement=g name=%c\n", at,
			'a' + i);
		if (lost != 'a' + (gchar)i)
			g_string_append_printf(
				text,
				"%u 7 hipTracer:function_entry cat=hip name=hipLaunchKernel\n"
				"%u 7 hipTracer:function_exit cat=hip name=hipLaunchKernel\n",
				at + 1, at + 5);
		g_string_append_printf(text,
				       "%u 7 tensorflowTracer:operation_end placement=g name=%c\n",
				       at + 10, 'a' + i);
	}
	for (guint i = 0; i < 2; i++)
		g_string_append_printf(
			text,
			"%u 9 hcTracer:kernel_begin cat=k timestamp=u:%u name=%s tf_name=\n"
			"%u 9 hcTracer:kernel_end cat=k timestamp=u:%u name=%s tf_name=\n",
			ns + 90 + i, ns + 60 + i * 12, i ? "relu" : "gemm", ns + 90 + i,
			ns + 70 + i * 12, i ? "relu" : "gemm");
	g_string_append_printf(text, "%u 7 tensorflowTracer:session_end name=run count=i:%u\n",
			       ns + 100, number);
}

/* The launch of gemm in the second of four steps is lost: only that step's kernels are doubtful. */
static void test_lost_launch(void)
{
	g_autoptr(GString) text = g_string_new("pid 7\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < 4; i++)
		add_hip_step(text, i + 1, 1000 + i * 200, i == 1 ? 'a' : 0);
	timeline = open_trace(text->str);
	for (guint i = 0; i < 4; i++) {
		if (i == 1)
			continue;
		g_assert_cmpstr(op_of(timeline, "gemm", i), ==, "a");
		g_assert_cmpstr(op_of(timeline, "relu", i), ==, "b");
	}
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_ORPHAN_KERNEL), ==, 1);
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_GUESSED_LAUNCH), ==, 7);
}

/* Statistics: of two kept steps (the first is warm-up) gemm ran twice, 10 ns each. */
static void test_statistics(void)
{
	g_autoptr(GString) text = g_string_new("pid 7\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoTable) table = NULL;

	for (guint i = 0; i < 3; i++)
		add_hip_step(text, i + 1, 1000 + i * 200, 0);
	timeline = open_trace(text->str);
	table = tacho_view_kernel(timeline, NULL);
	g_assert_cmpfloat(number_of(table, "name", "gemm", "count"), ==, 2);
	g_assert_cmpfloat_with_epsilon(number_of(table, "name", "gemm", "total_ms"), 20e-6, 1e-12);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* --- hsaTracer: the balance of allocations ------------------------------------------------------ */

/* Frees tell neither bytes nor pool: 100 + 50 - 100 = 50 are left, all of pool 77. */
static void test_pool_balance(void)
{
	g_autoptr(TachoTimeline) timeline = open_trace(
		"pid 7\n"
		"100 7 hsaTracer:function_entry cat=hsa name=hsa_init\n"
		"110 7 hsaTracer:function_exit cat=hsa name=hsa_init\n"
		"120 7 hsaTracer:pool_memory_allocate handle=u:77 ptr=u:4096 size=u:100\n"
		"130 7 hsaTracer:pool_memory_allocate handle=u:77 ptr=u:8192 size=u:50\n"
		"140 7 hsaTracer:pool_memory_free handle=u:0 ptr=u:4096 size=u:0\n"
		"150 7 hsaTracer:pool_memory_free handle=u:0 ptr=u:12288 size=u:0\n");
	gint64 balance = 0;

	g_assert_cmpuint(timeline->memory->len, ==, 4);
	for (guint i = 0; i < 3; i++) {
		const TachoMemoryEvent *event =
			&g_array_index(timeline->memory, TachoMemoryEvent, i);

		balance += event->bytes;
		g_assert_cmpuint(event->device, ==, 1);
	}
	g_assert_cmpint(balance, ==, 50);
	g_assert_cmpint(g_array_index(timeline->memory, TachoMemoryEvent, 3).bytes, ==, 0);
}

/* --- interceptionTracer: queues, lost packets, counters ------------------------------------------ */

#define PACKET(ns, queue, object, name)                                                            \
	ns " 7 interceptionTracer:aql_kernel_dispatch_packet_submitted cat=q packet_id=u:0 "       \
	   "agent_handle=x:0xa queue_id=u:" queue " kernel_object=x:" object " kernel_name=" name  \
	   "\n"
#define KERNEL(ns, begin, end, queue, object, name)                                                \
	ns " 7 interceptionTracer:kernel_begin cat=k kernel_object=x:" object " name=" name        \
	   " tf_name= agent_handle=x:0xa queue_id=u:" queue " timestamp=u:" begin "\n" ns          \
	   " 7 interceptionTracer:kernel_end cat=k kernel_object=x:" object " name=" name          \
	   " tf_name= agent_handle=x:0xa queue_id=u:" queue " timestamp=u:" end "\n"
#define OP(begin, name, inside, end)                                                               \
	begin " 7 tensorflowTracer:operation_start placement=g name=" name "\n" inside end         \
	      " 7 tensorflowTracer:operation_end placement=g name=" name "\n"

/* The runtime began at 110. Two queues: the kernels of the second begin before those of the first that were given
 * earlier, so that the order of all would give gemm (of op a) to op b. The packet of the second gemm of queue 1 was
 * lost (op c), and a fill runs that op d gave. Times of kernels are since 110. */
static void test_queues(void)
{
	g_autoptr(TachoTimeline) timeline = open_trace(
		"pid 7\n"
		"100 7 interceptionTracer:function_entry cat=hsa_api name=hsa_init\n"
		"110 7 interceptionTracer:function_exit cat=hsa_api name=hsa_init\n" OP(
			"200", "a", PACKET("210", "1", "0x1", "gemm"),
			"220") OP("230", "b", PACKET("240", "2", "0x2", "relu"),
				  "250") OP("260", "c", "", "270")
			OP("280", "d", PACKET("285", "1", "0x3", "Memset"),
			   "290") OP("300", "e", PACKET("310", "1", "0x4", "tanh"),
				     "320") KERNEL("900", "190", "240", "1", "0x1", "gemm")
				KERNEL("901", "150", "170", "2", "0x2",
				       "relu") KERNEL("902", "250", "300", "1", "0x1", "gemm")
					KERNEL("903", "310", "320", "1", "0x3", "Memset")
						KERNEL("904", "330", "350", "1", "0x4", "tanh"));
	g_autoptr(TachoTable) table = tacho_view_device(timeline, NULL);

	g_assert_cmpint(timeline->slices.start_ns[timeline_find(timeline, "relu", 0)], ==,
			150 + 110 - 100);
	g_assert_cmpstr(op_of(timeline, "gemm", 0), ==, "a");
	g_assert_cmpstr(op_of(timeline, "relu", 0), ==, "b");
	g_assert_cmpstr(op_of(timeline, "gemm", 1), ==, "");
	g_assert_cmpstr(op_of(timeline, "Memset", 0), ==, "d");
	g_assert_cmpstr(op_of(timeline, "tanh", 0), ==, "e");
	g_assert_nonnull(table);
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_GUESSED_LAUNCH), ==, 0);
	g_assert_nonnull(
		strstr(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_ORPHAN_KERNEL)->where,
		       "1 kernels without a launch (0.000 ms"));
}

#define COUNTED(ns, object, waves)                                                                 \
	ns " 7 interceptionTracer:kernel_parameters static_group_segment_size=u:0\n" ns            \
	   " 7 interceptionTracer:perf_counter_uint64 cat=p kernel_object=x:" object               \
	   " counter_index=u:3 counter_name=Wavefronts value=u:" waves "\n" ns                     \
	   " 7 interceptionTracer:perf_counter_float64 cat=p kernel_object=x:" object              \
	   " counter_index=u:9 counter_name=CacheHit value=f:0." waves "\n"

#define HC_KERNEL(ns, begin, end, name)                                                            \
	ns " 7 hcTracer:kernel_begin cat=k timestamp=u:" begin " name=" name " tf_name=\n" ns      \
	   " 7 hcTracer:kernel_end cat=k timestamp=u:" end " name=" name " tf_name=\n"

static gchar *args_of(const TachoTimeline *timeline, const gchar *name, guint nth)
{
	return tacho_slice_args_json(timeline, timeline_find(timeline, name, nth));
}

static void assert_sample(const TachoTimeline *timeline, const gchar *counter, guint nth,
			  gint64 time_ns, gdouble value)
{
	for (guint i = 0; i < timeline->samples->len; i++) {
		const TachoSample *sample = &g_array_index(timeline->samples, TachoSample, i);
		const TachoTrack *track = tacho_timeline_track(timeline, sample->track);

		if (strcmp(tacho_timeline_string(timeline, track->name), counter) == 0 &&
		    nth-- == 0) {
			g_assert_cmpint(sample->time_ns, ==, time_ns);
			g_assert_cmpfloat(sample->value, ==, value);
			return;
		}
	}
	g_error("no sample of %s", counter);
}

/* The counters of a kernel come when the next one is launched, those of the last at the end; those of relu, the second,
 * were lost. */
static void test_counters(void)
{
	const gchar *text = "pid 7\n" HC_KERNEL("180", "110", "150", "gemm")
		COUNTED("200", "0x1", "64") HC_KERNEL("280", "210", "250", "relu")
			HC_KERNEL("380", "310", "350", "gemm") COUNTED("400", "0x1", "96");
	gchar *folder;
	g_autoptr(TachoTimeline) timeline = open_traces(&text, 1, &folder);
	g_autofree gchar *first = args_of(timeline, "gemm", 0),
			 *lost = args_of(timeline, "relu", 0);
	g_autofree gchar *second = args_of(timeline, "gemm", 1);
	g_autoptr(TachoTable) table = NULL;

	g_assert_nonnull(strstr(first, ",\"counter.Wavefronts\":64,\"counter.CacheHit\":0.64}"));
	g_assert_null(strstr(lost, "counter."));
	g_assert_nonnull(strstr(second, ",\"counter.Wavefronts\":96,\"counter.CacheHit\":0.96}"));
	assert_sample(timeline, "Wavefronts", 0, 0, 64);
	assert_sample(timeline, "Wavefronts", 1, 200, 96);
	table = tacho_view_kernel_counters(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	g_assert_cmpfloat(number_of(table, "counter", "Wavefronts", "count"), ==, 2);
	g_assert_cmpfloat(number_of(table, "counter", "Wavefronts", "total"), ==, 160);
	g_assert_cmpfloat(number_of(table, "counter", "CacheHit", "max"), ==, 0.96);
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_UNMATCHED_COUNTER), ==, 1);
	ctf_lines_remove(folder);
}

/* Times and counters in a run each: the n-th of one is the n-th of the other, if there are as many. */
static void test_counters_of_another_run(void)
{
	const gchar *texts[] = { "env hostname a\npid 7\n" HC_KERNEL("180", "110", "150", "gemm")
					 HC_KERNEL("280", "210", "250", "relu"),
				 "env hostname a\npid 8\n" COUNTED("9200", "0x1", "64")
					 COUNTED("9400", "0x2", "96") };
	const gchar *uneven[] = { texts[0],
				  "env hostname a\npid 8\n" COUNTED("9200", "0x1", "64") };
	gchar *folder, *uneven_folder;
	g_autoptr(TachoTimeline) timeline = open_traces(texts, 2, &folder);
	g_autoptr(TachoTimeline) other = open_traces(uneven, 2, &uneven_folder);
	g_autofree gchar *gemm = args_of(timeline, "gemm", 0), *relu = args_of(timeline, "relu", 0);
	g_autofree gchar *unjoined = args_of(other, "gemm", 0);

	g_assert_nonnull(strstr(gemm, "\"counter.Wavefronts\":64"));
	g_assert_nonnull(strstr(relu, "\"counter.Wavefronts\":96"));
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_UNMATCHED_COUNTER), ==, 0);
	g_assert_null(strstr(unjoined, "counter."));
	g_assert_cmpuint(problem_count(other, TACHO_PROBLEM_UNMATCHED_COUNTER), ==, 2);
	ctf_lines_remove(folder);
	ctf_lines_remove(uneven_folder);
}

/* --- cudaTracer --------------------------------------------------------------------------------- */

/* Kernels carry microseconds since 1970, and the name that their op gave them. Those of two streams begin in another
 * order than they were queued: the name says which is which. */
static void test_cuda(void)
{
	g_autoptr(TachoTimeline) timeline = open_trace(
		"offset 1500000000000000000\npid 7\n"
		"1000 7 tensorflowTracer:operation_start placement=g name=mm\n"
		"1100 7 cudaTracer:kernel_queued cat=c name=mm:MatMul timestamp=u:0\n"
		"1200 7 tensorflowTracer:operation_end placement=g name=mm\n"
		"1300 7 tensorflowTracer:operation_start placement=g name=add\n"
		"1400 7 cudaTracer:kernel_queued cat=c name=add:Add timestamp=u:0\n"
		"1500 7 tensorflowTracer:operation_end placement=g name=add\n"
		"9000 8 cudaTracer:kernel_begin cat=g name=add:Add timestamp=u:1500000000000003\n"
		"9000 8 cudaTracer:kernel_end cat=g name=add:Add timestamp=u:1500000000000004\n"
		"9000 8 cudaTracer:kernel_begin cat=g name=mm:MatMul timestamp=u:1500000000000005\n"
		"9000 8 cudaTracer:kernel_end cat=g name=mm:MatMul timestamp=u:1500000000000008\n"
		"9001 8 cudaTracer:memcpy_begin cat=g name=h2d details=HtoD "
		"timestamp=u:1500000000000009\n"
		"9001 8 cudaTracer:memcpy_end cat=g name=h2d details=HtoD "
		"timestamp=u:1500000000000010\n"
		"9500 7 cudaTracer:runtime_api_entry cat=c name=211 "
		"timestamp=u:1500000000000000900 threadId=u:7\n"
		"9600 7 cudaTracer:runtime_api_exit cat=c name=211 "
		"timestamp=u:1500000000000000950 threadId=u:7\n");
	guint32 product = timeline_find(timeline, "mm:MatMul", 0);

	/* the first event is that call, of 900 ns */
	g_assert_cmpint(timeline->slices.start_ns[product], ==, 5000 - 900);
	g_assert_cmpint(timeline->slices.duration_ns[product], ==, 3000);
	g_assert_cmpint(timeline->slices.duration_ns[timeline_find(timeline, "211", 0)], ==, 50);
	g_assert_cmpstr(op_of(timeline, "mm:MatMul", 0), ==, "mm");
	g_assert_cmpstr(op_of(timeline, "add:Add", 0), ==, "add");
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* --- openclTracer ------------------------------------------------------------------------------- */

/* Three commands, the device's clock is 50000 ahead, and the host is late by other times for each. The truth is a shift
 * of -50000; what each leaves:
 *
 *     call 1000..1040, queued 51010:               -50010 .. -49970
 *     call 2000..2100, queued 52095:               -50095 .. -49995
 *     call 3000..3030, queued 53001, end 53200,
 *                      told at 3205:               -50001 .. -49971, and -49995 at most
 *
 * Together -50001 .. -49995: its middle is -49998. */
static void test_opencl(void)
{
	g_autoptr(TachoTimeline) timeline = open_trace(
		"pid 7\n"
		"1000 7 openclTracer:function_entry cat=opencl name=clEnqueueNDRangeKernel\n"
		"1040 7 openclTracer:function_exit cat=opencl name=clEnqueueNDRangeKernel\n"
		"2000 7 openclTracer:function_entry cat=opencl name=clEnqueueWriteBuffer\n"
		"2100 7 openclTracer:function_exit cat=opencl name=clEnqueueWriteBuffer\n"
		"3000 7 openclTracer:function_entry cat=opencl name=clEnqueueNDRangeKernel\n"
		"3030 7 openclTracer:function_exit cat=opencl name=clEnqueueNDRangeKernel\n"
		"3205 9 openclTracer:callback\n"
		"3206 9 openclTracer:kernel_begin cat=kernel name=mul tf_name= timestamp=u:53100\n"
		"3206 9 openclTracer:kernel_queued cat=kernel name=mul timestamp=u:53001\n"
		"3206 9 openclTracer:kernel_end cat=kernel name=mul timestamp=u:53200\n"
		"3300 9 openclTracer:callback\n"
		"3301 9 openclTracer:device_begin cat=device name=device timestamp=u:52150\n"
		"3301 9 openclTracer:device_queued cat=device name=device timestamp=u:52095\n"
		"3301 9 openclTracer:device_end cat=device name=device timestamp=u:52180\n"
		"3400 9 openclTracer:callback\n"
		"3401 9 openclTracer:kernel_begin cat=kernel name=add tf_name= timestamp=u:51020\n"
		"3401 9 openclTracer:kernel_queued cat=kernel name=add timestamp=u:51010\n"
		"3401 9 openclTracer:kernel_end cat=kernel name=add timestamp=u:51060\n");
	guint32 add = timeline_find(timeline, "add", 0), mul = timeline_find(timeline, "mul", 0);

	g_assert_cmpint(timeline->slices.start_ns[add], ==, 51020 - 49998 - 1000);
	g_assert_cmpint(timeline->slices.start_ns[mul], ==, 53100 - 49998 - 1000);
	g_assert_cmpuint(timeline->slices.launch[add], ==,
			 timeline_find(timeline, "clEnqueueNDRangeKernel", 0));
	g_assert_cmpuint(timeline->slices.launch[mul], ==,
			 timeline_find(timeline, "clEnqueueNDRangeKernel", 1));
	g_assert_cmpint(timeline->slices.duration_ns[timeline_find(timeline, "device", 0)], ==, 30);
}

/* What the device tells of a moment of the host: it is 50 ms ahead, and 100 ppm fast. */
static gint64 device_time(gint64 host_ns)
{
	return 50000000 + host_ns + host_ns / 10000;
}

/* A command each 100 ms, in the middle of a call of 2 us, that runs from 10 to 20 us and is answered at 21: a second of
 * drift is 100 us, so no one shift holds for all. Each time is within the 1 us that the calls leave, and what is said. */
static void test_opencl_drift(void)
{
	g_autoptr(GString) text = g_string_new("pid 7\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	gint64 stated_ns = 0;

	for (gint64 k = 0; k < 11; k++) {
		gint64 at = 1000000 + k * 100000000;

		g_string_append_printf(
			text,
			"%" G_GINT64_FORMAT
			" 7 openclTracer:function_entry cat=opencl name=clEnqueueNDRangeKernel\n"
			"%" G_GINT64_FORMAT
			" 7 openclTracer:function_exit cat=opencl name=clEnqueueNDRangeKernel\n"
			"%" G_GINT64_FORMAT " 9 openclTracer:callback\n",
			at, at + 2000, at + 21000);
		g_string_append_printf(
			text,
			"%" G_GINT64_FORMAT
			" 9 openclTracer:kernel_begin cat=kernel name=mul tf_name= "
			"timestamp=u:%" G_GINT64_FORMAT "\n"
			"%" G_GINT64_FORMAT " 9 openclTracer:kernel_queued cat=kernel name=mul "
			"timestamp=u:%" G_GINT64_FORMAT "\n"
			"%" G_GINT64_FORMAT " 9 openclTracer:kernel_end cat=kernel name=mul "
			"timestamp=u:%" G_GINT64_FORMAT "\n",
			at + 21001, device_time(at + 10000), at + 21001, device_time(at + 1000),
			at + 21001, device_time(at + 20000));
	}
	timeline = open_trace(text->str);
	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);
		const gchar *told = tacho_timeline_string(timeline, mark->text);

		if (strcmp(tacho_timeline_string(timeline, mark->name), "device clock") != 0)
			continue;
		g_assert_cmpfloat(fabs(g_ascii_strtod(strstr(told, "first, ") + 7, NULL) - 100), <,
				  1.5);
		stated_ns = g_ascii_strtoll(strstr(told, "right to ") + 9, NULL, 10);
	}
	g_assert_cmpint(stated_ns, >, 0);
	g_assert_cmpint(stated_ns, <=, 1500);
	for (guint k = 0; k < 11; k++) {
		guint32 kernel = timeline_find(timeline, "mul", k);
		gint64 error_ns = timeline->slices.start_ns[kernel] -
				  (k * G_GINT64_CONSTANT(100000000) + 10000);

		g_assert_cmpint(ABS(error_ns), <=, stated_ns);
		g_assert_cmpint(ABS(timeline->slices.duration_ns[kernel] - 10000), <=, 1);
	}
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_CLOCK_DOUBT), ==, 0);
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_EARLY_KERNEL), ==, 0);
}

/* --- readiness ----------------------------------------------------------------------------------- */

/* c reads a and b, and d waits for c without reading it; "name" inside an attribute is no node.
 *
 *     a 100..140,  b 110..160,  c 175..200: 175 - 160 = 15,  d 205..210: 5
 *
 * in the first step; in the second, from 300 on, c begins 1 before b has ended: 0, and d 30 after c. */
static void test_readiness(void)
{
	gchar *folder = g_dir_make_tmp("tacho-ctf-XXXXXX", NULL);
	g_autofree gchar *trace = g_build_filename(folder, "trace", NULL);
	g_autofree gchar *graph = g_build_filename(folder, "graph.pbtxt", NULL);
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoTable) table = NULL;
	const TachoFilter filter = { .rank = -1, .first_step = 0, .last_step = -1 };

	ctf_lines_write(trace, "pid 7\n"
			       "100 7 tensorflowTracer:session_start name=run count=i:1\n"
			       "100 7 tensorflowTracer:operation_start placement=c name=a\n"
			       "110 8 tensorflowTracer:operation_start placement=c name=b\n"
			       "140 7 tensorflowTracer:operation_end placement=c name=a\n"
			       "160 8 tensorflowTracer:operation_end placement=c name=b\n"
			       "175 7 tensorflowTracer:operation_start placement=c name=c\n"
			       "200 7 tensorflowTracer:operation_end placement=c name=c\n"
			       "205 7 tensorflowTracer:operation_start placement=c name=d\n"
			       "210 7 tensorflowTracer:operation_end placement=c name=d\n"
			       "220 7 tensorflowTracer:session_end name=run count=i:1\n"
			       "300 7 tensorflowTracer:session_start name=run count=i:2\n"
			       "300 7 tensorflowTracer:operation_start placement=c name=a\n"
			       "310 8 tensorflowTracer:operation_start placement=c name=b\n"
			       "340 7 tensorflowTracer:operation_end placement=c name=a\n"
			       "349 7 tensorflowTracer:operation_start placement=c name=c\n"
			       "350 8 tensorflowTracer:operation_end placement=c name=b\n"
			       "360 7 tensorflowTracer:operation_end placement=c name=c\n"
			       "390 7 tensorflowTracer:operation_start placement=c name=d\n"
			       "395 7 tensorflowTracer:operation_end placement=c name=d\n"
			       "400 7 tensorflowTracer:session_end name=run count=i:2\n");
	g_assert_true(g_file_set_contents(
		graph,
		"node {\n  name: \"a\"\n  op: \"Const\"\n}\n"
		"node {\n  name: \"b\"\n  op: \"Const\"\n}\n"
		"node {\n  name: \"c\"\n  op: \"Add\"\n  input: \"a\"\n  input: \"b:1\"\n"
		"  attr { key: \"f\" value { func { name: \"zz\" } } }\n}\n"
		"node {\n  name: \"d\"\n  op: \"NoOp\"\n  input: \"^c\"\n}\n",
		-1, NULL));
	timeline = foreign_open(folder);
	tacho_correlate(timeline);
	table = tacho_view_readiness(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	g_assert_cmpfloat(number_of(table, "name", "c", "count"), ==, 2);
	g_assert_cmpfloat(number_of(table, "name", "c", "inputs"), ==, 2);
	g_assert_cmpfloat_with_epsilon(number_of(table, "name", "c", "mean_us"), 0.0075, 1e-9);
	g_assert_cmpfloat_with_epsilon(number_of(table, "name", "c", "max_us"), 0.015, 1e-9);
	g_assert_cmpfloat(number_of(table, "name", "c", "max_step"), ==, 0);
	g_assert_cmpfloat_with_epsilon(number_of(table, "name", "d", "mean_us"), 0.0175, 1e-9);
	g_assert_cmpfloat_with_epsilon(number_of(table, "name", "d", "max_us"), 0.03, 1e-9);
	g_assert_cmpfloat(number_of(table, "name", "d", "max_step"), ==, 1);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "last_input"), ==, "c");
	g_assert_cmpstr(tacho_table_cell_text(table, 1, "last_input"), ==, "b");
	ctf_lines_remove(folder);
}

/* --- malformed ---------------------------------------------------------------------------------- */

/* Events of no known name, ends without begins, completions out of order, fields that are missing or of another type:
 * a timeline with problems, and every view can be had. */
static void test_malformed(void)
{
	g_autoptr(TachoTimeline) timeline = open_trace(
		"pid 7\n"
		"100 7 tensorflowTracer:session_end cat=s name=run count=i:9\n"
		"110 7 tensorflowTracer:session_start cat=s\n"
		"115 7 tensorflowTracer:brand_new thing=u:5\n"
		"120 7 tensorflowTracer:operation_end name=never\n"
		"130 7 tensorflowTracer:async_operation_end name=never\n"
		"140 7 hcTracer:kernel_end cat=k timestamp=u:18446744073709551615 name=gemm\n"
		"150 7 hcTracer:kernel_begin cat=k timestamp=u:18446744073709551615 name=gemm\n"
		"160 7 interceptionTracer:perf_counter_uint32 counter_name=Waves value=text\n"
		"165 7 interceptionTracer:perf_counter_uint32 counter_name=Waves value=text\n"
		"170 7 interceptionTracer:kernel_parameters\n"
		"180 7 interceptionTracer:kernel_begin name=x timestamp=u:5\n"
		"190 7 grpcTracer:send_RecvTensor_request request='step_id: "
		"99999999999999999999999'\n"
		"200 7 grpcTracer:receive_RecvTensor_request step_id=u:18446744073709551615\n"
		"210 7 grpcTracer:prepare_response_tensor_end\n"
		"220 7 hsaTracer:pool_memory_free ptr=text\n"
		"230 7 openclTracer:kernel_queued name=q timestamp=u:9223372036854775807\n"
		"240 7 tensorflowTracer:session_start count=text\n");

	foreign_use(timeline);
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_UNMATCHED_END), >=, 2);
	g_assert_cmpuint(problem_count(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME), >=, 1);
	g_assert_nonnull(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNMATCHED_BEGIN));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#ifndef TACHO_HAVE_BABELTRACE
	return 0; /* there is nothing to test */
#endif
	g_test_add_func("/ctf-profiler/one-session", test_one_session);
	g_test_add_func("/ctf-profiler/five-sessions", test_five_sessions);
	g_test_add_func("/ctf-profiler/lost-session-end", test_lost_session_end);
	g_test_add_func("/ctf-profiler/queue-sessions", test_queue_sessions);
	g_test_add_func("/ctf-profiler/streams-and-closures", test_streams_and_closures);
	g_test_add_func("/ctf-profiler/skewed-hosts", test_skewed_hosts);
	g_test_add_func("/ctf-profiler/lost-request", test_lost_request);
	g_test_add_func("/ctf-profiler/guessed-requests", test_guessed_requests);
	g_test_add_func("/ctf-profiler/lost-launch", test_lost_launch);
	g_test_add_func("/ctf-profiler/statistics", test_statistics);
	g_test_add_func("/ctf-profiler/pool-balance", test_pool_balance);
	g_test_add_func("/ctf-profiler/queues", test_queues);
	g_test_add_func("/ctf-profiler/counters", test_counters);
	g_test_add_func("/ctf-profiler/counters-of-another-run", test_counters_of_another_run);
	g_test_add_func("/ctf-profiler/cuda", test_cuda);
	g_test_add_func("/ctf-profiler/opencl", test_opencl);
	g_test_add_func("/ctf-profiler/opencl-drift", test_opencl_drift);
	g_test_add_func("/ctf-profiler/readiness", test_readiness);
	g_test_add_func("/ctf-profiler/malformed", test_malformed);
	return g_test_run();
}
