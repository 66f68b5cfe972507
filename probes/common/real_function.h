/* real_function: the function that a caller would have reached had a probe not interposed it.
 *
 * dlsym(RTLD_NEXT) alone does not find it: Python loads extension modules, and with them their
 * libraries, into scopes of their own (RTLD_LOCAL), and one process may have several libraries that
 * define the same symbol, each meant for other callers. So the search goes where the loader would
 * have gone for this caller:
 *
 *   the global scope behind the probe (RTLD_NEXT)
 *     -> the caller's object and its dependencies (dlopen RTLD_NOLOAD, dlsym)
 *     -> any object of the process that defines the name
 *
 *     static struct real_function real_sgemm = REAL_FUNCTION_INIT("sgemm_");
 *
 *     TACHO_EXPORT void sgemm_(...)
 *     {
 *             sgemm_function *real = real_function(&real_sgemm, __builtin_return_address(0));
 *
 * (1) The answer is kept by the caller's object. Looking it up again takes no lock and no call.
 * (2) What was found is never unloaded afterwards (RTLD_NODELETE).
 * (3) The first call from an object takes the loader's lock.
 * (4) The probe's own definition is never an answer. With two probes that interpose one symbol,
 *     each finds the next, and the last the real one.
 * (5) Who called is read off the return address. A call that is the caller's last act (a tail call)
 *     leaves that of the caller's caller, and is answered for that object: the wrong one only where
 *     both objects have a definition, and different ones.
 *
 * Compiled into each probe that uses it (RTLD_NEXT depends on it). C and C++; libc only. */
#ifndef TACHO_REAL_FUNCTION_H
#define TACHO_REAL_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REAL_FUNCTION_CALLERS 32

/* Code between start and end reaches `function`; written last, NULL while the rest is not. */
struct real_function_caller {
	uintptr_t start, end;
	void *function;
};

/* Zero before its first use, but for the name. */
struct real_function {
	const char *name;
	uint32_t n_callers; /* of those below, taken; may exceed REAL_FUNCTION_CALLERS */
	struct real_function_caller callers[REAL_FUNCTION_CALLERS];
};

#ifdef __cplusplus
#define REAL_FUNCTION_INIT(symbol)                                                                 \
	{                                                                                          \
		symbol, 0,                                                                         \
		{                                                                                  \
		}                                                                                  \
	}
#else
#define REAL_FUNCTION_INIT(symbol)                                                                 \
	{                                                                                          \
		.name = (symbol)                                                                   \
	}
#endif

/* What was found for the code at `caller` before, or NULL. */
static inline void *real_function_kept(const struct real_function *function, const void *caller)
{
	uintptr_t address = (uintptr_t)caller;
	uint32_t n_callers = __atomic_load_n(&function->n_callers, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < n_callers && i < REAL_FUNCTION_CALLERS; i++) {
		const struct real_function_caller *kept = &function->callers[i];
		void *real = __atomic_load_n(&kept->function, __ATOMIC_ACQUIRE);

		if (real && address >= kept->start && address < kept->end)
			return real;
	}
	return NULL;
}

/* Search `name` for the code at `caller`, and keep what was found. NULL: nothing in the process
 * defines it; asked again, it searches again. */
void *real_function_search(struct real_function *function, const char *name, const void *caller);

/* The real function for the code at `caller`; NULL as above. */
static inline void *real_function(struct real_function *function, const void *caller)
{
	void *real = real_function_kept(function, caller);

	return real ? real : real_function_search(function, function->name, caller);
}

#ifdef __cplusplus
}
#endif
#endif
