/* message_order: messages in the order of their streams, and who received which. */
#include "correlate/message_order.h"

#include <string.h>

#include "base/order.h"

/* --- who received which ----------------------------------------------------------------------- */

/* The two messages of a flow; false: it is of other slices. */
static gboolean get_pair(const TachoTimeline *timeline, const TachoFlow *flow, guint32 *ret_send,
			 guint32 *ret_receive)
{
	const TachoMessage *first = &g_array_index(timeline->messages, TachoMessage, 0);
	const TachoMessage *send, *receive;

	if (flow->kind != TACHO_FLOW_MESSAGE)
		return FALSE;
	send = tacho_slice_borrow_message(timeline, flow->from);
	receive = tacho_slice_borrow_message(timeline, flow->to);
	if (!send || !receive)
		return FALSE;
	*ret_send = (guint32)(send - first);
	*ret_receive = (guint32)(receive - first);
	return TRUE;
}

/* Flows stand in the order of the bytes. */
static void index_receives(struct message_order *order)
{
	const TachoTimeline *timeline = order->timeline;
	const GArray *flows = timeline->flows;
	guint32 n = timeline->messages->len, send, receive;
	g_autofree guint32 *next = NULL;
	guint32 *first;

	order->first_receive = first = g_new0(guint32, (gsize)n + 1);
	for (guint i = 0; i < flows->len; i++)
		if (get_pair(timeline, &g_array_index(flows, TachoFlow, i), &send, &receive))
			first[send + 1]++;
	for (guint32 i = 0; i < n; i++)
		first[i + 1] += first[i];
	order->receives = g_new(guint32, first[n]);
	next = g_memdup2(first, ((gsize)n + 1) * sizeof(*first));
	for (guint i = 0; i < flows->len; i++)
		if (get_pair(timeline, &g_array_index(flows, TachoFlow, i), &send, &receive))
			order->receives[next[send]++] = receive;
}

/* --- the order of sends ----------------------------------------------------------------------- */

static gint compare_places(gconstpointer a, gconstpointer b, gpointer data)
{
	guint32 left_row = *(const guint32 *)a, right_row = *(const guint32 *)b;
	const TachoMessage *left = message_order_at(data, left_row);
	const TachoMessage *right = message_order_at(data, right_row);

	return ORDER(left->stream, right->stream) ?: ORDER(left->offset_bytes, right->offset_bytes) ?:
	       ORDER(left_row, right_row);
}

static void sort_sends(struct message_order *order)
{
	guint32 n = order->timeline->messages->len;

	order->sends = g_array_new(FALSE, FALSE, sizeof(guint32));
	for (guint32 i = 0; i < n; i++)
		if (!message_order_at(order, i)->is_receive)
			g_array_append_val(order->sends, i);
	g_array_sort_with_data(order->sends, compare_places, order);
	order->next_send = g_new(guint32, n);
	memset(order->next_send, 0xff, (gsize)n * sizeof(guint32)); /* TACHO_NONE */
	for (guint i = 1; i < order->sends->len; i++) {
		guint32 row = g_array_index(order->sends, guint32, i - 1);
		guint32 next = g_array_index(order->sends, guint32, i);

		if (message_order_at(order, row)->stream == message_order_at(order, next)->stream)
			order->next_send[row] = next;
	}
}

gboolean message_order_begins_with_header(const struct message_order *order, guint32 send)
{
	guint64 begin_bytes = message_order_at(order, send)->offset_bytes, read_bytes = 0;
	guint32 first = order->first_receive[send], end = order->first_receive[send + 1];

	for (guint32 i = first; i < end && read_bytes < GLOO_HEADER_BYTES; i++) {
		const TachoMessage *receive = message_order_at(order, order->receives[i]);

		if (i == first && receive->offset_bytes != begin_bytes)
			return FALSE;
		read_bytes += MIN(receive->bytes, GLOO_HEADER_BYTES + 1);
	}
	return first == end || read_bytes == GLOO_HEADER_BYTES;
}

void message_order_init(struct message_order *order, TachoTimeline *timeline)
{
	*order = (struct message_order){ .timeline = timeline };
	index_receives(order);
	sort_sends(order);
}

void message_order_release(struct message_order *order)
{
	g_clear_pointer(&order->first_receive, g_free);
	g_clear_pointer(&order->receives, g_free);
	g_clear_pointer(&order->sends, g_array_unref);
	g_clear_pointer(&order->next_send, g_free);
}
