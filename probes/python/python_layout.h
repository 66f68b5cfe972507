/* python_layout: where the interpreter of a version of Python has what a sampler reads.
 *
 * Since 3.13 an interpreter says it itself, at the beginning of its `_PyRuntime` ("_Py_DebugOffsets"). Of
 * those before, python_layouts.def has the offsets by minor version, as a compiler finds them in Python's
 * headers: tests/job/python_layouts.sh compares them with the headers that are there. */
#ifndef TACHO_PYTHON_LAYOUT_H
#define TACHO_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "python/line_table.h"
#include "python/own_memory.h"

/* FIELD(name): offsets in bytes, each with what it is in Python's headers, whose name changed between
 * versions. A field that a version does not have is 0. */
#define PYTHON_LAYOUT_FIELDS(FIELD)                                                                \
	FIELD(runtime_interpreters) /* _PyRuntimeState.interpreters.head */                        \
	FIELD(interpreter_next)	    /* PyInterpreterState */                                       \
	FIELD(interpreter_threads)  /* tstate_head, threads.head */                                \
	FIELD(thread_next)	    /* PyThreadState */                                            \
	FIELD(thread_interpreter)                                                                  \
	FIELD(thread_frame)   /* frame, cframe, current_frame */                                   \
	FIELD(thread_pthread) /* thread_id */                                                      \
	FIELD(thread_tid)     /* native_thread_id: from 3.11 */                                    \
	FIELD(cframe_frame)   /* _PyCFrame.current_frame: 3.11, 3.12 */                            \
	FIELD(frame_previous) /* PyFrameObject, _PyInterpreterFrame */                             \
	FIELD(frame_code)                                                                          \
	FIELD(frame_instruction) /* f_lasti, prev_instr, instr_ptr */                              \
	FIELD(frame_owner)	 /* from 3.11 */                                                   \
	FIELD(code_first_line)	 /* PyCodeObject */                                                \
	FIELD(code_filename)                                                                       \
	FIELD(code_name)                                                                           \
	FIELD(code_qualified_name) /* from 3.11, else 0 */                                         \
	FIELD(code_line_table)	   /* co_lnotab, co_linetable */                                   \
	FIELD(code_instructions)   /* co_code_adaptive: from 3.11 */                               \
	FIELD(object_type)	   /* PyObject */                                                  \
	FIELD(bytes_size)	   /* PyBytesObject */                                             \
	FIELD(bytes_data)                                                                          \
	FIELD(text_length) /* PyASCIIObject */                                                     \
	FIELD(text_state)                                                                          \
	FIELD(text_ascii)   /* sizeof(PyASCIIObject): what an ASCII text begins with */            \
	FIELD(text_compact) /* sizeof(PyCompactUnicodeObject): any other text */

/* What `frame_instruction` is. */
enum python_instruction {
	PYTHON_OFFSET_BYTES, /* int: 3.9 */
	PYTHON_OFFSET_UNITS, /* int, in units of two bytes: 3.10 */
	PYTHON_ADDRESS,	     /* in code_instructions */
};

struct python_layout {
	uint32_t version; /* 0x0309 */
	enum line_table_form line_table;
	enum python_instruction instruction;
	uint32_t
		c_stack_owner; /* `owner` of frames that stand for a call from C; 0: there are none */
	uint32_t has_cframe;   /* `thread_frame` is a _PyCFrame, which has the frame */
#define PYTHON_LAYOUT_FIELD(name) uint32_t name;
	PYTHON_LAYOUT_FIELDS(PYTHON_LAYOUT_FIELD)
#undef PYTHON_LAYOUT_FIELD
};

#define PYTHON_LAST_VERSION 0x030d

/* The layout of the interpreter whose `_PyRuntime` is at `runtime`, of `version` (0x030b: 3.11). False: it is
 * not known. */
bool python_layout_find(struct python_layout *layout, struct own_memory *memory, uint64_t runtime,
			uint32_t version);

/* The layout in the table of a version; NULL: there is none. */
const struct python_layout *python_layout_of(uint32_t version);

#endif
