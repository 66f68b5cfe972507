/* rendezvous_key: the text by which TensorFlow's processes name a tensor that one device hands to another,
 * "source;incarnation;destination;tensor;frame:iteration". */
#ifndef TACHO_TENSORFLOW_RENDEZVOUS_KEY_H
#define TACHO_TENSORFLOW_RENDEZVOUS_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/tensorflow_abi.h"

struct rendezvous_key {
	const char *text;
	size_t length;
	const char *tensor; /* within the text */
	size_t tensor_length;
	uint64_t hash; /* of the whole text; never 0 */
};

/* Of a text; another one for another `seed`. */
uint64_t rendezvous_hash(const char *text, size_t length, uint64_t seed);

/* Whether the `length` bytes at `text` are such a key. Nothing is copied. */
bool rendezvous_key_read(struct rendezvous_key *key, const char *text, size_t length);

/* The same of TensorFlow's own object. */
bool rendezvous_key_of(struct rendezvous_key *key, const struct tensorflow_key *told);

#endif
