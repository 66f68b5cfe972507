/* Other tools' traces in a run: whose processes and threads are whose, on which clock, and that nothing counts twice. */
#include <glib/gstdio.h>
#include <string.h>
#include <tacho/import.h>

#include "analyze/memory_blocks.h"
#include "base/for_each.h"
#include "ctf_lines.h"
#include "run_builder.h"
#include "timeline_text.h"

#define BASE_S	1700000000
#define BASE_US (BASE_S * G_GINT64_CONSTANT(1000000))
#define MS	G_GINT64_CONSTANT(1000000)

struct scene {
	gchar *folder;
	gchar *run;
	struct run_builder *builder;
};

static void scene_init(struct scene *scene, gint rank)
{
	g_autoptr(GError) error = NULL;

	scene->folder = g_dir_make_tmp("tacho-test-XXXXXX", &error);
	g_assert_no_error(error);
	scene->run = g_build_filename(scene->folder, "run.tacho", NULL);
	scene->builder = run_builder_new(
		scene->run,
		&(struct run_builder_process){ .pid = 33, .rank = rank, .offset_s = BASE_S });
}

static void scene_release(struct scene *scene)
{
	run_builder_remove(scene->folder);
	g_free(scene->folder);
	g_free(scene->run);
}

/* CLOCK_REALTIME `ahead_ns` ahead of the trace's clock at `stamp`; CLOCK_MONOTONIC began 1000 s before. */
static void add_reading(struct scene *scene, guint64 stamp, gint64 ahead_ns)
{
	guint32 class_id = run_builder_class(scene->builder, TRACE_KIND_CLOCK, "clocks");
	struct record_clock *record =
		run_builder_record(scene->builder, class_id, stamp, sizeof(*record));

	record->mono_ns = stamp + 1000000 * MS;
	record->real_ns = (guint64)((gint64)stamp + BASE_US * 1000 + ahead_ns);
}

/* Thread 10 of process 33: aten::add 10..14 ms and 30..34 ms, and in between something of its own. */
static void add_ops(struct scene *scene)
{
	guint32 add = run_builder_class(scene->builder, TRACE_KIND_OP, "aten::add");
	guint32 own = run_builder_class(scene->builder, TRACE_KIND_OP, "own");

	run_builder_stream(scene->builder, 10);
	run_builder_op(scene->builder, add, 10 * MS, 14 * MS, 3);
	run_builder_op(scene->builder, own, 20 * MS, 24 * MS, -1);
	run_builder_op(scene->builder, add, 30 * MS, 34 * MS, 4);
}

static void write_text(const gchar *folder, const gchar *name, const gchar *text)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);

	g_assert_true(
		g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* A trace in the run: `facts` of trace.ini, and rows of a Chrome trace. */
static void add_trace(struct scene *scene, const gchar *name, const gchar *facts, const gchar *rows)
{
	g_autofree gchar *folder = g_build_filename(scene->run, "traces", name, NULL);
	g_autofree gchar *ini = g_strdup_printf("[trace]\n%s", facts);
	g_autofree gchar *json = g_strdup_printf("{\"traceEvents\": [%s]}", rows);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	write_text(folder, "trace.ini", ini);
	write_text(folder, "trace.json", json);
}

static gchar *row(guint pid, guint tid, const gchar *name, gint64 ts_us, gint64 dur_us)
{
	return g_strdup_printf(
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": %u, "
		"\"tid\": %u, \"ts\": %" G_GINT64_FORMAT ", \"dur\": %" G_GINT64_FORMAT "}",
		name, pid, tid, ts_us, dur_us);
}

static void add_row(struct scene *scene, const gchar *name, const gchar *facts, gchar *taken)
{
	g_autofree gchar *rows = taken;

	add_trace(scene, name, facts, rows);
}

static TachoTimeline *open_run(const struct scene *scene)
{
	g_autoptr(GError) error = NULL;
	const gchar *path = scene->run;
	TachoTimeline *timeline = tacho_run_open(&path, 1, NULL, NULL, &error);

	g_assert_no_error(error);
	return timeline;
}

static const TachoTrack *track_of(const TachoTimeline *timeline, const gchar *name)
{
	return tacho_timeline_track(timeline,
				    timeline->slices.track[timeline_find(timeline, name, 0)]);
}

/* The clock that the trace was written by has been slewed: by nothing at 0, by 2 ms at 1 s. */
static void test_clock(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct scene scene;

	scene_init(&scene, 0);
	add_ops(&scene);
	add_reading(&scene, 40 * MS, 0);
	add_reading(&scene, 1040 * MS, 2 * MS);
	run_builder_end(scene.builder);
	add_row(&scene, "t", "pid=33\nhost=h0\n", row(33, 10, "late", BASE_US + 541000, 5000));
	timeline = open_run(&scene);
	/* half of the way between the readings: 1 ms ahead; the run begins at its first record, 10 ms */
	timeline_assert_slice(timeline, "late", 0, "op", 530 * MS, 5 * MS);
	timeline_assert_slice(timeline, "own", 0, "op", 10 * MS, 4 * MS);
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpuint(timeline->ranks->len, ==, 1);
	g_assert_true(track_of(timeline, "late") == track_of(timeline, "own"));
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_LEFT_OUT), ==, 0);
	scene_release(&scene);
}

