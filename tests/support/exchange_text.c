#include "exchange_text.h"

enum { KERNEL_FIRST_US = 1000 };

void exchange_init(struct exchange *job, guint n_ranks, gint64 transfer_us)
{
	*job = (struct exchange){ .n_ranks = n_ranks,
				  .transfer_us = transfer_us,
				  .n_told = n_ranks };
	job->items = g_new(GArray *, n_ranks);
	for (guint i = 0; i < n_ranks; i++)
		job->items[i] = g_array_new(FALSE, FALSE, sizeof(struct exchange_item));
}

void exchange_release(struct exchange *job)
{
	for (guint i = 0; i < job->n_ranks; i++)
		g_array_unref(job->items[i]);
	g_free(job->items);
}

void exchange_compute(struct exchange *job, guint rank, gint64 us)
{
	struct exchange_item item = { .compute_us = us,
				      .send_to = { -1, -1 },
				      .receive_from = { -1, -1 } };

	g_array_append_val(job->items[rank], item);
}

void exchange_batch_of_four(struct exchange *job, guint rank, gint32 send_to, gint32 receive_from,
			    gint32 also_send_to, gint32 also_receive_from)
{
	struct exchange_item item = { .send_to = { send_to, also_send_to },
				      .receive_from = { receive_from, also_receive_from } };

	g_array_append_val(job->items[rank], item);
}

void exchange_batch(struct exchange *job, guint rank, gint32 send_to, gint32 receive_from)
{
	exchange_batch_of_four(job, rank, send_to, receive_from, -1, -1);
}

/* --- playing ---------------------------------------------------------------------------------- */

static gboolean goes_to(const struct exchange_item *item, gboolean is_receive, guint side,
			guint peer)
{
	return (is_receive ? item->receive_from : item->send_to)[side] == (gint32)peer;
}

/* How many of the rank's items before `end` send to (receive from) the peer, with `side` of that one. */
static guint count_calls(const struct exchange *job, guint rank, guint end, guint end_side,
			 gboolean is_receive, guint peer)
{
	guint n = 0;

	for (guint i = 0; i <= end; i++)
		for (guint side = 0; side < 2; side++)
			n += (i < end || side < end_side) &&
			     goes_to(exchange_item_at(job, rank, i), is_receive, side, peer);
	return n;
}

/* The item that is the other end of a call; NULL: there is none. */
static struct exchange_item *other_end(const struct exchange *job, guint rank, guint index,
				       guint side, gboolean is_receive, guint peer)
{
	guint nth = count_calls(job, rank, index, side, is_receive, peer);

	for (guint i = 0; i < job->items[peer]->len; i++)
		for (guint k = 0; k < 2; k++)
			if (goes_to(exchange_item_at(job, peer, i), !is_receive, k, rank) &&
			    nth-- == 0)
				return exchange_item_at(job, peer, i);
	return NULL;
}

/* Begins are known: when the batch is over; -1: one that it waits for has not begun. */
static gint64 batch_end_us(const struct exchange *job, guint rank, guint index)
{
	const struct exchange_item *item = exchange_item_at(job, rank, index);
	gint64 end_us = item->begin_us;

	for (guint i = 0; i < 4; i++) {
		gboolean is_receive = i % 2;
		gint32 peer = (is_receive ? item->receive_from : item->send_to)[i / 2];
		const struct exchange_item *other;

		if (peer < 0)
			continue;
		other = other_end(job, rank, index, i / 2, is_receive, (guint)peer);
		if (other && other->begin_us < 0)
			return -1;
		end_us = MAX(end_us,
			     MAX(item->begin_us, other ? other->begin_us : 0) + job->transfer_us);
	}
	return end_us;
}

/* Let the rank go on as far as it can. Whether it did. */
static gboolean go_on(struct exchange *job, guint rank)
{
	gboolean has_moved = FALSE;
	gint64 now_us = KERNEL_FIRST_US;

	for (guint i = 0; i < job->items[rank]->len; i++) {
		struct exchange_item *item = exchange_item_at(job, rank, i);

		if (item->end_us < 0) {
			has_moved |= item->begin_us < 0;
			item->begin_us = now_us;
			item->end_us = item->compute_us ? now_us + item->compute_us
							: batch_end_us(job, rank, i);
			if (item->end_us < 0)
				return has_moved;
			has_moved = TRUE;
		}
		now_us = item->end_us;
	}
	return has_moved;
}

