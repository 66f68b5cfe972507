/* ctf_stream: the records of a decoded CTF trace (ctf_records.h), one after the other, each checked before it is
 * believed: what traces, streams, packets and classes there are is kept; events are handed out. */
#ifndef TACHO_CTF_STREAM_H
#define TACHO_CTF_STREAM_H

#include <glib.h>
#include <string.h>

#include "import/ctf_process.h"
#include "import/ctf_records.h"

struct ctf_label {
	guint64 low, high;
	gchar *name;
};

struct ctf_field {
	gchar *name;
	guint8 type, scope, flags;
	guint32 n_labels;
	struct ctf_label *labels;
};

struct ctf_class {
	gchar *name;
	guint32 n_fields;
	gboolean is_packet;
	struct ctf_field *fields;
	gpointer plan; /* the importer's */
};

struct ctf_trace {
	GHashTable *environment; /* name -> value */
	gpointer facts;		 /* the importer's */
};

struct ctf_stream {
	struct ctf_trace *trace;
	guint32 number;
	guint32 flags; /* enum ctf_stream_flags */
	gint64 clock_offset_ns;
	gchar *name;
};

/* An event as it is handed out: good until the next. */
struct ctf_event {
	const guint8 *bytes; /* struct ctf_event_record and so on */
	guint32 n_bytes;
	guint64 offset; /* in the file */
	struct ctf_class *class;
	struct ctf_stream *stream;
	gint64 time_ns;
	guint32 cpu;
};

struct ctf_reader;

/* Takes over `process`. */
struct ctf_reader *ctf_reader_new(struct ctf_process *process);
void ctf_reader_free(struct ctf_reader *reader);

enum ctf_next {
	CTF_NEXT_EVENT,
	CTF_NEXT_DISCARDED,
	CTF_NEXT_END,	  /* everything was read */
	CTF_NEXT_FAILURE, /* ctf_reader_failure() says why; nothing comes any more */
};

/* Of CTF_NEXT_DISCARDED. */
struct ctf_discarded {
	const struct ctf_stream *stream;
	guint64 count;
	gboolean is_known, is_packets;
};

enum ctf_next ctf_reader_next(struct ctf_reader *reader, struct ctf_event *event,
			      struct ctf_discarded *discarded);
const gchar *ctf_reader_failure(const struct ctf_reader *reader);
/* Note that the event at `end` ended what the one at `begin` began. */
void ctf_reader_set_partner(struct ctf_reader *reader, guint64 begin, guint64 end);
/* The args of the event at `offset`, and of its partner, as a JSON object; NULL: there is none. */
gchar *ctf_reader_args_json(struct ctf_reader *reader, guint64 offset);

/* Whether events of that name may come: all classes of a stream are known before its first event. */
gboolean ctf_reader_has_class(const struct ctf_reader *reader, const gchar *name);

/* The number of the field of that name, -1: none. Where several scopes have it, the payload's. */
gint ctf_class_field(const struct ctf_class *class, const gchar *name);
/* The same in the event's context only: what was around when it happened. */
gint ctf_class_context(const struct ctf_class *class, const gchar *name);

static inline guint64 ctf_event_slot(const struct ctf_event *event, gint field)
{
	guint64 value;

	memcpy(&value,
	       event->bytes + sizeof(struct ctf_event_record) + (gsize)field * sizeof(value),
	       sizeof(value));
	return value;
}

static inline gboolean ctf_event_has_integer(const struct ctf_event *event, gint field)
{
	return field >= 0 && event->class->fields[field].type <= CTF_FIELD_SIGNED;
}

/* The field's value; 0 where the class has no such integer. */
static inline gint64 ctf_event_integer(const struct ctf_event *event, gint field)
{
	return ctf_event_has_integer(event, field) ? (gint64)ctf_event_slot(event, field) : 0;
}

/* As a number, rounded: integers, reals, booleans. False: it is none of these. */
gboolean ctf_event_number(const struct ctf_event *event, gint field, gint64 *ret_value);

/* The field's text, with a NUL; NULL: it has none. */
const gchar *ctf_event_text(const struct ctf_event *event, gint field, gsize *ret_n);

#endif
