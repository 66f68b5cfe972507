/* Devices that fall behind their hosts: by hand, and what always holds. Times are microseconds. */
#include <string.h>

#include <tacho/correlate.h>

#include "graph/graph_unfold.h"
#include "predicted.h"
#include "replay/replay_trial.h"
#include "timeline_text.h"

/* A host that only launches: of its 100 us, the device is busy for 30. */
static const gchar idle_device[] = "unit us\n"
				   "rank 0 thread 1000 main\n"
				   "  annotation ProfilerStep#0 0..100\n"
				   "    runtime launchK 10..15\n"
				   "  stream 7 s7\n"
				   "    kernel K 30..60 launch=launchK\n";

/* The same, with a device that is done 40 us after its host. */
static const gchar late_device[] = "unit us\n"
				   "rank 0 thread 1000 main\n"
				   "  annotation ProfilerStep#0 0..100\n"
				   "    runtime launchK 10..15\n"
				   "  stream 7 s7\n"
				   "    kernel K 30..140 launch=launchK\n";

/* Of 100 us for a step, the device is busy for 90, and always 20 behind. */
static const gchar three_steps[] = "unit us\n"
				   "rank 0 thread 1000 main\n"
				   "  annotation ProfilerStep#0 0..100\n"
				   "    runtime l0 10..15\n"
				   "  annotation ProfilerStep#1 100..200\n"
				   "    runtime l1 110..115\n"
				   "  annotation ProfilerStep#2 200..300\n"
				   "    runtime l2 210..215\n"
				   "  stream 7 s7\n"
				   "    kernel K 30..120 launch=l0\n"
				   "    kernel K 130..220 launch=l1\n"
				   "    kernel K 230..320 launch=l2\n";

/* What the second step launched is over in the third, after what that launched itself. */
static const gchar long_kernel[] = "unit us\n"
				   "rank 0 thread 1000 main\n"
				   "  annotation ProfilerStep#0 0..100\n"
				   "  annotation ProfilerStep#1 100..200\n"
				   "    runtime l1 110..115\n"
				   "  annotation ProfilerStep#2 200..300\n"
				   "    runtime l2 210..215\n"
				   "  stream 7 s7\n"
				   "    kernel K 130..290 launch=l1\n"
				   "  stream 9 s9\n"
				   "    kernel J 220..230 launch=l2\n";

/* The device takes 150 us for what its host launches in 100. */
static const gchar runaway_host[] = "unit us\n"
				    "rank 0 thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..100\n"
				    "    runtime l0 0..5\n"
				    "  annotation ProfilerStep#1 100..200\n"
				    "    runtime l1 100..105\n"
				    "  annotation ProfilerStep#2 200..300\n"
				    "    runtime l2 200..205\n"
				    "  annotation ProfilerStep#3 300..400\n"
				    "    runtime l3 300..305\n"
				    "  stream 7 s7\n"
				    "    kernel K 10..160 launch=l0\n"
				    "    kernel K 160..310 launch=l1\n"
				    "    kernel K 310..460 launch=l2\n"
				    "    kernel K 460..610 launch=l3\n";

/* Two ranks; the second has no device. */
static const gchar half_devices[] = "unit us\n"
				    "rank 0 thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..100\n"
				    "    runtime launchK 10..15\n"
				    "  stream 7 s7\n"
				    "    kernel K 30..60 launch=launchK\n"
				    "rank 1 thread 1001 main\n"
				    "  annotation ProfilerStep#0 0..100\n"
				    "    op a 0..100\n";

/* Both ranks' devices are done with an all-reduce of 20 us, 10 after their hosts. */
static const gchar two_ranks[] =
	"unit us\n"
	"rank 0 host=h thread 1000 main\n"
	"  annotation ProfilerStep#0 0..100\n"
	"    runtime l0 40..45\n"
	"  stream 7 s7\n"
	"    collective nccl_AllReduce 50..110 bytes=1000 group=1 launch=l0\n"
	"rank 1 host=h thread 1001 main\n"
	"  annotation ProfilerStep#0 0..100\n"
	"    runtime l0 80..85\n"
	"  stream 7 s7\n"
	"    collective nccl_AllReduce 90..110 bytes=1000 group=1 launch=l0\n";

static void test_host_bound(void)
{
	assert_predicted(idle_device, "", 100);
	assert_predicted(idle_device, "scale:kernel~K=0.1", 100);
	assert_predicted(idle_device, "scale:kernel~K=2", 100); /* ends at 90 */
	assert_predicted(late_device, "", 100);
	assert_predicted(late_device, "scale:kernel~K=0.5", 100);
	assert_predicted(late_device, "drop:kernel~.", 100);
}

