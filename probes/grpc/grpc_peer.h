/* grpc_peer: who the other end of a call is, and which connection leads there.
 *
 * A server is told the client's address and port. A client is told the server's alone: its own port is that of the one connection that this process has
 * to that address. With more than one it is not known which: then the call has no port, and nobody pairs it. */
#ifndef TACHO_GRPC_PEER_H
#define TACHO_GRPC_PEER_H

#include "common/probe.h"
#include "grpc/grpc_abi.h"

/* Fill in the ends of `request`. `caller`: whose gRPC the call is of. */
void grpc_peer_tell(struct record_request *request, struct grpc_call *call, const void *caller);
void grpc_peers_forget(void);

/* Bytes of a message; 0: none, or gRPC has no such function. */
uint64_t grpc_buffer_bytes(struct grpc_buffer *buffer, const void *caller);

#endif
