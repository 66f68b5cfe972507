/* The layout that a compiler finds in Python's own headers, as a row of probes/python/python_layouts.def:
 *
 *     cc -DPy_BUILD_CORE -Iinclude/python3.11 -Iinclude/python3.11/internal python_layouts.c && ./a.out
 *
 * It is compiled against the headers of one version, and not linked with Python. */
#define Py_BUILD_CORE 1
#include <Python.h>

#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>

#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>

#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
typedef struct _PyInterpreterFrame Frame;
#else
typedef struct _frame Frame;
#endif
#if PY_VERSION_HEX >= 0x030d0000
#include <internal/pycore_code.h>
#define THREADS threads.head
#define FRAME	current_frame
#define CODE	f_executable
#define INSTR	instr_ptr
#elif PY_VERSION_HEX >= 0x030b0000
#define THREADS threads.head
#define FRAME	cframe
#define CODE	f_code
#define INSTR	prev_instr
#else
#define THREADS tstate_head
#define FRAME	frame
#define CODE	f_code
#define INSTR	f_lasti
#endif

#define PRINT(name, value) printf("\t.%s = %zu,\n", #name, (size_t)(value))

int main(void)
{
	printf("{\n\t.version = 0x%04x,\n", PY_VERSION_HEX >> 16);
#if PY_VERSION_HEX >= 0x030b0000
	printf("\t.line_table = LINE_TABLE_LOCATIONS,\n\t.instruction = PYTHON_ADDRESS,\n");
#elif PY_VERSION_HEX >= 0x030a0000
	printf("\t.line_table = LINE_TABLE_RANGES,\n\t.instruction = PYTHON_OFFSET_UNITS,\n");
#else
	printf("\t.line_table = LINE_TABLE_OFFSETS,\n\t.instruction = PYTHON_OFFSET_BYTES,\n");
#endif
#if PY_VERSION_HEX >= 0x030c0000
	PRINT(c_stack_owner, FRAME_OWNED_BY_CSTACK);
#else
	PRINT(c_stack_owner, 0);
#endif
	PRINT(runtime_interpreters, offsetof(_PyRuntimeState, interpreters.head));
	PRINT(interpreter_next, offsetof(PyInterpreterState, next));
	PRINT(interpreter_threads, offsetof(PyInterpreterState, THREADS));
	PRINT(thread_next, offsetof(PyThreadState, next));
	PRINT(thread_interpreter, offsetof(PyThreadState, interp));
	PRINT(thread_frame, offsetof(PyThreadState, FRAME));
	PRINT(thread_pthread, offsetof(PyThreadState, thread_id));
#if PY_VERSION_HEX >= 0x030b0000
	PRINT(thread_tid, offsetof(PyThreadState, native_thread_id));
#else
	PRINT(thread_tid, 0);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
	PRINT(has_cframe, 1);
	PRINT(cframe_frame, offsetof(_PyCFrame, current_frame));
#else
	PRINT(has_cframe, 0);
	PRINT(cframe_frame, 0);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	PRINT(frame_previous, offsetof(Frame, previous));
#else
	PRINT(frame_previous, offsetof(Frame, f_back));
#endif
	PRINT(frame_code, offsetof(Frame, CODE));
	PRINT(frame_instruction, offsetof(Frame, INSTR));
#if PY_VERSION_HEX >= 0x030b0000
	PRINT(frame_owner, offsetof(Frame, owner));
#else
	PRINT(frame_owner, 0);
#endif
	PRINT(code_first_line, offsetof(PyCodeObject, co_firstlineno));
	PRINT(code_filename, offsetof(PyCodeObject, co_filename));
	PRINT(code_name, offsetof(PyCodeObject, co_name));
#if PY_VERSION_HEX >= 0x030b0000
	PRINT(code_qualified_name, offsetof(PyCodeObject, co_qualname));
#else
	PRINT(code_qualified_name, 0);
#endif
#if PY_VERSION_HEX >= 0x030a0000
	PRINT(code_line_table, offsetof(PyCodeObject, co_linetable));
#else
	PRINT(code_line_table, offsetof(PyCodeObject, co_lnotab));
#endif
#if PY_VERSION_HEX >= 0x030b0000
	PRINT(code_instructions, offsetof(PyCodeObject, co_code_adaptive));
#else
	PRINT(code_instructions, 0);
#endif
	PRINT(object_type, offsetof(PyObject, ob_type));
	PRINT(bytes_size, offsetof(PyVarObject, ob_size));
	PRINT(bytes_data, offsetof(PyBytesObject, ob_sval));
	PRINT(text_length, offsetof(PyASCIIObject, length));
	PRINT(text_state, offsetof(PyASCIIObject, state));
	PRINT(text_ascii, sizeof(PyASCIIObject));
	PRINT(text_compact, sizeof(PyCompactUnicodeObject));
	printf("},\n");
	return 0;
}
