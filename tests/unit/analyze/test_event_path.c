/* The critical path of one rank's events: small ones by hand, and what HTA's tests expect of its examples
 * (A1, A4 to A8 and A15 of the README beside them). The samples are looked for in $TACHO_SHARED or beside the
 * source; where they are not, their tests are skipped. */
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/event_path.h>
#include <tacho/graph.h>
#include <tacho/import.h>

#include "foreign_traces.h"
#include "timeline_text.h"

#define MEASURED_FORWARD "[param|pytorch.model.alex_net|0|0|0|measure|forward]"

static TachoTimeline *open_sample(const gchar *name)
{
	g_autofree gchar *below = g_build_filename("kineto", "hta", name, NULL);

	return foreign_open_sample(below);
}

static TachoEventPath *find_path(const TachoTimeline *timeline, const gchar *annotation,
				 guint instance)
{
	g_autoptr(GError) error = NULL;
	gint32 rank = g_array_index(timeline->ranks, TachoRank, 0).rank;
	TachoEventPath *path = tacho_event_path_find(timeline, rank, annotation, instance, &error);

	g_assert_no_error(error);
	return path;
}

/* The slice that begins at a microsecond of the day of 1970, and whose name begins so. */
static guint32 slice_at(const TachoTimeline *timeline, const gchar *name, gint64 unix_us)
{
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (timeline->origin_unix_ns + timeline->slices.start_ns[i] == unix_us * 1000 &&
		    g_str_has_prefix(tacho_slice_name(timeline, i), name))
			return i;
	g_test_message("no %s at %" G_GINT64_FORMAT, name, unix_us);
	g_assert_not_reached();
}

static const TachoEventEdge *edge_at(const TachoEventPath *path, guint32 index)
{
	return &g_array_index(path->edges, TachoEventEdge, index);
}

/* The edge between two points, or NULL. */
static const TachoEventEdge *find_edge(const TachoEventPath *path, guint32 from, gboolean from_end,
				       guint32 to, gboolean to_end)
{
	for (guint i = 0; i < path->edges->len; i++) {
		const TachoEventEdge *edge = edge_at(path, i);

		if (edge->from == from && edge->to == to && edge->from_end == from_end &&
		    edge->to_end == to_end)
			return edge;
	}
	return NULL;
}

static void assert_edge(const TachoEventPath *path, guint32 from, gboolean from_end, guint32 to,
			gboolean to_end, TachoEventEdgeKind kind, gint64 weight_us)
{
	const TachoEventEdge *edge = find_edge(path, from, from_end, to, to_end);

	g_assert_nonnull(edge);
	g_assert_cmpuint(edge->kind, ==, kind);
	g_assert_cmpint(edge->weight_ns, ==, weight_us * 1000);
}

/* Consecutive edges meet, and each that weighs something is in some event, or on the way to a device. */
static void assert_path(const TachoEventPath *path)
{
	g_assert_cmpuint(path->path->len, >, 0);
	for (guint i = 0; i < path->path->len; i++) {
		const TachoEventEdge *edge = edge_at(path, g_array_index(path->path, guint32, i));

		if (i > 0) {
			const TachoEventEdge *before =
				edge_at(path, g_array_index(path->path, guint32, i - 1));

			g_assert_cmpuint(before->to, ==, edge->from);
			g_assert_cmpuint(before->to_end, ==, edge->from_end);
		}
		g_assert_nonnull(tacho_event_edge_bound(path->timeline, edge));
		if (edge->kind == TACHO_EVENT_EDGE_WORK || edge->kind == TACHO_EVENT_EDGE_GAP)
			g_assert_cmpuint(edge->slice, !=, TACHO_NONE);
	}
}

static guint n_shown(const TachoEventPath *path)
{
	guint n = 0;

	for (guint i = 0; i < path->path->len; i++) {
		TachoEventEdgeKind kind =
			edge_at(path, g_array_index(path->path, guint32, i))->kind;

		n += kind == TACHO_EVENT_EDGE_DEPENDENCY || kind == TACHO_EVENT_EDGE_LAUNCH ||
		     kind == TACHO_EVENT_EDGE_SYNC;
	}
	return n;
}

