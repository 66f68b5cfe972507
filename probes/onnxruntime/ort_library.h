/* ort_library: ONNX Runtime as it lies in the process: the table of functions by which programs in C, C++, Java, Node.js, Go ... call it.
 *
 * (1) The probe stands before calls by writing its own functions into the library's table. A program may have asked for the table
 *     (OrtGetApiBase()->GetApi(version)) long before, by whatever way it found OrtGetApiBase, and in whatever version: all versions are
 *     the begin of one table.
 *     The library is noticed when it is loaded, and, since that may be late for a program that is linked with it, by OrtGetApiBase() itself,
 *     which the probe defines as well.
 * (2) An entry is changed by one store, and put back only where it still has what was put there. The loader has made the table read-only:
 *     it is opened for the stores, and shut again.
 * (3) What does not look as it should is left alone: a version of another major, no table, a table that lies outside its library.
 * (4) A library that was unloaded gives its place to the next. */
#ifndef TACHO_ORT_LIBRARY_H
#define TACHO_ORT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORT_LIBRARIES 4 /* of one process; ort_probe.c has as many functions for each entry */

struct ort_env;
struct ort_session;
struct ort_options;
struct ort_run_options;
struct ort_value;
struct ort_shape;
struct ort_status;
struct ort_allocator;
struct ort_model;
struct ort_weights;
struct ort_binding;

typedef void ort_run_ended(void *data, struct ort_value **outputs, size_t n_outputs,
			   struct ort_status *status);

enum ort_hook {
#define ORT_HOOKED(name, ...)	    ORT_HOOK_##name,
#define ORT_HOOKED_FREED(name, ...) ORT_HOOK_##name,
#include "onnxruntime/ort_calls.def"
	ORT_N_HOOKS
};

/* The entries as they were; NULL: the library's version has none. */
struct ort_functions {
#define ORT_HOOKED(name, place, since, parameters, ...) struct ort_status *(*name)parameters;
#define ORT_ASKED(name, place, since, parameters)	struct ort_status *(*name)parameters;
#define ORT_HOOKED_FREED(name, place, object)		void (*name)(object *);
#define ORT_FREED(name, place, object)			void (*name)(object *);
#include "onnxruntime/ort_calls.def"
};

struct ort_library {
	void **table;	/* NULL: this place is free */
	uintptr_t base; /* of the object that it lies in */
	struct ort_functions real;
};

extern struct ort_library ort_libraries[ORT_LIBRARIES];

/* Whether a call of ours succeeded; its status is given back. */
static inline bool ort_succeeds(const struct ort_library *library, struct ort_status *status)
{
	if (status)
		library->real.ReleaseStatus(status);
	return !status;
}

/* The probe's function for an entry of library number `n`; ort_probe.c defines it. */
void *ort_hook_function(enum ort_hook hook, int n);

/* A library has appeared at `path`: stand before its calls, if it is ONNX Runtime. Not on the job's stack. */
void ort_library_appeared(const char *path);

/* The same of one whose OrtGetApiBase() has returned `base`. */
void ort_library_found(const void *base);

/* Put all entries back, or stand before them again. */
void ort_libraries_lead(bool is_hooked);

#endif
