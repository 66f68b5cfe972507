/* Reading run directories: what was recorded arrives, and what is broken is said, never believed.
 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <tacho/timeline.h>
#include <unistd.h>

#include "run_builder.h"
#include "timeline_text.h"

static gchar *make_folder(void)
{
	g_autoptr(GError) error = NULL;
	gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", &error);

	g_assert_no_error(error);
	return folder;
}

static void remove_folder(gchar *folder)
{
	run_builder_remove(folder);
	g_free(folder);
}

static TachoTimeline *open_one(const gchar *path, GError **error)
{
	return tacho_timeline_open(&path, 1, error);
}

static TachoTimeline *open_sound(const gchar *path)
{
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline = open_one(path, &error);

	g_assert_no_error(error);
	return timeline;
}

static void assert_problem(const TachoTimeline *timeline, TachoProblemKind kind, guint64 count,
			   const gchar *word)
{
	const TachoProblem *problem = tacho_timeline_find_problem(timeline, kind);

	if (!problem)
		g_error("no problem '%s'", tacho_problem_name(kind));
	g_assert_cmpuint(problem->count, ==, count);
	if (!strstr(problem->where, word))
		g_error("'%s' is not in: %s", word, problem->where);
}

/* --- what was recorded ---------------------------------------------------------------------- */

static void assert_same_tensors(const TachoTimeline *a, const TachoTimeline *b, guint32 row,
				gboolean (*read)(const TachoTimeline *, guint32, guint32,
						 TachoTensor *))
{
	for (guint32 i = 0;; i++) {
		TachoTensor first = { 0 }, second = { 0 };
		gboolean is_there = read(a, row, i, &first);

		g_assert_cmpint(read(b, row, i, &second), ==, is_there);
		if (!is_there)
			return;
		g_assert_cmpuint(first.storage, ==, second.storage);
		g_assert_cmpuint(first.offset_bytes, ==, second.offset_bytes);
		g_assert_cmpstr(first.dtype, ==, second.dtype);
		g_assert_cmpuint(first.dtype_bytes, ==, second.dtype_bytes);
		g_assert_cmpuint(first.argument, ==, second.argument);
		g_assert_cmpmem(first.shape, first.n_dims * sizeof(gint64), second.shape,
				second.n_dims * sizeof(gint64));
	}
}

static void assert_same_args(const TachoTimeline *a, const TachoTimeline *b, guint32 row)
{
	TachoOpArgs op[2] = { { .sequence = -1 }, { .sequence = -1 } };
	TachoKernelArgs kernel[2] = { { .text = "" }, { .text = "" } };
	TachoCollectiveArgs collective[2] = { { 0 }, { 0 } };
	TachoMessageArgs message[2] = { { 0 }, { 0 } };

	tacho_slice_op(a, row, &op[0]);
	tacho_slice_op(b, row, &op[1]);
	g_assert_cmpmem(&op[0], sizeof(op[0]), &op[1], sizeof(op[1]));
	tacho_slice_kernel(a, row, &kernel[0]);
	tacho_slice_kernel(b, row, &kernel[1]);
	g_assert_cmpuint(kernel[0].flops, ==, kernel[1].flops);
	g_assert_cmpuint(kernel[0].n_dims, ==, kernel[1].n_dims);
	g_assert_cmpint(kernel[0].dims[0], ==, kernel[1].dims[0]);
	g_assert_cmpstr(kernel[0].text, ==, kernel[1].text);
	tacho_slice_collective(a, row, &collective[0]);
	tacho_slice_collective(b, row, &collective[1]);
	g_assert_cmpmem(&collective[0], sizeof(collective[0]), &collective[1],
			sizeof(collective[1]));
	g_assert_cmpint(tacho_slice_message(a, row, &message[0]), ==,
			tacho_slice_message(b, row, &message[1]));
	g_assert_cmpmem(&message[0], sizeof(message[0]), &message[1], sizeof(message[1]));
	g_assert_cmpuint(tacho_slice_id(a, row), ==, tacho_slice_id(b, row));
	assert_same_tensors(a, b, row, tacho_slice_input);
	assert_same_tensors(a, b, row, tacho_slice_output);
}

static void assert_same_slices(const TachoTimeline *a, const TachoTimeline *b)
{
	g_assert_cmpuint(a->slices.n, ==, b->slices.n);
	for (guint32 row = 0; row < a->slices.n; row++) {
		g_assert_cmpstr(tacho_slice_name(a, row), ==, tacho_slice_name(b, row));
		g_assert_cmpint(a->slices.start_ns[row], ==, b->slices.start_ns[row]);
		g_assert_cmpint(a->slices.duration_ns[row], ==, b->slices.duration_ns[row]);
		g_assert_cmpuint(a->slices.parent[row], ==, b->slices.parent[row]);
		g_assert_cmpuint(a->slices.depth[row], ==, b->slices.depth[row]);
		g_assert_cmpuint(a->slices.kind[row], ==, b->slices.kind[row]);
		g_assert_cmpuint(a->slices.flags[row], ==, b->slices.flags[row]);
		g_assert_cmpuint(a->slices.track[row], ==, b->slices.track[row]);
		assert_same_args(a, b, row);
	}
}

static void assert_same_tracks(const TachoTimeline *a, const TachoTimeline *b)
{
	g_assert_cmpuint(a->tracks->len, ==, b->tracks->len);
	for (guint32 i = 0; i < a->tracks->len; i++) {
		const TachoTrack *first = tacho_timeline_track(a, i);
		const TachoTrack *second = tacho_timeline_track(b, i);

		g_assert_cmpint(first->kind, ==, second->kind);
		g_assert_cmpuint(first->tid, ==, second->tid);
		g_assert_cmpuint(first->process, ==, second->process);
		g_assert_cmpuint(first->parent_tid, ==, second->parent_tid);
		g_assert_cmpuint(first->first_slice, ==, second->first_slice);
		g_assert_cmpuint(first->n_slices, ==, second->n_slices);
		g_assert_cmpuint(first->n_dropped, ==, second->n_dropped);
		g_assert_cmpstr(tacho_timeline_string(a, first->name), ==,
				tacho_timeline_string(b, second->name));
	}
}

