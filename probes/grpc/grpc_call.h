/* grpc_call: the calls that are under way at either end, and the record of each.
 *
 *     client: created -> first batch: the request begins --.
 *     server: taken from its queue: the request begins ----+--> batches begin and complete -> status there (client), handed over (server): it ends
 *
 * (1) A call is known from when gRPC hands it out until its last reference is given back and no batch of it is under way.
 * (2) All calls here are for hooks: they make none of gRPC's but to ask for lengths and peers. */
#ifndef TACHO_GRPC_CALL_H
#define TACHO_GRPC_CALL_H

#include <stdbool.h>

#include "common/probe.h"
#include "grpc/grpc_abi.h"
#include "grpc/grpc_table.h"

struct grpc_known_call {
	struct grpc_entry entry;     /* key: the call */
	uint32_t references;	     /* atomic: the program's and those of batches */
	uint32_t program_references; /* atomic */
	uint32_t class_id;
	uint32_t generation;	     /* of the record */
	bool is_server, is_callback; /* its queue calls back */
	bool is_sent, is_received;   /* the first message */
	bool has_begun, has_peer;
	uint32_t has_ended; /* atomic */
	struct grpc_queue *queue;
	struct record_request *record; /* NULL: none */
};

/* A batch under way, or a server's request for its next call. */
struct grpc_batch {
	struct grpc_entry entry;     /* key: queue and tag; of a callback queue it is in no table */
	struct grpc_functor functor; /* what a callback queue runs in the place of `original` */
	struct grpc_functor *original;
	struct grpc_known_call *call; /* NULL: a request for the next */
	const void *caller;	      /* who has what is asked of gRPC */
	struct grpc_buffer **receive_message;
	int *receive_status, *is_cancelled;
	uint64_t sent_bytes;
	uint32_t n_sent;
	bool sends_status, receives_metadata;
	/* of a request for the next call */
	struct grpc_call **next_call;
	struct grpc_details *details;
	struct grpc_buffer **payload;
	uint32_t class_id;
	struct grpc_queue *queue; /* of that call */
	bool is_callback;
};

uint32_t grpc_method_class(const char *name, size_t length);
uint32_t grpc_slice_class(const struct grpc_slice *method);

/* The call is handed out. */
void grpc_call_add(struct grpc_call *call, uint32_t class_id, struct grpc_queue *queue,
		   bool is_callback, bool is_server, const void *caller);
/* With a reference more, given back by grpc_batch_complete() or grpc_call_release(); NULL: not known. */
struct grpc_known_call *grpc_call_find(struct grpc_call *call);
void grpc_call_release(struct grpc_known_call *call);
/* The program takes another reference, or gives one back. */
void grpc_call_referenced(struct grpc_call *call);
void grpc_call_unreferenced(struct grpc_call *call);

/* What `ops` will do; counts what is sent. NULL: there is no memory. */
struct grpc_batch *grpc_batch_new(struct grpc_known_call *call, const struct grpc_op *ops, size_t n,
				  const void *caller);
/* It is over; frees it. */
void grpc_batch_complete(struct grpc_batch *batch, bool is_ok);
/* gRPC does not take it; frees it. */
void grpc_batch_refuse(struct grpc_batch *batch);

void grpc_calls_forget(void);

#endif
