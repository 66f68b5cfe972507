/* packet_cut: give back the unused end of a stream file, so that it is a valid trace at every moment
 * on the way:
 *
 *     header | records | zeros .................... |   packet_bits covers the file
 *     header | records | empty packet | zeros ..... |   the same, unseen inside the padding
 *     header | records | empty packet ............. |   packet_bits ends at the cut: two packets
 *     header | records |                                 the file ends at the cut
 *
 * For the agent, at a process's end, and for `tacho record`, after a process was killed. Libc only. */
#ifndef TACHO_PACKET_CUT_H
#define TACHO_PACKET_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "trace/trace_layout.h"

/* Cut the stream file `fd`, of `file_bytes` bytes and with the header `packet`, behind `keep_bytes`
 * (>= its content). False, with the file still valid, where a write fails. */
static inline bool packet_cut(int fd, const struct packet_header *packet, uint64_t file_bytes,
			      uint64_t keep_bytes)
{
	const uint64_t keep_bits = keep_bytes * 8;
	struct packet_header rest = {
		.magic = packet->magic,
		.stream_class = packet->stream_class,
		.packet_bits = (file_bytes - keep_bytes) * 8,
		.content_bits = sizeof(rest) * 8,
	};

	/* The stream's writer may still be storing into `packet`, to content_bits and discarded. */
	memcpy(rest.uuid, packet->uuid, sizeof(rest.uuid));
	if (keep_bytes + sizeof(rest) > file_bytes)
		return true;
	return pwrite(fd, &rest, sizeof(rest), (off_t)keep_bytes) == (ssize_t)sizeof(rest) &&
	       pwrite(fd, &keep_bits, sizeof(keep_bits),
		      offsetof(struct packet_header, packet_bits)) == (ssize_t)sizeof(keep_bits) &&
	       ftruncate(fd, (off_t)keep_bytes) == 0;
}

#endif