static void assert_same_moments(const TachoTimeline *a, const TachoTimeline *b)
{
	g_assert_cmpuint(a->memory->len, ==, b->memory->len);
	for (guint i = 0; i < a->memory->len; i++) {
		const TachoMemoryEvent *first = &g_array_index(a->memory, TachoMemoryEvent, i);
		const TachoMemoryEvent *second = &g_array_index(b->memory, TachoMemoryEvent, i);

		g_assert_cmpint(first->time_ns, ==, second->time_ns);
		g_assert_cmpint(first->bytes, ==, second->bytes);
		g_assert_cmpuint(first->address, ==, second->address);
		g_assert_cmpuint(first->slice, ==, second->slice);
		g_assert_cmpuint(first->track, ==, second->track);
	}
	g_assert_cmpuint(a->marks->len, ==, b->marks->len);
	for (guint i = 0; i < a->marks->len; i++) {
		const TachoMark *first = &g_array_index(a->marks, TachoMark, i);
		const TachoMark *second = &g_array_index(b->marks, TachoMark, i);

		g_assert_cmpint(first->time_ns, ==, second->time_ns);
		g_assert_cmpint(first->first, ==, second->first);
		g_assert_cmpstr(tacho_timeline_string(a, first->text), ==,
				tacho_timeline_string(b, second->text));
	}
}

static const gchar whole[] =
	"origin 1700000000123456789\n"
	"world 3\n"
	"rank 0 host=a job=j7  thread 10 main\n"
	"  op aten::mm 0..140.5 seq=3 in=float32[8,16]@0x1000+64 in=int64 out=float32[]@0x2000\n"
	"    kernel sgemm 105..130 flops=2048 bytes=1536 dims=8x8x16 text='a b'\n"
	"    kernel sgemv 131..132 flops=8 dims=2 text=exactly8\n"
	"    alloc 106 address=0x3000 bytes=64\n"
	"  free 150 address=0x3000 bytes=64\n"
	"  collective gloo:all_reduce 130..190 bytes=4096 group=7 end_tid=12 in=float32[1024]\n"
	"  collective gloo:all_reduce 135..180 bytes=8 group=7\n"
	"  annotation 'quote\" back\\\\slash' 200..210 id=9\n"
	"  module net.0 220..230 id=2\n"
	"  wait loader 230..240\n"
	"  op again 250..250 out=float32[2]\n"
	"  mark cut 205 first=-1 second=2 text=why\n"
	"thread 12 worker parent=10 dropped=4\n"
	"  message writev 242..245 bytes=1048624 fd=9 local=10.0.0.1:4000 peer=10.0.0.2:29500\n"
	"  wait epoll_wait 246..260\n"
	"  message recv 262..262 bytes=1 receive fd=3 local=[fe80::1]:65535 peer=[::1]:1\n"
	"  op Node 300.25..301 backward seq=3 fwd=1 out=int64[1] out=int64[2]\n"
	"rank 1 end=killed:9 thread 11 main\n"
	"  op aten::mm 100..\n"
	"  op aten::add 110..150\n"
	"  op aten::copy_ 160..\n"
	"  collective gloo:barrier 170..\n";

static void test_round_trip(void)
{
	g_autoptr(TachoTimeline) written = timeline_from_text(whole);
	g_autoptr(TachoTimeline) read = NULL;
	gchar *folder = make_folder();
	const TachoProcess *killed;

	run_builder_write_timeline(written, folder);
	read = open_sound(folder);
	assert_same_tracks(written, read);
	assert_same_slices(written, read);
	assert_same_moments(written, read);
	g_assert_cmpint(read->origin_unix_ns, ==, written->origin_unix_ns);
	g_assert_cmpint(read->duration_ns, ==, written->duration_ns);
	g_assert_cmpuint(read->ranks->len, ==, 2);
	g_assert_cmpint(read->expected_ranks, ==, 3);
	killed = &g_array_index(read->processes, TachoProcess, 1);
	g_assert_cmpint(killed->end, ==, TACHO_END_KILLED);
	g_assert_cmpint(killed->exit_status, ==, 9);
	g_assert_cmpint(g_array_index(read->processes, TachoProcess, 0).end, ==, TACHO_END_EXITED);
	g_assert_cmpuint(read->n_dropped, ==, 4);
	g_assert_cmpuint(read->problems->len, ==, 3);
	assert_problem(read, TACHO_PROBLEM_LOST_RECORDS, 4, "rank 0, process 1000 on a, thread 12");
	assert_problem(read, TACHO_PROBLEM_MISSING_RANK, 1, "rank 2 of 3");
	assert_problem(read, TACHO_PROBLEM_KILLED_PROCESS, 1,
		       "rank 1, process 1001 on h0, killed by signal 9, last record at 170.000 ms; "
		       "thread 11 (main) was in aten::mm > aten::copy_; thread 11 (collectives) "
		       "was in gloo:barrier");
	remove_folder(folder);
}

/* One process of one thread; what each test adds to it is the test. */
static struct run_builder *simple_run(const gchar *folder)
{
	struct run_builder *run =
		run_builder_new(folder, &(struct run_builder_process){ .pid = 33 });

	g_assert_cmpuint(run_builder_class(run, TRACE_KIND_OP, "op"), ==, 1);
	g_assert_cmpuint(run_builder_class(run, TRACE_KIND_FREE, "cpu"), ==, 2);
	g_assert_cmpuint(run_builder_class(run, TRACE_KIND_ALLOC, "cpu"), ==, 3);
	g_assert_cmpuint(run_builder_class(run, TRACE_KIND_EXIT, "exit"), ==, 4);
	g_assert_cmpuint(run_builder_class(run, TRACE_KIND_MARK, "thread_name"), ==, 5);
	g_assert_cmpuint(run_builder_class(run, TRACE_KIND_COST, "torch"), ==, 6);
	g_assert_cmpuint(run_builder_class(run, TRACE_KIND_CLOCK, "clock"), ==, 7);
	run_builder_stream(run, 33);
	return run;
}

