#include "tensorflow/tensor_names.h"

#include <string.h>

/* A graph has some hundred tensors that go from device to device. Eager functions make names of their own, without an end. */
#define MAX_NAMES  4096
#define N_KEPT	   16384 /* a power of 2, so large that there is a free place near to each */
#define N_TRIED	   16
#define NAME_BYTES 400

/* What was found for a name: its hash's upper half, and the class. 0: nothing yet. */
static uint64_t kept[N_KEPT]; /* atomic */
static uint32_t n_names;      /* atomic */

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

/* The class kept for the hash; 0: there is none. */
static uint32_t find(uint64_t hash)
{
	for (uint32_t i = 0; i < N_TRIED; i++) {
		uint64_t found = __atomic_load_n(&kept[(hash + i) % N_KEPT], __ATOMIC_RELAXED);

		if (!found || found >> 32 == hash >> 32)
			return (uint32_t)found;
	}
	return 0;
}

static void keep(uint64_t hash, uint32_t class_id)
{
	uint64_t entry = hash >> 32 << 32 | class_id;

	for (uint32_t i = 0; i < N_TRIED; i++) {
		uint64_t none = 0;

		if (__atomic_compare_exchange_n(&kept[(hash + i) % N_KEPT], &none, entry, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
}

uint32_t tensor_class(enum trace_kind kind, const char *what, const struct rendezvous_key *key)
{
	uint64_t hash;
	uint32_t class_id;

	if (!key)
		return tacho_class(kind, what, strlen(what));
	/* `what` is one of a few texts of ours, each at one address */
	hash = rendezvous_hash(key->tensor, key->tensor_length, (uintptr_t)what + (uint64_t)kind);
	class_id = find(hash);
	if (class_id)
		return class_id;
	if (__atomic_load_n(&n_names, __ATOMIC_RELAXED) >= MAX_NAMES)
		return tacho_class(kind, what, strlen(what));
	class_id = declare(kind, what, key);
	if (class_id) {
		__atomic_fetch_add(&n_names, 1, __ATOMIC_RELAXED);
		keep(hash, class_id);
	}
	return class_id;
}
