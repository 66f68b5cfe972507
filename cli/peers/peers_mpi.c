#include "peers_mpi.h"

#include <limits.h>
#include <mpi.h>

#define EXPORTED __attribute__((visibility("default")))

#define CHUNK_BYTES ((size_t)1 << 30) /* MPI counts with an int */

static int result(int status)
{
	return status == MPI_SUCCESS ? 0 : -1;
}

EXPORTED int tacho_peers_mpi_begin(int *ret_index, int *ret_n)
{
	int level;

	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
		return -1;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (MPI_Comm_rank(MPI_COMM_WORLD, ret_index) != MPI_SUCCESS)
		return -1;
	return result(MPI_Comm_size(MPI_COMM_WORLD, ret_n));
}

EXPORTED int tacho_peers_mpi_gather(const void *bytes, size_t n_bytes, void *ret_all)
{
	if (n_bytes > INT_MAX)
		return -1;
	return result(MPI_Allgather(bytes, (int)n_bytes, MPI_BYTE, ret_all, (int)n_bytes, MPI_BYTE,
				    MPI_COMM_WORLD));
}

EXPORTED int tacho_peers_mpi_share(int from, void *bytes, size_t n_bytes)
{
	for (size_t done = 0; done < n_bytes; done += CHUNK_BYTES) {
		size_t left = n_bytes - done;

		if (MPI_Bcast((char *)bytes + done, (int)(left < CHUNK_BYTES ? left : CHUNK_BYTES),
			      MPI_BYTE, from, MPI_COMM_WORLD) != MPI_SUCCESS)
			return -1;
	}
	return 0;
}

EXPORTED int tacho_peers_mpi_end(void)
{
	return result(MPI_Finalize());
}