static void test_files_of_a_stream(void)
{
	gchar *folder = make_folder();
	struct run_builder *run = simple_run(folder);
	g_autoptr(TachoTimeline) timeline = NULL;

	run_builder_op(run, 1, 1000, 5000, 0);
	run_builder_next_file(run);
	run_builder_op(run, 1, 2000, 3000, 1);
	run_builder_next_file(run);
	run_builder_dropped(run, 7);
	run_builder_op(run, 1, 6000, 7000, 2);
	run_builder_mark(run, 4, 8000, 3, 0, "");
	run_builder_end(run);
	timeline = open_sound(folder);
	g_assert_cmpuint(timeline->tracks->len, ==, 1);
	g_assert_cmpuint(timeline->slices.n, ==, 3);
	g_assert_cmpuint(timeline->slices.parent[1], ==, 0);
	g_assert_cmpuint(timeline->slices.parent[2], ==, TACHO_NONE);
	g_assert_cmpuint(timeline->n_dropped, ==, 7);
	g_assert_cmpuint(timeline->n_events, ==, 4);
	g_assert_cmpint(g_array_index(timeline->processes, TachoProcess, 0).exit_status, ==, 3);
	g_assert_cmpint(timeline->duration_ns, ==, 7000);
	remove_folder(folder);
}

/* A stream that lacks its first file was cut to keep the run small: its process is whole from its first record on. */
static void test_cut_streams(void)
{
	gchar *folder = make_folder();
	struct run_builder *run = simple_run(folder);
	g_autofree gchar *first = g_build_filename(run_builder_path(run), "0-33.0", NULL);
	g_autofree gchar *second = g_build_filename(run_builder_path(run), "1-34.0", NULL);
	g_autoptr(TachoTimeline) whole = NULL, timeline = NULL;
	const TachoProcess *process;

	for (guint32 tid = 33; tid < 36; tid++) {
		if (tid > 33)
			run_builder_stream(run, tid);
		run_builder_op(run, 1, 1000, 1100, 0);
		run_builder_next_file(run);
		run_builder_op(run, 1, 5000 - 100 * tid, 6000, 0);
	}
	run_builder_end(run);
	whole = open_sound(folder);
	g_assert_false(g_array_index(whole->processes, TachoProcess, 0).is_cut);
	g_assert_cmpint(g_unlink(first), ==, 0);
	g_assert_cmpint(g_unlink(second), ==, 0);
	timeline = open_sound(folder);
	process = &g_array_index(timeline->processes, TachoProcess, 0);
	g_assert_true(process->is_cut);
	g_assert_cmpint(process->whole_from_ns, ==, 5000 - 100 * 33 - 1000);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_MISSING_FILE));
	remove_folder(folder);
}

static void add_cost(struct run_builder *run, guint32 class_id, guint64 picoseconds,
		     guint32 event_class)
{
	struct record_cost *cost = run_builder_record(run, class_id, 1, sizeof(*cost));

	cost->picoseconds = picoseconds;
	cost->event_kind = TRACE_KIND_KERNEL;
	cost->event_class = event_class;
}

static void add_kernel(struct run_builder *run, guint32 class_id, guint64 begin)
{
	struct record_kernel *kernel = run_builder_record(run, class_id, begin, sizeof(*kernel));

	kernel->duration = 5;
}

/* Kernels of two probes: a class's own cost counts, else the kind's; what cannot be is left out. */
static void test_kernel_costs(void)
{
	gchar *folder = make_folder();
	struct run_builder *run =
		run_builder_new(folder, &(struct run_builder_process){ .pid = 5 });
	guint32 gemm, conv, op, cost_id;
	g_autoptr(TachoTimeline) timeline = NULL;

	run_builder_stream(run, 5);
	gemm = run_builder_class(run, TRACE_KIND_KERNEL, "sgemm");
	conv = run_builder_class(run, TRACE_KIND_KERNEL, "convolution");
	op = run_builder_class(run, TRACE_KIND_OP, "convolution");
	cost_id = run_builder_class(run, TRACE_KIND_COST, "cost");
	add_cost(run, cost_id, 20000, 0);
	add_cost(run, cost_id, 300000, conv);
	add_cost(run, cost_id, 7777777, op);
	add_cost(run, cost_id, 7777777, 1000);
	add_kernel(run, gemm, 10);
	add_kernel(run, gemm, 20);
	add_kernel(run, conv, 30);
	run_builder_op(run, op, 40, 50, 0);
	run_builder_end(run);
	timeline = open_sound(folder);
	g_assert_cmpuint(g_array_index(timeline->processes, TachoProcess, 0).cost_ns, ==, 340);
	remove_folder(folder);
}

