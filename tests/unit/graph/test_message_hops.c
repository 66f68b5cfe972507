/* Collectives of hosts that end at each rank when its last byte has come: on jobs whose steps can be computed by hand, for
 * two to eight ranks. Times are microseconds. */
#include <tacho/correlate.h>

#include "graph/graph_internal.h"
#include "message_jobs.h"
#include "predicted.h"
#include "timeline_text.h"

/* So many hops of the collectives carry bytes. */
static void assert_hops(const GString *text, guint n_hops)
{
	g_autoptr(TachoTimeline) timeline = correlated(text->str);
	g_autoptr(TachoGraph) graph = NULL;
	guint n = 0;

	graph = tacho_graph_build(timeline, -1, -1, NULL);
	g_assert_nonnull(graph);
	for (guint32 i = 0; i < graph->transfers->len; i++)
		n += graph_transfer_at(graph, i)->is_hop && graph_transfer_at(graph, i)->bytes > 0;
	g_assert_cmpuint(n, ==, n_hops);
}

static void assert_changed(const GString *text, guint n_hops, guint base_us, gdouble twice_us,
			   gdouble thousand_us)
{
	assert_hops(text, n_hops);
	assert_predicted(text->str, "bandwidth=1x", base_us);
	assert_predicted(text->str, "bandwidth=2x", twice_us);
	assert_predicted(text->str, "bandwidth=1000x", thousand_us);
}

/* --- send and receive ------------------------------------------------------------------------- */

/* Only the last rank's step is as long as the whole: after what they sent, the others do nothing. */
static gdouble pipeline_us(guint n, gdouble bytes_us)
{
	gdouble sum_us = 0;

	for (guint rank = 0; rank < n; rank++)
		sum_us += n * MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US -
			  (rank + 1 == n ? (n - 1) * (MESSAGE_BYTES_US - bytes_us)
					 : (rank + 1) * (MESSAGE_BYTES_US - bytes_us));
	return sum_us / n;
}

static void test_pipeline(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = message_pipeline(n, 0);

		assert_changed(text, n - 1, n * MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US,
			       pipeline_us(n, MESSAGE_BYTES_US / 2.0),
			       pipeline_us(n, MESSAGE_BYTES_US / 1000.0));
	}
}

/* Each way has the latency once: the receivers had asked long before. */
static void test_latency(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = message_pipeline(n, 0);

		assert_predicted(text->str, "latency=+5us", pipeline_us(n, MESSAGE_BYTES_US + 5));
	}
}

/* What the kernel of a sender still has goes on by itself: the sender ends sooner, and the receiver does not. */
static void test_sockets(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = message_pipeline(n, MESSAGE_BYTES_US / 3);

		assert_hops(text, 2 * (n - 1));
		assert_predicted(text->str, "bandwidth=2x",
				 pipeline_us(n, MESSAGE_BYTES_US / 2.0) +
					 (n - 1.0) / n * MESSAGE_BYTES_US / 6.0);
	}
}

/* --- with a root ------------------------------------------------------------------------------ */

static void test_gather(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = message_gather(n);
		gdouble bytes_us = (n - 1) * MESSAGE_BYTES_US;

		assert_changed(text, n - 1,
			       MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US + MESSAGE_STEPS_US,
			       MESSAGE_COMPUTE_US + bytes_us / 2 + MESSAGE_STEPS_US,
			       MESSAGE_COMPUTE_US + bytes_us / 1000 + MESSAGE_STEPS_US);
	}
}

/* All hops, with those that have no bytes. */
static guint count_hops(const GString *text)
{
	g_autoptr(TachoTimeline) timeline = correlated(text->str);
	g_autoptr(TachoGraph) graph = tacho_graph_build(timeline, -1, -1, NULL);
	guint n = 0;

	g_assert_nonnull(graph);
	for (guint32 i = 0; i < graph->transfers->len; i++)
		n += graph_transfer_at(graph, i)->is_hop;
	return n;
}

/* A way has one word that asks for it, one first byte, and its bytes. */
static void test_words(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = message_gather(n);

		g_assert_cmpuint(count_hops(text), ==, 3 * (n - 1));
	}
}

/* The mean over ranks: each is shorter by what came to it sooner, and what it passed on. */
static gdouble chain_us(guint n, gdouble bytes_us)
{
	gdouble sum_us = 0;

	for (guint rank = 0; rank < n; rank++)
		sum_us += MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US + MESSAGE_STEPS_US -
			  MIN(rank + 1, n - 1) * (MESSAGE_BYTES_US - bytes_us);
	return sum_us / n;
}

static void test_broadcast(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = message_broadcast(n);

		assert_changed(text, n - 1,
			       MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US + MESSAGE_STEPS_US,
			       chain_us(n, MESSAGE_BYTES_US / 2.0),
			       chain_us(n, MESSAGE_BYTES_US / 1000.0));
	}
}

