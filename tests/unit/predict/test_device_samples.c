/* Replays of real traces with devices. The samples are looked for in $TACHO_SHARED or beside the source; where
 * they are not, the tests are skipped. */
#include <tacho/correlate.h>
#include <tacho/import.h>
#include <tacho/replay.h>

#include "graph/graph_internal.h"
#include "foreign_traces.h"
#include "timeline_text.h"

static TachoTimeline *open_sample(const gchar *name)
{
	g_autofree gchar *below = g_build_filename("kineto", name, NULL);

	return foreign_open_sample(below);
}

/* Every node of the graph of what was measured begins in the replay when it did. */
static void test_as_measured(gconstpointer data)
{
	g_autoptr(TachoTimeline) timeline = open_sample(data);
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(TachoReplay) replay = NULL;
	g_autoptr(GError) error = NULL;
	guint n_wrong = 0;

	if (!timeline)
		return;
	graph = tacho_graph_build(timeline, -1, -1, &error);
	g_assert_no_error(error);
	replay = tacho_replay_run(graph, &error);
	g_assert_no_error(error);
	for (guint32 i = 0; i < tacho_graph_n_nodes(graph); i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		g_autofree gchar *name = NULL;

		if (tacho_replay_begin_ns(replay, i) == node->begin_ns)
			continue;
		name = graph_describe_node(graph, i);
		if (n_wrong++ < 10)
			g_test_message("node %u %s: %" G_GINT64_FORMAT
				       " instead of %" G_GINT64_FORMAT,
				       i, name, tacho_replay_begin_ns(replay, i), node->begin_ns);
	}
	g_assert_cmpuint(n_wrong, ==, 0);
}

/* Hosts that hardly wait for their devices: with a hundredth of the bandwidth, these end the step, much later. */
static void test_falls_behind(void)
{
	static const gchar *const what_ifs[] = { "bandwidth=0.01x" };
	g_autoptr(TachoTimeline) timeline = open_sample("megatron_tp8");
	g_autoptr(TachoPrediction) prediction = NULL;
	g_autoptr(GError) error = NULL;

	if (!timeline)
		return;
	prediction = tacho_predict(timeline, what_ifs, 1, -1, -1, &error);
	g_assert_no_error(error);
	g_assert_cmpfloat(prediction->baseline_step_ms, ==, prediction->measured_step_ms);
	g_assert_cmpfloat(prediction->predicted_step_ms, >, 5 * prediction->measured_step_ms);
	g_assert_true(prediction->path_ends_on_device);
}

int main(int argc, char **argv)
{
	static const gchar *const samples[] = {
		"megatron_tp8",
		"hta/ns_resolution_trace",
		"hta/amd_trace",
		"hta/critical_path/cuda_event_sync",
		"param/linear_kineto.json.gz",
		"tracelens/mi300/ddp_resnet18_no_pool",
		"tracelens/inference/vllm_prefilldecode_piecewise",
		"hta/critical_path/alexnet",
		"tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
		"tracelens/inference/vllm_decode_full",
		"tracelens/inference/sglang_decode",
		"tracelens/b200",
		"tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
		"hta/critical_path/cuda_event_sync_multi_stream",
		"kineto/samples/resnet50_num_workers_0",
		"kineto/samples/resnet50_num_workers_4",
	};

	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autofree gchar *path =
			g_strdup_printf("/device-samples/as-measured/%s", samples[i]);

		g_test_add_data_func(path, samples[i], test_as_measured);
	}
	g_test_add_func("/device-samples/falls-behind", test_falls_behind);
	return g_test_run();
}
