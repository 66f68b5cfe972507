/* (1) BytePS: "pid" is a gradient, "tid" a partition of it, or "total": the gradient from when it was ready until it is
 *     back, which is a collective. The last part of a partition's name is the stage it is in.
 * (2) A server: "pid" is a key, the name who pushed or pulled it. Those of different workers overlap.
 * (3) Operations of TensorFlow are the rows "TensorFlow Ops" of its devices; what else its profiler tells are events.
 *     They have their place in the graph by args.long_name, and their step by args.group_id.
 * (4) NCCL's steps: a track for each channel and direction.
 * (5) MXNet's operations of category "operator" are of a layer, forward ("_fwd") or backward ("_backward"), or updates.
 *     Others between the last backward one and the next forward one are updates, too; where a forward one follows
 *     on these, a step begins. */
#include "import/byteprofile/byteps_dialect.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "import/byteprofile/byteprofile_hops.h"
#include "import/byteprofile/byteprofile_ops.h"
#include "import/byteprofile/byteprofile_tensors.h"
#include "import/byteprofile/byteps_keys.h"
#include "import/byteprofile/gml_graph.h"
#include "import/byteprofile/horovod_dialect.h"
#include "trace/mark_kind.h"

enum {
	MAX_FLOWS = 1 << 24,
};

/* --- what all share ------------------------------------------------------------------------- */

/* One process, of the context or of the file alone. */
static void settle_process(struct chrome_trace *trace, const gchar *command)
{
	const struct horovod_context *context = trace->context;

	if (context && context->process != TACHO_NONE) {
		trace->rank = context->rank;
		trace->only_process = context->process;
		return;
	}
	trace->only_process = import_add_process(
		trace->import,
		&(TachoProcess){ .host = trace->host,
				 .command = tacho_timeline_intern(trace->timeline, command, -1),
				 .rank = trace->rank,
				 .local_rank = -1,
				 .world_size = -1,
				 .end = TACHO_END_UNKNOWN,
				 .path = (gchar *)trace->file.path },
		trace->number);
}

static gchar *text_of_id(const struct chrome_trace *trace, gint64 id)
{
	const gchar *text = chrome_id_text(trace->timeline, id);

	return text ? g_strdup(text) : g_strdup_printf("%" G_GINT64_FORMAT, id);
}

/* Call each thread "PID TID", or only "PID" where both are one. */
static void name_threads(struct chrome_trace *trace)
{
	FOR_EACH(struct chrome_thread, thread, trace->threads) {
		g_autofree gchar *pid = text_of_id(trace, thread->pid);
		g_autofree gchar *tid = text_of_id(trace, thread->tid);
		g_autofree gchar *name = thread->pid == thread->tid
						 ? g_strdup(pid)
						 : g_strdup_printf("%s %s", pid, tid);

		if (!thread->name)
			thread->name = tacho_timeline_intern(trace->timeline, name, -1);
	}
}

static void judge_aside(struct chrome_trace *trace, const struct chrome_row *row,
			struct chrome_verdict *verdict)
{
	(void)trace;
	(void)row;
	verdict->place = CHROME_ASIDE;
}

/* --- BytePS --------------------------------------------------------------------------------- */

static gboolean is_total(const TachoTimeline *timeline, gint64 tid)
{
	return g_strcmp0(chrome_id_text(timeline, tid), "total") == 0;
}

/* (1): a slice is called as its stage, or as the collective. */
static gboolean take_comm(struct chrome_trace *trace, struct chrome_event *event)
{
	const gchar *name = tacho_timeline_string(trace->timeline, event->name);
	const gchar *gradient = chrome_id_text(trace->timeline, event->pid);

	if (event->phase == 'M')
		return FALSE;
	if (is_total(trace->timeline, event->tid))
		event->name = tacho_timeline_intern(trace->timeline, "pushpull", -1);
	else if (gradient && g_str_has_prefix(name, gradient) && name[strlen(gradient)] == '.')
		event->name =
			tacho_timeline_intern(trace->timeline, name + strlen(gradient) + 1, -1);
	return FALSE;
}

static void settle_comm(struct chrome_trace *trace)
{
	settle_process(trace, "byteps");
	name_threads(trace);
}