static guint n_bounds(const TachoEventPath *path)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < path->path->len; i++)
		g_hash_table_add(seen,
				 (gpointer)tacho_event_edge_bound(
					 path->timeline,
					 edge_at(path, g_array_index(path->path, guint32, i))));
	return g_hash_table_size(seen);
}

/* --- HTA's examples --------------------------------------------------------------------------- */

static void test_simple_add(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("critical_path/simple_add");
	g_autoptr(TachoEventPath) path = NULL;
	guint32 relu, clamp, launch, fft, gemm, last, sync;

	if (!timeline)
		return;
	path = find_path(timeline, MEASURED_FORWARD, 1);
	assert_path(path);
	relu = slice_at(timeline, "aten::relu_", 1694040009871913);
	clamp = slice_at(timeline, "aten::clamp_min_", 1694040009871928);
	launch = slice_at(timeline, "cudaLaunchKernel", 1694040009871942);
	assert_edge(path, relu, FALSE, clamp, FALSE, TACHO_EVENT_EDGE_WORK, 15);
	assert_edge(path, clamp, FALSE, launch, FALSE, TACHO_EVENT_EDGE_WORK, 14);
	assert_edge(path, launch, FALSE, launch, TRUE, TACHO_EVENT_EDGE_WORK, 17);
	assert_edge(path, launch, TRUE, clamp, TRUE, TACHO_EVENT_EDGE_WORK, 15);
	assert_edge(path, clamp, TRUE, relu, TRUE, TACHO_EVENT_EDGE_WORK, 32);
	fft = slice_at(timeline, "void fft2d_r2c_32x32", 1694040010076734);
	gemm = slice_at(timeline, "ampere_gcgemm_64x64_nt", 1694040010076804);
	assert_edge(path, timeline->slices.launch[fft], FALSE, fft, FALSE, TACHO_EVENT_EDGE_LAUNCH,
		    27);
	assert_edge(path, fft, TRUE, gemm, FALSE, TACHO_EVENT_EDGE_GAP, 7);
	assert_edge(path, timeline->slices.launch[gemm], FALSE, gemm, FALSE,
		    TACHO_EVENT_EDGE_LAUNCH, 0);
	last = slice_at(timeline, "void epilogue::impl::globalKernel", 1694040010096876);
	sync = slice_at(timeline, "cudaDeviceSynchronize", 1694040010097115);
	assert_edge(path, last, TRUE, sync, TRUE, TACHO_EVENT_EDGE_SYNC, 0);
	g_assert_cmpuint(path->path->len, ==, 314); /* so 315 nodes */
	g_assert_cmpuint(tacho_event_path_n_slices(path), ==, 159);
	g_assert_cmpuint(n_shown(path), ==, 21);
}

static void test_unknown_annotation(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("critical_path/simple_add");
	g_autoptr(TachoEventPath) path = NULL;
	g_autoptr(GError) error = NULL;

	if (!timeline)
		return;
	path = tacho_event_path_find(timeline, 0, "no such annotation", 0, &error);
	g_assert_null(path);
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS);
}

/* A8: the whole trace. HTA's overlaid file has 624 events on the path, and 192 arrows; of paths of one weight
 * through calls that take no microsecond ours takes another in one place. */
static void test_whole_trace(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("critical_path/simple_add");
	g_autoptr(TachoEventPath) path = NULL;

	if (!timeline)
		return;
	path = find_path(timeline, "", 0);
	assert_path(path);
	g_assert_cmpuint(tacho_event_path_n_slices(path), >=, 618); /* within 1 % */
	g_assert_cmpuint(tacho_event_path_n_slices(path), <=, 630);
	g_assert_cmpuint(n_shown(path), >=, 191);
	g_assert_cmpuint(n_shown(path), <=, 193);
}

static void test_alexnet(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("critical_path/alexnet");
	g_autoptr(TachoEventPath) path = NULL;

	if (!timeline)
		return;
	path = find_path(timeline, MEASURED_FORWARD, 1);
	assert_path(path);
	g_assert_cmpuint(path->path->len, ==, 148); /* so 149 nodes */
	g_assert_cmpuint(n_bounds(path), ==, 5);
	assert_edge(path, slice_at(timeline, "void fft2d_c2r_32x32<float", 1695835585860487), TRUE,
		    slice_at(timeline, "void at::native::elementwise_kernel", 1695835585860634),
		    FALSE, TACHO_EVENT_EDGE_SYNC, 0);
}

