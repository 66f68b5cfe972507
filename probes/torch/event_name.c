#include "event_name.h"

#include <assert.h>
#include <stdlib.h>

#define N_CHAINS 4096

static_assert(sizeof(struct event_name_slot) == 32, "slots do not lie across lines");

static struct event_name *chains[N_CHAINS]; /* atomic */

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

uint64_t event_name_hash(const char *text, uint8_t scope)
{
	return hash_text(text, strlen(text), scope);
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

	for (size_t i = 0; i < sizeof(backends) / sizeof(*backends); i++)
		if (begins_with(text, backends[i]))
			return true;
	return false;
}

static enum event_role role_of(const char *text, uint8_t scope)
{
	if (scope != EVENT_SCOPE_USER)
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
	struct event_name **chain = &chains[hash % N_CHAINS];
	struct event_name *head = __atomic_load_n(chain, __ATOMIC_ACQUIRE);
	struct event_name *name = find_in_chain(head, text, hash, scope);

	if (name)
		return name;
	name = (struct event_name *)calloc(1, sizeof(*name) + length + 1);
	if (!name)
		return NULL;
	name->hash = hash;
	name->scope = scope;
	name->role = role_of(text, scope);
	memcpy(name->text, text, length + 1);
	/* two threads may add the same name; the later one of the chain is then never found */
	name->next = head;
	while (!__atomic_compare_exchange_n(chain, &name->next, name, true, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
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
	enum event_role role = (enum event_role)name->role;
	const char *text = role == EVENT_DATA_LOADER ? loader_name(name) : name->text;
	uint32_t class_id = tacho_class(kind_of(role), text, strlen(text));

	__atomic_store_n(&name->class_id, class_id, __ATOMIC_RELAXED);
	return class_id;
}
