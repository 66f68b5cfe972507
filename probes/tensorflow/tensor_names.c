#include "tensorflow/tensor_names.h"

#include <string.h>

/* A graph has some hundred tensors that go from device to device. Eager functions make names of their own, without an end. */
#define MAX_NAMES  4096
#define N_CACHED   1024 /* a power of 2 */
#define NAME_BYTES 400

/* What was found for a name: its hash's upper half, and the class. */
static uint64_t cache[N_CACHED]; /* atomic */
static uint32_t n_names;	 /* atomic */

static uint32_t declare(enum trace_kind kind, const char *what, const struct rendezvous_key *key)
{
	char name[NAME_BYTES];
	size_t n_what = strlen(what), n_tensor = key->tensor_length;

	if (n_tensor > sizeof(name) - n_what - 2)
		n_tensor = sizeof(name) - n_what - 2;
	memcpy(name, what, n_what);
	memcpy(name + n_what, ": ", 2);
	memcpy(name + n_what + 2, key->tensor, n_tensor);
	return tacho_class(kind, name, n_what + 2 + n_tensor);
}

uint32_t tensor_class(enum trace_kind kind, const char *what, const struct rendezvous_key *key)
{
	uint64_t hash, kept;
	uint32_t class_id;

	if (!key)
		return tacho_class(kind, what, strlen(what));
	/* `what` is one of a few texts of ours, each at one address */
	hash = rendezvous_hash(key->tensor, key->tensor_length, (uintptr_t)what + (uint64_t)kind);
	kept = __atomic_load_n(&cache[hash % N_CACHED], __ATOMIC_RELAXED);
	if (kept && kept >> 32 == hash >> 32)
		return (uint32_t)kept;
	/* one that was pushed out of the cache counts again: then names are as many that it matters little */
	if (__atomic_fetch_add(&n_names, 1, __ATOMIC_RELAXED) >= MAX_NAMES)
		return tacho_class(kind, what, strlen(what));
	class_id = declare(kind, what, key);
	if (class_id)
		__atomic_store_n(&cache[hash % N_CACHED], hash >> 32 << 32 | class_id,
				 __ATOMIC_RELAXED);
	return class_id;
}
