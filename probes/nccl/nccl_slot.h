/* nccl_slot: what stands behind the handles that NCCL gets for its events.
 *
 * (1) A handle is a number that is never given twice, with its lowest bit set, and no address: whatever NCCL brings back, also
 *     what was ended long ago, or is of a process before a fork, finds its slot or nothing.
 * (2) A slot outlives the end of its event, since others may come that name it as their parent, until its place is needed.
 * (3) A collective is over when NCCL has said so and nothing runs any more that works for it. Whoever ends the last of these
 *     fills in the collective's duration; who begins another one opens it again.
 * (4) Nothing waits: fields that several threads use are atomic. */
#ifndef TACHO_NCCL_SLOT_H
#define TACHO_NCCL_SLOT_H

#include <stdbool.h>
#include <stdint.h>

struct record_slice;

struct nccl_slot {
	uint64_t number;	    /* atomic; 0: free */
	uint64_t *duration;	    /* of its record; NULL: it has none */
	uint32_t *end_tid;	    /* of a collective's */
	uint64_t stamp;		    /* of it */
	struct record_slice *state; /* the record of the state that it is in; NULL: none */
	uint64_t collective;	    /* number of the slot of what it works for; 0: not known */
	void *other;		    /* the other plug-in's handle */
	uint64_t context;	    /* that NCCL gave with it */
	uint64_t timer;		    /* KERNEL_CH: of its begin; 0: not told */
	uint64_t timer_end;
	uint64_t begin_ticks; /* KERNEL_CH, KERNEL_LAUNCH */
	uint64_t end_ticks;   /* atomic; of a collective, the latest that is known; 0: none */
	uint32_t n_running;   /* atomic; of those that work for it */
	uint32_t is_stopped;  /* atomic */
	uint32_t type;	      /* enum nccl_type */
	uint32_t generation;  /* of the process (tacho_generation()) */
	uint8_t is_send;
	uint8_t channel;
};

/* A slot for an event that begins, all zero but for its number and generation; NULL: too many run. */
struct nccl_slot *nccl_slot_new(void);
/* NULL: it is none of ours, or has been forgotten. */
struct nccl_slot *nccl_slot_find(const void *handle);
void *nccl_slot_handle(const struct nccl_slot *slot);
bool nccl_handle_is_ours(const void *handle);

/* The event ended at `end_ticks` (0 where nobody asks); its place may be used again when nothing works for it. False: it had before. */
bool nccl_slot_stop(struct nccl_slot *slot, uint64_t end_ticks);

/* What `slot` is works for the collective `number` until nccl_slot_leave(). False: that is not there any more. */
bool nccl_slot_join(struct nccl_slot *slot, uint64_t number);
/* It did so until `end_ticks`. */
void nccl_slot_leave(struct nccl_slot *slot, uint64_t end_ticks);
/* Have the collective's record say what is known. */
void nccl_slot_settle(struct nccl_slot *collective);

#endif
