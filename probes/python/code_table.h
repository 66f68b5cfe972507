/* code_table: the functions of the program that samples have met: code objects by their address, each with
 * the class that stands for it in the trace and its table of lines.
 *
 * (1) An address may be another code object's by the time it is met again: what is kept counts only while
 *     the object there has the same parts (struct code_parts).
 * (2) A table that is full is emptied and begun anew. Classes are for ever: the agent finds them again.
 * (3) Nothing is allocated from the job's heap. */
#ifndef TACHO_PYTHON_CODE_TABLE_H
#define TACHO_PYTHON_CODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/own_memory.h"
#include "python/python_layout.h"

/* What tells a code object from another at its address. */
struct code_parts {
	uint64_t filename, name, line_table;
	int64_t first_line;
};

struct code_entry {
	uint64_t address; /* 0: free */
	struct code_parts parts;
	uint32_t class_id;     /* 0: it is none that can be named */
	uint32_t n_line_bytes; /* of its table of lines */
	const uint8_t *line_bytes;
	int64_t last_offset; /* asked for last ... */
	uint32_t last_line;  /* ... with this answer */
};

/* Types that an object must have to be believed, by their addresses. */
struct python_types {
	uint64_t code, text, bytes;
};

struct code_table {
	const struct python_layout *layout;
	const struct python_types *types;
	struct own_memory *memory;
	struct code_entry *entries;
	uint32_t n_entries;
	uint32_t n_begun; /* how often it was begun anew: entries are good as long as it stays */
	char *arena;	  /* of tables of lines */
	size_t n_arena_bytes;
	char folder[1024]; /* the process's, with a slash at its end: names leave it out */
};

/* `layout`, `types` and `memory` live as long as the table. False: no memory. */
bool code_table_init(struct code_table *table, const struct python_layout *layout,
		     const struct python_types *types, struct own_memory *memory);
void code_table_release(struct code_table *table);

/* Bytes from the beginning of a code object that have its parts. */
size_t code_head_bytes(const struct python_layout *layout);

/* The function of the code object at `address`, which begins with `head` (code_head_bytes() of it). NULL: it
 * is no code object. It is good until the table is begun anew. */
struct code_entry *code_table_find(struct code_table *table, uint64_t address, const uint8_t *head);

/* The line that `instruction` (as frame_instruction has it) is on; the function's first where it has none. */
uint32_t code_entry_line(const struct code_table *table, struct code_entry *entry,
			 uint64_t instruction);

#endif
