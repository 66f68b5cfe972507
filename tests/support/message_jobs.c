#include "message_jobs.h"

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

GString *message_pipeline(guint n, guint buffered_us)
{
	GString *text = g_string_new("unit us\n");
	guint end_us = n * MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US;

	for (guint rank = 0; rank < n; rank++) {
		guint come_us = rank * (MESSAGE_COMPUTE_US + MESSAGE_BYTES_US),
		      done_us = come_us + MESSAGE_COMPUTE_US;
		g_autofree gchar *from = g_strdup_printf("peer=%d", (gint)rank - 1);
		g_autofree gchar *to = g_strdup_printf("peer=%u", rank + 1);

		begin_rank(text, rank, 0);
		add_step(text, end_us);
		if (rank > 0)
			add_collective(text, "recv", 0, come_us, from);
		add_op(text, "work", come_us, done_us);
		if (rank + 1 < n)
			add_collective(text, "send", done_us,
				       done_us + MESSAGE_BYTES_US - buffered_us, to);
	}
	return text;
}

GString *message_gather(guint n)
{
	GString *text = g_string_new("unit us\n");
	guint come_us = MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US,
	      end_us = come_us + MESSAGE_STEPS_US;

	for (guint rank = 0; rank < n; rank++) {
		begin_rank(text, rank, rank);
		add_step(text, end_us);
		add_op(text, "work", 0, MESSAGE_COMPUTE_US);
		add_op(text, "step", come_us, end_us);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		for (guint other = 1; other < n; other++)
			if (rank == 0)
				add_message(text, other, 0, TRUE, 6000, come_us);
			else if (rank == other)
				add_message(text, other, 0, FALSE, 6000, come_us);
		g_string_append_printf(text,
				       "collective gloo:gather %u..%u bytes=6000 end_tid=%u\n",
				       MESSAGE_COMPUTE_US, come_us, 2000 + rank);
	}
	return text;
}

GString *message_broadcast(guint n)
{
	GString *text = g_string_new("unit us\n");
	guint end_us = MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US + MESSAGE_STEPS_US;

	for (guint rank = 0; rank < n; rank++) {
		guint come_us = MESSAGE_COMPUTE_US + rank * MESSAGE_BYTES_US;
		guint over_us = rank + 1 < n ? come_us + MESSAGE_BYTES_US : come_us;

		begin_rank(text, rank, rank);
		add_step(text, end_us);
		add_op(text, "work", 0, MESSAGE_COMPUTE_US);
		add_op(text, "step", over_us, over_us + MESSAGE_STEPS_US);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		if (rank > 0)
			add_message(text, rank - 1, rank, TRUE, 6000, come_us);
		if (rank + 1 < n)
			add_message(text, rank, rank + 1, FALSE, 6000, over_us);
		g_string_append_printf(text,
				       "collective gloo:broadcast %u..%u bytes=6000 end_tid=%u\n",
				       MESSAGE_COMPUTE_US, over_us, 2000 + rank);
	}
	return text;
}

GString *message_broadcasts(void)
{
	GString *text = g_string_new("unit us\n");
	guint end_us = MESSAGE_COMPUTE_US + 2 * MESSAGE_BYTES_US + MESSAGE_STEPS_US;

	for (guint rank = 0; rank < 2; rank++) {
		begin_rank(text, rank, rank);
		add_step(text, end_us);
		add_op(text, "work", 0, MESSAGE_COMPUTE_US);
		add_op(text, "step", end_us - MESSAGE_STEPS_US, end_us);
		for (guint i = 0; i < 2; i++) {
			guint worker = 2000 + 10 * i + rank;
			guint come_us = MESSAGE_COMPUTE_US + (i + 1) * MESSAGE_BYTES_US;

			g_string_append_printf(text, "thread %u worker\n", worker);
			add_message(text, 0, 1, rank == 1, 6000, come_us);
			g_string_append_printf(
				text, "collective gloo:broadcast %u..%u bytes=6000 end_tid=%u\n",
				MESSAGE_COMPUTE_US, come_us, worker);
		}
	}
	return text;
}

