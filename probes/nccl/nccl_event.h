/* nccl_event: an event as tacho has it, whichever version of the interface told it, and back.
 *
 * (1) Texts are NCCL's and stay where they are; NULL: not told.
 * (2) Version 1 tells functions, types, algorithms and protocols by numbers: they get the texts that later versions have. */
#ifndef TACHO_NCCL_EVENT_H
#define TACHO_NCCL_EVENT_H

#include "nccl/nccl_abi.h"

struct nccl_event {
	uint64_t type; /* enum nccl_type; 0: none that the version has */
	void *parent;  /* of COLL and P2P since version 5: the call */
	void *group;   /* of COLL and P2P: the group that they are in */
	int rank;
	union nccl_same same; /* of all other types */
	/* COLL, P2P */
	const char *name; /* of the communicator, until version 3 */
	uint64_t hash;
	uint64_t sequence, count;
	const char *func, *datatype, *algo, *proto;
	const void *send;
	void *receive; /* P2P: its buffer */
	int root;      /* P2P: the peer */
	uint8_t n_channels, n_warps;
};

/* Types of events that version `version` has. */
uint64_t nccl_types(int version);
bool nccl_has_state(int version, int state);

void nccl_event_read(struct nccl_event *event, int version, const struct nccl_descriptor *told);
/* The other way; the type is one that the version has. */
void nccl_event_write(const struct nccl_event *event, int version, struct nccl_descriptor *ret);

/* Bytes of one element ("ncclFloat32"); 0: not known. */
uint32_t nccl_datatype_bytes(const char *datatype);
/* Its enum trace_dtype. */
uint8_t nccl_datatype_dtype(const char *datatype);

#endif
