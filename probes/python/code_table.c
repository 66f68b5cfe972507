#include "python/code_table.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/probe.h"
#include "common/utf8.h"

#define N_PLACES	16384u /* a power of two; at most three of four are taken */
#define ARENA_BYTES	(16u << 20)
#define MOST_LINE_BYTES (1u << 20)
#define MOST_TEXT_BYTES (TRACE_MAX_NAME_BYTES / 2 - 32) /* file and name go into one class */
#define MOST_FIRST_LINE (1 << 28)
#define MOST_CHARACTERS 4096u
#define NO_OFFSET	INT64_MIN

static void *map(size_t n_bytes)
{
	void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, n_bytes, MADV_DONTFORK); /* a child begins its own */
	return memory;
}

bool code_table_init(struct code_table *table, const struct python_layout *layout,
		     const struct python_types *types, struct own_memory *memory)
{
	*table = (struct code_table){ .layout = layout, .types = types, .memory = memory };
	table->entries = map(N_PLACES * sizeof(*table->entries));
	table->arena = map(ARENA_BYTES);
	if (getcwd(table->folder, sizeof(table->folder) - 1) && strcmp(table->folder, "/") != 0)
		strcat(table->folder, "/");
	else
		table->folder[0] = '\0';
	return table->entries && table->arena;
}

void code_table_release(struct code_table *table)
{
	if (table->entries)
		munmap(table->entries, N_PLACES * sizeof(*table->entries));
	if (table->arena)
		munmap(table->arena, ARENA_BYTES);
	table->entries = NULL;
	table->arena = NULL;
}

