/* onnxruntime_import: profiles of ONNX Runtime (SessionOptions.enable_profiling), an array of Chrome events of one session.
 *
 * (1) "Node" events are operations, called by their type; those of fences, which earlier versions wrote beside each, are nothing.
 * (2) "Session" events are annotations: loading, initialization, runs and their executors.
 * (3) "Kernel" events have a stream for args and no thread; all are of the one process that ran.
 * (4) Times count from the profiler's start, which the file does not tell: trace.ini may (docs/trace-format.md). */
#include <string.h>

#include "import/chrome/chrome_trace.h"
#include "import/sniff_evidence.h"

#define NODE_TIME "_kernel_time"
#define NO_THREAD -1

static gboolean is_of(const struct chrome_trace *trace, guint32 category, const gchar *name)
{
	return strcmp(tacho_timeline_string(trace->timeline, category), name) == 0;
}

static gboolean is_node_time(const struct chrome_trace *trace, guint32 name)
{
	return g_str_has_suffix(tacho_timeline_string(trace->timeline, name), NODE_TIME);
}

static gboolean take(struct chrome_trace *trace, struct chrome_event *event)
{
	guint32 type;

	if (is_of(trace, event->category, "Node")) {
		if (!is_node_time(trace, event->name))
			return TRUE;
		if (chrome_event_arg_text(event, "op_name", trace->timeline, &type))
			event->name = type;
	} else if (is_of(trace, event->category, "Kernel")) {
		event->pid = NO_THREAD;
		if (!chrome_event_arg_integer(event, "stream", &event->tid))
			event->tid = 0;
	}
	return FALSE;
}

/* (3) */
static void settle(struct chrome_trace *trace)
{
	for (gsize i = 0; i < trace->rows.n; i++) {
		guint32 thread = chrome_trace_row(trace, i)->thread;

		if (chrome_trace_thread(trace, thread)->pid > 0) {
			trace->only_process = chrome_trace_process(trace, thread);
			return;
		}
	}
}

static void judge(struct chrome_trace *trace, const struct chrome_row *row,
		  struct chrome_verdict *verdict)
{
	if (is_of(trace, row->category, "Node")) {
		verdict->kind = TACHO_SLICE_OP;
	} else if (is_of(trace, row->category, "Session")) {
		verdict->kind = TACHO_SLICE_ANNOTATION;
	} else if (is_of(trace, row->category, "Api")) {
		verdict->kind = TACHO_SLICE_RUNTIME;
	} else if (is_of(trace, row->category, "Kernel")) {
		verdict->kind = TACHO_SLICE_KERNEL;
		verdict->place = CHROME_ON_STREAM;
	}
}

static const struct chrome_dialect dialect = { .take = take, .settle = settle, .judge = judge };

static gboolean sniff_onnxruntime(const struct sniff_input *input)
{
	static const gchar *const first[] = { "model_loading", "session_initialization",
					      "model_run" };

	if (!chrome_trace_sniff(input) || !json_head_has_text(input, "cat", 3, "Session"))
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(first); i++)
		if (json_head_has_text(input, "name", 3, first[i]))
			return TRUE;
	return FALSE;
}

const struct import_format import_onnxruntime = {
	.name = "onnxruntime",
	.title = "ONNX Runtime's profiles",
	.files = "onnxruntime_profile_*.json",
	.sniff = sniff_onnxruntime,
	.read_file = chrome_trace_read_file,
	.data = &dialect,
};
