/* What-ifs on timelines whose results can be computed by hand. Times are microseconds. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "job_graph.h"
#include "job_text.h"
#include "predicted.h"
#include "replay/replay_internal.h"
#include "timeline_text.h"

/* Rank 2 comes later still: 4 us are left for the all-reduce. */
static const gchar *const three_ranks =
	"unit us\n"
	"rank 0 thread 1000 main\n"
	"  annotation ProfilerStep#0 0..100\n"
	"    op a 0..30\n"
	"    op c10d::allreduce_ 30..31\n"
	"    op b 60..100\n"
	"    collective gloo:all_reduce 31..60 bytes=1024 end_tid=9\n"
	"rank 1 thread 1001 main\n"
	"  annotation ProfilerStep#0 0..100\n"
	"    op a 0..50\n"
	"    op c10d::allreduce_ 50..51\n"
	"    op b 60..100\n"
	"    collective gloo:all_reduce 51..60 bytes=1024 end_tid=9\n"
	"rank 2 thread 1002 main\n"
	"  annotation ProfilerStep#0 0..100\n"
	"    op a 0..55\n"
	"    op c10d::allreduce_ 55..56\n"
	"    op b 60..100\n"
	"    collective gloo:all_reduce 56..60 bytes=1024 end_tid=9\n";

/* --- ranks, topology, algorithm --------------------------------------------------------------- */

static void test_ranks(void)
{
	assert_predicted(job_late_rank, "ranks=2", 100);
	/* of 4 ranks each sends 2 * 3/4 of the bytes, instead of 2 * 1/2 */
	assert_predicted(job_late_rank, "ranks=4", 51 + 13.5 + 40);
	assert_predicted(job_late_rank, "ranks=1024", 51 + 9 * 2 * 1023 / 1024.0 + 40);
	assert_predicted(job_late_rank, "ranks=4;bandwidth=2x", 51 + 6.75 + 40);
	/* the ring's 2 us of waits are 4 latencies, then 12 */
	assert_predicted(job_buckets, "ranks=4", 40 + 6 + 18 + 6);
	/* twice that is 12 of 0.5 us more, of which segments of 1.5 us hide both latencies of four pairs */
	assert_predicted(job_buckets, "ranks=4;latency=2x", 40 + 6 + 6 - 4 + 18 + 6);
	assert_predicted(job_buckets, "ranks=4;latency=0ms", 40 + 18 + 6);
	/* a bucket each, of 12 us: the third from 30 on, the fourth after it */
	assert_predicted(job_buckets, "ranks=4;bucket_mb=1", 30 + 12 + 12 + 6);
	assert_refused(job_late_rank, "ranks=1", "N from 2");
	assert_refused(job_late_rank, "ranks=many", "N from 2");
	assert_refused("unit us\nrank 0 thread 1000 main\n  annotation ProfilerStep#0 0..10\n"
		       "    op a 0..10\n",
		       "ranks=2", "one rank");
	/* fewer: rank 2 is no longer waited for, and each sends 1 instead of 4/3 of the bytes */
	assert_predicted(three_ranks, "ranks=3", 100);
	assert_predicted(three_ranks, "ranks=2", 51 + 3 + 40);
	/* of two numbers of ranks the later counts, and these are those recorded */
	assert_predicted(three_ranks, "ranks=2;ranks=3", 100);
}

static void test_algorithm(void)
{
	/* two trees pass all bytes up and down; a ring of two passes half of them twice */
	assert_predicted(job_late_rank, "algorithm=tree", 51 + 18 + 40);
	assert_predicted(job_late_rank, "algorithm=ring", 100);
	/* pushed, then pulled, through the one server's link; two of them are no narrower than ranks' */
	assert_predicted(job_late_rank, "algorithm=ps", 51 + 36 + 40);
	assert_predicted(job_late_rank, "algorithm=ps:2", 51 + 18 + 40);
	assert_predicted(job_late_rank, "algorithm=ps:200", 51 + 18 + 40);
	/* two latencies instead of gloo's four */
	assert_predicted(job_buckets, "algorithm=ring", 40 + 1 + 12 + 6);
	assert_predicted(job_buckets, "algorithm=ring;bucket_mb=1", 40 + 1 + 4 + 6);
	assert_predicted(job_buckets, "algorithm=tree;bandwidth=2x", 40 + 1 + 12 + 6);
	assert_refused(job_late_rank, "algorithm=magic", "write algorithm=");
	assert_refused(job_late_rank, "algorithm=ring:2", "write algorithm=");
	assert_refused(job_late_rank, "algorithm=ps:0", "write algorithm=");
	assert_refused(job_late_rank, "algorithm=hierarchical", "topology");
}

