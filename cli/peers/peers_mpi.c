#include "peers_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))

#define CHUNK_BYTES ((size_t)1 << 30) /* MPI counts with an int */
#define BRING_TAG   19

/* How a process waits for the others. Source: a rule: what is exchanged at once comes within the first looks; who waits for as
 * long as another plays a graph shall leave it the core. If wrong, exchanges are slower, or who waits takes a core. */
#define EAGER_LOOKS	2000
#define SHORTEST_NAP_NS 20000
#define LONGEST_NAP_NS	1000000

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

/* MPI's own waiting takes a core. */
static int wait_for(MPI_Request *request)
{
	long nap_ns = SHORTEST_NAP_NS;
	int is_done = 0;

	for (int n = 0;; n++) {
		if (MPI_Test(request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return -1;
		if (is_done)
			return 0;
		if (n < EAGER_LOOKS)
			continue;
		nanosleep(&(struct timespec){ .tv_nsec = nap_ns }, NULL);
		nap_ns = nap_ns * 2 < LONGEST_NAP_NS ? nap_ns * 2 : LONGEST_NAP_NS;
	}
}

EXPORTED int tacho_peers_mpi_gather(const void *bytes, size_t n_bytes, void *ret_all)
{
	MPI_Request request;

	if (n_bytes > INT_MAX ||
	    MPI_Iallgather(bytes, (int)n_bytes, MPI_BYTE, ret_all, (int)n_bytes, MPI_BYTE,
			   MPI_COMM_WORLD, &request) != MPI_SUCCESS)
		return -1;
	return wait_for(&request);
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

EXPORTED int tacho_peers_mpi_bring(int from, void *bytes, size_t n_bytes)
{
	int index;

	if (MPI_Comm_rank(MPI_COMM_WORLD, &index) != MPI_SUCCESS)
		return -1;
	for (size_t done = 0; done < n_bytes; done += CHUNK_BYTES) {
		size_t left = n_bytes - done;
		int n = (int)(left < CHUNK_BYTES ? left : CHUNK_BYTES), status = MPI_SUCCESS;

		if (index == from)
			status = MPI_Send((char *)bytes + done, n, MPI_BYTE, 0, BRING_TAG,
					  MPI_COMM_WORLD);
		else if (index == 0)
			status = MPI_Recv((char *)bytes + done, n, MPI_BYTE, from, BRING_TAG,
					  MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (status != MPI_SUCCESS)
			return -1;
	}
	return 0;
}

EXPORTED int tacho_peers_mpi_end(void)
{
	return result(MPI_Finalize());
}
