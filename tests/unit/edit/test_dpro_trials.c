/* Trials in the dialects that dPRO reads, with answers worked out by hand, in microseconds. In all of them a step is: two
 * layers forward till 2000; backward till 3500 (dense kernel), 4000 (dense bias) and 6000 (convolution); updates of 800, which
 * wait for the gradients. Horovod moves 1 MB in 500, the dense layer's 4 + 1 MB as one from 4100 on, the other 1 MB from
 * 6640 on. BytePS moves 1 MB in 500 each way, in parts of 1 MB: 2 MB from 3500 to 5000, 1 MB from 6000 to 7000. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "analyze/op_phase.h"
#include "foreign_traces.h"
#include "timeline_text.h"

static const gchar tf_horovod[] = TACHO_TEST_DATA "/dpro/tf_horovod";
static const gchar mxnet_horovod[] = TACHO_TEST_DATA "/dpro/mxnet_horovod";
static const gchar pytorch_horovod[] = TACHO_TEST_DATA "/dpro/pytorch_horovod";
static const gchar tf_byteps[] = TACHO_TEST_DATA "/dpro/tf_byteps";

static TachoTimeline *open_trial(const gchar *path)
{
	TachoTimeline *timeline = foreign_open(path);

	tacho_correlate(timeline);
	return timeline;
}

static void assert_step_us(const gchar *path, const gchar *what_if, gdouble expected_us)
{
	g_autoptr(TachoTimeline) timeline = open_trial(path);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction =
		tacho_predict(timeline, &what_if, what_if ? 1 : 0, -1, -1, &error);

	g_assert_no_error(error);
	if (fabs(prediction->predicted_step_ms * 1000 - expected_us) > 0.05)
		g_error("%s: %.3f us instead of %.3f", what_if ? what_if : "as measured",
			prediction->predicted_step_ms * 1000, expected_us);
}

static void assert_refused(const gchar *path, const gchar *what_if, const gchar *advice)
{
	g_autoptr(TachoTimeline) timeline = open_trial(path);
	g_autoptr(GError) error = NULL;

	g_assert_null(tacho_predict(timeline, &what_if, 1, -1, -1, &error));
	g_assert_nonnull(strstr(error->message, advice));
}

static void assert_phase(const TachoTimeline *timeline, const gchar *name, OpPhase expected)
{
	guint32 slice = timeline_find(timeline, name, 0);
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[slice]);
	g_autofree guint8 *phases = op_phases_of_track(timeline, track);

	g_assert_cmpint(phases[slice - track->first_slice], ==, expected);
}

/* The collectives, as step after step has them. */
static void assert_collectives(const TachoTimeline *timeline, guint n, guint64 first_bytes,
			       guint64 second_bytes)
{
	g_assert_cmpuint(timeline->collectives->len, ==, n);
	for (guint i = 0; i < n; i++) {
		const TachoCollective *collective =
			&g_array_index(timeline->collectives, TachoCollective, i);

		g_assert_cmpuint(collective->n_members, ==, 2);
		g_assert_cmpuint(collective->bytes, ==, i % 2 ? second_bytes : first_bytes);
	}
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNMATCHED_COLLECTIVE));
}

static void test_tf_horovod(void)
{
	g_autoptr(TachoTimeline) timeline = open_trial(tf_horovod);
	guint32 first = timeline_find(timeline, "allreduce", 0), matmul;
	guint32 sync = timeline_find(timeline, "Sync", 0);
	TachoCollectiveArgs args;
	TachoTensor tensor;
	TachoToldOp told;

	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	assert_collectives(timeline, 6, 5000000, 1000000);
	assert_phase(timeline, "net/conv/Conv2D", PHASE_FORWARD);
	assert_phase(timeline, "gradient_tape/net/dense/BiasAdd/BiasAddGrad", PHASE_BACKWARD);
	assert_phase(timeline, "SGD/SGD/update/ResourceApplyGradientDescent", PHASE_OPTIMIZER);
	/* both tensors of the cycle were agreed on in one "Sync", and moved as one */
	g_assert_cmpint(timeline->slices.duration_ns[sync], ==, 50000);
	g_assert_cmpint(timeline->slices.kind[sync], ==, TACHO_SLICE_WAIT);
	g_assert_true(tacho_slice_collective(timeline, first, &args));
	g_assert_cmpuint(args.n_inputs, ==, 2);
	g_assert_cmpint(args.packing, ==, TACHO_PACKED_IN_BUFFERS);
	g_assert_true(tacho_slice_input(timeline, first, 0, &tensor));
	g_assert_cmpstr(tensor.dtype, ==, "float32");
	g_assert_cmpint(tensor.shape[1], ==, 1000);
	/* metadata.json */
	matmul = timeline_find(timeline, "net/dense/MatMul", 0);
	g_assert_true(tacho_slice_told(timeline, matmul, &told));
	g_assert_cmpstr(tacho_timeline_string(timeline, told.type), ==, "MatMul");
	g_assert_true(tacho_slice_input(timeline, matmul, 0, &tensor));
	g_assert_cmpuint(tensor.n_dims, ==, 2);
	g_assert_cmpint(tensor.shape[0], ==, 32);
	g_assert_true(tacho_slice_output(timeline, matmul, 0, &tensor));
	g_assert_cmpint(tensor.shape[1], ==, 1000);
}