static void test_monotonic(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct scene scene;

	scene_init(&scene, 0);
	add_ops(&scene);
	add_reading(&scene, 40 * MS, 7 * MS);
	run_builder_end(scene.builder);
	add_row(&scene, "t", "pid=33\n", row(33, 10, "late", 1000000000 + 50000, 5000));
	timeline = open_run(&scene);
	timeline_assert_slice(timeline, "late", 0, "op", 40 * MS, 5 * MS);
	scene_release(&scene);
}

/* What the run has itself counts once, what it has not lies between, and arguments stay with their slices. */
static void test_same(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *first = row(33, 10, "aten::add", BASE_US + 10200, 3900);
	g_autofree gchar *inner = row(33, 10, "inner", BASE_US + 11000, 1000);
	g_autofree gchar *far = row(33, 10, "aten::add", BASE_US + 26000, 1000);
	g_autofree gchar *other = row(33, 11, "aten::add", BASE_US + 30000, 4000);
	g_autofree gchar *rows = NULL;
	struct scene scene;
	TachoOpArgs args;
	guint32 slice;

	scene_init(&scene, 0);
	add_ops(&scene);
	run_builder_end(scene.builder);
	rows = g_strjoin(",", first, inner, far, other, NULL);
	add_trace(&scene, "t", "pid=33\n", rows);
	timeline = open_run(&scene);
	/* in thread 10 the run's two, and the one that it has not; in thread 11 another */
	timeline_assert_slice(timeline, "aten::add", 0, "op", 0, 4 * MS);
	timeline_assert_slice(timeline, "aten::add", 1, "op", 16 * MS, 1 * MS);
	timeline_assert_slice(timeline, "aten::add", 2, "op", 20 * MS, 4 * MS);
	timeline_assert_slice(timeline, "aten::add", 3, "op", 20 * MS, 4 * MS);
	g_assert_cmpuint(timeline->slices.n, ==, 6);
	slice = timeline_find(timeline, "inner", 0);
	g_assert_cmpuint(timeline->slices.parent[slice], ==,
			 timeline_find(timeline, "aten::add", 0));
	g_assert_true(tacho_slice_op(timeline, timeline_find(timeline, "aten::add", 2), &args));
	g_assert_cmpint(args.sequence, ==, 4);
	g_assert_cmpint(timeline_find_mark(timeline, "added_trace")->first, ==, 3);
	g_assert_cmpint(timeline_find_mark(timeline, "added_trace")->second, ==, 1);
	scene_release(&scene);
}

static void add_collective(struct scene *scene, const gchar *name, guint64 begin_ns, guint64 end_ns)
{
	guint32 class_id = run_builder_class(scene->builder, TRACE_KIND_COLLECTIVE, name);
	struct record_collective *record =
		run_builder_record(scene->builder, class_id, begin_ns, sizeof(*record));

	record->duration = end_ns - begin_ns;
	record->bytes = 4096;
}

