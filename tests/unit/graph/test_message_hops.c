/* Collectives of hosts that end at each rank when its last byte has come: on jobs whose steps can be computed by hand, for
 * two to eight ranks. Times are microseconds. */
#include <tacho/correlate.h>

#include "graph/graph_internal.h"
#include "predicted.h"
#include "timeline_text.h"

#define COMPUTE_US 100
#define BYTES_US   60 /* what a rank's bytes take alone on a link */
#define STEPS_US   10 /* the optimizer */

/* A job that is written rank by rank. */
static void begin_rank(GString *text, guint rank, guint host)
{
	g_string_append_printf(text, "rank %u host=h%u thread %u main\n", rank, host, 1000 + rank);
}

static void add_step(GString *text, guint end_us)
{
	g_string_append_printf(text, "annotation ProfilerStep#0 0..%u\n", end_us);
}

static void add_op(GString *text, const gchar *name, guint begin_us, guint end_us)
{
	if (end_us > begin_us)
		g_string_append_printf(text, "op %s %u..%u\n", name, begin_us, end_us);
}

/* A call that queues a collective at once, in no time, and waits for it. */
static void add_collective(GString *text, const gchar *name, guint begin_us, guint end_us,
			   const gchar *more)
{
	g_string_append_printf(text, "collective gloo:%s %u..%u bytes=6000 %s\n", name, begin_us,
			       end_us, more);
}

/* An end of a connection from the first rank to the second: bytes that were sent or came at that time. */
static void add_message(GString *text, guint from, guint to, gboolean is_receive, guint bytes,
			guint end_us)
{
	g_autofree gchar *sender = g_strdup_printf("10.0.0.%u:%u", from + 1, 5000 + to);
	g_autofree gchar *receiver = g_strdup_printf("10.0.0.%u:%u", to + 1, 6000 + from);

	g_string_append_printf(text, "message m %u..%u bytes=%u%s local=%s peer=%s\n", end_us - 1,
			       end_us, bytes, is_receive ? " receive" : "",
			       is_receive ? receiver : sender, is_receive ? sender : receiver);
}

/* So many hops of the collectives carry bytes. */
static void assert_hops(const GString *text, guint n_hops)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text->str);
	g_autoptr(TachoGraph) graph = NULL;
	guint n = 0;

	tacho_correlate(timeline);
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

/* Each rank receives from the one before it, computes, and sends to the next one. The last one is over last; the others wait
 * for that. All are on one host, and have its clock. `buffered_us`: of the time of the bytes, so much is left when the kernel of the sender has them. */
static GString *make_pipeline(guint n, guint buffered_us)
{
	GString *text = g_string_new("unit us\n");
	guint end_us = n * COMPUTE_US + (n - 1) * BYTES_US;

	for (guint rank = 0; rank < n; rank++) {
		guint come_us = rank * (COMPUTE_US + BYTES_US), done_us = come_us + COMPUTE_US;
		g_autofree gchar *from = g_strdup_printf("peer=%d", (gint)rank - 1);
		g_autofree gchar *to = g_strdup_printf("peer=%u", rank + 1);

		begin_rank(text, rank, 0);
		add_step(text, end_us);
		if (rank > 0)
			add_collective(text, "recv", 0, come_us, from);
		add_op(text, "work", come_us, done_us);
		if (rank + 1 < n)
			add_collective(text, "send", done_us, done_us + BYTES_US - buffered_us, to);
	}
	return text;
}

/* Only the last rank's step is as long as the whole: after what they sent, the others do nothing. */
static gdouble pipeline_us(guint n, gdouble bytes_us)
{
	gdouble sum_us = 0;

	for (guint rank = 0; rank < n; rank++)
		sum_us += n * COMPUTE_US + (n - 1) * BYTES_US -
			  (rank + 1 == n ? (n - 1) * (BYTES_US - bytes_us)
					 : (rank + 1) * (BYTES_US - bytes_us));
	return sum_us / n;
}

static void test_pipeline(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = make_pipeline(n, 0);

		assert_changed(text, n - 1, n * COMPUTE_US + (n - 1) * BYTES_US,
			       pipeline_us(n, BYTES_US / 2.0), pipeline_us(n, BYTES_US / 1000.0));
	}
}

/* Each way has the latency once: the receivers had asked long before. */
static void test_latency(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = make_pipeline(n, 0);

		assert_predicted(text->str, "latency=+5us", pipeline_us(n, BYTES_US + 5));
	}
}

/* What the kernel of a sender still has goes on by itself: the sender ends sooner, and the receiver does not. */
static void test_sockets(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = make_pipeline(n, BYTES_US / 3);

		assert_hops(text, 2 * (n - 1));
		assert_predicted(text->str, "bandwidth=2x",
				 pipeline_us(n, BYTES_US / 2.0) + (n - 1.0) / n * BYTES_US / 6.0);
	}
}

/* --- with a root ------------------------------------------------------------------------------ */

/* All compute, and the root gathers: all come at once, so that its link is shared, and are over together. */
static GString *make_gather(guint n)
{
	GString *text = g_string_new("unit us\n");
	guint come_us = COMPUTE_US + (n - 1) * BYTES_US, end_us = come_us + STEPS_US;

	for (guint rank = 0; rank < n; rank++) {
		begin_rank(text, rank, rank);
		add_step(text, end_us);
		add_op(text, "work", 0, COMPUTE_US);
		add_op(text, "step", come_us, end_us);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		for (guint other = 1; other < n; other++)
			if (rank == 0)
				add_message(text, other, 0, TRUE, 6000, come_us);
			else if (rank == other)
				add_message(text, other, 0, FALSE, 6000, come_us);
		g_string_append_printf(text,
				       "collective gloo:gather %u..%u bytes=6000 end_tid=%u\n",
				       COMPUTE_US, come_us, 2000 + rank);
	}
	return text;
}

