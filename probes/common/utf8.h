/* utf8: characters as bytes, for probes. */
#ifndef TACHO_PROBE_UTF8_H
#define TACHO_PROBE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Write `character` (up to 0x1fffff) as UTF-8; `to` has room for 4 bytes. Returns how many they are. */
static inline size_t utf8_put(char *to, uint32_t character)
{
	if (character < 0x80) {
		to[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		to[0] = (char)(0xc0 | character >> 6);
		to[1] = (char)(0x80 | (character & 63));
		return 2;
	}
	if (character < 0x10000) {
		to[0] = (char)(0xe0 | character >> 12);
		to[1] = (char)(0x80 | (character >> 6 & 63));
		to[2] = (char)(0x80 | (character & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | (character >> 18 & 7));
	to[1] = (char)(0x80 | (character >> 12 & 63));
	to[2] = (char)(0x80 | (character >> 6 & 63));
	to[3] = (char)(0x80 | (character & 63));
	return 4;
}

#endif