static void judge_comm(struct chrome_trace *trace, const struct chrome_row *row,
		       struct chrome_verdict *verdict)
{
	verdict->place = CHROME_ASIDE;
	if (is_total(trace->timeline, chrome_trace_thread(trace, row->thread)->tid))
		verdict->kind = TACHO_SLICE_COLLECTIVE;
	else if (g_str_has_prefix(tacho_timeline_string(trace->timeline, row->name), "COORDINATE_"))
		verdict->kind = TACHO_SLICE_WAIT;
}

/* The number of a partition or a key; false: it is none. */
static gboolean number_of_id(const struct chrome_trace *trace, gint64 id, guint32 *ret_number)
{
	g_autofree gchar *text = text_of_id(trace, id);
	guint64 number;

	if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32 - 1, &number, NULL))
		return FALSE;
	*ret_number = (guint32)number;
	return TRUE;
}

static gint compare_totals(gconstpointer a, gconstpointer b)
{
	const struct chrome_row *x = *(struct chrome_row *const *)a;
	const struct chrome_row *y = *(struct chrome_row *const *)b;

	return chrome_rows_compare(&x, &y);
}

/* The rows "total" of a gradient, by begin. */
static GPtrArray *find_totals(GHashTable *totals, const struct chrome_trace *trace,
			      const struct chrome_row *row)
{
	gint64 pid = chrome_trace_thread(trace, row->thread)->pid;

	return g_hash_table_lookup(totals, &pid);
}

/* The row that runs at `time_ns`, of those ordered by start; NULL: none does. */
static const struct chrome_row *find_running(const GPtrArray *rows, gint64 time_ns)
{
	guint n = PARTITION_POINT(i, 0, rows ? rows->len : 0,
				  ((const struct chrome_row *)rows->pdata[i])->start_ns <= time_ns);
	const struct chrome_row *last = n > 0 ? rows->pdata[n - 1] : NULL;

	return last && time_ns - last->start_ns <= MAX(last->duration_ns, 0) ? last : NULL;
}

static GHashTable *collect_totals(struct chrome_trace *trace)
{
	GHashTable *totals = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
						   (GDestroyNotify)g_ptr_array_unref);

	for (gsize i = 0; i < trace->rows.n; i++) {
		struct chrome_row *row = chrome_trace_row(trace, i);
		const struct chrome_thread *thread = chrome_trace_thread(trace, row->thread);
		GPtrArray *known;

		if (!is_total(trace->timeline, thread->tid) || row->slice == TACHO_NONE)
			continue;
		known = g_hash_table_lookup(totals, &thread->pid);
		if (!known) {
			known = g_ptr_array_new();
			g_hash_table_insert(totals, g_memdup2(&thread->pid, sizeof(thread->pid)),
					    known);
		}
		g_ptr_array_add(known, row);
	}
	FOR_EACH_ENTRY(entry, totals)
		g_ptr_array_sort(entry.value, compare_totals);
	return totals;
}

/* Bytes of "Comm.byteps.gradient_12" and "Comm.byteps.gradient_3+4", of which the context knows the numbers. */
static guint64 gradient_bytes(const struct chrome_trace *trace, const struct chrome_row *row)
{
	const struct horovod_context *context = trace->context;
	const gchar *name =
		chrome_id_text(trace->timeline, chrome_trace_thread(trace, row->thread)->pid);
	const gchar *number = name ? strrchr(name, '_') : NULL;

	if (!context || !context->tensors || !number)
		return 0;
	return byteprofile_tensors_sum(context->tensors, number + 1, strlen(number + 1));
}

/* How many partitions each gradient has. */
static GHashTable *count_partitions(const struct chrome_trace *trace)
{
	GHashTable *counts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

	FOR_EACH(const struct chrome_thread, thread, trace->threads) {
		guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, &thread->pid));

		if (!is_total(trace->timeline, thread->tid))
			g_hash_table_insert(counts, g_memdup2(&thread->pid, sizeof(thread->pid)),
					    GUINT_TO_POINTER(n + 1));
	}
	return counts;
}

