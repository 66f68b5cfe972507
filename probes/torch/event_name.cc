#include "event_name.h"

#include <cstdlib>
#include <new>

#include <ATen/record_function.h>

static constexpr size_t N_CHAINS = 4096;
static std::atomic<struct event_name *> chains[N_CHAINS];

/* FNV-1a, eight bytes a round. */
static uint64_t hash_text(const char *text, size_t length, uint8_t scope)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ scope;
	uint64_t word;

	for (; length >= sizeof(word); text += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	for (; length; text++, length--)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* c10d names its asynchronous work "<backend>:<collective>". */
static bool is_collective(const char *text)
{
	static const char *const backends[] = {
		"gloo:", "nccl:", "mpi:", "ucc:", "xccl:", "hccl:"
	};

	for (const char *backend : backends)
		if (begins_with(text, backend))
			return true;
	return false;
}

static enum event_role role_of(const char *text, uint8_t scope)
{
	if (scope != (uint8_t)at::RecordScope::USER_SCOPE)
		return begins_with(text, "c10d::") ? EVENT_COLLECTIVE_OP : EVENT_OP;
	if (is_collective(text))
		return EVENT_COLLECTIVE;
	if (begins_with(text, "enumerate(DataLoader)#"))
		return EVENT_DATA_LOADER;
	return EVENT_REGION;
}

static struct event_name *find_in_chain(struct event_name *name, const char *text, uint64_t hash,
					uint8_t scope)
{
	for (; name; name = name->next)
		if (name->hash == hash && name->scope == scope && strcmp(name->text, text) == 0)
			return name;
	return NULL;
}

struct event_name *event_name_intern(const char *text, uint8_t scope)
{
	size_t length = strlen(text);
	uint64_t hash = hash_text(text, length, scope);
	std::atomic<struct event_name *> &chain = chains[hash % N_CHAINS];
	struct event_name *head = chain.load(std::memory_order_acquire);
	struct event_name *name = find_in_chain(head, text, hash, scope);
	void *memory;

	if (name)
		return name;
	memory = malloc(sizeof(*name) + length + 1);
	if (!memory)
		return NULL;
	name = new (memory) event_name();
	name->hash = hash;
	name->scope = scope;
	name->role = role_of(text, scope);
	memcpy(name->text, text, length + 1);
	/* two threads may add the same name; the later one of the chain is then never found */
	name->next = head;
	while (!chain.compare_exchange_weak(name->next, name, std::memory_order_acq_rel))
		;
	return name;
}

static enum trace_kind kind_of(enum event_role role)
{
	switch (role) {
	case EVENT_OP:
	case EVENT_COLLECTIVE_OP:
		return TRACE_KIND_OP;
	case EVENT_DATA_LOADER:
		return TRACE_KIND_WAIT;
	case EVENT_COLLECTIVE:
		return TRACE_KIND_COLLECTIVE;
	case EVENT_REGION:
		break;
	}
	return TRACE_KIND_ANNOTATION;
}

/* PyTorch names the iterator's class: whether the thread reads the batch itself, or waits for workers. */
static const char *loader_name(const struct event_name *name)
{
	return strstr(name->text, "_MultiProcessing") ? "DataLoader workers" : "DataLoader";
}

uint32_t event_name_declare(struct event_name *name)
{
	const char *text = name->role == EVENT_DATA_LOADER ? loader_name(name) : name->text;
	uint32_t class_id = tacho_class(kind_of(name->role), text, strlen(text));

	name->class_id.store(class_id, std::memory_order_relaxed);
	return class_id;
}