/* An end of the way from the root to `rank`, in pieces of 6 us. */
static void add_way(GString *text, guint rank, gboolean is_receive)
{
	guint begin_us = MESSAGE_COMPUTE_US + (rank - 1) * MESSAGE_LONG_US;

	for (guint us = 6; us <= MESSAGE_LONG_US; us += 6)
		add_message(text, 0, rank, is_receive, 6000, begin_us + us);
}

GString *message_scatter_in_turn(guint n)
{
	GString *text = g_string_new("unit us\n");
	guint end_us = MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_LONG_US + MESSAGE_STEPS_US;

	for (guint rank = 0; rank < n; rank++) {
		guint over_us = MESSAGE_COMPUTE_US + (rank ? rank : n - 1) * MESSAGE_LONG_US;

		begin_rank(text, rank, rank);
		add_step(text, end_us);
		add_op(text, "work", 0, MESSAGE_COMPUTE_US);
		add_op(text, "step", over_us, over_us + MESSAGE_STEPS_US);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		for (guint other = 1; other < n; other++)
			if (rank == 0 || rank == other)
				add_way(text, other, rank == other);
		g_string_append_printf(text,
				       "collective gloo:scatter %u..%u bytes=6000 end_tid=%u\n",
				       MESSAGE_COMPUTE_US, over_us, 2000 + rank);
	}
	return text;
}

/* Each of its rounds in so many parts; with a stray, the first rank also sends to the third. */
static GString *ring(guint n, guint n_parts, gboolean has_stray)
{
	GString *text = g_string_new("unit us\n");
	guint begin_us = MESSAGE_COMPUTE_US;
	guint end_us = begin_us + (n - 1) * MESSAGE_BYTES_US;

	for (guint rank = 0; rank < n; rank++) {
		guint left = (rank + n - 1) % n, right = (rank + 1) % n;

		begin_rank(text, rank, 0);
		add_step(text, end_us + MESSAGE_STEPS_US);
		add_op(text, "work", 0, begin_us);
		add_op(text, "step", end_us, end_us + MESSAGE_STEPS_US);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		for (guint part = 1; part <= (n - 1) * n_parts; part++) {
			guint come_us = begin_us + part * MESSAGE_BYTES_US / n_parts;

			add_message(text, rank, right, FALSE, 6000 / n_parts, come_us);
			add_message(text, left, rank, TRUE, 6000 / n_parts, come_us);
		}
		if (has_stray && (rank == 0 || rank == 2))
			add_message(text, 0, 2, rank == 2, 6000, end_us - 1);
		g_string_append_printf(text,
				       "collective gloo:all_gather %u..%u bytes=6000 end_tid=%u\n",
				       begin_us, end_us, 2000 + rank);
	}
	return text;
}

GString *message_ring(guint n)
{
	return ring(n, 1, FALSE);
}

GString *message_ring_in_halves(guint n)
{
	return ring(n, 2, FALSE);
}

GString *message_ring_with_stray(guint n)
{
	return ring(n, 1, TRUE);
}

/* What each sends to the root when the ring is over, also in halves. */
static void add_parts_of_root(GString *text, guint n, guint rank, guint root, guint n_halves)
{
	guint over_us = MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US;
	guint long_us = (n - 1) * MESSAGE_BYTES_US / n;

	for (guint part = 1; part <= n_halves; part++)
		for (guint other = 0; other < n; other++)
			if (other != root && (rank == root || rank == other))
				add_message(text, other, root, rank == root, 6000 / n_halves,
					    over_us + part * long_us / n_halves);
}

