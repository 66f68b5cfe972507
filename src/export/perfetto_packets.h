/* perfetto_packets: a Perfetto trace, written packet by packet, with its strings interned. */
#ifndef TACHO_PERFETTO_PACKETS_H
#define TACHO_PERFETTO_PACKETS_H

#include <glib.h>
#include <stdio.h>

#include "export/perfetto.pb-c.h"

/* What a string is the name of; each has numbers of its own. */
enum perfetto_name_kind {
	PERFETTO_CATEGORY,
	PERFETTO_EVENT,
	PERFETTO_ANNOTATION,
	PERFETTO_VALUE,
	N_PERFETTO_NAME_KINDS
};

struct perfetto_packets {
	FILE *out;
	gint error;  /* errno of the first failed write, 0: none */
	guint32 crc; /* CRC-32 of all that was written, and how much it is */
	guint64 n_written;
	gboolean is_begun;
	GByteArray *bytes;			     /* the packet being written */
	GHashTable *iids[N_PERFETTO_NAME_KINDS];     /* string -> number */
	GPtrArray *new_names[N_PERFETTO_NAME_KINDS]; /* strings the next packet defines; borrowed */
};

void perfetto_packets_init(struct perfetto_packets *packets, FILE *out);
void perfetto_packets_release(struct perfetto_packets *packets);

/* The number that stands for `string` in the next packet and all later ones. What is not UTF-8 is
 * replaced. */
guint64 perfetto_packets_intern(struct perfetto_packets *packets, enum perfetto_name_kind kind,
				const gchar *string);
/* Write the packet, with the definitions it needs. Nothing is written after an error. */
void perfetto_packets_write(struct perfetto_packets *packets, Perfetto__TracePacket *packet);

#endif
