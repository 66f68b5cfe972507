/* mark_api: the agent's side of include/tacho/mark.h, which programs compile in. They find it by the name of its one
 * symbol; a change of its layout needs a new one beside the old. */
#include <tacho/mark.h>

#include <stdio.h>

#include "agent/stream.h"
#include "common/activity.h"

/* Moments of these names are the agent's own. "step" and "rank" are not among them: a program may say where its steps begin, and
 * which rank it is. */
static const char *const own_moments[] = {
	"thread_name", TRACE_CONTROL_MARK, TRACE_SAMPLING_MARK, TRACE_NO_STACKS_MARK,
	"no_kernels",  "autograd_thread",  "process_group",	"ddp_bucket",
	"graph_break", TRACE_STOPPED_MARK,
};

static bool is_own_moment(const char *text, uint64_t length)
{
	for (size_t i = 0; i < sizeof(own_moments) / sizeof(*own_moments); i++)
		if (strlen(own_moments[i]) == length && memcmp(own_moments[i], text, length) == 0)
			return true;
	return false;
}

static uint32_t declare_name(int sort, const char *text, uint64_t length)
{
	static const enum trace_kind kinds[] = {
		[TACHO_MARK_SORT_RANGE] = TRACE_KIND_ANNOTATION,
		[TACHO_MARK_SORT_MOMENT] = TRACE_KIND_MARK,
		[TACHO_MARK_SORT_COUNTER] = TRACE_KIND_COUNTER,
		[TACHO_MARK_SORT_FLOW] = TRACE_KIND_FLOW,
		[TACHO_MARK_SORT_SPAN] = TRACE_KIND_SPAN,
	};

	char other[64];

	if (sort < 0 || (size_t)sort >= sizeof(kinds) / sizeof(*kinds) || !tacho_is_recording())
		return 0;
	if (sort == TACHO_MARK_SORT_MOMENT && is_own_moment(text, length)) {
		length = (uint64_t)snprintf(other, sizeof(other), "program's %.*s", (int)length,
					    text);
		text = other;
	}
	return tacho_class(kinds[sort], text, length);
}

/* Name 0 could not be declared: the record is dropped and counted. */
static void *begin_range(uint32_t name, uint64_t number)
{
	return tacho_is_recording() ? tacho_slice_begin(name, number) : NULL;
}

static void *begin_span(uint32_t name, uint64_t number)
{
	return tacho_is_recording() ? tacho_span_begin(name, number) : NULL;
}

static void end_range(void *range)
{
	if (range && streams_hold(range))
		tacho_slice_finish((struct record_slice *)range);
}

static void write_moment(uint32_t name, int64_t first, int64_t second, const char *text)
{
	if (tacho_is_recording())
		stream_write_mark(name, first, second, text ? text : "");
}

static void write_counter(uint32_t name, double value)
{
	if (tacho_is_recording())
		tacho_counter(name, value);
}

static void write_flow(uint32_t name, uint64_t number, int phase)
{
	if (tacho_is_recording() && phase >= 0 && phase < TRACE_N_FLOW_PHASES)
		tacho_flow(name, number, (enum trace_flow_phase)phase, TRACE_FLOW_OTHER,
			   TRACE_FLOW_OF_PROCESS);
}

static int is_recording(void)
{
	return tacho_is_recording();
}

extern TACHO_EXPORT const struct tacho_mark_api tacho_mark_api_1;
const struct tacho_mark_api tacho_mark_api_1 = {
	.name = declare_name,
	.begin = begin_range,
	.end = end_range,
	.moment = write_moment,
	.counter = write_counter,
	.flow = write_flow,
	.is_recording = is_recording,
	.begin_span = begin_span,
};