/* (1): what was pushed to servers, and pulled. */
static void add_server_hop(struct chrome_trace *trace, const struct chrome_row *row,
			   GHashTable *totals, GHashTable *partitions)
{
	const struct chrome_thread *thread = chrome_trace_thread(trace, row->thread);
	const gchar *name = tacho_timeline_string(trace->timeline, row->name);
	const struct chrome_row *total =
		find_running(find_totals(totals, trace, row), row->start_ns);
	guint n = GPOINTER_TO_UINT(g_hash_table_lookup(partitions, &thread->pid));
	TachoHop hop = { .slice = row->slice,
			 .peer = -1,
			 .fed_by = -1,
			 .is_receive = strcmp(name, "PULL") == 0,
			 .way = TACHO_HOP_SERVER };

	if (!hop.is_receive && strcmp(name, "PUSH") != 0)
		return;
	if (!total || row->slice == TACHO_NONE || !number_of_id(trace, thread->tid, &hop.part))
		return;
	hop.collective = total->slice;
	hop.step = hop.is_receive;
	hop.bytes = n ? gradient_bytes(trace, row) / n : 0;
	g_array_append_val(trace->timeline->hops, hop);
}

/* The numbers of "Comm.byteps.gradient_3+4" are its gradients. */
static void tell_total(struct chrome_trace *trace, const struct chrome_row *row)
{
	const struct horovod_context *context = trace->context;
	const gchar *name =
		chrome_id_text(trace->timeline, chrome_trace_thread(trace, row->thread)->pid);
	const gchar *number = name ? strrchr(name, '_') : NULL;
	g_autoptr(GArray) inputs = g_array_new(FALSE, FALSE, sizeof(TachoTensor));
	TachoCollectiveArgs args = { .bytes = gradient_bytes(trace, row),
				     .packing = TACHO_PACKED_IN_PARTS };

	if (!args.bytes) /* then nothing is known of one of them */
		return;
	for (number++; g_ascii_isdigit(*number);) {
		gchar *end;
		guint64 index = g_ascii_strtoull(number, &end, 10);
		TachoTensor tensor = byteprofile_tensors_find(context->tensors, index)->tensor;

		if (context->ops)
			tensor.storage = byteprofile_ops_gradient(context->ops, index);
		g_array_append_val(inputs, tensor);
		number = *end == '+' ? end + 1 : "";
	}
	args.n_inputs = inputs->len;
	trace->timeline->slices.source[row->slice] = tacho_timeline_keep_collective(
		trace->timeline, &args, (const TachoTensor *)inputs->data);
}

static void finish_comm(struct chrome_trace *trace)
{
	g_autoptr(GHashTable) totals = collect_totals(trace);
	g_autoptr(GHashTable) partitions = count_partitions(trace);

	for (gsize i = 0; i < trace->rows.n; i++)
		add_server_hop(trace, chrome_trace_row(trace, i), totals, partitions);
	for (gsize i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = chrome_trace_row(trace, i);

		if (row->slice != TACHO_NONE &&
		    is_total(trace->timeline, chrome_trace_thread(trace, row->thread)->tid))
			tell_total(trace, row);
	}
}

const struct chrome_dialect byteps_comm_dialect = {
	.take = take_comm,
	.settle = settle_comm,
	.judge = judge_comm,
	.finish = finish_comm,
};

/* Threads are called by what their keys are of, where that is told. */
static void name_keys(struct chrome_trace *trace)
{
	const struct horovod_context *context = trace->context;

	for (guint i = 0; context && context->keys && i < trace->threads->len; i++) {
		struct chrome_thread *thread =
			&g_array_index(trace->threads, struct chrome_thread, i);
		g_autofree gchar *name = NULL;
		guint32 key;

		if (thread->name || !number_of_id(trace, thread->pid, &key))
			continue;
		name = byteps_keys_name(context->keys, key);
		thread->name = tacho_timeline_intern(trace->timeline, name, -1);
	}
}

/* (2) */
static void settle_server(struct chrome_trace *trace)
{
	/* beside workers it is no rank, but a process of the first one's */
	if (trace->import->files->len > 0)
		trace->number = g_array_index(trace->import->files, guint, 0);
	settle_process(trace, "byteps server");
	name_keys(trace);
	name_threads(trace);
}

/* "push-9": of the worker whose node is number 9. ps-lite numbers workers 9, 11, 13 ... and servers 8, 10 ...
 * (ps/internal/postoffice.h: WorkerRankToID). */