/* Of Horovod's coordinator: what it agreed on from `begin_us`, and exchanged from 1 ms after that for `dur_us`. */
static gchar *horovod_rows(gint64 begin_us, gint64 dur_us)
{
	return g_strdup_printf(
		"{\"ph\": \"B\", \"name\": \"NEGOTIATE_ALLREDUCE\", \"pid\": 1, \"ts\": "
		"%" G_GINT64_FORMAT "}, {\"ph\": \"E\", \"pid\": 1, \"ts\": %" G_GINT64_FORMAT
		"}, {\"ph\": \"B\", \"name\": \"ALLREDUCE\", \"pid\": 1, \"ts\": %" G_GINT64_FORMAT
		"}, {\"ph\": \"B\", \"name\": \"MPI_ALLREDUCE\", \"pid\": 1, \"ts\": "
		"%" G_GINT64_FORMAT "}, {\"ph\": \"E\", \"pid\": 1, \"ts\": %" G_GINT64_FORMAT
		"}, {\"ph\": \"E\", \"pid\": 1, \"ts\": %" G_GINT64_FORMAT "}",
		begin_us, begin_us + 900, begin_us + 1000, begin_us + 1000,
		begin_us + 1000 + dur_us, begin_us + 1000 + dur_us);
}

/* Horovod's allreduce is the longest MPI_Allreduce in it, which its negotiation has not queued; one in which the run has none stays, and
 * so does the run's that is in none of them. What does something else is never it. */
static void test_inner_collectives(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *told = horovod_rows(8000, 9000);
	g_autofree gchar *alone = horovod_rows(50000, 1000);
	g_autofree gchar *rows =
		g_strdup_printf("{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 0, \"args\": "
				"{\"start_time_since_epoch_in_micros\": %" G_GINT64_FORMAT
				"}}, {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, "
				"\"args\": {\"name\": \"grad\"}}, %s, %s",
				BASE_US, told, alone);
	guint n_collectives = 0;
	struct scene scene;

	scene_init(&scene, 0);
	run_builder_stream(scene.builder, 10);
	add_collective(&scene, "MPI_Allreduce", 10 * MS, 12 * MS);
	add_collective(&scene, "MPI_Bcast", 12 * MS, 15 * MS);
	add_collective(&scene, "MPI_Allreduce", 15 * MS, 16 * MS);
	add_collective(&scene, "MPI_Allreduce", 30 * MS, 34 * MS);
	run_builder_end(scene.builder);
	add_trace(&scene, "t", "pid=33\n", rows);
	timeline = open_run(&scene);
	timeline_assert_slice(timeline, "MPI_Allreduce", 2, "collective", 22 * MS, 4 * MS);
	timeline_assert_slice(timeline, "allreduce", 0, "collective", 43 * MS, 1 * MS);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		n_collectives += timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE;
	g_assert_cmpuint(n_collectives, ==, 4 + 1);
	g_assert_cmpint(timeline_find_mark(timeline, "added_trace")->second, ==, 1);
	FOR_EACH(const TachoFlow, flow, timeline->flows)
		g_assert_true(flow->to == timeline_find(timeline, "allreduce", 0));
	scene_release(&scene);
}

static void add_device_memory(struct scene *scene, enum trace_kind kind, const gchar *name,
			      guint64 stamp, guint64 bytes)
{
	guint32 class_id = run_builder_class(scene->builder, kind, name);
	struct record_device_memory *record =
		run_builder_record(scene->builder, class_id, stamp, sizeof(*record));

	record->memory.address = 0x1000;
	record->memory.bytes = bytes;
}

/* The driver hands 2048 out, of which an allocator that the trace tells of makes its first block at the same address; the block
 * does not end what the driver gave. */
