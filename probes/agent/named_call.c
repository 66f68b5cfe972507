/* named_call: for the Python hook, a callable in the place of another one (Inductor's compiled kernels, runs of ONNX Runtime), each of
 * whose calls is a kernel or an operation in the trace. It is a function built into the language, so it adds no frame to tracebacks and costs little.
 *
 * The interpreter is the process's: its functions are looked up by name, all of them in its stable interface since 3.9. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/probe.h"

#define CAPSULE "tacho.named_call"

enum {
	CALLED_FAST_WITH_KEYWORDS =
		0x0080 | 0x0002, /* METH_FASTCALL | METH_KEYWORDS, methodobject.h */
	COST_CALLS = 100,
	COST_ROUNDS = 5,
};

typedef struct _object PyObject;

struct method_definition { /* PyMethodDef */
	const char *name;
	PyObject *(*call)(PyObject *self, PyObject *const *arguments, intptr_t n,
			  PyObject *keywords);
	int flags;
	const char *doc;
};

struct named_call {
	struct method_definition definition;
	PyObject *callable;
	uint32_t class_id;
	bool is_op; /* else a kernel */
};

static struct {
	PyObject *(*vectorcall)(PyObject *callable, PyObject *const *arguments, size_t n,
				PyObject *keywords);
	PyObject *(*new_function)(struct method_definition *definition, PyObject *self,
				  PyObject *module);
	PyObject *(*new_capsule)(void *pointer, const char *name, void (*destroy)(PyObject *));
	void *(*capsule_pointer)(PyObject *capsule, const char *name);
	void (*increment)(PyObject *object);
	void (*decrement)(PyObject *object);
} python;

static bool find_python(void)
{
	static const struct {
		const char *name;
		void **ret_function;
	} functions[] = {
		{ "PyObject_Vectorcall", (void **)&python.vectorcall },
		{ "PyCFunction_NewEx", (void **)&python.new_function },
		{ "PyCapsule_New", (void **)&python.new_capsule },
		{ "PyCapsule_GetPointer", (void **)&python.capsule_pointer },
		{ "Py_IncRef", (void **)&python.increment },
		{ "Py_DecRef", (void **)&python.decrement },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		*functions[i].ret_function = dlsym(RTLD_DEFAULT, functions[i].name);
		if (!*functions[i].ret_function)
			return false;
	}
	return true;
}

/* A slice's duration is in the same place, whatever its kind. */
_Static_assert(offsetof(struct record_kernel, duration) ==
			       offsetof(struct record_slice, duration) &&
		       offsetof(struct record_op, duration) ==
			       offsetof(struct record_slice, duration),
	       "slices begin alike");

static struct record_slice *begin(const struct named_call *named)
{
	uint32_t bytes = named->is_op ? sizeof(struct record_op) : sizeof(struct record_kernel);
	struct record_slice *slice;

	if (!tacho_is_recording_all())
		return NULL;
	slice = tacho_record_begin(named->class_id, bytes);
	if (!slice)
		return NULL;
	memset((char *)slice + sizeof(slice->header), 0, bytes - sizeof(slice->header));
	slice->duration = TRACE_OPEN;
	if (named->is_op) {
		struct record_op *op = (struct record_op *)slice;

		op->sequence = TRACE_NO_SEQUENCE;
		op->flags = TRACE_OP_UNASKED;
	}
	tacho_record_commit(slice);
	return slice;
}

static PyObject *call(PyObject *self, PyObject *const *arguments, intptr_t n, PyObject *keywords)
{
	const struct named_call *named = python.capsule_pointer(self, CAPSULE);
	struct record_slice *slice = begin(named);
	PyObject *result = python.vectorcall(named->callable, arguments, (size_t)n, keywords);

	if (slice)
		tacho_slice_end(slice, &slice->duration);
	return result;
}

static void destroy(PyObject *capsule)
{
	struct named_call *named = python.capsule_pointer(capsule, CAPSULE);

	python.decrement(named->callable);
	free(named);
}

/* The record's part of a call; the call of a function by another one is some nanoseconds beside it. */
static void measure_cost(const struct named_call *named)
{
	uint64_t least_ns = UINT64_MAX;

	if (!tacho_scratch_begin(COST_CALLS * sizeof(struct record_kernel)))
		return;
	for (int round = 0; round < COST_ROUNDS; round++) {
		struct timespec from, to;
		uint64_t taken_ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < COST_CALLS; i++) {
			struct record_slice *slice = begin(named);

			if (slice)
				tacho_slice_end(slice, &slice->duration);
		}
		clock_gettime(CLOCK_MONOTONIC, &to);
		tacho_scratch_rewind();
		taken_ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000u +
			   (uint64_t)to.tv_nsec - (uint64_t)from.tv_nsec;
		if (taken_ns < least_ns)
			least_ns = taken_ns;
	}
	tacho_scratch_end();
	(named->is_op ? tacho_op_cost : tacho_kernel_cost)(named->class_id, "python",
							   least_ns * 1000 / COST_CALLS);
}

static PyObject *new_call(PyObject *callable, const char *name, bool is_op)
{
	struct named_call *named;
	PyObject *capsule, *function;

	if (!find_python())
		return NULL;
	named = calloc(1, sizeof(*named));
	if (!named)
		return NULL;
	named->callable = callable;
	named->is_op = is_op;
	named->class_id =
		tacho_class(is_op ? TRACE_KIND_OP : TRACE_KIND_KERNEL, name, strlen(name));
	named->definition.name = is_op ? "operation" : "kernel";
	named->definition.call = call;
	named->definition.flags = CALLED_FAST_WITH_KEYWORDS;
	capsule = python.new_capsule(named, CAPSULE, destroy);
	if (!capsule) {
		free(named);
		return NULL;
	}
	python.increment(callable);
	measure_cost(named);
	function = python.new_function(&named->definition, capsule, NULL);
	python.decrement(capsule);
	return function;
}

/* A new reference to a callable that calls `callable` and records that as kernel `name`, which the process keeps; NULL: there is
 * none. Called with the interpreter's lock held. */
TACHO_EXPORT PyObject *tacho_named_call(PyObject *callable, const char *name);
PyObject *tacho_named_call(PyObject *callable, const char *name)
{
	return new_call(callable, name, false);
}

/* The same as an operation. */
TACHO_EXPORT PyObject *tacho_named_op(PyObject *callable, const char *name);
PyObject *tacho_named_op(PyObject *callable, const char *name)
{
	return new_call(callable, name, true);
}