static void finish_server(struct chrome_trace *trace)
{
	for (gsize i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = chrome_trace_row(trace, i);
		const gchar *name = tacho_timeline_string(trace->timeline, row->name);
		const gchar *dash = strchr(name, '-');
		TachoHop hop = { .slice = row->slice,
				 .collective = TACHO_NONE,
				 .fed_by = -1,
				 .is_receive = g_str_has_prefix(name, "push-"),
				 .way = TACHO_HOP_SERVER };
		guint64 node;

		if (!hop.is_receive && !g_str_has_prefix(name, "pull-"))
			continue;
		if (row->slice == TACHO_NONE ||
		    !g_ascii_string_to_unsigned(dash + 1, 10, 9, G_MAXINT32, &node, NULL) ||
		    !number_of_id(trace, chrome_trace_thread(trace, row->thread)->pid, &hop.part))
			continue;
		hop.peer = (gint32)((node - 9) / 2);
		hop.step = !hop.is_receive;
		g_array_append_val(trace->timeline->hops, hop);
	}
}

const struct chrome_dialect byteps_server_dialect = {
	.settle = settle_server,
	.judge = judge_aside,
	.finish = finish_server,
};

/* --- operations ----------------------------------------------------------------------------- */

/* A step, as far as its operations are seen. */
struct step {
	gint64 number, first_ns, last_ns;
};

struct compute {
	GHashTable *steps; /* number -> struct step */
	guint8 *phases;	   /* TachoSliceFlags, by row */
};

static void begin_compute(struct chrome_trace *trace)
{
	struct compute *compute = g_new0(struct compute, 1);

	compute->steps = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	trace->data = compute;
}

static void end_compute(struct chrome_trace *trace)
{
	struct compute *compute = trace->data;

	g_hash_table_unref(compute->steps);
	g_free(compute->phases);
	g_free(compute);
}

static void note_step(struct compute *compute, gint64 number, const struct chrome_event *event)
{
	struct step *step = g_hash_table_lookup(compute->steps, &number);
	gint64 end_ns;

	if (__builtin_add_overflow(event->time_ns, MAX(event->duration_ns, 0), &end_ns))
		return;
	if (!step) {
		step = g_new(struct step, 1);
		*step = (struct step){ number, event->time_ns, end_ns };
		g_hash_table_insert(compute->steps, g_memdup2(&number, sizeof(number)), step);
	}
	step->first_ns = MIN(step->first_ns, event->time_ns);
	step->last_ns = MAX(step->last_ns, end_ns);
}

/* (3) */
static gboolean take_compute(struct chrome_trace *trace, struct chrome_event *event)
{
	static const gchar call[] = "StatefulPartitionedCall/";
	guint32 text;
	gint64 step;

	if (event->phase != 'X' || !event->has_time)
		return FALSE;
	if (chrome_event_arg_integer(event, "group_id", &step))
		note_step(trace->data, step, event);
	if (chrome_event_arg_text(event, "long_name", trace->timeline, &text)) {
		const gchar *name = tacho_timeline_string(trace->timeline, text);
		gsize n = strcspn(name, ":");

		if (g_str_has_prefix(name, call)) {
			name += strlen(call);
			n = strcspn(name, ":");
		}
		if (n)
			event->name = tacho_timeline_intern(trace->timeline, name, (gssize)n);
	}
	return FALSE;
}

static gboolean is_operator(const struct chrome_trace *trace, const struct chrome_row *row)
{
	return strcmp(tacho_timeline_string(trace->timeline, row->category), "operator") == 0;
}

/* What MXNet calls its operations (5): a layer's tell by themselves. */
enum layer_part { OF_NO_LAYER, OF_FORWARD, OF_BACKWARD, OF_UPDATE };

static enum layer_part part_of(const gchar *name)
{
	if (strstr(name, "_backward"))
		return OF_BACKWARD;
	if (strstr(name, "update"))
		return OF_UPDATE;
	return strstr(name, "_fwd") ? OF_FORWARD : OF_NO_LAYER;
}

static gint compare_row_starts(gconstpointer first, gconstpointer second)
{
	const struct chrome_row *a = *(struct chrome_row *const *)first;
	const struct chrome_row *b = *(struct chrome_row *const *)second;

	return ORDER(a->start_ns, b->start_ns) ?: ORDER(a, b);
}

/* The rows of MXNet's operations, by begin. */
static GPtrArray *sort_operators(const struct chrome_trace *trace)
{
	GPtrArray *rows = g_ptr_array_new();

	for (gsize i = 0; i < trace->rows.n; i++)
		if (is_operator(trace, chrome_trace_row(trace, i)))
			g_ptr_array_add(rows, chrome_trace_row(trace, i));
	g_ptr_array_sort(rows, compare_row_starts);
	return rows;
}

