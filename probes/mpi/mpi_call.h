/* mpi_call: between the entry points (mpi_probe.c), which know no MPI, and those who know one (mpi_flavour.c, compiled against each
 * MPI's own header). */
#ifndef TACHO_MPI_CALL_H
#define TACHO_MPI_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* Of any call, with the error code that Fortran's have. */
#define MPI_CALL_ARGUMENTS 14

enum mpi_call {
#define CALL(name, fortran, what, arguments) MPI_CALL_##name,
#include "mpi/mpi_calls.def"
#undef CALL
	MPI_N_CALLS
};

/* What a program calls: arguments of all kinds are as wide as a register, or stand in as much of the stack. */
typedef uintptr_t mpi_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
			       uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
			       uintptr_t, uintptr_t);

static inline uintptr_t mpi_call_real(mpi_function *real, const uintptr_t *a)
{
	return real(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
		    a[13]);
}

/* Make the call by `real`, and record it; `arguments` may be changed. */
typedef uintptr_t mpi_recorded_call(enum mpi_call call, bool is_fortran, mpi_function *real,
				    uintptr_t arguments[MPI_CALL_ARGUMENTS]);

/* What a flavour exports, as "tacho_mpi_flavour": `library` is a handle of the MPI's. NULL: it lacks something. */
typedef mpi_recorded_call *mpi_open_flavour(void *library);

#endif
