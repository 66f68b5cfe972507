/* proto_arena: memory for protocol buffers that are unpacked one after the other.
 *
 * What protobuf-c unpacks is allocated here and dropped at once by proto_arena_reset(): no message is freed
 * part by part. A few bytes of a file can unpack into many (a field of no bytes becomes a structure); so an
 * arena has a limit, beyond which unpacking fails. */
#ifndef TACHO_PROTO_ARENA_H
#define TACHO_PROTO_ARENA_H

#include <glib.h>
#include <protobuf-c/protobuf-c.h>

struct proto_arena {
	ProtobufCAllocator allocator;
	guint8 *block; /* the first, which is kept */
	gsize n_used, n_block;
	GPtrArray *more; /* larger allocations, and those that the block had no room for */
	gsize n_bytes;	 /* of all, since the last reset */
	gsize limit_bytes;
};

void proto_arena_init(struct proto_arena *arena, gsize limit_bytes);
void proto_arena_release(struct proto_arena *arena);
void proto_arena_reset(struct proto_arena *arena);

/* Drop what was unpacked before and unpack a message, which is good until the next call. NULL: it is not
 * one, or unpacks into more than the limit. Unknown fields stay in it, as protobuf-c keeps them. */
void *proto_arena_unpack(struct proto_arena *arena, const ProtobufCMessageDescriptor *descriptor,
			 const guint8 *bytes, gsize n);

/* The bytes as a text, to be freed with g_free(). protobuf-c has no address for those that are none. */
static inline gchar *proto_text(const ProtobufCBinaryData *bytes)
{
	return g_strndup(bytes->len ? (const gchar *)bytes->data : "", bytes->len);
}

#endif
