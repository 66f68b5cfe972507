/* nccl_communicator: what a communicator of NCCL is to the plug-in: its context.
 *
 * (1) A context that is handed out is a number, as handles are (nccl_slot.h): what NCCL still uses when it has given it back
 *     finds nothing. With its lowest bit clear it is the other plug-in's own, for which there was no place here. */
#ifndef TACHO_NCCL_COMMUNICATOR_H
#define TACHO_NCCL_COMMUNICATOR_H

#include "nccl/nccl_other.h"
#include "nccl/nccl_timer.h"

struct nccl_communicator {
	uint64_t number; /* atomic; 0: free */
	uint64_t id;	 /* the same on all its ranks; 0: the version does not tell */
	int n_ranks, rank;
	bool has_other;
	bool has_kernels;      /* NCCL's kernels are recorded, each as a collective */
	bool is_whole;	       /* of all ranks of the job, by their numbers */
	void *other;	       /* the other plug-in's context */
	uint64_t launch_ticks; /* atomic: its last launch began then */
	uint32_t generation;
	struct nccl_timer timer;
};

/* All zero but for its number; NULL: there are too many. */
struct nccl_communicator *nccl_communicator_new(void);
/* NULL: there is none, or no more. */
struct nccl_communicator *nccl_communicator_find(const void *context);
void *nccl_communicator_context(const struct nccl_communicator *communicator);
void nccl_communicator_free(struct nccl_communicator *communicator);

/* Tell who is in it, as the marks of process groups do. */
void nccl_communicator_tell(struct nccl_communicator *communicator, const char *name);

#endif
