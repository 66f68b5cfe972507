/* mpi_request: requests by their handles, from the call that made them to the one that completes them. */
#ifndef TACHO_MPI_REQUEST_H
#define TACHO_MPI_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

struct record_collective;
struct mpi_communicator;

/* What is known of a request. */
struct mpi_request {
	struct record_collective *record; /* open; NULL: dropped, or not started */
	uint64_t communicator;		  /* handle */
	uint64_t bytes;
	int32_t peer, tag; /* ranks of the job; below 0: the status tells */
	uint32_t class_id;
	uint32_t generation;
	uint16_t call; /* enum mpi_call */
	uint8_t way;   /* enum trace_way; 0: a collective */
	bool is_persistent;
};

/* Keep it for the handle, in the place of one that was kept before. */
void mpi_request_put(uint64_t handle, const struct mpi_request *request);

/* What is kept for the handle; false: nothing, and *ret is empty. */
bool mpi_request_get(uint64_t handle, struct mpi_request *ret);

/* The request that had this record is complete. It is forgotten, but where it is persistent, or another has its handle already. */
void mpi_request_done(uint64_t handle, const struct mpi_request *request);

/* Forget it, whatever it is. */
void mpi_request_remove(uint64_t handle);

void mpi_requests_after_fork(void);

#endif
