#include "import/read/proto_arena.h"

enum {
	BLOCK_BYTES = 64 * 1024,
	ALIGNMENT = 16,
};

static void *take(void *data, size_t size)
{
	struct proto_arena *arena = data;
	gsize n = (size + ALIGNMENT - 1) & ~(gsize)(ALIGNMENT - 1);
	void *memory;

	if (n < size || n > arena->limit_bytes - arena->n_bytes)
		return NULL;
	if (n <= arena->n_block - arena->n_used) {
		memory = arena->block + arena->n_used;
		arena->n_used += n;
	} else {
		memory = g_try_malloc(n);
		if (!memory)
			return NULL;
		g_ptr_array_add(arena->more, memory);
	}
	arena->n_bytes += n;
	return memory;
}

/* Everything ends with the reset. */
static void give_back(void *data, void *memory)
{
	(void)data;
	(void)memory;
}

void proto_arena_init(struct proto_arena *arena, gsize limit_bytes)
{
	*arena = (struct proto_arena){
		.allocator = { .alloc = take, .free = give_back, .allocator_data = arena },
		.block = g_malloc(BLOCK_BYTES),
		.n_block = BLOCK_BYTES,
		.more = g_ptr_array_new_with_free_func(g_free),
		.limit_bytes = limit_bytes,
	};
}

void proto_arena_release(struct proto_arena *arena)
{
	g_free(arena->block);
	g_ptr_array_unref(arena->more);
}

void proto_arena_reset(struct proto_arena *arena)
{
	if (arena->more->len)
		g_ptr_array_set_size(arena->more, 0);
	arena->n_used = arena->n_bytes = 0;
}

void *proto_arena_unpack(struct proto_arena *arena, const ProtobufCMessageDescriptor *descriptor,
			 const guint8 *bytes, gsize n)
{
	proto_arena_reset(arena);
	return protobuf_c_message_unpack(descriptor, &arena->allocator, n, bytes);
}