static gchar *write_topology(const gchar *text)
{
	g_autoptr(GError) error = NULL;
	gchar *path = NULL;
	gint file = g_file_open_tmp("topology-XXXXXX.ini", &path, &error);

	g_assert_no_error(error);
	g_assert_true(g_close(file, NULL));
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	return path;
}

static void assert_with_topology(const gchar *topology, const gchar *what_ifs, gdouble expected_us)
{
	g_autofree gchar *path = write_topology(topology);
	g_autofree gchar *all = g_strdup_printf("topology=%s;%s", path, what_ifs);

	assert_predicted(job_late_rank, all, expected_us);
	g_unlink(path);
}

static void test_topology(void)
{
	/* 1 ns a byte within hosts of two ranks, 2 ns between hosts */
	static const gchar hosts[] = "[host]\nsize = 2\nbandwidth = 8gbit\nlatency = 1us\n"
				     "[network]\nbandwidth = 4gbit\nlatency = 10us\n";
	static const gchar faster[] = "[host]\nbandwidth=8gbit\n";

	/* 12 latencies of the slowest link, 1.5 * 1024 bytes */
	assert_with_topology(hosts, "ranks=4", 51 + 120 + 3.072 + 40);
	assert_with_topology(hosts, "ranks=4;algorithm=ring", 51 + 60 + 3.072 + 40);
	/* one step within a host, one between: up and down */
	assert_with_topology(hosts, "ranks=4;algorithm=tree", 51 + 22 + 4.096 + 40);
	assert_with_topology(hosts, "ranks=4;algorithm=hierarchical", 51 + 22 + 1.024 + 2.048 + 40);
	/* a host's link carries two ranks' bytes, as do those of each of two servers */
	assert_with_topology(hosts, "ranks=4;algorithm=ps:2", 51 + 22 + 2 * 4.096 + 40);
	/* within one host: four latencies */
	assert_with_topology(hosts, "ranks=2", 51 + 4 + 1.024 + 40);
	assert_with_topology(faster, "ranks=2", 51 + 1.024 + 40); /* latency as recorded: none */
	assert_with_topology(faster, "bandwidth=2x", 51 + 0.512 + 40);
	assert_with_topology(hosts, "bandwidth=0.5x;latency=2x;ranks=4", 51 + 240 + 6.144 + 40);
	assert_with_topology(hosts, "latency=+1us", 51 + 8 + 1.024 + 40);
}

