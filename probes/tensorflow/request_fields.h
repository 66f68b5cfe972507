/* request_fields: numbers and texts of a message of Protocol Buffers, in the form in which it is sent. */
#ifndef TACHO_TENSORFLOW_REQUEST_FIELDS_H
#define TACHO_TENSORFLOW_REQUEST_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number in the message's field; 0: it has none, which is how a 0 is sent. */
uint64_t request_number(const uint8_t *message, size_t length, uint32_t field);

/* The text in the field, within the message; false: it has none. */
bool request_text(const uint8_t *message, size_t length, uint32_t field, const char **ret_text,
		  size_t *ret_length);

#endif
