/* message_order: messages in the order of their streams, and who received which.
 *
 * Messages are rows of the timeline's table of them, which pair_messages() has filled. */
#ifndef TACHO_MESSAGE_ORDER_H
#define TACHO_MESSAGE_ORDER_H

#include <tacho/timeline.h>

/* Gloo sends everything behind a header of so many bytes (gloo/transport/tcp/pair.h: struct Op,
 * preamble), and reads the header first. */
#define GLOO_HEADER_BYTES 48

struct message_order {
	TachoTimeline *timeline;
	guint32 *
		first_receive; /* of message i: receives[first_receive[i] .. first_receive[i + 1]) */
	guint32 *receives;     /* messages, in the order of the bytes */
	GArray *sends;	       /* guint32: messages sent, by stream and position */
	guint32 *next_send;    /* of each send, the one after it on its stream, or TACHO_NONE */
};

/* The caller keeps `order`, and ends it with message_order_release(). */
void message_order_init(struct message_order *order, TachoTimeline *timeline);
void message_order_release(struct message_order *order);

static inline TachoMessage *message_order_at(const struct message_order *order, guint32 message)
{
	return &g_array_index(order->timeline->messages, TachoMessage, message);
}

/* Whether a send begins with a header of gloo's, as far as is known: its receiver may not be in the
 * run. */
gboolean message_order_begins_with_header(const struct message_order *order, guint32 send);

#endif