static void test_layers(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(GArray) blocks = NULL;
	g_autoptr(GArray) layers = NULL;
	g_autofree gchar *op = row(33, 10, "inner", BASE_US + 21000, 1000);
	g_autofree gchar *block = g_strdup_printf(
		"{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": "
		"33, "
		"\"tid\": 10, \"ts\": %" G_GINT64_FORMAT ", \"args\": {\"Device Type\": 1, "
		"\"Device Id\": 0, \"Addr\": 4096, \"Bytes\": 512}}",
		BASE_US + 21500);
	g_autofree gchar *rows = g_strjoin(",", op, block, NULL);
	const struct memory_block *first;
	struct scene scene;

	scene_init(&scene, 0);
	add_ops(&scene);
	add_device_memory(&scene, TRACE_KIND_DEVICE_ALLOC, "cudaMalloc", 36 * MS, 2048);
	run_builder_end(scene.builder);
	add_trace(&scene, "t", "pid=33\n", rows);
	timeline = open_run(&scene);
	g_assert_cmpuint(timeline->memory->len, ==, 2);
	blocks = memory_blocks_of_process(timeline, 0);
	layers = memory_blocks_of_layers(timeline, 0);
	first = (const struct memory_block *)(gconstpointer)blocks->data;
	g_assert_cmpuint(blocks->len, ==, 1);
	g_assert_cmpint(first->bytes, ==, 512);
	g_assert_cmpint(first->end_ns, ==, G_MAXINT64);
	g_assert_cmpuint(layers->len, ==, 2);
	scene_release(&scene);
}

/* A rank is one rank, whatever its process is called in the trace's own namespace. */
static void test_rank(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct scene scene;

	scene_init(&scene, 5);
	add_ops(&scene);
	run_builder_end(scene.builder);
	add_row(&scene, "t", "rank=5\n", row(1, 10, "foreign", BASE_US + 15000, 1000));
	timeline = open_run(&scene);
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpint(tacho_timeline_rank(timeline, 0)->rank, ==, 5);
	g_assert_true(track_of(timeline, "foreign") != track_of(timeline, "own"));
	timeline_assert_slice(timeline, "foreign", 0, "op", 5 * MS, 1 * MS);
	scene_release(&scene);
}

/* XLA's profiles have half of a hash of the thread's handle for its id: of 0x7f0000001740 it is 3731756297. */
static void test_handle(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct scene scene;
	guint32 thread, own;

	scene_init(&scene, 0);
	run_builder_stream(scene.builder, 10);
	thread = run_builder_class(scene.builder, TRACE_KIND_THREAD, "thread");
	run_builder_mark(scene.builder, thread, 0, 0, 0x7f0000001740, "python3");
	own = run_builder_class(scene.builder, TRACE_KIND_OP, "own");
	run_builder_op(scene.builder, own, 20 * MS, 24 * MS, -1);
	run_builder_end(scene.builder);
	add_row(&scene, "t", "pid=33\n", row(33, 3731756297u, "hashed", BASE_US + 21000, 1000));
	timeline = open_run(&scene);
	g_assert_true(track_of(timeline, "hashed") == track_of(timeline, "own"));
	scene_release(&scene);
}

/* Times that count from a moment which trace.ini tells, of either clock, or that follows from the middle of a slice. */
static void test_base(void)
{
	static const gchar *const bases[] = { "pid=33\nbase_ns=1700000000005000000\n",
					      "pid=33\nbase_ns=1000005000000\n",
					      "pid=33\nanchor=based\nanchor_ns="
					      "1700000000016500000\n" };

	for (guint i = 0; i < G_N_ELEMENTS(bases); i++) {
		g_autoptr(TachoTimeline) timeline = NULL;
		struct scene scene;

		scene_init(&scene, 0);
		add_ops(&scene);
		add_reading(&scene, 40 * MS, 0);
		run_builder_end(scene.builder);
		add_row(&scene, "t", bases[i], row(33, 10, "based", 11000, 1000));
		timeline = open_run(&scene);
		timeline_assert_slice(timeline, "based", 0, "op", 6 * MS, 1 * MS);
		scene_release(&scene);
	}
}

