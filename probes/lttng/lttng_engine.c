/* lttng_engine: libtacho_lttng.so: the tracepoints, behind a table of functions that the agent calls (common/lttng_events.h). It
 * needs nothing of the agent, so that it can be tried whether it loads. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "record_tracepoints.h"

#include <lttng/ust-fork.h>

static bool is_on(void)
{
	return lttng_ust_tracepoint_enabled(tacho_record, process);
}

static void tell_process(const struct lttng_process *process)
{
	lttng_ust_tracepoint(tacho_record, process, process);
}

static void tell_class(const struct lttng_class *declared)
{
	lttng_ust_tracepoint(tacho_record, class, declared);
}

static void tell_record(const struct lttng_record *record)
{
	switch ((enum trace_kind)record->kind) {
#define TELL(enumerator, kind_name, is_slice)                                                      \
	case TRACE_KIND_##enumerator:                                                              \
		lttng_ust_tracepoint(tacho_record, kind_name, record);                             \
		break;
		TRACE_KINDS(TELL)
#undef TELL
		case TRACE_N_KINDS:
			break;
	}
}

static void tell_end(const struct lttng_record *end)
{
	lttng_ust_tracepoint(tacho_record, end, end);
}

static void tell_dropped(const struct lttng_record *stream, uint64_t count)
{
	lttng_ust_tracepoint(tacho_record, dropped, stream, count);
}

static void after_fork(sigset_t *signals, bool is_child)
{
	if (is_child)
		lttng_ust_after_fork_child(signals);
	else
		lttng_ust_after_fork_parent(signals);
}

extern const struct lttng_events tacho_lttng_events;

const struct lttng_events tacho_lttng_events __attribute__((visibility("default"))) = {
	.version = LTTNG_EVENTS_VERSION,
	.is_on = is_on,
	.process = tell_process,
	.declare = tell_class,
	.record = tell_record,
	.end = tell_end,
	.dropped = tell_dropped,
	.before_fork = lttng_ust_before_fork,
	.after_fork = after_fork,
};