static enum layer_part part_at(const struct chrome_trace *trace, const GPtrArray *rows, guint i)
{
	return part_of(tacho_timeline_string(trace->timeline,
					     ((const struct chrome_row *)rows->pdata[i])->name));
}

/* (5) */
static void settle_operators(struct chrome_trace *trace)
{
	struct compute *compute = trace->data;
	g_autoptr(GPtrArray) rows = sort_operators(trace);
	g_autofree guint8 *next = g_new0(guint8, rows->len + 1); /* enum layer_part */
	enum layer_part before = OF_NO_LAYER;
	gint64 step = 0;

	for (guint i = rows->len; i-- > 0;)
		next[i] = (guint8)(part_at(trace, rows, i) ?: next[i + 1]);
	FOR_EACH_POINTER_AT(struct chrome_row, row, i, rows) {
		enum layer_part part = part_at(trace, rows, i);
		guint8 *flags = &compute->phases[row - chrome_trace_row(trace, 0)];
		struct chrome_event at = { .time_ns = row->start_ns,
					   .duration_ns = row->duration_ns };

		if (part == OF_NO_LAYER && (before == OF_BACKWARD || before == OF_UPDATE) &&
		    next[i] != OF_BACKWARD)
			part = OF_UPDATE;
		else if (part == OF_NO_LAYER)
			part = before == OF_BACKWARD ? OF_BACKWARD : OF_FORWARD;
		*flags = part == OF_BACKWARD ? TACHO_SLICE_BACKWARD
			 : part == OF_UPDATE ? TACHO_SLICE_UPDATE
					     : 0;
		step += part == OF_FORWARD && (before == OF_BACKWARD || before == OF_UPDATE);
		note_step(compute, step, &at);
		before = part;
	}
}

static void settle_compute(struct chrome_trace *trace)
{
	const struct horovod_context *context = trace->context;
	struct compute *compute = trace->data;

	settle_process(trace, "byteprofile");
	compute->phases = g_new0(guint8, trace->rows.n + 1);
	for (gsize i = 0; i < trace->rows.n; i++)
		if (!is_operator(trace, chrome_trace_row(trace, i)))
			compute->phases[i] = byteprofile_ops_phase(
				context ? context->ops : NULL,
				tacho_timeline_string(trace->timeline,
						      chrome_trace_row(trace, i)->name));
	if (!g_hash_table_size(compute->steps))
		settle_operators(trace);
}

static void judge_compute(struct chrome_trace *trace, const struct chrome_row *row,
			  struct chrome_verdict *verdict)
{
	const struct chrome_thread *thread = chrome_trace_thread(trace, row->thread);
	const gchar *process = chrome_trace_process_name(trace, row->thread);
	const gchar *thread_name = tacho_timeline_string(trace->timeline, thread->name);
	const gchar *name = tacho_timeline_string(trace->timeline, row->name);
	const struct compute *compute = trace->data;
	gboolean is_device = strstr(process, "/device:GPU") != NULL;

	if ((is_device && strstr(thread_name, "TensorFlow Ops")) || is_operator(trace, row)) {
		verdict->kind = TACHO_SLICE_OP;
		verdict->flags = compute->phases[row - chrome_trace_row(trace, 0)];
	} else if (is_device && g_str_has_prefix(thread_name, "Stream") &&
		   !strstr(thread_name, "Compute")) {
		verdict->kind = g_str_has_prefix(name, "nccl") ? TACHO_SLICE_COLLECTIVE
							       : TACHO_SLICE_KERNEL;
		verdict->place = CHROME_ON_STREAM;
	}
}

static gint compare_steps(gconstpointer first, gconstpointer second)
{
	const struct step *a = first, *b = second;

	return ORDER(a->number, b->number);
}

/* Marks of steps: each lasts until the next begins. */
static void mark_steps(struct chrome_trace *trace)
{
	struct compute *compute = trace->data;
	g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(struct step));

	if (!trace->threads->len)
		return;
	FOR_EACH_ENTRY(entry, compute->steps)
		g_array_append_vals(steps, entry.value, 1);
	g_array_sort(steps, compare_steps);
	FOR_EACH(const struct step, at, steps) {
		TachoMark mark = { .first = at->number };

		if (__builtin_add_overflow(at->first_ns, trace->base_ns, &mark.time_ns))
			continue;
		mark.track = chrome_trace_aside(trace, 0);
		mark_step(trace->timeline, &mark, FALSE);
		g_array_append_val(trace->timeline->marks, mark);
	}
}