/* A6 */
static void test_event_sync(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("critical_path/cuda_event_sync");
	g_autoptr(TachoEventPath) path = NULL;
	guint32 spin, query;

	if (!timeline)
		return;
	path = find_path(timeline, "ProfilerStep", 0);
	assert_path(path);
	spin = slice_at(timeline, "at::cuda::(anonymous namespace)::spin_kernel(long)",
			1707417525512372);
	query = slice_at(timeline, "cudaEventQuery", 1707417525512419);
	assert_edge(path, spin, TRUE, slice_at(timeline, "cudaEventSynchronize", 1707417525512382),
		    TRUE, TACHO_EVENT_EDGE_SYNC, 0);
	assert_edge(path, spin, TRUE, slice_at(timeline, "cudaDeviceSynchronize", 1707417525512474),
		    TRUE, TACHO_EVENT_EDGE_SYNC, 0);
	g_assert_null(find_edge(path, spin, TRUE, query, TRUE));
}

/* A7: no annotation, so all of the trace. */
static void test_event_of_stream(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_sample("critical_path/cuda_event_sync_multi_stream");
	g_autoptr(TachoEventPath) path = NULL;

	if (!timeline)
		return;
	path = find_path(timeline, "", 0);
	assert_path(path);
	assert_edge(path, slice_at(timeline, "ampere_sgemm_128x64_nn", 1712867402348700), TRUE,
		    slice_at(timeline, "Memset (Device)", 1712867402368034), FALSE,
		    TACHO_EVENT_EDGE_SYNC, 0);
}

/* A1, A15. The second step of the AMD trace holds no operation at all: its path is its own time. */
static void test_success(gconstpointer data)
{
	g_autoptr(TachoTimeline) timeline = open_sample(data);
	g_autoptr(TachoEventPath) path = NULL;

	if (!timeline)
		return;
	path = find_path(timeline, "ProfilerStep", 1);
	assert_path(path);
}

/* --- by hand ---------------------------------------------------------------------------------- */

static const gchar *const one_stream =
	"unit us\n"
	"rank 0 thread 1000 main\n"
	"  annotation part 0..200\n"
	"    op a 10..40\n"
	"      runtime launchA 20..25\n"
	"      runtime launchB 30..35\n"
	"    runtime cudaDeviceSynchronize 50..120\n"
	"    op after 130..140\n"
	"  stream 7\n"
	"    kernel A 28..60 launch=launchA\n"
	"    kernel B 62..110 launch=launchB\n"
	"  stream 9\n"
	"    sync 'Context Sync' 50..119 launch=cudaDeviceSynchronize\n"
	"  annotation devices 0..10\n";

/* By the launch of A, A, the gap, and B to the call that waits, which weighs nothing; and on. */
static void test_weights(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(one_stream);
	g_autoptr(TachoEventPath) path = NULL;
	gint64 length_ns = 0;

	path = find_path(timeline, "part", 0);
	assert_path(path);
	for (guint i = 0; i < path->path->len; i++)
		length_ns += edge_at(path, g_array_index(path->path, guint32, i))->weight_ns;
	g_assert_cmpint(length_ns, ==, (10 + 8 + 32 + 2 + 48 + 0 + 0 + 10) * 1000);
	assert_edge(path, timeline_find(timeline, "launchB", 0), FALSE,
		    timeline_find(timeline, "B", 0), FALSE, TACHO_EVENT_EDGE_LAUNCH, 0);
}

/* B, on a stream of its own, waits for A, which the host does not: it asks for A, and waits for B. */
static const gchar two_streams[] =
	"unit us\n"
	"rank 0 thread 1 main\n"
	"  annotation part 0..140\n"
	"    op work 0..45\n"
	"      runtime launchA 2..4\n"
	"      runtime cudaEventRecord 4..5\n"
	"      runtime cudaStreamWaitEvent 6..8\n"
	"      runtime launchB 10..12\n"
	"      runtime launchC 13..14\n"
	"    runtime cudaEventQuery 46..47\n"
	"    runtime cudaEventSynchronize 50..121\n"
	"    op after 125..140\n"
	"  stream 7\n"
	"    kernel A 8..60 launch=launchA\n"
	"    sync 'Event Sync' 46..47 launch=cudaEventQuery waits_for=A\n"
	"  stream 9\n"
	"    sync 'Stream Wait Event' 8..9 launch=cudaStreamWaitEvent waits_for=A\n"
	"    kernel B 62..120 launch=launchB\n"
	"    kernel C 120..121 launch=launchC\n"
	"    sync 'Event Sync' 120..121 launch=cudaEventSynchronize waits_for=B\n";

