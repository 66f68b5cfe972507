/* device_records and flow_records: what devices did lies where it was and not where it was told, and what cannot have been is
 * said and left out. Times count from the first record, at 1000, unless a test says otherwise. */
#include <math.h>
#include <string.h>
#include <tacho/timeline.h>

#include "base/for_each.h"
#include "run_builder.h"
#include "trace/copy_kind.h"

struct built {
	gchar *folder;
	struct run_builder *run;
	guint64 frequency_hz; /* 0: a tick is a nanosecond */
	guint32 call, kernel, copy, fill, wait, work, counter, flow, late, op, mark, alloc;
};

static void begin_process(struct built *built, guint32 pid, gint rank)
{
	const struct run_builder_process process = { .pid = pid,
						     .rank = rank,
						     .frequency_hz = built->frequency_hz };
	struct run_builder *run = run_builder_new(built->folder, &process);

	built->run = run;
	built->call = run_builder_class(run, TRACE_KIND_RUNTIME, "cudaLaunchKernel");
	built->kernel = run_builder_class(run, TRACE_KIND_DEVICE_KERNEL, "gemm");
	built->copy = run_builder_class(run, TRACE_KIND_COPY, "Memcpy");
	built->fill = run_builder_class(run, TRACE_KIND_FILL, "Memset (Device)");
	built->wait = run_builder_class(run, TRACE_KIND_DEVICE_WAIT, "Stream Wait Event");
	built->work = run_builder_class(run, TRACE_KIND_DEVICE_WORK, "flush");
	built->counter = run_builder_class(run, TRACE_KIND_COUNTER, "loss");
	built->flow = run_builder_class(run, TRACE_KIND_FLOW, "request");
	built->late = run_builder_class(run, TRACE_KIND_LATE, "f");
	built->op = run_builder_class(run, TRACE_KIND_OP, "aten::mm");
	built->mark = run_builder_class(run, TRACE_KIND_MARK, "here");
	built->alloc = run_builder_class(run, TRACE_KIND_ALLOC, "malloc");
	run_builder_stream(run, 10);
	run_builder_mark(run, built->mark, 1000, 0, 0, "");
}

static void begin_run_at(struct built *built, guint64 frequency_hz)
{
	built->frequency_hz = frequency_hz;
	built->folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	begin_process(built, 33, 0);
}

static void begin_run(struct built *built)
{
	begin_run_at(built, 0);
}

static TachoTimeline *end_run(struct built *built)
{
	const gchar *path = built->folder;
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline;

	run_builder_end(built->run);
	timeline = tacho_timeline_open(&path, 1, &error);
	g_assert_no_error(error);
	run_builder_remove(built->folder);
	g_free(built->folder);
	return timeline;
}

/* Told at `stamp`, of queue 7 of device 0. */
static struct record_activity *add_activity(struct built *built, guint32 class_id, guint64 stamp,
					    gsize size_bytes, guint64 begin, guint64 end,
					    guint64 correlation)
{
	struct record_activity *activity =
		run_builder_record(built->run, class_id, stamp, (guint32)size_bytes);

	activity->begin = begin;
	activity->duration = end - begin;
	activity->correlation = correlation;
	activity->queue = 7;
	return activity;
}

static struct record_device_kernel *add_kernel(struct built *built, guint64 stamp, guint64 begin,
					       guint64 end, guint64 correlation)
{
	return (struct record_device_kernel *)add_activity(built, built->kernel, stamp,
							   sizeof(struct record_device_kernel),
							   begin, end, correlation);
}

static void add_flow(struct built *built, guint64 stamp, guint64 id, enum trace_flow_phase phase,
		     enum trace_flow_scope scope)
{
	struct record_flow *flow =
		run_builder_record(built->run, built->flow, stamp, sizeof(*flow));

	flow->id = id;
	flow->phase = phase;
	flow->scope = scope;
	flow->sort = TRACE_FLOW_REQUEST;
}

/* "name kind start+duration <launch" of each slice of the tracks of that kind, "NAME:" before each track. */
static gchar *tracks_text(const TachoTimeline *timeline, TachoTrackKind kind)
{
	const TachoSlices *slices = &timeline->slices;
	GString *text = g_string_new(NULL);

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		if (track->kind != kind)
			continue;
		g_string_append_printf(text, "%s of %d:\n",
				       tacho_timeline_string(timeline, track->name), track->device);
		for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices;
		     i++) {
			g_string_append_printf(text, "%*s%s %s %d+%d", 2 * slices->depth[i], "",
					       tacho_slice_name(timeline, i),
					       tacho_slice_kind_name(slices->kind[i]),
					       (gint)slices->start_ns[i],
					       (gint)slices->duration_ns[i]);
			if (slices->launch[i] != TACHO_NONE)
				g_string_append_printf(text, " <%d",
						       (gint)slices->start_ns[slices->launch[i]]);
			g_string_append_c(text, '\n');
		}
	}
	return g_string_free(text, FALSE);
}