static void test_facts(void)
{
	gchar *folder = make_folder();
	struct run_builder *run = simple_run(folder);
	struct record_cost *cost;
	struct record_clock *clock;
	const TachoMemoryEvent *events;
	g_autoptr(TachoTimeline) timeline = NULL;

	cost = run_builder_record(run, 6, 10, sizeof(*cost));
	cost->picoseconds = 50000;
	cost->event_kind = TRACE_KIND_OP;
	clock = run_builder_record(run, 7, 20, sizeof(*clock));
	clock->mono_ns = 1000;
	run_builder_op(run, 1, 100, 200, -1);
	run_builder_op(run, 1, 300, 400, -1);
	run_builder_memory(run, 3, 500, 0x1000, 64);
	run_builder_memory(run, 2, 600, 0x1000, 0);
	run_builder_memory(run, 2, 700, 0x9999, 0);
	clock = run_builder_record(run, 7, 1000000020, sizeof(*clock));
	clock->mono_ns = 1005001000;
	run_builder_stream(run, 34); /* a helper, of which only the mark is seen */
	run_builder_mark(run, 5, 250, 33, 0, "renamed!");
	run_builder_end(run);
	timeline = open_sound(folder);
	events = &g_array_index(timeline->memory, TachoMemoryEvent, 0);
	g_assert_cmpuint(g_array_index(timeline->processes, TachoProcess, 0).cost_ns, ==, 100);
	g_assert_cmpuint(timeline->tracks->len, ==, 1);
	g_assert_cmpstr(tacho_timeline_string(timeline, tacho_timeline_track(timeline, 0)->name),
			==, "renamed!");
	g_assert_cmpint(events[1].bytes, ==, -64);
	g_assert_cmpint(events[2].bytes, ==, 0);
	g_assert_cmpuint(timeline->marks->len, ==, 0);
	assert_problem(timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1, "5.000 ms apart");
	assert_problem(timeline, TACHO_PROBLEM_KILLED_PROCESS, 1, "ended without an exit status");
	remove_folder(folder);
}

/* Slices that begin in the same nanosecond, the longer one last. */
static void test_ties(void)
{
	gchar *folder = make_folder();
	struct run_builder *run = simple_run(folder);
	guint32 outputs_class = run_builder_class(run, TRACE_KIND_OUTPUTS, "outputs");
	struct record_outputs *outputs;
	g_autoptr(TachoTimeline) timeline = NULL;
	TachoOpArgs args;

	run_builder_op(run, 1, 1000, 1000, 7);
	run_builder_op(run, 1, 1000, 2000, 8);
	run_builder_memory(run, 3, 1500, 0x1000, 64);
	outputs = run_builder_record(run, outputs_class, 2000, sizeof(*outputs));
	outputs->begin_stamp = 1000;
	run_builder_op(run, 1, 3000, 4000, 9);
	run_builder_end(run);
	timeline = open_sound(folder);
	g_assert_true(tacho_slice_op(timeline, 0, &args));
	g_assert_cmpint(args.sequence, ==, 8);
	g_assert_cmpuint(timeline->slices.parent[1], ==, 0);
	g_assert_cmpuint(g_array_index(timeline->memory, TachoMemoryEvent, 0).slice, ==, 0);
	g_assert_cmpuint(timeline->slices.parent[2], ==, TACHO_NONE);
	remove_folder(folder);
}

static void test_clocks(void)
{
	gchar *folder = make_folder();
	const struct {
		guint32 pid;
		guint64 hz, offset_s, offset_ticks, begin, end;
		gint64 start_ns, duration_ns;
	} rows[] = {
		{ 1, 1000000000, 1700000000, 5, 0, 10, 0, 10 },
		{ 2, 2995200000, 1700000000, 0, 2995200000u, 2995200000u + 29952, 999999995,
		  10000 },
		{ 3, 24000000, 1699999999, 24000000, G_GUINT64_CONSTANT(86400000000),
		  G_GUINT64_CONSTANT(172800000000), G_GINT64_CONSTANT(3599999999995),
		  G_GINT64_CONSTANT(3600000000000) },
	};
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct run_builder *run = run_builder_new(
			folder,
			&(struct run_builder_process){ .pid = rows[i].pid,
						       .rank = (gint)i,
						       .frequency_hz = rows[i].hz,
						       .offset_s = rows[i].offset_s,
						       .offset_ticks = rows[i].offset_ticks });

		run_builder_stream(run, rows[i].pid);
		run_builder_op(run, run_builder_class(run, TRACE_KIND_OP, "op"), rows[i].begin,
			       rows[i].end, -1);
		run_builder_end(run);
	}
	timeline = open_sound(folder);
	g_assert_cmpint(timeline->origin_unix_ns, ==, G_GINT64_CONSTANT(1700000000000000005));
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_assert_cmpint(timeline->slices.start_ns[i], ==, rows[i].start_ns);
		g_assert_cmpint(timeline->slices.duration_ns[i], ==, rows[i].duration_ns);
	}
	remove_folder(folder);
}

static void test_ranks(void)
{
	gchar *folder = make_folder();
	/* pid, ppid, rank, ops */
	const gint rows[][4] = { { 10, 1, -1, 1 },
				 { 20, 10, 1, 5 },
				 { 21, 20, 1, 50 },
				 { 30, 10, 5, 2 },
				 { 31, 10, 5, 9 } };
	const gboolean is_main[] = { TRUE, FALSE, FALSE, TRUE, FALSE }; /* by rank, then pid */
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct run_builder *run = run_builder_new(
			folder, &(struct run_builder_process){ .pid = (guint32)rows[i][0],
							       .ppid = (guint32)rows[i][1],
							       .rank = rows[i][2],
							       .world_size = 6 });

		run_builder_stream(run, 1);
		run_builder_class(run, TRACE_KIND_OP, "op");
		for (gint op = 0; op < rows[i][3]; op++)
			run_builder_op(run, 1, (guint64)op * 100, (guint64)op * 100 + 50, -1);
		run_builder_end(run);
	}
	timeline = open_sound(folder);
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpint(g_array_index(timeline->ranks, TachoRank, 0).rank, ==, 1);
	g_assert_cmpint(g_array_index(timeline->ranks, TachoRank, 1).rank, ==, 5);
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpint(g_array_index(timeline->processes, TachoProcess, i).is_main, ==,
				is_main[i]);
	assert_problem(timeline, TACHO_PROBLEM_MISSING_RANK, 4, "rank 0, 2-4 of 6");
	remove_folder(folder);
}

/* --- what is broken ------------------------------------------------------------------------- */

static gchar *read_whole(const gchar *path, gsize *ret_length)
{
	g_autoptr(GError) error = NULL;
	gchar *bytes = NULL;

	g_file_get_contents(path, &bytes, ret_length, &error);
	g_assert_no_error(error);
	return bytes;
}

