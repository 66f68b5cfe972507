/* named_call: for the Python hook, a callable in the place of another one (Inductor's compiled kernels), each of whose calls is a
 * kernel in the trace. It is a function built into the language, so it adds no frame to tracebacks and costs little.
 *
 * The interpreter is the process's: its functions are looked up by name, all of them in its stable interface since 3.9. */
#include <dlfcn.h>
#include <stdbool.h>
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

static struct record_kernel *begin(uint32_t class_id)
{
	struct record_kernel *kernel;

	if (!tacho_is_recording_all())
		return NULL;
	kernel = tacho_record_begin(class_id, sizeof(*kernel));
	if (!kernel)
		return NULL;
	memset((char *)kernel + sizeof(kernel->header), 0,
	       sizeof(*kernel) - sizeof(kernel->header));
	kernel->duration = TRACE_OPEN;
	tacho_record_commit(kernel);
	return kernel;
}

static PyObject *call(PyObject *self, PyObject *const *arguments, intptr_t n, PyObject *keywords)
{
	struct named_call *named = python.capsule_pointer(self, CAPSULE);
	struct record_kernel *kernel = begin(named->class_id);
	PyObject *result = python.vectorcall(named->callable, arguments, (size_t)n, keywords);

	if (kernel)
		tacho_slice_end(kernel, &kernel->duration);
	return result;
}

static void destroy(PyObject *capsule)
{
	struct named_call *named = python.capsule_pointer(capsule, CAPSULE);

	python.decrement(named->callable);
	free(named);
}

/* The record's part of a call; the call of a function by another one is some nanoseconds beside it. */
static void measure_cost(uint32_t class_id)
{
	uint64_t least_ns = UINT64_MAX;

	if (!tacho_scratch_begin(COST_CALLS * sizeof(struct record_kernel)))
		return;
	for (int round = 0; round < COST_ROUNDS; round++) {
		struct timespec from, to;
		uint64_t taken_ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < COST_CALLS; i++) {
			struct record_kernel *kernel = begin(class_id);

			if (kernel)
				tacho_slice_end(kernel, &kernel->duration);
		}
		clock_gettime(CLOCK_MONOTONIC, &to);
		tacho_scratch_rewind();
		taken_ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000u +
			   (uint64_t)to.tv_nsec - (uint64_t)from.tv_nsec;
		if (taken_ns < least_ns)
			least_ns = taken_ns;
	}
	tacho_scratch_end();
	tacho_kernel_cost(class_id, "python", least_ns * 1000 / COST_CALLS);
}

/* A new reference to a callable that calls `callable` and records that as kernel `name`, which the process keeps; NULL: there is
 * none. Called with the interpreter's lock held. */
TACHO_EXPORT PyObject *tacho_named_call(PyObject *callable, const char *name);
PyObject *tacho_named_call(PyObject *callable, const char *name)
{
	struct named_call *named;
	PyObject *capsule, *function;

	if (!find_python())
		return NULL;
	named = calloc(1, sizeof(*named));
	if (!named)
		return NULL;
	named->callable = callable;
	named->class_id = tacho_class(TRACE_KIND_KERNEL, name, strlen(name));
	named->definition.name = "kernel";
	named->definition.call = call;
	named->definition.flags = CALLED_FAST_WITH_KEYWORDS;
	capsule = python.new_capsule(named, CAPSULE, destroy);
	if (!capsule) {
		free(named);
		return NULL;
	}
	python.increment(callable);
	measure_cost(named->class_id);
	function = python.new_function(&named->definition, capsule, NULL);
	python.decrement(capsule);
	return function;
}
