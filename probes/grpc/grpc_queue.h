/* grpc_queue: the completion queues that there are, the batches that they will tell of, and the methods that were registered. */
#ifndef TACHO_GRPC_QUEUE_H
#define TACHO_GRPC_QUEUE_H

#include "grpc/grpc_call.h"

void grpc_queue_add(struct grpc_queue *queue, bool is_callback);
void grpc_queue_remove(struct grpc_queue *queue);
/* False: it is not known. */
bool grpc_queue_find(struct grpc_queue *queue, bool *ret_is_callback);

void grpc_queue_put(struct grpc_batch *batch, struct grpc_queue *queue, void *tag);
/* The one that was put in first; NULL: there is none. */
struct grpc_batch *grpc_queue_take(struct grpc_queue *queue, void *tag);
/* gRPC has refused it. */
void grpc_queue_take_back(struct grpc_batch *batch);

/* A method of a channel or a server, by the handle that gRPC gave out. */
void grpc_method_add(void *handle, uint32_t class_id);
/* The class of a method without a name, where it is not known. */
uint32_t grpc_method_find(void *handle);

void grpc_queues_forget(void);

/* Of grpc_probe.c: a request for a server's next call; NULL: its queue is not known, or there is no memory. */
struct grpc_batch *grpc_next_call_new(struct grpc_call **call, struct grpc_queue *queue,
				      const void *caller);
/* The same: `notified`, which may be another queue than the call's, will tell of it. Returns the tag to give to gRPC. */
void *grpc_next_call_put(struct grpc_batch *batch, struct grpc_queue *notified, void *tag);

#endif
