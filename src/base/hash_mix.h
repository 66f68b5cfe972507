/* hash_mix: FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo), eight bytes at a time. */
#ifndef TACHO_HASH_MIX_H
#define TACHO_HASH_MIX_H

#include <glib.h>

#define HASH_MIX_START G_GUINT64_CONSTANT(0xcbf29ce484222325)

static inline guint64 hash_mix(guint64 hash, guint64 value)
{
	return (hash ^ value) * G_GUINT64_CONSTANT(0x100000001b3);
}

#endif