/* In place, and not by way of an empty file, which ext4 would write to the disk each time. */
static void overwrite(const gchar *path, const void *bytes, gsize length)
{
	int fd = open(path, O_WRONLY);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(write(fd, bytes, length), ==, (gssize)length);
	g_assert_cmpint(ftruncate(fd, (off_t)length), ==, 0);
	close(fd);
}

/* Use everything there is in a timeline, so that a sanitizer sees it. */
static guint64 touch_all(const TachoTimeline *timeline)
{
	guint64 sum = 0;

	for (guint32 row = 0; row < timeline->slices.n; row++) {
		TachoOpArgs op;
		TachoKernelArgs kernel;
		TachoCollectiveArgs collective;
		TachoTensor tensor;
		guint32 parent = timeline->slices.parent[row];

		if (tacho_slice_op(timeline, row, &op))
			sum += op.n_inputs;
		if (tacho_slice_kernel(timeline, row, &kernel))
			sum += strlen(kernel.text);
		if (tacho_slice_collective(timeline, row, &collective))
			sum += collective.bytes;
		for (guint32 i = 0; tacho_slice_input(timeline, row, i, &tensor); i++)
			sum += tensor.n_dims;
		for (guint32 i = 0; tacho_slice_output(timeline, row, i, &tensor); i++)
			sum += strlen(tensor.dtype);
		sum += tacho_slice_id(timeline, row) + strlen(tacho_slice_name(timeline, row));
		g_assert_cmpint(timeline->slices.duration_ns[row], >=, 0);
		g_assert_true(parent == TACHO_NONE || parent < row);
		if (parent != TACHO_NONE)
			g_assert_cmpint(tacho_slice_end_ns(timeline, row), <=,
					tacho_slice_end_ns(timeline, parent));
	}
	for (guint i = 0; i < timeline->memory->len; i++)
		sum += (guint64)g_array_index(timeline->memory, TachoMemoryEvent, i).bytes;
	return sum;
}

/* A run with a record of every kind in it, in which nothing is wrong but what is made so. */
static gchar *sound_run(void)
{
	static const gchar text[] =
		"rank 0  thread 10 main\n"
		"  op aten::mm 0..140 seq=3 in=float32[8,16]@0x1000+64 out=float32[3]@0x2000\n"
		"    kernel sgemm 105..130 flops=2048 dims=8x8 text='a b'\n"
		"    alloc 106 address=0x3000 bytes=64\n"
		"  free 150 address=0x3000 bytes=64\n"
		"  collective gloo:all_reduce 130..190 bytes=4096 in=float32[4]\n"
		"  annotation a 200..210 id=9\n"
		"  mark cut 205 first=1 text=why\n";
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(TachoTimeline) read = NULL;
	gchar *folder = make_folder();

	run_builder_write_timeline(timeline, folder);
	read = open_sound(folder);
	g_assert_cmpuint(read->problems->len, ==, 0);
	return folder;
}

static gchar *stream_path(const gchar *folder)
{
	return g_build_filename(folder, "h0-1000", "0-10.0", NULL);
}

static gchar *metadata_path(const gchar *folder)
{
	return g_build_filename(folder, "h0-1000", "metadata", NULL);
}

/* Whether the run opens without anything being wrong with it. */
static gboolean opens_clean(const gchar *folder)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = open_one(folder, &error);

	g_assert_true((timeline != NULL) == (error == NULL));
	if (!timeline) {
		g_assert_true(error->domain == TACHO_TIMELINE_ERROR);
		return FALSE;
	}
	touch_all(timeline);
	return timeline->problems->len == 0;
}

static void test_truncated_stream(void)
{
	gchar *folder = sound_run();
	g_autofree gchar *path = stream_path(folder);
	g_autofree gchar *bytes = NULL;
	gsize length;

	bytes = read_whole(path, &length);
	for (gsize cut = 0; cut < length; cut++) {
		g_autoptr(TachoTimeline) timeline = NULL;
		g_autofree gchar *place = g_strdup_printf("0-10.0, byte %zu", cut);

		overwrite(path, bytes, cut);
		timeline = open_sound(folder);
		touch_all(timeline);
		assert_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1, place);
	}
	remove_folder(folder);
}

static void test_truncated_metadata(void)
{
	gchar *folder = sound_run();
	g_autofree gchar *path = metadata_path(folder);
	g_autofree gchar *bytes = NULL;
	gsize length;

	bytes = read_whole(path, &length);
	for (gsize cut = 0; cut < length; cut++) {
		overwrite(path, bytes, cut);
		g_assert_false(opens_clean(folder));
	}
	remove_folder(folder);
}

/* A flip may go unnoticed in a number that may be anything, but nothing may break. */
static void test_flipped_bits(void)
{
	gchar *folder = sound_run();
	gchar *paths[] = { stream_path(folder), metadata_path(folder) };

	for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
		g_autofree gchar *bytes = NULL;
		gsize length;

		bytes = read_whole(paths[i], &length);
		for (gsize bit = 0; bit < length * 8; bit++) {
			bytes[bit / 8] ^= (gchar)(1 << bit % 8);
			overwrite(paths[i], bytes, length);
			opens_clean(folder);
			bytes[bit / 8] ^= (gchar)(1 << bit % 8);
		}
		overwrite(paths[i], bytes, length);
		g_assert_true(opens_clean(folder));
		g_free(paths[i]);
	}
	remove_folder(folder);
}

