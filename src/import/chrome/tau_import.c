/* tau_import: timelines of TAU (tau_trace2json): pairs of B and E, whose numbers are texts, in an array that is never
 * closed.
 *
 * (1) A device is a thread of its process: one that runs no function of the program though another thread calls an
 *     interface of devices. Functions of C are named by their whole declaration: it is cut to the name.
 * (2) Calls and commands have no ids: the n-th command of a kind is of the n-th call that queues such, where there are as
 *     many. */
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "import/chrome/chrome_trace.h"
#include "import/opencl_commands.h"

#define APPLICATION ".TAU application"
#define ENQUEUE	    "clEnqueue"

struct tau {
	GHashTable *programs; /* threads that run functions of the program, by index + 1 */
	gboolean has_calls;   /* of an interface of devices */
	GHashTable *queues;   /* kind of command -> GArray of guint32: rows of calls */
	GHashTable *commands; /* ... rows of commands */
};

static void free_rows(gpointer rows)
{
	g_array_unref(rows);
}

static void begin(struct chrome_trace *trace)
{
	struct tau *tau = g_new0(struct tau, 1);

	tau->programs = g_hash_table_new(NULL, NULL);
	tau->queues = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_rows);
	tau->commands = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_rows);
	trace->data = tau;
}

static void end(struct chrome_trace *trace)
{
	struct tau *tau = trace->data;

	g_hash_table_unref(tau->programs);
	g_hash_table_unref(tau->queues);
	g_hash_table_unref(tau->commands);
	g_free(tau);
}

/* "cl_int clFinish(cl_command_queue) C " -> "clFinish"; without what surrounds it, any other name. */
static gchar *short_name(const gchar *name)
{
	g_autofree gchar *trimmed = g_strstrip(g_strdup(name));
	const gchar *open = strchr(trimmed, '('), *begin_at = open;

	if (!open || !g_str_has_suffix(trimmed, ") C"))
		return g_steal_pointer(&trimmed);
	while (begin_at > trimmed && (g_ascii_isalnum(begin_at[-1]) || begin_at[-1] == '_'))
		begin_at--;
	return begin_at < open ? g_strndup(begin_at, (gsize)(open - begin_at))
			       : g_steal_pointer(&trimmed);
}

static gboolean is_device_call(const gchar *name)
{
	static const gchar *const prefixes[] = { "cl", "cu", "hip", "ze" };

	for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++) {
		gsize n = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], n) == 0 &&
		    (g_ascii_isupper(name[n]) || g_str_has_prefix(name, "cuda")))
			return TRUE;
	}
	return FALSE;
}

static gboolean take(struct chrome_trace *trace, struct chrome_event *event)
{
	g_autofree gchar *name = short_name(tacho_timeline_string(trace->timeline, event->name));

	event->name = tacho_timeline_intern(trace->timeline, name, -1);
	return FALSE;
}

/* What a call queues, or a command is: "ReadBuffer" ..., "kernel". */
static gchar *command_of(const gchar *name)
{
	const gchar *command = g_str_has_prefix(name, ENQUEUE) ? name + strlen(ENQUEUE) : name;

	return g_strdup(opencl_command_kind(command) == TACHO_SLICE_KERNEL ? "kernel" : command);
}

static void settle(struct chrome_trace *trace)
{
	struct tau *tau = trace->data;

	for (gsize i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = chrome_trace_row(trace, i);
		const gchar *name = tacho_timeline_string(trace->timeline, row->name);
		gboolean is_call = is_device_call(name);

		tau->has_calls |= is_call;
		if (is_call || g_str_has_prefix(name, "MPI_") || strcmp(name, "main") == 0)
			g_hash_table_add(tau->programs, GUINT_TO_POINTER(row->thread + 1));
	}
}

static gboolean is_device(const struct tau *tau, guint32 thread)
{
	return tau->has_calls &&
	       !g_hash_table_contains(tau->programs, GUINT_TO_POINTER(thread + 1));
}

static void judge(struct chrome_trace *trace, const struct chrome_row *row,
		  struct chrome_verdict *verdict)
{
	const struct tau *tau = trace->data;
	const gchar *name = tacho_timeline_string(trace->timeline, row->name);

	if (is_device(tau, row->thread)) {
		if (strcmp(name, APPLICATION) == 0) { /* its whole life: no work */
			verdict->place = CHROME_ASIDE;
			return;
		}
		verdict->kind = opencl_command_kind(name);
		verdict->place = CHROME_ON_STREAM;
	} else if (is_device_call(name)) {
		verdict->kind = TACHO_SLICE_RUNTIME;
	} else {
		verdict->kind = TACHO_SLICE_FUNCTION;
	}
}

/* --- launches ------------------------------------------------------------------------------- */

static void note_row(GHashTable *table, const gchar *name, guint32 row)
{
	g_autofree gchar *key = command_of(name);
	GArray *rows = g_hash_table_lookup(table, key);

	if (!rows) {
		rows = g_array_new(FALSE, FALSE, sizeof(guint32));
		g_hash_table_insert(table, g_steal_pointer(&key), rows);
	}
	g_array_append_val(rows, row);
}

static gint compare_rows(gconstpointer first, gconstpointer second, gpointer data)
{
	const struct chrome_trace *trace = data;
	const struct chrome_row *a = chrome_trace_row(trace, *(const guint32 *)first);
	const struct chrome_row *b = chrome_trace_row(trace, *(const guint32 *)second);

	return ORDER(a->start_ns, b->start_ns) ?: ORDER(a, b);
}

static void link_rows(struct chrome_trace *trace, GArray *calls, GArray *commands)
{
	if (!calls || calls->len != commands->len)
		return;
	g_array_sort_with_data(calls, compare_rows, trace);
	g_array_sort_with_data(commands, compare_rows, trace);
	for (guint i = 0; i < commands->len; i++)
		tacho_timeline_set_launch(
			trace->timeline,
			chrome_trace_row(trace, g_array_index(commands, guint32, i))->slice,
			chrome_trace_row(trace, g_array_index(calls, guint32, i))->slice);
}

/* (2) */
static void finish(struct chrome_trace *trace)
{
	struct tau *tau = trace->data;

	for (guint32 i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = chrome_trace_row(trace, i);
		const gchar *name = tacho_timeline_string(trace->timeline, row->name);

		if (g_str_has_prefix(name, ENQUEUE))
			note_row(tau->queues, name, i);
		else if (is_device(tau, row->thread) && strcmp(name, APPLICATION) != 0)
			note_row(tau->commands, name, i);
	}
	FOR_EACH_ENTRY(entry, tau->commands)
		link_rows(trace, g_hash_table_lookup(tau->queues, entry.key), entry.value);
}

static const struct chrome_dialect dialect = {
	.begin = begin,
	.end = end,
	.take = take,
	.settle = settle,
	.judge = judge,
	.finish = finish,
};

static gboolean sniff_tau(const struct sniff_input *input)
{
	return chrome_trace_sniff(input) && strstr(input->head, "\"TAU\"");
}

const struct import_format import_tau = {
	.name = "tau",
	.title = "TAU's timelines (tau_trace2json)",
	.files = "*.json",
	.sniff = sniff_tau,
	.read_file = chrome_trace_read_file,
	.data = &dialect,
};