/* The second waits in the socket behind the first: both are the link's. */
static void test_queue(void)
{
	g_autoptr(GString) text = message_broadcasts();
	guint rest_us = MESSAGE_COMPUTE_US + MESSAGE_STEPS_US;

	assert_changed(text, 2, rest_us + 2 * MESSAGE_BYTES_US, rest_us + MESSAGE_BYTES_US,
		       rest_us + 2 * MESSAGE_BYTES_US / 1000.0);
	/* the first byte of the second is on its way with that of the first: after the words of both */
	assert_predicted(text->str, "latency=+5us", rest_us + 2 * MESSAGE_BYTES_US + 2 * 5);
}

/* The mean over ranks: each is shorter by what came to it sooner, the root by all that it sent. */
static gdouble scatter_us(guint n, gdouble bytes_us)
{
	gdouble sum_us = 0, full_us = (n - 1) * (gdouble)MESSAGE_LONG_US;

	for (guint rank = 0; rank < n; rank++)
		sum_us += MESSAGE_COMPUTE_US + full_us + MESSAGE_STEPS_US -
			  (rank ? rank : n - 1) * (MESSAGE_LONG_US - bytes_us);
	return sum_us / n;
}

/* Who is done first had more than an even share of the root's link, and none loses bytes by that, but for what the largest share
 * (16 to 1) leaves. */
static void test_unequal_shares(void)
{
	for (guint n = 2; n <= 4; n++) {
		g_autoptr(GString) text = message_scatter_in_turn(n);
		g_autoptr(GError) error = NULL;
		g_autoptr(TachoTimeline) timeline = timeline_from_text(text->str);
		g_autoptr(TachoPrediction) prediction = predict(timeline, "bandwidth=2x", &error);
		gdouble expected_us = scatter_us(n, MESSAGE_LONG_US / 2.0);

		g_assert_no_error(error);
		g_assert_cmpfloat_with_epsilon(prediction->predicted_step_ms * 1000, expected_us,
					       0.04 * expected_us);
	}
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void test_all_gather(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = message_ring(n);
		guint rest_us = MESSAGE_COMPUTE_US + MESSAGE_STEPS_US;

		assert_changed(text, n * (n - 1), rest_us + (n - 1) * MESSAGE_BYTES_US,
			       rest_us + (n - 1) * MESSAGE_BYTES_US / 2.0,
			       rest_us + (n - 1) * MESSAGE_BYTES_US / 1000.0);
	}
}

/* A word and the first byte take the latency, before any bytes and then between a half and the same half of the next round, while
 * the other half comes. */
static void assert_ring_latency(guint n, guint latency_us)
{
	g_autoptr(GString) text = message_ring_in_halves(n);
	g_autofree gchar *what_if = g_strdup_printf("latency=+%uus", latency_us);
	gdouble half_us = MESSAGE_BYTES_US / 2.0, there_us = 2 * latency_us;

	assert_hops(text, 2 * n * (n - 1));
	assert_predicted(text->str, what_if,
			 MESSAGE_COMPUTE_US + there_us +
				 (n - 2) * MAX(2 * half_us, half_us + there_us) + 2 * half_us +
				 MESSAGE_STEPS_US);
}

static void test_halves(void)
{
	for (guint n = 3; n <= 8; n++) {
		assert_ring_latency(n, 0);
		assert_ring_latency(n, 5);
		assert_ring_latency(n, 20);
		assert_ring_latency(n, 500);
	}
}

/* A message that no ring has: it is one transfer. */
static void test_no_ring(void)
{
	g_autoptr(GString) ring = message_ring(4), stray = message_ring_with_stray(4);

	assert_hops(ring, 4 * 3);
	assert_hops(stray, 0);
}

/* Of more ranks than are worth it, it stays one transfer. */
static void test_large_ring(void)
{
	g_autoptr(GString) most = message_ring(64), more = message_ring(65);

	assert_hops(most, 64 * 63);
	assert_hops(more, 0);
}

/* --- all to all ------------------------------------------------------------------------------- */

static void test_all_to_all(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = message_all_to_all(n);
		gdouble bytes_us = (n - 1) * MESSAGE_BYTES_US;

		assert_changed(text, n * (n - 1),
			       MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US + MESSAGE_STEPS_US,
			       MESSAGE_COMPUTE_US + bytes_us / 2 + MESSAGE_STEPS_US,
			       MESSAGE_COMPUTE_US + bytes_us / 1000 + MESSAGE_STEPS_US);
	}
}

/* --- reduce ----------------------------------------------------------------------------------- */

/* In the last round, all but the root send: on the link of all, that takes less by one. */
static gdouble reduce_us(guint n)
{
	return (n - 1) * MESSAGE_BYTES_US + (n - 1.0) * MESSAGE_BYTES_US / n;
}