static void assert_tracks(const TachoTimeline *timeline, TachoTrackKind kind, const gchar *expected)
{
	g_autofree gchar *text = tracks_text(timeline, kind);

	g_assert_cmpstr(text, ==, expected);
}

static void assert_problem(const TachoTimeline *timeline, TachoProblemKind kind, guint64 count,
			   const gchar *word)
{
	const TachoProblem *problem = tacho_timeline_find_problem(timeline, kind);

	g_assert_nonnull(problem);
	g_assert_cmpuint(problem->count, ==, count);
	g_assert_nonnull(strstr(problem->where, word));
}

/* Nothing is wrong, but that runs of the builder have no end. */
static void assert_sound(const TachoTimeline *timeline)
{
	FOR_EACH(const TachoProblem, problem, timeline->problems)
		g_assert_cmpint(problem->kind, ==, TACHO_PROBLEM_KILLED_PROCESS);
}

/* --- what was told ---------------------------------------------------------------------------- */

/* Two queues, told by another thread, in no order. */
static void test_queues(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	struct record_device_kernel *kernel;
	struct record_queue *queue;
	TachoLaunchShape shape;
	g_autofree gchar *args = NULL;
	guint32 row;

	begin_run(&run);
	run_builder_slice(run.run, run.call, 1010, 1020, 1);
	run_builder_slice(run.run, run.call, 1030, 1040, 2);
	run_builder_slice(run.run, run.call, 1050, 1060, 3);
	run_builder_stream(run.run, 11);
	kernel = add_kernel(&run, 2000, 1200, 1300, 2);
	kernel->grid[0] = 4, kernel->grid[1] = 2, kernel->grid[2] = 1;
	kernel->block[0] = 128, kernel->block[1] = kernel->block[2] = 1;
	kernel->registers = 32;
	kernel->shared_bytes = 1024;
	kernel->activity.queued = 1035;
	add_kernel(&run, 2001, 1100, 1200, 1);
	add_kernel(&run, 2002, 1150, 1250, 3)->activity.queue = 9;
	queue = run_builder_record(run.run, run_builder_class(run.run, TRACE_KIND_QUEUE, "side"),
				   2003, sizeof(*queue));
	queue->queue = 9;
	timeline = end_run(&run);
	assert_tracks(timeline, TACHO_TRACK_STREAM,
		      "stream 7 of 0:\n"
		      "gemm kernel 100+100 <10\n"
		      "gemm kernel 200+100 <30\n"
		      "side of 0:\n"
		      "gemm kernel 150+100 <50\n");
	assert_tracks(timeline, TACHO_TRACK_THREAD,
		      " of 0:\n"
		      "cudaLaunchKernel runtime 10+10\n"
		      "cudaLaunchKernel runtime 30+10\n"
		      "cudaLaunchKernel runtime 50+10\n");
	assert_sound(timeline);
	row = timeline->slices.n - 2;
	g_assert_true(tacho_slice_launch_shape(timeline, row, &shape));
	g_assert_cmpuint(shape.grid[0], ==, 4);
	g_assert_cmpuint(shape.grid[1], ==, 2);
	g_assert_cmpuint(shape.block[0], ==, 128);
	g_assert_cmpuint(shape.registers, ==, 32);
	g_assert_cmpuint(shape.shared_bytes, ==, 1024);
	g_assert_true(isnan(shape.occupancy_pct));
	args = tacho_slice_args_json(timeline, row);
	g_assert_cmpstr(args, ==,
			"{\"device\":0,\"stream\":7,\"correlation\":2,\"queued before ns\":165,"
			"\"grid\":[4, 2, 1],\"block\":[128, 1, 1],\"registers per thread\":32,"
			"\"shared memory\":1024}");
	/* of the kernel before it, no shape was told */
	g_assert_false(tacho_slice_launch_shape(timeline, row - 1, &shape));
	g_assert_cmpuint(tacho_slice_id(timeline, 2), ==, 3);
}

