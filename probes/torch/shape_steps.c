#include "shape_steps.h"

#include "callback_switch.h"
#include "torch_abi.h"

#define FIRST_STEPS                                                                                \
	10 /* asked from the start: what differs between optimizers that alternate is seen in these */

enum mode { MODE_SHAPED, MODE_BARE, MODE_OFF };

static struct {
	const struct torch_symbols *torch;
	struct shape_handles handles;
	uint64_t every;
	uint64_t n_ended; /* atomic: of recorded steps */
	bool is_wanted;	  /* atomic: an operation was met that has not been asked */
	bool is_shaped;	  /* atomic: what is recorded is asked */
	enum mode mode;	  /* whoever may switch callbacks has it */
} steps;

static __thread int open_steps;

static void set_enabled(uint64_t handle, bool is_enabled)
{
	if (is_enabled)
		steps.torch->enable(handle);
	else
		steps.torch->disable(handle);
}

static void apply(void)
{
	enum mode mode = !tacho_is_recording()				       ? MODE_OFF
			 : __atomic_load_n(&steps.is_shaped, __ATOMIC_RELAXED) ? MODE_SHAPED
									       : MODE_BARE;

	if (!callback_switch_try())
		return;
	if (mode != steps.mode) {
		/* Other threads begin operations meanwhile: for a moment they have both callbacks rather than none. */
		if (mode != MODE_OFF)
			set_enabled(mode == MODE_SHAPED ? steps.handles.shaped : steps.handles.bare,
				    true);
		if (mode != MODE_SHAPED)
			set_enabled(steps.handles.shaped, false);
		if (mode != MODE_BARE)
			set_enabled(steps.handles.bare, false);
		steps.mode = mode;
	}
	callback_switch_end();
}

static void ask(bool is_shaped)
{
	__atomic_store_n(&steps.is_shaped, is_shaped, __ATOMIC_RELAXED);
	apply();
}

void shape_steps_force(bool is_shaped)
{
	__atomic_store_n(&steps.is_shaped, is_shaped, __ATOMIC_RELAXED);
	set_enabled(steps.handles.shaped, is_shaped);
	set_enabled(steps.handles.bare, !is_shaped);
	steps.mode = is_shaped ? MODE_SHAPED : MODE_BARE;
}

void shape_steps_resume(void)
{
	ask(true);
}

void shape_steps_want(void)
{
	__atomic_store_n(&steps.is_wanted, true, __ATOMIC_RELAXED);
	ask(true);
}

void shape_steps_lose_patience(struct shape_patience *patience)
{
	uint64_t n_ended = __atomic_load_n(&steps.n_ended, __ATOMIC_RELAXED);

	patience->n_ops = 0;
	if (patience->step == n_ended)
		ask(true);
	patience->step = n_ended;
}

void shape_steps_begin(const char *name)
{
	open_steps += event_name_is_optimizer_step(name);
}

static bool is_step_asked(uint64_t step)
{
	return __atomic_exchange_n(&steps.is_wanted, false, __ATOMIC_RELAXED) ||
	       step < FIRST_STEPS || step % steps.every == 0;
}

void shape_steps_end(const char *name)
{
	bool was_recorded;

	if (!event_name_is_optimizer_step(name) || open_steps == 0 || --open_steps > 0)
		return;
	was_recorded = tacho_is_recording();
	tacho_step_end();
	if (was_recorded)
		ask(is_step_asked(__atomic_add_fetch(&steps.n_ended, 1, __ATOMIC_RELAXED)));
}

static void recording_changed(bool is_recording)
{
	(void)is_recording;
	apply();
}

void shape_steps_attached(bool is_attached)
{
	/* its own switch, or that of another thread, which has not seen that the recording is over */
	callback_switch_await();
	if (!is_attached) {
		apply();
		return;
	}
	__atomic_store_n(&steps.n_ended, 0, __ATOMIC_RELAXED);
	ask(true);
}

static void look_at_callbacks(void)
{
	uint64_t object[TORCH_FUNCTION_WORDS];

	steps.torch->construct(object, TORCH_BUILD_FEATURE);
	steps.torch->destruct(object);
}

void shape_steps_start(const struct torch_symbols *torch, const struct shape_handles *handles,
		       uint64_t every)
{
	steps.torch = torch;
	steps.handles = *handles;
	steps.every = every ? every : 1;
	steps.is_shaped = true;
	tacho_watch_recording(recording_changed);
	callback_switch_start(look_at_callbacks);
}