static void test_reduce(void)
{
	static const guint counts[] = { 2, 3, 4, 5, 6 };

	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		guint n = counts[i], rest_us = MESSAGE_COMPUTE_US + MESSAGE_STEPS_US;

		for (guint root = 0; root < n; root++) {
			g_autoptr(GString) text = message_reduce(n, root, 1);

			assert_changed(text, n * (n - 1) + n - 1, rest_us + (guint)reduce_us(n),
				       rest_us + reduce_us(n) / 2, rest_us + reduce_us(n) / 1000);
		}
	}
}

/* Weights tell shares of a link to 1.6 %, of which whole steps see less. */
static void assert_near(const GString *text, const gchar *what_if, gdouble expected_us)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text->str);
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_if, &error);

	g_assert_no_error(error);
	g_assert_cmpfloat_with_epsilon(prediction->predicted_step_ms * 1000, expected_us,
				       0.002 * expected_us);
}

/* A word and the first byte take the latency before any bytes, and between a half and the same half of what follows it; the root asks
 * for its parts when the ring is over. With a long latency, of each round only one half and the latencies count; the second half
 * is as far behind the first at the end. */
static void test_reduce_in_halves(void)
{
	static const guint counts[] = { 2, 3, 4, 5, 6 };
	const guint latency_us = 500;

	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		guint n = counts[i];
		g_autoptr(GString) text = message_reduce(n, n / 2, 2);
		gdouble half_us = MESSAGE_BYTES_US / 2.0, last_us = half_us * (n - 1) / n;
		gdouble rest_us = MESSAGE_COMPUTE_US + MESSAGE_STEPS_US;

		assert_hops(text, 2 * (n * (n - 1) + n - 1));
		assert_near(text, "bandwidth=2x", rest_us + reduce_us(n) / 2);
		assert_near(text, "latency=+500us",
			    rest_us + n * (2 * latency_us) + (n - 1) * half_us + half_us + last_us);
	}
}

/* The mean over ranks: each is shorter by what came to it sooner, and what it passed on. */
static void test_reduce_by_tree(void)
{
	for (guint n = 3; n <= 8; n++) {
		g_autoptr(GString) text = message_reduce_by_tree(n);

		assert_changed(text, n - 1,
			       MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US + MESSAGE_STEPS_US,
			       chain_us(n, MESSAGE_BYTES_US / 2.0),
			       chain_us(n, MESSAGE_BYTES_US / 1000.0));
	}
}

/* --- barrier ---------------------------------------------------------------------------------- */

/* Each round has a word that asks and one that answers, which take the latency. */
static void test_barrier(void)
{
	static const guint rounds[] = { 0, 0, 1, 2, 2, 3, 3, 3, 3, 4 };

	for (guint n = 2; n < G_N_ELEMENTS(rounds); n++) {
		g_autoptr(GString) text = message_barrier(n, 0);
		guint base_us = MESSAGE_COMPUTE_US + rounds[n] * MESSAGE_WORD_US + MESSAGE_STEPS_US;

		g_assert_cmpuint(count_hops(text), ==, 2 * n * rounds[n]);
		assert_predicted(text->str, "bandwidth=2x", base_us);
		assert_predicted(text->str, "latency=+5us", base_us + 2 * 5 * rounds[n]);
	}
}

/* A round that lacks a word is not known: it is one transfer. */
static void test_barrier_of_lost_words(void)
{
	g_autoptr(GString) text = message_barrier(5, 1);

	g_assert_cmpuint(count_hops(text), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/message_hops/pipeline", test_pipeline);
	g_test_add_func("/message_hops/latency", test_latency);
	g_test_add_func("/message_hops/sockets", test_sockets);
	g_test_add_func("/message_hops/gather", test_gather);
	g_test_add_func("/message_hops/words", test_words);
	g_test_add_func("/message_hops/broadcast", test_broadcast);
	g_test_add_func("/message_hops/queue", test_queue);
	g_test_add_func("/message_hops/unequal_shares", test_unequal_shares);
	g_test_add_func("/message_hops/all_gather", test_all_gather);
	g_test_add_func("/message_hops/halves", test_halves);
	g_test_add_func("/message_hops/no_ring", test_no_ring);
	g_test_add_func("/message_hops/large_ring", test_large_ring);
	g_test_add_func("/message_hops/all_to_all", test_all_to_all);
	g_test_add_func("/message_hops/reduce", test_reduce);
	g_test_add_func("/message_hops/reduce_in_halves", test_reduce_in_halves);
	g_test_add_func("/message_hops/reduce_by_tree", test_reduce_by_tree);
	g_test_add_func("/message_hops/barrier", test_barrier);
	g_test_add_func("/message_hops/barrier_of_lost_words", test_barrier_of_lost_words);
	return g_test_run();
}