/* A process that was not recorded is one more, on the clock of its host. */
static void test_stranger(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *mine = row(33, 10, "mine", BASE_US + 15000, 1000);
	g_autofree gchar *its = row(44, 44, "its", BASE_US + 5000, 1000);
	g_autofree gchar *rows = g_strjoin(",", mine, its, NULL);
	struct scene scene;

	scene_init(&scene, 0);
	add_ops(&scene);
	run_builder_end(scene.builder);
	add_trace(&scene, "t", "", rows);
	timeline = open_run(&scene);
	g_assert_cmpuint(timeline->processes->len, ==, 2);
	g_assert_cmpuint(timeline->ranks->len, ==, 1);
	g_assert_cmpuint(tacho_timeline_rank(timeline, 0)->main_process, ==, 0);
	/* it began before the run's first record, which is no longer the origin */
	timeline_assert_slice(timeline, "its", 0, "op", 0, 1 * MS);
	timeline_assert_slice(timeline, "mine", 0, "op", 10 * MS, 1 * MS);
	timeline_assert_slice(timeline, "own", 0, "op", 15 * MS, 4 * MS);
	scene_release(&scene);
}

/* The calls that trace.ini names are steps. */
static void test_steps(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *first = row(33, 10, "train", BASE_US + 40000, 1000);
	g_autofree gchar *second = row(33, 10, "train", BASE_US + 50000, 1000);
	g_autofree gchar *last = row(33, 11, "work", BASE_US + 52000, 5000);
	g_autofree gchar *rows = g_strjoin(",", first, second, last, NULL);
	struct scene scene;
	const TachoMark *mark;

	scene_init(&scene, 0);
	add_ops(&scene);
	run_builder_end(scene.builder);
	add_trace(&scene, "t", "pid=33\nstep=train\nfirst_step=7\n", rows);
	timeline = open_run(&scene);
	mark = timeline_find_mark(timeline, "step");
	g_assert_cmpint(mark[0].first, ==, 7);
	g_assert_cmpint(mark[0].time_ns, ==, 30 * MS);
	g_assert_cmpint(mark[0].second, ==, 10 * MS);
	g_assert_cmpint(mark[1].first, ==, 8);
	g_assert_cmpint(mark[1].second, ==, 7 * MS);
	scene_release(&scene);
}

static void assert_left_out(struct scene *scene, TachoProblemKind kind, const gchar *word)
{
	g_autoptr(TachoTimeline) timeline = open_run(scene);
	const TachoProblem *problem = tacho_timeline_find_problem(timeline, kind);

	g_assert_nonnull(problem);
	if (!strstr(problem->where, word))
		g_error("'%s' is not in: %s", word, problem->where);
	g_assert_cmpuint(timeline->slices.n, ==, 3);
	g_assert_cmpuint(timeline->processes->len, ==, 1);
}

static void test_refused(void)
{
	static const struct {
		const gchar *facts;
		gint64 ts_us;
		const gchar *word;
	} traces[] = {
		{ "pid=34\n", BASE_US, "it is of process 34, which the run has not" },
		{ "pid=33\nhost=h7\n", BASE_US, "it is of process 33, which the run has not" },
		{ "rank=1\n", BASE_US, "it is of rank 1, which the run has not" },
		{ "pid=33\n", BASE_US - 100000000, "it ended 100 s before the run began" },
		{ "pid=33\n", BASE_US + 100000000, "it began 100 s after the run had ended" },
		{ "pid=33\n", 5, "its times count from a moment that it does not tell" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(traces); i++) {
		struct scene scene;

		scene_init(&scene, 0);
		add_ops(&scene);
		run_builder_end(scene.builder);
		add_row(&scene, "t", traces[i].facts, row(1, 1, "x", traces[i].ts_us, 1000));
		assert_left_out(&scene, TACHO_PROBLEM_LEFT_OUT, traces[i].word);
		scene_release(&scene);
	}
}

/* What `tacho record` started has left nothing of its own, as where only the kernel's events are wanted. */
static void test_trace_alone(void)
{
	g_autoptr(GError) error = NULL;
	struct scene scene = { .folder = g_dir_make_tmp("tacho-test-XXXXXX", &error) };
	g_autofree gchar *first = row(40, 40, "a", 5000, 1000);
	g_autofree gchar *second = row(41, 41, "b", 5500, 1000);
	g_autofree gchar *rows = g_strconcat(first, ", ", second, NULL);
	g_autoptr(TachoTimeline) timeline = NULL;

	g_assert_no_error(error);
	scene.run = g_build_filename(scene.folder, "run.tacho", NULL);
	add_trace(&scene, "t", "", rows);
	write_text(scene.run, "run.ini",
		   "[run]\nversion=0.1.0\ncommand=./job\nhost=h\nranks=2\n"
		   "[child 0]\npid=41\nrank=0\nstatus=exit=0\n"
		   "[child 1]\npid=40\nrank=1\nstatus=exit=0\n");
	timeline = open_run(&scene);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_LEFT_OUT));
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpuint(timeline->clocks->len, ==, 1);
	g_assert_cmpuint(timeline->slices.n, ==, 2);
	g_assert_cmpint(timeline->slices.start_ns[timeline_find(timeline, "b", 0)] -
				timeline->slices.start_ns[timeline_find(timeline, "a", 0)],
			==, 500000);
	g_assert_cmpint(tacho_timeline_process(timeline, track_of(timeline, "a")->process)->rank,
			==, 1);
	scene_release(&scene);
}

