/* clintercept_import: traces of Intel's Intercept Layer for OpenCL: calls of the host (ChromeCallLogging) and commands
 * of devices (ChromePerformanceTiming), whole or in stages, by queue or by kernel.
 *
 * (1) The tid of a call is its thread's. That of a command is the negative number of its queue; in stages COUNT.QUEUE,
 *     a row of its own for each command; by kernel the kernel's name: then nobody knows the queue.
 * (2) Times count from clintercept_start_time, microseconds of the machine's steady clock.
 * (3) A call and the command that it queues have the same id in their args.
 * How it writes them: intercept/src/chrometracer.cpp of its repository. */
#include <stdlib.h>
#include <string.h>

#include "base/for_each.h"
#include "import/chrome/chrome_trace.h"
#include "import/opencl_commands.h"

#define EXECUTION " (Execution)"
#define QUEUED	  " (Queued)"
#define SUBMITTED " (Submitted)"

/* A row with an id in its args. */
struct command {
	gint64 id;
	gsize row;
};

struct clintercept {
	GHashTable *calls; /* id -> row + 1, the first */
	GArray *commands;  /* struct command */
	gint64 start_ns;   /* (2) */
};

static void begin(struct chrome_trace *trace)
{
	struct clintercept *own = g_new0(struct clintercept, 1);

	own->calls = g_hash_table_new(NULL, NULL);
	own->commands = g_array_new(FALSE, FALSE, sizeof(struct command));
	trace->data = own;
}

static void end(struct chrome_trace *trace)
{
	struct clintercept *own = trace->data;

	g_hash_table_unref(own->calls);
	g_array_unref(own->commands);
	g_free(own);
}

/* (1) The tid of a command's queue, a negative number; 0 where the queue is not told. */
static gint64 queue_of(const gchar *tid)
{
	const gchar *dot = strchr(tid, '.');
	gchar *rest;
	guint64 number;

	if (!dot || strspn(tid, "0123456789") != (gsize)(dot - tid))
		return 0;
	number = g_ascii_strtoull(dot + 1, &rest, 10);
	return *rest == '\0' && rest > dot + 1 && number <= G_MAXINT32 ? -(gint64)number : 0;
}

/* All commands of a queue are of one thread. What is executed is called as it is; stages before keep theirs. */
static void name_queue(struct chrome_trace *trace, struct chrome_event *event)
{
	const gchar *tid = chrome_id_text(trace->timeline, event->tid);
	const gchar *name = tacho_timeline_string(trace->timeline, event->name);

	if (!tid)
		return;
	event->tid = queue_of(tid);
	if (g_str_has_suffix(name, EXECUTION)) {
		g_autofree gchar *whole = g_strndup(name, strlen(name) - strlen(EXECUTION));

		event->name = tacho_timeline_intern(trace->timeline, whole, -1);
	}
}

static gboolean is_earlier_stage(const gchar *name)
{
	return g_str_has_suffix(name, QUEUED) || g_str_has_suffix(name, SUBMITTED);
}

static void note_id(struct chrome_trace *trace, const struct chrome_event *event)
{
	struct clintercept *own = trace->data;
	struct command command = { .row = trace->rows.n };
	gpointer key;

	if (!chrome_event_arg_integer(event, "id", &command.id))
		return;
	key = GSIZE_TO_POINTER((gsize)command.id);
	if (event->tid <= 0)
		g_array_append_val(own->commands, command);
	else if (!g_hash_table_contains(own->calls, key))
		g_hash_table_insert(own->calls, key, GSIZE_TO_POINTER(command.row + 1));
}

static gboolean take(struct chrome_trace *trace, struct chrome_event *event)
{
	struct clintercept *own = trace->data;
	const gchar *name = tacho_timeline_string(trace->timeline, event->name);
	gint64 start_us;

	if (event->phase == 'M' && strcmp(name, "clintercept_start_time") == 0 &&
	    chrome_event_arg_integer(event, "start_time", &start_us) &&
	    !__builtin_mul_overflow(start_us, 1000, &start_us))
		own->start_ns = start_us;
	if (event->phase == 'M' && g_str_has_prefix(name, "clintercept_"))
		return TRUE;
	name_queue(trace, event);
	if (event->phase == 'X' &&
	    !is_earlier_stage(tacho_timeline_string(trace->timeline, event->name)))
		note_id(trace, event);
	return FALSE;
}

static void settle(struct chrome_trace *trace)
{
	trace->base_ns = ((const struct clintercept *)trace->data)->start_ns;
}

static void judge(struct chrome_trace *trace, const struct chrome_row *row,
		  struct chrome_verdict *verdict)
{
	const gchar *name = tacho_timeline_string(trace->timeline, row->name);
	gint64 tid = chrome_trace_thread(trace, row->thread)->tid;

	if (tid > 0) {
		verdict->kind = TACHO_SLICE_RUNTIME;
		return;
	}
	if (is_earlier_stage(name)) {
		verdict->place = CHROME_ASIDE;
		return;
	}
	verdict->kind = opencl_command_kind(name);
	verdict->place = CHROME_ON_STREAM;
	verdict->stream = -tid;
}

/* (3) */
static void finish(struct chrome_trace *trace)
{
	const struct clintercept *own = trace->data;

	FOR_EACH(const struct command, command, own->commands) {
		gsize call = GPOINTER_TO_SIZE(
			g_hash_table_lookup(own->calls, GSIZE_TO_POINTER((gsize)command->id)));

		if (call && call - 1 < trace->rows.n && command->row < trace->rows.n)
			tacho_timeline_set_launch(trace->timeline,
						  chrome_trace_row(trace, command->row)->slice,
						  chrome_trace_row(trace, call - 1)->slice);
	}
}

static const struct chrome_dialect dialect = {
	.begin = begin,
	.end = end,
	.take = take,
	.settle = settle,
	.judge = judge,
	.finish = finish,
};

static gboolean sniff_clintercept(const struct sniff_input *input)
{
	return chrome_trace_sniff(input) && strstr(input->head, "\"clintercept_");
}

const struct import_format import_clintercept = {
	.name = "clintercept",
	.title = "Intercept Layer for OpenCL, Chrome JSON",
	.files = "clintercept_trace.json",
	.sniff = sniff_clintercept,
	.read_file = chrome_trace_read_file,
	.data = &dialect,
};
