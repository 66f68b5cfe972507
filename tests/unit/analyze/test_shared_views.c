/* What several processes report together is, byte for byte, what one reports: of jobs whose ranks they deal out among
 * themselves, whatever a job is like and however many there are. */
#include <stdlib.h>
#include <string.h>

#include <tacho/analyze.h>
#include <tacho/correlate.h>
#include <tacho/diff.h>
#include <tacho/import.h>
#include <tacho/info.h>
#include <tacho/run_order.h>

#include "message_jobs.h"
#include "random_job.h"
#include "run_builder.h"
#include "synthetic_job.h"
#include "thread_peers.h"
#include "timeline_text.h"

struct view {
	const gchar *name;
	TachoTable *(*make)(const TachoTimeline *timeline, const TachoFilter *filter);
};

/* Those that several processes make. */
static const struct view views[] = {
	{ "op", tacho_view_op },
	{ "step", tacho_view_step },
	{ "step summary", tacho_view_step_summary },
	{ "kernel", tacho_view_kernel },
	{ "comm", tacho_view_comm },
	{ "message", tacho_view_message },
	{ "latency", tacho_view_latency },
	{ "hang", tacho_view_hang },
	{ "scope", tacho_view_scope },
	{ "code", tacho_view_code },
	{ "straggler", tacho_view_straggler },
	{ "goodput", tacho_view_goodput },
};

static void print_views(const TachoTimeline *timeline, const TachoFilter *filter, FILE *out)
{
	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autoptr(TachoTable) table = views[i].make(timeline, filter);

		tacho_table_print(table, out, 0, FALSE);
		tacho_table_print_json(table, out);
	}
}

/* The run against what its rank 1 alone did; where that has no whole step, why it cannot be summed up. */
static void print_diff(const TachoTimeline *timeline, const TachoFilter *filter, FILE *out)
{
	TachoFilter of_rank = *filter;
	g_autoptr(GError) error = NULL, rank_error = NULL;
	g_autoptr(TachoDiffRun) all = NULL, one = NULL;
	guint views = (1u << TACHO_N_DIFF_VIEWS) - 1;

	of_rank.rank = 1;
	all = tacho_diff_run_new(timeline, filter, views, "all", &error);
	one = tacho_diff_run_new(timeline, &of_rank, views, "one", &rank_error);
	fprintf(out, "%s\n%s\n", error ? error->message : "",
		rank_error ? rank_error->message : "");
	for (guint view = 0; all && one && view < TACHO_N_DIFF_VIEWS; view++) {
		const TachoDiffRun *sides[] = { all, one };
		g_autoptr(TachoTable) table =
			tacho_diff_table((TachoDiffView)view, (TachoDiffSide){ &sides[0], 1 },
					 (TachoDiffSide){ &sides[1], 1 });

		tacho_table_print_json(table, out);
	}
}

/* The order of all ranks' work against that of rank 1. */
static void print_order(const TachoTimeline *timeline, const TachoFilter *filter, FILE *out)
{
	TachoFilter of_rank = *filter;
	g_autoptr(TachoRunOrder) all = NULL, one = NULL;
	g_autoptr(TachoTable) table = NULL;

	of_rank.rank = 1;
	all = tacho_run_order_new(timeline, filter, "all", NULL);
	one = tacho_run_order_new(timeline, &of_rank, "one", NULL);
	if (!all || !one)
		return;
	table = tacho_run_order_table(all, one);
	tacho_table_print_json(table, out);
}

/* All that is shared, as text; the caller's. */
static gchar *print_all(const TachoTimeline *timeline)
{
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoInfo) info = tacho_info_new(timeline);
	gchar *text = NULL;
	gsize n_bytes;
	FILE *out = open_memstream(&text, &n_bytes);

	tacho_info_print_json(info, out);
	print_views(timeline, &filter, out);
	print_diff(timeline, &filter, out);
	print_order(timeline, &filter, out);
	filter.by_shape = TRUE;
	filter.is_whole = TRUE;
	print_views(timeline, &filter, out);
	print_diff(timeline, &filter, out);
	print_order(timeline, &filter, out);
	filter.rank = 1;
	print_views(timeline, &filter, out);
	fclose(out);
	return text;
}

static TachoTimeline *open_run(const gchar *folder, TachoPeers *peers)
{
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline = tacho_run_open_share(&folder, 1, peers, NULL, NULL, &error);

	g_assert_no_error(error);
	tacho_correlate(timeline);
	return timeline;
}

struct expected {
	const gchar *folder, *text;
	guint n_slices; /* of the whole run */
	gint n_fewer;	/* processes that had not all of them; changed by all */
};