void exchange_play(struct exchange *job)
{
	gboolean has_moved = TRUE;

	for (guint rank = 0; rank < job->n_ranks; rank++)
		for (guint i = 0; i < job->items[rank]->len; i++)
			exchange_item_at(job, rank, i)->begin_us =
				exchange_item_at(job, rank, i)->end_us = -1;
	while (has_moved) {
		has_moved = FALSE;
		for (guint rank = 0; rank < job->n_ranks; rank++)
			has_moved |= go_on(job, rank);
	}
	for (guint rank = 0; rank < job->n_ranks; rank++)
		g_assert_cmpint(exchange_end_us(job, rank), >=, 0);
}

gint64 exchange_end_us(const struct exchange *job, guint rank)
{
	return exchange_item_at(job, rank, job->items[rank]->len - 1)->end_us;
}

gint64 exchange_received_us(const struct exchange *job, guint rank, guint batch, guint peer)
{
	const struct exchange_item *item = exchange_item_at(job, rank, batch), *other;
	guint side = item->send_to[0] != (gint32)peer;

	if (item->send_to[side] != (gint32)peer)
		return -1;
	other = other_end(job, rank, batch, side, FALSE, peer);
	return other ? other->begin_us : -1;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The calls of a batch, and its launch: each in a tenth of a microsecond. */
static void write_calls(GString *text, const struct exchange_item *item, guint index,
			gboolean is_told)
{
	for (guint i = 0; i < 4; i++) {
		gboolean is_receive = i % 2;
		gint32 peer = (is_receive ? item->receive_from : item->send_to)[i / 2];

		if (peer >= 0 && is_told)
			g_string_append_printf(
				text,
				"  op record_param_comms %u.%u..%u.%u %s bytes=4096 peer=%d "
				"group=9\n",
				index, i, index, i + 1, is_receive ? "recv" : "send", peer);
	}
	g_string_append_printf(text, "  runtime l%u %u.5..%u.9\n", index, index, index);
}

static void write_rank(const struct exchange *job, GString *text, guint rank, gint64 end_us)
{
	g_string_append_printf(text,
			       "rank %u thread %u main\n"
			       " mark process_group 0 first=9 text='ranks=0-%u'\n"
			       " annotation ProfilerStep#0 0..%" G_GINT64_FORMAT "\n",
			       rank, 1000 + rank, job->n_ranks - 1, end_us + 20);
	for (guint i = 0; i < job->items[rank]->len; i++)
		write_calls(text, exchange_item_at(job, rank, i), i, rank < job->n_told);
	g_string_append_printf(text,
			       "  runtime cudaDeviceSynchronize %d..%" G_GINT64_FORMAT "\n"
			       " stream 7 all\n",
			       KERNEL_FIRST_US - 10, end_us + 10);
	for (guint i = 0; i < job->items[rank]->len; i++) {
		const struct exchange_item *item = exchange_item_at(job, rank, i);

		g_autofree gchar *name = item->compute_us
						 ? g_strdup_printf("kernel compute%u", rank)
						 : g_strdup("collective ncclDevKernel_SendRecv");

		g_string_append_printf(
			text, "  %s %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT " launch=l%u\n", name,
			item->begin_us, item->end_us, i);
	}
}

gchar *exchange_text(const struct exchange *job)
{
	GString *text = g_string_new("unit us\n");
	gint64 end_us = 0;

	g_string_append_printf(text, "world %u\n", job->n_ranks);
	for (guint rank = 0; rank < job->n_ranks; rank++)
		end_us = MAX(end_us, exchange_end_us(job, rank));
	for (guint rank = 0; rank < job->n_ranks; rank++)
		write_rank(job, text, rank, end_us);
	return g_string_free(text, FALSE);
}
