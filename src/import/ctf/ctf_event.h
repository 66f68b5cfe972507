/* ctf_event: an event of a CTF trace as the importer gets it, what its class has in it, and its values. */
#ifndef TACHO_CTF_EVENT_H
#define TACHO_CTF_EVENT_H

#include <glib.h>
#include <string.h>

#include "import/ctf/ctf_records.h"

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
	guint32 order; /* among all streams of the trace */
	guint32 flags; /* enum ctf_stream_flags */
	gint64 clock_offset_ns;
	gchar *name;
	struct { /* the importer's: whose its last event was */
		guint32 host, pid, tid;
		gpointer thread;
	} last;
};

/* An event as it is handed out: good until the next. */
struct ctf_event {
	const guint8 *bytes; /* struct ctf_event_record and so on */
	guint32 n_bytes;
	guint64 offset; /* by which it is found again */
	struct ctf_class *class;
	struct ctf_stream *stream;
	gint64 time_ns;
	guint32 cpu;
};

/* What a tracer had no room for. */
struct ctf_discarded {
	const struct ctf_stream *stream;
	guint64 count;
	gboolean is_known, is_packets;
};

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

/* As a number: integers, reals that are finite, booleans. False: it is none of these. */
gboolean ctf_event_number(const struct ctf_event *event, gint field, gdouble *ret_value);

/* The field's text, with a NUL; NULL: it has none. */
const gchar *ctf_event_text(const struct ctf_event *event, gint field, gsize *ret_n);

/* The value of a slot of a REAL. */
gdouble ctf_real_of(guint64 slot);
/* A text that a slot names, in a record of `n_bytes`; NULL: it is none. */
const gchar *ctf_text_at(const guint8 *record, guint32 n_bytes, guint64 slot, gsize *ret_n);

#endif