static void test_topology_mistakes(void)
{
	static const struct {
		const gchar *text, *reason;
	} mistakes[] = {
		{ "", "0 levels" },
		{ "[a]\n[b]\n", "[a]: each level but the last" },
		{ "[a]\nsize=0\n", "[a]: size" },
		{ "[a]\nsize=-3\n", "[a]: size" },
		{ "[a]\nsize=1e99\n", "[a]: size" },
		{ "[a]\nbandwidth=10\n", "[a]: bandwidth" },
		{ "[a]\nbandwidth=0gbit\n", "[a]: bandwidth" },
		{ "[a]\nlatency=fast\n", "[a]: latency" },
		{ "[a]\nspeed=1\n", "'speed'" },
		{ "[a]\nsize=1\n", "no room for 2 ranks" },
		{ "size=1\n", "topology-" },
		{ "[a]\nsize=1\n[b]\nsize=1\n[c]\nsize=1\n[d]\nsize=1\n[e]\n", "5 levels" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(mistakes); i++) {
		g_autofree gchar *path = write_topology(mistakes[i].text);
		g_autofree gchar *what_if = g_strdup_printf("topology=%s", path);

		assert_refused(job_late_rank, what_if, mistakes[i].reason);
		g_unlink(path);
	}
	assert_refused(job_late_rank, "topology=/nowhere/at/all", "/nowhere/at/all");
}

/* A hook of the first all-reduce (20 us) computes for 10 us on the worker, and queues the second (10 us), by another worker. The main
 * thread waits for all of it, and no recorded wait of it is before the hook. */
#define HOOK_OF_A_RANK(main, worker, other)                                                        \
	"thread " #main " main\n"                                                                  \
	"  annotation ProfilerStep#0 0..60\n"                                                      \
	"    op a 0..10\n"                                                                         \
	"    op c10d::allreduce_ 10..12 in=float32[4]@0x1000\n"                                    \
	"    op b 52..60\n"                                                                        \
	"    collective gloo:all_reduce 11..52 bytes=2048 end_tid=" #worker                        \
	" in=float32[4]@0x1000\n"                                                                  \
	"thread " #worker "\n"                                                                     \
	"  op aten::mul 31..41\n"                                                                  \
	"  op c10d::allreduce_ 41..42 in=float32[4]@0x2000\n"                                      \
	"  collective gloo:all_reduce 41..51 bytes=1024 end_tid=" #other " in=float32[4]@0x2000\n" \
	"  op aten::div_ 51..52\n"                                                                 \
	"thread " #other "\n"                                                                      \
	"  op aten::zeros 1..2\n"

static void test_hooks(void)
{
	static const gchar job[] =
		"unit us\n"
		"rank 0 " HOOK_OF_A_RANK(1000, 1008, 1009) "rank 1 " HOOK_OF_A_RANK(1001, 1018,
										    1019);

	assert_predicted(job, "bandwidth=1x", 60);
	assert_predicted(job, "bandwidth=0.5x", 60 + 20 + 10);
	assert_predicted(job, "bandwidth=2x", 60 - 10 - 5);
}

/* --- buckets, parts, passes ------------------------------------------------------------------- */

static void test_fusion(void)
{
	assert_predicted(job_buckets, "fusion=1,3", 60); /* as it was */
	assert_predicted(job_buckets, "fusion=1", 60);	 /* the others make another */
	/* all in one: 2 + 16 */
	assert_predicted(job_buckets, "fusion=4", 40 + 18 + 6);
	/* the second of two begins at 40, too: 2 + 8 */
	assert_predicted(job_buckets, "fusion=2,2", 40 + 10 + 6);
	assert_predicted(job_buckets, "fusion=4;bandwidth=2x", 40 + 10 + 6);
	assert_refused(job_buckets, "fusion=5", "fewer gradients");
	assert_refused(job_buckets, "fusion=2,x", "write fusion=");
	assert_refused(job_buckets, "fusion=0", "write fusion=");
	assert_refused(job_buckets, "fusion=", "no bucket");
	assert_refused(job_late_rank, "fusion=1", "no collective of gradients");
}

/* What is packed anew is queued anew: a call of as long as the recorded ones behind the gradient that completes each bucket, and none
 * where the recorded ones were. */
static void test_calls(void)
{
	assert_predicted(job_bucket_calls, "fusion=1,3", 68); /* as it was */
	assert_predicted(job_bucket_calls, "fusion=4", 45 + 18 + 6);
	assert_predicted(job_bucket_calls, "fusion=2,2", 25 + 2 + 20 + 10 + 6);
	assert_predicted(job_bucket_calls, "fusion=1,1,1", 15 + 3 * 12 + 6 + 6);
	/* a pass that sends nothing calls nobody */
	assert_predicted(job_bucket_calls, "fusion=4;accumulate=2", 45 + 45 + 18 + 6);
	assert_predicted(job_bucket_calls, "accumulate=2", 45 + 68);
}

static void test_partition(void)
{
	/* three parts, one after the other, each with waits of its own */
	assert_predicted(job_buckets, "partition_mb=1", 40 + 3 * 6 + 6);
	/* of 1.5 MiB each */
	assert_predicted(job_buckets, "partition_mb=2", 40 + 2 * 8 + 6);
	assert_predicted(job_buckets, "partition_mb=1;bandwidth=2x", 40 + 3 * 4 + 6);
	/* pushed, then pulled: two latencies and twice the 24 us of two ranks' bytes on one link */
	assert_predicted(job_buckets, "algorithm=ps", 40 + 1 + 48 + 6);
	/* in three parts, of which two are pulled while the next is pushed */
	assert_predicted(job_buckets, "algorithm=ps;partition_mb=1", 40 + 2 + 32 + 6);
	assert_refused(job_buckets, "partition_mb=3", "no all-reduce");
	assert_refused(job_buckets, "partition_mb=0", "write partition_mb=");
	assert_refused(job_buckets, "partition_mb=1x", "write partition_mb=");
}

static void test_compress(void)
{
	/* 3 MiB are sent as 1.5: 2 us and 6 instead of 12 */
	assert_predicted(job_buckets, "compress=bf16", 40 + 8 + 6);
	assert_predicted(job_buckets, "compress=fp16;bandwidth=2x", 40 + 5 + 6);
	/* one bucket of 4 MiB, halved */
	assert_predicted(job_buckets, "fusion=4;compress=bf16", 40 + 10 + 6);
	assert_refused(job_buckets, "compress=int8", "write compress=");
	assert_refused(job_late_rank, "compress=bf16", "no collective of gradients");
}

/* A thousand parts of each of a thousand collectives. */
static void test_too_many_parts(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct job_shape shape = { .n_ranks = 4,
				   .ranks_per_host = 1,
				   .n_ops = 2000,
				   .n_steps = 1,
				   .op_ns = 1000,
				   .ops_per_collective = 2,
				   .ops_to_wait = 1,
				   .gradient_bytes = 1024 * 1024,
				   .gradients_per_collective = 1,
				   .n_workers = 1,
				   .transfer_ns = 100,
				   .seed = 1 };
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, &shape);
	guint32 n_nodes = tacho_graph_n_nodes(graph);
	g_autoptr(GError) error = NULL;

	g_assert_false(tacho_graph_what_if(graph, "partition_mb=0.001", &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF);
	g_assert_nonnull(strstr(error->message, "nodes"));
	g_assert_cmpuint(tacho_graph_n_nodes(graph), ==, n_nodes);
}

static void test_accumulate(void)
{
	assert_predicted(job_buckets, "accumulate=1", 60);
	/* 40 us up to the last gradient, once and twice more */
	assert_predicted(job_buckets, "accumulate=2", 40 + 60);
	assert_predicted(job_buckets, "accumulate=3", 80 + 60);
	assert_predicted(job_buckets, "accumulate=2;bandwidth=2x", 40 + 54);
	assert_predicted(job_buckets, "bucket_mb=1;accumulate=2", 40 + 52);
	assert_predicted(job_buckets, "accumulate=2;bucket_mb=1", 40 + 52);
	assert_refused(job_buckets, "accumulate=0", "write accumulate=");
	assert_refused(job_late_rank, "accumulate=2", "no backward pass");
}

static void test_recompute(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..100\n"
				    "    op aten::linear 0..20 seq=0\n"
				    "      op aten::addmm 2..18 seq=0\n"
				    "    op aten::relu 20..30 seq=1\n"
				    "    op ReluBackward0 40..50 backward seq=1 fwd=1\n"
				    "    op AddmmBackward0 50..70 backward seq=0 fwd=1\n"
				    "    op optimizer 70..100\n";

	assert_predicted(text, "recompute:op~^aten::relu$", 110);
	/* with all that it calls, but only once where what it calls matches, too */
	assert_predicted(text, "recompute:op~aten::(linear|addmm)", 120);
	assert_predicted(text, "recompute:op~addmm", 116);
	assert_predicted(text, "recompute:op~^aten::", 130);
	/* what is computed again takes what it takes after all changes of work */
	assert_predicted(text, "recompute:op~relu;scale:op~relu=2", 130);
	assert_predicted(text, "scale:op~relu=2;recompute:op~relu", 130);
	assert_refused(text, "recompute:op~optimizer", "no op with that name");
	assert_refused(text, "recompute:host~x", "write recompute:");
	assert_refused(text, "recompute:op~(", "missing");
}

/* A product of 2 Mflop and 120 KB that takes 20 us: 100 Gflop/s. A sum of 1 Mflop and 8 MB that takes 40:
 * 200 GB/s, and by the product's arithmetic it would take 10, by the sum's memory the product 0.6. The copy
 * moves its 8 MB at 100 GB/s; the view, of as many, cannot have. What is not known, and the host, stay. */
static void test_device(void)
{
	static const gchar text[] =
		"unit us\n"
		"rank 0 thread 1000 main\n"
		"  annotation ProfilerStep#0 0..180\n"
		"    op aten::mm 0..20 in=float32[100,100] in=float32[100,100] "
		"out=float32[100,100]\n"
		"    op aten::relu 20..60 in=float32[1000000] out=float32[1000000]\n"
		"    op mystery 60..90 in=float32[1000000]\n"
		"    op aten::view 90..100 in=float32[1000000] out=float32[1000000]\n"
		"    op aten::copy_ 100..180 in=float32[1000000] out=float32[1000000]\n";

	assert_predicted(text, "device=flops:2x", 180 - 10);
	assert_predicted(text, "device=bytes:2x", 180 - 20 - 40);
	assert_predicted(text, "device=flops:2,bytes:4", 180 - 10 - 30 - 60);
	assert_predicted(text, "device=bytes:0.5", 180 + 40 + 80);
	assert_predicted(text, "device=flops:2x;device=flops:2x", 180 - 15);
	assert_refused(job_late_rank, "device=flops:2x", "no operation of 10 us");
	assert_refused("unit us\nrank 0 thread 1000 main\n"
		       "  annotation ProfilerStep#0 0..100\n"
		       "    op aten::relu 0..20 in=float32[1000] out=float32[1000]\n"
		       "    op mystery 20..100\n",
		       "device=flops:2x", "only 20 %");
	assert_refused(text, "device=", "write device=");
	assert_refused(text, "device=A100", "no kernels of a device");
	assert_refused(text, "device=flops:0", "write device=");
	assert_refused(text, "device=flops:2x,colour:3", "write device=");
}

/* A product within another one is what computes: the caller's own 12 us are the host's, whatever its shapes. */
static void test_device_caller(void)
{
	static const gchar text[] =
		"unit us\n"
		"rank 0 thread 1000 main\n"
		"  annotation ProfilerStep#0 0..72\n"
		"    op aten::matmul 0..32 in=float32[100,100] in=float32[100,100] "
		"out=float32[100,100]\n"
		"      op aten::mm 6..26 in=float32[100,100] in=float32[100,100] "
		"out=float32[100,100]\n"
		"    op aten::relu 32..72 in=float32[1000000] out=float32[1000000]\n";

	assert_predicted(text, "device=flops:2x", 72 - 10);
	assert_predicted(text, "device=bytes:2x", 72 - 20);
	assert_predicted(text, "device=flops:2,bytes:4", 72 - 10 - 30);
}

/* --- sensitivity ------------------------------------------------------------------------------ */

/* By how much a step of `late_rank` is shorter with the thing 1 % faster. */
static void assert_gain(const TachoTable *table, const gchar *what, const gchar *name,
			gdouble gain_us, gdouble felt_pct)
{
	for (guint i = 0; i < tacho_table_n_rows(table); i++) {
		if (strcmp(tacho_table_cell_text(table, i, "what"), what) != 0 ||
		    strcmp(tacho_table_cell_text(table, i, "name"), name) != 0)
			continue;
		g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, i, "gain_ms") * 1000,
					       gain_us, 0.002);
		g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, i, "felt_pct"),
					       felt_pct, 0.5);
		return;
	}
	g_error("no %s %s", what, name);
}