static gint compare_starts(gconstpointer first, gconstpointer second)
{
	const struct chrome_row *a = *(struct chrome_row *const *)first;
	const struct chrome_row *b = *(struct chrome_row *const *)second;

	return ORDER(a->start_ns, b->start_ns) ?: ORDER(a, b);
}

static TachoSliceKind kind_of(const struct chrome_trace *trace, const struct chrome_row *row)
{
	return trace->timeline->slices.kind[row->slice];
}

/* Operations of the trace, by start. */
static GPtrArray *sort_operations(struct chrome_trace *trace)
{
	GPtrArray *operations = g_ptr_array_new();

	for (gsize i = 0; i < trace->rows.n; i++)
		if (kind_of(trace, chrome_trace_row(trace, i)) == TACHO_SLICE_OP)
			g_ptr_array_add(operations, chrome_trace_row(trace, i));
	g_ptr_array_sort(operations, compare_starts);
	return operations;
}

/* (3): TensorFlow gives an operation of a device the time of its kernels, so a kernel is of the one that runs then. */
static void find_launches(struct chrome_trace *trace, const GPtrArray *operations)
{
	for (gsize i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = chrome_trace_row(trace, i);
		const struct chrome_row *operation;

		if (kind_of(trace, row) != TACHO_SLICE_KERNEL)
			continue;
		operation = find_running(operations, row->start_ns);
		if (operation)
			tacho_timeline_set_launch(trace->timeline, row->slice, operation->slice);
	}
}

/* Each run of an operation needs the last run, begun before it, of each operation that the graph says it needs. */
static void add_dependences(struct chrome_trace *trace, const GPtrArray *from, const GPtrArray *to)
{
	guint next = 0;

	for (guint i = 0; i < to->len; i++) {
		const struct chrome_row *user = to->pdata[i], *maker;
		TachoFlow flow = { .to = user->slice, .kind = TACHO_FLOW_DATA };

		while (next < from->len &&
		       ((const struct chrome_row *)from->pdata[next])->start_ns < user->start_ns)
			next++;
		if (!next || trace->timeline->flows->len >= MAX_FLOWS)
			continue;
		maker = from->pdata[next - 1];
		flow.from = maker->slice;
		if (flow.from != flow.to)
			g_array_append_val(trace->timeline->flows, flow);
	}
}

static void add_graph(struct chrome_trace *trace, const GPtrArray *operations,
		      const struct gml_graph *graph)
{
	g_autoptr(GHashTable) by_name = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
							      (GDestroyNotify)g_ptr_array_unref);

	FOR_EACH_POINTER(struct chrome_row, row, operations) {
		const gchar *name = tacho_timeline_string(trace->timeline, row->name);
		GPtrArray *rows = g_hash_table_lookup(by_name, name);

		if (!rows) {
			rows = g_ptr_array_new();
			g_hash_table_insert(by_name, (gpointer)name, rows);
		}
		g_ptr_array_add(rows, row);
	}
	FOR_EACH(const struct gml_edge, edge, graph->edges) {
		const GPtrArray *from =
			g_hash_table_lookup(by_name, graph->labels->pdata[edge->from]);
		const GPtrArray *to = g_hash_table_lookup(by_name, graph->labels->pdata[edge->to]);

		if (from && to)
			add_dependences(trace, from, to);
	}
}

/* What the graph tells of each operation is what is known of its runs. */
static void tell_runs(struct chrome_trace *trace, const GPtrArray *operations,
		      struct byteprofile_ops *ops)
{
	guint32 file = byteprofile_ops_add_file(ops, trace->file.path);

	FOR_EACH_POINTER(const struct chrome_row, row, operations) {
		guint64 run = byteprofile_ops_add_run(ops, row->name, file, row->args_offset);

		if (run)
			trace->timeline->slices.source[row->slice] = run;
	}
}

static void finish_compute(struct chrome_trace *trace)
{
	const struct horovod_context *context = trace->context;
	g_autoptr(GPtrArray) operations = sort_operations(trace);

	find_launches(trace, operations);
	if (context && context->ops)
		tell_runs(trace, operations, context->ops);
	if (context && context->graph)
		add_graph(trace, operations, context->graph);
	mark_steps(trace);
}