static void test_events(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_streams);
	g_autoptr(TachoEventPath) path = NULL;
	guint32 a, b, wait, query;
	guint n_flows = 0;

	tacho_correlate(timeline);
	path = find_path(timeline, "part", 0);
	assert_path(path);
	a = timeline_find(timeline, "A", 0);
	b = timeline_find(timeline, "B", 0);
	wait = timeline_find(timeline, "cudaEventSynchronize", 0);
	query = timeline_find(timeline, "cudaEventQuery", 0);
	assert_edge(path, timeline_find(timeline, "launchA", 0), FALSE, a, FALSE,
		    TACHO_EVENT_EDGE_LAUNCH, 6);
	assert_edge(path, a, TRUE, b, FALSE, TACHO_EVENT_EDGE_SYNC, 0);
	assert_edge(path, timeline_find(timeline, "launchB", 0), FALSE, b, FALSE,
		    TACHO_EVENT_EDGE_LAUNCH, 0);
	assert_edge(path, b, TRUE, timeline_find(timeline, "C", 0), FALSE, TACHO_EVENT_EDGE_GAP, 0);
	assert_edge(path, b, TRUE, wait, TRUE, TACHO_EVENT_EDGE_SYNC, 0);
	g_assert_null(find_edge(path, a, TRUE, query, TRUE));
	g_assert_null(find_edge(path, a, TRUE, timeline_find(timeline, "C", 0), FALSE));

	/* to A, to B, to the end of the wait, and from there to what follows it */
	tacho_event_path_mark(path, timeline);
	for (guint i = 0; i < timeline->flows->len; i++)
		n_flows += g_array_index(timeline->flows, TachoFlow, i).kind == TACHO_FLOW_CRITICAL;
	g_assert_cmpuint(n_flows, ==, 4);
	g_assert_true(timeline->slices.flags[a] & TACHO_SLICE_CRITICAL);
	g_assert_true(timeline->slices.flags[b] & TACHO_SLICE_CRITICAL);
	g_assert_false(timeline->slices.flags[query] & TACHO_SLICE_CRITICAL);
}

static void test_no_such(void)
{
	static const struct {
		gint32 rank;
		const gchar *annotation;
		guint instance;
		const gchar *message;
	} cases[] = {
		{ 3, "part", 0, "the run has no rank 3" },
		{ 0, "none", 0, "rank 0 has 0 annotations whose name contains 'none'" },
		{ 0, "part", 7,
		  "rank 0 has 1 annotations whose name contains 'part'; they count from 0" },
	};
	g_autoptr(TachoTimeline) timeline = correlated(one_stream);

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		TachoEventPath *path = tacho_event_path_find(
			timeline, cases[i].rank, cases[i].annotation, cases[i].instance, &error);

		g_assert_null(path);
		g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS);
		g_assert_cmpstr(error->message, ==, cases[i].message);
	}
}

/* What HTA 0.5.0 finds in the samples with several streams, in microseconds: in work, on the way from launches, and
 * between kernels. HTA has a launch only where nothing else had been queued by the time the kernel began, else a gap, even
 * after a pause of the stream that ended with the launch; its figures of those marked are without that condition.
 * Not here are those of which times are told in nanoseconds and which HTA rounds to microseconds, so that it takes another
 * of the paths that are then as long: trace_diff/test, nccl_parser_config and sglang_decode. */