static void test_device_bound(void)
{
	assert_predicted(idle_device, "scale:kernel~K=4", 30 + 120);
	assert_predicted(late_device, "scale:kernel~K=2", 30 + 220 - 40);
	assert_predicted(half_devices, "scale:kernel~K=4", (150 + 100) / 2.0);
	assert_predicted(two_ranks, "bandwidth=0.5x", 90 + 40 - 10);
	assert_predicted(two_ranks, "bandwidth=2x", 100);
}

/* The first is not replayed, but what is left of its kernel is: 20 us become 40; then kernels of 180 follow each
 * other 10 apart. */
static void test_device_pace(void)
{
	assert_predicted(three_steps, "", 100);
	assert_predicted(three_steps, "scale:kernel~K=2",
			 ((40 + 10 + 180 - 20) + (10 + 180)) / 2.0);
	/* K is over at 450, and was 90 after the first host's step, but before the second's: 360 and 450 */
	assert_predicted(long_kernel, "scale:kernel~K=2", ((360 - 100) + (450 - 360)) / 2.0);
}

static TachoPrediction *predict_text(TachoTimeline *timeline, const gchar *what_ifs)
{
	g_autoptr(GError) error = NULL;
	TachoPrediction *prediction = predict(timeline, what_ifs, &error);

	g_assert_no_error(error);
	return prediction;
}

/* The path ends with what the device does, and adds up to the step. */
static void test_path(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(late_device);
	g_autoptr(TachoTimeline) again = timeline_from_text(late_device);
	g_autoptr(TachoPrediction) as_is = predict_text(timeline, "");
	g_autoptr(TachoPrediction) slower = predict_text(again, "scale:kernel~K=2");
	const TachoTable *path = slower->critical_path;
	guint n_rows = tacho_table_n_rows(path);
	gdouble sum_ms = 0;

	g_assert_false(as_is->path_ends_on_device);
	g_assert_cmpuint(as_is->n_device_bound_steps, ==, 0);
	g_assert_true(has_note(as_is, "a device was 0.040 ms behind its host"));
	g_assert_true(slower->path_ends_on_device);
	g_assert_cmpuint(slower->n_device_bound_steps, ==, 1);
	g_assert_cmpuint(n_rows, >, 0);
	g_assert_cmpstr(tacho_table_cell_text(path, n_rows - 1, "what"), ==, "device");
	for (guint i = 0; i < n_rows; i++)
		sum_ms += tacho_table_cell_number(path, i, "duration_ms");
	g_assert_cmpfloat_with_epsilon(sum_ms, slower->predicted_step_ms, 1e-9);
}

/* What 1 % is worth: of a device that nobody waits for, nothing; of one that ends the step, as much as it takes. */
static void test_sensitivity(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(idle_device);
	g_autoptr(TachoTimeline) again = timeline_from_text(idle_device);
	g_autoptr(TachoPrediction) as_is = predict_text(timeline, "");
	g_autoptr(TachoPrediction) slower = predict_text(again, "scale:kernel~K=1000");
	g_autoptr(TachoTable) before = tacho_replay_sensitivity(as_is->graph, NULL);
	g_autoptr(TachoTable) after = tacho_replay_sensitivity(slower->graph, NULL);

	for (guint i = 0; i < tacho_table_n_rows(before); i++)
		if (strcmp(tacho_table_cell_text(before, i, "what"), "device") == 0)
			g_assert_cmpfloat(tacho_table_cell_number(before, i, "gain_ms"), ==, 0);
	for (guint i = 0; i < tacho_table_n_rows(after); i++)
		if (strcmp(tacho_table_cell_text(after, i, "what"), "device") == 0)
			g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(after, i, "gain_ms"),
						       30 - 30 / 1.01, 1e-3);
}

/* As recorded, a step is the host's; that it cannot go on so is said. */
static void test_runaway(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(runaway_host);
	g_autoptr(TachoTimeline) again = timeline_from_text(runaway_host);
	g_autoptr(TachoPrediction) prediction = predict_text(timeline, "");
	g_autoptr(TachoPrediction) slower = predict_text(again, "scale:kernel~K=1.2");

	g_assert_cmpfloat_with_epsilon(prediction->predicted_step_ms, 0.1, 1e-9);
	g_assert_true(has_note(prediction, "fell 0.050 ms further behind"));
	g_assert_true(has_note(prediction, "0.150 ms"));
	g_assert_cmpfloat_with_epsilon(slower->predicted_step_ms, 0.13, 1e-9);
	g_assert_cmpuint(slower->n_device_bound_steps, ==, 3);
}

