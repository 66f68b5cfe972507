/* How much longer collectives wait while ranks compute, as a recording shows it, on a job whose schedule is known. Times are
 * microseconds.
 *
 * Of each step the forward pass takes 5000 and the backward pass 25000, after 10000 of which a bucket of 1 MB is queued, and at its end
 * one of 2 MB, which the rank waits for. A byte takes 8 ns, and a bucket has four segments, each of which waits for H_US, and while a
 * rank computes for so much longer as a test says. */
#include <tacho/correlate.h>

#include "graph/graph_internal.h"
#include "predicted.h"
#include "timeline_text.h"

enum {
	FIRST_US = 15000,  /* of a step: when the first bucket is queued */
	SECOND_US = 30000, /* and the second, when the backward pass is over */
	STEP_US = 50000,
	FIRST_BYTES_US = 8000,
	SECOND_BYTES_US = 16000,
	H_US = 200,
	N_SEGMENTS = 4,
	CALL_BYTES = 65500, /* of a receive, which takes 524 us */
};

static void write_receives(GString *text, guint rank, guint begin_us, guint n)
{
	for (guint i = 1; i <= n; i++)
		g_string_append_printf(text,
				       "message m %u..%u bytes=%d fd=3 receive local=10.0.0.%u:1 "
				       "peer=10.0.0.%u:2\n",
				       begin_us + 524 * i - 1, begin_us + 524 * i, CALL_BYTES,
				       rank + 1, 2 - rank);
}

/* The job as recorded, in `n_steps`; the first bucket is as long under way as it is while its rank computes. */
static gchar *job_text(guint more_us, guint n_steps)
{
	GString *text = g_string_new("unit us\n");
	guint first_us = FIRST_BYTES_US + N_SEGMENTS * (H_US + more_us);
	guint second_us = SECOND_BYTES_US + N_SEGMENTS * H_US;

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text, "rank %u thread %u main\n", rank, 1000 + rank);
		for (guint i = 0; i < n_steps; i++) {
			guint at = STEP_US * i;

			g_string_append_printf(
				text,
				"annotation ProfilerStep#%u %u..%u\n"
				"op forward %u..%u\nop early %u..%u\n"
				"collective gloo:all_reduce %u..%u bytes=1000000 end_tid=9\n"
				"collective gloo:all_reduce %u..%u bytes=2000000 end_tid=9\n"
				"op update %u..%u\n",
				i, at, at + STEP_US, at, at + 5000, at + 5000, at + FIRST_US,
				at + FIRST_US, at + FIRST_US + first_us, at + SECOND_US,
				at + SECOND_US + second_us, at + SECOND_US + second_us,
				at + STEP_US);
			for (guint late = FIRST_US; late < SECOND_US; late += 1000)
				g_string_append_printf(text, "op late %u..%u\n", at + late,
						       at + late + 1000);
		}
		g_string_append_printf(text, "thread %u io\n", 2000 + rank);
		for (guint i = 0; i < n_steps; i++) {
			write_receives(text, rank, STEP_US * i + FIRST_US, 15);
			write_receives(text, rank, STEP_US * i + SECOND_US, 30);
		}
	}
	return g_string_free(text, FALSE);
}

/* Of the first group of the job. */
static void found(guint more_us, guint n_steps, gdouble *ret_core_ns, gdouble *ret_hop_ns)
{
	g_autofree gchar *text = job_text(more_us, n_steps);
	g_autoptr(TachoTimeline) timeline = correlated(text);
	g_autoptr(TachoGraph) graph = tacho_graph_build(timeline, -1, -1, NULL);

	g_assert_nonnull(graph);
	g_assert_cmpfloat_with_epsilon(graph_group_at(graph, 0)->wire_ns_per_byte, 8, 0.01);
	*ret_core_ns = graph_group_at(graph, 0)->core_wait_ns;
	*ret_hop_ns = graph_group_at(graph, 0)->hop_ns;
}

static void test_found(void)
{
	gdouble core_ns, hop_ns;

	for (guint more_us = 100; more_us <= 900; more_us += 400) {
		found(more_us, 10, &core_ns, &hop_ns);
		g_assert_cmpfloat_with_epsilon(core_ns, 1e3 * more_us, 1e3);
		g_assert_cmpfloat_with_epsilon(hop_ns, 1e3 * H_US, 1e3);
	}
}

/* Nothing shows it: segments wait no longer, or too few transfers tell. */
static void test_not_found(void)
{
	gdouble core_ns, hop_ns;

	found(0, 10, &core_ns, &hop_ns);
	g_assert_cmpfloat(core_ns, <, 1e3);
	found(500, 6, &core_ns, &hop_ns);
	g_assert_cmpfloat(core_ns, ==, 0);
}

/* Played as it is, it takes what it took, which assert_predicted() looks at, too. The second bucket waits for nothing but its own; the
 * first one has less computing beside it where that is faster. */
static void test_played(void)
{
	g_autofree gchar *text = job_text(500, 10);

	assert_predicted(text, "", STEP_US);
	assert_predicted(text, "bandwidth=2x", STEP_US - SECOND_BYTES_US / 2.0);
	/* half of it: the first is beside it for 7500, in which it does what takes it 7500 * 8.8 / 10.8 then */
	assert_predicted(text, "scale:op~late=0.5", STEP_US - 7500 + 8800 - 7500 * 8.8 / 10.8);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/core_waits/found", test_found);
	g_test_add_func("/core_waits/not_found", test_not_found);
	g_test_add_func("/core_waits/played", test_played);
	return g_test_run();
}
