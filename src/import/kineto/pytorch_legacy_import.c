/* pytorch_legacy_import: what PyTorch's profiler exports where it was built without Kineto, and did before version 1.8.
 *
 *     {"name": "aten::mm", "ph": "X", "ts": 351, "dur": 12, "tid": 1, "pid": "CPU functions", "args": {}}
 *
 * (1) There are no categories: what an event is, its name tells. Operations have a namespace ("aten::mm",
 *     "autograd::engine::evaluate_function: ..."), are autograd nodes ("AddmmBackward0"), or functions of the user that have
 *     such a node ("F", of "FBackward"). Other names are regions that the user or PyTorch marked. Before version 1.7 operations had no namespace, either: in a file in which
 *     nothing has one, only what PyTorch itself marks is a region.
 * (2) "CUDA functions" are the times that a device took for an operation, between two of its events. They stand behind
 *     their operation, which is what launched them. Those that contain others are of an operation that called others:
 *     only the innermost are taken for kernels.
 * (3) Times count from the moment at which the file's profile began. So no other file has its clock, and of several files
 *     of one rank nobody knows in which order they were written, nor how far apart: the first is read. */
#include <string.h>

#include "import/chrome/chrome_trace.h"
#include "import/sniff_evidence.h"

static const gchar functions[] = " functions";

struct legacy {
	GArray *names; /* enum name_kind, by string id */
	gboolean has_namespaces;
	GHashTable *backward; /* names of autograd nodes of the user's functions */
	GHashTable *outer;    /* rows of devices that contain others */
};

enum name_kind { NAME_UNKNOWN, NAME_OP, NAME_REGION, NAME_KNOWN_REGION, NAME_COLLECTIVE };

static void begin(struct chrome_trace *trace)
{
	struct legacy *legacy = g_new0(struct legacy, 1);

	legacy->names = g_array_new(FALSE, TRUE, sizeof(guint8));
	legacy->outer = g_hash_table_new(NULL, NULL);
	legacy->backward = g_hash_table_new(g_str_hash, g_str_equal);
	trace->data = legacy;
}

static void end(struct chrome_trace *trace)
{
	struct legacy *legacy = trace->data;

	g_array_unref(legacy->names);
	g_hash_table_unref(legacy->outer);
	g_hash_table_unref(legacy->backward);
	g_free(legacy);
}

/* The arrows say no more than the order of events: (2). */
static gboolean take(struct chrome_trace *trace, struct chrome_event *event)
{
	(void)trace;
	return event->phase == 's' || event->phase == 'f';
}

/* --- names: (1) ------------------------------------------------------------------------------- */

static gboolean has_prefix_of(const gchar *name, const gchar *const *prefixes)
{
	while (*prefixes && !g_str_has_prefix(name, *prefixes))
		prefixes++;
	return *prefixes != NULL;
}

/* "AddmmBackward0", "MyFunctionBackward" */
static gboolean is_autograd_node(const gchar *name)
{
	const gchar *backward = g_strrstr(name, "Backward");

	return backward && backward[8 + strspn(backward + 8, "0123456789")] == '\0';
}

/* Two operations have no namespace in any version; and those of the user's functions. */
static gboolean is_bare_op(const struct legacy *legacy, const gchar *name)
{
	g_autofree gchar *node = g_strconcat(name, "Backward", NULL);

	return strcmp(name, "detach") == 0 || strcmp(name, "detach_") == 0 ||
	       g_hash_table_contains(legacy->backward, node);
}

static enum name_kind kind_of_name(const struct legacy *legacy, const gchar *name)
{
	static const gchar *const regions[] = { "ProfilerStep#", "Optimizer.", "enumerate(Data",
						NULL };
	static const gchar *const backends[] = { "gloo:", "mpi:", "ucc:", NULL };

	if (has_prefix_of(name, backends) && !strstr(name, "::"))
		return NAME_COLLECTIVE;
	if (has_prefix_of(name, regions))
		return NAME_KNOWN_REGION;
	return strstr(name, "::") || is_autograd_node(name) || is_bare_op(legacy, name)
		       ? NAME_OP
		       : NAME_REGION;
}

static enum name_kind find_kind(struct chrome_trace *trace, guint32 name)
{
	struct legacy *legacy = trace->data;
	guint8 *kind;

	if (name >= legacy->names->len)
		g_array_set_size(legacy->names, name + 1);
	kind = &g_array_index(legacy->names, guint8, name);
	if (*kind == NAME_UNKNOWN)
		*kind = (guint8)kind_of_name(legacy, tacho_timeline_string(trace->timeline, name));
	return (enum name_kind) * kind;
}

/* --- hosts and devices ------------------------------------------------------------------------ */

/* The "process" of an event, in lower case: "cpu functions". */
static gboolean is_on_device(const struct chrome_trace *trace, guint32 thread)
{
	const gchar *pid = chrome_id_text(trace->timeline, chrome_trace_thread(trace, thread)->pid);

	return pid && strlen(pid) > strlen(functions) &&
	       g_ascii_strcasecmp(pid + strlen(pid) - strlen(functions), functions) == 0 &&
	       g_ascii_strncasecmp(pid, "CPU", 3) != 0;
}

