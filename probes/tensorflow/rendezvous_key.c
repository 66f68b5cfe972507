#include "tensorflow/rendezvous_key.h"

#include <string.h>

#define N_PARTS	    5
#define TENSOR_PART 3
#define MAX_BYTES   4096

/* Eight bytes at a time, each a multiplication that the next one waits for: keys have a hundred and more. */
uint64_t rendezvous_hash(const char *text, size_t length, uint64_t seed)
{
	uint64_t hash = seed ^ length * 0x9e3779b97f4a7c15u, word = 0;

	for (; length >= sizeof(word); text += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = (hash ^ word) * 0xd6e8feb86659fd93u;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, length);
	hash = (hash ^ word) * 0xd6e8feb86659fd93u;
	hash ^= hash >> 32;
	return hash ? hash : 1;
}

bool rendezvous_key_read(struct rendezvous_key *key, const char *text, size_t length)
{
	const char *part = text, *end = text + length;

	for (int i = 0; i < N_PARTS - 1; i++) {
		const char *next = memchr(part, ';', (size_t)(end - part));

		if (!next)
			return false;
		if (i == TENSOR_PART) {
			key->tensor = part;
			key->tensor_length = (size_t)(next - part);
		}
		part = next + 1;
	}
	key->text = text;
	key->length = length;
	key->hash = rendezvous_hash(text, length, 0);
	return true;
}

bool rendezvous_key_of(struct rendezvous_key *key, const struct tensorflow_key *told)
{
	bool is_address_first = told->view[0] >= TENSORFLOW_LEAST_ADDRESS;
	const char *text = (const char *)told->view[is_address_first ? 0 : 1];
	size_t source_length = told->view[is_address_first ? 1 : 0];

	if ((uintptr_t)text < TENSORFLOW_LEAST_ADDRESS || source_length >= MAX_BYTES)
		return false;
	/* the source's name must end where the text's first part does */
	return text[source_length] == ';' &&
	       rendezvous_key_read(key, text, strnlen(text, MAX_BYTES)) &&
	       memchr(text, ';', source_length + 1) == text + source_length;
}
