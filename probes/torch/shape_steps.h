/* shape_steps: in which training steps operations are asked for their tensors.
 *
 * Asking costs PyTorch more than the record does, and steps repeat themselves. So it is done in the first
 * steps, in every Nth (`--shapes-every`), and from an operation on that has never been asked to the end of the
 * next step; the reader joins the others to these by their place in the step (trace/op_twins.h).
 *
 * (1) What is recorded before the first step's end is asked for; so is everything in a job without steps.
 * (2) A step ends with the outermost optimizer's step: one that wraps another (ZeroRedundancyOptimizer) has
 *     both in its steps.
 * (3) The callback that asks, the one that does not, or (where nothing is recorded) neither is enabled.
 *     Whoever comes while another thread switches leaves it to that one: nobody waits (callback_switch.h). */
#ifndef TACHO_SHAPE_STEPS_H
#define TACHO_SHAPE_STEPS_H

#include "event_name.h"
#include "torch_symbols.h"

/* So many operations of one thread without a step's end are no step as those before: they are asked again. */
#define SHAPE_STEPS_LONG 100000

struct shape_handles {
	uint64_t shaped, bare; /* of the callbacks that ask for tensors, and that do not */
};

/* A thread's count of operations that were not asked. */
struct shape_patience {
	uint32_t n_ops;
	uint64_t step;
};

/* `handles.shaped` is enabled now, `handles.bare` is not. `every`: 1 asks in all steps. */
void shape_steps_start(const struct torch_symbols *torch, const struct shape_handles *handles,
		       uint64_t every);

/* The recording has ended (then nothing is called from here on), or another has begun. */
void shape_steps_attached(bool is_attached);

/* A region of that name begins, ends: steps of optimizers are among them. */
void shape_steps_begin(const char *name);
void shape_steps_end(const char *name);

/* An operation was met that has never been asked: ask from now on, and in the whole next step. */
void shape_steps_want(void);
/* The thread has run SHAPE_STEPS_LONG operations: ask from now on, if no step has ended meanwhile. */
void shape_steps_lose_patience(struct shape_patience *patience);

/* For measuring: have operations asked (or not), whatever is recorded; and as it is to be in the first step. */
void shape_steps_force(bool is_shaped);
void shape_steps_resume(void);

/* An operation was met of which this thread does not know that it was asked. */
static inline void shape_steps_meet(struct event_name_slot *slot, bool is_shaped)
{
	struct event_name *name = slot->name;

	if (__atomic_load_n(&name->has_shapes, __ATOMIC_RELAXED)) {
		slot->has_shapes = 1;
	} else if (is_shaped) {
		slot->has_shapes = 1;
		__atomic_store_n(&name->has_shapes, 1, __ATOMIC_RELAXED);
	} else {
		shape_steps_want();
	}
}

/* An operation was met. */
static inline void shape_steps_see(struct event_name_slot *slot, struct shape_patience *patience,
				   bool is_shaped)
{
	if (TACHO_UNLIKELY(!slot->has_shapes))
		shape_steps_meet(slot, is_shaped);
	if (!is_shaped && TACHO_UNLIKELY(++patience->n_ops == SHAPE_STEPS_LONG))
		shape_steps_lose_patience(patience);
}

#endif
