/* Floating-point operations and phases where a trace tells less than PyTorch's own recording: no outputs, no
 * numbers of autograd. */
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "analyze/op_flops.h"
#include "analyze/op_output.h"
#include "analyze/op_phase.h"
#include "foreign_traces.h"
#include "timeline_text.h"

static gdouble flops_of(const TachoTimeline *timeline, const gchar *name, guint nth)
{
	return op_flops(timeline, timeline_find(timeline, name, nth));
}

/* The output follows from the inputs alone: for products, for element-wise operations, and for shapes
 * that do not fit together. */
static void test_inputs(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"rank 0 thread 1 main\n"
		"op aten::mm 0..1 in=float32[8,16] in=float32[16,4]\n"
		"op aten::addmm 1..2 in=float32[4] in=float32[8,16] in=float32[16,4] in=float32 "
		"in=float32\n"
		"op aten::bmm 2..3 in=float32[3,8,16] in=float32[3,16,4]\n"
		"op aten::matmul 3..4 in=float32[5,3,8,16] in=float32[16,4]\n"
		"op aten::add 4..5 in=float32[4,8,3] in=float32[8,1] in=float32\n"
		"op aten::mm 5..6 in=float32[8,16] in=float32[15,4]\n"
		"op aten::mul 6..7 in=float32[4,8] in=float32[3,8]\n"
		"op aten::convolution 7..8 in=float32[2,3,8,8] in=float32[4,3,3,3]\n");

	g_assert_cmpfloat(flops_of(timeline, "aten::mm", 0), ==, 2. * 8 * 16 * 4);
	g_assert_cmpfloat(flops_of(timeline, "aten::addmm", 0), ==, 2. * 8 * 16 * 4);
	g_assert_cmpfloat(flops_of(timeline, "aten::bmm", 0), ==, 2. * 3 * 8 * 16 * 4);
	g_assert_cmpfloat(flops_of(timeline, "aten::add", 0), ==, 4 * 8 * 3);
	g_assert_cmpfloat(op_output_bytes(timeline, timeline_find(timeline, "aten::add", 0)), ==,
			  4 * 4 * 8 * 3);
	g_assert_cmpfloat(flops_of(timeline, "aten::mm", 1), ==, -1);
	g_assert_cmpfloat(flops_of(timeline, "aten::mul", 0), ==, -1);
	/* nothing tells its stride */
	g_assert_cmpfloat(flops_of(timeline, "aten::convolution", 0), ==, -1);
}

/* An operation of Kineto, with the shapes and the numbers that it was given. */
static const struct kineto_op {
	const gchar *name, *dims, *concrete;
} convolutions[] = {
	{ "aten::cudnn_convolution", "[2, 3, 9, 8], [4, 3, 3, 3], [], [], []",
	  "'', '', '[1, 0]', '[2, 1]', '[1, 2]'" },
	{ "aten::convolution", "[2, 3, 9, 8], [4, 3, 3, 3], [], [], [], [], []",
	  "'', '', '', '[1, 1]', '[0, 0]', '[1, 1]', 'True'" },
	{ "aten::convolution_backward",
	  "[2, 4, 7, 6], [2, 3, 9, 8], [4, 3, 3, 3], [], [], [], [], [], [], [], []",
	  "'', '', '', '', '', '', '', '', '', '', '[False, True, True]'" },
};

static gchar *make_trace(void)
{
	GString *text = g_string_new("{'schemaVersion': 1, 'traceEvents': [");

	for (guint i = 0; i < G_N_ELEMENTS(convolutions); i++)
		g_string_append_printf(text,
				       "%s{'ph': 'X', 'cat': 'cpu_op', 'name': '%s', 'pid': 5,"
				       " 'tid': 5, 'ts': %u, 'dur': 1, 'args': {'Input Dims': [%s],"
				       " 'Concrete Inputs': [%s]}}\n",
				       i ? "," : "", convolutions[i].name, i, convolutions[i].dims,
				       convolutions[i].concrete);
	g_string_append(text, "]}");
	g_string_replace(text, "'", "\"", 0);
	return g_string_free(text, FALSE);
}

/* A convolution's numbers are among its inputs. */
static void test_convolutions(void)
{
	g_autofree gchar *text = make_trace();
	gchar *path = foreign_write("x.json", text, strlen(text));
	g_autoptr(TachoTimeline) timeline = foreign_open(path);

	/* 5 x 4 of 9 x 8: (9 + 2 - 2 - 1) / 2 + 1, (8 - 4 - 1) / 1 + 1 */
	g_assert_cmpfloat(flops_of(timeline, "aten::cudnn_convolution", 0), ==,
			  2. * (2 * 4 * 5 * 4) * (3 * 3 * 3));
	/* transposed */
	g_assert_cmpfloat(flops_of(timeline, "aten::convolution", 0), ==, -1);
	/* of the weight only */
	g_assert_cmpfloat(flops_of(timeline, "aten::convolution_backward", 0), ==,
			  2. * (2 * 4 * 7 * 6) * (3 * 3 * 3));
	foreign_remove(path);
}

