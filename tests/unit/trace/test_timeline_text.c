/* Everything the grammar of timeline_text.h promises arrives in the timeline. */
#include "timeline_text.h"

static const gchar text[] =
	"# two ranks, one with a data loader\n"
	"origin 1700000000000000000\n"
	"world 2\n"
	"rank 0 host=a  thread 10 main\n"
	"  op aten::mm 100..140.5 seq=3 in=float32[8,16]@0x1000+64 in=int64 out=float32[]@0x2000\n"
	"    kernel sgemm 105..130 flops=2048 bytes=1536 dims=8x8x16 text='a b'\n"
	"    alloc 106 address=0x3000 bytes=64\n"
	"  free 150 address=0x3000 bytes=64\n"
	"  collective gloo:all_reduce 130..190 bytes=4096 group=7 end_tid=12 in=float32[1024]\n"
	"  annotation \"two words\" 200..210 id=9\n"
	"  mark cut 205 first=-1 second=2 text=why\n"
	"  sample memory 201 17\n"
	"thread 12 parent=10 dropped=4\n"
	"  op Node 300.25..301 backward seq=3 fwd=1\n"
	"process 33 end=exited:1 thread 33 loader\n"
	"rank 1 end=killed:9 thread 11 main\n"
	"  op aten::mm 100..\n"
	"  op aten::add 110..150\n"
	"  problem lost_records 4 'rank 0, thread 12'\n";

static void test_structure(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	const TachoProcess *worker = &g_array_index(timeline->processes, TachoProcess, 1);
	const TachoProcess *killed = &g_array_index(timeline->processes, TachoProcess, 2);
	guint32 open = timeline_find(timeline, "aten::mm", 1);

	g_assert_cmpint(timeline->origin_unix_ns, ==, G_GINT64_CONSTANT(1700000000000000000));
	g_assert_cmpint(timeline->expected_ranks, ==, 2);
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpuint(g_array_index(timeline->ranks, TachoRank, 1).main_process, ==, 2);
	g_assert_cmpuint(worker->pid, ==, 33);
	g_assert_cmpuint(worker->ppid, ==, 1000);
	g_assert_cmpint(worker->exit_status, ==, 1);
	g_assert_false(worker->is_main);
	g_assert_cmpint(killed->end, ==, TACHO_END_KILLED);
	g_assert_cmpint(killed->exit_status, ==, 9);
	g_assert_cmpint(timeline->slices.flags[open], ==, TACHO_SLICE_OPEN);
	g_assert_cmpint(timeline->slices.duration_ns[open], ==, 50000000);
	g_assert_cmpuint(timeline->n_dropped, ==, 4);
	g_assert_cmpuint(timeline->problems->len, ==, 1);
}

static void test_arguments(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	guint32 mm = timeline_find(timeline, "aten::mm", 0);
	guint32 sgemm = timeline_find(timeline, "sgemm", 0);
	TachoOpArgs op;
	TachoKernelArgs kernel;
	TachoTensor tensor;

	g_assert_cmpint(timeline->slices.duration_ns[mm], ==, 40500000);
	g_assert_true(tacho_slice_op(timeline, mm, &op));
	g_assert_cmpint(op.sequence, ==, 3);
	g_assert_cmpuint(op.n_inputs, ==, 2);
	g_assert_true(tacho_slice_input(timeline, mm, 0, &tensor));
	g_assert_cmpuint(tensor.storage, ==, 0x1000);
	g_assert_cmpuint(tensor.offset_bytes, ==, 64);
	g_assert_cmpuint(tensor.n_dims, ==, 2);
	g_assert_cmpint(tensor.shape[1], ==, 16);
	g_assert_true(tacho_slice_input(timeline, mm, 1, &tensor));
	g_assert_cmpstr(tensor.dtype, ==, "int64");
	g_assert_cmpuint(tensor.dtype_bytes, ==, 8);
	g_assert_false(tacho_slice_input(timeline, mm, 2, &tensor));
	g_assert_true(tacho_slice_output(timeline, mm, 0, &tensor));
	g_assert_cmpuint(tensor.n_dims, ==, 0);
	g_assert_false(tacho_slice_output(timeline, mm, 1, &tensor));
	g_assert_false(tacho_slice_op(timeline, sgemm, &op));
	g_assert_true(tacho_slice_kernel(timeline, sgemm, &kernel));
	g_assert_cmpuint(kernel.flops, ==, 2048);
	g_assert_cmpuint(kernel.n_dims, ==, 3);
	g_assert_cmpstr(kernel.text, ==, "a b");
	g_assert_cmpuint(timeline->slices.parent[sgemm], ==, mm);
	g_assert_cmpuint(tacho_slice_id(timeline, timeline_find(timeline, "two words", 0)), ==, 9);
}

static void test_moments(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	const TachoMemoryEvent *alloc = &g_array_index(timeline->memory, TachoMemoryEvent, 0);
	const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, 0);
	const TachoSample *sample = &g_array_index(timeline->samples, TachoSample, 0);
	guint32 reduce = timeline_find(timeline, "gloo:all_reduce", 0);
	TachoCollectiveArgs args;

	g_assert_cmpint(alloc[0].bytes, ==, 64);
	g_assert_cmpuint(alloc[0].slice, ==, timeline_find(timeline, "sgemm", 0));
	g_assert_cmpint(alloc[1].bytes, ==, -64);
	g_assert_cmpuint(alloc[1].slice, ==, TACHO_NONE);
	g_assert_cmpint(mark->first, ==, -1);
	g_assert_cmpstr(tacho_timeline_string(timeline, mark->text), ==, "why");
	g_assert_cmpfloat(sample->value, ==, 17);
	g_assert_cmpint(tacho_timeline_track(timeline, sample->track)->kind, ==,
			TACHO_TRACK_COUNTER);
	g_assert_true(tacho_slice_collective(timeline, reduce, &args));
	g_assert_cmpuint(args.end_tid, ==, 12);
	g_assert_cmpuint(tacho_timeline_track(timeline, timeline->slices.track[reduce])->tid, ==,
			 10);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/timeline-text/structure", test_structure);
	g_test_add_func("/timeline-text/arguments", test_arguments);
	g_test_add_func("/timeline-text/moments", test_moments);
	return g_test_run();
}
