/* demangle: names of C++ as they are written, where the process has a C++ library to say how (__cxa_demangle). It takes memory: not for threads of
 * the job. */
#ifndef TACHO_DEMANGLE_H
#define TACHO_DEMANGLE_H

#include <stddef.h>

#include "common/probe.h"

/* The class of that kind and name (which ends in NUL behind `length`), demangled where it can be. */
uint32_t demangled_class(enum trace_kind kind, const char *name, size_t length);

#endif
