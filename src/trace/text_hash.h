/* text_hash: FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo), a byte a step: of texts, which are short. libc only: probes use it, too. */
#ifndef TACHO_TEXT_HASH_H
#define TACHO_TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_HASH32_START UINT32_C(0x811c9dc5)
#define TEXT_HASH64_START UINT64_C(0xcbf29ce484222325)

static inline uint32_t text_hash32_step(uint32_t hash, char byte)
{
	return (hash ^ (unsigned char)byte) * UINT32_C(0x01000193);
}

static inline uint64_t text_hash64_step(uint64_t hash, char byte)
{
	return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001b3);
}

/* Of all of a text. */
static inline uint32_t text_hash32(const char *text)
{
	uint32_t hash = TEXT_HASH32_START;

	for (; *text; text++)
		hash = text_hash32_step(hash, *text);
	return hash;
}

/* Of so many bytes, after what `hash` is of. */
static inline uint32_t text_hash32_bytes(uint32_t hash, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = text_hash32_step(hash, bytes[i]);
	return hash;
}

static inline uint64_t text_hash64_bytes(uint64_t hash, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = text_hash64_step(hash, bytes[i]);
	return hash;
}

#endif
