#include "tensorflow/rendezvous_key.h"

#include <string.h>

#define N_PARTS	    5
#define TENSOR_PART 3
#define MAX_BYTES   4096

/* FNV-1a */
static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
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
	key->hash = hash_of(text, length);
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