static void test_kinds(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	struct record_copy *copy;
	TachoCopyArgs args;
	TachoKernelArgs kernel;
	guint32 nccl, row;

	begin_run(&run);
	nccl = run_builder_class(
		run.run, TRACE_KIND_DEVICE_KERNEL,
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)");
	copy = (struct record_copy *)add_activity(&run, run.copy, 2000, sizeof(*copy), 1100, 1200,
						  0);
	copy->bytes = 4096;
	copy->direction = TRACE_DEVICE_TO_HOST;
	copy = (struct record_copy *)add_activity(&run, run.fill, 2000, sizeof(*copy), 1200, 1210,
						  0);
	copy->bytes = 64;
	add_activity(&run, nccl, 2000, sizeof(struct record_device_kernel), 1300, 1400, 0);
	add_activity(&run, run.work, 2000, sizeof(struct record_activity), 1500, 1500, 0)->queue =
		TRACE_NO_QUEUE;
	timeline = end_run(&run);
	assert_tracks(
		timeline, TACHO_TRACK_STREAM,
		"stream 7 of 0:\n"
		"Memcpy DtoH memcpy 100+100\n"
		"Memset (Device) memset 200+10\n"
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage) collective "
		"300+100\n"
		"device 0 of 0:\n"
		"flush event 500+0\n");
	row = timeline->slices.n - 4;
	g_assert_cmpint(copy_kind_of(timeline, row), ==, COPY_DTOH);
	g_assert_true(tacho_slice_copy(timeline, row, &args));
	g_assert_cmpuint(args.bytes, ==, 4096);
	g_assert_true(tacho_slice_kernel(timeline, row, &kernel));
	g_assert_cmpuint(kernel.bytes, ==, 4096);
	g_assert_true(tacho_slice_copy(timeline, row + 1, &args));
	g_assert_cmpuint(args.bytes, ==, 64);
	g_assert_false(tacho_slice_copy(timeline, row + 2, &args));
	g_assert_false(tacho_slice_kernel(timeline, row + 2, &kernel));
}

/* The event comes with the last work that was launched before it was recorded. */
static void test_event_wait(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	struct record_device_wait *wait;
	const TachoFlow *flow;

	begin_run(&run);
	run_builder_slice(run.run, run.call, 1010, 1020, 1);
	run_builder_slice(run.run, run.call, 1030, 1040, 2);
	run_builder_slice(run.run,
			  run_builder_class(run.run, TRACE_KIND_RUNTIME, "cudaEventRecord"), 1050,
			  1060, 3);
	run_builder_slice(run.run, run.call, 1070, 1080, 4);
	add_kernel(&run, 2000, 1100, 1200, 1);
	add_kernel(&run, 2000, 1200, 1300, 2);
	add_kernel(&run, 2000, 1300, 1400, 4);
	wait = (struct record_device_wait *)add_activity(&run, run.wait, 2000, sizeof(*wait), 1110,
							 1300, 0);
	wait->activity.queue = 9;
	wait->event_correlation = 3;
	wait->event_queue = 7;
	timeline = end_run(&run);
	g_assert_cmpuint(timeline->flows->len, ==, 1);
	flow = &g_array_index(timeline->flows, TachoFlow, 0);
	g_assert_cmpint(flow->kind, ==, TACHO_FLOW_EVENT_WAIT);
	g_assert_cmpint(timeline->slices.start_ns[flow->from], ==, 200);
	g_assert_cmpint(timeline->slices.kind[flow->to], ==, TACHO_SLICE_SYNC);
}

