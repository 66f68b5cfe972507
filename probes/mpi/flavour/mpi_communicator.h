/* mpi_communicator: communicators by their handles: their numbers, and which rank of the job each of their ranks is.
 *
 * A communicator is told as a process group (a mark "process_group") when it is made, or first used. Its number is the process's own, and
 * never used again, as handles are. */
#ifndef TACHO_MPI_COMMUNICATOR_H
#define TACHO_MPI_COMMUNICATOR_H

#include <stdbool.h>
#include <stdint.h>

struct mpi_communicator {
	struct mpi_communicator *next;
	uint64_t handle;
	uint64_t number;
	uint32_t generation; /* of the process that has been told of it */
	bool is_across;	     /* between two groups: its ranks are the other one's */
	int size;	     /* of `ranks` */
	int ranks[];	     /* of the job; -1: of another job */
};

/* NULL: not known. It stays until it is removed, and longer while it is held. */
struct mpi_communicator *mpi_communicator_find(uint64_t handle);

/* Keep `communicator`, whose handle, ranks and size are filled in (malloc'd), and number it. The one that is kept for the handle, which may
 * be another's. */
struct mpi_communicator *mpi_communicator_add(struct mpi_communicator *communicator);

/* Its handle is going to be another's. */
void mpi_communicator_remove(uint64_t handle);

/* The job's rank of one of its; -1: not known. */
static inline int32_t mpi_communicator_rank(const struct mpi_communicator *communicator, int rank)
{
	return communicator && rank >= 0 && rank < communicator->size ? communicator->ranks[rank]
								      : -1;
}

void mpi_communicators_after_fork(void);

#endif
