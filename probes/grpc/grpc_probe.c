/* grpc_probe: stands before the functions of gRPC's C interface that make calls, start their batches and say that these are complete. C++, Ruby, PHP
 * and others go through it, where they share libgrpc.so.
 *
 * (1) What is called is what the caller would have reached (real_function.h), with the arguments as they came; results come back as they are.
 * (2) Nothing is added to what is sent, and no message is looked into: lengths and addresses alone are asked for.
 * (3) A batch is known by its queue and tag until the queue tells of it. Callback queues run their tags instead: there the tag is a functor of ours, which
 *     runs the program's.
 * (4) Queues that were there before tacho are of a type that is not known: their calls are left alone. */
#include "grpc/grpc_call.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/elf_imports.h"
#include "common/real_function.h"
#include "common/watch.h"
#include "grpc/grpc_peer.h"
#include "grpc/grpc_queue.h"

#define CALLER __builtin_return_address(0)

#define NO_FUNCTION 1 /* GRPC_CALL_ERROR */

#define REAL(name)                                                                                 \
	static struct real_function real_##name = REAL_FUNCTION_INIT(#name);                       \
	__typeof__(name) *real = (__typeof__(name) *)real_function(&real_##name, CALLER)

static void measure_cost(void);

static inline bool is_wanted(void)
{
	return tacho_is_recording_all() && !tacho_writer.is_inside && !tacho_is_aside;
}

/* --- queues ----------------------------------------------------------------------------------- */

TACHO_EXPORT struct grpc_queue *
grpc_completion_queue_create(const void *factory, const struct grpc_queue_attributes *attributes,
			     void *reserved)
{
	REAL(grpc_completion_queue_create);
	struct grpc_queue *queue = real ? real(factory, attributes, reserved) : NULL;

	if (queue && attributes)
		grpc_queue_add(queue, attributes->type == GRPC_QUEUE_CALLBACK);
	return queue;
}

TACHO_EXPORT struct grpc_queue *grpc_completion_queue_create_for_next(void *reserved)
{
	REAL(grpc_completion_queue_create_for_next);
	struct grpc_queue *queue = real ? real(reserved) : NULL;

	if (queue)
		grpc_queue_add(queue, false);
	return queue;
}

TACHO_EXPORT struct grpc_queue *grpc_completion_queue_create_for_pluck(void *reserved)
{
	REAL(grpc_completion_queue_create_for_pluck);
	struct grpc_queue *queue = real ? real(reserved) : NULL;

	if (queue)
		grpc_queue_add(queue, false);
	return queue;
}

TACHO_EXPORT struct grpc_queue *
grpc_completion_queue_create_for_callback(struct grpc_functor *shutdown, void *reserved)
{
	REAL(grpc_completion_queue_create_for_callback);
	struct grpc_queue *queue = real ? real(shutdown, reserved) : NULL;

	if (queue)
		grpc_queue_add(queue, true);
	return queue;
}

TACHO_EXPORT void grpc_completion_queue_destroy(struct grpc_queue *queue)
{
	REAL(grpc_completion_queue_destroy);

	grpc_queue_remove(queue);
	if (real)
		real(queue);
}

static void take_event(struct grpc_queue *queue, void *tag, bool is_ok)
{
	struct grpc_batch *batch = grpc_queue_take(queue, tag);

	if (batch)
		grpc_batch_complete(batch, is_ok);
}

static const struct grpc_event
	no_event; /* of a gRPC that has no such function: its queue is shut down */

TACHO_EXPORT struct grpc_event grpc_completion_queue_next(struct grpc_queue *queue,
							  struct grpc_time deadline, void *reserved)
{
	REAL(grpc_completion_queue_next);
	struct grpc_event event = real ? real(queue, deadline, reserved) : no_event;

	if (event.type == GRPC_EVENT_COMPLETE)
		take_event(queue, event.tag, event.success);
	return event;
}

TACHO_EXPORT struct grpc_event grpc_completion_queue_pluck(struct grpc_queue *queue, void *tag,
							   struct grpc_time deadline,
							   void *reserved)
{
	REAL(grpc_completion_queue_pluck);
	struct grpc_event event = real ? real(queue, tag, deadline, reserved) : no_event;

	if (event.type == GRPC_EVENT_COMPLETE)
		take_event(queue, event.tag, event.success);
	return event;
}

TACHO_EXPORT int grpc_completion_queue_thread_local_cache_flush(struct grpc_queue *queue,
								void **tag, int *is_ok)
{
	REAL(grpc_completion_queue_thread_local_cache_flush);
	int has_event = real ? real(queue, tag, is_ok) : 0;

	if (has_event)
		take_event(queue, *tag, *is_ok);
	return has_event;
}

/* --- a client's calls ------------------------------------------------------------------------- */

static void add_call(struct grpc_call *call, uint32_t class_id, struct grpc_queue *queue,
		     const void *caller)
{
	bool is_callback;

	if (grpc_queue_find(queue, &is_callback))
		grpc_call_add(call, class_id, queue, is_callback, false, caller);
	else
		tacho_unseen("gRPC calls", "gRPC calls are not recorded of queues that were there "
					   "before tacho attach; record from the start");
}

TACHO_EXPORT struct grpc_call *grpc_channel_create_call(void *channel, struct grpc_call *parent,
							uint32_t mask, struct grpc_queue *queue,
							struct grpc_slice method,
							const struct grpc_slice *host,
							struct grpc_time deadline, void *reserved)
{
	REAL(grpc_channel_create_call);
	uint32_t class_id = is_wanted() ? grpc_slice_class(&method) : 0; /* before it is taken */
	struct grpc_call *call =
		real ? real(channel, parent, mask, queue, method, host, deadline, reserved) : NULL;

	measure_cost();
	if (call && class_id)
		add_call(call, class_id, queue, CALLER);
	return call;
}

TACHO_EXPORT void *grpc_channel_register_call(void *channel, const char *method, const char *host,
					      void *reserved)
{
	REAL(grpc_channel_register_call);
	void *handle = real ? real(channel, method, host, reserved) : NULL;

	if (handle && method)
		grpc_method_add(handle, grpc_method_class(method, strlen(method)));
	return handle;
}

TACHO_EXPORT struct grpc_call *
grpc_channel_create_registered_call(void *channel, struct grpc_call *parent, uint32_t mask,
				    struct grpc_queue *queue, void *handle,
				    struct grpc_time deadline, void *reserved)
{
	REAL(grpc_channel_create_registered_call);
	struct grpc_call *call =
		real ? real(channel, parent, mask, queue, handle, deadline, reserved) : NULL;

	measure_cost();
	if (call && is_wanted())
		add_call(call, grpc_method_find(handle), queue, CALLER);
	return call;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void batch_ran(struct grpc_functor *functor, int is_ok)
{
	struct grpc_batch *batch =
		(struct grpc_batch *)((char *)functor - offsetof(struct grpc_batch, functor));
	struct grpc_functor *original = batch->original;

	grpc_batch_complete(batch, is_ok);
	original->run(original, is_ok);
}

/* The tag that gRPC is given. */
static void *put_batch(struct grpc_batch *batch, struct grpc_queue *queue, bool is_callback,
		       void *tag)
{
	struct grpc_functor *original = tag;

	if (is_callback && tag) {
		batch->original = original;
		batch->functor.run = batch_ran;
		batch->functor.is_inlineable = original->is_inlineable;
		return &batch->functor;
	}
	grpc_queue_put(batch, queue, tag);
	return tag;
}

static void drop_batch(struct grpc_batch *batch)
{
	if (!batch->original)
		grpc_queue_take_back(batch);
	grpc_batch_refuse(batch);
}

TACHO_EXPORT int grpc_call_start_batch(struct grpc_call *call, const struct grpc_op *ops, size_t n,
				       void *tag, void *reserved)
{
	REAL(grpc_call_start_batch);
	struct grpc_known_call *known = grpc_call_find(call);
	struct grpc_batch *batch = known ? grpc_batch_new(known, ops, n, CALLER) : NULL;
	void *own;
	int error;

	if (!batch) {
		if (known)
			grpc_call_release(known);
		return real ? real(call, ops, n, tag, reserved) : NO_FUNCTION;
	}
	own = put_batch(batch, known->queue, known->is_callback, tag);
	error = real ? real(call, ops, n, own, reserved) : NO_FUNCTION;
	if (error)
		drop_batch(batch);
	return error;
}

TACHO_EXPORT void grpc_call_ref(struct grpc_call *call)
{
	REAL(grpc_call_ref);

	grpc_call_referenced(call);
	if (real)
		real(call);
}

TACHO_EXPORT void grpc_call_unref(struct grpc_call *call)
{
	REAL(grpc_call_unref);

	grpc_call_unreferenced(call);
	if (real)
		real(call);
}

/* --- a server's calls ------------------------------------------------------------------------- */

TACHO_EXPORT void *grpc_server_register_method(void *server, const char *method, const char *host,
					       int payload, uint32_t flags)
{
	REAL(grpc_server_register_method);
	void *handle = real ? real(server, method, host, payload, flags) : NULL;

	if (handle && method)
		grpc_method_add(handle, grpc_method_class(method, strlen(method)));
	return handle;
}

struct grpc_batch *grpc_next_call_new(struct grpc_call **call, struct grpc_queue *queue,
				      const void *caller)
{
	bool is_callback;
	struct grpc_batch *batch =
		grpc_queue_find(queue, &is_callback) ? calloc(1, sizeof(*batch)) : NULL;

	if (!batch)
		return NULL;
	batch->caller = caller;
	batch->next_call = call;
	batch->queue = queue;
	batch->is_callback = is_callback;
	return batch;
}

void *grpc_next_call_put(struct grpc_batch *batch, struct grpc_queue *notified, void *tag)
{
	bool is_callback;

	return put_batch(batch, notified, grpc_queue_find(notified, &is_callback) && is_callback,
			 tag);
}

TACHO_EXPORT int grpc_server_request_call(void *server, struct grpc_call **call,
					  struct grpc_details *details, void *metadata,
					  struct grpc_queue *queue, struct grpc_queue *notified,
					  void *tag)
{
	REAL(grpc_server_request_call);
	struct grpc_batch *batch = grpc_next_call_new(call, queue, CALLER);
	void *own = tag;
	int error;

	measure_cost();
	if (batch) {
		batch->details = details;
		own = grpc_next_call_put(batch, notified, tag);
	}
	error = real ? real(server, call, details, metadata, queue, notified, own) : NO_FUNCTION;
	if (error && batch)
		drop_batch(batch);
	return error;
}

TACHO_EXPORT int grpc_server_request_registered_call(void *server, void *method,
						     struct grpc_call **call,
						     struct grpc_time *deadline, void *metadata,
						     struct grpc_buffer **payload,
						     struct grpc_queue *queue,
						     struct grpc_queue *notified, void *tag)
{
	REAL(grpc_server_request_registered_call);
	struct grpc_batch *batch = grpc_next_call_new(call, queue, CALLER);
	void *own = tag;
	int error;

	measure_cost();
	if (batch) {
		batch->class_id = grpc_method_find(method);
		batch->payload = payload;
		own = grpc_next_call_put(batch, notified, tag);
	}
	error = real ? real(server, method, call, deadline, metadata, payload, queue, notified, own)
		     : NO_FUNCTION;
	if (error && batch)
		drop_batch(batch);
	return error;
}

/* --- what a request costs --------------------------------------------------------------------- */

#define COST_ROUNDS 9
#define COST_CALLS  64

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* All that the hooks do for a call with one batch, of a queue and a call that are none. */
static void make_calls(uint32_t class_id)
{
	static char place[COST_CALLS];
	struct grpc_queue *queue = (struct grpc_queue *)place;
	const struct grpc_op ops[] = { { .op = GRPC_SEND_INITIAL_METADATA },
				       { .op = GRPC_SEND_CLOSE } };

	for (int i = 0; i < COST_CALLS; i++) {
		struct grpc_call *call = (struct grpc_call *)&place[i];
		struct grpc_known_call *known;
		struct grpc_batch *batch;

		grpc_call_add(call, class_id, queue, false, false, NULL);
		known = grpc_call_find(call);
		batch = known ? grpc_batch_new(known, ops, 2, NULL) : NULL;
		if (batch) {
			grpc_queue_put(batch, queue, call);
			take_event(queue, call, true);
		} else if (known) {
			grpc_call_release(known);
		}
		grpc_call_unreferenced(call);
	}
}

static void run_measurement(void *unused)
{
	static const char name[] = "gRPC method";
	uint32_t class_id = grpc_method_class(name, strlen(name));
	uint64_t least_ns = UINT64_MAX;

	(void)unused;
	if (!class_id || !tacho_scratch_begin(COST_CALLS * 2 * sizeof(struct record_request)))
		return;
	for (int round = 0; round < COST_ROUNDS; round++) {
		uint64_t begin_ns, ns;

		tacho_scratch_rewind();
		begin_ns = now_ns();
		make_calls(class_id);
		ns = now_ns() - begin_ns;
		if (ns < least_ns)
			least_ns = ns;
	}
	tacho_scratch_end();
	tacho_cost(TRACE_KIND_REQUEST, "grpc", least_ns * 1000 / COST_CALLS);
}

/* Once a process: some microseconds. */
static void measure_cost(void)
{
	static uint32_t measured; /* generation */
	uint32_t generation = tacho_generation();

	if (__atomic_load_n(&measured, __ATOMIC_RELAXED) == generation || !is_wanted() ||
	    __atomic_exchange_n(&measured, generation, __ATOMIC_RELAXED) == generation)
		return;
	tacho_run_aside(run_measurement, NULL);
}

/* --- forks ------------------------------------------------------------------------------------ */

static void after_fork_in_child(void)
{
	grpc_calls_forget();
	grpc_queues_forget();
	grpc_peers_forget();
}

/* --- where there is nothing to see ------------------------------------------------------------ */

/* Python's extension, which mostly has gRPC linked in statically. */
static void python_appeared(const char *path, uintptr_t base_address)
{
	static const char *const calls[] = { "grpc_call_start_batch" };

	if (!elf_imports_any(base_address, calls, 1))
		tacho_unseen("gRPC calls",
			     "no calls of gRPC are recorded for %s, because gRPC is linked into it "
			     "statically",
			     path);
}

static void __attribute__((constructor)) start(void)
{
	pthread_atfork(NULL, NULL, after_fork_in_child);
	tacho_watch_library("cygrpc", python_appeared);
}
