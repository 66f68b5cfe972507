/* nccl_other: the plug-in that the job would have had without tacho: the one that the user named, or the one that NCCL looks for
 * by itself. It gets what it would get, in the version of the interface that it has.
 *
 * (1) It sees its own contexts and handles only, as parents, too.
 * (2) It gets events of the types that it asked for, and of those above them, as NCCL would send them. */
#ifndef TACHO_NCCL_OTHER_H
#define TACHO_NCCL_OTHER_H

#include "nccl/nccl_event.h"

/* How NCCL began with us. */
struct nccl_beginning {
	uint64_t id;
	const char *name;
	int n_nodes, n_ranks, rank;
	nccl_logger *logger;
};

/* Loads it, the first time. False: there is none, or it does not want to. */
bool nccl_other_init(void **context, const struct nccl_beginning *beginning);
void nccl_other_finalize(void *context);

/* Types of events that it wants now, and what NCCL sends with them. */
uint64_t nccl_other_types(void);

/* `event` has its handles. The result is its handle; NULL: it gave none. */
void *nccl_other_start(void *context, const struct nccl_event *event);
void nccl_other_stop(void *handle);
void nccl_other_state(void *handle, int state, const union nccl_state_args *args, int version);

#endif