static void test_devices(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoDevice *device;
	const TachoMemoryEvent *event;
	guint32 class_id;

	begin_run(&run);
	class_id = run_builder_class(run.run, TRACE_KIND_DEVICE, "Device X");
	for (gint number = 1; number >= 0; number--) {
		struct record_device *record =
			run_builder_record(run.run, class_id, 1010, sizeof(*record) + 8);

		record->device = number;
		record->n_multiprocessors = 80 + (guint32)number;
		record->memory_bytes = 1 << 30;
		record->n_text = 8;
		memcpy(record + 1, "sm_99", 5);
	}
	class_id = run_builder_class(run.run, TRACE_KIND_DEVICE_ALLOC, "cudaMalloc");
	for (guint i = 0; i < 2; i++) {
		struct record_device_memory *record =
			run_builder_record(run.run, class_id, 1020, sizeof(*record));

		record->memory.address = 0x1000; /* of each device */
		record->memory.bytes = 64 + i;
		record->device = (gint32)i;
	}
	class_id = run_builder_class(run.run, TRACE_KIND_DEVICE_FREE, "cudaFree");
	((struct record_device_memory *)run_builder_record(run.run, class_id, 1030,
							   sizeof(struct record_device_memory)))
		->memory.address = 0x1000;
	add_kernel(&run, 2000, 1100, 1200, 0)->activity.graph_node = 5;
	timeline = end_run(&run);
	g_assert_cmpuint(timeline->devices->len, ==, 2);
	device = &g_array_index(timeline->devices, TachoDevice, 0);
	g_assert_cmpint(device->number, ==, 0);
	g_assert_cmpuint(device->n_multiprocessors, ==, 80);
	g_assert_cmpint(device[1].number, ==, 1);
	g_assert_cmpstr(tacho_timeline_string(timeline, device->name), ==, "Device X");
	g_assert_cmpstr(tacho_timeline_string(timeline, device->architecture), ==, "sm_99");
	g_assert_cmpuint(timeline->memory->len, ==, 3);
	event = &g_array_index(timeline->memory, TachoMemoryEvent, 0);
	g_assert_cmpuint(event[0].device, ==, 1);
	g_assert_cmpint(event[1].bytes, ==, 65);
	g_assert_cmpuint(event[1].device, ==, 2);
	g_assert_cmpint(event[2].bytes, ==, -64); /* not told: device 0 had handed it out */
	g_assert_cmpuint(event[0].layer, ==, TACHO_MEMORY_OF_DRIVER);
	g_assert_cmpuint(event[2].layer, ==, TACHO_MEMORY_OF_DRIVER);
	g_assert_cmpuint(timeline->graph_work->len, ==, 1);
	g_assert_cmpint(g_array_index(timeline->graph_work, TachoGraphWork, 0).node, ==, 5);
}

static void add_node(struct built *built, guint64 stamp, guint32 class_id, guint64 node,
		     guint64 original)
{
	struct record_graph_node *record =
		run_builder_record(built->run, class_id, stamp, sizeof(*record));

	record->node = node;
	record->original = original;
}

/* What a graph does goes back to the call that was captured, also through clones of the node; to none where that was not
 * recorded, and not round in circles. */
static void test_graph_nodes(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoGraphWork *work;
	const TachoFlow *flow;
	guint32 node;

	begin_run(&run);
	node = run_builder_class(run.run, TRACE_KIND_GRAPH_NODE, "node");
	run_builder_slice(run.run, run.call, 1010, 1020, 1); /* captured */
	add_node(&run, 1015, node, 5, 0);
	run_builder_slice(run.run, run.call, 1030, 1040, 2); /* made ready to run */
	add_node(&run, 1035, node, 6, 5);
	add_node(&run, 1035, node, 8, 9);
	add_node(&run, 1035, node, 9, 8);
	add_node(&run, 1045, node, 10, 0); /* in no slice */
	run_builder_stream(run.run, 11);
	add_kernel(&run, 2000, 1400, 1410, 0)->activity.graph_node = 10;
	add_kernel(&run, 2000, 1300, 1310, 0)->activity.graph_node = 8;
	add_kernel(&run, 2000, 1200, 1210, 0)->activity.graph_node = 7;
	add_kernel(&run, 2000, 1100, 1110, 0)->activity.graph_node = 6;
	timeline = end_run(&run);
	g_assert_cmpuint(timeline->graph_work->len, ==, 4);
	work = &g_array_index(timeline->graph_work, TachoGraphWork, 0);
	g_assert_cmpint(timeline->slices.start_ns[work[0].slice], ==, 100);
	g_assert_cmpint(work[0].node, ==, 6);
	g_assert_true(work[0].is_exact);
	g_assert_cmpint(timeline->slices.start_ns[work[0].capture], ==, 10);
	g_assert_cmpuint(work[1].capture, ==, TACHO_NONE);
	g_assert_cmpint(timeline->slices.start_ns[work[2].capture], ==, 30);
	g_assert_cmpuint(work[3].capture, ==, TACHO_NONE);
	g_assert_cmpuint(timeline->flows->len, ==, 2);
	flow = &g_array_index(timeline->flows, TachoFlow, 1);
	g_assert_cmpuint(flow->to, ==, work[0].slice);
}

static void add_value(struct built *built, guint64 stamp, guint64 time, gdouble value,
		      gint32 device)
{
	struct record_counter *counter =
		run_builder_record(built->run, built->counter, stamp, sizeof(*counter));

	counter->value = value;
	counter->time = time;
	counter->device = device;
}