static void test_tf_horovod_replay(void)
{
	assert_step_us(tf_horovod, NULL, 8000);
	/* the other one from 6100 + 40 on, taken up as before, till 6390; 60 till the update */
	assert_step_us(tf_horovod, "bandwidth=2x", 6390 + 60 + 800);
	/* each of the new buffers is taken up 50 later, as the first one was: at 3550, when that is over at 5600, and 6150 */
	assert_step_us(tf_horovod, "fusion=1,1,1", 6650 + 60 + 800);
	/* the rule of Horovod: what still fits; at 1 MiB the same as above, at 4.8 as recorded, at 100 all in one */
	assert_step_us(tf_horovod, "bucket_mb=1", 6650 + 60 + 800);
	assert_step_us(tf_horovod, "bucket_mb=4.8", 8000);
	assert_step_us(tf_horovod, "bucket_mb=100", 6000 + 50 + 3000 + 60 + 800);
	/* the buffers wait for each other: only the 50 of it before the first is queued count, as 25 */
	assert_step_us(tf_horovod, "scale:op~gradient_tape/net/conv=0.5", 8000 - 25);
	assert_refused(tf_horovod, "fusion=4", "fewer gradients");
}

/* MXNet tells steps and parts of them by names and order alone. */
static void test_mxnet_horovod(void)
{
	g_autoptr(TachoTimeline) timeline = open_trial(mxnet_horovod);
	guint32 step = timeline_find(timeline, "add_n", 0);

	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	assert_collectives(timeline, 6, 5000000, 1000000);
	assert_phase(timeline, "conv0_fwd", PHASE_FORWARD);
	assert_phase(timeline, "conv0_backward", PHASE_BACKWARD);
	assert_phase(timeline, "add_n", PHASE_OPTIMIZER);
	assert_phase(timeline, "multi_sgd_mom_update", PHASE_OPTIMIZER);
	g_assert_cmpuint(timeline->steps->len, ==, 2 * 3);
	for (guint i = 0; i < timeline->steps->len; i++) {
		const TachoStep *at = &g_array_index(timeline->steps, TachoStep, i);

		if (i % 3 < 2) /* where the last one ends is not told */
			g_assert_cmpint(at->end_ns - at->start_ns, ==, 8000000);
	}
	g_assert_cmpint(timeline->slices.start_ns[step], ==, 7200000);
	assert_step_us(mxnet_horovod, NULL, 8000);
	/* nobody tells who computed which gradient: all count as ready when recorded buffers were queued, at 4050 */
	assert_step_us(mxnet_horovod, "bucket_mb=4.8", 8000);
}

/* PyTorch's profiler beside Horovod's timelines, which tell the ranks that were ready, types and shapes. Horovod's one thread
 * moves the dense layer's 4 + 1 MB from 4050 till 6650, the other 1 MB from then on till 7150; the update begins 50 later. */
static void test_pytorch_horovod(void)
{
	g_autoptr(TachoTimeline) timeline = open_trial(pytorch_horovod);
	guint32 first = timeline_find(timeline, "allreduce", 0);
	TachoCollectiveArgs args;
	TachoTensor tensor;

	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpuint(timeline->processes->len, ==, 2); /* Horovod's threads are the job's */
	g_assert_cmpuint(timeline->steps->len, ==, 2 * 3);
	assert_collectives(timeline, 6, 5000000, 1000000);
	g_assert_true(tacho_slice_collective(timeline, first, &args));
	g_assert_cmpuint(args.n_inputs, ==, 2);
	g_assert_true(tacho_slice_input(timeline, first, 0, &tensor));
	g_assert_cmpint(tensor.shape[0] * tensor.shape[1], ==, 1000000);
	assert_phase(timeline, "AddmmBackward0", PHASE_BACKWARD);
	assert_phase(timeline, "aten::add_", PHASE_OPTIMIZER);
	assert_step_us(pytorch_horovod, NULL, 8000);
	/* the first is over at 5350, the other takes 250 from when it is ready, at 6000 */
	assert_step_us(pytorch_horovod, "bandwidth=2x", 6000 + 250 + 50 + 800);
	/* 5200 and 1000, one behind the other */
	assert_step_us(pytorch_horovod, "bandwidth=0.5x", 4050 + 5200 + 1000 + 50 + 800);
	/* 4 + 1 + 1 MB at 520 a MB, as the largest was; nobody tells which operation made which gradient: all of the
	 * first buffer count as ready when it was queued, at 4050 */
	assert_step_us(pytorch_horovod, "fusion=1,1,1", 4050 + 6 * 520 + 50 + 800);
	assert_step_us(pytorch_horovod, "bucket_mb=4.8", 8000);
	assert_step_us(pytorch_horovod, "bucket_mb=100", 6000 + 6 * 520 + 50 + 800);
}