const struct chrome_dialect byteprofile_compute_dialect = {
	.begin = begin_compute,
	.end = end_compute,
	.take = take_compute,
	.settle = settle_compute,
	.judge = judge_compute,
	.finish = finish_compute,
};

/* --- NCCL's steps --------------------------------------------------------------------------- */

/* A send or receive, with the row that it becomes. */
struct detail_piece {
	gsize row;
	struct hop_piece piece;
};

static void begin_detail(struct chrome_trace *trace)
{
	trace->data = g_array_new(FALSE, FALSE, sizeof(struct detail_piece));
}

static void end_detail(struct chrome_trace *trace)
{
	g_array_unref(trace->data);
}

static gboolean read_number(const struct chrome_event *event, const gchar *key, gint64 limit,
			    guint32 *ret_number)
{
	gint64 value = 0;

	chrome_event_arg_integer(event, key, &value);
	*ret_number = (guint32)CLAMP(value, 0, limit - 1);
	return value >= 0 && value < limit;
}

static void note_piece(struct chrome_trace *trace, const struct chrome_event *event,
		       const gchar *name, gboolean is_receive)
{
	const gchar *numbers = strchr(name, '.');
	struct detail_piece piece = { .row = trace->rows.n };

	piece.piece.is_receive = is_receive;
	if (!event->has_time ||
	    !read_number(event, "channelId", HOP_MAX_CHANNELS, &piece.piece.channel) ||
	    !read_number(event, "loopId", HOP_MAX_NUMBER, &piece.piece.loop) ||
	    !read_number(event, "chunkId", HOP_MAX_NUMBER, &piece.piece.chunk) ||
	    !read_number(event, "sliceId", HOP_MAX_NUMBER, &piece.piece.part))
		return;
	piece.piece.tensors = hop_tensors(trace->timeline, numbers + 1);
	if (piece.piece.tensors)
		g_array_append_val((GArray *)trace->data, piece);
}

/* (4): the thread is the channel and the direction; the name what was sent or received. */
static gboolean take_detail(struct chrome_trace *trace, struct chrome_event *event)
{
	const gchar *name = tacho_timeline_string(trace->timeline, event->name);
	gboolean is_send = g_str_has_suffix(name, ".SEND");
	gint64 channel = 0;

	if (event->phase != 'X' || (!is_send && !g_str_has_suffix(name, ".RECV")))
		return FALSE;
	chrome_event_arg_integer(event, "channelId", &channel);
	note_piece(trace, event, name, !is_send);
	event->pid = 0;
	event->tid = CLAMP(channel, 0, G_MAXINT16) * 2 + !is_send;
	return FALSE;
}

static void settle_detail(struct chrome_trace *trace)
{
	settle_process(trace, "nccl");
	FOR_EACH(struct chrome_thread, thread, trace->threads) {
		g_autofree gchar *name = NULL;

		if (thread->pid || chrome_id_is_text(thread->tid))
			continue;
		name = g_strdup_printf("channel %" G_GINT64_FORMAT " %s", thread->tid / 2,
				       thread->tid % 2 ? "receive" : "send");
		thread->name = tacho_timeline_intern(trace->timeline, name, -1);
	}
}

static void finish_detail(struct chrome_trace *trace)
{
	const struct horovod_context *context = trace->context;
	const GArray *pieces = trace->data;

	for (guint i = 0; context && context->hops && i < pieces->len; i++) {
		struct detail_piece *piece = &g_array_index(pieces, struct detail_piece, i);

		if (piece->row >= trace->rows.n)
			continue;
		piece->piece.slice = chrome_trace_row(trace, piece->row)->slice;
		if (piece->piece.slice != TACHO_NONE)
			g_array_append_val(context->hops->pieces, piece->piece);
	}
}

const struct chrome_dialect byteprofile_detail_dialect = {
	.begin = begin_detail,
	.end = end_detail,
	.take = take_detail,
	.settle = settle_detail,
	.judge = judge_aside,
	.finish = finish_detail,
};

/* --- others --------------------------------------------------------------------------------- */

static void settle_other(struct chrome_trace *trace)
{
	settle_process(trace, "byteprofile");
}

const struct chrome_dialect byteprofile_other_dialect = {
	.settle = settle_other,
	.judge = judge_aside,
};