/* Each mends the first record of a sound run into one that cannot be. */
static void test_broken_records(void)
{
	static const struct {
		guint offset; /* in the file's second record, an op with one input of two dims */
		guint64 value;
		guint size;
		const gchar *reason;
	} rows[] = {
		{ 4, 12, 4, "impossible size" },
		{ 4, 8, 4, "impossible size" },
		{ 4, 16, 4, "shorter than its kind" },
		{ 4, 0xfffffff8, 4, "longer than what is left" },
		{ 8, G_MAXUINT64 / 2, 8, "impossibly late" },
		{ 44, 65, 4, "too many tensors" },
		{ 44, 40, 4, "a tensor that does not fit" },
		{ 66, 17, 2, "a tensor that does not fit" },
		{ 66, 4, 2, "a tensor that does not fit" },
	};
	gchar *folder = sound_run();
	g_autofree gchar *path = stream_path(folder);
	g_autofree gchar *bytes = NULL;
	gsize length, op;

	bytes = read_whole(path, &length);
	op = sizeof(struct packet_header) + sizeof(struct record_mark) + 8; /* THREAD, "main" */
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree gchar *broken = g_memdup2(bytes, length);
		g_autofree gchar *place = g_strdup_printf("0-10.0, byte %zu: the record", op);
		g_autoptr(TachoTimeline) timeline = NULL;

		memcpy(broken + op + rows[i].offset, &rows[i].value, rows[i].size);
		overwrite(path, broken, length);
		timeline = open_sound(folder);
		assert_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, 1, place);
		assert_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, 1, rows[i].reason);
		g_assert_cmpuint(timeline->slices.n, ==, 0);
	}
	remove_folder(folder);
}

static gchar *peer_text(const TachoTimeline *timeline, const gchar *name)
{
	TachoMessageArgs args;

	g_assert_true(tacho_slice_message(timeline, timeline_find(timeline, name, 0), &args));
	return tacho_endpoint_text(&args.peer);
}

/* A message is read for what it is; one whose record is too short for it is not. */
static void test_messages(void)
{
	static const gchar text[] =
		"unit ns rank 0 thread 10 main\n"
		"message send 0..10 bytes=7 fd=4 local=1.2.3.4:5 peer=6.7.8.9:10\n"
		"message recv 20..30 bytes=8 receive local=[::1]:1 peer=[1::2]:3\n"
		"op other 40..50\n";
	const guint32 short_bytes = sizeof(struct record_message) - 8;
	g_autoptr(TachoTimeline) written = timeline_from_text(text);
	g_autoptr(TachoTimeline) read = NULL;
	g_autoptr(TachoTimeline) broken = NULL;
	gchar *folder = make_folder();
	g_autofree gchar *bytes = NULL, *path = NULL, *ipv4 = NULL, *ipv6 = NULL;
	TachoMessageArgs args;
	gsize length, first;

	run_builder_write_timeline(written, folder);
	read = open_sound(folder);
	ipv4 = peer_text(read, "send");
	ipv6 = peer_text(read, "recv");
	g_assert_cmpstr(ipv4, ==, "6.7.8.9:10");
	g_assert_cmpstr(ipv6, ==, "[1::2]:3");
	g_assert_true(tacho_slice_message(read, timeline_find(read, "recv", 0), &args));
	g_assert_cmpuint(args.bytes, ==, 8);
	g_assert_true(args.is_receive);
	g_assert_false(tacho_slice_message(read, timeline_find(read, "other", 0), &args));

	path = stream_path(folder);
	g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
	first = sizeof(struct packet_header);
	first += ((const struct record_header *)(bytes + first))->size_bytes;
	memcpy(bytes + first + G_STRUCT_OFFSET(struct record_header, size_bytes), &short_bytes,
	       sizeof(short_bytes));
	overwrite(path, bytes, length);
	broken = open_sound(folder);
	assert_problem(broken, TACHO_PROBLEM_CORRUPT_RECORD, 1, "shorter than its kind");
	g_assert_cmpuint(broken->slices.n, ==, 0);
	remove_folder(folder);
}

static void test_broken_packets(void)
{
	static const struct {
		guint offset;
		guint64 value;
		guint size;
		TachoProblemKind kind;
		const gchar *word;
	} rows[] = {
		{ 0, 1, 4, TACHO_PROBLEM_BAD_PACKET, "byte 0" },
		{ 4, 99, 1, TACHO_PROBLEM_BAD_PACKET, "byte 4" },
		{ 32, 8, 8, TACHO_PROBLEM_BAD_PACKET, "byte 0" },
		{ 32, 1001, 8, TACHO_PROBLEM_BAD_PACKET, "byte 0" },
		{ 32, G_MAXUINT64 - 63, 8, TACHO_PROBLEM_BAD_PACKET, "byte 0" },
		{ 24, 1 << 20, 8, TACHO_PROBLEM_TRUNCATED_FILE, "have 131072 bytes" },
	};
	gchar *folder = sound_run();
	g_autofree gchar *path = stream_path(folder);
	g_autofree gchar *bytes = NULL;
	gsize length;

	bytes = read_whole(path, &length);
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree gchar *broken = g_memdup2(bytes, length);
		g_autoptr(TachoTimeline) timeline = NULL;

		memcpy(broken + rows[i].offset, &rows[i].value, rows[i].size);
		overwrite(path, broken, length);
		timeline = open_sound(folder);
		assert_problem(timeline, rows[i].kind, 1, rows[i].word);
	}
	remove_folder(folder);
}

/* A stream whose stamps go back, and one of whose files is missing. */
static void test_broken_streams(void)
{
	gchar *folder = make_folder();
	struct run_builder *run = simple_run(folder);
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *missing = NULL;

	run_builder_op(run, 1, 1000, 1100, 0);
	run_builder_op(run, 1, 900, 950, 0);
	run_builder_next_file(run);
	run_builder_next_file(run);
	run_builder_op(run, 1, 2000, 2200, 0);
	run_builder_op(run, 1, 2100, 2300, 0);
	run_builder_op(run, 1, 2400, 2400 + (G_GUINT64_CONSTANT(1) << 60), 0);
	run_builder_record(run, 77, 2500, 16);
	missing = g_build_filename(run_builder_path(run), "0-33.1", NULL);
	run_builder_end(run);
	g_assert_cmpint(g_unlink(missing), ==, 0);
	timeline = open_sound(folder);
	g_assert_cmpuint(timeline->slices.n, ==, 4);
	g_assert_cmpint(timeline->slices.duration_ns[2], ==, 200);
	g_assert_cmpuint(timeline->slices.parent[2], ==, TACHO_NONE); /* beside the one before */
	g_assert_cmpint(timeline->slices.duration_ns[3], ==, 0);
	assert_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, 1,
		       "is earlier than the one before it");
	assert_problem(timeline, TACHO_PROBLEM_MISSING_FILE, 1, "0-33.2");
	assert_problem(timeline, TACHO_PROBLEM_OVERLAP, 1, "thread 33");
	assert_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, 1, "thread 33");
	assert_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD, 1, "thread 33");
	remove_folder(folder);
}