static void test_tf_byteps(void)
{
	g_autoptr(TachoTimeline) timeline = open_trial(tf_byteps);
	guint32 first = timeline_find(timeline, "pushpull", 0);
	guint n_servers = 0, n_hops = 0;
	TachoCollectiveArgs args;

	/* a worker without a file that only a trial has is one, a server is none */
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpint(timeline->expected_ranks, ==, 2);
	for (guint i = 0; i < timeline->processes->len; i++)
		n_servers += !g_array_index(timeline->processes, TachoProcess, i).is_main;
	g_assert_cmpuint(n_servers, ==, 1);
	assert_collectives(timeline, 6, 2000000, 1000000);
	assert_phase(timeline, "SGD/SGD/update/ResourceApplyGradientDescent", PHASE_OPTIMIZER);
	g_assert_true(tacho_slice_collective(timeline, first, &args));
	g_assert_cmpint(args.packing, ==, TACHO_PACKED_IN_PARTS);
	g_assert_cmpint(timeline->slices.start_ns[first], ==, 3500000);
	g_assert_cmpint(timeline->slices.duration_ns[first], ==, 1500000);
	for (guint i = 0; i < timeline->hops->len; i++) {
		const TachoHop *hop = &g_array_index(timeline->hops, TachoHop, i);

		g_assert_cmpuint(hop->bytes, ==, 1000000);
		n_hops++;
	}
	g_assert_cmpuint(n_hops, ==, 2 * 3 * 3 * 2);
	assert_step_us(tf_byteps, NULL, 9000);
	/* the second: 500 instead of 1000 */
	assert_step_us(tf_byteps, "bandwidth=2x", 8500);
	/* n parts take (n + 1) / n of their pushes: the second in two parts */
	assert_step_us(tf_byteps, "partition_mb=0.5", 8750);
	assert_step_us(tf_byteps, "partition_mb=100", 9000);
	/* 3 MB in three parts from 6000 on */
	assert_step_us(tf_byteps, "fusion=2", 6000 + 2000 + 200 + 800 + 1000);
	assert_refused(tf_byteps, "bucket_mb=25", "partition_mb=N");
}

/* What dPRO made of the logs, in their place, tells the same, but for what the server noted of its messages. */
static void test_derived(void)
{
	static const gchar *const files[][2] = {
		{ "tf_byteps/traces_0", "traces_0" },
		{ "tf_byteps/traces_1", "traces_1" },
		{ "byteps_derived/comm_timeline.json", "comm_timeline.json" },
		{ "byteps_derived/server_timeline.json", "server_timeline.json" },
	};
	g_autofree gchar *trial = g_dir_make_tmp("tacho-dpro-XXXXXX", NULL);
	g_autoptr(TachoTimeline) logs = open_trial(tf_byteps);
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree gchar *to = g_build_filename(TACHO_TEST_DATA, "dpro", files[i][0], NULL);
		g_autofree gchar *link = g_build_filename(trial, files[i][1], NULL);

		g_assert_cmpint(symlink(to, link), ==, 0);
	}
	timeline = open_trial(trial);
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpuint(timeline->processes->len, ==, logs->processes->len);
	g_assert_cmpuint(timeline->hops->len, ==, logs->hops->len);
	assert_collectives(timeline, 6, 2000000, 1000000);
	assert_step_us(trial, NULL, 9000);
	assert_step_us(trial, "bandwidth=2x", 8500);
	assert_step_us(trial, "partition_mb=0.5", 8750);
	assert_step_us(trial, "fusion=2", 6000 + 2000 + 200 + 800 + 1000);
	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree gchar *link = g_build_filename(trial, files[i][1], NULL);

		g_unlink(link);
	}
	g_rmdir(trial);
}

/* Logs alone: workers are ranks by their numbers, servers none. */
static void test_logs_alone(void)
{
	g_autoptr(TachoTimeline) messages = open_trial(TACHO_TEST_DATA "/dpro/tf_byteps/zmq");
	g_autoptr(TachoTimeline) work = open_trial(TACHO_TEST_DATA "/dpro/tf_byteps/server");

	g_assert_cmpuint(messages->ranks->len, ==, 2);
	g_assert_cmpuint(messages->processes->len, ==, 3);
	g_assert_cmpuint(messages->collectives->len, ==, 6);
	g_assert_null(tacho_timeline_find_problem(messages, TACHO_PROBLEM_MISSING_RANK));
	g_assert_nonnull(tacho_timeline_find_problem(work, TACHO_PROBLEM_MISSING_RANK));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/dpro/tf-horovod", test_tf_horovod);
	g_test_add_func("/dpro/tf-horovod-replay", test_tf_horovod_replay);
	g_test_add_func("/dpro/mxnet-horovod", test_mxnet_horovod);
	g_test_add_func("/dpro/pytorch-horovod", test_pytorch_horovod);
	g_test_add_func("/dpro/tf-byteps", test_tf_byteps);
	g_test_add_func("/dpro/derived", test_derived);
	g_test_add_func("/dpro/logs-alone", test_logs_alone);
	return g_test_run();
}
