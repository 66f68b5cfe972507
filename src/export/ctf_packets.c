#include "export/ctf_packets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <tacho/export.h>
#include <unistd.h>

#define CTF_PACKET_MAGIC 0xc1fc1fc1u

enum {
	FULL_BYTES = 256 * 1024, /* a packet that has so many is closed */
	STREAM_ID = 0,		 /* all streams are of one class */
};

/* The header and context of a packet, as ctf_classes.c declares them. */
struct head {
	guint32 magic;
	guint8 uuid[CTF_UUID_BYTES];
	guint32 stream_id;
	guint64 stream_instance;
	guint64 first_time, last_time;
	guint64 content_bits, packet_bits;
	guint64 number;
	guint64 n_lost;
} __attribute__((packed));

struct _CtfPackets {
	gchar *path;
	int fd;
	int cause; /* errno of what failed first; 0: nothing did */
	guint8 uuid[CTF_UUID_BYTES];
	guint64 stream, number;
	guint64 first_time, last_time; /* of the packet */
	gboolean has_event;
	GByteArray *bytes; /* the packet, with room for its head */
};

CtfPackets *ctf_packets_open(const gchar *path, const guint8 *uuid, guint64 stream, GError **error)
{
	CtfPackets *packets;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0) {
		g_set_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO, "%s: %s", path,
			    g_strerror(errno));
		return NULL;
	}
	packets = g_new0(CtfPackets, 1);
	packets->path = g_strdup(path);
	packets->fd = fd;
	packets->stream = stream;
	packets->bytes = g_byte_array_sized_new(FULL_BYTES + FULL_BYTES / 16);
	memcpy(packets->uuid, uuid, sizeof(packets->uuid));
	g_byte_array_set_size(packets->bytes, sizeof(struct head));
	return packets;
}

void ctf_packets_abandon(CtfPackets *packets)
{
	if (!packets)
		return;
	if (packets->fd >= 0)
		close(packets->fd);
	g_byte_array_unref(packets->bytes);
	g_free(packets->path);
	g_free(packets);
}

static void write_bytes(CtfPackets *packets, const guint8 *bytes, gsize n)
{
	while (n > 0 && !packets->cause) {
		gssize written = write(packets->fd, bytes, n);

		if (written > 0) {
			bytes += written;
			n -= (gsize)written;
		} else if (written == 0 || errno != EINTR) {
			packets->cause = written == 0 ? EIO : errno;
		}
	}
}

static void close_packet(CtfPackets *packets, guint64 n_lost)
{
	struct head head = {
		.magic = GUINT32_TO_LE(CTF_PACKET_MAGIC),
		.stream_id = GUINT32_TO_LE(STREAM_ID),
		.stream_instance = GUINT64_TO_LE(packets->stream),
		.first_time = GUINT64_TO_LE(packets->first_time),
		.last_time = GUINT64_TO_LE(packets->last_time),
		.content_bits = GUINT64_TO_LE((guint64)packets->bytes->len * 8),
		.packet_bits = GUINT64_TO_LE((guint64)packets->bytes->len * 8),
		.number = GUINT64_TO_LE(packets->number),
		.n_lost = GUINT64_TO_LE(n_lost),
	};

	memcpy(head.uuid, packets->uuid, sizeof(head.uuid));
	memcpy(packets->bytes->data, &head, sizeof(head));
	write_bytes(packets, packets->bytes->data, packets->bytes->len);
	g_byte_array_set_size(packets->bytes, sizeof(struct head));
	packets->number++;
	packets->has_event = FALSE;
	packets->first_time = packets->last_time;
}

gboolean ctf_packets_failed(const CtfPackets *packets)
{
	return packets->cause != 0;
}

void ctf_packets_event(CtfPackets *packets, guint32 class_id, guint64 time)
{
	g_assert(time >= packets->last_time);
	if (packets->bytes->len >= FULL_BYTES)
		close_packet(packets, 0);
	if (!packets->has_event)
		packets->first_time = time;
	packets->has_event = TRUE;
	packets->last_time = time;
	ctf_packets_u32(packets, class_id);
	ctf_packets_u64(packets, time);
}

void ctf_packets_u8(CtfPackets *packets, guint8 value)
{
	g_byte_array_append(packets->bytes, &value, sizeof(value));
}

void ctf_packets_u32(CtfPackets *packets, guint32 value)
{
	guint32 bytes = GUINT32_TO_LE(value);

	g_byte_array_append(packets->bytes, (const guint8 *)&bytes, sizeof(bytes));
}

void ctf_packets_u64(CtfPackets *packets, guint64 value)
{
	guint64 bytes = GUINT64_TO_LE(value);

	g_byte_array_append(packets->bytes, (const guint8 *)&bytes, sizeof(bytes));
}

void ctf_packets_double(CtfPackets *packets, gdouble value)
{
	guint64 bits;

	memcpy(&bits, &value, sizeof(bits));
	ctf_packets_u64(packets, bits);
}

void ctf_packets_string(CtfPackets *packets, const gchar *value)
{
	g_autofree gchar *valid = NULL;

	if (!g_utf8_validate(value, -1, NULL))
		value = valid = g_utf8_make_valid(value, -1);
	g_byte_array_append(packets->bytes, (const guint8 *)value, (guint)strlen(value) + 1);
}

gboolean ctf_packets_finish(CtfPackets *packets, guint64 n_lost, GError **error)
{
	g_autoptr(CtfPackets) owned = packets;

	if (owned->has_event || owned->number == 0)
		close_packet(owned, 0);
	if (n_lost)
		close_packet(owned, n_lost); /* (3) */
	if (close(owned->fd) < 0 && !owned->cause)
		owned->cause = errno;
	owned->fd = -1;
	if (!owned->cause)
		return TRUE;
	g_set_error_literal(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO,
			    g_strerror(owned->cause));
	return FALSE;
}