static void add_collective(struct run_builder *run, guint32 class_id, guint64 begin, guint64 end)
{
	struct record_collective *record =
		run_builder_record(run, class_id, begin, sizeof(*record));

	record->duration = end - begin;
}

/* Slices are read into places found by counting; what is counted but cannot be read leaves no gap. */
static void test_gaps(void)
{
	gchar *folder = make_folder();
	struct run_builder *run = simple_run(folder);
	guint32 reduce = run_builder_class(run, TRACE_KIND_COLLECTIVE, "all_reduce");
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoSlices *slices;

	for (guint tid = 33; tid < 36; tid++) {
		if (tid > 33)
			run_builder_stream(run, tid);
		add_collective(run, reduce, 1000 + tid, 2000 + tid);
		run_builder_op(run, 1, 2000 + tid, 4000, 0);
		run_builder_op(run, 1, 2000 + tid, 3000, 0);
		if (tid == 35)
			break;
		run_builder_op(run, 1, 900, 950, 0); /* earlier: the rest is lost */
		for (guint i = 0; i < 5; i++) {
			run_builder_op(run, 1, 5000, 5100, 0);
			add_collective(run, reduce, 5100, 5200);
		}
	}
	run_builder_end(run);
	timeline = open_sound(folder);
	slices = &timeline->slices;
	g_assert_cmpuint(slices->n, ==, 9);
	g_assert_cmpuint(timeline->tracks->len, ==, 6);
	for (guint32 row = 0; row < slices->n; row++) {
		const TachoTrack *track = tacho_timeline_track(timeline, slices->track[row]);
		gboolean is_queued = row % 3 == 2;

		g_assert_cmpuint(slices->track[row], ==, row / 3 * 2 + is_queued);
		g_assert_cmpuint(track->tid, ==, 33 + row / 3);
		g_assert_cmpuint(track->first_slice, ==, row - row % 3 + (is_queued ? 2 : 0));
		g_assert_cmpuint(track->n_slices, ==, is_queued ? 1 : 2);
		g_assert_cmpuint(slices->parent[row], ==, row % 3 == 1 ? row - 1 : TACHO_NONE);
	}
	remove_folder(folder);
}

static void assert_error(const gchar *path, gint code, const gchar *word)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(open_one(path, &error));
	g_assert_error(error, TACHO_TIMELINE_ERROR, code);
	if (!strstr(error->message, word))
		g_error("'%s' is not in: %s", word, error->message);
}

static void test_no_run(void)
{
	gchar *folder = make_folder();
	g_autofree gchar *file = g_build_filename(folder, "file", NULL);
	g_autofree gchar *facts = g_build_filename(folder, "run.ini", NULL);
	g_autoptr(TachoTimeline) empty = NULL;

	assert_error("/no/such/run", TACHO_TIMELINE_ERROR_NOT_A_RUN, "/no/such/run: ");
	assert_error(folder, TACHO_TIMELINE_ERROR_NOT_A_RUN, "not a run");
	g_assert_true(g_file_set_contents(file, "x", 1, NULL));
	assert_error(file, TACHO_TIMELINE_ERROR_NOT_A_RUN, "not a folder");
	g_assert_true(g_file_set_contents(facts, "[run]\n", -1, NULL));
	empty = open_sound(folder); /* recorded, but nothing to record */
	g_assert_cmpuint(empty->processes->len, ==, 0);
	g_assert_cmpuint(empty->problems->len, ==, 0);
	remove_folder(folder);
}

static void test_forbidden(void)
{
	gchar *folder = sound_run();
	g_autofree gchar *path = stream_path(folder);
	g_autofree gchar *trace = g_path_get_dirname(path);
	g_autoptr(TachoTimeline) timeline = NULL;

	if (getuid() == 0) {
		g_test_skip("root may read everything");
		remove_folder(folder);
		return;
	}
	g_assert_cmpint(g_chmod(path, 0), ==, 0);
	timeline = open_sound(folder);
	assert_problem(timeline, TACHO_PROBLEM_UNREADABLE_FILE, 1, "0-10.0: Permission denied");
	g_assert_cmpint(g_chmod(trace, 0), ==, 0);
	assert_error(folder, TACHO_TIMELINE_ERROR_IO, trace);
	g_assert_cmpint(g_chmod(trace, 0700), ==, 0);
	g_assert_cmpint(g_chmod(folder, 0), ==, 0);
	assert_error(folder, TACHO_TIMELINE_ERROR_IO, "Permission denied");
	g_assert_cmpint(g_chmod(folder, 0700), ==, 0);
	remove_folder(folder);
}

static void test_later_format(void)
{
	gchar *folder = make_folder();
	struct run_builder *run = run_builder_new(
		folder,
		&(struct run_builder_process){ .pid = 1, .format = TRACE_FORMAT_VERSION + 1 });
	struct run_builder *readable;
	g_autoptr(TachoTimeline) timeline = NULL;

	run_builder_end(run);
	assert_error(folder, TACHO_TIMELINE_ERROR_FORMAT, "h0-1/metadata, byte ");
	assert_error(folder, TACHO_TIMELINE_ERROR_FORMAT, "later version");
	readable = simple_run(folder);
	run_builder_op(readable, 1, 10, 20, 0);
	run_builder_end(readable);
	timeline = open_sound(folder);
	assert_problem(timeline, TACHO_PROBLEM_UNREADABLE_TRACE, 1, "h0-1/metadata");
	g_assert_cmpuint(timeline->slices.n, ==, 1);
	remove_folder(folder);
}