/* (2): of rows in order, note which contain the next one. */
static void find_outer(struct chrome_trace *trace)
{
	struct legacy *legacy = trace->data;
	g_autoptr(GPtrArray) rows = g_ptr_array_new();

	for (gsize i = 0; i < trace->rows.n; i++)
		if (is_on_device(trace, chrome_trace_row(trace, i)->thread))
			g_ptr_array_add(rows, chrome_trace_row(trace, i));
	g_ptr_array_sort(rows, chrome_rows_compare);
	for (guint i = 1; i < rows->len; i++) {
		const struct chrome_row *before = rows->pdata[i - 1], *row = rows->pdata[i];

		if (row->thread == before->thread &&
		    row->start_ns - before->start_ns < before->duration_ns)
			g_hash_table_add(legacy->outer, (gpointer)before);
	}
}

static void settle(struct chrome_trace *trace)
{
	struct legacy *legacy = trace->data;
	TachoProcess process = { .host = trace->host,
				 .clock_scope = TACHO_CLOCK_OF_FILE, /* (3) */
				 .rank = trace->rank,
				 .local_rank = -1,
				 .world_size = trace->file.facts.world_size,
				 .end = TACHO_END_UNKNOWN,
				 .path = (gchar *)trace->file.path };

	for (gsize i = 0; i < trace->rows.n; i++) {
		const gchar *name =
			tacho_timeline_string(trace->timeline, chrome_trace_row(trace, i)->name);

		legacy->has_namespaces |= strstr(name, "::") != NULL;
		if (g_str_has_suffix(name, "Backward"))
			g_hash_table_add(legacy->backward, (gpointer)name);
	}
	find_outer(trace);
	trace->only_process = import_add_process(trace->import, &process, trace->number);
	if (trace->rank < 0 && trace->import->n_paths > 1)
		tacho_timeline_add_problem(trace->timeline, TACHO_PROBLEM_UNKNOWN_RANK, 1,
					   "%s: the trace does not say which rank it belongs to",
					   trace->file.path);
}

static void judge_device(struct chrome_trace *trace, const struct chrome_row *row,
			 struct chrome_verdict *verdict)
{
	const struct legacy *legacy = trace->data;
	gint64 device = chrome_trace_thread(trace, row->thread)->tid;

	verdict->kind = g_hash_table_contains(legacy->outer, row) ? TACHO_SLICE_ANNOTATION
								  : TACHO_SLICE_KERNEL;
	verdict->place = CHROME_ON_STREAM;
	verdict->device = chrome_id_is_text(device) ? 0 : (gint32)CLAMP(device, 0, G_MAXINT32);
	verdict->stream = 0;
}

static void judge(struct chrome_trace *trace, const struct chrome_row *row,
		  struct chrome_verdict *verdict)
{
	const struct legacy *legacy = trace->data;

	if (is_on_device(trace, row->thread)) {
		judge_device(trace, row, verdict);
		return;
	}
	switch (find_kind(trace, row->name)) {
	case NAME_COLLECTIVE: /* it goes on while its thread does other things */
		verdict->kind = TACHO_SLICE_COLLECTIVE;
		verdict->place = CHROME_ASIDE;
		break;
	case NAME_KNOWN_REGION:
		verdict->kind = TACHO_SLICE_ANNOTATION;
		break;
	case NAME_REGION:
		verdict->kind = legacy->has_namespaces ? TACHO_SLICE_ANNOTATION : TACHO_SLICE_OP;
		break;
	default:
		verdict->kind = TACHO_SLICE_OP;
	}
}

static void finish(struct chrome_trace *trace)
{
	guint32 op = TACHO_NONE;

	for (gsize i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = chrome_trace_row(trace, i);

		if (!is_on_device(trace, row->thread))
			op = row->slice;
		else if (op != TACHO_NONE && row->slice != TACHO_NONE)
			tacho_timeline_set_launch(trace->timeline, row->slice, op);
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

static gboolean sniff_pytorch_legacy(const struct sniff_input *input)
{
	static const gchar *const pids[] = { "CPU functions", "CPU Functions", "CUDA functions",
					     "CUDA Functions" };

	for (guint i = 0; i < G_N_ELEMENTS(pids); i++)
		if (json_head_has_text(input, "pid", 3, pids[i]))
			return chrome_trace_sniff(input);
	return FALSE;
}

static gboolean read_pytorch_legacy(struct import *import, const gchar *const *paths, guint n_paths,
				    GError **error)
{
	g_autoptr(GPtrArray) firsts = g_ptr_array_new();
	g_autoptr(GHashTable) ranks = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < n_paths; i++) { /* (3) */
		gint32 rank = import_rank_of_name(paths[i]);

		if (rank < 0 || g_hash_table_add(ranks, GINT_TO_POINTER(rank + 1)))
			g_ptr_array_add(firsts, (gpointer)paths[i]);
		else
			tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_DUPLICATE_RANK,
						   1,
						   "%s: rank %d has a file already, and neither "
						   "tells the time of day; "
						   "this one is left out: read it by itself",
						   paths[i], rank);
	}
	return import_each_path(import, (const gchar *const *)firsts->pdata, firsts->len,
				chrome_trace_read_file, (gpointer)&dialect, error);
}

const struct import_format import_pytorch_legacy = {
	.name = "pytorch_legacy",
	.title = "PyTorch profiler without Kineto, Chrome JSON",
	.files = "*.json, also gzip or zstd",
	.sniff = sniff_pytorch_legacy,
	.read = read_pytorch_legacy,
};