static void test_counters(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoSample *sample;

	begin_run(&run);
	add_value(&run, 1100, 0, 2.5, -1);
	add_value(&run, 1200, 1050, 3.5, -1); /* told late */
	add_value(&run, 1300, 0, NAN, -1);
	add_value(&run, 1300, 0, INFINITY, -1);
	add_value(&run, 1400, 0, 7, 1);
	timeline = end_run(&run);
	g_assert_cmpuint(timeline->samples->len, ==, 3);
	sample = &g_array_index(timeline->samples, TachoSample, 0);
	g_assert_cmpint(sample[0].time_ns, ==, 50);
	g_assert_cmpfloat(sample[0].value, ==, 3.5);
	g_assert_cmpint(sample[1].time_ns, ==, 100);
	g_assert_cmpfloat(sample[2].value, ==, 7);
	g_assert_cmpuint(sample[2].track, ==, sample[1].track + 1);
	g_assert_cmpint(tacho_timeline_track(timeline, sample[2].track)->device, ==, 1);
	g_assert_cmpint(tacho_timeline_track(timeline, sample[0].track)->first_ns, ==, 50);
	assert_tracks(timeline, TACHO_TRACK_COUNTER, "loss of -1:\nloss of 1:\n");
	assert_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, 2, "counters");
}

/* --- what threads tell late ------------------------------------------------------------------- */

static void add_late(struct built *built, guint64 stamp, guint64 begin, guint64 end, guint32 kind)
{
	struct record_late *late =
		run_builder_record(built->run, built->late, stamp, sizeof(*late));

	late->begin = begin;
	late->duration = end - begin;
	late->slice_kind = kind;
}

/* A function that is told when it returns lies around what it called, and in what called it. */
static void test_late_slices(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	guint32 alloc;

	begin_run(&run);
	alloc = run_builder_class(run.run, TRACE_KIND_ALLOC, "malloc");
	run_builder_op(run.run, run.op, 1010, 1900, 0);
	run_builder_op(run.run, run.op, 1030, 1040, 1);
	run_builder_memory(run.run, alloc, 1035, 0x10, 8);
	add_flow(&run, 1036, 1, TRACE_FLOW_BEGIN, TRACE_FLOW_OF_PROCESS);
	add_late(&run, 1100, 1020, 1100, TRACE_KIND_FUNCTION);
	add_late(&run, 1200, 1300, 1250, TRACE_KIND_FUNCTION); /* the end is before the begin */
	add_late(&run, 1300, 1250, 1310, TRACE_KIND_FUNCTION); /* it was told before it ended */
	run_builder_op(run.run, run.op, 1950, 1960, 2);
	add_flow(&run, 1955, 1, TRACE_FLOW_END, TRACE_FLOW_OF_PROCESS);
	timeline = end_run(&run);
	assert_tracks(timeline, TACHO_TRACK_THREAD,
		      " of 0:\n"
		      "aten::mm op 10+890\n"
		      "  f function 20+80\n"
		      "    aten::mm op 30+10\n"
		      "  f function 200+0\n"
		      "  f function 300+0\n"
		      "aten::mm op 950+10\n");
	assert_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, 2, "thread 10");
	/* what was found in the slices before they were put into their places is still there */
	g_assert_cmpuint(g_array_index(timeline->memory, TachoMemoryEvent, 0).slice, ==, 2);
	g_assert_cmpuint(timeline->flows->len, ==, 1);
	g_assert_cmpuint(g_array_index(timeline->flows, TachoFlow, 0).from, ==, 2);
	g_assert_cmpuint(g_array_index(timeline->flows, TachoFlow, 0).to, ==, 5);
	g_assert_true(timeline->slices.flags[3] & TACHO_SLICE_REPAIRED);
}

/* Spans lie beside their thread, and are no parents. */
static void test_spans(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	guint32 span;

	begin_run(&run);
	span = run_builder_class(run.run, TRACE_KIND_SPAN, "request");
	run_builder_slice(run.run, span, 1010, 1050, 1);
	run_builder_slice(run.run, span, 1020, 1100, 2);
	run_builder_op(run.run, run.op, 1030, 1040, 0);
	run_builder_slice(run.run, span, 1060, G_MAXUINT64, 3);
	run_builder_op(run.run, run.op, 1150, 1200, 1);
	timeline = end_run(&run);
	assert_tracks(timeline, TACHO_TRACK_ASYNC,
		      "spans of 0:\n"
		      "request annotation 10+40\n"
		      "request annotation 20+80\n"
		      "request annotation 60+140\n");
	assert_tracks(timeline, TACHO_TRACK_THREAD,
		      " of 0:\naten::mm op 30+10\naten::mm op 150+50\n");
	g_assert_true(timeline->slices.flags[timeline->slices.n - 1] & TACHO_SLICE_OPEN);
	g_assert_cmpuint(tacho_slice_id(timeline, timeline->slices.n - 1), ==, 3);
	assert_sound(timeline);
}

