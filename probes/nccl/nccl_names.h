/* nccl_names: the classes of what NCCL tells of, found by the addresses of its texts after the first time. */
#ifndef TACHO_NCCL_NAMES_H
#define TACHO_NCCL_NAMES_H

#include "common/probe.h"

#define NCCL_NO_NUMBER (-1)

struct nccl_name {
	const char *before, *func; /* func NULL: "?" */
	const char *algo, *proto;  /* both, or NULL */
	int64_t number;		   /* NCCL_NO_NUMBER: none */
};

/* "BEFOREfunc ALGO/PROTO" or "BEFOREfunc NUMBER"; 0: it could not be declared. */
uint32_t nccl_class(enum trace_kind kind, const struct nccl_name *name);

#endif
