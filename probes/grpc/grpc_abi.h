/* grpc_abi: what gRPC's C interface looks like to its callers, as far as the probe reads it. Facts of grpc/grpc.h, grpc/slice.h and
 * grpc/impl/codegen/grpc_types.h, which have not changed since gRPC 1.0; of callback queues since 1.18. */
#ifndef TACHO_GRPC_ABI_H
#define TACHO_GRPC_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Opaque there, too. */
struct grpc_call;
struct grpc_queue;  /* grpc_completion_queue */
struct grpc_buffer; /* grpc_byte_buffer */

#define GRPC_INLINED_BYTES (sizeof(size_t) + sizeof(uint8_t *) - 1 + sizeof(void *))

struct grpc_slice {
	void *refcount; /* NULL: the bytes are inlined */
	union {
		struct {
			size_t length;
			uint8_t *bytes;
		} counted;
		struct {
			uint8_t length;
			uint8_t bytes[GRPC_INLINED_BYTES];
		} inlined;
	} data;
};

struct grpc_time { /* gpr_timespec */
	int64_t seconds;
	int32_t nanoseconds;
	int clock;
};

enum { GRPC_EVENT_COMPLETE = 2 };

struct grpc_event {
	int type;
	int success;
	void *tag;
};

enum grpc_op_type {
	GRPC_SEND_INITIAL_METADATA,
	GRPC_SEND_MESSAGE,
	GRPC_SEND_CLOSE,
	GRPC_SEND_STATUS,
	GRPC_RECEIVE_INITIAL_METADATA,
	GRPC_RECEIVE_MESSAGE,
	GRPC_RECEIVE_STATUS,
	GRPC_RECEIVE_CLOSE,
};

struct grpc_op {
	int op; /* enum grpc_op_type */
	uint32_t flags;
	void *reserved;
	union {
		void *reserved[8];
		struct grpc_buffer *send_message;
		struct {
			size_t n_metadata;
			void *metadata;
			int status;
			struct grpc_slice *details;
		} send_status;
		struct grpc_buffer **receive_message;
		struct {
			void *metadata;
			int *status;
			struct grpc_slice *details;
			const char **error;
		} receive_status;
		int *is_cancelled; /* RECEIVE_CLOSE */
	} data;
};

struct grpc_details { /* grpc_call_details */
	struct grpc_slice method, host;
	struct grpc_time deadline;
};

enum grpc_queue_type { GRPC_QUEUE_NEXT, GRPC_QUEUE_PLUCK, GRPC_QUEUE_CALLBACK };

struct grpc_queue_attributes {
	int version;
	int type; /* enum grpc_queue_type */
};

/* What a tag of a callback queue points to. */
struct grpc_functor {
	void (*run)(struct grpc_functor *functor, int is_ok);
	int is_inlineable;
	int internal_success;
	struct grpc_functor *internal_next;
};

/* The functions that the probe defines, as gRPC does. */
struct grpc_queue *grpc_completion_queue_create(const void *factory,
						const struct grpc_queue_attributes *attributes,
						void *reserved);
struct grpc_queue *grpc_completion_queue_create_for_next(void *reserved);
struct grpc_queue *grpc_completion_queue_create_for_pluck(void *reserved);
struct grpc_queue *grpc_completion_queue_create_for_callback(struct grpc_functor *shutdown,
							     void *reserved);
void grpc_completion_queue_destroy(struct grpc_queue *queue);
struct grpc_event grpc_completion_queue_next(struct grpc_queue *queue, struct grpc_time deadline,
					     void *reserved);
struct grpc_event grpc_completion_queue_pluck(struct grpc_queue *queue, void *tag,
					      struct grpc_time deadline, void *reserved);
int grpc_completion_queue_thread_local_cache_flush(struct grpc_queue *queue, void **tag,
						   int *is_ok);
struct grpc_call *grpc_channel_create_call(void *channel, struct grpc_call *parent, uint32_t mask,
					   struct grpc_queue *queue, struct grpc_slice method,
					   const struct grpc_slice *host, struct grpc_time deadline,
					   void *reserved);
void *grpc_channel_register_call(void *channel, const char *method, const char *host,
				 void *reserved);
struct grpc_call *grpc_channel_create_registered_call(void *channel, struct grpc_call *parent,
						      uint32_t mask, struct grpc_queue *queue,
						      void *handle, struct grpc_time deadline,
						      void *reserved);
int grpc_call_start_batch(struct grpc_call *call, const struct grpc_op *ops, size_t n, void *tag,
			  void *reserved);
void grpc_call_ref(struct grpc_call *call);
void grpc_call_unref(struct grpc_call *call);
void *grpc_server_register_method(void *server, const char *method, const char *host, int payload,
				  uint32_t flags);
int grpc_server_request_call(void *server, struct grpc_call **call, struct grpc_details *details,
			     void *metadata, struct grpc_queue *queue, struct grpc_queue *notified,
			     void *tag);
int grpc_server_request_registered_call(void *server, void *method, struct grpc_call **call,
					struct grpc_time *deadline, void *metadata,
					struct grpc_buffer **payload, struct grpc_queue *queue,
					struct grpc_queue *notified, void *tag);

#endif