/* --- flows ------------------------------------------------------------------------------------ */

/* "FROM>TO" by the ids of the slices. */
static gchar *flows_text(const TachoTimeline *timeline)
{
	GString *text = g_string_new(NULL);

	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		g_assert_cmpint(flow->kind, ==, TACHO_FLOW_REQUEST);
		g_string_append_printf(text, "%u>%u ", (guint)tacho_slice_id(timeline, flow->from),
				       (guint)tacho_slice_id(timeline, flow->to));
	}
	return g_string_free(text, FALSE);
}

static void test_flows(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *text = NULL;

	begin_run(&run);
	run_builder_slice(run.run, run.call, 1010, 1020, 1);
	add_flow(&run, 1015, 5, TRACE_FLOW_BEGIN, TRACE_FLOW_OF_PROCESS);
	run_builder_slice(run.run, run.call, 1110, 1120, 2);
	add_flow(&run, 1115, 5, TRACE_FLOW_BEGIN, TRACE_FLOW_OF_PROCESS); /* used again */
	add_flow(&run, 1130, 5, TRACE_FLOW_BEGIN, TRACE_FLOW_OF_PROCESS); /* in no slice */
	run_builder_stream(run.run, 11);
	run_builder_slice(run.run, run.call, 1030, 1040, 11);
	add_flow(&run, 1031, 5, TRACE_FLOW_STEP, TRACE_FLOW_OF_PROCESS);
	run_builder_slice(run.run, run.call, 1050, 1060, 12);
	add_flow(&run, 1051, 5, TRACE_FLOW_END, TRACE_FLOW_OF_PROCESS);
	add_flow(&run, 1052, 6, TRACE_FLOW_END, TRACE_FLOW_OF_PROCESS); /* without begin */
	run_builder_slice(run.run, run.call, 1150, 1160, 13);
	add_flow(&run, 1151, 5, TRACE_FLOW_END, TRACE_FLOW_OF_PROCESS);
	timeline = end_run(&run);
	text = flows_text(timeline);
	g_assert_cmpstr(text, ==, "1>11 11>12 2>13 ");
	assert_problem(timeline, TACHO_PROBLEM_UNMATCHED_END, 2, "flows");
}

/* Four ticks are a nanosecond. What is told in the last one of a slice is in it up to the tick in which it ends. */
static void test_flows_at_end(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *text = NULL;
	const TachoMemoryEvent *events;

	begin_run_at(&run, 4000000000);
	run_builder_slice(run.run, run.call, 4000, 8000, 1);
	run_builder_slice(run.run, run.call, 4001, 4043, 2);
	add_flow(&run, 4042, 5, TRACE_FLOW_BEGIN, TRACE_FLOW_OF_PROCESS);
	run_builder_memory(run.run, run.alloc, 4042, 64, 8);
	add_flow(&run, 4043, 6, TRACE_FLOW_BEGIN, TRACE_FLOW_OF_PROCESS);
	run_builder_memory(run.run, run.alloc, 4043, 128, 8);
	run_builder_slice(run.run, run.call, 4400, 4500, 3);
	add_flow(&run, 4401, 5, TRACE_FLOW_END, TRACE_FLOW_OF_PROCESS);
	add_flow(&run, 4402, 6, TRACE_FLOW_END, TRACE_FLOW_OF_PROCESS);
	timeline = end_run(&run);
	text = flows_text(timeline);
	g_assert_cmpstr(text, ==, "2>3 1>3 ");
	g_assert_cmpint(timeline->slices.start_ns[1] + timeline->slices.duration_ns[1], ==, 760);
	events = (const TachoMemoryEvent *)(gconstpointer)timeline->memory->data;
	g_assert_cmpuint(timeline->memory->len, ==, 2);
	g_assert_cmpint(events[0].time_ns, ==, 760);
	g_assert_cmpint(events[1].time_ns, ==, 760);
	g_assert_cmpuint(tacho_slice_id(timeline, events[0].slice), ==, 2);
	g_assert_cmpuint(tacho_slice_id(timeline, events[1].slice), ==, 1);
	assert_sound(timeline);
}