static uint32_t largest(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

size_t code_head_bytes(const struct python_layout *layout)
{
	uint32_t last = largest(largest(layout->code_filename, layout->code_name),
				largest(layout->code_qualified_name, layout->code_line_table));

	return largest(last, layout->code_first_line) + sizeof(uint64_t);
}

static uint64_t word_at(const uint8_t *bytes, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static struct code_parts read_parts(const struct python_layout *layout, const uint8_t *head)
{
	struct code_parts parts;
	int32_t first_line;

	parts.filename = word_at(head, layout->code_filename);
	parts.name = word_at(head, layout->code_qualified_name ? layout->code_qualified_name
							       : layout->code_name);
	parts.line_table = word_at(head, layout->code_line_table);
	memcpy(&first_line, head + layout->code_first_line, sizeof(first_line));
	parts.first_line = first_line;
	return parts;
}

/* --- texts ------------------------------------------------------------------------------------ */

static uint32_t character_at(const uint8_t *data, uint64_t index, unsigned width)
{
	uint32_t wide;
	uint16_t half;

	switch (width) {
	case 1:
		return data[index];
	case 2:
		memcpy(&half, data + index * 2, sizeof(half));
		return half;
	default:
		memcpy(&wide, data + index * 4, sizeof(wide));
		return wide;
	}
}

/* Copy the str at `address` as UTF-8; what does not fit is left out. Returns its bytes; -1: it is none. */
static int read_text(struct code_table *table, uint64_t address, char *to, size_t n_bytes)
{
	const struct python_layout *layout = table->layout;
	uint8_t head[128], data[MOST_CHARACTERS * 4];
	uint64_t length;
	uint32_t state;
	unsigned width;
	size_t n = 0;

	if (layout->text_compact > sizeof(head) ||
	    !own_memory_read(table->memory, address, head, layout->text_ascii) ||
	    word_at(head, layout->object_type) != table->types->text)
		return -1;
	length = word_at(head, layout->text_length);
	memcpy(&state, head + layout->text_state, sizeof(state));
	/* interned: 2, kind: 3, compact: 1, ascii: 1 (Include/cpython/unicodeobject.h) */
	width = state >> 2 & 7;
	if (!(state >> 5 & 1) || (width != 1 && width != 2 && width != 4))
		return -1;
	if (length > MOST_CHARACTERS)
		length = MOST_CHARACTERS;
	address += state >> 6 & 1 ? layout->text_ascii : layout->text_compact;
	if (!own_memory_read(table->memory, address, data, length * width))
		return -1;
	for (uint64_t i = 0; i < length && n + 4 <= n_bytes; i++)
		n += utf8_put(to + n, character_at(data, i, width));
	return (int)n;
}

/* "train.py(12): Net.forward": as PyTorch's profiler names functions, the first line in brackets. */
static uint32_t find_class(struct code_table *table, const struct code_parts *parts)
{
	char file[MOST_TEXT_BYTES], function[MOST_TEXT_BYTES], name[TRACE_MAX_NAME_BYTES];
	int n_file = read_text(table, parts->filename, file, sizeof(file));
	int n_function = read_text(table, parts->name, function, sizeof(function));
	size_t n_folder = strlen(table->folder);
	const char *path = file;
	int length;

	if (n_file < 0 || n_function < 0)
		return 0;
	if (n_folder && (size_t)n_file > n_folder && memcmp(file, table->folder, n_folder) == 0) {
		path += n_folder;
		n_file -= (int)n_folder;
	}
	length = snprintf(name, sizeof(name), "%.*s(%d): %.*s", n_file, path,
			  (int)parts->first_line, n_function, function);
	return tacho_class(TRACE_KIND_FUNCTION, name,
			   (size_t)length < sizeof(name) ? (size_t)length : sizeof(name) - 1);
}

/* --- entries ---------------------------------------------------------------------------------- */

static bool read_line_bytes(struct code_table *table, struct code_entry *entry)
{
	const struct python_layout *layout = table->layout;
	uint8_t head[128];
	uint64_t n_bytes;
	char *to = table->arena + table->n_arena_bytes;

	if (layout->bytes_data > sizeof(head) ||
	    !own_memory_read(table->memory, entry->parts.line_table, head, layout->bytes_data) ||
	    word_at(head, layout->object_type) != table->types->bytes)
		return false;
	n_bytes = word_at(head, layout->bytes_size);
	if (n_bytes > MOST_LINE_BYTES || n_bytes > ARENA_BYTES - table->n_arena_bytes ||
	    (n_bytes &&
	     !own_memory_read(table->memory, entry->parts.line_table + layout->bytes_data, to,
			      n_bytes)))
		return false;
	table->n_arena_bytes += n_bytes;
	entry->line_bytes = (const uint8_t *)to;
	entry->n_line_bytes = (uint32_t)n_bytes;
	return true;
}

static void empty(struct code_table *table)
{
	memset(table->entries, 0, N_PLACES * sizeof(*table->entries));
	table->n_entries = 0;
	table->n_arena_bytes = 0;
	table->n_begun++;
}

static struct code_entry *find_place(struct code_table *table, uint64_t address)
{
	/* Objects lie 16 bytes apart; the golden ratio spreads what is left. */
	uint64_t hash = (address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (;; hash++) {
		struct code_entry *entry = &table->entries[hash & (N_PLACES - 1)];

		if (!entry->address || entry->address == address)
			return entry;
	}
}

static bool fill(struct code_table *table, struct code_entry *entry, uint64_t address,
		 const struct code_parts *parts)
{
	struct code_entry filled = { .address = address,
				     .parts = *parts,
				     .last_offset = NO_OFFSET };

	if (parts->first_line < 0 || parts->first_line > MOST_FIRST_LINE ||
	    !read_line_bytes(table, &filled))
		return false;
	filled.class_id = find_class(table, parts);
	if (!filled.class_id)
		return false;
	table->n_entries += !entry->address;
	*entry = filled;
	return true;
}

struct code_entry *code_table_find(struct code_table *table, uint64_t address, const uint8_t *head)
{
	struct code_parts parts;
	struct code_entry *entry;

	if (word_at(head, table->layout->object_type) != table->types->code)
		return NULL;
	parts = read_parts(table->layout, head);
	entry = find_place(table, address);
	if (entry->address && memcmp(&entry->parts, &parts, sizeof(parts)) == 0)
		return entry;
	if (table->n_entries >= N_PLACES / 4 * 3 ||
	    table->n_arena_bytes > ARENA_BYTES - MOST_LINE_BYTES) {
		empty(table);
		entry = find_place(table, address);
	}
	return fill(table, entry, address, &parts) ? entry : NULL;
}

static int64_t byte_offset(const struct python_layout *layout, const struct code_entry *entry,
			   uint64_t instruction)
{
	switch (layout->instruction) {
	case PYTHON_OFFSET_BYTES:
		return (int32_t)instruction;
	case PYTHON_OFFSET_UNITS:
		return (int64_t)(int32_t)instruction * 2;
	case PYTHON_ADDRESS:
		return (int64_t)(instruction - entry->address - layout->code_instructions);
	}
	return -1;
}

uint32_t code_entry_line(const struct code_table *table, struct code_entry *entry,
			 uint64_t instruction)
{
	int64_t offset = byte_offset(table->layout, entry, instruction);

	if (offset == entry->last_offset)
		return entry->last_line;
	entry->last_offset = offset;
	entry->last_line =
		line_table_find(table->layout->line_table, entry->line_bytes, entry->n_line_bytes,
				(int32_t)entry->parts.first_line, offset);
	if (!entry->last_line)
		entry->last_line = (uint32_t)entry->parts.first_line;
	return entry->last_line;
}