/* Without its numbers a convolution's output is what reads it says, if that can be it. */
static void test_readers(void)
{
	static const struct {
		const gchar *conv, *reader;
		gdouble flops;
	} cases[] = {
		/* behind what has no such tensor; the sizes are of stride 2 */
		{ "aten::convolution",
		  "op aten::reshape 2..3 in=float32[4]\nop aten::add_ 3..4 "
		  "in=float32[2,4,4,4] in=float32[1,4,1,1]",
		  2. * (2 * 4 * 4 * 4) * (3 * 3 * 3) },
		{ "aten::mkldnn_convolution", "op aten::relu 2..3 in=float32[2,4,10,8]",
		  2. * (2 * 4 * 10 * 8) * (3 * 3 * 3) },
		/* of another batch, other channels, larger than it can be; another convolution of the same */
		{ "aten::convolution", "op aten::relu 2..3 in=float32[3,4,8,8]", -1 },
		{ "aten::convolution", "op aten::relu 2..3 in=float32[2,5,8,8]", -1 },
		{ "aten::convolution", "op aten::relu 2..3 in=float32[2,4,11,8]", -1 },
		{ "aten::convolution",
		  "op aten::conv2d 2..3 in=float32[2,4,8,8] in=float32[4,4,3,3]", -1 },
		{ "aten::convolution", "op aten::relu 2..3 in=float32[2,4,8]", -1 },
		{ "aten::convolution", "annotation end 2..3", -1 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree gchar *text = g_strdup_printf(
			"rank 0 thread 1 main\nop %s 0..2 in=float32[2,3,8,8] in=float32[4,3,3,3]\n"
			"  op aten::empty 1..2 in=float32[2,4,1,1]\n%s\n",
			cases[i].conv, cases[i].reader);
		g_autoptr(TachoTimeline) timeline = timeline_from_text(text);

		g_test_message("%s", cases[i].reader);
		g_assert_cmpfloat(flops_of(timeline, cases[i].conv, 0), ==, cases[i].flops);
	}
}

/* Where a trace has the numbers, what reads the output tells the same. */
static void test_readers_of_samples(void)
{
	static const gchar *const samples[] = {
		"kineto/tracelens/mi300/ddp_resnet18_no_pool/train_resnet18.json.gz",
		"kineto/tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
		"kineto/tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz",
	};

	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autofree gchar *path = foreign_sample(samples[i]);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
		guint n_told = 0, n_read = 0;

		for (guint32 slice = 0; timeline && slice < timeline->slices.n; slice++) {
			TachoTensor told, read;

			if (!g_str_has_suffix(tacho_slice_name(timeline, slice), "convolution") ||
			    !op_output(timeline, slice, OUTPUT_CONV, &told))
				continue;
			n_told++;
			if (!op_conv_output_read(timeline, slice, &read))
				continue;
			n_read++;
			g_assert_cmpuint(told.n_dims, ==, read.n_dims);
			g_assert_cmpmem(told.shape, told.n_dims * sizeof(*told.shape), read.shape,
					read.n_dims * sizeof(*read.shape));
		}
		if (timeline)
			g_test_message("%s: %u of %u", samples[i], n_read, n_told);
		g_assert_cmpuint(n_read, >=, n_told / 2);
	}
}

static OpPhase phase_of(const TachoTimeline *timeline, const gchar *name, guint nth)
{
	guint32 slice = timeline_find(timeline, name, nth);
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[slice]);
	g_autofree guint8 *phases = op_phases_of_track(timeline, track);

	return (OpPhase)phases[slice - track->first_slice];
}

/* What follows backward is a hook of it only where numbers would tell a forward operation. */
static void test_phases(void)
{
	static const gchar numbered[] = "rank 0 thread 1 main\n"
					"op aten::mm 0..1 seq=1\n"
					"op MmBackward0 1..2 backward seq=1 fwd=1\n"
					"op hook 2..3\n"
					"op aten::mm 3..4 seq=2\n";
	static const gchar plain[] = "rank 0 thread 1 main\n"
				     "op aten::mm 0..1\n"
				     "op MmBackward0 1..2 backward\n"
				     "op aten::mm 3..4\n";
	g_autoptr(TachoTimeline) with = timeline_from_text(numbered);
	g_autoptr(TachoTimeline) without = timeline_from_text(plain);

	g_assert_cmpint(phase_of(with, "hook", 0), ==, PHASE_BACKWARD);
	g_assert_cmpint(phase_of(with, "aten::mm", 1), ==, PHASE_FORWARD);
	g_assert_cmpint(phase_of(without, "MmBackward0", 0), ==, PHASE_BACKWARD);
	g_assert_cmpint(phase_of(without, "aten::mm", 1), ==, PHASE_FORWARD);
}

/* The first convolution, and the last product, of ResNets that others trained: 64 maps of 112 x 112 of 7 x 7 x 3,
 * and 512 x 512 by 512 x 1000. */
static void test_samples(void)
{
	g_autofree gchar *path = foreign_sample(
		"kineto/tracelens/mi300/ddp_resnet18_no_pool/train_resnet18.json.gz");
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;

	if (!timeline)
		return;
	g_assert_cmpfloat(flops_of(timeline, "aten::miopen_convolution", 0), ==,
			  2. * 512 * 64 * 112 * 112 * 7 * 7 * 3);
	g_assert_cmpfloat(flops_of(timeline, "aten::addmm", 0), ==, 2. * 512 * 512 * 1000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/op_output/inputs", test_inputs);
	g_test_add_func("/op_output/convolutions", test_convolutions);
	g_test_add_func("/op_output/readers", test_readers);
	g_test_add_func("/op_output/readers_of_samples", test_readers_of_samples);
	g_test_add_func("/op_output/phases", test_phases);
	g_test_add_func("/op_output/samples", test_samples);
	return g_test_run();
}
