#include "python/line_table.h"

#include <stdbool.h>

#define CODE_UNIT_BYTES 2
#define NO_LINE_DELTA	(-128)

/* Kinds of entries of LOCATIONS: 0 to 9 are short, on the same line. */
enum {
	LOCATION_ONE_LINE = 10, /* and 11, 12: so many lines on */
	LOCATION_LINE_ONLY = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t find_in_offsets(const uint8_t *table, size_t n_bytes, int64_t line, int64_t offset)
{
	int64_t at = 0;

	for (size_t i = 0; i + 1 < n_bytes; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return line_of(line);
}

static uint32_t find_in_ranges(const uint8_t *table, size_t n_bytes, int64_t line, int64_t offset)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < n_bytes; i += 2) {
		int8_t lines = (int8_t)table[i + 1];

		end += table[i];
		line += lines == NO_LINE_DELTA ? 0 : lines;
		if (offset < end)
			return lines == NO_LINE_DELTA ? 0 : line_of(line);
	}
	return 0;
}

struct location_bytes {
	const uint8_t *next, *end;
};

static uint8_t take_byte(struct location_bytes *bytes)
{
	return bytes->next < bytes->end ? *bytes->next++ : 0;
}

/* Six bits a byte, the lowest first; bit 6 says that more follow. */
static uint64_t take_varint(struct location_bytes *bytes)
{
	uint64_t value = 0;
	uint8_t byte;
	unsigned shift = 0;

	do {
		byte = take_byte(bytes);
		if (shift < 30) /* a line has no more */
			value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return value;
}

static int64_t take_signed_varint(struct location_bytes *bytes)
{
	uint64_t value = take_varint(bytes);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Bit 7 is set in the first byte of an entry only. */
static void skip_entry(struct location_bytes *bytes)
{
	while (bytes->next < bytes->end && !(*bytes->next & 128))
		bytes->next++;
}

static uint32_t find_in_locations(const uint8_t *table, size_t n_bytes, int64_t line,
				  int64_t offset)
{
	struct location_bytes bytes = { table, table + n_bytes };
	int64_t end = 0;

	while (bytes.next < bytes.end) {
		uint8_t head = take_byte(&bytes);
		unsigned kind = head >> 3 & 15;

		if (kind == LOCATION_LINE_ONLY || kind == LOCATION_LONG)
			line += take_signed_varint(&bytes);
		else if (kind >= LOCATION_ONE_LINE && kind < LOCATION_LINE_ONLY)
			line += kind - LOCATION_ONE_LINE;
		end += ((head & 7) + 1) * CODE_UNIT_BYTES;
		if (offset < end)
			return kind == LOCATION_NONE ? 0 : line_of(line);
		skip_entry(&bytes);
	}
	return 0;
}

uint32_t line_table_find(enum line_table_form form, const uint8_t *table, size_t n_bytes,
			 int32_t first_line, int64_t offset)
{
	if (offset < 0)
		return line_of(first_line);
	switch (form) {
	case LINE_TABLE_OFFSETS:
		return find_in_offsets(table, n_bytes, first_line, offset);
	case LINE_TABLE_RANGES:
		return find_in_ranges(table, n_bytes, first_line, offset);
	case LINE_TABLE_LOCATIONS:
		return find_in_locations(table, n_bytes, first_line, offset);
	}
	return 0;
}