static void test_sensitivity(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(job_late_rank);
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(TachoTable) table = NULL;
	g_autoptr(GError) error = NULL;
	gdouble one = 1 - 1 / 1.01; /* of a time that is 1 % faster */

	graph = tacho_graph_build(timeline, -1, -1, &error);
	g_assert_no_error(error);
	table = tacho_replay_sensitivity(graph, &error);
	g_assert_no_error(error);
	/* rank 1's a of 50 decides, of the 40 that the two have in the mean */
	assert_gain(table, "op", "a", 50 * one, 125);
	assert_gain(table, "op", "b", 40 * one, 100);
	assert_gain(table, "links", "bandwidth", 9 * one, 100);
	/* rank 0's a is hidden, and so is that of its call; its b ends its step, one of two */
	assert_gain(table, "rank", "0", 20 * one, 100 * 20 / 71.0);
	assert_gain(table, "rank", "1", (91 + 51) / 2.0 * one, 100 * 71 / 91.0);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "name"), ==, "1");
	/* four segments that wait one after the other */
	g_assert_true(tacho_graph_what_if(graph, "latency=+5us", &error));
	g_assert_no_error(error);
	g_clear_pointer(&table, tacho_table_free);
	table = tacho_replay_sensitivity(graph, &error);
	g_assert_no_error(error);
	assert_gain(table, "links", "latency", 4 * 5 * one, 100);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/what_if/ranks", test_ranks);
	g_test_add_func("/what_if/algorithm", test_algorithm);
	g_test_add_func("/what_if/topology", test_topology);
	g_test_add_func("/what_if/topology_mistakes", test_topology_mistakes);
	g_test_add_func("/what_if/fusion", test_fusion);
	g_test_add_func("/what_if/calls", test_calls);
	g_test_add_func("/what_if/hooks", test_hooks);
	g_test_add_func("/what_if/partition", test_partition);
	g_test_add_func("/what_if/compress", test_compress);
	g_test_add_func("/what_if/too_many_parts", test_too_many_parts);
	g_test_add_func("/what_if/accumulate", test_accumulate);
	g_test_add_func("/what_if/recompute", test_recompute);
	g_test_add_func("/what_if/device", test_device);
	g_test_add_func("/what_if/device_caller", test_device_caller);
	g_test_add_func("/what_if/sensitivity", test_sensitivity);
	return g_test_run();
}
