/* ctf_packets: a stream of a CTF trace as a file of packets, written in one go.
 *
 * (1) All numbers are little endian, and begin at a byte.
 * (2) A packet says when its first and last event were, how large it is, its place in the stream and how many
 *     events were lost up to its end; ctf_classes.c says the same in the metadata.
 * (3) Times must not go back. What was lost is told by a last packet without events: nobody knows where in the
 *     stream it is missing. */
#ifndef TACHO_CTF_PACKETS_H
#define TACHO_CTF_PACKETS_H

#include <glib.h>

#define CTF_UUID_BYTES 16

typedef struct _CtfPackets CtfPackets;

/* Begin the stream number `stream` in a new file at `path`. NULL: it cannot be made. */
CtfPackets *ctf_packets_open(const gchar *path, const guint8 *uuid, guint64 stream, GError **error);
/* End it, and free it, which it is either way. False: not everything could be written. */
gboolean ctf_packets_finish(CtfPackets *packets, guint64 n_lost, GError **error);
/* Free it without an end. Takes NULL. */
void ctf_packets_abandon(CtfPackets *packets);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtfPackets, ctf_packets_abandon)

/* Whether the file cannot be written: the rest need not be. Finishing it says why. */
gboolean ctf_packets_failed(const CtfPackets *packets);
/* Begin an event: its header. Its fields come next. */
void ctf_packets_event(CtfPackets *packets, guint32 class_id, guint64 time);
void ctf_packets_u8(CtfPackets *packets, guint8 value);
void ctf_packets_u32(CtfPackets *packets, guint32 value);
void ctf_packets_u64(CtfPackets *packets, guint64 value);
void ctf_packets_double(CtfPackets *packets, gdouble value);
/* Up to its NUL; what is no UTF-8 is replaced. */
void ctf_packets_string(CtfPackets *packets, const gchar *value);

#endif