static void test_streams_of_samples(void)
{
	static const struct {
		const gchar *path, *annotation;
		guint instance;
		gint64 work_us, launch_us, gap_us;
	} samples[] = {
		{ "critical_path/cuda_event_sync_multi_stream", "", 0, 1149, 14, 15 },
		{ "critical_path/alexnet", MEASURED_FORWARD, 0, 78696, 30, 50 },
		{ "critical_path/alexnet", MEASURED_FORWARD, 1, 35754, 30, 50 },
		{ "critical_path/alexnet", "", 0, 43353463, 2036, 66 }, /* marked */
		{ "critical_path/simple_add", MEASURED_FORWARD, 0, 294670, 17, 9 },
		{ "critical_path/simple_add", MEASURED_FORWARD, 1, 241698, 17, 9 },
		{ "critical_path/simple_add", "", 0, 41433447, 1591, 23 }, /* marked */
		{ "trace_compare/test", "ProfilerStep", 0, 6, 57176, 0 },
		{ "trace_compare/base", "ProfilerStep", 0, 6, 57176, 0 },
		{ "trace_filter/sampled_rank-1.json.gz", "ProfilerStep", 0, 271680, 6,
		  34 }, /* m. */
		{ "timeline_analysis/sampled_rank-0.json.gz", "ProfilerStep", 0, 267545, 6, 30 },
		{ "trace_diff/control", "ProfilerStep", 0, 38626, 13, 584 }, /* marked */
		{ "trace_diff/control", "ProfilerStep", 1, 39723, 14, 550 }, /* marked */
		{ "../megatron_tp8/megatron_kineto_0.json.gz", "ProfilerStep", 0, 541194, 0, 0 },
		/* all marked */
		{ "../megatron_tp8/megatron_kineto_1.json.gz", "ProfilerStep", 0, 520472, 26,
		  17634 },
		{ "../megatron_tp8/megatron_kineto_2.json.gz", "ProfilerStep", 0, 455264, 7144,
		  21404 },
		{ "../megatron_tp8/megatron_kineto_3.json.gz", "ProfilerStep", 0, 524520, 8629,
		  64314 },
		{ "../megatron_tp8/megatron_kineto_4.json.gz", "ProfilerStep", 0, 446797, 40,
		  43402 },
		{ "../megatron_tp8/megatron_kineto_5.json.gz", "ProfilerStep", 0, 500696, 33,
		  24030 },
		{ "../megatron_tp8/megatron_kineto_6.json.gz", "ProfilerStep", 0, 505017, 9, 7095 },
		{ "../megatron_tp8/megatron_kineto_7.json.gz", "ProfilerStep", 0, 136356, 31180,
		  433258 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autoptr(TachoTimeline) timeline = open_sample(samples[i].path);
		g_autoptr(TachoEventPath) path = NULL;
		gint64 sums_ns[TACHO_N_EVENT_EDGES] = { 0 };

		if (!timeline)
			return;
		g_test_message("%s %s %u", samples[i].path, samples[i].annotation,
			       samples[i].instance);
		path = find_path(timeline, samples[i].annotation, samples[i].instance);
		for (guint k = 0; k < path->path->len; k++) {
			const TachoEventEdge *edge =
				edge_at(path, g_array_index(path->path, guint32, k));

			sums_ns[edge->kind] += edge->weight_ns;
		}
		g_assert_cmpint(ABS(sums_ns[TACHO_EVENT_EDGE_WORK] - samples[i].work_us * 1000), <,
				1000);
		g_assert_cmpint(ABS(sums_ns[TACHO_EVENT_EDGE_LAUNCH] - samples[i].launch_us * 1000),
				<, 1000);
		g_assert_cmpint(ABS(sums_ns[TACHO_EVENT_EDGE_GAP] - samples[i].gap_us * 1000), <,
				1000);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/event-path/simple-add", test_simple_add);
	g_test_add_func("/event-path/unknown-annotation", test_unknown_annotation);
	g_test_add_func("/event-path/whole-trace", test_whole_trace);
	g_test_add_func("/event-path/alexnet", test_alexnet);
	g_test_add_func("/event-path/event-sync", test_event_sync);
	g_test_add_func("/event-path/event-of-stream", test_event_of_stream);
	g_test_add_func("/event-path/weights", test_weights);
	g_test_add_func("/event-path/events", test_events);
	g_test_add_func("/event-path/no-such", test_no_such);
	g_test_add_data_func("/event-path/amd", "amd_trace", test_success);
	g_test_add_data_func("/event-path/nanoseconds", "ns_resolution_trace", test_success);
	g_test_add_func("/event_path/streams_of_samples", test_streams_of_samples);
	return g_test_run();
}