/* Numbers of the run go from process to process, whatever the clocks say; those of a process do not. */
static void test_flows_of_run(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *text = NULL;

	begin_run(&run);
	run_builder_slice(run.run, run.call, 1010, 1020, 1);
	add_flow(&run, 1015, 5, TRACE_FLOW_BEGIN, TRACE_FLOW_OF_RUN);
	add_flow(&run, 1016, 6, TRACE_FLOW_BEGIN, TRACE_FLOW_OF_PROCESS);
	run_builder_slice(run.run, run.call, 1110, 1120, 2);
	add_flow(&run, 1115, 5, TRACE_FLOW_BEGIN, TRACE_FLOW_OF_RUN);
	run_builder_end(run.run);
	begin_process(&run, 34, 1);
	run_builder_slice(run.run, run.call, 1005, 1009, 11);
	add_flow(&run, 1006, 5, TRACE_FLOW_END, TRACE_FLOW_OF_RUN);
	add_flow(&run, 1007, 6, TRACE_FLOW_END, TRACE_FLOW_OF_PROCESS);
	run_builder_slice(run.run, run.call, 1105, 1109, 12);
	add_flow(&run, 1106, 5, TRACE_FLOW_END, TRACE_FLOW_OF_RUN);
	timeline = end_run(&run);
	text = flows_text(timeline);
	g_assert_cmpstr(text, ==, "1>11 2>12 ");
	assert_problem(timeline, TACHO_PROBLEM_UNMATCHED_END, 1, "flows");
}

/* --- what cannot be --------------------------------------------------------------------------- */

static void test_before_first_record(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;

	begin_run(&run);
	add_kernel(&run, 1010, 400, 900, 0);
	timeline = end_run(&run);
	assert_tracks(timeline, TACHO_TRACK_STREAM, "stream 7 of 0:\ngemm kernel 0+500\n");
	g_assert_cmpint(timeline->duration_ns, ==, 610);
	g_assert_cmpint(tacho_timeline_process(timeline, 0)->start_ns, ==, 0);
	assert_sound(timeline);
}

static void test_impossible(void)
{
	const guint64 second = 1000000000;
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;

	begin_run(&run);
	add_kernel(&run, 3 * second, 2 * second, 2 * second + 5, 0);
	add_kernel(&run, 3 * second, 0, 100, 0);		       /* not known */
	add_kernel(&run, 3 * second, 2 * second, second, 0);	       /* ends before it begins */
	add_kernel(&run, 3 * second, 2 * second, G_MAXUINT64, 0);      /* ends never */
	add_kernel(&run, 3 * second, G_MAXUINT64 - 5, G_MAXUINT64, 0); /* begins never */
	timeline = end_run(&run);
	assert_tracks(timeline, TACHO_TRACK_STREAM, "stream 7 of 0:\ngemm kernel 1999999000+5\n");
	assert_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, 4, "left out");
}

static void test_before_process(void)
{
	struct built run;
	const struct run_builder_process process = { .pid = 33,
						     .offset_s = 1000000,
						     .frequency_hz = 1000000000 };
	g_autoptr(TachoTimeline) timeline = NULL;
	const gchar *path;
	g_autoptr(GError) error = NULL;

	run.folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	run.run = run_builder_new(run.folder, &process);
	/* when the file was made, 10 s after the process began, both clocks showed 100 s */
	run_builder_metadata(run.run, "env {\n\tstart_mono_ns = 99000000000;\n"
				      "\tprocess_age_ns = 9000000000;\n};\n");
	run.kernel = run_builder_class(run.run, TRACE_KIND_DEVICE_KERNEL, "gemm");
	run_builder_stream(run.run, 10);
	run_builder_pair(run.run, 100000000000, 100000000000);
	add_kernel(&run, 101000000000, 90500000000, 90600000000, 0);
	add_kernel(&run, 101000000001, 88500000000, 88600000000, 0);
	run_builder_end(run.run);
	path = run.folder;
	timeline = tacho_timeline_open(&path, 1, &error);
	g_assert_no_error(error);
	assert_tracks(timeline, TACHO_TRACK_STREAM, "stream 7 of 0:\ngemm kernel 0+100000000\n");
	assert_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, 1, "before the process began");
	run_builder_remove(run.folder);
	g_free(run.folder);
}

static void test_clock_ahead(void)
{
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;

	begin_run(&run);
	add_kernel(&run, 2000, 1500, 900000, 0); /* within what clocks differ */
	add_kernel(&run, 2001, 900000, 3000000, 0);
	timeline = end_run(&run);
	assert_tracks(timeline, TACHO_TRACK_STREAM,
		      "stream 7 of 0:\ngemm kernel 500+898500\ngemm kernel 899000+2100000\n");
	assert_problem(timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1, "2.998 ms");
}

