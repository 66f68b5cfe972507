/* ctf_class_layout: what a class of events, or of packets' contexts, has in it, found out once: the values of an
 * event are then fetched by index (ctf_message_records.c). Each class is written as a record when it is met. */
#ifndef TACHO_CTF_CLASS_LAYOUT_H
#define TACHO_CTF_CLASS_LAYOUT_H

#include <babeltrace2/babeltrace.h>

#include "import/ctf/ctf_record_writer.h"

/* How the value of a field is asked for. */
enum ctf_fetch {
	CTF_FETCH_UNSIGNED,
	CTF_FETCH_BITS,
	CTF_FETCH_SIGNED,
	CTF_FETCH_SINGLE,
	CTF_FETCH_DOUBLE,
	CTF_FETCH_BOOLEAN,
	CTF_FETCH_TEXT,
	CTF_FETCH_JSON,
};

struct ctf_class_layout {
	guint32 number; /* of the class, as records name it */
	guint32 n_fields;
	guint32 n_members[CTF_N_FIELD_SCOPES];
	gint32 cpu_member; /* of a packet's context, -1: it has none */
	guint8 *fetch;	   /* enum ctf_fetch of each field */
};

enum { CTF_N_RECENT_LAYOUTS = 256 }; /* found without searching */

struct ctf_class_layouts {
	struct ctf_record_writer *writer;
	GHashTable *known; /* bt_event_class or bt_stream_class -> struct ctf_class_layout */
	struct {
		const bt_event_class *class;
		const struct ctf_class_layout *layout;
	} recent[CTF_N_RECENT_LAYOUTS]; /* by address */
};

void ctf_class_layouts_init(struct ctf_class_layouts *layouts, struct ctf_record_writer *writer);
void ctf_class_layouts_release(struct ctf_class_layouts *layouts);

/* That of a class of events; written first if it is new. */
const struct ctf_class_layout *ctf_event_layout(struct ctf_class_layouts *layouts,
						const bt_event_class *class);
/* That of the contexts of a stream's packets. */
const struct ctf_class_layout *ctf_packet_layout(struct ctf_class_layouts *layouts,
						 const bt_stream_class *class);

#endif
