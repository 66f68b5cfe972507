#include "python/python_layout.h"

#include <stddef.h>
#include <string.h>

static const struct python_layout layouts[] = {
#include "python/python_layouts.def"
};

const struct python_layout *python_layout_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

/* --- 3.13: told by the interpreter ------------------------------------------------------------ */

#define COOKIE "xdebugpy"

/* The words of _Py_DebugOffsets (Include/internal/pycore_runtime.h of Python 3.13) that are used here. */
enum {
	TOLD_COOKIE,
	TOLD_VERSION,
	TOLD_INTERPRETERS = 5,
	TOLD_INTERPRETER_NEXT = 8,
	TOLD_INTERPRETER_THREADS = 9,
	TOLD_THREAD_NEXT = 21,
	TOLD_THREAD_INTERPRETER = 22,
	TOLD_THREAD_FRAME = 23,
	TOLD_THREAD_PTHREAD = 24,
	TOLD_THREAD_TID = 25,
	TOLD_FRAME_PREVIOUS = 29,
	TOLD_FRAME_CODE = 30,
	TOLD_FRAME_INSTRUCTION = 31,
	TOLD_FRAME_OWNER = 33,
	TOLD_CODE_FILENAME = 35,
	TOLD_CODE_NAME = 36,
	TOLD_CODE_QUALIFIED_NAME = 37,
	TOLD_CODE_LINE_TABLE = 38,
	TOLD_CODE_FIRST_LINE = 39,
	TOLD_CODE_INSTRUCTIONS = 43,
	TOLD_OBJECT_TYPE = 45,
	TOLD_BYTES_SIZE = 65,
	TOLD_BYTES_DATA = 66,
	TOLD_TEXT_STATE = 68,
	TOLD_TEXT_LENGTH = 69,
	TOLD_TEXT_ASCII = 70,
	N_TOLD,
};

#define MOST_OFFSET (1u << 24) /* an interpreter is some 300 KB */

static bool read_told(struct python_layout *layout, struct own_memory *memory, uint64_t runtime)
{
	uint64_t told[N_TOLD];

	if (!own_memory_read(memory, runtime, told, sizeof(told)) ||
	    memcmp(&told[TOLD_COOKIE], COOKIE, sizeof(told[0])) != 0 ||
	    told[TOLD_VERSION] >> 16 != layout->version)
		return false;
	for (size_t i = TOLD_INTERPRETERS; i < N_TOLD; i++)
		if (told[i] > MOST_OFFSET)
			return false;
	layout->runtime_interpreters = (uint32_t)told[TOLD_INTERPRETERS];
	layout->interpreter_next = (uint32_t)told[TOLD_INTERPRETER_NEXT];
	layout->interpreter_threads = (uint32_t)told[TOLD_INTERPRETER_THREADS];
	layout->thread_next = (uint32_t)told[TOLD_THREAD_NEXT];
	layout->thread_interpreter = (uint32_t)told[TOLD_THREAD_INTERPRETER];
	layout->thread_frame = (uint32_t)told[TOLD_THREAD_FRAME];
	layout->thread_pthread = (uint32_t)told[TOLD_THREAD_PTHREAD];
	layout->thread_tid = (uint32_t)told[TOLD_THREAD_TID];
	layout->frame_previous = (uint32_t)told[TOLD_FRAME_PREVIOUS];
	layout->frame_code = (uint32_t)told[TOLD_FRAME_CODE];
	layout->frame_instruction = (uint32_t)told[TOLD_FRAME_INSTRUCTION];
	layout->frame_owner = (uint32_t)told[TOLD_FRAME_OWNER];
	layout->code_first_line = (uint32_t)told[TOLD_CODE_FIRST_LINE];
	layout->code_filename = (uint32_t)told[TOLD_CODE_FILENAME];
	layout->code_name = (uint32_t)told[TOLD_CODE_NAME];
	layout->code_qualified_name = (uint32_t)told[TOLD_CODE_QUALIFIED_NAME];
	layout->code_line_table = (uint32_t)told[TOLD_CODE_LINE_TABLE];
	layout->code_instructions = (uint32_t)told[TOLD_CODE_INSTRUCTIONS];
	layout->object_type = (uint32_t)told[TOLD_OBJECT_TYPE];
	layout->bytes_size = (uint32_t)told[TOLD_BYTES_SIZE];
	layout->bytes_data = (uint32_t)told[TOLD_BYTES_DATA];
	layout->text_state = (uint32_t)told[TOLD_TEXT_STATE];
	layout->text_length = (uint32_t)told[TOLD_TEXT_LENGTH];
	layout->text_ascii = (uint32_t)told[TOLD_TEXT_ASCII];
	/* Two more words follow: utf8_length and utf8. */
	layout->text_compact = layout->text_ascii + 2 * (uint32_t)sizeof(uint64_t);
	return true;
}

bool python_layout_find(struct python_layout *layout, struct own_memory *memory, uint64_t runtime,
			uint32_t version)
{
	const struct python_layout *known = python_layout_of(version);

	if (known) {
		*layout = *known;
		return true;
	}
	*layout = (struct python_layout){
		.version = version,
		.line_table = LINE_TABLE_LOCATIONS,
		.instruction = PYTHON_ADDRESS,
		.c_stack_owner = 3, /* FRAME_OWNED_BY_CSTACK */
	};
	return version == PYTHON_LAST_VERSION && read_told(layout, memory, runtime);
}
