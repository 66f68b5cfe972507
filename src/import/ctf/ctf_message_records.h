/* ctf_message_records: the messages of libbabeltrace2 as records (ctf_records.h): what traces, streams and packets
 * there are, each before what names it, and the events. */
#ifndef TACHO_CTF_MESSAGE_RECORDS_H
#define TACHO_CTF_MESSAGE_RECORDS_H

#include <babeltrace2/babeltrace.h>

#include "import/ctf/ctf_class_layout.h"

struct ctf_message_records {
	struct ctf_record_writer *writer;
	struct ctf_class_layouts layouts;
	GHashTable *streams, *traces; /* pointer -> number */
	guint32 n_packets;
	GString *json;
};

/* A stream, as far as it was read. */
struct ctf_stream_place {
	guint32 order; /* of the stream, among all of the trace */
	gboolean has_clock;
	const bt_stream *stream;
	guint32 number;	     /* of the stream, as records name it */
	guint32 packet, cpu; /* of the packet at work, G_MAXUINT32: it has none, or does not tell */
	guint64 n_packets;   /* begun so far */
};

void ctf_message_records_init(struct ctf_message_records *records,
			      struct ctf_record_writer *writer);
void ctf_message_records_release(struct ctf_message_records *records);

/* An event of the stream; `time_ns` is when. */
void ctf_add_event(struct ctf_message_records *records, const struct ctf_stream_place *place,
		   const bt_event *event, gint64 time_ns);
/* Any other message: what a stream begins with comes before its events. */
void ctf_add_message(struct ctf_message_records *records, struct ctf_stream_place *place,
		     const bt_message *message);

#endif