static void assert_same(const gchar *text, const gchar *expected, const gchar *folder)
{
	gsize at = 0, from;

	if (strcmp(text, expected) == 0)
		return;
	while (text[at] && text[at] == expected[at])
		at++;
	from = at > 200 ? at - 200 : 0;
	g_error("%s: instead of\n%.400s\nit is\n%.400s", folder, expected + from, text + from);
}

static void report_together(TachoPeers *peers, gpointer data)
{
	struct expected *expected = data;
	g_autoptr(TachoTimeline) timeline = open_run(expected->folder, peers);
	char *text = print_all(timeline);

	g_assert_cmpstr(tacho_peers_failure(peers), ==, NULL);
	assert_same(text, expected->text, expected->folder);
	if (timeline->slices.n < expected->n_slices)
		g_atomic_int_inc(&expected->n_fewer);
	free(text);
	g_assert_cmpint(tacho_peers_end(peers, 0), ==, 0);
}

static void check_run(const gchar *folder)
{
	static const guint counts[] = { 2, 3, 5 };
	g_autoptr(TachoTimeline) timeline = open_run(folder, NULL);
	struct expected expected = { .folder = folder, .n_slices = timeline->slices.n };
	char *text = print_all(timeline);

	expected.text = text;
	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		expected.n_fewer = 0;
		thread_peers_run(counts[i], report_together, &expected);
		if (timeline->ranks->len > 1)
			g_assert_cmpint(expected.n_fewer, >, 0);
	}
	free(text);
}

/* `text` is freed. */
static void check_text(gchar *text)
{
	g_autofree gchar *owned = text;
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);

	run_builder_write_timeline(timeline, folder);
	check_run(folder);
	run_builder_remove(folder);
}

/* What comes of another process may be anything: it is used, or refused, and nobody waits. */
static void report_damaged(TachoPeers *peers, gpointer data)
{
	const gchar *folder = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline =
		tacho_run_open_share(&folder, 1, peers, NULL, NULL, &error);

	if (timeline) {
		tacho_correlate(timeline);
		free(print_all(timeline));
	} else {
		tacho_peers_fail(peers, error->message);
	}
	tacho_peers_end(peers, 0);
}

static void test_damaged(void)
{
	g_autofree gchar *text = random_messages_text(3);
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);

	run_builder_write_timeline(timeline, folder);
	for (guint32 seed = 1; seed <= 60; seed++)
		thread_peers_run_damaged(3, seed, report_damaged, folder);
	run_builder_remove(folder);
}

static void test_data_parallel(void)
{
	for (guint model = 0; model < SYNTHETIC_MODELS; model++) {
		struct synthetic_job job;
		g_autofree guint32 *ends = NULL;
		guint32 n_buckets;

		synthetic_job_init(&job, model);
		job.n_ranks = 7;
		job.ranks_per_host = 2;
		job.n_steps = 6;
		job.jitter = 0.2;
		job.offset_ns = 1e6 * model;
		job.drift = 1e-6 * model;
		ends = g_new0(guint32, job.n);
		n_buckets = synthetic_job_even(&job, 4, ends);
		check_text(synthetic_job_text(&job, ends, n_buckets));
		synthetic_job_release(&job);
	}
}

static void test_messages(void)
{
	check_text(g_string_free(message_pipeline(5, 10), FALSE));
	check_text(g_string_free(message_gather(4), FALSE));
	check_text(g_string_free(message_all_to_all(5), FALSE));
	check_text(g_string_free(message_ring_with_stray(5), FALSE));
	check_text(g_string_free(message_reduce(5, 2, 2), FALSE));
	check_text(g_string_free(message_barrier(4, 2), FALSE));
}

/* What is open on the main thread when a thread of the backend's takes a collective up is in all processes, but what is
 * around it is not: that its kernel has no operation there says nothing. */
static void test_around(void)
{
	GString *text = g_string_new("world 4\n");

	for (guint rank = 0; rank < 4; rank++)
		g_string_append_printf(text,
				       "rank %u\nthread %u main\n"
				       "op c10d::allreduce_ 5..8\nop aten::convolution 10..40\n"
				       "kernel gemm 12..38 flops=2048 bytes=64 dims=8x8x16\n"
				       "op aten::relu 60..%u\n"
				       "thread 11 worker\nwait queue 2..3\n"
				       "collective gloo:all_reduce %u..50 bytes=4096 end_tid=11\n"
				       "mark some_word 45 text=words\n",
				       rank, 1000 + rank, 61 + rank, 20 + rank);
	check_text(g_string_free(text, FALSE));
}

/* Autograd's nodes stand before the modules that they are placed in, and find their place once others have: the nodes of one
 * rank's tree are made before and behind those of the next. */
