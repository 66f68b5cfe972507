/* trace_kinds: what holds of all records of a kind (trace_layout.h). */
#ifndef TACHO_TRACE_KINDS_H
#define TACHO_TRACE_KINDS_H

#include <stdbool.h>

#include "trace/trace_layout.h"

/* Whether its records begin with a duration. `kind` is less than TRACE_N_KINDS. */
static inline bool trace_kind_is_slice(enum trace_kind kind)
{
	static const bool are_slices[TRACE_N_KINDS] = {
#define KIND_IS_SLICE(enumerator, name, is_slice) is_slice,
		TRACE_KINDS(KIND_IS_SLICE)
#undef KIND_IS_SLICE
	};

	return are_slices[kind];
}

#endif
