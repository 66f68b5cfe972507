/* steps: which training steps are recorded: those of --steps, less the control steps.
 *
 * Steps are counted from 0, in the order they end. With --control N, of every 3N steps the last N are
 * control steps: nothing is recorded in them and the probes take their hooks out, so how long they
 * last tells what recording takes. All that is left of one is a mark "control_step" at its end, `first`
 * its number. Ranks that train together count alike, so their control steps are the same.
 *
 * (1) Whoever watches is told of every change, in the thread that ended a step, outside any lock.
 * (2) Only where somebody wants steps left out does tacho_counts_steps() ask the probes to count. */
#include "agent/steps.h"

#include <stdio.h>
#include <string.h>

#include "agent/attach.h"
#include "common/probe.h"

#define MAX_WATCHERS   8
#define RECORDED_SHARE 2 /* parts recorded to one of control */

static struct {
	uint64_t first, last; /* both inclusive */
	uint64_t control;     /* 0: none */
	uint64_t done;	      /* atomic */
} steps = { .last = UINT64_MAX };

static tacho_recording_changed *watchers[MAX_WATCHERS]; /* atomic */

static bool is_asked_for(uint64_t step)
{
	return step >= steps.first && step <= steps.last;
}

static bool is_control(uint64_t step)
{
	return steps.control && is_asked_for(step) &&
	       (step - steps.first) % ((RECORDED_SHARE + 1) * steps.control) >=
		       RECORDED_SHARE * steps.control;
}

static void apply(uint64_t step)
{
	bool is_recording = is_asked_for(step) && !is_control(step);

	if (is_recording == tacho_is_recording())
		return;
	tacho_recording_set(is_recording);
	for (int i = 0; i < MAX_WATCHERS; i++) {
		tacho_recording_changed *changed = __atomic_load_n(&watchers[i], __ATOMIC_ACQUIRE);

		if (changed)
			changed(is_recording);
	}
}

static void read_steps(const char *text)
{
	unsigned long long first, last;
	int length = 0;

	steps.first = 0;
	steps.last = UINT64_MAX;
	if (!*text)
		return;
	if (sscanf(text, "%llu:%llu%n", &first, &last, &length) != 2 || text[length] ||
	    first > last) {
		tacho_say("TACHO_STEPS must be A:B, not '%s'; every step is recorded", text);
		return;
	}
	steps.first = first;
	steps.last = last;
}

void steps_configure(const struct agent_settings *settings)
{
	read_steps(settings->steps);
	if (settings->later) /* until then none */
		steps.first = UINT64_MAX;
	__atomic_store_n(&steps.done, 0, __ATOMIC_RELAXED);
	steps.control = settings->control <= TRACE_MAX_CONTROL ? settings->control : 0;
	apply(0);
}

bool tacho_counts_steps(void)
{
	return steps.first > 0 || steps.last < UINT64_MAX || steps.control;
}

void tacho_step_end(void)
{
	uint64_t step;

	if (!tacho_counts_steps())
		return;
	step = __atomic_fetch_add(&steps.done, 1, __ATOMIC_RELAXED);
	if (is_control(step))
		tacho_mark(TRACE_CONTROL_MARK, (int64_t)step, 0, "");
	apply(step + 1);
	if (step == steps.last)
		attach_note_past_steps();
}

bool tacho_watch_recording(tacho_recording_changed *changed)
{
	for (int i = 0; i < MAX_WATCHERS; i++) {
		tacho_recording_changed *nobody = NULL;

		if (!__atomic_compare_exchange_n(&watchers[i], &nobody, changed, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		if (!tacho_is_recording())
			changed(false);
		return true;
	}
	return false;
}