static void test_places(void)
{
	GString *text = g_string_new("world 4\n");

	for (guint rank = 0; rank < 4; rank++)
		g_string_append_printf(
			text,
			"rank %u thread 9 autograd\n"
			"op 'autograd::engine::evaluate_function: AddmmBackward0' 40..50\n"
			"op AddmmBackward0 41..49 seq=7 fwd=%u backward\n"
			"op aten::mm 42..48 in=float32[8,%u] in=float32[%u,4] out=float32[8,4]\n"
			"op 'autograd::engine::evaluate_function: ReluBackward0' 51..%u\n"
			"thread %u main\n"
			"module Net 0..30\nmodule 'Net.layer%u (Linear)' 1..20\n"
			"op aten::linear 2..19 seq=7\nop aten::addmm 3..17\n"
			"alloc 4 address=16 bytes=96\nfree 60 address=16 bytes=96\n"
			"module 'Net.layer%u (Linear)' 21..29\nop aten::relu 22..2%u\n"
			"annotation Optimizer.step#SGD.step 70..8%u\nop aten::add_ 71..72\n"
			"thread 11 worker\nfunction 'train.py(10): main' 0..60\n"
			"function 'data.py(%u): load' 1..9\nop aten::copy_ 2..3\n"
			"wait 'enumerate(DataLoader)#next' 12..15\n",
			rank, 1000 + rank, 2 + rank, 2 + rank, 53 + rank, 1000 + rank, 3 - rank,
			rank % 2, 4 + rank, rank, rank / 2);
	check_text(g_string_free(text, FALSE));
}

static void add_stack(struct run_builder *run, guint32 stack, guint64 stamp, guint32 tid,
		      guint32 state, const guint32 *frames, guint32 n)
{
	struct record_stack *record = run_builder_record(
		run, stack, stamp, (guint32)(sizeof(*record) + n * sizeof(struct record_frame)));

	record->before = stamp - 10;
	record->tid = tid;
	record->state = state;
	record->n_frames = n;
	memcpy(record + 1, frames, n * sizeof(struct record_frame));
}

/* Where samples saw a function on one rank, an operation of that name may have run on another. */
static void write_sampled_rank(const gchar *folder, guint number)
{
	struct run_builder_process process = { .pid = 1000 + number,
					       .rank = (gint)number,
					       .world_size = 5 };
	struct run_builder *run = run_builder_new(folder, &process);
	guint32 main = run_builder_class(run, TRACE_KIND_FUNCTION, "train.py(1): main");
	guint32 step = run_builder_class(run, TRACE_KIND_FUNCTION, "train.py(1): step");
	guint32 save = run_builder_class(run, TRACE_KIND_FUNCTION, "serialization.py(1): save");
	guint32 same = run_builder_class(run, TRACE_KIND_OP, "train.py(22): step");
	guint32 add = run_builder_class(run, TRACE_KIND_OP, "aten::add");
	guint32 stack = run_builder_class(run, TRACE_KIND_STACK, "python");
	const guint32 inner[] = { main, 12, step, 22 }, saving[] = { main, 13 + number, save, 4 };

	run_builder_stream(run, process.pid);
	run_builder_op(run, add, 100, 140, -1);
	if (number % 2)
		run_builder_op(run, same, 1500 + number, 1700, -1);
	run_builder_op(run, add, 2300, 2400, -1);
	run_builder_stream(run, 99);
	add_stack(run, stack, 200, process.pid, TRACE_THREAD_RUNNING, inner, 1);
	if (number != 3)
		add_stack(run, stack, 900, process.pid, TRACE_THREAD_RUNNING, inner, 2);
	add_stack(run, stack, 1400, process.pid, TRACE_THREAD_WAITING, inner, 1);
	add_stack(run, stack, 2000 + number, process.pid, TRACE_THREAD_RUNNING, saving, 2);
	add_stack(run, stack, 3000, process.pid, TRACE_THREAD_RUNNING, inner, 1);
	run_builder_end(run);
}

static void test_samples(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);

	for (guint rank = 0; rank < 5; rank++)
		write_sampled_rank(folder, rank);
	check_run(folder);
	run_builder_remove(folder);
}

static void test_random(void)
{
	for (guint32 seed = 1; seed <= 12; seed++) {
		check_text(random_hosts_text(seed));
		check_text(random_messages_text(seed));
		check_text(random_contention_text(seed));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/shared-views/data-parallel", test_data_parallel);
	g_test_add_func("/shared-views/messages", test_messages);
	g_test_add_func("/shared-views/around", test_around);
	g_test_add_func("/shared-views/places", test_places);
	g_test_add_func("/shared-views/samples", test_samples);
	g_test_add_func("/shared-views/random", test_random);
	g_test_add_func("/shared-views/damaged", test_damaged);
	return g_test_run();
}
