/* ctf_records: what the decoder of CTF traces writes and the importer reads.
 *
 * libbabeltrace2 ends the process (an assertion) on some broken traces. So processes of their own decode a trace
 * (ctf_decoder.c), each a part of its streams, and write what is in it to a pipe, in the order of time; the importer
 * reads that (ctf_part.c) and puts the parts together (ctf_reader.c). Who asks for the args of a slice later has its
 * part decoded again, into a file: the same trace makes the same bytes, so that an event is found there by its offset.
 *
 * It is a row of records, each beginning with struct ctf_record:
 *
 *     TRACE STREAM PACKET CLASS EVENT EVENT ... PACKET ... EVENT DISCARDED ... END
 *
 * (1) Records are 8-byte aligned and whole; integers are the machine's.
 * (2) A trace, stream, packet or class stands before what names it. Each kind counts from 0.
 * (3) The reader believes none of it: who decodes broken files may write broken records. */
#ifndef TACHO_CTF_RECORDS_H
#define TACHO_CTF_RECORDS_H

#include <glib.h>

enum ctf_record_kind {
	CTF_RECORD_TRACE = 1, /* text: hostname and so on: n_entries x (name, value) */
	CTF_RECORD_STREAM,    /* struct ctf_stream_record */
	CTF_RECORD_CLASS,     /* struct ctf_class_record */
	CTF_RECORD_PACKET,    /* struct ctf_packet_record */
	CTF_RECORD_EVENT,     /* struct ctf_event_record */
	CTF_RECORD_DISCARDED, /* struct ctf_discarded_record */
	CTF_RECORD_FAILURE,   /* text: what could not be read, and why; others are read on */
	CTF_RECORD_END,	      /* nothing more comes */
	CTF_N_RECORD_KINDS,
};

struct ctf_record {
	guint32 size_bytes; /* with this header, a multiple of 8 */
	guint32 kind;	    /* enum ctf_record_kind */
};

/* What a slot of an event holds: the value itself, or of a text where it is: the offset from the begin
 * of the record below, the length above bit 32. Texts end with a NUL that the length does not count. */
enum ctf_field_type {
	CTF_FIELD_UNSIGNED,
	CTF_FIELD_SIGNED,
	CTF_FIELD_REAL,
	CTF_FIELD_BOOLEAN,
	CTF_FIELD_TEXT,
	CTF_FIELD_JSON, /* a text: arrays, structures, variants and options as JSON */
	CTF_N_FIELD_TYPES,
};

enum ctf_field_scope {
	CTF_SCOPE_PACKET, /* only in classes of packets */
	CTF_SCOPE_COMMON,
	CTF_SCOPE_SPECIFIC,
	CTF_SCOPE_PAYLOAD,
	CTF_N_FIELD_SCOPES,
};

enum ctf_field_flags {
	CTF_FIELD_IS_ENUM = 1 << 0, /* n_labels x struct ctf_label_record follow */
	CTF_FIELD_IS_HEX = 1 << 1,
};

/* Followed by n_entries x (key, value), strings as in struct ctf_string. */
struct ctf_trace_record {
	struct ctf_record head;
	guint32 n_entries;
	guint32 reserved;
};

/* Each string of a record is this, then its bytes, a NUL, and zeros up to a multiple of 8. */
struct ctf_string {
	guint32 n;
	guint32 reserved;
};

enum ctf_stream_flags {
	CTF_STREAM_HAS_CLOCK = 1 << 0,
	CTF_STREAM_UNIX_CLOCK = 1 << 1, /* its origin is 1970 */
};

/* Followed by its name, a string. */
struct ctf_stream_record {
	struct ctf_record head;
	guint32 trace;
	guint32 flags;
	gint64 clock_offset_ns; /* of the value 0 from the clock's origin */
	guint32 order; /* among all streams of the trace: events at the same time are in this order */
	guint32 reserved;
};

/* Followed by its name, and n_fields x struct ctf_field_record. */
struct ctf_class_record {
	struct ctf_record head;
	guint32 n_fields;
	guint32 is_packet; /* class of packets' contexts, not of events */
};

/* Followed by its name, and n_labels x (struct ctf_label_record, string). */
struct ctf_field_record {
	guint8 type;  /* enum ctf_field_type */
	guint8 scope; /* enum ctf_field_scope */
	guint8 flags; /* enum ctf_field_flags */
	guint8 reserved;
	guint32 n_labels;
};

/* A value of [low, high] is called as the string that follows says; as gint64 where the field is SIGNED. */
struct ctf_label_record {
	guint64 low, high;
};

/* Followed by a slot for each field of the class, then texts. */
struct ctf_packet_record {
	struct ctf_record head;
	guint32 class;
	guint32 stream;
	guint32 cpu; /* G_MAXUINT32: not told */
	guint32 reserved;
};

/* Followed by a slot for each field of the class, then texts. */
struct ctf_event_record {
	struct ctf_record head;
	guint32 class;
	guint32 stream;
	guint32 packet; /* G_MAXUINT32: in none that has a context */
	guint32 cpu;	/* G_MAXUINT32: not told */
	gint64 time_ns; /* since 1970, or as the clock says; without a clock: the number of the event */
};

struct ctf_discarded_record {
	struct ctf_record head;
	guint32 stream;
	guint32 is_packets;
	guint64 count;
	guint32 is_known; /* whether the count is */
	guint32 reserved;
};

/* Followed by a string. */
struct ctf_failure_record {
	struct ctf_record head;
};

#define CTF_MAX_RECORD_BYTES (64u << 20)
#define CTF_MAX_FIELDS	     4096u

/* Decode part number `part` of `n_parts` of the streams of the trace in `folder`, and write its records to `out`.
 * Returns whether everything was read and written; if not all was read, records say why. For a process of its own:
 * see above. */
gboolean ctf_decode(const gchar *folder, guint part, guint n_parts, int out);
/* The version of libbabeltrace2 that does so. */
void ctf_library_version(guint *ret_major, guint *ret_minor);

#endif
