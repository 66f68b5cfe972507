#include "grpc/grpc_queue.h"

#include <stdlib.h>
#include <string.h>

struct known_queue {
	struct grpc_entry entry;
	bool is_callback;
};

struct known_method {
	struct grpc_entry entry;
	uint32_t class_id;
};

static struct grpc_table queues, batches, methods;

/* Forget it: addresses are handed out again. */
static void drop(struct grpc_table *table, const void *key)
{
	free(grpc_table_take(table, key, NULL));
}

void grpc_queue_add(struct grpc_queue *queue, bool is_callback)
{
	struct known_queue *known = malloc(sizeof(*known));

	drop(&queues, queue);
	if (!known)
		return;
	known->is_callback = is_callback;
	grpc_table_put(&queues, &known->entry, queue, NULL);
}

void grpc_queue_remove(struct grpc_queue *queue)
{
	drop(&queues, queue);
}

bool grpc_queue_find(struct grpc_queue *queue, bool *ret_is_callback)
{
	/* the queue is in use, so that nobody takes it out meanwhile */
	const struct known_queue *known = (void *)grpc_table_find(&queues, queue, NULL);

	if (known)
		*ret_is_callback = known->is_callback;
	return known != NULL;
}

void grpc_queue_put(struct grpc_batch *batch, struct grpc_queue *queue, void *tag)
{
	grpc_table_put(&batches, &batch->entry, queue, tag);
}

struct grpc_batch *grpc_queue_take(struct grpc_queue *queue, void *tag)
{
	return (struct grpc_batch *)grpc_table_take(&batches, queue, tag);
}

void grpc_queue_take_back(struct grpc_batch *batch)
{
	grpc_table_remove(&batches, &batch->entry);
}

void grpc_method_add(void *handle, uint32_t class_id)
{
	struct known_method *known = malloc(sizeof(*known));

	drop(&methods, handle);
	if (!known)
		return;
	known->class_id = class_id;
	grpc_table_put(&methods, &known->entry, handle, NULL);
}

uint32_t grpc_method_find(void *handle)
{
	static const char unknown[] = "gRPC method";
	const struct known_method *known = (void *)grpc_table_find(&methods, handle, NULL);

	return known ? known->class_id : grpc_method_class(unknown, strlen(unknown));
}

void grpc_queues_forget(void)
{
	grpc_table_forget(&batches);
	grpc_table_unlock(&queues);
	grpc_table_unlock(&methods);
}