static void assert_unfolded(const gchar *what_ifs, guint32 n_ranks)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_ranks);
	g_autoptr(TachoPrediction) prediction = predict_text(timeline, what_ifs);
	g_autoptr(GError) error = NULL;

	g_assert_cmpuint(prediction->n_device_bound_steps, ==, 1);
	g_assert_true(tacho_prediction_unfold(prediction, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(prediction->unfolded_ranks, ==, n_ranks);
	g_assert_cmpfloat(prediction->unfolded_step_ms, ==, prediction->predicted_step_ms);
}

/* Copies of ranks are as far behind, also those that are played by themselves. */
static void test_unfolded(void)
{
	assert_unfolded("bandwidth=0.1x;ranks=6", 6);
	assert_unfolded("bandwidth=0.1x;ranks=6;straggler:2=1.5", 6);
	assert_unfolded("bandwidth=0.1x;ranks=6;straggler:3,5=0.5", 6);
}

/* --- properties ------------------------------------------------------------------------------- */

/* What a rank's host and devices did, as text: launches, calls that wait for the device, and now and then time. */
struct writer {
	GRand *rand;
	GString *calls, *streams[3];
	gint at, free[3], n;
};

static void write_call(struct writer *writer)
{
	gint stream = g_rand_int_range(writer->rand, 0, 3), begin, end;
	gint came = writer->at + g_rand_int_range(writer->rand, 4, 20);
	gint next = writer->free[stream] + g_rand_int_range(writer->rand, 0, 4);

	if (g_rand_int_range(writer->rand, 0, 8) == 0) {
		end = writer->at + 2;
		for (guint i = 0; i < 3; i++)
			end = MAX(end, writer->free[i] + 1);
		g_string_append_printf(writer->calls, "runtime cudaDeviceSynchronize %d..%d\n",
				       writer->at, end);
		writer->at = end + 1;
		return;
	}
	begin = MAX(came, next);
	end = begin + g_rand_int_range(writer->rand, 1, 30);
	g_string_append_printf(writer->calls, "runtime l%d %d..%d\n", writer->n, writer->at,
			       writer->at + 3);
	g_string_append_printf(writer->streams[stream], "kernel k %d..%d launch=l%d\n", begin, end,
			       writer->n++);
	writer->free[stream] = end;
	writer->at += 3 + g_rand_int_range(writer->rand, 0, 20);
}

static void write_rank(GString *text, GRand *rand, gint rank, gint n_steps)
{
	struct writer writer = { .rand = rand, .calls = g_string_new(NULL) };

	for (guint i = 0; i < 3; i++)
		writer.streams[i] = g_string_new(NULL);
	g_string_append_printf(text, "rank %d thread %d main\n", rank, 1000 + rank);
	for (gint step = 0; step < n_steps; step++) {
		gint begin = writer.at, n_calls = g_rand_int_range(rand, 1, 8);

		for (gint i = 0; i < n_calls; i++)
			write_call(&writer);
		g_string_append_printf(text, "annotation ProfilerStep#%d %d..%d\n", step, begin,
				       writer.at);
	}
	g_string_append(text, writer.calls->str);
	for (guint i = 0; i < 3; i++) {
		if (writer.streams[i]->len > 0)
			g_string_append_printf(text, "stream %u s%u\n%s", i, i,
					       writer.streams[i]->str);
		g_string_free(writer.streams[i], TRUE);
	}
	g_string_free(writer.calls, TRUE);
}

/* The graph of a made-up job, with its lags. */
static TachoGraph *random_graph(guint seed, TachoTimeline **ret_timeline)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
	g_autoptr(GString) text = g_string_new("unit us\n");
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) replay = NULL;
	gint n_ranks = g_rand_int_range(rand, 1, 4), n_steps = g_rand_int_range(rand, 1, 5);
	TachoGraph *graph;

	for (gint rank = 0; rank < n_ranks; rank++)
		write_rank(text, rand, rank, n_steps);
	*ret_timeline = timeline_from_text(text->str);
	tacho_correlate(*ret_timeline);
	graph = tacho_graph_build(*ret_timeline, -1, -1, &error);
	g_assert_no_error(error);
	replay = tacho_replay_run(graph, &error);
	g_assert_no_error(error);
	replay_measure_lags(graph, replay);
	return graph;
}