GString *message_reduce(guint n, guint root, guint n_halves)
{
	GString *text = g_string_new("unit us\n");
	guint end_us =
		MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US + (n - 1) * MESSAGE_BYTES_US / n;

	for (guint rank = 0; rank < n; rank++) {
		begin_rank(text, rank, 0);
		add_step(text, end_us + MESSAGE_STEPS_US);
		add_op(text, "work", 0, MESSAGE_COMPUTE_US);
		add_op(text, "step", end_us, end_us + MESSAGE_STEPS_US);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		for (guint part = 1; part <= (n - 1) * n_halves; part++) {
			guint come_us = MESSAGE_COMPUTE_US + part * MESSAGE_BYTES_US / n_halves;

			add_message(text, rank, (rank + n - 1) % n, FALSE, 6000 / n_halves,
				    come_us);
			add_message(text, (rank + 1) % n, rank, TRUE, 6000 / n_halves, come_us);
		}
		add_parts_of_root(text, n, rank, root, n_halves);
		g_string_append_printf(text,
				       "collective gloo:reduce %u..%u bytes=6000 end_tid=%u\n",
				       MESSAGE_COMPUTE_US, end_us, 2000 + rank);
	}
	return text;
}

GString *message_reduce_by_tree(guint n)
{
	GString *text = g_string_new("unit us\n");
	guint end_us = MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US + MESSAGE_STEPS_US;

	for (guint rank = 0; rank < n; rank++) {
		guint come_us = MESSAGE_COMPUTE_US + (n - 1 - rank) * MESSAGE_BYTES_US;
		guint over_us = rank > 0 ? come_us + MESSAGE_BYTES_US : come_us;

		begin_rank(text, rank, rank);
		add_step(text, end_us);
		add_op(text, "work", 0, MESSAGE_COMPUTE_US);
		add_op(text, "step", over_us, over_us + MESSAGE_STEPS_US);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		if (rank + 1 < n)
			add_message(text, rank + 1, rank, TRUE, 6000, come_us);
		if (rank > 0)
			add_message(text, rank, rank - 1, FALSE, 6000, over_us);
		g_string_append_printf(text, "collective mpi:reduce %u..%u bytes=6000 end_tid=%u\n",
				       MESSAGE_COMPUTE_US, over_us, 2000 + rank);
	}
	return text;
}

GString *message_barrier(guint n, guint n_lost)
{
	GString *text = g_string_new("unit us\n");
	guint n_rounds = 0, end_us;

	while ((1u << n_rounds) < n)
		n_rounds++;
	end_us = MESSAGE_COMPUTE_US + n_rounds * MESSAGE_WORD_US;
	for (guint rank = 0; rank < n; rank++) {
		begin_rank(text, rank, 0);
		add_step(text, end_us + MESSAGE_STEPS_US);
		add_op(text, "work", 0, MESSAGE_COMPUTE_US);
		add_op(text, "step", end_us, end_us + MESSAGE_STEPS_US);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		for (guint round = 0; round < n_rounds; round++) {
			guint far = 1u << round, to = (rank + far) % n, from = (rank + n - far) % n;
			guint come_us = MESSAGE_COMPUTE_US + (round + 1) * MESSAGE_WORD_US;
			gboolean is_last = round + 1 == n_rounds;

			if (!is_last || rank >= n_lost)
				add_message(text, rank, to, FALSE, 48, come_us);
			if (!is_last || from >= n_lost)
				add_message(text, from, rank, TRUE, 48, come_us);
		}
		g_string_append_printf(text, "collective gloo:barrier %u..%u end_tid=%u\n",
				       MESSAGE_COMPUTE_US, end_us, 2000 + rank);
	}
	return text;
}

GString *message_all_to_all(guint n)
{
	GString *text = g_string_new("unit us\n");
	guint come_us = MESSAGE_COMPUTE_US + (n - 1) * MESSAGE_BYTES_US,
	      end_us = come_us + MESSAGE_STEPS_US;

	for (guint rank = 0; rank < n; rank++) {
		begin_rank(text, rank, rank);
		add_step(text, end_us);
		add_op(text, "work", 0, MESSAGE_COMPUTE_US);
		add_op(text, "step", come_us, end_us);
		g_string_append_printf(text, "thread %u worker\n", 2000 + rank);
		for (guint other = 0; other < n; other++)
			if (other != rank) {
				add_message(text, rank, other, FALSE, 6000, come_us);
				add_message(text, other, rank, TRUE, 6000, come_us);
			}
		g_string_append_printf(text,
				       "collective gloo:alltoall %u..%u bytes=6000 end_tid=%u\n",
				       MESSAGE_COMPUTE_US, come_us, 2000 + rank);
	}
	return text;
}