static void test_gather(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = make_gather(n);
		gdouble bytes_us = (n - 1) * BYTES_US;

		assert_changed(text, n - 1, COMPUTE_US + (n - 1) * BYTES_US + STEPS_US,
			       COMPUTE_US + bytes_us / 2 + STEPS_US,
			       COMPUTE_US + bytes_us / 1000 + STEPS_US);
	}
}

/* The root scatters to one after the other, as if each had the link to itself: each goes on when its bytes have come. */
static GString *make_broadcast_chain(guint n)
{
	GString *text = g_string_new("unit us\n");
	guint end_us = COMPUTE_US + (n - 1) * BYTES_US + STEPS_US;

	for (guint rank = 0; rank < n; rank++) {
		guint come_us = COMPUTE_US + rank * BYTES_US;
		guint over_us = rank + 1 < n ? come_us + BYTES_US : come_us;

		begin_rank(text, rank, rank);
		add_step(text, end_us);
		add_op(text, "work", 0, COMPUTE_US);
		add_op(text, "step", over_us, over_us + STEPS_US);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		if (rank > 0)
			add_message(text, rank - 1, rank, TRUE, 6000, come_us);
		if (rank + 1 < n)
			add_message(text, rank, rank + 1, FALSE, 6000, over_us);
		g_string_append_printf(text,
				       "collective gloo:broadcast %u..%u bytes=6000 end_tid=%u\n",
				       COMPUTE_US, over_us, 2000 + rank);
	}
	return text;
}

/* The mean over ranks: each is shorter by what came to it sooner, and what it passed on. */
static gdouble chain_us(guint n, gdouble bytes_us)
{
	gdouble sum_us = 0;

	for (guint rank = 0; rank < n; rank++)
		sum_us += COMPUTE_US + (n - 1) * BYTES_US + STEPS_US -
			  MIN(rank + 1, n - 1) * (BYTES_US - bytes_us);
	return sum_us / n;
}

static void test_broadcast(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = make_broadcast_chain(n);

		assert_changed(text, n - 1, COMPUTE_US + (n - 1) * BYTES_US + STEPS_US,
			       chain_us(n, BYTES_US / 2.0), chain_us(n, BYTES_US / 1000.0));
	}
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* A ring: each passes on to the next what it has received, n - 1 times. All are on one host, for
 * messages that go round one way alone do not tell whose clock is ahead. */
static GString *make_ring(guint n)
{
	GString *text = g_string_new("unit us\n");
	guint begin_us = COMPUTE_US;
	guint end_us = begin_us + (n - 1) * BYTES_US;

	for (guint rank = 0; rank < n; rank++) {
		guint left = (rank + n - 1) % n, right = (rank + 1) % n;

		begin_rank(text, rank, 0);
		add_step(text, end_us + STEPS_US);
		add_op(text, "work", 0, begin_us);
		add_op(text, "step", end_us, end_us + STEPS_US);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		for (guint round = 1; round < n; round++) {
			add_message(text, rank, right, FALSE, 6000, begin_us + round * BYTES_US);
			add_message(text, left, rank, TRUE, 6000, begin_us + round * BYTES_US);
		}
		g_string_append_printf(text,
				       "collective gloo:all_gather %u..%u bytes=6000 end_tid=%u\n",
				       begin_us, end_us, 2000 + rank);
	}
	return text;
}

static void test_all_gather(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = make_ring(n);
		guint rest_us = COMPUTE_US + STEPS_US;

		assert_changed(text, n * (n - 1), rest_us + (n - 1) * BYTES_US,
			       rest_us + (n - 1) * BYTES_US / 2.0,
			       rest_us + (n - 1) * BYTES_US / 1000.0);
	}
}

/* --- all to all ------------------------------------------------------------------------------- */

static GString *make_all_to_all(guint n)
{
	GString *text = g_string_new("unit us\n");
	guint come_us = COMPUTE_US + (n - 1) * BYTES_US, end_us = come_us + STEPS_US;

	for (guint rank = 0; rank < n; rank++) {
		begin_rank(text, rank, rank);
		add_step(text, end_us);
		add_op(text, "work", 0, COMPUTE_US);
		add_op(text, "step", come_us, end_us);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		for (guint other = 0; other < n; other++)
			if (other != rank) {
				add_message(text, rank, other, FALSE, 6000, come_us);
				add_message(text, other, rank, TRUE, 6000, come_us);
			}
		g_string_append_printf(text,
				       "collective gloo:alltoall %u..%u bytes=6000 end_tid=%u\n",
				       COMPUTE_US, come_us, 2000 + rank);
	}
	return text;
}

static void test_all_to_all(void)
{
	for (guint n = 2; n <= 8; n++) {
		g_autoptr(GString) text = make_all_to_all(n);
		gdouble bytes_us = (n - 1) * BYTES_US;

		assert_changed(text, n * (n - 1), COMPUTE_US + (n - 1) * BYTES_US + STEPS_US,
			       COMPUTE_US + bytes_us / 2 + STEPS_US,
			       COMPUTE_US + bytes_us / 1000 + STEPS_US);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/message_hops/pipeline", test_pipeline);
	g_test_add_func("/message_hops/latency", test_latency);
	g_test_add_func("/message_hops/sockets", test_sockets);
	g_test_add_func("/message_hops/gather", test_gather);
	g_test_add_func("/message_hops/broadcast", test_broadcast);
	g_test_add_func("/message_hops/all_gather", test_all_gather);
	g_test_add_func("/message_hops/all_to_all", test_all_to_all);
	return g_test_run();
}
