/* line_table: which line of the source an instruction of Python's bytecode belongs to.
 *
 * A code object has this as bytes, in a form that three versions of Python changed:
 *
 *     OFFSETS    up to 3.9   pairs: bytes of code (u8), lines (s8), "Objects/lnotab_notes.txt" of Python 3.9
 *     RANGES     3.10        pairs: bytes of code (u8), lines (s8, -128: none), the same file of Python 3.10
 *     LOCATIONS  from 3.11   entries of one or more bytes, "Objects/locations.md" of Python 3.11
 *
 * The bytes are read from memory that may have changed: nothing is believed of them. */
#ifndef TACHO_PYTHON_LINE_TABLE_H
#define TACHO_PYTHON_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum line_table_form { LINE_TABLE_OFFSETS, LINE_TABLE_RANGES, LINE_TABLE_LOCATIONS };

/* The line of the instruction at byte `offset` of the code; 0: it has none. Before the first instruction
 * (`offset` < 0) it is `first_line`. */
uint32_t line_table_find(enum line_table_form form, const uint8_t *table, size_t n_bytes,
			 int32_t first_line, int64_t offset);

#endif
