#include "grpc/grpc_allocator.h"

#include <stdlib.h>
#include <string.h>

#include "common/real_function.h"

/* std::function */
union stored {
	void *words[2];
};

enum manager_operation { GET_TYPE, GET_STORED, COPY_STORED, DESTROY_STORED };

struct function {
	union stored stored;
	bool (*manage)(union stored *to, const union stored *from, int operation);
	void (*invoke)(void);
};

/* What a method's function returns, and that of all others. */
struct place {
	void *tag;
	struct grpc_call **call;
	void *metadata, *deadline;
	struct grpc_buffer **payload;
	struct grpc_queue *queue;
};

struct unnamed_place {
	void *tag;
	struct grpc_call **call;
	void *metadata;
	struct grpc_details *details;
	struct grpc_queue *queue;
};

typedef struct place invoke_named(const union stored *stored);
typedef struct unnamed_place invoke_unnamed(const union stored *stored);

/* What ours stands before. */
struct allocator {
	struct function original;
	uint32_t n_copies; /* atomic */
	uint32_t class_id;
	struct grpc_queue *notified;
	const void *caller;
};

static bool manage(union stored *to, const union stored *from, int operation)
{
	struct allocator *allocator;

	switch (operation) {
	case COPY_STORED:
		allocator = from->words[0];
		__atomic_fetch_add(&allocator->n_copies, 1, __ATOMIC_RELAXED);
		to->words[0] = allocator;
		break;
	case DESTROY_STORED:
		allocator = to->words[0];
		if (__atomic_sub_fetch(&allocator->n_copies, 1, __ATOMIC_ACQ_REL))
			break;
		allocator->original.manage(&allocator->original.stored, &allocator->original.stored,
					   DESTROY_STORED);
		free(allocator);
		break;
	default: /* nobody asks: gRPC does not look into it */
		to->words[0] = NULL;
	}
	return false;
}

static struct grpc_batch *new_batch(const struct allocator *allocator, struct grpc_call **call,
				    struct grpc_queue *queue)
{
	return tacho_is_recording_all() ? grpc_next_call_new(call, queue, allocator->caller) : NULL;
}

static struct place allocate_named(const union stored *stored)
{
	const struct allocator *allocator = stored->words[0];
	struct place place =
		((invoke_named *)(void *)allocator->original.invoke)(&allocator->original.stored);
	struct grpc_batch *batch = new_batch(allocator, place.call, place.queue);

	if (batch) {
		batch->class_id = allocator->class_id;
		batch->payload = place.payload;
		place.tag = grpc_next_call_put(batch, allocator->notified, place.tag);
	}
	return place;
}

static struct unnamed_place allocate_unnamed(const union stored *stored)
{
	const struct allocator *allocator = stored->words[0];
	struct unnamed_place place =
		((invoke_unnamed *)(void *)allocator->original.invoke)(&allocator->original.stored);
	struct grpc_batch *batch = new_batch(allocator, place.call, place.queue);

	if (batch) {
		batch->details = place.details;
		place.tag = grpc_next_call_put(batch, allocator->notified, place.tag);
	}
	return place;
}

/* Move `original` behind ours; false: there is no memory. */
static bool wrap(struct function *original, struct function *ours, void (*invoke)(void),
		 uint32_t class_id, struct grpc_queue *notified, const void *caller)
{
	struct allocator *allocator = original->manage ? malloc(sizeof(*allocator)) : NULL;

	if (!allocator)
		return false;
	allocator->original = *original;
	allocator->n_copies = 1;
	allocator->class_id = class_id;
	allocator->notified = notified;
	allocator->caller = caller;
	original->manage = NULL; /* empty: its destructor does nothing */
	*ours = (struct function){ .stored = { { allocator, NULL } },
				   .manage = manage,
				   .invoke = invoke };
	return true;
}

static void destroy(struct function *function)
{
	if (function->manage)
		function->manage(&function->stored, &function->stored, DESTROY_STORED);
}

typedef void set_named(void *server, struct grpc_queue *queue, void *method,
		       struct function *allocator);
typedef void set_unnamed(void *server, struct grpc_queue *queue, struct function *allocator);

#define NAMED                                                                                      \
	"_ZN9grpc_core6Server28SetRegisteredMethodAllocatorEP21grpc_completion_queuePv"            \
	"St8functionIFNS0_24RegisteredCallAllocationEvEE"
#define UNNAMED                                                                                    \
	"_ZN9grpc_core6Server23SetBatchMethodAllocatorEP21grpc_completion_queue"                   \
	"St8functionIFNS0_19BatchCallAllocationEvEE"

TACHO_EXPORT void grpc_set_named(void *server, struct grpc_queue *queue, void *method,
				 struct function *allocator) __asm__(NAMED);
TACHO_EXPORT void grpc_set_unnamed(void *server, struct grpc_queue *queue,
				   struct function *allocator) __asm__(UNNAMED);

void grpc_set_named(void *server, struct grpc_queue *queue, void *method,
		    struct function *allocator)
{
	static struct real_function real_function_named = REAL_FUNCTION_INIT(NAMED);
	const void *caller = __builtin_return_address(0);
	set_named *real = (set_named *)real_function(&real_function_named, caller);
	struct function ours;

	if (!real)
		return;
	if (!wrap(allocator, &ours, (void (*)(void))(void *)allocate_named,
		  grpc_method_find(method), queue, caller)) {
		real(server, queue, method, allocator);
		return;
	}
	real(server, queue, method, &ours);
	destroy(&ours);
}

void grpc_set_unnamed(void *server, struct grpc_queue *queue, struct function *allocator)
{
	static struct real_function real_function_unnamed = REAL_FUNCTION_INIT(UNNAMED);
	const void *caller = __builtin_return_address(0);
	set_unnamed *real = (set_unnamed *)real_function(&real_function_unnamed, caller);
	struct function ours;

	if (!real)
		return;
	if (!wrap(allocator, &ours, (void (*)(void))(void *)allocate_unnamed, 0, queue, caller)) {
		real(server, queue, allocator);
		return;
	}
	real(server, queue, &ours);
	destroy(&ours);
}
