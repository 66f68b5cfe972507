/* grpc_allocator: calls of C++'s servers that are not asked for one by one (synchronous ones and those with callbacks): no function of the C interface hands
 * them out.
 *
 * There the server is given a std::function for each method, which it asks for a place whenever a call has come, and its queue tells when the call is in it.
 * Ours stands before that function. What a std::function of libstdc++ is made of, and what it returns, are facts of bits/std_function.h and of gRPC's
 * src/core/lib/surface/server.h; another standard library has another symbol, and is left alone.
 *
 * (1) A std::function of libstdc++ may be moved by copying its bytes: what is stored within it is trivially copyable.
 * (2) Only the first two members of a place, the tag and where the call is to be, are read and written; of gRPC 1.30 to 1.60 they are the same. */
#ifndef TACHO_GRPC_ALLOCATOR_H
#define TACHO_GRPC_ALLOCATOR_H

#include "grpc/grpc_queue.h"

#endif
