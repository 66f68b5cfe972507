/* peers_mpi: the calls of MPI that tacho's processes reach each other by (tacho/peers.h), one library for each MPI that was
 * there when tacho was built: libtacho_peers_openmpi.so, libtacho_peers_mpich.so. `tacho` loads the one of the MPI whose
 * launcher has started it, and is itself linked to none. All but begin() are called by all processes of the launcher; all
 * return 0, or -1 where MPI says that they failed. */
#ifndef TACHO_PEERS_MPI_H
#define TACHO_PEERS_MPI_H

#include <stddef.h>

/* Join the others: this process is number *ret_index of *ret_n. */
int tacho_peers_mpi_begin(int *ret_index, int *ret_n);
/* The `n_bytes` of each process, the same number in all and less than 2^31, into `ret_all`, by process. */
int tacho_peers_mpi_gather(const void *bytes, size_t n_bytes, void *ret_all);
/* Give the bytes of process `from` to all others. */
int tacho_peers_mpi_share(int from, void *bytes, size_t n_bytes);
/* Give the bytes of process `from`, which is not 0, to process 0; the others' `bytes` are not touched. */
int tacho_peers_mpi_bring(int from, void *bytes, size_t n_bytes);
/* Leave: nothing else may be called behind it. */
int tacho_peers_mpi_end(void);

#endif