static void test_broken(void)
{
	struct scene scene;
	g_autofree gchar *folder = NULL;

	scene_init(&scene, 0);
	add_ops(&scene);
	run_builder_end(scene.builder);
	add_trace(&scene, "t", "pid=33\n", "");
	folder = g_build_filename(scene.run, "traces", "t", NULL);
	write_text(folder, "trace.json", "no trace");
	assert_left_out(&scene, TACHO_PROBLEM_UNREADABLE_FILE, "traces/t");
	scene_release(&scene);
}

/* A trace of the kernel tells of the whole machine: what is of the run's processes comes in, and the others do not. */
static void test_bystanders(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *folder = NULL;
	struct scene scene;

	scene_init(&scene, 0);
	add_ops(&scene);
	add_reading(&scene, 40 * MS, 7 * MS);
	run_builder_end(scene.builder);
	folder = g_build_filename(scene.run, "traces", "t", "kernel", NULL);
	ctf_lines_write(
		folder,
		"env domain kernel\n"
		"pid 77\n"
		"1000050000000 70 tacho_kernel:off_cpu out=u:1000020000000 wake=u:0 call='' "
		"other=x other_pid=u:1 minor_faults=u:1 major_faults=u:0\n"
		"pid 33\n"
		"1000060000000 10 tacho_kernel:off_cpu out=u:1000050000000 wake=u:0 call='' "
		"other=hog other_pid=u:1 minor_faults=u:1 major_faults=u:0\n");
	timeline = open_run(&scene);
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpuint(timeline->ranks->len, ==, 1);
	timeline_assert_slice(timeline, "preempted by hog", 0, "event", 40 * MS, 10 * MS);
	g_assert_cmpuint(track_of(timeline, "preempted by hog")->tid, ==, 10);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		g_assert_cmpstr(tacho_slice_name(timeline, i), !=, "preempted by x");
	g_assert_cmpuint(timeline->samples->len, ==, 2);
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_LEFT_OUT), ==, 0);
	scene_release(&scene);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mixed_run/clock", test_clock);
	g_test_add_func("/mixed_run/monotonic", test_monotonic);
	g_test_add_func("/mixed_run/base", test_base);
	g_test_add_func("/mixed_run/same", test_same);
	g_test_add_func("/mixed_run/inner collectives", test_inner_collectives);
	g_test_add_func("/mixed_run/layers", test_layers);
	g_test_add_func("/mixed_run/rank", test_rank);
	g_test_add_func("/mixed_run/handle", test_handle);
	g_test_add_func("/mixed_run/stranger", test_stranger);
	g_test_add_func("/mixed_run/steps", test_steps);
	g_test_add_func("/mixed_run/refused", test_refused);
	g_test_add_func("/mixed_run/trace alone", test_trace_alone);
	g_test_add_func("/mixed_run/broken", test_broken);
#ifdef TACHO_HAVE_BABELTRACE
	g_test_add_func("/mixed_run/bystanders", test_bystanders);
#endif
	return g_test_run();
}
