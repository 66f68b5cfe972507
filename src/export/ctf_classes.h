/* ctf_classes: what kinds of event a CTF trace of ours has, and the metadata that declares them.
 *
 * An event of one name comes with different fields: a class is made for each set of fields that is needed, so that
 * nothing has to stand for "not known". docs/export.md tells names and fields.
 * (1) The order of fields is that of the declaration here; who writes an event (ctf_export.c) follows it.
 * (2) Payload and context have names with a '_' before them, as LTTng's do: "stream" and "event" are words of the
 *     language. Readers take it off. */
#ifndef TACHO_CTF_CLASSES_H
#define TACHO_CTF_CLASSES_H

#include "export/ctf_packets.h"
#include "trace/slice_args.h"

/* CTF_EVENT(enumerator, name, fields). '#' is the kind of slice, with its track's before it. */
#define CTF_EVENTS(CTF_EVENT)                                                                      \
	CTF_EVENT(PROCESS, "tacho:process",                                                        \
		  "uint32_t _pid; uint32_t _ppid; int32_t _local_rank; int32_t _world_size; "      \
		  "uint8_t _is_main; string _command; string _job;")                               \
	CTF_EVENT(TRACK, "tacho:track",                                                            \
		  "string _kind; string _name; uint32_t _tid; int32_t _device; "                   \
		  "uint32_t _parent_tid;")                                                         \
	CTF_EVENT(BEGIN, "#_begin", "uint32_t _slice; string _name;")                              \
	CTF_EVENT(END, "#_end", "uint32_t _slice;")                                                \
	CTF_EVENT(STEP_BEGIN, "tacho:step_begin", "int64_t _duration_ns;")                         \
	CTF_EVENT(STEP_END, "tacho:step_end", "uint32_t _number;")                                 \
	CTF_EVENT(MARK, "tacho:mark", "string _name;")                                             \
	CTF_EVENT(COUNTER, "tacho:counter", "string _name; int64_t _value;")                       \
	CTF_EVENT(FRACTION, "tacho:counter", "string _name; double _value;")                       \
	CTF_EVENT(ALLOC, "tacho:alloc",                                                            \
		  "uint64_hex_t _address; uint64_t _bytes; int32_t _device; uint8_t _layer;")      \
	CTF_EVENT(FREE, "tacho:free",                                                              \
		  "uint64_hex_t _address; uint64_t _bytes; int32_t _device; uint8_t _layer;")      \
	CTF_EVENT(FLOW, "tacho:flow",                                                              \
		  "string _kind; uint32_t _from_slice; uint32_t _to_slice; uint8_t _is_exact;")    \
	CTF_EVENT(PROCESS_END, "tacho:process_end", "string _how; int32_t _status;")

enum ctf_event_kind {
#define CTF_EVENT_ENUM(enumerator, name, fields) CTF_EVENT_##enumerator,
	CTF_EVENTS(CTF_EVENT_ENUM)
#undef CTF_EVENT_ENUM
};

/* What a class is told apart by; all else zero. */
struct ctf_class_key {
	guint8 event; /* enum ctf_event_kind */
	guint8 slice; /* TachoSliceKind, of BEGIN and END */
	guint8 track; /* TachoTrackKind, of BEGIN and END */
	/* Further fields of BEGIN, before the args: */
	guint8 has_queue;	   /* device, stream */
	guint8 has_forward_thread; /* of an autograd node */
	guint64 args;		   /* a bit a key (enum slice_arg_key) */
};

typedef struct _CtfClasses CtfClasses;

CtfClasses *ctf_classes_new(void);
void ctf_classes_free(CtfClasses *classes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtfClasses, ctf_classes_free)

/* The number of the class of `key`, which has `args` (NULL: none) as its last fields. */
guint32 ctf_classes_id(CtfClasses *classes, const struct ctf_class_key *key,
		       const struct slice_args *args);

/* What the metadata says of the trace as a whole. */
struct ctf_trace_facts {
	guint8 uuid[CTF_UUID_BYTES];
	gint64 origin_unix_ns; /* what times are since */
	const gchar *host;     /* NULL: there are several */
	gint32 world_size;     /* -1: not known */
};

/* The metadata, in CTF's language, of a trace with the classes so far. To be freed with g_free(). */
gchar *ctf_classes_metadata(const CtfClasses *classes, const struct ctf_trace_facts *facts);

#endif