static void test_many_classes(void)
{
	gchar *folder = make_folder();
	struct run_builder *run =
		run_builder_new(folder, &(struct run_builder_process){ .pid = 1 });
	g_autoptr(TachoTimeline) timeline = NULL;

	run_builder_stream(run, 1);
	for (guint i = 0; i < 20000; i++) {
		g_autofree gchar *name = g_strdup_printf("op %u", i);

		run_builder_op(run, run_builder_class(run, TRACE_KIND_OP, name), i * 10, i * 10 + 5,
			       -1);
	}
	run_builder_metadata(run, "   \n\t \nevent { id = 1048576; name = \"x\"; stream_id = 0; "
				  "fields := struct op; };\n");
	run_builder_metadata(run, "event { id = 5; name = \"again\"; stream_id = 0; fields := "
				  "struct op; };\n");
	run_builder_metadata(run, "event { id = 30000; name = \"later\"; stream_id = 0; fields := "
				  "struct new; };\n");
	run_builder_metadata(run, "event { id = 9; name = \"cut off by a ki");
	run_builder_end(run);
	timeline = open_sound(folder);
	for (guint i = 0; i < 20000; i += 999) {
		g_autofree gchar *name = g_strdup_printf("op %u", i);

		g_assert_cmpstr(tacho_slice_name(timeline, i), ==, name);
	}
	assert_problem(timeline, TACHO_PROBLEM_CORRUPT_METADATA, 2, "byte ");
	remove_folder(folder);
}

/* The same run in one argument, in several, and twice. */
static void test_several_paths(void)
{
	gchar *folders[] = { make_folder(), make_folder(), NULL };
	const gchar *twice[] = { folders[0], folders[1], folders[0] };
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < 2; i++) {
		struct run_builder *run = run_builder_new(
			folders[i], &(struct run_builder_process){ .pid = 7 + i, .rank = -1 });

		run_builder_stream(run, 7 + i);
		run_builder_op(run, run_builder_class(run, TRACE_KIND_OP, "op"), 10 + i, 20, 0);
		run_builder_end(run);
	}
	timeline = tacho_timeline_open(twice, 3, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(timeline->slices.n, ==, 2);
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpint(g_array_index(timeline->ranks, TachoRank, 1).rank, ==, 1);
	g_assert_cmpuint(g_array_index(timeline->ranks, TachoRank, 1).main_process, ==, 1);
	remove_folder(folders[0]);
	remove_folder(folders[1]);
}

static void test_running(void)
{
	gchar *folder = make_folder();
	g_autofree gchar *boot_id = NULL;
	struct run_builder *run;
	g_autoptr(TachoTimeline) timeline = NULL;

	if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot_id, NULL, NULL)) {
		g_test_skip("no boot id");
		remove_folder(folder);
		return;
	}
	run = run_builder_new(folder,
			      &(struct run_builder_process){
				      .pid = (guint32)getpid(),
				      .host = g_get_host_name(),
				      .boot_id = g_strchomp(boot_id),
				      .start_mono_ns = (guint64)g_get_monotonic_time() * 1000,
			      });
	run_builder_stream(run, 1);
	run_builder_op(run, run_builder_class(run, TRACE_KIND_OP, "op"), 10, G_MAXUINT64, 0);
	run_builder_op(run, 1, 20, 30, 0);
	run_builder_end(run);
	timeline = open_sound(folder);
	g_assert_cmpint(g_array_index(timeline->processes, TachoProcess, 0).end, ==,
			TACHO_END_RUNNING);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	g_assert_cmpuint(timeline->slices.flags[0], ==, TACHO_SLICE_OPEN);
	g_assert_cmpint(timeline->slices.duration_ns[0], ==, 20);
	remove_folder(folder);
}

/* A file that loses its end after it was opened: what is gone reads as zeros. */
static void test_shrinking_file(void)
{
	gchar *folder = sound_run();
	g_autofree gchar *path = stream_path(folder);
	g_autoptr(TachoTimeline) timeline = open_sound(folder);

	overwrite(path, "", 0);
	touch_all(timeline);
	remove_folder(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/run-reader/round-trip", test_round_trip);
	g_test_add_func("/run-reader/files-of-a-stream", test_files_of_a_stream);
	g_test_add_func("/run-reader/cut-streams", test_cut_streams);
	g_test_add_func("/run-reader/facts", test_facts);
	g_test_add_func("/run-reader/kernel-costs", test_kernel_costs);
	g_test_add_func("/run-reader/ties", test_ties);
	g_test_add_func("/run-reader/clocks", test_clocks);
	g_test_add_func("/run-reader/ranks", test_ranks);
	g_test_add_func("/run-reader/truncated-stream", test_truncated_stream);
	g_test_add_func("/run-reader/truncated-metadata", test_truncated_metadata);
	g_test_add_func("/run-reader/flipped-bits", test_flipped_bits);
	g_test_add_func("/run-reader/broken-records", test_broken_records);
	g_test_add_func("/run-reader/messages", test_messages);
	g_test_add_func("/run-reader/broken-packets", test_broken_packets);
	g_test_add_func("/run-reader/broken-streams", test_broken_streams);
	g_test_add_func("/run-reader/gaps", test_gaps);
	g_test_add_func("/run-reader/no-run", test_no_run);
	g_test_add_func("/run-reader/forbidden", test_forbidden);
	g_test_add_func("/run-reader/later-format", test_later_format);
	g_test_add_func("/run-reader/many-classes", test_many_classes);
	g_test_add_func("/run-reader/several-paths", test_several_paths);
	g_test_add_func("/run-reader/running", test_running);
	g_test_add_func("/run-reader/shrinking-file", test_shrinking_file);
	return g_test_run();
}