static void assert_as_measured(const TachoGraph *graph, const TachoReplay *replay)
{
	g_autoptr(GArray) steps = replay_step_times(replay);
	const GArray *rows = graph->timeline->steps;

	for (guint32 step = 0; step < steps->len; step++) {
		gint64 sum_ns = 0;

		for (guint i = 0; i < rows->len; i++) {
			const TachoStep *row = &g_array_index(rows, TachoStep, i);

			if (row->number == step)
				sum_ns += row->end_ns - row->start_ns;
		}
		g_assert_cmpint(g_array_index(steps, gint64, step), ==,
				sum_ns / graph->timeline->ranks->len);
	}
}

/* In each cell, when the step is over. */
static GArray *ends_of_steps(const TachoReplay *replay)
{
	GArray *ends = g_array_new(FALSE, FALSE, sizeof(gint64));
	struct step_marks marks;
	g_autofree struct step_span *spans = NULL;

	step_marks_init(&marks, replay->graph);
	spans = g_new(struct step_span, marks.n_steps);
	for (guint32 rank = 0; rank < marks.n_ranks; rank++) {
		step_marks_spans(&marks, replay->end_ns, rank, spans);
		for (guint32 step = 0; step < marks.n_steps; step++) {
			g_assert_cmpint(spans[step].end_ns, >=, spans[step].begin_ns);
			g_array_append_val(ends, spans[step].end_ns);
		}
	}
	step_marks_release(&marks);
	return ends;
}

/* By a slow device, no step is over sooner, and the last one of each rank is over later or at once. */
static void assert_slower(TachoGraph *graph, const TachoReplay *measured)
{
	g_autoptr(GArray) before = ends_of_steps(measured), after = NULL;
	g_autoptr(TachoReplay) replay = NULL;

	if (!tacho_graph_what_if(graph, "scale:kernel~k=1.7", NULL))
		return; /* there are none */
	replay = tacho_replay_run(graph, NULL);
	g_assert_nonnull(replay);
	after = ends_of_steps(replay);
	g_assert_cmpuint(before->len, ==, after->len);
	for (guint i = 0; i < before->len; i++)
		g_assert_cmpint(g_array_index(after, gint64, i), >=,
				g_array_index(before, gint64, i));
}

/* What a trial says is what a whole replay says. */
static void assert_trial_as_whole(const TachoGraph *graph)
{
	g_autoptr(TachoGraph) changed = graph_copy(graph);
	g_autoptr(TachoReplay) whole = NULL;
	g_autoptr(GArray) edits = g_array_new(FALSE, FALSE, sizeof(struct trial_edit));
	struct trial_base *base = trial_base_new(graph, NULL);
	struct replay_trial *trial = replay_trial_new(base);

	for (guint32 i = 0; i < graph->nodes->len; i++) {
		struct trial_edit edit = { .node = i };

		if (graph_node_at(graph, i)->kind != TACHO_NODE_DEVICE)
			continue;
		edit.duration_ns = 3 * graph->duration_ns[i];
		graph_node_at(changed, i)->duration_ns = edit.duration_ns;
		g_array_append_val(edits, edit);
	}
	g_assert_true(graph_freeze(changed, NULL));
	whole = tacho_replay_run(changed, NULL);
	g_assert_true(replay_trial_play(trial, (const struct trial_edit *)(void *)edits->data,
					edits->len, NULL));
	g_assert_cmpfloat(replay_trial_step_ns(trial), ==, replay_median_step_ns(whole));
	replay_trial_free(trial);
	trial_base_free(base);
}

static void test_random(void)
{
	for (guint seed = 0; seed < 200; seed++) {
		g_autoptr(TachoTimeline) timeline = NULL;
		g_autoptr(TachoGraph) graph = random_graph(seed, &timeline);
		g_autoptr(TachoReplay) replay = tacho_replay_run(graph, NULL);

		g_assert_nonnull(replay);
		assert_as_measured(graph, replay);
		assert_trial_as_whole(graph);
		assert_slower(graph, replay);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/device-lag/host-bound", test_host_bound);
	g_test_add_func("/device-lag/device-bound", test_device_bound);
	g_test_add_func("/device-lag/device-pace", test_device_pace);
	g_test_add_func("/device-lag/path", test_path);
	g_test_add_func("/device-lag/sensitivity", test_sensitivity);
	g_test_add_func("/device-lag/runaway", test_runaway);
	g_test_add_func("/device-lag/unfolded", test_unfolded);
	g_test_add_func("/device-lag/random", test_random);
	return g_test_run();
}