/* Each record is broken in its own way; what was before it in its file is kept. */
static void test_broken_records(void)
{
	static const struct {
		enum trace_kind kind;
		gsize size_bytes;
		const gchar *word;
	} cases[] = {
		{ TRACE_KIND_DEVICE_KERNEL, sizeof(struct record_activity), "shorter" },
		{ TRACE_KIND_COPY, sizeof(struct record_activity), "shorter" },
		{ TRACE_KIND_FILL, sizeof(struct record_slice), "shorter" },
		{ TRACE_KIND_DEVICE_WAIT, sizeof(struct record_activity), "shorter" },
		{ TRACE_KIND_DEVICE_WORK, sizeof(struct record_header), "shorter" },
		{ TRACE_KIND_DEVICE, sizeof(struct record_slice), "shorter" },
		{ TRACE_KIND_QUEUE, sizeof(struct record_header), "shorter" },
		{ TRACE_KIND_DEVICE_ALLOC, sizeof(struct record_memory), "shorter" },
		{ TRACE_KIND_DEVICE_FREE, sizeof(struct record_memory), "shorter" },
		{ TRACE_KIND_COUNTER, sizeof(struct record_slice), "shorter" },
		{ TRACE_KIND_FLOW, sizeof(struct record_slice), "shorter" },
		{ TRACE_KIND_RUNTIME, sizeof(struct record_header), "shorter" },
		{ TRACE_KIND_SPAN, sizeof(struct record_header), "shorter" },
		{ TRACE_KIND_GRAPH_NODE, sizeof(struct record_header), "shorter" },
		{ TRACE_KIND_TRANSFER, sizeof(struct record_collective), "shorter" },
		{ TRACE_KIND_TRANSFER, sizeof(struct record_transfer), "way" },
		{ TRACE_KIND_REQUEST, sizeof(struct record_transfer), "shorter" },
		{ TRACE_KIND_REQUEST, sizeof(struct record_request), "side" },
		{ TRACE_KIND_LATE, sizeof(struct record_slice), "shorter" },
		{ TRACE_KIND_LATE, sizeof(struct record_late), "cannot be told late" },
		{ TRACE_KIND_FLOW, sizeof(struct record_flow), "phase" },
		{ TRACE_KIND_DEVICE, sizeof(struct record_device), "text" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct built run;
		g_autoptr(TachoTimeline) timeline = NULL;
		guint8 *record;
		guint32 class_id;

		begin_run(&run);
		add_kernel(&run, 2000, 1100, 1200, 0);
		class_id = run_builder_class(run.run, cases[i].kind, "broken");
		record = run_builder_record(run.run, class_id, 2001, (guint32)cases[i].size_bytes);
		memset(record + sizeof(struct record_header), 0x7f,
		       cases[i].size_bytes - sizeof(struct record_header));
		add_kernel(&run, 2002, 1200, 1300, 0);
		timeline = end_run(&run);
		assert_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, 1, cases[i].word);
		assert_tracks(timeline, TACHO_TRACK_STREAM,
			      "stream 7 of 0:\ngemm kernel 100+100\n");
	}
}

/* More queues than anybody has: all are read, into as many tracks as there are. */
static void test_many_queues(void)
{
	enum { N_QUEUES = 70000 };
	struct built run;
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n_slices = 0;

	begin_run(&run);
	for (guint i = 0; i < N_QUEUES; i++)
		add_kernel(&run, 2000 + i, 1100, 1200, 0)->activity.queue = i;
	timeline = end_run(&run);
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		n_slices += track->kind == TACHO_TRACK_STREAM ? track->n_slices : 0;
	g_assert_cmpuint(n_slices, ==, N_QUEUES);
	g_assert_cmpuint(timeline->tracks->len, <, N_QUEUES);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/device-records/queues", test_queues);
	g_test_add_func("/device-records/kinds", test_kinds);
	g_test_add_func("/device-records/event-wait", test_event_wait);
	g_test_add_func("/device-records/devices", test_devices);
	g_test_add_func("/device-records/graph-nodes", test_graph_nodes);
	g_test_add_func("/device-records/counters", test_counters);
	g_test_add_func("/device-records/late-slices", test_late_slices);
	g_test_add_func("/device-records/spans", test_spans);
	g_test_add_func("/device-records/flows", test_flows);
	g_test_add_func("/device-records/flows-at-end", test_flows_at_end);
	g_test_add_func("/device-records/flows-of-run", test_flows_of_run);
	g_test_add_func("/device-records/before-first-record", test_before_first_record);
	g_test_add_func("/device-records/impossible", test_impossible);
	g_test_add_func("/device-records/before-process", test_before_process);
	g_test_add_func("/device-records/clock-ahead", test_clock_ahead);
	g_test_add_func("/device-records/broken-records", test_broken_records);
	g_test_add_func("/device-records/many-queues", test_many_queues);
	return g_test_run();
}
