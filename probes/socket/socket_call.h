/* socket_call: the record of one call that sends, receives or waits.
 *
 *     struct socket_call call;
 *
 *     if (!socket_call_begin(&call))
 *             return real();
 *     result = real();
 *     if (result > 0)
 *             socket_call_end_message(&call, class_id, fd, result, is_receive);
 *
 * (1) A call is recorded when it is over, for only then is it known whether it moved a byte: what
 *     failed, would have blocked or found the end of the stream leaves nothing. A call that is never
 *     over (the process is killed in it, the thread jumps out of it) leaves nothing either.
 * (2) A wait that lasted less than SOCKET_LEAST_WAIT_NS has found something at once: it is no wait, and
 *     a thread that spins so, as some do when a peer has gone, would leave nothing but such records.
 * (3) errno is kept. */
#ifndef TACHO_SOCKET_CALL_H
#define TACHO_SOCKET_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "socket/socket_fds.h"

#define SOCKET_LEAST_WAIT_NS 5000

struct socket_call {
	struct socket_ends ends; /* of a message */
	uint64_t begin_ticks;
	uint64_t begin_ns; /* of a wait */
};

/* False: it cannot be recorded. */
bool socket_call_begin(struct socket_call *call);
bool socket_call_begin_wait(struct socket_call *call);
void socket_call_end_message(const struct socket_call *call, uint32_t class_id, int fd,
			     uint64_t bytes, bool is_receive);
void socket_call_end_wait(const struct socket_call *call, uint32_t class_id);

#endif
