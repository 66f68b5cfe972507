#include "tensorflow/request_fields.h"

/* How fields are sent: protobuf.dev/programming-guides/encoding, "Message Structure". */
enum wire_type { WIRE_NUMBER, WIRE_8_BYTES, WIRE_BYTES, WIRE_4_BYTES = 5 };

struct field {
	uint32_t number;
	enum wire_type type;
	uint64_t value; /* of WIRE_NUMBER; of WIRE_BYTES the length */
	const uint8_t *bytes;
};

/* Seven bits a byte, the lowest first; the last has its highest bit 0. */
static bool read_number(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool skip(const uint8_t **at, const uint8_t *end, uint64_t length)
{
	if (length > (uint64_t)(end - *at))
		return false;
	*at += length;
	return true;
}

/* The field at `*at`, which comes to stand behind it. False: there is none, or what is there is no message. */
static bool read_field(const uint8_t **at, const uint8_t *end, struct field *field)
{
	uint64_t tag;

	if (!read_number(at, end, &tag))
		return false;
	field->number = (uint32_t)(tag >> 3);
	field->type = (enum wire_type)(tag & 7);
	switch (field->type) {
	case WIRE_NUMBER:
		return read_number(at, end, &field->value);
	case WIRE_8_BYTES:
		return skip(at, end, 8);
	case WIRE_4_BYTES:
		return skip(at, end, 4);
	case WIRE_BYTES:
		if (!read_number(at, end, &field->value))
			return false;
		field->bytes = *at;
		return skip(at, end, field->value);
	default:
		return false;
	}
}

static bool find(const uint8_t *message, size_t length, uint32_t number, enum wire_type type,
		 struct field *field)
{
	const uint8_t *at = message, *end = message + length;

	while (read_field(&at, end, field))
		if (field->number == number && field->type == type)
			return true;
	return false;
}

uint64_t request_number(const uint8_t *message, size_t length, uint32_t number)
{
	struct field field;

	return find(message, length, number, WIRE_NUMBER, &field) ? field.value : 0;
}

bool request_text(const uint8_t *message, size_t length, uint32_t number, const char **ret_text,
		  size_t *ret_length)
{
	struct field field;

	if (!find(message, length, number, WIRE_BYTES, &field))
		return false;
	*ret_text = (const char *)field.bytes;
	*ret_length = field.value;
	return true;
}
